package masim

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

func TestWriteMASIM(t *testing.T) {
	g, p := checkExample()
	var b bytes.Buffer
	require.NoError(t, WriteMASIM(&b, g, p))
	// Nodes: a, b, c are 0 to 2, carry 3, sum 4, the AND 5. The sum is an XOR, so
	// its fanins are c, b, a. The AND has the fanins ~carry and sum.
	require.Equal(t, `Init:
PI 0 in Array 0 Row 0
PI 1 in Array 0 Row 1
PI 2 in Array 0 Row 2

Compute node 3 in Array 0 : 0 1 2 -> 3
Copy Array 0 Row 3 -> Array 1 Row 0
Compute node 4 in Array 0 : 2 1 0 -> 3
Copy Array 0 Row 3 -> Array 1 Row 1
Compute node 5 in Array 1 : 0 1 -> 1
`, b.String())

	p.Instrs[3].Dst = 2
	b.Reset()
	var broken *RuleError
	require.ErrorAs(t, WriteMASIM(&b, g, p), &broken)
	require.Equal(t, 4, broken.Index)
	require.Zero(t, b.Len())

	g, p = checkExample()
	require.ErrorIs(t, WriteMASIM(failing{}, g, p), errFull)

	// No gates, no inputs.
	g = xmg.New("")
	g.AddOutput("", xmg.True)
	p = &sram.Program{Geometry: sram.Geometry{Arrays: 1, Rows: 1, Cols: 1}, Outputs: []sram.Output{{Operand: sram.One}}}
	require.NoError(t, WriteMASIM(&b, g, p))
	require.Equal(t, "Init:\n\n", b.String())
}

// Inputs come first among the operands, whatever the order of the fanins.
func TestWriteMASIMOrder(t *testing.T) {
	g := xmg.New("")
	a, b := g.AddInput(""), g.AddInput("")
	x := g.And(a, b)
	y := g.Xor(a, x, b) // fanins x, b, a
	g.AddOutput("", y)
	p := &sram.Program{
		Geometry: sram.Geometry{Arrays: 1, Rows: 4, Cols: 1},
		Inputs:   []sram.Input{{}, {Place: sram.Place{Row: 1}}},
		Instrs: []sram.Instr{
			{Dst: 3, Src: [3]sram.Operand{sram.Row(1, false), sram.Zero, sram.Row(0, false)}},
			{Op: sram.Xor, Dst: 3, Src: [3]sram.Operand{sram.Row(0, false), sram.Row(3, false), sram.Row(1, false)}},
		},
		Outputs: []sram.Output{{Operand: sram.Row(3, false)}},
	}
	var w bytes.Buffer
	require.NoError(t, WriteMASIM(&w, g, p))
	_, lines, _ := strings.Cut(w.String(), "\n\n")
	require.Equal(t, "Compute node 2 in Array 0 : 0 1 -> 3\nCompute node 3 in Array 0 : 1 0 3 -> 3\n", lines)
}

