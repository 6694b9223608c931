package netlist

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// fuzzSeeds adds every file of the tables of this package, so that each target
// also meets the syntax of the other formats.
func fuzzSeeds(f *testing.F) {
	for _, group := range slices.Sorted(maps.Keys(malformed)) {
		for _, tt := range malformed[group] {
			f.Add([]byte(tt.text))
		}
	}
	for _, tt := range functions {
		f.Add([]byte(tt.text))
	}
	for _, text := range regressions {
		f.Add([]byte(text))
	}
}

// regressions are inputs that once broke a reader or a writer.
var regressions = []string{
	"# a signal with the name of a Verilog keyword\nmodule = vdd\na = XOR(module, module)\n",
	".model a word of control bytes\n.inputs a\x01\n.outputs \x02\n",
	"module m(input a, output y); wire n; not (y, n, a); endmodule",
}

// fuzz checks what must hold for any input: no panic; an error has a place; a
// circuit is sound, and comes back with its ports and its function from the
// format it was read from and from one other.
func fuzz(t *testing.T, data []byte, format, other Format) {
	n, err := Read(bytes.NewReader(data), "f", ReadOptions{Format: format})
	if err != nil {
		var syntax *SyntaxError
		require.ErrorAs(t, err, &syntax)
		require.True(t, syntax.Line > 0 && syntax.Col > 0 || syntax.Line == 0 && syntax.Offset >= 0)
		return
	}
	require.NoError(t, n.Check())
	if n.NumNodes() > 5000 {
		return // a vector may be wide; that tells nothing new
	}
	for _, f := range []Format{format, other} {
		if f == Auto {
			continue
		}
		var b bytes.Buffer
		if err := Write(&b, n, f); err != nil {
			require.ErrorContains(t, err, "has a line break")
			continue
		}
		text := b.String()
		m, err := Read(&b, "f"+formats[f].ending, ReadOptions{Format: f})
		require.NoError(t, err, "%s", text)
		requireSameFunction(t, n, m)
		if n.NumGates() <= 100 {
			requireSettles(t, m, f)
		}
	}
}

func FuzzAIGER(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) { fuzz(t, data, AIGER, BLIF) })
}

func FuzzBLIF(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) { fuzz(t, data, BLIF, Verilog) })
}

func FuzzVerilog(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) { fuzz(t, data, Verilog, Bench) })
}

func FuzzBench(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) { fuzz(t, data, Bench, AIGERASCII) })
}

// FuzzDetect leaves the format to the content.
func FuzzDetect(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) { fuzz(t, data, Auto, AIGER) })
}
