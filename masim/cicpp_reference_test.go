package masim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// reference is section III-B written down naively: nothing is kept that could
// be counted from where the values lie. It shares with the scheduler only the
// random ranks of ties.
type reference struct {
	p        Problem
	arrays   int
	seed     uint64
	computed map[int]bool
	in       []map[int]bool // per array: the values held outside their homes
	copies   int
}

func newReference(p Problem, arrays int, seed uint64) *reference {
	r := &reference{p: p, arrays: arrays, seed: seed, computed: map[int]bool{}}
	for range arrays {
		r.in = append(r.in, map[int]bool{})
	}
	return r
}

func (r *reference) clone() *reference {
	c := newReference(r.p, r.arrays, r.seed)
	c.copies = r.copies
	for g := range r.computed {
		c.computed[g] = true
	}
	for a := range r.in {
		for v := range r.in[a] {
			c.in[a][v] = true
		}
	}
	return c
}

func (r *reference) fanins(g int) []int {
	var f []int
	for _, l := range r.p.Graph.Fanins(g) {
		if l.Node() != 0 {
			f = append(f, l.Node())
		}
	}
	slices.Sort(f)
	return f
}

func (r *reference) gates() []int {
	var all []int
	for g := r.p.Graph.FirstGate(); g < r.p.Graph.NumNodes(); g++ {
		all = append(all, g)
	}
	return all
}

// pending returns the fanouts of v that have not been computed.
func (r *reference) pending(v int) []int {
	var out []int
	for _, g := range r.gates() {
		if !r.computed[g] && slices.Contains(r.fanins(g), v) {
			out = append(out, g)
		}
	}
	return out
}

func (r *reference) needed(v int) bool {
	if len(r.pending(v)) > 0 {
		return true
	}
	for _, o := range r.p.Graph.Outputs() {
		if o.Lit.Node() == v && r.p.Graph.IsGate(v) {
			return true
		}
	}
	return false
}

func (r *reference) isHome(v, a int) bool {
	return v <= r.p.Graph.NumInputs() && (v-1)/r.p.Geometry.Rows == a
}

func (r *reference) holds(v, a int) bool { return r.isHome(v, a) || r.in[a][v] }

func (r *reference) homes(a int) int {
	n := 0
	for v := 1; v <= r.p.Graph.NumInputs(); v++ {
		if r.isHome(v, a) {
			n++
		}
	}
	return n
}

func (r *reference) writable(a int) int { return r.p.Geometry.Rows - r.homes(a) }

func (r *reference) free(a int) int { return r.writable(a) - len(r.in[a]) }

func (r *reference) arePartners(u, v int) bool {
	for _, g := range r.pending(u) {
		if u != v && slices.Contains(r.fanins(g), v) {
			return true
		}
	}
	return false
}

// count is P(v, a), the number of partners of v in array a.
func (r *reference) count(v, a int) int {
	n := 0
	for u := 1; u < r.p.Graph.NumNodes(); u++ {
		if r.holds(u, a) && r.arePartners(u, v) {
			n++
		}
	}
	return n
}

func (r *reference) duplicated(v, a int) bool {
	for b := range r.in {
		if b != a && r.holds(v, b) {
			return r.needed(v)
		}
	}
	return false
}

func (r *reference) tidy() {
	for a := range r.in {
		for v := range r.in[a] {
			if !r.needed(v) {
				delete(r.in[a], v)
			}
		}
	}
}

// rank is a priority with its random rank.
type rank struct {
	copies, delta int
	tie           uint32
	place         uint64
}

func (r *reference) rank(copies, delta, v, a int) rank {
	place := uint64(v)*uint64(r.arrays) + uint64(a)
	return rank{copies, delta, uint32(mix(place^r.seed) >> 32), place}
}

func (x rank) before(y rank) bool {
	switch {
	case x.copies != y.copies:
		return x.copies < y.copies
	case x.delta != y.delta:
		return x.delta > y.delta
	case x.tie != y.tie:
		return x.tie < y.tie
	}
	return x.place < y.place
}

// candidates returns the arrays that may be used: those with a row to write,
// of the empty ones only the first.
func (r *reference) candidates() []int {
	var all []int
	empty := false
	for a := range r.in {
		if r.homes(a) == 0 && len(r.in[a]) == 0 {
			if empty {
				continue
			}
			empty = true
		}
		if r.writable(a) > 0 {
			all = append(all, a)
		}
	}
	return all
}

