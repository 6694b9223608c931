package masim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// Tests of what the MASIM paper says, a sentence or an example each, with the
// section. Where the scheduler does something else, the test says so and why:
//
//   - Which of several arrays that hold nothing is meant makes no difference, so
//     only the first is considered.
//   - The paper makes all its trials by random scheduling; here half of them
//     generate instructions along the order of the netlist, as the published code
//     does once (masimTrials).
//   - Where many rows are taken, gates that would take one more come last
//     (cicppRun.crowd). Without it most trials of the multiplier run out of rows.
//   - Trials differ in the number of arrays they may use (masimTrials).

// figure builds small graphs and puts values where a figure has them.
type figure struct {
	t *testing.T
	g *xmg.Graph
	s *cicppState
}

// start ends the building of the graph.
func (f *figure) start(arrays, rows int) {
	f.s = newCicppState(newCicppNet(f.g), arrays, rows)
}

// put computes gates in an array, with no regard to where their fanins are.
func (f *figure) put(array int, gates ...xmg.Lit) {
	for _, g := range gates {
		f.s.compute(int32(g.Node()))
		f.s.result(int32(g.Node()), array)
	}
	f.s.epoch++
}

// copies puts further copies of values into an array.
func (f *figure) copies(array int, values ...xmg.Lit) {
	for _, v := range values {
		f.s.copyTo(int32(v.Node()), array)
	}
	f.s.copies = 0
	f.s.epoch++
}

// cost tries g in an array.
func (f *figure) cost(g xmg.Lit, array int) (copies, delta int) {
	p := f.s.evaluate(int32(g.Node()), array, &impossible)
	return int(p.copies), int(p.delta)
}

func (f *figure) holds(v xmg.Lit, array int) bool { return f.s.holds(int32(v.Node()), array) }

// newFigure starts a graph with n inputs.
func newFigure(t *testing.T, n int) (*figure, []xmg.Lit) {
	f := &figure{t: t, g: xmg.New("figure")}
	var in []xmg.Lit
	for range n {
		in = append(in, f.g.AddInput(""))
	}
	return f, in
}

// leaves returns n gates that depend on the inputs only.
func (f *figure) leaves(in []xmg.Lit, n int) []xmg.Lit {
	var out []xmg.Lit
	for i := 0; len(out) < n; i++ {
		for j := i + 1; j < len(in) && len(out) < n; j++ {
			out = append(out, f.g.And(in[i], in[j]))
		}
	}
	return out
}

func (f *figure) output(ls ...xmg.Lit) {
	for _, l := range ls {
		f.g.AddOutput(fmt.Sprintf("y%d", f.g.NumOutputs()), l)
	}
}

// III-B1, example 2: among four choices of which one needs no copy and the
// others one or two, that one is taken, whatever the partners.
func TestPaperExample2(t *testing.T) {
	f, in := newFigure(t, 4)
	l := f.leaves(in, 6)
	a, b, c := l[0], l[1], l[2]
	d, e := f.g.And(a, b), f.g.And(b, c)
	// e would have partners in array 1, d has none anywhere.
	f.output(d, f.g.And(e, l[3]), f.g.And(e, l[4]), f.g.And(e, l[5]))
	f.start(2, 16)
	f.put(0, a, b)
	f.put(1, c, l[3], l[4], l[5])

	for _, w := range []struct {
		gate          xmg.Lit
		array, copies int
	}{{d, 0, 0}, {d, 1, 2}, {e, 0, 1}, {e, 1, 1}} {
		copies, _ := f.cost(w.gate, w.array)
		require.Equal(t, w.copies, copies, "gate %d in array %d", w.gate.Node(), w.array)
	}
	for seed := range uint64(20) {
		s := f.s.clone()
		s.seed = mix(seed)
		run := newRunFrom(s)
		g, array := run.pick()
		require.EqualValues(t, d.Node(), g)
		require.Equal(t, 0, array)
	}
}

// newRunFrom is a run from a state in which some gates were computed.
func newRunFrom(s *cicppState) *cicppRun {
	r := newCicppRun(s, 1<<30)
	r.ready = nil
	for i := range r.slots {
		r.slots[i] = noSlot
	}
	for a := range r.used {
		r.used[a] = 0
		for b := range r.buckets[a] {
			r.buckets[a][b] = nil
		}
	}
	done := map[int32]bool{}
	for _, op := range s.log {
		if op.from == opCompute {
			done[op.value] = true
		}
	}
	for g := int32(s.net.first); int(g) < s.net.nodes; g++ {
		r.at[g] = -1
		r.missing[g] = 0
		for _, v := range s.net.faninsOf(g) {
			if int(v) >= s.net.first && !done[v] {
				r.missing[g]++
			}
		}
		if !done[g] && r.missing[g] == 0 {
			r.enter(g)
		}
	}
	return r
}

