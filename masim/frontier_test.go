package masim

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
)

func requireOrder(t *testing.T, in *instance, order []int32) {
	t.Helper()
	require.Len(t, order, int(in.gates))
	at := make([]int, in.gates)
	for i := range at {
		at[i] = -1
	}
	for i, g := range order {
		require.Equal(t, -1, at[g], "gate %d runs twice", g)
		at[g] = i
		for _, v := range in.fanin[g] {
			if f := v - in.first; f >= 0 {
				require.GreaterOrEqual(t, at[f], 0, "gate %d runs before its fanin %d", g, f)
			}
		}
	}
}

// liveAfter counts the live values once the gates of a set have run.
func liveAfter(f *frontier, ran func(g int32) bool) int32 {
	in := f.in
	live := int32(0)
	for v := int32(1); v < in.values; v++ {
		g := v - in.first
		born, needed := g >= 0 && ran(g), false
		for _, u := range in.uses(v) {
			if g < 0 && f.floating[v] && ran(u) {
				born = true
			}
			needed = needed || !ran(u)
		}
		if born && (needed || in.isOut[v]) {
			live++
		}
	}
	return live
}

func smallInstance(r *rand.Rand, gates int) *instance {
	g := randomGraph(r, 2+r.IntN(5), gates, 1+r.IntN(3))
	rows := 3 + r.IntN(30)
	return newInstance(Problem{g, sram.Geometry{Arrays: 8, Rows: rows, Cols: 1}}, 8)
}

func TestFirstOrders(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		in := smallInstance(r, 5+r.IntN(200))
		requireOrder(t, in, in.graphOrder())
		requireOrder(t, in, in.depthFirst())
		requireOrder(t, in, in.eager(in.depthFirst()))
	}
}

// improve keeps an order an order, its counts right, and never makes it worse.
func TestFrontierImproves(t *testing.T) {
	fell := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 4))
		in := smallInstance(r, 5+r.IntN(150))
		f := newFrontier(in, in.graphOrder(), r.IntN(3), r)
		before := f.sum(0, in.gates)
		f.improve(context.Background(), 100_000, nil)
		requireOrder(t, in, f.order)
		after := f.sum(0, in.gates)
		require.LessOrEqual(t, after, before)
		if after < before {
			fell++
		}
		at := make([]int, in.gates)
		for i, g := range f.order {
			at[g] = i
			require.Equal(t, int32(i), f.pos[g])
		}
		for i := range f.order {
			require.Equal(t, liveAfter(f, func(g int32) bool { return at[g] <= i }), f.live[i], "seed %d step %d", seed, i)
		}
	}
	require.Greater(t, fell, 20)
}

// A cut of the whole order leaves as few live values as any set of gates that is
// closed under fanins, has the one gate and lacks the other.
func TestCutIsMinimum(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		in := smallInstance(r, 4+r.IntN(8))
		n := in.gates
		if n < 3 {
			continue
		}
		f := newFrontier(in, in.graphOrder(), r.IntN(2), r)
		p := int32(r.IntN(int(n - 1)))
		q := p + 1 + int32(r.IntN(int(n-p-1)))
		gp, gq := f.order[p], f.order[q]

		want := int32(1 << 30)
	sets:
		for set := range uint32(1) << n {
			has := func(g int32) bool { return set>>g&1 != 0 }
			if !has(gp) || has(gq) {
				continue
			}
			for g := range n {
				for _, v := range in.fanin[g] {
					if x := v - in.first; x >= 0 && has(g) && !has(x) {
						continue sets
					}
				}
			}
			want = min(want, liveAfter(f, has))
		}
		if want == 1<<30 { // q is an ancestor of p: no such set, and no cut to make
			continue
		}
		if f.propose(0, n, p, q) {
			f.put(f.spanAt, f.span)
			requireOrder(t, in, f.order)
			f.count(0, n)
		}
		got := int32(1 << 30)
		for i := f.pos[gp]; i < f.pos[gq]; i++ {
			got = min(got, f.live[i])
		}
		require.Equal(t, want, got, "seed %d", seed)
	}
}

// Two groups of vertices that one net joins are told apart.
func TestPartitionFindsGroups(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 6))
	const size = 300
	h := &hypergraph{weight: make([]int32, 2*size), netStart: []int32{0}}
	net := func(pins ...int32) {
		h.pins = append(h.pins, pins...)
		h.netStart = append(h.netStart, int32(len(h.pins)))
	}
	for v := range h.weight {
		h.weight[v] = 1 + int32(r.IntN(3))
	}
	for range 8 * size {
		base := int32(r.IntN(2)) * size
		net(base+int32(r.IntN(size/2)), base+size/2+int32(r.IntN(size/2)))
	}
	net(0, size)
	h.index()
	part := h.partition(context.Background(), 2, r)
	for v := range part {
		require.Equal(t, part[v/size*size], part[v])
	}
	require.NotEqual(t, part[0], part[size])
}

// Parts are of about equal weight, and few nets cross them: no more than what the
// refiner says, far fewer than in a random division.
func TestPartitionBalance(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 7))
		in := smallInstance(r, 600)
		h := in.valueNets(in.graphOrder())
		for _, k := range []int{2, 3, 5, 8} {
			part := h.partition(context.Background(), k, r)
			weight := make([]int64, k)
			heaviest := int64(0)
			for v, w := range h.weight {
				weight[part[v]] += int64(w)
				heaviest = max(heaviest, int64(w))
			}
			for _, w := range weight {
				require.LessOrEqual(t, w, h.total()/int64(k)*3/2+3*heaviest, "%d parts", k)
			}
		}
		side := h.bisect(context.Background(), balance{share: 0.5}, r)
		other := make([]uint8, len(side))
		for v := range other {
			other[v] = uint8(r.IntN(2))
		}
		require.Less(t, 2*newRefiner(h, side, balance{share: 0.5}).cut(), newRefiner(h, other, balance{share: 0.5}).cut())
	}
}

// Gains stay those that a count from scratch gives, whatever moves.
func TestRefinerGains(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 8))
	in := smallInstance(r, 120)
	h := in.valueNets(in.graphOrder())
	side := h.grow(0.5, r)
	f := newRefiner(h, side, balance{share: 0.5})
	for range 20 {
		before := f.cut()
		f.pass(t.Context())
		require.LessOrEqual(t, f.cut(), before)
		for v := range h.size() {
			gain := int64(f.gainOf(v))
			c := f.cut()
			f.flip(v)
			require.Equal(t, c-gain, f.cut(), "vertex %d", v)
			f.flip(v)
		}
	}
}