// duplicate returns case 2's choice in a, 0 if there is none.
func (r *reference) duplicate(a int, pinned []int) (value, delta int) {
	var best rank
	for v := range r.in[a] {
		if slices.Contains(pinned, v) || !r.duplicated(v, a) {
			continue
		}
		if k := r.rank(0, -r.count(v, a), v, a); value == 0 || k.before(best) {
			best, value = k, v
		}
	}
	return value, best.delta
}

// room is the row selection of III-B3.
func (r *reference) room(a int, pinned []int) (copies, delta int, ok bool) {
	if r.free(a) > 0 {
		return 0, 0, true
	}
	if v, d := r.duplicate(a, pinned); v != 0 {
		delete(r.in[a], v)
		return 0, d, true
	}
	var best rank
	var after *reference
	for _, b := range r.candidates() {
		if b == a {
			continue
		}
		for v := range r.in[a] {
			if slices.Contains(pinned, v) {
				continue
			}
			t, d := r.clone(), 0
			if t.free(b) == 0 {
				u, du := t.duplicate(b, nil)
				if u == 0 {
					continue
				}
				delete(t.in[b], u)
				d = du
			}
			d += t.count(v, b)
			t.in[b][v] = true
			t.copies++
			d -= t.count(v, a)
			delete(t.in[a], v)
			if k := r.rank(0, d, v, b); after == nil || k.before(best) {
				best, after = k, t
			}
		}
	}
	if after == nil {
		return 0, 0, false
	}
	*r = *after
	return 1, best.delta, true
}

// compute does g in a as III-B2 has it.
func (r *reference) compute(g, a int) (copies, delta int, ok bool) {
	for _, f := range r.fanins(g) {
		if r.holds(f, a) {
			continue
		}
		c, d, ok := r.room(a, r.fanins(g))
		if !ok {
			return 0, 0, false
		}
		copies, delta = copies+c+1, delta+d+r.count(f, a)
		r.in[a][f] = true
		r.copies++
	}
	r.computed[g] = true
	r.tidy()
	c, d, ok := r.room(a, nil)
	if !ok {
		return 0, 0, false
	}
	copies, delta = copies+c, delta+d+r.count(g, a)
	r.in[a][g] = true
	r.tidy()
	return copies, delta, true
}

func (r *reference) ready() []int {
	var all []int
	for _, g := range r.gates() {
		ok := !r.computed[g]
		for _, f := range r.fanins(g) {
			ok = ok && (f < r.p.Graph.FirstGate() || r.computed[f])
		}
		if ok {
			all = append(all, g)
		}
	}
	return all
}

// choose returns the best choice among the given gates, array -1 if there is
// none.
func (r *reference) choose(gates []int) (gate, array int) {
	var best rank
	array = -1
	for _, g := range gates {
		for _, a := range r.candidates() {
			c, d, ok := r.clone().compute(g, a)
			if !ok {
				continue
			}
			if k := r.rank(c, d, g, a); array < 0 || k.before(best) {
				best, gate, array = k, g, a
			}
		}
	}
	return gate, array
}

// pick is the node and array choice, with the rule for crowded arrays.
func (r *reference) pick(crowd int) (gate, array int) {
	alive := 0
	for _, g := range r.gates() {
		for a := range r.in {
			if r.in[a][g] {
				alive++
				break
			}
		}
	}
	if alive > crowd {
		var calm []int
		for _, g := range r.ready() {
			t := r.clone()
			t.computed[g] = true
			grows := t.needed(g)
			for _, f := range r.fanins(g) {
				if r.p.Graph.IsGate(f) && !t.needed(f) {
					grows = false
				}
			}
			if !grows {
				calm = append(calm, g)
			}
		}
		if g, a := r.choose(calm); a >= 0 {
			return g, a
		}
	}
	return r.choose(r.ready())
}

