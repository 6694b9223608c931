package netlist

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// onlyReader hides the length of a reader.
type onlyReader struct{ io.Reader }

// A header that promises more than the file holds must not cost memory.
func TestLyingHeaders(t *testing.T) {
	headers := []string{
		"aig 4000000000 0 0 0 4000000000\n",
		"aig 2147483647 0 0 0 2147483647\n",
		"aig 2147483647 2147483647 0 0 0\n",
		"aig 2147483647 1431655765 0 0 715827882\n",
		"aig 2147483646 1073741823 0 1 1073741823\n2\n",
		"aig 1048576 1048576 0 2147483647 0\n",
		"aag 2147483647 2147483647 0 0 0\n2\n4294967294\n",
		"aag 2147483647 1 0 0 2147483646\n4294967294\n1000000000 4294967294 4294967294\n",
		"aag 2147483647 0 0 9999999999 0\n1\n",
		".inputs a\n.names " + strings.Repeat("a ", 1000) + "y\n",
		"module m(input [65535:0] a, input [65535:0] b, input [65535:0] c); foo",
	}
	for _, text := range headers {
		for _, known := range []bool{true, false} {
			var r io.Reader = strings.NewReader(text)
			if !known {
				r = onlyReader{r}
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Read(r, "x", ReadOptions{})
			runtime.ReadMemStats(&after)
			if !strings.HasPrefix(text, ".") {
				require.Error(t, err, "%s", text)
			}
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(128<<20), "%s", text)
		}
	}
}

// Many inputs are fine where gates use them.
func TestManyBinaryInputs(t *testing.T) {
	n := New("wide")
	const k = 3 << 20
	for range k {
		n.AddInput("")
	}
	for i := 1; i+1 <= k; i += 2 {
		n.And(MakeLit(i, false), MakeLit(i+1, true))
	}
	n.AddOutput("y", MakeLit(n.NumNodes()-1, true))
	text := write(t, n, AIGER)
	for _, r := range []io.Reader{strings.NewReader(text), onlyReader{strings.NewReader(text)}} {
		m, err := Read(r, "wide.aig", ReadOptions{})
		require.NoError(t, err)
		require.NoError(t, m.Check())
		require.Equal(t, k, m.NumInputs())
		require.Equal(t, k/2, m.NumGates())
		require.ElementsMatch(t, n.Fanins(k+k/4), m.Fanins(k+k/4))
		require.Equal(t, n.Outputs(), m.Outputs())
	}
}

// Chains and cycles as long as the file, expressions as deep as allowed: none
// may take stack or quadratic time.
func TestDeep(t *testing.T) {
	const depth = 80_000
	var aag, blif, verilog, bench strings.Builder
	fmt.Fprintf(&aag, "aag %d 1 0 1 %d\n2\n4\n", depth+1, depth)
	blif.WriteString(".model m\n.inputs a\n.outputs n0\n")
	verilog.WriteString("module m(input a, output n0);\n")
	bench.WriteString("INPUT(a)\nOUTPUT(n0)\n")
	for i := range depth {
		next := fmt.Sprintf("n%d", i+1)
		literal := 2*i + 6
		if i == depth-1 {
			next, literal = "a", 2
		}
		fmt.Fprintf(&aag, "%d %d 2\n", 2*i+4, literal)
		fmt.Fprintf(&blif, ".names %s a n%d\n11 1\n", next, i)
		fmt.Fprintf(&verilog, "assign n%d = %s & a;\n", i, next)
		fmt.Fprintf(&bench, "n%d = AND(%s, a)\n", i, next)
	}
	blif.WriteString(".end\n")
	verilog.WriteString("endmodule\n")
	for _, text := range []string{aag.String(), blif.String(), verilog.String(), bench.String()} {
		n := read(t, text, "x")
		require.Equal(t, depth, n.NumGates())
		require.Equal(t, []uint64{5}, n.Simulate([]uint64{5}, 1))
	}
	// The same with the last gate reading the first: a cycle of them all.
	last := fmt.Sprintf("n%d", depth-1)
	for _, text := range []string{
		strings.Replace(aag.String(), fmt.Sprintf("\n%d 2 2\n", 2*depth+2), fmt.Sprintf("\n%d 4 2\n", 2*depth+2), 1),
		strings.Replace(blif.String(), ".names a a "+last, ".names n0 a "+last, 1),
		strings.Replace(verilog.String(), last+" = a &", last+" = n0 &", 1),
		strings.Replace(bench.String(), last+" = AND(a,", last+" = AND(n0,", 1),
	} {
		_, err := Read(strings.NewReader(text), "x", ReadOptions{})
		require.ErrorContains(t, err, "combinational cycle")
		require.ErrorContains(t, err, fmt.Sprintf("(%d more)", depth-8))
	}
	for _, nest := range [][2]string{{"(", ")"}, {"a ? a : ", ""}, {"~(a ^ ", ")"}, {"(~", ")"}} {
		text := func(n int) string {
			return "module m(input a, output y); assign y = " + strings.Repeat(nest[0], n) + "a" + strings.Repeat(nest[1], n) + "; endmodule"
		}
		read(t, text(verilogDepth-2), "x")
		_, err := Read(strings.NewReader(text(10*verilogDepth)), "x", ReadOptions{})
		require.ErrorContains(t, err, "expression nests deeper than 10000, expected a flatter one")
	}
	long := "module m(input a, output y); assign y = " + strings.Repeat("~", 1_000_000) + strings.Repeat("a & ", 300_000) + "a; endmodule"
	require.Equal(t, 300_000, read(t, long, "x").NumGates())
}

