package masim

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// checkExample is a full adder with an AND of its results, on two arrays of
// four rows: inputs a, b and c (nodes 1 to 3) in rows 0 to 2 of array 0, gates
// carry (4), sum (5) and sum & !carry (6).
func checkExample() (*xmg.Graph, *sram.Program) {
	g := xmg.New("example")
	a, b, c := g.AddInput("a"), g.AddInput("b"), g.AddInput("c")
	carry, sum := g.Maj(a, b, c), g.Xor(a, b, c)
	g.AddOutput("y", g.And(sum, carry.Not()))
	g.AddOutput("ncarry", carry.Not())
	g.AddOutput("one", xmg.True)
	g.AddOutput("na", a.Not())
	in := func(name string, row int) sram.Input {
		return sram.Input{Name: name, Place: sram.Place{Row: row}}
	}
	return g, &sram.Program{
		Geometry: sram.Geometry{Arrays: 2, Rows: 4, Cols: 256},
		Inputs:   []sram.Input{in("a", 0), in("b", 1), in("c", 2)},
		Instrs: []sram.Instr{
			// The complement of the carry: all operands are negated.
			{Op: sram.Maj, Dst: 3, Src: [3]sram.Operand{sram.Row(2, true), sram.Row(0, true), sram.Row(1, true)}},
			{Op: sram.Copy, Array: 1, Dst: 0, Src: [3]sram.Operand{sram.Row(3, false)}},
			// The complement of the sum, where the carry was.
			{Op: sram.Xor, Dst: 3, Src: [3]sram.Operand{sram.Row(0, false), sram.Row(2, true), sram.Row(1, false)}},
			{Op: sram.Copy, Array: 1, Dst: 1, Src: [3]sram.Operand{sram.Row(3, false)}},
			// Not the AND but its complement, an OR.
			{Op: sram.Maj, Array: 1, Dst: 1, Src: [3]sram.Operand{sram.Row(1, false), sram.Row(0, true), sram.One}},
		},
		Outputs: []sram.Output{
			{Name: "y", Array: 1, Operand: sram.Row(1, true)},
			{Name: "ncarry", Array: 1, Operand: sram.Row(0, false)},
			{Name: "one", Operand: sram.One},
			{Name: "na", Operand: sram.Row(0, true)},
		},
	}
}

func TestCheckCounts(t *testing.T) {
	g, p := checkExample()
	r, err := Check(g, p, CheckOptions{})
	require.NoError(t, err)
	require.Equal(t, &Report{Computes: 3, Copies: 2, Instructions: 5, ArraysUsed: 2, RowsUsed: 6, MaxRows: 4}, r)
	require.NoError(t, equalsGraph(g, p))

	again := *p
	again.Instrs = append(append([]sram.Instr(nil), p.Instrs...), p.Instrs[2])
	r, err = Check(g, &again, CheckOptions{Rematerialize: true})
	require.NoError(t, err)
	require.Equal(t, &Report{Computes: 4, Copies: 2, Instructions: 6, Recomputed: 1, ArraysUsed: 2, RowsUsed: 6, MaxRows: 4}, r)
}

