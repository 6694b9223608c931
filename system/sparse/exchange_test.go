package sparse

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/sparse/matrix"
)

// plainWrite writes a file at once, as the program does.
func plainWrite(file string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if err := os.WriteFile(file+".part", b.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".part", file)
}

// TestExchange has stacks executed by processes of their own, which give what one process
// does, also when one of them begins again.
func TestExchange(t *testing.T) {
	m, err := matrix.Generate("gen:rmat,scale=8,undirected", 2)
	require.NoError(t, err)
	const stacks = 3
	for _, app := range []string{"bfs", "sssp", "pagerank", "cc"} {
		o := DefaultAppOptions()
		if app == "pagerank" {
			o.Iterations = 3
		}
		cfg := config(small(1, 3, 2), "v3")
		want, err := RunStacks(context.Background(), app, m, o, cfg, stacks, nil)
		require.NoError(t, err)
		dir := t.TempDir()
		for range 2 { // the second time all files are there
			got := make([]*StacksResult, stacks)
			errs := make([]error, stacks)
			var wg sync.WaitGroup
			for k := range stacks {
				wg.Add(1)
				go func() {
					defer wg.Done()
					got[k], errs[k] = RunStacks(context.Background(), app, m, o, cfg, stacks, &Exchange{Dir: dir, Stack: k, Write: plainWrite})
				}()
			}
			wg.Wait()
			for k := range stacks {
				require.NoError(t, errs[k])
				require.Equal(t, want, got[k])
			}
			require.NoError(t, os.Remove(filepath.Join(dir, "iteration-000002.stack-2-of-3")))
		}
	}
}

// TestExchangeErrors has what is wrong with a file.
func TestExchangeErrors(t *testing.T) {
	key := [32]byte{1}
	p := &product{cycles: 7, nonzeros: 3, idx: []uint32{1, 4}, val: []uint32{10, 40}}
	good := p.encode(key, 2, 1)
	back, err := decodeProduct(good, "f", key, 2, 1, 5)
	require.NoError(t, err)
	require.Equal(t, p, back)
	cut := bytes.Clone(good)
	cut[60] ^= 1
	for _, c := range []struct {
		data                   []byte
		key                    byte
		iteration, stack, rows int
		want                   string
	}{
		{good[:40], 1, 2, 1, 5, "f: no product of a stack"},
		{cut, 1, 2, 1, 5, "f: is damaged (CRC)"},
		{good, 9, 2, 1, 5, "f: of another run, expected the same matrix, flags and program"},
		{good, 1, 3, 1, 5, "f: of iteration 2, stack 1, expected 3 and 1"},
		{good, 1, 2, 1, 1, "f: 2 rows in 92 bytes, expected at most 1 rows of 8 bytes"},
		{good, 1, 2, 1, 4, "f: row 4 at place 1, expected rising ones below 4"},
	} {
		_, err := decodeProduct(c.data, "f", [32]byte{c.key}, c.iteration, c.stack, c.rows)
		require.EqualError(t, err, c.want)
	}
}

// FuzzProduct asserts that no bytes make the reader panic, and that what it takes it
// writes again.
func FuzzProduct(f *testing.F) {
	key := [32]byte{1}
	f.Add((&product{cycles: 7, idx: []uint32{1, 4}, val: []uint32{10, 40}}).encode(key, 2, 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := decodeProduct(data, "f", key, 2, 1, 100); err == nil {
			require.Equal(t, data, p.encode(key, 2, 1))
		}
	})
}