// Readers must not depend on how their input is cut, and pass read errors on.
func TestReaders(t *testing.T) {
	n := New("n")
	a, b := n.AddInput("a"), n.AddInput("b")
	n.AddOutput("y", n.Maj(a, b^1, n.Xor(a, b)))
	broken := errors.New("broken cable")
	for _, f := range writable {
		text := write(t, n, f)
		m, err := Read(iotest.OneByteReader(iotest.DataErrReader(strings.NewReader(text))), "n", ReadOptions{})
		require.NoError(t, err)
		require.Equal(t, read(t, text, "n"), m)
		for cut := range len(text) {
			_, err := Read(io.MultiReader(strings.NewReader(text[:cut]), iotest.ErrReader(broken)), "n", ReadOptions{})
			require.ErrorIs(t, err, broken)
			require.EqualError(t, err, "netlist: read n: broken cable")
		}
		m, err = Read(strings.NewReader(text), "n", ReadOptions{Format: f})
		require.NoError(t, err)
		require.Equal(t, read(t, text, "n"), m)
	}
	_, err := Read(stuckReader{}, "n", ReadOptions{})
	require.ErrorIs(t, err, io.ErrNoProgress)
}

type stuckReader struct{}

func (stuckReader) Read([]byte) (int, error) { return 0, nil }

// A file cut anywhere is an error or a circuit, in every format.
func TestTruncated(t *testing.T) {
	n := New("n")
	a, b := n.AddInput("a"), n.AddInput("b")
	n.AddOutput("y", n.Maj(a, b^1, n.Xor(a, b)))
	for _, f := range writable {
		text := write(t, n, f)
		for cut := range len(text) {
			m, err := Read(strings.NewReader(text[:cut]), "n"+formats[f].ending, ReadOptions{})
			if err == nil {
				require.NoError(t, m.Check())
			} else {
				var syntax *SyntaxError
				require.ErrorAs(t, err, &syntax)
			}
		}
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	_, err := ReadFile(dir)
	require.EqualError(t, err, "netlist: "+dir+": is a directory, expected a circuit file")
	_, err = ReadFile(filepath.Join(dir, "none.aig"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "netlist: open ")
	// The content decides, not the ending.
	path := filepath.Join(dir, "fun.blif")
	require.NoError(t, os.WriteFile(path, []byte("INPUT(a)\nOUTPUT(y)\ny = NOT(a)\n"), 0o666))
	n, err := ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "fun", n.Name)
	// The ending decides where the content does not.
	path = filepath.Join(dir, "none.BENCH")
	require.NoError(t, os.WriteFile(path, []byte("# nothing\n"), 0o666))
	n, err = ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, 1, n.NumNodes())
	for _, name := range []string{"", "-", "<stdin>"} {
		n, err := Read(strings.NewReader("aag 0 0 0 0 0\n"), name, ReadOptions{})
		require.NoError(t, err)
		require.Empty(t, n.Name)
	}
}