var errFull = errors.New("full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

// masimChecker tests what the checker of the MASIM project tests, on the text
// alone: that operand rows hold the fanins, in its order, at every step, that
// inputs are where they were at the end and every output's gate is in some row,
// and that there are as many copies as claimed.
func masimChecker(g *xmg.Graph, rows int, text string, copies int) error {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if lines[0] != "Init:" {
		return fmt.Errorf("no header: %q", lines[0])
	}
	ni := g.NumInputs()
	place := func(a, r int) string { return strconv.Itoa(a) + "." + strconv.Itoa(r) }
	memory := map[string]int{} // node in each place
	for i := range ni {
		var pi, a, r int
		if _, err := fmt.Sscanf(lines[1+i], "PI %d in Array %d Row %d", &pi, &a, &r); err != nil {
			return fmt.Errorf("line %d: %w", 2+i, err)
		}
		if pi != i || a != i/rows || r != i%rows {
			return fmt.Errorf("line %d: %s", 2+i, lines[1+i])
		}
		memory[place(a, r)] = pi
	}
	if lines[1+ni] != "" {
		return fmt.Errorf("line %d: expected a blank line", 2+ni)
	}
	at := func(a int, row string) int {
		if n, ok := memory[strconv.Itoa(a)+"."+row]; ok {
			return n
		}
		return -1
	}
	found := 0
	for k, line := range lines[2+ni:] {
		f := strings.Fields(line)
		if len(f) == 10 && f[0] == "Copy" {
			var a, r, b, s int
			if _, err := fmt.Sscanf(line, "Copy Array %d Row %d -> Array %d Row %d", &a, &r, &b, &s); err != nil {
				return err
			}
			v := at(a, f[4])
			if v < 0 || a == b {
				return fmt.Errorf("instruction %d: %s", k, line)
			}
			memory[place(b, s)] = v
			found++
			continue
		}
		if len(f) < 9 || f[0] != "Compute" || f[6] != ":" || f[len(f)-2] != "->" {
			return fmt.Errorf("instruction %d: %q", k, line)
		}
		node, _ := strconv.Atoi(f[2])
		a, _ := strconv.Atoi(f[5])
		if node < ni || node >= g.NumNodes()-1 {
			return fmt.Errorf("instruction %d computes node %d", k, node)
		}
		var want []int // inputs, then gates
		for _, l := range g.Fanins(node + 1) {
			if n := l.Node() - 1; n >= 0 && n < ni {
				want = append(want, n)
			}
		}
		for _, l := range g.Fanins(node + 1) {
			if n := l.Node() - 1; n >= ni {
				want = append(want, n)
			}
		}
		var have []int
		for _, row := range f[7 : len(f)-2] {
			have = append(have, at(a, row))
		}
		if fmt.Sprint(have) != fmt.Sprint(want) {
			return fmt.Errorf("instruction %d: rows hold %v, expected %v: %s", k, have, want, line)
		}
		memory[strconv.Itoa(a)+"."+f[len(f)-1]] = node
	}
	for i := range ni {
		if memory[place(i/rows, i%rows)] != i {
			return fmt.Errorf("input %d is overwritten", i)
		}
	}
	present := map[int]bool{}
	for _, n := range memory {
		present[n] = true
	}
	for i, o := range g.Outputs() {
		if n := o.Lit.Node() - 1; n >= 0 && !present[n] {
			return fmt.Errorf("output %d (node %d) is in no row", i, n)
		}
	}
	if found != copies {
		return fmt.Errorf("%d copies, expected %d", found, copies)
	}
	return nil
}

func TestWriteMASIMRandom(t *testing.T) {
	found := 0
	for seed := range uint64(25) {
		rng := rand.New(rand.NewPCG(seed, 6))
		p, _ := smallProblem(rng, 60)
		for _, s := range anySize() {
			r, err := s.Run(t.Context(), p, Options{Seed: seed})
			if errors.Is(err, ErrInfeasible) {
				continue
			}
			require.NoError(t, err)
			var b bytes.Buffer
			require.NoError(t, WriteMASIM(&b, p.Graph, r.Program))
			require.NoError(t, masimChecker(p.Graph, p.Geometry.Rows, b.String(), r.Copies), "seed %d %s", seed, s.Name)
			found++
		}
	}
	require.Greater(t, found, 15)
}

// The same and our own rules on netlists of the MASIM project.
func TestSharedNetlists(t *testing.T) {
	for _, name := range []string{"int2float", "router", "cavlc", "priority", "dec", "adder"} {
		p := sharedProblem(t, name)
		for _, s := range anySize() {
			if name != "int2float" && s.Name != "masim" {
				continue // the search of the others takes seconds there
			}
			var r *Result
			var err error
			if s.Name == "masim" {
				r = sharedMASIMRun(t, name)
			} else {
				r, err = s.Run(t.Context(), p, Options{Seed: 1, Threads: 2})
				require.NoError(t, err, name)
			}
			report, err := Check(p.Graph, r.Program, CheckOptions{})
			require.NoError(t, err, "%s %s", name, s.Name)
			require.Equal(t, r.Copies, report.Copies)
			require.Equal(t, p.Graph.NumGates(), report.Computes)
			var b bytes.Buffer
			require.NoError(t, WriteMASIM(&b, p.Graph, r.Program))
			require.NoError(t, masimChecker(p.Graph, p.Geometry.Rows, b.String(), r.Copies), "%s %s", name, s.Name)
		}
	}
}
