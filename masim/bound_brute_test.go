package masim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// bruteState is what the memory holds, as sets of nodes, and which gates were
// computed. Inputs in their homes are left out.
type bruteState struct {
	done uint32
	held [4]uint32
}

// bruteOptimum finds the least copies by looking at every state of the memory
// that can be reached, in ascending order of copies. It shares nothing with the
// bounds and the schedulers. known is false if there are more than limit states;
// copies is -1 if there is no schedule.
func bruteOptimum(p Problem, again bool, limit int) (copies int, known bool) {
	return bruteCost(p, again, 1, 0, limit)
}

// bruteCost is bruteOptimum with a cost for each copy and each computed gate.
func bruteCost(p Problem, again bool, copyCost, compute, limit int) (least int, known bool) {
	g, geo := p.Graph, p.Geometry
	if g.NumNodes() > 32 || geo.Arrays > 4 {
		return 0, false
	}
	var home [4]uint32
	for i := range g.NumInputs() {
		home[i/geo.Rows] |= 1 << (i + 1)
	}
	need := make([]uint32, g.NumNodes()) // operands of a gate
	users := make([]uint32, g.NumNodes())
	all, outs := uint32(0), uint32(0)
	for id := g.FirstGate(); id < g.NumNodes(); id++ {
		all |= 1 << id
		for _, f := range g.Fanins(id) {
			if n := f.Node(); n > 0 {
				need[id] |= 1 << n
				users[n] |= 1 << id
			}
		}
	}
	for _, o := range g.Outputs() {
		if g.IsGate(o.Lit.Node()) {
			outs |= 1 << o.Lit.Node()
		}
	}
	size := func(s uint32) (n int) {
		for ; s != 0; s &= s - 1 {
			n++
		}
		return n
	}
	seen := map[bruteState]bool{}
	queue := map[int][]bruteState{0: {{}}} // by cost
	for cost := 0; len(queue) > 0; cost++ {
		for len(queue[cost]) > 0 {
			last := len(queue[cost]) - 1
			s := queue[cost][last]
			queue[cost] = queue[cost][:last]
			if seen[s] {
				continue
			}
			seen[s] = true
			if len(seen) > limit {
				return 0, false
			}
			if s.done == all && outs&^(s.held[0]|s.held[1]|s.held[2]|s.held[3]) == 0 {
				return cost, true
			}
			// put writes v to array a, over each of the values there or to a free
			// row, and forgets what nobody needs.
			put := func(price int, done uint32, v, a int) {
				if s.held[a]>>v&1 != 0 {
					return
				}
				write := func(t bruteState) {
					t.done = done
					t.held[a] |= 1 << v
					if !again {
						for b := range t.held {
							for w := range users {
								if outs>>w&1 == 0 && users[w]&^done == 0 {
									t.held[b] &^= 1 << w
								}
							}
						}
					}
					queue[cost+price] = append(queue[cost+price], t)
				}
				room := geo.Rows - size(home[a])
				if size(s.held[a]) < room {
					write(s)
					return
				}
				for w := range users {
					if s.held[a]>>w&1 != 0 {
						t := s
						t.held[a] &^= 1 << w
						write(t)
					}
				}
			}
			for a := range geo.Arrays {
				here := home[a] | s.held[a]
				for v := 1; v < g.NumNodes(); v++ {
					if g.IsGate(v) && need[v]&^here == 0 && (again || s.done>>v&1 == 0) {
						put(compute, s.done|1<<v, v, a)
					}
					elsewhere := false
					for b := range geo.Arrays {
						elsewhere = elsewhere || b != a && (home[b]|s.held[b])>>v&1 != 0
					}
					if elsewhere && here>>v&1 == 0 {
						put(copyCost, s.done, v, a)
					}
				}
			}
		}
		delete(queue, cost)
	}
	return -1, true
}

