package masim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// The oracles of these tests are two naive interpreters of programs, one of
// truth tables and one of the rules. They share nothing with the machine of
// package sram or with Check.

// naiveTables executes a program on all patterns at once, each row being a
// truth table: bit k is its value for pattern k. It fails where the machine must
// refuse the program: rows that do not exist or hold nothing, rows of inputs
// written, copies within an array.
func naiveTables(p *sram.Program) ([][]uint64, error) {
	words := max(1, 1<<len(p.Inputs)/64)
	geo := p.Geometry
	rows := make([][]uint64, geo.Arrays*geo.Rows)
	input := make([]bool, len(rows))
	for i, in := range p.Inputs {
		t := make([]uint64, words)
		for k := range 64 * words {
			t[k/64] |= uint64(k>>i&1) << (k % 64)
		}
		rows[in.Array*geo.Rows+in.Row], input[in.Array*geo.Rows+in.Row] = t, true
	}
	read := func(array int, s sram.Operand) ([]uint64, error) {
		t := make([]uint64, words)
		flip := uint64(0)
		switch {
		case s == sram.One:
			flip = ^flip
		case s == sram.Zero:
		case array >= geo.Arrays || s.Row() >= geo.Rows || rows[array*geo.Rows+s.Row()] == nil:
			return nil, fmt.Errorf("array %d row %d is not there or holds nothing", array, s.Row())
		default:
			copy(t, rows[array*geo.Rows+s.Row()])
			if s.Negated() {
				flip = ^flip
			}
		}
		for k := range t {
			t[k] ^= flip
		}
		return t, nil
	}
	for i, ins := range p.Instrs {
		at, src := int(ins.Array), ins.Src[:]
		if ins.Op == sram.Copy {
			at, src = int(ins.From), ins.Src[:1]
			if ins.From == ins.Array || src[0].IsConst() || src[0].Negated() {
				return nil, fmt.Errorf("instruction %d is not a copy", i)
			}
		}
		var v [3][]uint64
		for j, s := range src {
			t, err := read(at, s)
			if err != nil {
				return nil, fmt.Errorf("instruction %d: %w", i, err)
			}
			v[j] = t
		}
		if int(ins.Array) >= geo.Arrays || int(ins.Dst) >= geo.Rows || input[int(ins.Array)*geo.Rows+int(ins.Dst)] {
			return nil, fmt.Errorf("instruction %d writes no row that it may", i)
		}
		r := make([]uint64, words)
		for k := range r {
			switch ins.Op {
			case sram.Maj:
				r[k] = v[0][k]&v[1][k] | v[0][k]&v[2][k] | v[1][k]&v[2][k]
			case sram.Xor:
				r[k] = v[0][k] ^ v[1][k] ^ v[2][k]
			case sram.Copy:
				r[k] = v[0][k]
			}
		}
		rows[int(ins.Array)*geo.Rows+int(ins.Dst)] = r
	}
	var out [][]uint64
	for i, o := range p.Outputs {
		t, err := read(o.Array, o.Operand)
		if err != nil {
			return nil, fmt.Errorf("output %d: %w", i, err)
		}
		out = append(out, t)
	}
	return out, nil
}

// naiveTable lists the outputs of a program for all patterns, one after another.
func naiveTable(p *sram.Program) ([]bool, error) {
	tables, err := naiveTables(p)
	if err != nil {
		return nil, err
	}
	var list []bool
	for k := range 1 << len(p.Inputs) {
		for _, t := range tables {
			list = append(list, t[k/64]>>(k%64)&1 != 0)
		}
	}
	return list, nil
}

// graphTable is naiveTable for a graph, by the definition of its gates.
func graphTable(g *xmg.Graph) []bool {
	var list []bool
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
			list = append(list, at(o.Lit))
		}
	}
	return list
}

// equalsGraph compares the truth tables of a program and a graph.
func equalsGraph(g *xmg.Graph, p *sram.Program) error {
	got, err := naiveTable(p)
	if err != nil {
		return err
	}
	if !slices.Equal(got, graphTable(g)) {
		return errors.New("the program does not compute the graph")
	}
	return nil
}