// smallProblem draws a problem that needs a few arrays of few rows.
func smallProblem(rng *rand.Rand, maxGates int) (Problem, int) {
	g := xmg.New("random")
	inputs := 2 + rng.IntN(9)
	var lits []xmg.Lit
	for range inputs {
		lits = append(lits, g.AddInput(""))
	}
	gates := 1 + rng.IntN(maxGates)
	for try := 0; g.NumGates() < gates && try < 20*gates; try++ {
		pick := func() xmg.Lit {
			i := rng.IntN(len(lits))
			if rng.IntN(2) == 0 {
				i = len(lits) - 1 - rng.IntN(min(len(lits), 10))
			}
			return lits[i].NotIf(rng.IntN(2) == 0)
		}
		a, b, c := pick(), pick(), pick()
		if rng.IntN(3) == 0 {
			c = xmg.False
		}
		before := g.NumGates()
		var l xmg.Lit
		if rng.IntN(2) == 0 {
			l = g.Maj(a, b, c)
		} else {
			l = g.Xor(a, b, c)
		}
		if g.NumGates() > before {
			lits = append(lits, l)
		}
	}
	for i := range 1 + rng.IntN(6) {
		g.AddOutput(fmt.Sprintf("y%d", i), lits[rng.IntN(len(lits))])
	}
	g.AddOutput("last", lits[len(lits)-1])
	rows := 4 + rng.IntN(13)
	arrays := 1 + rng.IntN(5)
	for arrays*rows <= inputs {
		arrays++
	}
	return Problem{g, sram.Geometry{Arrays: arrays, Rows: rows, Cols: 1}}, arrays
}

// requireSame compares everything the state keeps with what the reference
// counts.
func requireSame(t *testing.T, r *reference, s *cicppState) {
	t.Helper()
	require.Equal(t, r.copies, s.copies)
	alive := 0
	for v := 1; v < s.net.nodes; v++ {
		held := 0
		for a := range r.in {
			c := s.cell(int32(v), a)
			require.Equal(t, r.holds(v, a), c.pos != absent, "value %d in array %d", v, a)
			require.Equal(t, r.isHome(v, a), c.pos == home, "home of %d in array %d", v, a)
			require.EqualValues(t, r.count(v, a), c.partners, "partners of %d in array %d", v, a)
			if r.in[a][v] {
				require.Equal(t, r.duplicated(v, a), int(c.pos) < s.at[a].dups, "duplicate %d in array %d", v, a)
				require.EqualValues(t, v, s.at[a].values[c.pos])
			}
			if r.holds(v, a) {
				held++
			}
		}
		require.EqualValues(t, held, s.held[v], "arrays that hold %d", v)
		require.EqualValues(t, len(r.pending(v)), s.uses[v], "fanouts of %d", v)
		if held > 0 && r.p.Graph.IsGate(v) {
			alive++
		}
	}
	require.Equal(t, alive, s.alive)
	for a := range r.in {
		require.Equal(t, r.free(a), s.at[a].free(), "free rows of array %d", a)
	}
}

// The scheduler, with all its bookkeeping, takes the choices of the naive
// reference at each step, and ends or gets stuck where that does.
func TestRandomScheduleEqualsReference(t *testing.T) {
	finished, moves := 0, 0
	for seed := range draws(30) {
		rng := rand.New(rand.NewPCG(seed, 1))
		p, arrays := smallProblem(rng, 40)
		s := newCicppState(newCicppNet(p.Graph), arrays, p.Geometry.Rows)
		s.seed = mix(seed)
		ref := newReference(p, arrays, s.seed)
		crowd := []int{0, s.rows / 2, 1 << 30}[rng.IntN(3)]
		run := newCicppRun(s, crowd)
		requireSame(t, ref, s)
		for len(run.ready) > 0 {
			g, a := run.pick()
			rg, ra := ref.pick(crowd)
			require.Equal(t, ra, a, "seed %d", seed)
			if a < 0 {
				break
			}
			require.EqualValues(t, rg, g, "seed %d", seed)
			before := s.copies
			missing := 0
			for _, f := range s.net.faninsOf(g) {
				if f != 0 && !s.holds(f, a) {
					missing++
				}
			}
			require.True(t, run.commit(g, a))
			_, _, ok := ref.compute(rg, ra)
			require.True(t, ok)
			requireSame(t, ref, s)
			moves += s.copies - before - missing
		}
		if len(run.ready) == 0 {
			require.Len(t, ref.computed, p.Graph.NumGates())
			finished++
		}
	}
	t.Logf("%d schedules went through, %d values were moved", finished, moves)
	require.Greater(t, finished, 10)
	require.Greater(t, moves, 10)
}