// tinyProblem draws a problem small enough for bruteOptimum.
func tinyProblem(r *rand.Rand) Problem {
	arrays := 2 + r.IntN(2)
	rows := 3 + r.IntN(5)
	inputs := 1 + r.IntN(min(6, arrays*rows-1))
	g := randomGraph(r, inputs, 2+r.IntN(6), 1+r.IntN(6))
	if r.IntN(2) == 0 { // every gate that nobody reads is an output
		h := xmg.New("outputs")
		lit := make([]xmg.Lit, g.NumNodes())
		used := make([]bool, g.NumNodes())
		for i := range g.NumInputs() {
			lit[i+1] = h.AddInput("")
		}
		for id := g.FirstGate(); id < g.NumNodes(); id++ {
			f := g.Fanins(id)
			var l [3]xmg.Lit
			for j := range f {
				used[f[j].Node()] = true
				l[j] = lit[f[j].Node()].NotIf(f[j].Complemented())
			}
			if g.Kind(id) == xmg.Maj {
				lit[id] = h.Maj(l[0], l[1], l[2])
			} else {
				lit[id] = h.Xor(l[0], l[1], l[2])
			}
		}
		for id := g.FirstGate(); id < g.NumNodes(); id++ {
			if !used[id] || r.IntN(4) == 0 {
				h.AddOutput("", lit[id])
			}
		}
		g = h
	}
	return Problem{g, sram.Geometry{Arrays: arrays, Rows: rows, Cols: 1}}
}

func describe(p Problem) string {
	s := fmt.Sprintf("%d arrays of %d rows, %d inputs, outputs", p.Geometry.Arrays, p.Geometry.Rows, p.Graph.NumInputs())
	for _, o := range p.Graph.Outputs() {
		s += fmt.Sprint(" ", o.Lit.Node())
	}
	for id := p.Graph.FirstGate(); id < p.Graph.NumNodes(); id++ {
		f := p.Graph.Fanins(id)
		s += fmt.Sprintf("; %d = %v %d %d %d", id, p.Graph.Kind(id), f[0].Node(), f[1].Node(), f[2].Node())
	}
	return s
}

// No bound exceeds the true optimum, with and without rematerialisation.
func TestLowerBoundSound(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		bound, problems, limit := LowerBound, draws(400), 30_000
		if again {
			bound, problems = LowerBoundRematerialized, draws(250)
		}
		known, none, beyond, tight := 0, 0, 0, 0
		for seed := range problems {
			p := tinyProblem(rand.New(rand.NewPCG(seed, 21)))
			best, ok := bruteOptimum(p, again, limit)
			if !ok {
				continue
			}
			if best < 0 {
				none++
				continue
			}
			known++
			b := bound(t.Context(), p)
			got, reason := b.Copies, b.Reason
			require.LessOrEqual(t, got, best, "seed %d, again %v: %s: %s", seed, again, describe(p), reason)
			if n, _ := inputsBound(p); got > n {
				beyond++
				if got == best {
					tight++
				}
			}
		}
		t.Logf("again %v: %d optima known, %d infeasible; beyond inputs %d, of them tight %d", again, known, none, beyond, tight)
		require.Greater(t, known, 150)
		require.Greater(t, beyond, 5)
		require.Greater(t, tight, 2)
	}
}

// Each argument is sound on its own, whatever the others say.
func TestLowerBoundArguments(t *testing.T) {
	cuts, outputs, pairs, each := 0, 0, 0, 0
	for seed := range draws(600) {
		p := tinyProblem(rand.New(rand.NewPCG(seed, 22)))
		best, ok := bruteOptimum(p, false, 10_000)
		if !ok || best < 0 {
			continue
		}
		base := 0
		if p.Graph.NumGates() > 0 {
			base, _ = inputsBound(p)
		}
		in := newInstance(p, p.Geometry.Arrays)
		cut := newCutBound(t.Context(), in, true)
		cut.search()
		for g := range in.gates {
			for h := range g {
				b := newCutBound(t.Context(), in, true)
				b.pair(g, h)
				require.LessOrEqual(t, base+int(b.best), best, "seed %d, gates %d and %d: %s", seed, g, h, describe(p))
				if b.best > 0 {
					each++
				}
			}
		}
		out := int32(newOutputsBound(t.Context(), in, 1, 1).least(0))
		require.LessOrEqual(t, base+int(cut.best), best, "seed %d: %s", seed, describe(p))
		require.LessOrEqual(t, base+int(out), best, "seed %d: %s", seed, describe(p))
		if cut.best > out {
			cuts++
		}
		if cut.best > 0 && cut.moment.other >= 0 {
			pairs++
		}
		if out > cut.best {
			outputs++
		}
	}
	t.Logf("cuts are better %d times, outputs %d times, pairs than gates %d times; %d pairs give a bound", cuts, outputs, pairs, each)
	require.NotZero(t, cuts)
	require.NotZero(t, pairs)
	require.NotZero(t, outputs)
}