// naiveRules tests the rules: it returns the number of the first instruction
// that breaks one, -1 if something is wrong before or after all instructions, or
// len(p.Instrs) if all is well. A row holds a node or its complement. What a
// compute makes is found by trying all gates, and all values of their fanins.
func naiveRules(g *xmg.Graph, p *sram.Program) int {
	type cell struct{ array, row int }
	rows, ni := p.Geometry.Rows, g.NumInputs()
	held := map[cell]xmg.Lit{}
	for i, in := range p.Inputs {
		held[cell{in.Array, in.Row}] = xmg.MakeLit(i+1, false)
		if in.Array*rows+in.Row != i || in.Row >= rows {
			return -1
		}
	}
	literal := func(array int, s sram.Operand) (xmg.Lit, bool) {
		switch s {
		case sram.Zero:
			return xmg.False, true
		case sram.One:
			return xmg.True, true
		}
		l, ok := held[cell{array, s.Row()}]
		return l.NotIf(s.Negated()), ok
	}
	apply := func(xor bool, f [3]xmg.Lit, value func(node int) bool) bool {
		ones := 0
		for _, l := range f {
			if value(l.Node()) != l.Complemented() {
				ones++
			}
		}
		if xor {
			return ones%2 == 1
		}
		return ones >= 2
	}
	// made returns the gate with these fanins up to complements, or false.
	made := func(xor bool, f [3]xmg.Lit) (xmg.Lit, bool) {
		nodes := []int{f[0].Node(), f[1].Node(), f[2].Node()}
		slices.Sort(nodes)
		for id := g.FirstGate(); id < g.NumNodes(); id++ {
			h := g.Fanins(id)
			other := []int{h[0].Node(), h[1].Node(), h[2].Node()}
			slices.Sort(other)
			if !slices.Equal(nodes, other) || xor != (g.Kind(id) == xmg.Xor) {
				continue
			}
			same, opposite := true, true
			for k := range 8 {
				value := func(node int) bool { return node > 0 && k>>slices.Index(nodes, node)&1 != 0 }
				equal := apply(xor, f, value) == apply(xor, h, value)
				same, opposite = same && equal, opposite && !equal
			}
			if same || opposite {
				return xmg.MakeLit(id, opposite), true
			}
		}
		return 0, false
	}
	computed := map[int]bool{}
	for i, ins := range p.Instrs {
		dst := cell{int(ins.Array), int(ins.Dst)}
		if dst.array >= p.Geometry.Arrays || dst.row >= rows || dst.array*rows+dst.row < ni {
			return i
		}
		if ins.Op == sram.Copy {
			l, ok := literal(int(ins.From), ins.Src[0])
			if !ok || l.Node() == 0 || ins.Src[0].Negated() || ins.From == ins.Array {
				return i
			}
			held[dst] = l
			continue
		}
		var f [3]xmg.Lit
		for j, s := range ins.Src {
			l, ok := literal(int(ins.Array), s)
			if !ok {
				return i
			}
			f[j] = l
		}
		l, ok := made(ins.Op == sram.Xor, f)
		if !ok || computed[l.Node()] {
			return i
		}
		computed[l.Node()] = true
		held[dst] = l
	}
	if len(computed) != g.NumGates() {
		return -1
	}
	for i, o := range p.Outputs {
		if l, ok := literal(o.Array, o.Operand); !ok || l != g.Output(i).Lit {
			return -1
		}
	}
	return len(p.Instrs)
}

// mutant is a program with one change.
type mutant struct {
	kind string
	*sram.Program
}

// mutants returns all changes of one instruction or output of each kind.
func mutants(p *sram.Program, rng *rand.Rand) []mutant {
	var all []mutant
	add := func(kind string, change func(m *sram.Program)) {
		m := *p
		m.Instrs, m.Outputs = slices.Clone(p.Instrs), slices.Clone(p.Outputs)
		change(&m)
		all = append(all, mutant{kind, &m})
	}
	geo := p.Geometry
	// rows are other rows to try: the next one, one at random, one too many.
	rows := func(row int) []int {
		return []int{(row + 1) % geo.Rows, (row + geo.Rows - 1) % geo.Rows, rng.IntN(geo.Rows), geo.Rows}
	}
	for i, ins := range p.Instrs {
		n := 3
		if ins.Op == sram.Copy {
			n = 1
			add("drop a copy", func(m *sram.Program) { m.Instrs = slices.Delete(m.Instrs, i, i+1) })
			add("change the source array", func(m *sram.Program) { m.Instrs[i].From = uint16((int(ins.From) + 1) % geo.Arrays) })
		} else {
			add("drop a compute", func(m *sram.Program) { m.Instrs = slices.Delete(m.Instrs, i, i+1) })
			add("swap MAJ and XOR", func(m *sram.Program) { m.Instrs[i].Op ^= 1 })
		}
		for j, s := range ins.Src[:n] {
			add("flip a negation", func(m *sram.Program) { m.Instrs[i].Src[j] ^= 1 })
			add("an operand for a constant", func(m *sram.Program) { m.Instrs[i].Src[j] = sram.Zero })
			add("an operand for a constant", func(m *sram.Program) { m.Instrs[i].Src[j] = sram.One })
			if !s.IsConst() {
				for _, r := range rows(s.Row()) {
					add("change a source row", func(m *sram.Program) { m.Instrs[i].Src[j] = sram.Row(r, s.Negated()) })
				}
			}
			if j > 0 {
				add("swap operands", func(m *sram.Program) { m.Instrs[i].Src[0], m.Instrs[i].Src[j] = s, ins.Src[0] })
			}
		}
		for _, r := range rows(int(ins.Dst)) {
			add("change the destination row", func(m *sram.Program) { m.Instrs[i].Dst = uint16(r) })
		}
		add("change the array", func(m *sram.Program) { m.Instrs[i].Array = uint16((int(ins.Array) + 1) % geo.Arrays) })
		add("repeat an instruction", func(m *sram.Program) { m.Instrs = slices.Insert(m.Instrs, i, ins) })
		if i > 0 {
			add("swap two instructions", func(m *sram.Program) { m.Instrs[i-1], m.Instrs[i] = ins, m.Instrs[i-1] })
		}
	}
	for i, o := range p.Outputs {
		add("flip an output", func(m *sram.Program) { m.Outputs[i].Operand ^= 1 })
		for _, c := range []sram.Operand{sram.Zero, sram.One} {
			add("an output for a constant", func(m *sram.Program) { m.Outputs[i].Array, m.Outputs[i].Operand = 0, c })
		}
		if o.Operand.IsConst() {
			continue
		}
		for _, r := range rows(o.Operand.Row()) {
			add("change the row of an output", func(m *sram.Program) { m.Outputs[i].Operand = sram.Row(r, o.Operand.Negated()) })
		}
		add("change the array of an output", func(m *sram.Program) { m.Outputs[i].Array = (o.Array + 1) % geo.Arrays })
	}
	return all
}