// III-B1, example 3: where both arrays need one copy, the one that gives more
// close partner pairs is taken. The example's changes are 1 and 2; by the
// formula of III-B2 each is one more, since the copied fanin also becomes a
// close partner of the other fanin through the gate itself.
func TestPaperExample3(t *testing.T) {
	f, in := newFigure(t, 4)
	l := f.leaves(in, 6)
	a, b, c := l[0], l[1], l[2]
	d, e := f.g.And(a, b), f.g.And(b, c)
	f.output(f.g.And(e, d), f.g.And(e, l[3]), f.g.And(e, l[4]), f.g.Or(b, l[5]))
	f.start(2, 16)
	f.put(0, a, b, d)
	f.put(1, c, l[3], l[4])
	f.put(0, l[5])

	copies, delta := f.cost(e, 0)
	require.Equal(t, [2]int{1, 1 + 1}, [2]int{copies, delta})
	copies, delta = f.cost(e, 1)
	require.Equal(t, [2]int{1, 2 + 1}, [2]int{copies, delta})
	require.True(t, f.s.step(int32(e.Node())))
	require.True(t, f.holds(e, 1))
	require.False(t, f.holds(e, 0))
	// The fanin is now in both arrays, Fig. 5(c), as it feeds another gate.
	require.True(t, f.holds(b, 0))
	require.True(t, f.holds(b, 1))
	// From Fig. 5(d), one copy is enough to compute what is left of e's fanouts.
	before := f.s.copies
	for _, g := range f.g.Outputs()[:3] {
		require.True(t, f.s.step(int32(g.Lit.Node())))
	}
	require.Equal(t, before+1, f.s.copies)
}

// III-B1: partners share a fanout that has not been computed yet; a pair is
// close where both are in one array.
func TestPaperPartners(t *testing.T) {
	f, in := newFigure(t, 4)
	l := f.leaves(in, 3)
	first, second := f.g.And(l[0], l[1]), f.g.Xor2(l[0], l[1])
	third := f.g.And(l[0], l[2])
	f.output(first, second, third)
	f.start(2, 16)
	f.put(0, l[0], l[1])
	f.put(1, l[2])
	at := func(v xmg.Lit, array int) int { return int(f.s.cell(int32(v.Node()), array).partners) }
	require.Equal(t, 1, at(l[0], 0), "two shared fanouts make one pair")
	require.Equal(t, 1, at(l[0], 1), "a partner elsewhere")
	f.put(0, first)
	require.Equal(t, 1, at(l[0], 0), "one of two shared fanouts is left")
	f.put(0, second)
	require.Equal(t, 0, at(l[0], 0), "none is left")
}

// III-B3, case 1: a row is free if its value is not needed any more, and taking
// it costs nothing. II-B: the output of a node may overwrite one of its inputs.
func TestPaperCase1(t *testing.T) {
	f, in := newFigure(t, 4)
	l := f.leaves(in, 2)
	g := f.g.And(l[0], l[1])
	f.output(g, l[1])
	f.start(1, 4+2) // four inputs, two rows
	f.put(0, l...)
	require.Zero(t, f.s.at[0].free())
	copies, delta := f.cost(g, 0)
	require.Equal(t, [2]int{0, 0}, [2]int{copies, delta})
	require.True(t, f.s.step(int32(g.Node())))
	require.False(t, f.holds(l[0], 0), "its last use was g")
	require.True(t, f.holds(l[1], 0), "an output stays")
	steps := f.s.steps()
	require.Equal(t, steps[0].row, steps[2].row, "the result lies where its fanin lay")
}

// III-B3, case 2: without a free row, the duplicate whose loss ends the fewest
// close partner pairs is overwritten, at no copy.
func TestPaperCase2(t *testing.T) {
	f, in := newFigure(t, 4)
	l := f.leaves(in, 6)
	g := f.g.And(l[4], l[5])
	f.output(f.g.And(l[0], l[1]), f.g.Or(l[0], l[2]), f.g.And(l[1], l[3]), g, l[4])
	f.start(3, 5)
	f.put(2, l[0], l[1], l[2], l[5])
	f.copies(1, l[0], l[1], l[2])
	f.put(1, l[3], l[4])
	// In array 1, l[0] and l[1] have two close partners, l[2] has one; l[3] and
	// l[4] have fewer, but lie nowhere else.
	require.Zero(t, f.s.at[1].free())
	copies, delta := f.cost(g, 1)
	require.Equal(t, 1, copies, "the missing fanin only")
	require.Equal(t, -1+1, delta, "l[2] goes, l[5] becomes a close partner of l[4]")
	require.True(t, f.s.commit(int32(g.Node()), 1))
	require.False(t, f.holds(l[2], 1))
	for _, v := range []xmg.Lit{l[0], l[1], l[3], l[4], g} {
		require.True(t, f.holds(v, 1))
	}
	require.True(t, f.holds(l[2], 2), "the other copy stays")
}