// Each rule, broken in every way that there is.
func TestCheckRules(t *testing.T) {
	for _, c := range []struct {
		name   string
		rule   Rule
		index  int
		msg    string
		mutate func(p *sram.Program)
	}{
		{"no rows", RuleGeometry, -1, "0 rows", func(p *sram.Program) { p.Geometry.Rows = 0 }},
		{"missing input", RuleInputs, -1, "2 inputs, expected 3", func(p *sram.Program) { p.Inputs = p.Inputs[:2] }},
		{"swapped inputs", RuleInputs, -1, "input 0 (b) is in array 0 row 1, expected array 0 row 0",
			func(p *sram.Program) { p.Inputs[0], p.Inputs[1] = p.Inputs[1], p.Inputs[0] }},
		{"inputs that wrap", RuleInputs, -1, "expected array 1 row 0", func(p *sram.Program) { p.Geometry.Rows = 2 }},
		{"inputs that do not fit", RuleInputs, -1, "3 inputs do not fit 2 arrays of 1 rows", func(p *sram.Program) { p.Geometry.Rows = 1 }},
		{"operation", RuleFanins, 2, "no such operation", func(p *sram.Program) { p.Instrs[2].Op = 7 }},
		{"array", RuleRange, 0, "array 2, expected 0 to 1", func(p *sram.Program) { p.Instrs[0].Array = 2 }},
		{"destination row", RuleRange, 1, "destination row 4, expected 0 to 3", func(p *sram.Program) { p.Instrs[1].Dst = 4 }},
		{"operand row", RuleRange, 2, "operand row 9, expected 0 to 3", func(p *sram.Program) { p.Instrs[2].Src[1] = sram.Row(9, true) }},
		{"source array", RuleRange, 1, "source array 2, expected 0 to 1", func(p *sram.Program) { p.Instrs[1].From = 2 }},
		{"source row", RuleRange, 1, "source row 4, expected 0 to 3", func(p *sram.Program) { p.Instrs[1].Src[0] = sram.Row(4, false) }},
		{"compute to an input", RuleProtected, 0, "writes row 2 of array 0, where input 2 (c) lies", func(p *sram.Program) { p.Instrs[0].Dst = 2 }},
		{"copy to an input", RuleProtected, 1, "writes row 0 of array 0", func(p *sram.Program) { p.Instrs[1].Array, p.Instrs[1].From = 0, 1 }},
		{"empty operand", RuleWritten, 0, "row 3 of array 0 holds nothing", func(p *sram.Program) { p.Instrs[0].Src[1] = sram.Row(3, false) }},
		{"empty source", RuleWritten, 0, "row 3 of array 0 holds nothing", func(p *sram.Program) { p.Instrs = p.Instrs[1:] }},
		{"negated copy", RuleCopy, 1, "copy of ~3, expected a plain row", func(p *sram.Program) { p.Instrs[1].Src[0] ^= 1 }},
		{"constant copy", RuleCopy, 1, "copy of #1, expected a plain row", func(p *sram.Program) { p.Instrs[1].Src[0] = sram.One }},
		{"copy within", RuleCopy, 1, "copy within an array", func(p *sram.Program) { p.Instrs[1].From = 1 }},
		{"other kind", RuleFanins, 4, "no xor gate of the graph has the fanins ~node 5, node 4 and constant 1",
			func(p *sram.Program) { p.Instrs[4].Op = sram.Xor }},
		{"other fanins", RuleFanins, 2, "no xor gate of the graph has the fanins node 1, ~node 3 and constant 0",
			func(p *sram.Program) { p.Instrs[2].Src[2] = sram.Zero }},
		{"negated fanin", RuleFanins, 0, "no maj gate", func(p *sram.Program) { p.Instrs[0].Src[2] ^= 1 }},
		{"other constant", RuleFanins, 4, "no maj gate", func(p *sram.Program) { p.Instrs[4].Src[2] ^= 1 }},
		{"one fanin twice", RuleFanins, 2, "no xor gate", func(p *sram.Program) { p.Instrs[2].Src[1] = p.Instrs[2].Src[0] }},
		{"twice", RuleOnce, 5, "gate 5 was computed before", func(p *sram.Program) { p.Instrs = append(p.Instrs, p.Instrs[2]) }},
		{"never", RuleOnce, -1, "gate 6 is never computed", func(p *sram.Program) { p.Instrs = p.Instrs[:4] }},
		{"missing output", RuleOutputs, -1, "3 outputs, expected 4", func(p *sram.Program) { p.Outputs = p.Outputs[:3] }},
		{"output array", RuleOutputs, -1, "output 0 (y) is in array 2", func(p *sram.Program) { p.Outputs[0].Array = 2 }},
		{"output row", RuleOutputs, -1, "row 5, expected one of 2 arrays of 4 rows", func(p *sram.Program) { p.Outputs[0].Operand = sram.Row(5, false) }},
		{"empty output", RuleOutputs, -1, "row 3 of array 1 holds nothing, expected node 6", func(p *sram.Program) { p.Outputs[0].Operand = sram.Row(3, false) }},
		{"negated output", RuleOutputs, -1, "output 0 (y) is ~node 6 at the end, expected node 6", func(p *sram.Program) { p.Outputs[0].Operand ^= 1 }},
		{"other output", RuleOutputs, -1, "output 1 (ncarry) is ~node 5 at the end, expected ~node 4",
			func(p *sram.Program) { p.Outputs[1].Array, p.Outputs[1].Operand = 0, sram.Row(3, false) }},
		{"other constant output", RuleOutputs, -1, "output 2 (one) is constant 0", func(p *sram.Program) { p.Outputs[2].Operand = sram.Zero }},
		{"overwritten output", RuleOutputs, -1, "output 1 (ncarry) is node 5 at the end", func(p *sram.Program) {
			// The sum a second time goes where the carry lies.
			p.Instrs = append(p.Instrs, sram.Instr{Op: sram.Copy, Array: 1, Dst: 0, Src: [3]sram.Operand{sram.Row(3, false)}})
			p.Outputs[1].Operand ^= 1
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, p := checkExample()
			c.mutate(p)
			_, err := Check(g, p, CheckOptions{})
			var broken *RuleError
			require.True(t, errors.As(err, &broken), "%v", err)
			require.Equal(t, c.rule, broken.Rule, "%v", err)
			require.Equal(t, c.index, broken.Index, "%v", err)
			require.ErrorContains(t, err, c.msg)
			if c.index >= 0 {
				require.Equal(t, p.Instrs[c.index], broken.Instr)
			}
		})
	}
}