// The live values at a moment are the fewest of all sets of gates that can be the computed
// ones then, and no order of the gates has fewer at its worst: against a walk through all
// such sets.
func TestLiveValues(t *testing.T) {
	moments, pairs, beyond := 0, 0, 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 25))
		p := Problem{randomGraph(r, 1+r.IntN(6), 3+r.IntN(8), 1+r.IntN(4)), sram.Geometry{Arrays: 1, Rows: 64, Cols: 1}}
		in := newInstance(p, 1)
		n := int(in.gates)
		needs, users := make([]uint, n), make([]uint, n)
		for g, f := range in.fanin {
			for _, v := range f {
				if v >= in.first {
					needs[g] |= 1 << (v - in.first)
					users[v-in.first] |= 1 << g
				}
			}
		}
		whole := uint(1)<<n - 1
		lives := make([]int, whole+1) // by set; -1 = never computed alone
		for s := range lives {
			for g := range n {
				if uint(s)>>g&1 == 0 {
					continue
				}
				if needs[g]&^uint(s) != 0 {
					lives[s] = -1
					break
				}
				if users[g]&^uint(s) != 0 || in.isOut[in.first+int32(g)] {
					lives[s]++
				}
			}
		}
		worst := make([]int, whole+1) // the fewest at the worst moment of the orders of a set
		for s := 1; s < len(worst); s++ {
			worst[s] = math.MaxInt
			for g := range n {
				if before := s &^ (1 << g); before != s && lives[s] >= 0 && lives[before] >= 0 && needs[g]&^uint(before) == 0 {
					worst[s] = min(worst[s], max(worst[before], lives[s]))
				}
			}
		}
		fewest := func(g, h int) int {
			least := math.MaxInt
			for s, k := range lives {
				if k >= 0 && uint(s)>>g&1 == 0 && needs[g]&^uint(s) == 0 && (h < 0 || uint(s)>>h&1 != 0) {
					least = min(least, k)
				}
			}
			return least
		}
		b := newCutBound(t.Context(), in, true)
		for g := range n {
			m := moment{gate: int32(g), other: -1}
			alone := int(b.live(m, b.lives))
			require.Equal(t, fewest(g, -1), alone, "seed %d, gate %d: %s", seed, g, describe(p))
			require.LessOrEqual(t, alone, worst[whole])
			moments++
			for h := range n {
				m.other = int32(h)
				if h == g || !b.mark(m) {
					continue
				}
				k := int(b.live(m, b.lives))
				require.Equal(t, fewest(g, h), k, "seed %d, gate %d after %d: %s", seed, g, h, describe(p))
				pairs++
				if b.mark(moment{gate: int32(h), other: int32(g)}) {
					later := min(k, int(b.live(moment{gate: int32(h), other: int32(g)}, b.lives)))
					require.LessOrEqual(t, later, worst[whole])
					if later > alone {
						beyond++
					}
				}
			}
		}
	}
	t.Logf("%d moments of gates, %d of pairs, %d above the gate alone", moments, pairs, beyond)
	require.Greater(t, beyond, 50)
}

// selecting draws a problem in which one value or two depend on all inputs and
// gates that read these inputs need it.
func selecting(r *rand.Rand) Problem {
	rows := 3 + r.IntN(5)
	g := xmg.New("select")
	x := make([]xmg.Lit, 2*rows)
	for i := range x {
		x[i] = g.AddInput("")
	}
	r.Shuffle(len(x), func(i, j int) { x[i], x[j] = x[j], x[i] })
	x = x[:rows+1+r.IntN(rows)] // the others are idle
	var outs []xmg.Lit
	for range 1 + r.IntN(6)/5 {
		rest := append([]xmg.Lit(nil), x...)
		r.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
		s := rest[0]
		for rest = rest[1:]; len(rest) > 0; rest = rest[1:] {
			if len(rest) > 1 && r.IntN(2) == 0 {
				s, rest = g.Maj(s, rest[0], rest[1]), rest[1:]
			} else {
				s = g.Xor2(s, rest[0])
			}
		}
		for i := range x {
			if r.IntN(6) != 0 {
				x[i] = g.And(s, x[i])
			}
		}
		outs = append(outs, s)
	}
	g.AddOutput("", outs[len(outs)-1])
	if r.IntN(2) == 0 {
		g.AddOutput("", x[r.IntN(len(x))])
	}
	return Problem{g, sram.Geometry{Arrays: 4, Rows: rows, Cols: 1}}
}

