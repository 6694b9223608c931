package matrix

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const head = "%%MatrixMarket matrix coordinate "

// TestWeights refuses what is no weight of an edge, at its line.
func TestWeights(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{head + "real general\n5 5 2\n1 2 0\n3 4 -2\n", "f:4: weight -2 on edge (3, 4), expected 0 or more"},
		{head + "integer symmetric\n5 5 1\n4 3 -7\n", "f:3: weight -7 on edge (4, 3), expected 0 or more"},
		{head + "real skew-symmetric\n5 5 1\n4 3 7\n", "f:3: weight -7 on edge (3, 4), expected 0 or more"},
		{head + "integer general\n5 5 1\n4 3 3000000000\n", "f:3: weight 3000000000 on edge (4, 3), expected 0 to 2147483647"},
		{"# weights\n0 1 2\n3 9 -0.5\n", "f:3: weight -0.5 on edge (3, 9), expected 0 or more"},
		{"0 1 -0\n1 2 0\n", ""},
		{head + "pattern general\n5 5 1\n4 3\n", ""},
	} {
		_, _, err := Read(strings.NewReader(c.text), "f", Options{Weights: true})
		if c.want == "" {
			require.NoError(t, err, c.text)
			continue
		}
		require.EqualError(t, err, c.want)
		_, _, err = Read(strings.NewReader(c.text), "f", Options{})
		require.NoError(t, err, "entries that are no weights may be below 0")
	}
}

// TestErrors has what each mistake is reported as.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "f:1: empty, expected a sparse matrix"},
		{"hello\n", "f:1: no %%MatrixMarket banner and no edge list, expected a sparse matrix"},
		{"\x00\x01\x02\n", "f:1: no %%MatrixMarket banner and no edge list, expected a sparse matrix"},
		{head + "complex general\n", `f:1: field "complex", expected real, integer or pattern`},
		{head + "real hermitian\n", `f:1: symmetry "hermitian", expected general, symmetric or skew-symmetric`},
		{"%%MatrixMarket matrix array real general\n", `f:1: format "array", expected coordinate`},
		{head + "real symmetric\n3 4 1\n", "f:2: symmetric with 3 x 4, expected a square matrix"},
		{head + "pattern symmetric\n3 3 1\n1 3\n", "f:3: entry (1, 3) above the diagonal of a symmetric matrix"},
		{head + "pattern general\n5 5 1\n0 1\n", "f:3: row 0, expected 1 to 5"},
		{head + "pattern general\n5 5 1\n1 6\n", "f:3: column 6, expected 1 to 5"},
		{head + "pattern general\n5 5 1\n-1 1\n", "f:3: row -1, expected 1 to 5"},
		{head + "pattern general\n5 5 3\n1 1\n2 2\n", "f:4: 2 entries, the header says 3"},
		{head + "pattern general\n5 5 1\n1 1\n2 2\n", "f:4: more than the 1 entries of the header"},
		{head + "pattern general\n5 5 1\n1 1 3\n", "f:3: 3 values, expected 2 (pattern)"},
		{head + "real general\n5 5 1\n1 1 1e999\n", `f:3: value "1e999", expected a finite number`},
		{head + "real general\n5 5 1\n1 1 nan\n", `f:3: value "nan", expected a finite number`},
		{head + "integer general\n5 5 1\n1 1 5000000000\n", `f:3: value "5000000000", expected a whole number of 32 bits`},
		{head + "pattern general\n5 5 0\n", "f:2: no entries"},
		{head + "pattern general\n5000000000 5 1\n", "f:2: 5000000000 rows, expected at most 4294967295"},
		{head + "pattern general\n5 5 2\n1 1\n1 1\n", "f: entry (1, 1) again; --duplicates combines"},
		{"0 1\n1\n", "f:2: 1 values, expected 2 as on the lines before"},
		{"0 1\n-2 1\n", `f:2: vertex "-2", expected 0 to 4294967294`},
		{"# nothing\n", "f:1: no entries"},
		{"0 " + strings.Repeat("1", maxLine+3), "f:1: line of more than 1048576 bytes, expected an entry"},
		{cacheMagic + strings.Repeat("\x00", 60), "f: format 0, expected 2: convert again"},
	} {
		_, _, err := Read(strings.NewReader(c.text), "f", Options{})
		require.EqualError(t, err, c.want)
	}
}

