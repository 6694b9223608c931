package workload

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbinet/npyio/npy"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

const copyC = `#include "bitsched.h"
void twice(int N, int M, float c, const float A[N][2 * M], const int16_t I[N], float C[N][2 * M], int16_t J[N])
{
	inf_array(A, N, 2 * M);
	inf_array(C, N, 2 * M);
	inf_array(I, N);
	inf_array(J, N);
#pragma bitsched region
	for (int i = 0; i < N; i++) {
		J[i] = I[i] + 1;
		for (int j = 0; j < 2 * M; j++)
			C[i][j] = A[i][j] * c;
	}
}
`

// TestFiles reads arrays that npyio wrote, takes the sizes from them, and has npyio
// read what it writes.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	a := [3][4]float32{{1, 2, 3, 4}, {5, 6, 7, 8}, {-1, 0, 1e30, -0.5}}
	i := []int16{7, -8, 32767}
	write := func(name string, v any) string {
		var b bytes.Buffer
		require.NoError(t, npy.Write(&b, v))
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, b.Bytes(), 0o666))
		return path
	}
	var files []File
	for _, text := range []string{"A=" + write("a.npy", a), "I=" + write("i.npy", i), "c=2.5"} {
		f, err := ParseInput(text)
		require.NoError(t, err)
		files = append(files, f)
	}
	for _, bind := range []bool{false, true} {
		k := FromSource("twice.c", copyC, nil)
		ctx := context.Background()
		if bind {
			require.NoError(t, k.Bind(ctx, nil, files))
		} else {
			require.NoError(t, k.Compile(ctx, nil, files, false))
		}
		require.Equal(t, map[string]int64{"N": 3, "M": 2}, k.Sizes)
		m, err := k.Arguments(ctx, 1, files)
		require.NoError(t, err)
		require.NoError(t, interp.Run(ctx, k.Program, k.Sizes, m, interp.Options{}))
		for _, out := range []string{"C=c.npy", "J=j.npy"} {
			f, err := ParseOutput(out)
			require.NoError(t, err)
			var b bytes.Buffer
			require.NoError(t, f.WriteArray(&b, m.Arrays[f.Name]))
			r, err := npy.NewReader(bytes.NewReader(b.Bytes()))
			require.NoError(t, err)
			if f.Name == "C" {
				require.Equal(t, []int{3, 4}, r.Header.Descr.Shape)
				var c []float32
				require.NoError(t, r.Read(&c))
				for n, v := range c {
					require.Equal(t, a[n/4][n%4]*2.5, v)
				}
				continue
			}
			require.Equal(t, []int{3}, r.Header.Descr.Shape)
			var j []int16
			require.NoError(t, r.Read(&j))
			require.Equal(t, []int16{8, -7, -32768}, j)
		}
	}
}

func TestRawBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "i.bin")
	require.NoError(t, os.WriteFile(path, []byte{1, 0, 0xfe, 0xff}, 0o666))
	f, err := ParseInput("I=" + path + ":2")
	require.NoError(t, err)
	k := FromSource("twice.c", copyC, nil)
	require.NoError(t, k.Compile(context.Background(), map[string]int64{"M": 1}, []File{f}, false))
	require.EqualValues(t, 2, k.Sizes["N"])
	m, err := k.Arguments(context.Background(), 1, []File{f})
	require.NoError(t, err)
	require.Equal(t, []scalar.Value{1, 0xfffe}, m.Arrays["I"].Elems)
	var b bytes.Buffer
	out, err := ParseOutput("I=x.bin")
	require.NoError(t, err)
	require.NoError(t, out.WriteArray(&b, m.Arrays["I"]))
	require.Equal(t, []byte{1, 0, 0xfe, 0xff}, b.Bytes())
}

func npyBytes(head string, data ...byte) []byte {
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)+1), 0)
	return append(append(b, head+"\n"...), data...)
}