// The argument of spreading is sound on its own: it is at most the optimum without
// gates computed again, and at most what a search finds that may compute gates
// again for next to nothing and knows no bound.
func TestSpreadBoundSound(t *testing.T) {
	t.Parallel()
	known, tight, again, most := 0, 0, 0, int32(0)
	for seed := range draws(400) {
		p := selecting(rand.New(rand.NewPCG(seed, 23)))
		in := newInstance(p, p.Geometry.Arrays)
		b := newSpreadBound(t.Context(), in)
		b.search()
		if b.best == 0 {
			continue
		}
		most = max(most, b.best)
		base, _ := inputsBound(p)
		s, err := newOptimal(in)
		require.NoError(t, err)
		s.report = func(int) {}
		if goal, how := s.run(t.Context(), math.MaxInt, 20_000); how == foundOptimum {
			known++
			best := int(s.cost[goal])
			require.LessOrEqual(t, base+int(b.best), best, "seed %d: %s", seed, describe(p))
			if base+int(b.best) == best {
				tight++
			}
		}
		if seed%8 != 0 {
			continue
		}
		o := Options{Rematerialize: true, Energy: sram.Energy{Compute: 1.0 / costUnit, Copy: 1}}
		search := &bitsched{in: in, o: o, costs: newCosts(in, o), best: infeasible}
		search.run(t.Context(), 0, 1_000_000)
		if search.best != infeasible {
			again++
			require.LessOrEqual(t, base+int(b.best), search.best/costUnit, "seed %d, computed again: %s", seed, describe(p))
		}
	}
	t.Logf("%d optima known, of them tight %d; %d found with gates computed again; most extra copies %d", known, tight, again, most)
	require.Greater(t, known, 80)
	require.Greater(t, tight, 8)
	require.Greater(t, again, 8)
	require.Greater(t, most, int32(1))
}

// Of the largest of four words no schedule has fewer copies than are found: each of
// three comparisons spreads over two arrays, and its two halves tell each other.
func TestSpreadBoundLargestWord(t *testing.T) {
	for _, bits := range []int{18, 24} {
		g := largestOfFour(bits)
		p := Problem{g, sram.Geometry{Arrays: 8, Rows: 2 * bits, Cols: 1}}
		b := LowerBound(t.Context(), p)
		got, reason := b.Copies, b.Reason
		require.Equal(t, 4*bits+6, got, "%d bits: %s", bits, reason)
		again := LowerBoundRematerialized(t.Context(), p).Copies
		require.Equal(t, got, again)
		in := newInstance(p, 8)
		search := &bitsched{in: in, best: infeasible} // knows no bound
		search.run(t.Context(), 0, 1_000_000)
		require.Equal(t, got, search.best, "%d bits", bits)
	}
}

// largestOfFour is the largest of four words.
func largestOfFour(bits int) *xmg.Graph {
	g := xmg.New("largest")
	var words [][]xmg.Lit
	for range 4 {
		w := make([]xmg.Lit, bits)
		for i := range w {
			w[i] = g.AddInput("")
		}
		words = append(words, w)
	}
	larger := func(x, y []xmg.Lit) []xmg.Lit {
		c := xmg.False
		for i := range x {
			c = g.Maj(x[i], y[i].Not(), c)
		}
		z := make([]xmg.Lit, bits)
		for i := range x {
			z[i] = g.Or(g.And(c, x[i]), g.And(c.Not(), y[i]))
		}
		return z
	}
	for i, l := range larger(larger(words[0], words[1]), larger(words[2], words[3])) {
		g.AddOutput(fmt.Sprintf("y%d", i), l)
	}
	return g
}

// manyOutputs draws a problem whose outputs do not fit one array.
func manyOutputs(r *rand.Rand) Problem {
	g := xmg.New("outputs")
	var x []xmg.Lit
	rows := 4 + r.IntN(2)
	for range 2 + r.IntN(rows-2) {
		x = append(x, g.AddInput(""))
	}
	inputs := len(x)
	for range 5 + r.IntN(4) {
		i := r.IntN(len(x))
		j := (i + 1 + r.IntN(len(x)-1)) % len(x)
		x = append(x, g.And(x[i].NotIf(r.IntN(2) == 0), x[j].NotIf(r.IntN(2) == 0)))
	}
	for _, l := range x[inputs:] {
		if r.IntN(4) != 0 {
			g.AddOutput("", l)
		}
	}
	return Problem{g, sram.Geometry{Arrays: 2, Rows: rows, Cols: 1}}
}