// TestDuplicateLines finds both lines of an entry in a file.
func TestDuplicateLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "d.mtx")
	require.NoError(t, os.WriteFile(file, []byte(head+"pattern general\n9 9 3\n5 7\n1 1\n5 7\n"), 0o600))
	_, _, err := Open(file, Options{})
	require.EqualError(t, err, file+":5: entry (5, 7) again, first on line 3; --duplicates combines")
	m, info, err := Open(file, Options{Duplicates: DuplicatesFirst})
	require.NoError(t, err)
	require.EqualValues(t, 2, m.NNZ())
	require.EqualValues(t, 1, info.Duplicates)
}

// pack compresses a text in some way.
func pack(t require.TestingT, kind, name, text string) []byte {
	var b bytes.Buffer
	switch kind {
	case "gz":
		w := gzip.NewWriter(&b)
		_, err := w.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, w.Close())
	case "tar.gz":
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		for _, n := range strings.Split(name, ",") {
			require.NoError(t, w.WriteHeader(&tar.Header{Name: n, Size: int64(len(text)), Mode: 0o600, Typeflag: tar.TypeReg}))
			_, err := w.Write([]byte(text))
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		require.NoError(t, z.Close())
	case "zip":
		w := zip.NewWriter(&b)
		for _, n := range strings.Split(name, ",") {
			f, err := w.Create(n)
			require.NoError(t, err)
			_, err = f.Write([]byte(text))
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
	default:
		return []byte(text)
	}
	return b.Bytes()
}

// TestArchives reads the same matrix from each container, and says which do not have
// one.
func TestArchives(t *testing.T) {
	text := head + "integer symmetric\n3 3 3\n1 1 4\n2 1 5\n3 2 -6\n"
	plain, _, err := Read(strings.NewReader(text), "f", Options{})
	require.NoError(t, err)
	require.Equal(t, []uint32{0, 1, 0, 2, 1}, plain.Idx)
	for _, kind := range []string{"gz", "tar.gz", "zip"} {
		m, _, err := Read(bytes.NewReader(pack(t, kind, "a/a.mtx,readme.txt", text)), "f", Options{})
		require.NoError(t, err, kind)
		require.Equal(t, plain, m, kind)
		if kind != "gz" {
			_, _, err = Read(bytes.NewReader(pack(t, kind, "a.mtx,b.mtx", text)), "f", Options{})
			require.EqualError(t, err, "f: 2 matrices, expected one: a.mtx, b.mtx")
			_, _, err = Read(bytes.NewReader(pack(t, kind, "a.txt", text)), "f", Options{})
			require.ErrorContains(t, err, "no matrix, expected one")
		}
	}
	cut := pack(t, "gz", "", strings.Repeat("0 1\n7 9\n", 2000))
	_, _, err = Read(bytes.NewReader(cut[:len(cut)-12]), "f", Options{})
	require.ErrorContains(t, err, "compressed data")
}

// TestCacheDamage changes each byte of a cache: none goes unnoticed.
func TestCacheDamage(t *testing.T) {
	m, err := Generate("gen:bipartite,samples=9,features=5,nnz=20", 3)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, WriteCache(&b, m))
	back, err := ReadCache(bytes.NewReader(b.Bytes()), "f")
	require.NoError(t, err)
	require.Equal(t, m, back)
	for i := range b.Len() {
		bad := bytes.Clone(b.Bytes())
		bad[i] ^= 0x10
		_, err := ReadCache(bytes.NewReader(bad), "f")
		require.Error(t, err, "byte %d", i)
	}
	_, err = ReadCache(bytes.NewReader(b.Bytes()[:b.Len()-1]), "f")
	require.EqualError(t, err, "f: ends within section values")
}

