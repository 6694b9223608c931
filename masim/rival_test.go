package masim

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// combinations lists every order with every generation, improved where that can
// be.
func combinations(t *testing.T) []Scheduler {
	var all []Scheduler
	for _, o := range rivalOrders {
		for _, g := range rivalGenerations {
			s, err := Lookup(o.name + "+" + g.name)
			require.NoError(t, err)
			all = append(all, s)
			s, err = Lookup(o.name + "+" + g.name + "+impr")
			if g.generator == nil {
				require.Error(t, err)
				continue
			}
			require.NoError(t, err)
			all = append(all, s)
		}
	}
	return all
}

func TestRivalNames(t *testing.T) {
	for _, name := range []string{"gppic", "gppic-naive", "simpler", "star", "date24", "date24+cicpp", "date24+impr", "masim-noimpr", "star+evict"} {
		s, err := Lookup(name)
		require.NoError(t, err)
		require.Equal(t, name, s.Name)
		require.NotEmpty(t, s.Doc)
	}
	for _, name := range []string{"gppic+", "+greedy", "gppic+greedy+", "gppic+greedy+more", "gppic+greedy+impr+impr", "star+evict+impr"} {
		_, err := Lookup(name)
		require.ErrorContains(t, err, "no scheduler")
	}
}

// Every rival's program keeps the rules, whatever the order, the instruction
// generation and the machine, and does not depend on the threads.
func TestRivalsReplay(t *testing.T) {
	all := combinations(t)
	found := make([]int, len(all))
	for seed := range uint64(25) {
		p, _ := smallProblem(rand.New(rand.NewPCG(seed, 81)), 60)
		bound := LowerBound(t.Context(), p).Copies
		for i, s := range all {
			r, err := s.Run(context.Background(), p, Options{Seed: seed})
			other, err2 := s.Run(context.Background(), p, Options{Seed: seed, Threads: 3})
			require.Equal(t, err, err2)
			require.Equal(t, r, other, s.Name)
			if err != nil {
				require.ErrorIs(t, err, ErrInfeasible)
				continue
			}
			found[i]++
			replay(t, p, r.Program)
			require.Equal(t, r.Program.Copies(), r.Copies)
			require.GreaterOrEqual(t, r.Copies, bound)
			require.False(t, r.Stopped)
			require.Positive(t, r.Trials)
		}
	}
	for i, s := range all {
		require.Greater(t, found[i], 8, s.Name)
	}
}

// Improvement and more effort never give more copies.
func TestRivalsMonotone(t *testing.T) {
	for seed := range uint64(12) {
		p, _ := smallProblem(rand.New(rand.NewPCG(seed, 82)), 120)
		for _, o := range rivalOrders {
			copies := func(name string, e Effort) int {
				s, err := Lookup(name)
				require.NoError(t, err)
				r, err := s.Run(context.Background(), p, Options{Seed: seed, Effort: e})
				if err != nil {
					return math.MaxInt
				}
				return r.Copies
			}
			fast := copies(o.name+"+greedy", Fast)
			require.LessOrEqual(t, copies(o.name+"+greedy+impr", Fast), fast)
			require.LessOrEqual(t, copies(o.name+"+greedy", Normal), fast)

			net := newCicppNet(p.Graph)
			first := newRivalState(net, p.Geometry.Arrays, p.Geometry.Rows, false)
			if first.instructions(o.make(net, ranks{}, dontStop), dontStop) {
				require.LessOrEqual(t, fast, first.copies, "the first run has no randomness")
			}
		}
	}
}

// Of two schedules that are as good, the first is taken, whichever ended first.
func TestRivalFirstOfEquals(t *testing.T) {
	a, b, c := &rivalResult{trial: 3, copies: 5}, &rivalResult{trial: 7, copies: 5}, &rivalResult{trial: 9, copies: 4}
	require.True(t, a.better(nil))
	require.True(t, a.better(b))
	require.False(t, b.better(a))
	require.True(t, c.better(a))
}

