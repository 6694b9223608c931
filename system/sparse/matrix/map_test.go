package matrix

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMapped maps caches that would else be read: the same matrices and errors, and
// files stay as they are.
func TestMapped(t *testing.T) {
	defer func(old int64) { mapFrom = old }(mapFrom)
	mapFrom = 0
	file := filepath.Join(t.TempDir(), "m.bsx")
	for _, text := range []string{"gen:star,n=7", "gen:bipartite,nnz=99"} {
		m, err := Generate(text, 1)
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, WriteCache(&b, m))
		put := func(data []byte) { require.NoError(t, os.WriteFile(file, data, 0o600)) }
		put(b.Bytes())
		for _, o := range []Options{{}, {DropLoops: true}, {Undirected: m.Rows == m.Cols}} {
			want, wantInfo, err := Read(bytes.NewReader(b.Bytes()), file, o)
			require.NoError(t, err)
			got, info, err := Open(file, o)
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.Equal(t, wantInfo, info)
			after, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, b.Bytes(), after)
		}
		for i := range b.Len() {
			bad := bytes.Clone(b.Bytes())
			bad[i] ^= 4
			_, want := ReadCache(bytes.NewReader(bad), file)
			put(bad)
			if i < len(cacheMagic) {
				continue // another format
			}
			_, _, err := Open(file, Options{})
			require.Equal(t, want, err)
		}
		for _, cut := range []int{headBytes + 3, b.Len() - 1} {
			put(b.Bytes()[:cut])
			_, _, err := Open(file, Options{})
			require.ErrorContains(t, err, "ends within section")
		}
		put(append(bytes.Clone(b.Bytes()), 0))
		_, _, err = Open(file, Options{})
		require.ErrorContains(t, err, "more bytes than the header says")
	}
}