// No bound exceeds the least energy.
func TestLowerBoundEnergySound(t *testing.T) {
	t.Parallel()
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
	known, beyond, tight := 0, 0, 0
	for seed := range draws(1000) {
		r := rand.New(rand.NewPCG(seed, 24))
		p := tinyProblem(r)
		if seed%2 == 0 {
			p = manyOutputs(r)
		}
		copyCost, compute := 1+r.IntN(8), 1+r.IntN(4)
		best, ok := bruteCost(p, true, copyCost, compute, 4000)
		if !ok || best < 0 {
			continue
		}
		known++
		e := LowerBoundEnergy(t.Context(), p, sram.Energy{Compute: float64(compute), Copy: float64(copyCost)})
		got, reason := e.Energy, e.Reason
		at := fmt.Sprintf("seed %d, copy %d, compute %d: %s: %s", seed, copyCost, compute, describe(p), reason)
		require.LessOrEqual(t, got, float64(best)+1e-6, at)
		copies := LowerBoundRematerialized(t.Context(), p).Copies
		least := float64(p.Graph.NumGates()*compute + copies*copyCost)
		require.GreaterOrEqual(t, got, least-1e-6, at)
		if got > least+1e-6 {
			beyond++
			if got > float64(best)-1e-6 {
				tight++
			}
		}
	}
	t.Logf("%d optima known; beyond copies %d, of them tight %d", known, beyond, tight)
	require.Greater(t, known, 200)
	require.Greater(t, beyond, 5)
	require.Greater(t, tight, 3)
}

// Six outputs of a decoder do not fit beside its inputs. Where copies are dear, it
// is best to copy three inputs and a half of the other kind, and to compute
// three pairs and six halves again: the bound is no more than that, and counts
// gates computed again.
func TestLowerBoundEnergyDecoder(t *testing.T) {
	g := xmg.New("decoder")
	var x, low, high []xmg.Lit
	for range 6 {
		x = append(x, g.AddInput(""))
	}
	for i := range 8 {
		p := g.And(x[0].NotIf(i&1 == 0), x[1].NotIf(i&2 == 0))
		q := g.And(x[3].NotIf(i&1 == 0), x[4].NotIf(i&2 == 0))
		low = append(low, g.And(p, x[2].NotIf(i&4 == 0)))
		high = append(high, g.And(q, x[5].NotIf(i&4 == 0)))
	}
	for i := range 64 {
		g.AddOutput(fmt.Sprintf("y%d", i), g.And(low[i&7], high[i>>3]))
	}
	p := Problem{g, sram.Geometry{Arrays: 2, Rows: 64, Cols: 1}}
	for _, copyEnergy := range []float64{10, 30} {
		e := LowerBoundEnergy(t.Context(), p, sram.Energy{Compute: 1, Copy: copyEnergy})
		got, reason := e.Energy, e.Reason
		more := got - float64(g.NumGates())
		require.LessOrEqual(t, more, 4*copyEnergy+9, reason)
		require.Greater(t, more, 4*copyEnergy, reason)
	}
	got := LowerBoundEnergy(t.Context(), p, sram.Energy{Compute: 1, Copy: 2}).Energy
	require.InDelta(t, float64(g.NumGates()+5*2), got, 1e-9) // 3 halves by 2
}

// On published netlists the bound is no more than the copies of schedules that
// were found and replayed, and where it is known to be tight it is that.
func TestLowerBoundShared(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		atLeast, found int
		optimal        bool
	}{
		{"int2float", 6, 41, false}, {"router", 12, 36, false}, {"cavlc", 0, 7, false}, {"priority", 128, 128, true}, {"dec", 6, 6, true},
		{"adder", 256, 256, true}, {"max", 518, 518, true}, {"sin", 0, 29, false}, {"sqrt", 55, 153, false}, {"multiplier", 39, 182, false},
		{"div", 61, 157, false}, {"log2", 0, 1863, false},
	} {
		p := sharedProblem(t, c.name)
		large := p.Graph.NumGates() > 8000 // takes seconds
		if large && !invariants.Enabled {
			continue
		}
		b := sharedBound(t, c.name, p)
		got, reason := b.Copies, b.Reason
		t.Logf("%-10s %3d of %4d: %s", c.name, got, c.found, reason)
		require.GreaterOrEqual(t, got, c.atLeast, c.name)
		require.LessOrEqual(t, got, c.found, c.name)
		if !large {
			require.LessOrEqual(t, LowerBoundRematerialized(t.Context(), p).Copies, got, c.name)
		}
		if c.optimal { // no gate computed again lowers the energy
			e := LowerBoundEnergy(t.Context(), p, sram.DefaultEnergy)
			energy, reason := e.Energy, e.Reason
			most := float64(p.Graph.NumGates()) + sram.DefaultEnergy.Copy*float64(c.found)
			require.InDelta(t, most, energy, 1e-6, "%s: %s", c.name, reason)
		}
	}
}