// Every mutant that the machine must refuse is refused; every one that changes
// the function is reported, with its first mismatch; every one that breaks a
// rule is reported, at its instruction; and no other one is.
func TestMutations(t *testing.T) {
	t.Parallel()
	most := invariants.Draws(80, 300) // mutants of a program
	type count struct{ all, refused, wrong, illegal, valid int }
	counts := map[string]*count{}
	for _, c := range []struct {
		kind          string
		width, arrays int
	}{
		{"adder", 4, 3}, {"multiplier", 4, 4}, {"multiplier", 6, 4}, {"multiplier-array", 5, 3}, {"priority", 9, 4}, {"int-to-float", 8, 4},
		{"comparator", 5, 3}, {"decoder", 4, 4}, {"voter", 9, 3}, {"divider", 3, 3}, {"sqrt", 8, 4}, {"rotate-left", 6, 4},
	} {
		for _, name := range []string{"bitsched", "masim"} {
			s, err := Lookup(name)
			require.NoError(t, err)
			n, p := genProblem(t, c.kind, c.width, c.arrays, 2)
			var prog *sram.Program
			for prog == nil { // the fewest rows that do, so that there are copies
				p.Geometry.Rows++
				if r, err := s.Run(t.Context(), p, Options{Seed: 1}); err == nil {
					prog = r.Program
				} else {
					require.ErrorIs(t, err, ErrInfeasible)
				}
			}
			where := fmt.Sprintf("%s %d %s", c.kind, c.width, name)
			require.Equal(t, len(prog.Instrs), naiveRules(p.Graph, prog), where)
			require.NoError(t, equalsGraph(p.Graph, prog), where)
			require.NotZero(t, prog.Copies(), where)
			want, err := naiveTables(prog)
			require.NoError(t, err)

			rng := rand.New(rand.NewPCG(1, uint64(c.width)))
			all := mutants(prog, rng)
			rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			for _, m := range all[:min(most, len(all))] {
				k := counts[m.kind]
				if k == nil {
					k = &count{}
					counts[m.kind] = k
				}
				k.all++
				at := where + ": " + m.kind
				got, refuse := naiveTables(m.Program)
				bad := naiveRules(p.Graph, m.Program)
				report, err := Verify(t.Context(), n, m.Program, VerifyOptions{Exhaustive: true})
				_, broken := Check(p.Graph, m.Program, CheckOptions{})
				if bad == len(m.Instrs) {
					k.valid++
					require.NoError(t, broken, at)
				} else {
					k.illegal++
					var e *RuleError
					require.ErrorAs(t, broken, &e, at)
					require.Equal(t, bad, e.Index, "%s: %v", at, broken)
				}
				if refuse != nil {
					k.refused++
					require.Error(t, err, "%s: %v", at, refuse)
					require.Error(t, broken, at)
					continue
				}
				require.NoError(t, err, at)
				pattern, output, differ := firstDifference(got, want, 1<<n.NumInputs())
				require.Equal(t, differ > 0, !report.Equal(), at)
				require.Equal(t, differ, report.Mismatches, at)
				if differ > 0 {
					k.wrong++
					require.Error(t, broken, at)
					require.Equal(t, pattern, report.First.Pattern, at)
					require.Equal(t, output, report.First.Output, at)
				}
			}
		}
	}
	kinds := make([]string, 0, len(counts))
	for kind := range counts {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		k := counts[kind]
		t.Logf("%-30s %5d mutants: %5d refused, %5d with another function, %5d break a rule, %4d valid",
			kind, k.all, k.refused, k.wrong, k.illegal, k.valid)
		if kind != "swap operands" {
			require.NotZero(t, k.illegal, kind)
		}
	}
	require.Len(t, kinds, 16)
}

// firstDifference returns the lowest pattern in which tables differ, the lowest
// output there, and the number of bits that differ.
func firstDifference(got, want [][]uint64, patterns int) (pattern, output, differ int) {
	for k := range patterns {
		for o := range want {
			if (got[o][k/64]^want[o][k/64])>>(k%64)&1 != 0 {
				if differ == 0 {
					pattern, output = k, o
				}
				differ++
			}
		}
	}
	return pattern, output, differ
}
