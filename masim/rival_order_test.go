package masim

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/xmg"
)

// orderModel knows which gates are computed, and counts everything anew.
type orderModel struct {
	net  *cicppNet
	done map[int32]bool
}

func (m *orderModel) pending(v int32) (gates []int32) {
	for _, h := range m.net.fanoutsOf(v) {
		if !m.done[h] {
			gates = append(gates, h)
		}
	}
	return gates
}

func (m *orderModel) ready() (gates []int32) {
	for g := int32(m.net.first); int(g) < m.net.nodes; g++ {
		ok := !m.done[g]
		for _, f := range m.net.faninsOf(g) {
			ok = ok && (int(f) < m.net.first || m.done[f])
		}
		if ok {
			gates = append(gates, g)
		}
	}
	return gates
}

// cone returns the gates that are not computed among the given ones and all that
// they depend on.
func (m *orderModel) cone(gates []int32) map[int32]bool {
	cone := map[int32]bool{}
	var visit func(g int32)
	visit = func(g int32) {
		if int(g) < m.net.first || m.done[g] || cone[g] {
			return
		}
		cone[g] = true
		for _, f := range m.net.faninsOf(g) {
			visit(f)
		}
	}
	for _, g := range gates {
		visit(g)
	}
	return cone
}

// starCost is the number of gates to compute before v is not needed any more.
func (m *orderModel) starCost(v int32) int {
	cone := m.cone(m.pending(v))
	delete(cone, v)
	return len(cone)
}

func (m *orderModel) nextStar() int32 {
	target, cost := int32(0), 0
	for v := int32(m.net.first); int(v) < m.net.nodes; v++ {
		if m.done[v] && !m.net.keep[v] && len(m.pending(v)) > 0 {
			if c := m.starCost(v); target == 0 || c < cost {
				target, cost = v, c
			}
		}
	}
	if target != 0 {
		cone := m.cone(m.pending(target))
		for _, g := range m.ready() {
			if cone[g] {
				return g
			}
		}
	}
	best := int32(0)
	for _, g := range m.ready() {
		if !m.net.keep[g] && (best == 0 || m.starCost(g) < cost) {
			best, cost = g, m.starCost(g)
		}
	}
	if best == 0 {
		best = m.ready()[0]
	}
	return best
}

func (m *orderModel) nextGPPIC() int32 {
	level := make([]int, m.net.nodes)
	for g := int32(m.net.first); int(g) < m.net.nodes; g++ {
		for _, f := range m.net.faninsOf(g) {
			level[g] = max(level[g], level[f]+1)
		}
	}
	best, freed, last := int32(0), 0, 0
	for _, g := range m.ready() {
		n, l := 0, 0
		for _, f := range m.net.faninsOf(g) {
			if int(f) >= m.net.first && !m.net.keep[f] && len(m.pending(f)) == 1 {
				n++
			}
		}
		for _, h := range m.net.fanoutsOf(g) {
			l = max(l, level[h])
		}
		if best == 0 || n > freed || n == freed && l < last {
			best, freed, last = g, n, l
		}
	}
	return best
}

// The first runs of GPPIC and STAR take the gate of the highest priority at each
// step, the smallest index of equals.
func TestPriorityOrders(t *testing.T) {
	for seed := range uint64(80) {
		p, _ := smallProblem(rand.New(rand.NewPCG(seed, 90)), 70)
		net := newCicppNet(p.Graph)
		for _, c := range []struct {
			name  string
			order []int32
			next  func(m *orderModel) int32
		}{
			{"gppic", gppicOrder(net, ranks{}, dontStop), (*orderModel).nextGPPIC},
			{"star", starOrder(net, ranks{}, dontStop), (*orderModel).nextStar},
		} {
			m := &orderModel{net, map[int32]bool{}}
			for i, g := range c.order {
				require.Equal(t, c.next(m), g, "%s, seed %d, step %d", c.name, seed, i)
				m.done[g] = true
			}
		}
	}
}

// Wide graphs make STAR's counts exceed what they look at in one go.
func TestStarDeepCounts(t *testing.T) {
	g := xmg.New("deep")
	var in []xmg.Lit
	for range 12 {
		in = append(in, g.AddInput(""))
	}
	// Two long chains that a gate at the end joins, and a short cut.
	chain := func(l xmg.Lit, n int) xmg.Lit {
		for i := range n {
			l = g.Maj(l, in[i%12], in[(i*5+1)%12].NotIf(i%3 == 0))
		}
		return l
	}
	start := g.Xor2(in[0], in[1])
	a := chain(g.And(start, in[2]), 90)
	b := chain(g.Or(start, in[3]), 50)
	g.AddOutput("y", g.Xor(a, b, start))
	net := newCicppNet(g)
	m := &orderModel{net, map[int32]bool{}}
	order := starOrder(net, ranks{}, dontStop)
	require.Greater(t, len(order), 2*starReach)
	for _, x := range order {
		require.Equal(t, m.nextStar(), x)
		m.done[x] = true
	}
}