// The operands of a gate in any order and with any complements that cancel out
// give the gate or its complement, as the truth table says.
func TestCheckComplements(t *testing.T) {
	value := func(xor bool, bits, negate int) int {
		bits ^= negate
		n := bits&1 + bits>>1&1 + bits>>2&1
		if xor {
			return n & 1
		}
		return n >> 1
	}
	for _, xor := range []bool{false, true} {
		for gateNeg := range 8 {
			g := xmg.New("")
			var in [3]xmg.Lit
			for i := range in {
				in[i] = g.AddInput("")
			}
			var l [3]xmg.Lit
			for i := range l {
				l[i] = in[i].NotIf(gateNeg>>i&1 != 0)
			}
			op, out := sram.Maj, xmg.Lit(0)
			if xor {
				op, out = sram.Xor, g.Xor(l[0], l[1], l[2])
			} else {
				out = g.Maj(l[0], l[1], l[2])
			}
			g.AddOutput("", out)
			for neg := range 8 {
				equal, opposite := true, true
				for bits := range 8 {
					same := value(xor, bits, gateNeg) == value(xor, bits, neg)
					equal, opposite = equal && same, opposite && !same
				}
				for _, perm := range [][3]int{{0, 1, 2}, {2, 0, 1}, {1, 0, 2}, {2, 1, 0}} {
					ins := sram.Instr{Op: op, Dst: 3}
					for i, k := range perm {
						ins.Src[i] = sram.Row(k, neg>>k&1 != 0)
					}
					p := &sram.Program{Geometry: sram.Geometry{Arrays: 1, Rows: 4, Cols: 1}, Instrs: []sram.Instr{ins}}
					for i := range in {
						p.Inputs = append(p.Inputs, sram.Input{Place: sram.Place{Row: i}})
					}
					for _, negated := range []bool{false, true} {
						p.Outputs = []sram.Output{{Operand: sram.Row(3, negated)}}
						_, err := Check(g, p, CheckOptions{})
						if equal && !negated || opposite && negated {
							require.NoError(t, err)
						} else {
							require.Error(t, err, "xor %v gate %03b operands %03b", xor, gateNeg, neg)
						}
					}
				}
			}
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	g, p := chainProgram(1 << 20)
	b.ReportAllocs()
	start := time.Now()
	for b.Loop() {
		if _, err := Check(g, p, CheckOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*float64(len(p.Instrs))/time.Since(start).Seconds(), "instr/s")
}

// chainProgram is a graph of n gates, each of the one before and two inputs,
// and a program for it that uses two rows.
func chainProgram(n int) (*xmg.Graph, *sram.Program) {
	const inputs = 64
	g := xmg.New("chain")
	g.Grow(n + inputs)
	p := &sram.Program{Geometry: sram.Geometry{Arrays: 2, Rows: inputs + 2, Cols: 256}}
	var in []xmg.Lit
	for i := range inputs {
		in = append(in, g.AddInput(""))
		p.Inputs = append(p.Inputs, sram.Input{Place: sram.Place{Row: i}})
	}
	last, row := in[0], 0
	for i := range n {
		a, b := 1+i%61, 62+i%2
		ins := sram.Instr{Op: sram.Maj, Dst: uint16(inputs + i%2), Src: [3]sram.Operand{sram.Row(row, false), sram.Row(a, false), sram.Row(b, false)}}
		if i%3 == 0 {
			ins.Op, last = sram.Xor, g.Xor(last, in[a], in[b])
		} else {
			last = g.Maj(last, in[a], in[b])
		}
		row = int(ins.Dst)
		p.Instrs = append(p.Instrs, ins)
	}
	g.AddOutput("", last)
	p.Outputs = []sram.Output{{Operand: sram.Row(row, false)}}
	return g, p
}