// Our eviction along a rival's order can spread gates as the greedy generation
// does. Here outputs fill all arrays, and moving them there costs more.
func TestRivalEvictionSpreads(t *testing.T) {
	g := xmg.New("wide")
	var in []xmg.Lit
	for range 4 {
		in = append(in, g.AddInput(""))
	}
	for i := range 16 {
		l := g.And(in[0].NotIf(i&1 != 0), in[1].NotIf(i&2 != 0))
		r := g.And(in[2].NotIf(i&4 != 0), in[3].NotIf(i&8 != 0))
		g.AddOutput("", g.And(l, r))
	}
	p := Problem{g, sram.Geometry{Arrays: 4, Rows: 12, Cols: 1}}
	evict, err := Lookup("simpler+evict")
	require.NoError(t, err)
	r, err := evict.Run(context.Background(), p, Options{})
	require.NoError(t, err)
	require.Less(t, r.Copies, evictInOneArray(t, p))
}

func evictInOneArray(t *testing.T, p Problem) int {
	in := newInstance(p, p.Geometry.Arrays)
	gates := simplerOrder(newCicppNet(p.Graph), ranks{}, dontStop)
	for i := range gates {
		gates[i] -= in.first
	}
	least := infeasible
	for a := range in.arrays {
		least = min(least, newEvaluator(in, in.inArray(gates, a), false).reset())
	}
	require.NotEqual(t, infeasible, least)
	return least
}

// Without improvement MASIM makes the same trials and stops there.
func TestMASIMNoImpr(t *testing.T) {
	fewer := 0
	for seed := range uint64(20) {
		p, _ := smallProblem(rand.New(rand.NewPCG(seed, 86)), 100)
		with, err := runMASIM(context.Background(), p, Options{Seed: seed})
		if err != nil {
			_, err = runMASIMNoImpr(context.Background(), p, Options{Seed: seed})
			require.ErrorIs(t, err, ErrInfeasible)
			continue
		}
		without, err := runMASIMNoImpr(context.Background(), p, Options{Seed: seed})
		require.NoError(t, err)
		replay(t, p, without.Program)
		require.Equal(t, without.Copies, without.Program.Copies())
		require.GreaterOrEqual(t, without.Copies, with.Copies)
		require.LessOrEqual(t, without.Trials, with.Trials)
		if with.Copies < without.Copies {
			fewer++
		}
	}
	require.Positive(t, fewer)
}

func TestRivalsTrivial(t *testing.T) {
	empty := xmg.New("empty")
	a := empty.AddInput("a")
	empty.AddOutput("y", a.Not())
	full := xmg.New("full")
	x, y := full.AddInput("x"), full.AddInput("y")
	full.AddOutput("z", full.And(x, y))
	for _, s := range combinations(t) {
		p := Problem{empty, sram.Geometry{Arrays: 1, Rows: 1, Cols: 1}}
		r, err := s.Run(context.Background(), p, Options{})
		require.NoError(t, err, s.Name)
		replay(t, p, r.Program)

		_, err = s.Run(context.Background(), Problem{full, sram.Geometry{Arrays: 1, Rows: 2, Cols: 1}}, Options{})
		require.ErrorIs(t, err, ErrInfeasible, s.Name) // no row is left

		_, err = s.Run(context.Background(), Problem{full, sram.Geometry{Arrays: 2, Rows: 1, Cols: 1}}, Options{})
		require.ErrorIs(t, err, ErrInfeasible, s.Name)

		_, err = s.Run(context.Background(), Problem{full, sram.Geometry{}}, Options{})
		require.Error(t, err, s.Name)
	}
}

// A cancelled run says so, and has the best so far if there is one.
func TestRivalsStop(t *testing.T) {
	p, _ := smallProblem(rand.New(rand.NewPCG(4, 83)), 60)
	p.Geometry = sram.Geometry{Arrays: 4, Rows: 16, Cols: 1}
	for _, s := range combinations(t) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := s.Run(ctx, p, Options{Effort: High})
		require.ErrorIs(t, err, context.Canceled, s.Name)
		require.NotErrorIs(t, err, ErrInfeasible)

		ctx, cancel = context.WithCancel(context.Background())
		defer cancel()
		var calls atomic.Int32
		r, err := s.Run(ctx, p, Options{Effort: High, Threads: 2, Progress: func(pr Progress) {
			require.LessOrEqual(t, pr.Done, max(pr.Total, pr.Done))
			if calls.Add(1); pr.Best >= 0 {
				cancel()
			}
		}})
		require.NoError(t, err, s.Name)
		require.True(t, r.Stopped, s.Name)
		require.Positive(t, calls.Load())
		replay(t, p, r.Program)
	}
}