// Of two counts that are both more than what is looked at first, the lower one
// wins, not the one of the lower index.
func TestStarLongCounts(t *testing.T) {
	g := xmg.New("long")
	var in []xmg.Lit
	for range 12 {
		in = append(in, g.AddInput(""))
	}
	x, y := g.Xor2(in[0], in[1]), g.Xor2(in[2], in[3])
	// Gates of the chains are outputs, which come last by themselves.
	chain := func(l xmg.Lit, n int) xmg.Lit {
		for i := range n {
			l = g.Maj(l, in[i%12], in[(i*5+1)%12].NotIf(i%3 == 0))
			g.AddOutput("", l)
		}
		return l
	}
	g.AddOutput("", g.And(x, chain(in[4], 2*starReach)))
	g.AddOutput("", g.And(y, chain(in[5], starReach+5)))
	net := newCicppNet(g)
	m := &orderModel{net, map[int32]bool{}}
	require.Equal(t, 2*starReach+1, m.starCost(int32(x.Node())))
	require.Equal(t, starReach+6, m.starCost(int32(y.Node())))
	order := starOrder(net, ranks{}, dontStop)
	require.EqualValues(t, y.Node(), order[0])
	for _, x := range order {
		require.Equal(t, m.nextStar(), x)
		m.done[x] = true
	}
}

// STAR on a graph small enough to see: of x = a^b and the pair of chains, the
// value that is removed after one gate is removed first.
func TestStarByHand(t *testing.T) {
	g := xmg.New("hand")
	a, b, c, d := g.AddInput("a"), g.AddInput("b"), g.AddInput("c"), g.AddInput("d")
	x := g.Xor2(a, b)                // 5: read by y and z, so two gates and c^d before it goes
	y := g.Maj(x, c, d)              // 6
	w := g.Xor2(c, d)                // 7: one gate, and x before it
	z := g.Maj(x, w, a)              // 8
	u := g.And(a.Not(), c)           // 9: only v reads it
	v := g.Xor2(u, d)                // 10
	g.AddOutput("o", g.Xor(y, z, v)) // 11
	net := newCicppNet(g)
	m := &orderModel{net, map[int32]bool{}}
	require.Equal(t, 3, m.starCost(int32(x.Node())))
	require.Equal(t, 2, m.starCost(int32(w.Node())))
	require.Equal(t, 1, m.starCost(int32(u.Node())))
	// u first, then v, which removes it. Of v's own removal: x, y, w, z, o. The
	// live v is the only target until x lives, and its cone is entered by index: x.
	// Then x goes by y, w, z; and w, once it lives, by z.
	require.Equal(t, []int32{9, 10, 5, 6, 7, 8, 11}, starOrder(net, ranks{}, dontStop))
}

// SIMPLER's order is a depth-first one: after a root or a gate comes the whole
// cone that was missing, the fanin of the greatest usage first.
func TestSimplerDepthFirst(t *testing.T) {
	for seed := range uint64(80) {
		p, _ := smallProblem(rand.New(rand.NewPCG(seed, 91)), 90)
		net := newCicppNet(p.Graph)
		usage := cellUsage(net)
		var want []int32
		done := map[int32]bool{}
		var visit func(g int32)
		visit = func(g int32) {
			if int(g) < net.first || done[g] {
				return
			}
			f := net.faninsOf(g)[:]
			f = slices.Clone(f)
			slices.SortStableFunc(f, func(a, b int32) int { return int(usage[b] - usage[a]) })
			for _, v := range f {
				visit(v)
			}
			done[g] = true
			want = append(want, g)
		}
		for g := int32(net.first); int(g) < net.nodes; g++ {
			if net.uses[g] == 0 {
				visit(g)
			}
		}
		require.Equal(t, want, simplerOrder(net, ranks{}, dontStop))
	}
}

// On trees the cell usage is the least number of rows.
func TestCellUsageOnTrees(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 92))
		g := xmg.New("tree")
		var leaves []xmg.Lit
		for range 40 {
			leaves = append(leaves, g.AddInput(""))
		}
		var open []xmg.Lit
		for range 2 + rng.IntN(6) {
			open = append(open, g.And(leaves[0], leaves[1]))
			leaves = leaves[2:]
		}
		for len(open) > 1 {
			take := func() xmg.Lit {
				if len(open) == 0 || rng.IntN(4) == 0 {
					l := leaves[0]
					leaves = leaves[1:]
					return l
				}
				i := rng.IntN(len(open))
				l := open[i]
				open = slices.Delete(open, i, i+1)
				return l
			}
			open = append(open, g.Xor(take(), take(), take()))
		}
		g.AddOutput("y", open[0])
		if g.NumGates() > 13 {
			continue
		}
		net := newCicppNet(g)
		p := &piece{n: net.gates(), users: make([]pieceSet, net.gates()), kept: make([]bool, net.gates())}
		for i := range net.gates() {
			f := [3]int32{-1, -1, -1}
			for k, v := range net.faninsOf(int32(net.first + i)) {
				if int(v) >= net.first {
					f[k] = v - int32(net.first)
					p.users[f[k]].add(int32(i))
				}
			}
			p.fanins = append(p.fanins, f)
		}
		root := open[0].Node() - net.first
		p.kept[root] = true
		require.Equal(t, fewestRows(p), int(cellUsage(net)[open[0].Node()]))
	}
}