// randomOrder draws an execution sequence.
func randomOrder(rng *rand.Rand, p Problem) []int32 {
	r := newReference(p, 1, 0)
	var order []int32
	for {
		ready := r.ready()
		if len(ready) == 0 {
			return order
		}
		g := ready[rng.IntN(len(ready))]
		r.computed[g] = true
		order = append(order, int32(g))
	}
}

// Instruction generation along a given order does the same.
func TestInstructionsEqualReference(t *testing.T) {
	finished := 0
	for seed := range draws(25) {
		rng := rand.New(rand.NewPCG(seed, 2))
		p, arrays := smallProblem(rng, 40)
		s := newCicppState(newCicppNet(p.Graph), arrays, p.Geometry.Rows)
		s.seed = mix(seed)
		ref := newReference(p, arrays, s.seed)
		ok := true
		for _, g := range randomOrder(rng, p) {
			_, a := ref.choose([]int{int(g)})
			require.Equal(t, a, s.bestArray(g), "seed %d gate %d", seed, g)
			if ok = s.step(g); !ok {
				require.Equal(t, -1, a)
				break
			}
			ref.compute(int(g), a)
			requireSame(t, ref, s)
		}
		if ok {
			finished++
		}
	}
	require.Greater(t, finished, 10)
}

// What is undone leaves no trace, and a log can be done again.
func TestUndoRedo(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 3))
		p, arrays := smallProblem(rng, 40)
		s := newCicppState(newCicppNet(p.Graph), arrays, p.Geometry.Rows)
		s.seed = mix(seed)
		ref := newReference(p, arrays, s.seed)
		requireSame(t, ref, s)
		s.instructions(randomOrder(rng, p), dontStop)
		log, hash, copies := slices.Clone(s.log), s.hash, s.copies
		s.rewind(0)
		requireSame(t, ref, s)
		require.Zero(t, s.hash)
		s.redo(log)
		require.Equal(t, hash, s.hash)
		require.Equal(t, copies, s.copies)
		require.Equal(t, log, s.log)
	}
}

func dontStop() bool { return false }

// The outline of a choice is what trying it gives, or better, however the state
// came about; most choices are never tried because of it.
func TestOutlineBounds(t *testing.T) {
	exact, bounds, several := 0, 0, 0
	for seed := range draws(16) {
		rng := rand.New(rand.NewPCG(seed, 11))
		p, arrays := smallProblem(rng, 60)
		s := newCicppState(newCicppNet(p.Graph), arrays, p.Geometry.Rows)
		s.seed = mix(seed)
		marks := []int{0}
		order := randomOrder(rng, p)
		for len(marks) <= len(order) {
			// Any gate in any array, ready or not, as long as its fanins are there.
			for _, g := range order[len(marks)-1 : min(len(order), len(marks)+20)] {
				if !allHeld(s, g) {
					continue
				}
				for a := range s.at {
					if s.at[a].rows == 0 {
						continue
					}
					o := s.outline(g, a, anyCopies)
					mark := s.mark()
					copies, delta, ok := s.try(g, a, anyCopies)
					s.undo(mark)
					if !ok {
						require.False(t, o.exact)
						continue
					}
					if o.exact {
						require.Equal(t, o.copies, copies)
						require.Equal(t, o.delta, delta)
						exact++
						continue
					}
					require.LessOrEqual(t, o.copies, copies, "seed %d gate %d array %d", seed, g, a)
					if o.copies == copies {
						require.GreaterOrEqual(t, o.delta, delta, "seed %d gate %d array %d", seed, g, a)
					}
					bounds++
					if copies > 2 {
						several++
					}
				}
			}
			if rng.IntN(6) == 0 {
				marks = marks[:1+rng.IntN(len(marks))]
				s.rewind(marks[len(marks)-1])
				continue
			}
			if !s.step(order[len(marks)-1]) {
				break
			}
			marks = append(marks, s.mark())
		}
	}
	t.Logf("%d exact, %d bounds, %d of them for more than two copies", exact, bounds, several)
	require.Greater(t, exact, 1000)
	require.Greater(t, bounds, 1000)
	require.Greater(t, several, 50)
}

func allHeld(s *cicppState, g int32) bool {
	for _, f := range s.net.faninsOf(g) {
		if f != 0 && s.held[f] == 0 {
			return false
		}
	}
	return true
}
