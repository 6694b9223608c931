package netlist

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sharedData is a folder with published circuits that are not part of the
// repository; what needs it is skipped without it.
const sharedData = "../../shared/data"

// masimGates are the assigns with an operator in each published MASIM netlist.
var masimGates = map[string]int{
	"int2float": 199, "router": 201, "cavlc": 600, "priority": 551, "dec": 304, "adder": 256,
	"max": 1824, "sin": 3482, "sqrt": 9240, "multiplier": 14176, "div": 12536, "log2": 19760,
}

// epflSizes are inputs, outputs and AND gates of the EPFL circuits, from the
// headers of their files.
var epflSizes = map[string][3]int{
	"adder": {256, 129, 1020}, "cavlc": {10, 11, 693}, "dec": {8, 256, 304}, "div": {128, 128, 57247},
	"int2float": {11, 7, 260}, "log2": {32, 32, 32060}, "max": {512, 130, 2865}, "multiplier": {128, 128, 27062},
	"priority": {128, 8, 978}, "router": {60, 30, 257}, "sin": {24, 25, 5416}, "sqrt": {128, 64, 24618},
}

func readShared(t testing.TB, path string) *Network {
	t.Helper()
	path = filepath.Join(sharedData, path)
	if _, err := os.Stat(path); err != nil {
		t.Skip("needs the published circuit:", err)
	}
	n, err := ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, n.Check())
	return n
}

func TestMASIMGateCounts(t *testing.T) {
	for name, gates := range masimGates {
		t.Run(name, func(t *testing.T) {
			n := readShared(t, "masim/"+name+".v")
			require.Equal(t, gates, n.NumGates())
			require.Equal(t, epflSizes[name][0], n.NumInputs())
			require.Equal(t, epflSizes[name][1], n.NumOutputs())
			require.Equal(t, "x0", n.InputName(0))
			require.Equal(t, "y0", n.Output(0).Name)
			require.Equal(t, "top", n.Name)
			// What is written is the same circuit, gate by gate, name by name, and
			// line by line.
			text := write(t, n, Verilog)
			require.Equal(t, n, read(t, text, name))
			original, err := os.ReadFile(filepath.Join(sharedData, "masim", name+".v"))
			require.NoError(t, err)
			require.Equal(t, assigns(string(original)), assigns(text))
			for _, f := range []Format{AIGER, BLIF, Bench} {
				requireSameSimulation(t, n, read(t, write(t, n, f), name))
			}
		})
	}
}

// assigns returns the lines of a Verilog file that begin with assign.
func assigns(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] == "assign" {
			lines = append(lines, strings.TrimSuffix(strings.Join(fields, " "), " ;"))
		}
	}
	return lines
}

func TestEPFL(t *testing.T) {
	for name, size := range epflSizes {
		t.Run(name, func(t *testing.T) {
			n := readShared(t, "epfl/"+name+".aig")
			require.Equal(t, size, [3]int{n.NumInputs(), n.NumOutputs(), n.NumGates()})
			require.Equal(t, name, n.Name)
			for _, f := range writable {
				m := read(t, write(t, n, f), name)
				require.Equal(t, size, [3]int{m.NumInputs(), m.NumOutputs(), m.NumGates()}, "%v", f)
				requireSameSimulation(t, n, m)
				wantIn, wantOut := portNames(n)
				gotIn, gotOut := portNames(m)
				require.Equal(t, wantIn, gotIn)
				require.Equal(t, wantOut, gotOut)
			}
			// Binary AIGER comes back byte for byte, but for the comment.
			original, err := os.ReadFile(filepath.Join(sharedData, "epfl", name+".aig"))
			require.NoError(t, err)
			body, _, _ := bytes.Cut(original, []byte("\nc\n"))
			written, _, _ := bytes.Cut([]byte(write(t, n, AIGER)), []byte("\nc\n"))
			require.True(t, bytes.Equal(body, written))
		})
	}
}

// The EPFL adder adds, whatever reads it.
func TestEPFLAdderAdds(t *testing.T) {
	n := readShared(t, "epfl/adder.aig")
	rng := rand.New(rand.NewPCG(1, 2))
	in := make([]uint64, 256)
	for i := range in {
		in[i] = rng.Uint64()
	}
	out := n.Simulate(in, 1)
	for p := range 64 {
		carry := uint64(0)
		for i := range 128 {
			sum := in[i]>>p&1 + in[128+i]>>p&1 + carry
			require.Equal(t, sum&1, out[i]>>p&1)
			carry = sum >> 1
		}
		require.Equal(t, carry, out[128]>>p&1)
	}
}

func requireSameSimulation(t *testing.T, want, got *Network) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	in := make([]uint64, 2*want.NumInputs())
	for i := range in {
		in[i] = rng.Uint64()
	}
	require.Equal(t, want.Simulate(in, 2), got.Simulate(in, 2))
}