// III-B3, case 3: without a free row and without duplicates, the value is moved
// whose way to another array changes the number of close partner pairs most for
// the better, and its row is taken. That is one copy.
func TestPaperCase3(t *testing.T) {
	f, in := newFigure(t, 4)
	l := f.leaves(in, 6)
	g := f.g.Or(in[0], in[3])
	// l[0] and l[1] are partners in array 1; l[2] is the partner of l[3] and l[4]
	// in array 2.
	f.output(f.g.And(l[0], l[1]), f.g.And(l[2], l[3]), f.g.Or(l[2], l[4]), g)
	f.start(4, 4) // array 0 is full of inputs
	f.put(1, l[0], l[1], l[2])
	f.copies(1, in[0])
	f.put(2, l[3], l[4])
	require.Zero(t, f.s.at[1].free())

	// in[3] must come in, in[0] must stay.
	copies, delta := f.cost(g, 1)
	require.Equal(t, 2, copies, "one move and the missing fanin")
	require.Equal(t, 2+1, delta, "l[2] gains two close partners in array 2; in[3] is one of in[0]")
	require.True(t, f.s.commit(int32(g.Node()), 1))
	require.False(t, f.holds(l[2], 1))
	require.True(t, f.holds(l[2], 2))
	require.True(t, f.holds(l[0], 1))
	require.True(t, f.holds(l[1], 1))
	require.Equal(t, 2, f.s.copies)
}

// III-B3, case 3, steps 1 and 2: in the other array a duplicate is overwritten
// first, and is no close partner of the moved value any more.
func TestPaperCase3OverDuplicate(t *testing.T) {
	f, in := newFigure(t, 3)
	l := f.leaves(in, 3)
	o := []xmg.Lit{f.g.Or(in[0], in[1]), f.g.Or(in[0], in[2])}
	g := f.g.Xor2(l[1], l[2])
	f.output(f.g.And(l[0], in[0]), f.g.And(l[0], o[0]), f.g.And(in[0], o[1]), g, l[1], l[2])
	f.start(3, 3)
	f.put(1, l...)
	f.put(2, o...)
	f.copies(2, in[0])
	// The result of g needs a row of array 1. The copy of in[0] goes from array 2,
	// where it has the close partner o[1]; l[0] comes and meets o[0] only.
	copies, delta := f.cost(g, 1)
	require.Equal(t, [2]int{1, -1 + 1}, [2]int{copies, delta})
	require.True(t, f.s.commit(int32(g.Node()), 1))
	require.False(t, f.holds(in[0], 2))
	require.True(t, f.holds(l[0], 2))
	require.False(t, f.holds(l[0], 1))
}

// III-B3, case 3, step 1: the other array is chosen by cases 1 and 2 only; an
// array full of single values takes nothing, and if there is no other the choice
// is impossible.
func TestPaperCase3NoRoom(t *testing.T) {
	f, in := newFigure(t, 4)
	l := f.leaves(in, 6)
	g := f.g.Or(in[0], in[3])
	h, u, v := f.g.Or(in[1], in[2]), f.g.Or(in[0], in[1]), f.g.Or(in[0], in[2])
	f.output(append([]xmg.Lit{g, h, u, v}, l...)...)
	f.start(3, 4)
	f.put(1, l[0], l[1], l[2], l[3])
	f.put(2, l[4], l[5])
	mark := f.s.mark()
	f.copies(2, in[1], in[2]) // duplicates: they feed h, and their homes have them
	copies, _ := f.cost(g, 1)
	require.Equal(t, 2+2, copies, "two values move over the two duplicates, two fanins come in")
	f.s.rewind(mark)
	f.put(2, u, v)
	copies, _ = f.cost(g, 1)
	require.EqualValues(t, impossible.copies, copies)
}

// II-B: inputs keep their rows, every gate is computed once, the results of the
// outputs are there at the end; III-A: the best of the trials is improved.
func TestPaperSchedulesAreValid(t *testing.T) {
	found := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 8))
		p, _ := smallProblem(rng, 80)
		r, err := runMASIM(context.Background(), p, Options{Seed: seed})
		if err != nil {
			require.ErrorIs(t, err, ErrInfeasible)
			continue
		}
		found++
		replay(t, p, r.Program)
		require.Equal(t, r.Copies, r.Program.Copies())
		bound := LowerBound(t.Context(), p).Copies
		require.GreaterOrEqual(t, r.Copies, bound)
	}
	require.Greater(t, found, 30)
}

// replay checks a program by value identity.
func replay(t *testing.T, p Problem, prog *sram.Program) {
	t.Helper()
	require.Equal(t, p.Geometry, prog.Geometry)
	report, err := Check(p.Graph, prog, CheckOptions{})
	require.NoError(t, err)
	require.Equal(t, p.Graph.NumGates(), report.Computes)
	require.Equal(t, prog.Copies(), report.Copies)
}

// III-C, Fig. 7: a gate that was ready at a time step is inserted right before
// the one computed there.
func TestPaperPerturbation(t *testing.T) {
	f, in := newFigure(t, 4)
	l := f.leaves(in, 5)
	f.output(l...)
	f.start(1, 16)
	order := []int32{}
	for _, g := range l {
		order = append(order, int32(g.Node()))
	}
	b := newBaseline(f.s, order, dontStop)
	f.s.rewind(0)
	im := &improver{gen: f.s, base: b, stop: dontStop}
	got := im.accept(perturbation{1, 3}).order
	require.Equal(t, []int32{order[0], order[3], order[1], order[2], order[4]}, got)
}