// TestRoundTrip writes matrices as text and reads them back.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, c := rapid.IntRange(1, 9).Draw(t, "rows"), rapid.IntRange(1, 9).Draw(t, "cols")
		e := entries{valued: true}
		seen := map[[2]int]bool{}
		for range rapid.IntRange(1, 30).Draw(t, "entries") {
			at := [2]int{rapid.IntRange(0, n-1).Draw(t, "r"), rapid.IntRange(0, c-1).Draw(t, "c")}
			if !seen[at] {
				seen[at] = true
				e.add(uint32(at[0]), uint32(at[1]), uint32(int32(rapid.IntRange(-1000, 1000).Draw(t, "v"))))
			}
		}
		m := e.matrix(n, c, Integer)
		require.NoError(t, m.Check())
		require.Len(t, m.Idx, len(seen))
		var b bytes.Buffer
		require.NoError(t, WriteMarket(&b, m))
		back, _, err := Read(&b, "f", Options{})
		require.NoError(t, err)
		require.Equal(t, m, back)
	})
}

// TestGenerators holds each to its sizes, and to its seed.
func TestGenerators(t *testing.T) {
	for _, g := range Generators() {
		m, err := Generate("gen:"+g.Name, 7)
		require.NoError(t, err, g.Name)
		require.NoError(t, m.Check(), g.Name)
		again, err := Generate("gen:"+g.Name, 7)
		require.NoError(t, err)
		require.Equal(t, m, again)
	}
	for text, want := range map[string]int64{"gen:uniform,n=50,nnz=400": 400, "gen:uniform,n=50,nnz=400,undirected": 400, "gen:powerlaw,n=400,nnz=4000,sigma=20,max=150": 4000, "gen:bipartite,nnz=999": 999, "gen:banded,n=10,width=1": 18, "gen:star,n=10": 18, "gen:densecol,n=10": 19, "gen:diagonal,n=10": 10} {
		m, err := Generate(text, 1)
		require.NoError(t, err)
		require.EqualValues(t, want, m.NNZ(), text)
	}
	for text, want := range map[string]string{"gen:cube": `unknown generator "cube"`, "gen:star,m=3": `unknown key "m"`, "gen:star,n=x": "expected a number", "gen:star,n=1": "n=1, expected a whole number from 2 on"} {
		_, err := Generate(text, 1)
		require.ErrorContains(t, err, want)
	}
}

// TestOrders checks that an order renumbers, and what it is for.
func TestOrders(t *testing.T) {
	m, err := Generate("gen:grid2d,width=12,height=12", 1)
	require.NoError(t, err)
	spread := func(m *Matrix) (most int) {
		for c := range m.Cols {
			for _, r := range m.Col(c) {
				most = max(most, int(r)-c)
			}
		}
		return most
	}
	to, err := m.Order("random", 1)
	require.NoError(t, err)
	mixed := m.Permute(to)
	require.NoError(t, mixed.Check())
	require.Greater(t, spread(mixed), 60)
	for _, name := range []string{"rcm", "bfs"} {
		to, err := mixed.Order(name, 1)
		require.NoError(t, err)
		p := mixed.Permute(to)
		require.NoError(t, p.Check())
		require.Less(t, spread(p), 30, name)
	}
}

// FuzzRead asserts that no text makes a reader panic, and that what is read is a
// matrix.
func FuzzRead(f *testing.F) {
	f.Add([]byte(head + "real symmetric\n2 2 1\n2 1 0.5\n"))
	f.Add([]byte("# x\n0 1 2\n1 0 3\n"))
	f.Add(pack(f, "zip", "a.mtx", head+"pattern general\n2 2 1\n1 1\n"))
	f.Add(pack(f, "tar.gz", "a.el", "0 1\n"))
	m, err := Generate("gen:star,n=5", 1)
	require.NoError(f, err)
	var b bytes.Buffer
	require.NoError(f, WriteCache(&b, m))
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		m, _, err := Read(bytes.NewReader(text), "f", Options{Undirected: len(text)%2 == 0, Duplicates: DuplicatesSum})
		if err == nil {
			require.NoError(t, m.Check())
			require.NotZero(t, m.NNZ())
		}
	})
}