func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	i := "{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }"
	tests := []struct {
		input string // with the bytes of the file as f.npy or f.bin
		data  []byte
		want  string
	}{
		{"I", nil, "expected NAME=FILE"},
		{"=f.npy", nil, "expected NAME=FILE"},
		{"I=none.npy", nil, "read none.npy: no such file"},
		{"I=f.npy", []byte("hello"), "not an .npy file"},
		{"I=f.npy", npyBytes("{}"), "not an .npy file"},
		{"I=f.npy", []byte("\x93NUMPY\x02\x00\xff\xff\xff\x7f"), "a head of"},
		{"I=f.npy", npyBytes(strings.Replace(i, "<i2", "<i4", 1), make([]byte, 12)...), `type <i4, expected <i2 (int16): save a.astype("<i2")`},
		{"I=f.npy", npyBytes(strings.Replace(i, "<i2", ">i2", 1), make([]byte, 6)...), "highest byte first"},
		{"I=f.npy", npyBytes(strings.Replace(i, "3", "4", 1), make([]byte, 8)...), "shape 4, expected that of I, 3"},
		{"I=f.npy", npyBytes(i, 1, 2, 3), "3 bytes of elements, expected 6"},
		{"I=f.npy", npyBytes(i, make([]byte, 7)...), "more than the 6 bytes of 3 elements"},
		{"A=f.npy", npyBytes("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }", make([]byte, 24)...), "order of Fortran"},
		{"I=f.bin", make([]byte, 5), "5 bytes of elements, expected 6"},
		{"I=f.bin:4", make([]byte, 8), "shape 4, expected that of I, 3"},
		{"X=f.bin", make([]byte, 8), "no array or argument X, expected one of A, I, C, J, c"},
		{"c=f.bin", make([]byte, 8), "expected c=NUMBER"},
		{"I=5", nil, "I is an array, expected I=FILE"},
	}
	for _, x := range tests {
		name, path, has := strings.Cut(x.input, "=")
		text := x.input
		if has && strings.HasPrefix(path, "f.") && x.data != nil {
			base, _, _ := strings.Cut(path, ":")
			require.NoError(t, os.WriteFile(filepath.Join(dir, base), x.data, 0o666))
			text = name + "=" + filepath.Join(dir, path)
		}
		f, err := ParseInput(text)
		if err == nil {
			k := FromSource("twice.c", copyC, nil)
			require.NoError(t, k.Compile(context.Background(), map[string]int64{"N": 3, "M": 1}, nil, false))
			_, err = k.Arguments(context.Background(), 1, []File{f})
		}
		var usage *UsageError
		require.ErrorAs(t, err, &usage, x.input)
		require.ErrorContains(t, err, x.want, x.input)
	}
}

func FuzzHeader(f *testing.F) {
	f.Add(npyBytes("{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }", 1, 2))
	f.Add(npyBytes("{'descr': , 'fortran_order': 'shape': }"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = header(bytes.NewReader(data))
	})
}

// TestArgumentsAreThoseOfData compares arguments that are made in place with those
// that are copied from slices.
func TestArgumentsAreThoseOfData(t *testing.T) {
	for _, name := range Names() {
		k, err := Builtin(name, false)
		require.NoError(t, err)
		m, err := k.Builtin.Arguments(context.Background(), k.Sizes, 5)
		require.NoError(t, err)
		want := k.Builtin.Data(k.Sizes, 5).Memory()
		require.Len(t, m.Arrays, len(want.Arrays))
		require.Empty(t, want.Diff(m), name)
	}
}

func TestArgumentsStop(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	k := FromSource("twice.c", copyC, nil)
	require.NoError(t, k.Compile(ctx, map[string]int64{"N": 100, "M": 1}, nil, false))
	cancel()
	_, err := k.Arguments(ctx, 1, nil)
	require.ErrorIs(t, err, context.Canceled)
	b, err := Builtin("vec_add", false)
	require.NoError(t, err)
	_, err = b.Builtin.Arguments(ctx, b.Sizes, 1)
	require.ErrorIs(t, err, context.Canceled)
}