func TestFormats(t *testing.T) {
	for _, f := range writable {
		g, err := ParseFormat(strings.ToUpper(f.String()))
		require.NoError(t, err)
		require.Equal(t, f, g)
		g, err = FormatOf("a.v/b" + strings.ToUpper(formats[f].ending))
		require.NoError(t, err)
		require.Equal(t, f, g)
	}
	_, err := ParseFormat("auto")
	require.EqualError(t, err, `netlist: unknown format "auto", expected aig, aag, blif, verilog or bench`)
	_, err = FormatOf("x.aig/y")
	require.EqualError(t, err, "netlist: x.aig/y: the ending names no format, expected .aig, .aag, .blif, .v or .bench")
	require.Equal(t, "format(99)", Format(99).String())
}

// Long comments before a file that is told by its content or its ending.
func TestLongComments(t *testing.T) {
	body := ".model m\n.inputs a\n.outputs a\n.end\n"
	read(t, strings.Repeat("# comment\n", 5000)+body, "x")
	long := strings.Repeat("# comment\n", 50000) + body
	_, err := Read(strings.NewReader(long), "x", ReadOptions{})
	require.EqualError(t, err, "x:1:1: unknown format, expected a circuit in AIGER, BLIF, Verilog or BENCH")
	require.Equal(t, 1, read(t, long, "x.blif").NumInputs())
	var b bytes.Buffer
	require.NoError(t, Write(&b, New(""), Bench))
	require.Equal(t, "# top\n", b.String())
}

// endless is a text that is followed by one byte without an end. It counts what was
// read of it.
type endless struct {
	text string
	fill byte
	read int64
}

func (e *endless) Read(b []byte) (int, error) {
	n := copy(b, e.text)
	e.text = e.text[n:]
	for i := n; i < len(b); i++ {
		b[i] = e.fill
	}
	e.read += int64(len(b))
	if e.read > 1<<30 {
		return 0, errors.New("all of it was read")
	}
	return len(b), nil
}

// TestEndless has tokens that do not end: each is refused after a megabyte or so.
func TestEndless(t *testing.T) {
	for _, c := range []struct {
		text, want string
		fill       byte
	}{
		{"aag 1 1 0 0 0\n2\ni0 ", "f:3:1: name of more than 1048576 bytes", 'x'},
		{"aag 1", "f:1:5: ", '1'},
		{"aig 1 1 0 0 0\ni0 ", "f: byte 14: name of more than 1048576 bytes", 'x'},
		{".model m\n.inputs a", "f:2:9: word of more than 1048576 bytes", 'a'},
		{".model ", "f:1:8: word of more than 1048576 bytes", '\\'},
		{".model m\n.inputs a\n.outputs y\n.names a y\n", "f:5:1: word of more than 1048576 bytes", '1'},
		{"INPUT(a", "f:1:7: name of more than 1048576 bytes", 'a'},
		{"y = LUT 0x", "f:1:9: name of more than 1048576 bytes", '1'},
		{"module m", "f:1:8: name of more than 1048576 bytes", 'm'},
		{"module \\m", "f:1:8: name of more than 1048576 bytes", 'm'},
		{"module m(a); input a; wire b = ", "f:1:32: number of more than 1048576 bytes", '1'},
		{"module m(a); input a; wire b = 1'b", "f:1:32: number of more than 1048576 bytes", '0'},
		{"module m(a); input a; wire b = ", "f:1:", '('},
	} {
		in := &endless{text: c.text, fill: c.fill}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Read(in, "f", ReadOptions{})
		runtime.ReadMemStats(&after)
		require.ErrorContains(t, err, c.want, c.text)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), c.text)
		require.Less(t, in.read, int64(8<<20), c.text)
	}
	long := strings.Repeat("a,", maxFanins+1)
	_, err := Read(strings.NewReader("INPUT(a)\ny = AND("+long+"a)"), "f", ReadOptions{})
	require.EqualError(t, err, "f:2:5: AND of more than 1048576 inputs, expected fewer")
	_, err = Read(strings.NewReader(".model m\n.inputs a\n.names "+strings.ReplaceAll(long, ",", " ")+" y\n"), "f", ReadOptions{})
	require.EqualError(t, err, "f:3:1: .names of more than 1048576 signals, expected fewer")
	_, err = Read(strings.NewReader("aag 1 0 1 0 0\n2 3\n"), "f", ReadOptions{})
	require.ErrorContains(t, err, "f:1:9: 1 latch: sequential")
	_, err = Read(strings.NewReader("aag 1 0 0 0 0 1\n0\n"), "f", ReadOptions{})
	require.ErrorContains(t, err, ": 1 bad state: properties")
}