// requireTopological checks that an order has every gate once, after its fanins.
func requireTopological(t *testing.T, net *cicppNet, order []int32) {
	t.Helper()
	require.Len(t, order, net.gates())
	done := map[int32]bool{}
	for _, g := range order {
		require.GreaterOrEqual(t, int(g), net.first)
		require.False(t, done[g])
		for _, f := range net.faninsOf(g) {
			require.True(t, int(f) < net.first || done[f])
		}
		done[g] = true
	}
}

func TestRivalOrdersTopological(t *testing.T) {
	for seed := range uint64(60) {
		p, _ := smallProblem(rand.New(rand.NewPCG(seed, 84)), 400)
		net := newCicppNet(p.Graph)
		different := 0
		for _, o := range rivalOrders {
			first := o.make(net, ranks{}, dontStop)
			requireTopological(t, net, first)
			require.Equal(t, first, o.make(net, ranks{seed: 9}, dontStop), "no randomness in the first run")
			other := o.make(net, ranks{random: true, seed: seed}, dontStop)
			requireTopological(t, net, other)
			if !slices.Equal(first, other) {
				different++
			}
		}
		if net.gates() > 100 {
			require.Positive(t, different)
		}
	}
}

// greedyModel is the instruction generation of the rivals written down from its
// description, with maps of where values are.
type greedyModel struct {
	p       Problem
	naive   bool
	fanins  map[int][]int
	at      map[int]int // array of each value that is needed or an input
	pending map[int]int // fanouts to come
	output  map[int]bool
	copies  int
}

func newGreedyModel(p Problem, naive bool) *greedyModel {
	m := &greedyModel{p: p, naive: naive, fanins: map[int][]int{}, at: map[int]int{}, pending: map[int]int{}, output: map[int]bool{}}
	for v := 1; v <= p.Graph.NumInputs(); v++ {
		m.at[v], _ = p.home(v)
	}
	for g := p.Graph.FirstGate(); g < p.Graph.NumNodes(); g++ {
		for _, l := range p.Graph.Fanins(g) {
			if l.Node() != 0 {
				m.fanins[g] = append(m.fanins[g], l.Node())
				m.pending[l.Node()]++
			}
		}
	}
	for _, o := range p.Graph.Outputs() {
		m.output[o.Lit.Node()] = true
	}
	return m
}

func (m *greedyModel) free(a int) int {
	n := m.p.Geometry.Rows
	for _, b := range m.at {
		if a == b {
			n--
		}
	}
	return n
}

func (m *greedyModel) lacking(g, a int) (missing, lacking int) {
	reuse := false
	for _, f := range m.fanins[g] {
		if m.at[f] != a {
			missing, reuse = missing+1, true
		} else if m.p.Graph.IsGate(f) && m.pending[f] == 1 && !m.output[f] {
			reuse = true
		}
	}
	need := missing
	if !reuse {
		need++
	}
	return missing, max(0, need-m.free(a))
}

func (m *greedyModel) step(g int) (array int, ok bool) {
	array = -1
	least := 0
	for a := range m.p.Geometry.Arrays {
		inputs := 0
		for v := 1; v <= m.p.Graph.NumInputs(); v++ {
			if h, _ := m.p.home(v); h == a {
				inputs++
			}
		}
		missing, lacking := m.lacking(g, a)
		if lacking > 0 || inputs == m.p.Geometry.Rows {
			continue
		}
		if array < 0 || !m.naive && missing < least {
			array, least = a, missing
		}
	}
	if array < 0 {
		for a := range m.p.Geometry.Arrays {
			missing, lacking := m.lacking(g, a)
			elsewhere := 0
			for b := range m.p.Geometry.Arrays {
				if b != a {
					elsewhere += m.free(b)
				}
			}
			if len(m.movable(g, a)) < lacking || elsewhere < lacking {
				continue
			}
			if array < 0 || missing+lacking < least {
				array, least = a, missing+lacking
			}
		}
		if array < 0 {
			return -1, false
		}
		_, lacking := m.lacking(g, array)
		for range lacking {
			v := slices.Min(m.movable(g, array))
			b := 0
			for b == array || m.free(b) == 0 {
				b++
			}
			m.at[v] = b
			m.copies++
		}
	}
	for _, f := range m.fanins[g] {
		if m.at[f] != array {
			m.copies++
		}
		m.pending[f]--
		if m.p.Graph.IsGate(f) && m.pending[f] == 0 && !m.output[f] {
			delete(m.at, f)
		}
	}
	if m.pending[g] > 0 || m.output[g] {
		m.at[g] = array
	}
	return array, true
}