// peakRows returns the most gate values that are needed at once.
func peakRows(net *cicppNet, order []int32) int {
	m := &orderModel{net, map[int32]bool{}}
	var held []int32
	peak := 0
	for _, g := range order {
		m.done[g] = true
		held = slices.DeleteFunc(append(held, g), func(v int32) bool { return !net.keep[v] && len(m.pending(v)) == 0 })
		peak = max(peak, len(held))
	}
	return peak
}

// A netlist that is one piece takes the fewest rows; a larger one seldom more than
// by any other rival.
func TestDate24Rows(t *testing.T) {
	worse := 0
	for seed := range uint64(60) {
		p, _ := smallProblem(rand.New(rand.NewPCG(seed, 93)), 12)
		net := newCicppNet(p.Graph)
		pc := &piece{n: net.gates(), users: make([]pieceSet, net.gates()), kept: net.keep[net.first:]}
		for i := range net.gates() {
			f := [3]int32{-1, -1, -1}
			for k, v := range net.faninsOf(int32(net.first + i)) {
				if int(v) >= net.first {
					f[k] = v - int32(net.first)
					pc.users[f[k]].add(int32(i))
				}
			}
			pc.fanins = append(pc.fanins, f)
		}
		require.Equal(t, fewestRows(pc), peakRows(net, date24Order(net, ranks{}, dontStop)))

		p, _ = smallProblem(rand.New(rand.NewPCG(seed, 94)), 500)
		net = newCicppNet(p.Graph)
		peak := peakRows(net, date24Order(net, ranks{}, dontStop))
		for _, o := range rivalOrders[:3] {
			if peak > peakRows(net, o.make(net, ranks{}, dontStop)) {
				worse++
			}
		}
	}
	require.Less(t, worse, 18) // of 180
}

// A cut has closed halves within the balance, and the refinement counts right.
func TestDate24Cut(t *testing.T) {
	refined := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 95))
		p, _ := smallProblem(rng, 600)
		net := newCicppNet(p.Graph)
		n := net.gates()
		if n < 100 {
			continue
		}
		d := newDate24(net, ranks{}, dontStop)
		cost := func(prefix []int32) int {
			m := &orderModel{net, map[int32]bool{}}
			for _, g := range prefix {
				m.done[g] = true
			}
			c := 0
			for _, g := range prefix {
				if net.keep[g] || len(m.pending(g)) > 0 {
					c++
				}
			}
			return c
		}
		least, most := int(float64(n)*0.45), n-int(float64(n)*0.45)
		best := n
		for _, base := range d.bases {
			order := slices.Clone(d.order)
			sortBy(order, base)
			for k := least; k <= most; k++ {
				best = min(best, cost(order[:k]))
			}
		}

		// From any prefix, in any order.
		order := slices.Clone(d.order)
		sortBy(order, d.bases[rng.IntN(len(d.bases))])
		for _, g := range order {
			d.side[g] = secondHalf
		}
		at := least + rng.IntN(most-least+1)
		for _, g := range order[:at] {
			d.flip(g)
		}
		inFirst := func() (prefix []int32) {
			for _, g := range d.order {
				if d.side[g] == firstHalf {
					prefix = append(prefix, g)
				}
			}
			return prefix
		}
		for _, g := range order {
			if d.movable(g) {
				before, gain := cost(inFirst()), d.gain(g)
				d.flip(g)
				require.EqualValues(t, before-cost(inFirst()), gain)
				d.flip(g)
			}
		}
		fell := d.refine(order, at, least, most)
		prefix := inFirst()
		require.EqualValues(t, cost(order[:at])-cost(prefix), fell)
		require.GreaterOrEqual(t, fell, int32(0))
		for _, g := range prefix {
			d.flip(g)
		}
		for _, g := range order {
			d.side[g] = noHalf
		}

		part := slices.Clone(d.order)
		k := d.bisect(part)
		requireTopological(t, net, part)
		require.GreaterOrEqual(t, k, least)
		require.LessOrEqual(t, k, most)
		require.LessOrEqual(t, cost(part[:k]), best)
		if cost(part[:k]) < best {
			refined++
		}
		require.Equal(t, net.uses, d.late)
		for _, s := range d.side {
			require.EqualValues(t, noHalf, s)
		}
	}
	require.Positive(t, refined)
}
