package masim

import (
	"fmt"
	"testing"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// naiveRun executes a program on one input pattern, bit by bit: the oracle of
// these tests, which shares nothing with the machine. It fails where a row is
// read that holds nothing.
func naiveRun(p *sram.Program, pattern []bool) ([]bool, error) {
	type cell struct{ array, row int }
	rows := map[cell]bool{}
	for i, in := range p.Inputs {
		rows[cell{in.Array, in.Row}] = pattern[i]
	}
	read := func(array int, s sram.Operand) (bool, error) {
		if s == sram.Zero || s == sram.One {
			return s == sram.One, nil
		}
		v, ok := rows[cell{array, s.Row()}]
		if !ok {
			return false, fmt.Errorf("array %d row %d holds nothing", array, s.Row())
		}
		return v != s.Negated(), nil
	}
	for i, ins := range p.Instrs {
		at, n := int(ins.Array), 3
		if ins.Op == sram.Copy {
			at, n = int(ins.From), 1
		}
		ones := 0
		for _, s := range ins.Src[:n] {
			v, err := read(at, s)
			if err != nil {
				return nil, fmt.Errorf("instruction %d: %w", i, err)
			}
			if v {
				ones++
			}
		}
		result := false
		switch ins.Op {
		case sram.Maj:
			result = ones >= 2
		case sram.Xor, sram.Copy:
			result = ones%2 == 1
		}
		rows[cell{int(ins.Array), int(ins.Dst)}] = result
	}
	out := make([]bool, len(p.Outputs))
	for i, o := range p.Outputs {
		v, err := read(o.Array, o.Operand)
		if err != nil {
			return nil, fmt.Errorf("output %d: %w", i, err)
		}
		out[i] = v
	}
	return out, nil
}

// naiveTable is the truth table of a program: all outputs for all patterns.
func naiveTable(p *sram.Program) ([]bool, error) {
	var table []bool
	pattern := make([]bool, len(p.Inputs))
	for k := range 1 << len(p.Inputs) {
		for i := range pattern {
			pattern[i] = k>>i&1 != 0
		}
		out, err := naiveRun(p, pattern)
		if err != nil {
			return nil, err
		}
		table = append(table, out...)
	}
	return table, nil
}

// graphTable is the truth table of a graph, by recursion over its definition.
func graphTable(g *xmg.Graph) []bool {
	var table []bool
	value := make([]bool, g.NumNodes())
	at := func(l xmg.Lit) bool { return value[l.Node()] != l.Complemented() }
	for k := range 1 << g.NumInputs() {
		for i := range g.NumInputs() {
			value[i+1] = k>>i&1 != 0
		}
		for id := g.FirstGate(); id < g.NumNodes(); id++ {
			ones := 0
			for _, l := range g.Fanins(id) {
				if at(l) {
					ones++
				}
			}
			value[id] = ones >= 2
			if g.Kind(id) == xmg.Xor {
				value[id] = ones%2 == 1
			}
		}
		for _, o := range g.Outputs() {
			table = append(table, at(o.Lit))
		}
	}
	return table
}

// equalsGraph compares the truth tables of a program and a graph.
func equalsGraph(g *xmg.Graph, p *sram.Program) error {
	got, err := naiveTable(p)
	if err != nil {
		return err
	}
	want := graphTable(g)
	if len(got) != len(want) {
		return fmt.Errorf("%d outputs, expected %d", len(p.Outputs), g.NumOutputs())
	}
	for k := range want {
		if got[k] != want[k] {
			return fmt.Errorf("output %d of pattern %d is %v", k%len(p.Outputs), k/len(p.Outputs), got[k])
		}
	}
	return nil
}

var _ = testing.Verbose