func (m *greedyModel) movable(g, a int) (values []int) {
	for v, b := range m.at {
		if b == a && m.p.Graph.IsGate(v) && !slices.Contains(m.fanins[g], v) {
			values = append(values, v)
		}
	}
	return values
}

// The naive and the greedy instruction generation do what their description says,
// and take back any number of steps.
func TestRivalGeneration(t *testing.T) {
	moves, stuck := 0, 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 85))
		p, _ := smallProblem(rng, 60)
		net := newCicppNet(p.Graph)
		order := gppicOrder(net, ranks{random: true, seed: seed}, dontStop)
		for _, naive := range []bool{false, true} {
			s := newRivalState(net, p.Geometry.Arrays, p.Geometry.Rows, naive)
			m := newGreedyModel(p, naive)
			for i, g := range order {
				before := s.clone()
				a, ok := m.step(int(g))
				require.Equal(t, ok, s.step(g))
				if !ok {
					stuck++
					break
				}
				require.Equal(t, a, int(s.loc[g]))
				require.Equal(t, m.copies, s.copies)
				for v := net.first; v < net.nodes; v++ {
					at, there := m.at[v]
					require.Equal(t, there, s.loc[v] >= 0 && s.needed(int32(v)))
					if there {
						require.Equal(t, at, int(s.loc[v]))
					}
				}
				moves += s.mark() - before.mark() - 1

				back := rng.IntN(i + 1)
				again := s.clone()
				require.Equal(t, s.hash, again.hash)
				log := slices.Clone(again.log[back:])
				again.rewind(back)
				again.redo(log)
				require.Equal(t, s.hash, again.hash)
				require.Equal(t, s.copies, again.copies)
				require.Equal(t, s.loc, again.loc)
				require.Equal(t, s.uses, again.uses)
				again.rewind(before.mark())
				require.Equal(t, before.hash, again.hash)
				require.Equal(t, before.loc, again.loc)
			}
		}
	}
	require.Greater(t, moves, 100)
	require.Greater(t, stuck, 5)
}

// A copy serves one gate: what two gates read from a full array is copied twice.
// Table II has it so for adder, where all 256 inputs fill the first array and are
// read by two gates each.
func TestRivalCopiesAreTransient(t *testing.T) {
	g := xmg.New("twice")
	a, b := g.AddInput("a"), g.AddInput("b")
	g.AddOutput("s", g.Xor2(a, b))
	g.AddOutput("c", g.And(a, b))
	p := Problem{g, sram.Geometry{Arrays: 2, Rows: 2, Cols: 1}}
	g2 := p
	g2.Geometry.Rows = 4
	for _, s := range rivalSchedulers[:5] {
		sch, err := Lookup(s.name)
		require.NoError(t, err)
		_, err = sch.Run(context.Background(), p, Options{})
		require.ErrorIs(t, err, ErrInfeasible, s.name) // one output is there, and two operands do not fit
		p := p
		p.Geometry.Arrays = 3
		r, err := sch.Run(context.Background(), p, Options{})
		require.NoError(t, err, s.name)
		require.Equal(t, 4, r.Copies, s.name)
		r, err = sch.Run(context.Background(), g2, Options{})
		require.NoError(t, err, s.name)
		require.Zero(t, r.Copies, s.name)
	}
}

// clone returns a state of the same steps.
func (s *rivalState) clone() *rivalState {
	c := newRivalState(s.net, s.arrays, s.homes, s.naive)
	c.redo(s.log)
	return c
}