// eachSmall calls f for every graph of some inputs and gates: all fanins of two or three values, all
// sets of outputs with at least those gates that nothing reads.
func eachSmall(inputs, gates int, f func(g *xmg.Graph)) {
	fanins := make([][]int, 0, gates)
	build := func(outs uint) *xmg.Graph {
		g := xmg.New("small")
		lit := make([]xmg.Lit, 1, 1+inputs+gates)
		for range inputs {
			lit = append(lit, g.AddInput(""))
		}
		for i, in := range fanins {
			l := xmg.False
			if len(in) == 3 {
				l = lit[in[2]]
			}
			if l = g.Maj(lit[in[0]], lit[in[1]].Not(), l); g.NumGates() != i+1 {
				return nil // the same as one before, or simpler
			}
			lit = append(lit, l)
		}
		for i := range gates {
			if outs>>i&1 != 0 {
				g.AddOutput("", lit[1+inputs+i])
			}
		}
		return g
	}
	var extend func()
	extend = func() {
		if len(fanins) == gates {
			read := uint(0)
			for _, in := range fanins {
				for _, v := range in {
					if v > inputs {
						read |= 1 << (v - inputs - 1)
					}
				}
			}
			all := uint(1)<<gates - 1
			for outs := range all + 1 {
				if outs|read == all {
					if g := build(outs); g != nil {
						f(g)
					}
				}
			}
			return
		}
		n := inputs + len(fanins)
		for a := 1; a <= n; a++ {
			for b := a + 1; b <= n; b++ {
				for c := b; c <= n; c++ {
					in := []int{a, b, c}
					if c == b {
						in = in[:2]
					}
					fanins = append(fanins, in)
					extend()
					fanins = fanins[:len(fanins)-1]
				}
			}
		}
	}
	extend()
}

// Of every small graph on every small machine the bound is no more than the optimum, and none is found
// infeasible that is not: against a walk through all states of the memory.
func TestEverySmallGraph(t *testing.T) {
	t.Parallel()
	graphs, problems, bounded, tight, infeasible, searched := 0, 0, 0, 0, 0, 0
	for _, size := range [][2]int{{2, 1}, {2, 2}, {2, 3}, {3, 1}, {3, 2}, {3, 3}, {4, 1}, {4, 2}, {5, 2}} {
		eachSmall(size[0], size[1], func(g *xmg.Graph) {
			graphs++
			for _, geo := range [][2]int{{1, 5}, {2, 3}, {2, 4}, {3, 2}, {3, 3}} {
				p := Problem{g, sram.Geometry{Arrays: geo[0], Rows: geo[1], Cols: 1}}
				if p.Validate() != nil {
					continue
				}
				best, ok := bruteOptimum(p, false, 20_000)
				if !ok {
					continue
				}
				problems++
				b := LowerBound(t.Context(), p)
				if best < 0 {
					infeasible++
				}
				if problems%32 == 0 {
					searched++
					r, err := runBitsched(t.Context(), p, Options{Bound: &b})
					if best < 0 {
						require.ErrorIs(t, err, ErrInfeasible, describe(p))
						continue
					}
					require.NoError(t, err, describe(p))
					require.GreaterOrEqual(t, r.Copies, best, describe(p))
					_, err = Check(g, r.Program, CheckOptions{})
					require.NoError(t, err, describe(p))
				}
				if best < 0 {
					continue
				}
				require.LessOrEqual(t, b.Copies, best, "%s: %s", describe(p), b.Reason)
				if best > 0 {
					bounded++
					if b.Copies == best {
						tight++
					}
				}
			}
		})
	}
	t.Logf("%d graphs, %d problems, %d with copies, of them %d bounds tight; %d infeasible; %d searched", graphs, problems, bounded, tight, infeasible, searched)
	require.Greater(t, bounded, 100)
	require.Greater(t, infeasible, 100)
}
