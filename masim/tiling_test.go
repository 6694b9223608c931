package masim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
)

// topological requires an order to have every gate once, after its fanins.
func topological(t *testing.T, in *instance, order []int32) {
	t.Helper()
	require.Len(t, order, int(in.gates))
	done := make([]bool, in.gates)
	for _, g := range order {
		require.False(t, done[g])
		for _, v := range in.fanin[g] {
			if f := v - in.first; f >= 0 {
				require.True(t, done[f], "gate %d before its fanin %d", g, f)
			}
		}
		done[g] = true
	}
}

// Orders by fronts are orders, and those of an array multiplier keep no more alive than its
// rows do, whatever order its gates come in.
func TestDataflow(t *testing.T) {
	for seed := range uint64(30) {
		in := smallInstance(rand.New(rand.NewPCG(seed, 31)), 200)
		topological(t, in, in.dataflow(in.eager(in.depthFirst())))
	}
	const width = 24
	p := generated(t, "multiplier-array", width, 8, width)
	for seed := range uint64(3) {
		in := newInstance(p, 8)
		order := in.dataflow(in.eager(in.depthFirst()))
		require.LessOrEqual(t, newFrontier(in, order, in.fullArrays(), nil).peak(), int32(4*width))
		p.Graph = reordered(p.Graph, rand.New(rand.NewPCG(seed, 32)))
	}
}

// The loads of a part are what a count of live values gives, within rounding, and parts that fit
// keep to their room in every slice; a division by time would not.
func TestFitKeepsToTheRoom(t *testing.T) {
	const width = 32
	p := generated(t, "multiplier-array", width, 8, width)
	in := newInstance(p, 8)
	home := in.fullArrays()
	order := in.dataflow(in.eager(in.depthFirst()))
	h := in.loadNets(order, home)

	f := newFrontier(in, order, home, nil)
	for s := range int32(loadSlices) {
		live, load := int64(0), int64(0)
		lo, hi := s*in.gates/loadSlices, (s+1)*in.gates/loadSlices
		for _, n := range f.live[lo:hi] {
			live += int64(n)
		}
		for v := range h.size() {
			load += int64(h.loads(v)[s])
		}
		require.InEpsilon(t, float64(live)/float64(hi-lo), float64(load)/loadUnit, 0.1, "slice %d", s)
	}

	k := in.arraysFor(h.peakLoad())
	require.Greater(t, k, 2)
	room := make([]int64, k)
	for i := range room {
		room[i] = width * loadUnit
	}
	part := h.fit(context.Background(), room, loadSlack, rand.New(rand.NewPCG(1, 33)))
	load := make([][loadSlices]int64, k)
	for v := range h.size() {
		for s, n := range h.loads(v) {
			load[part[v]][s] += int64(n)
		}
	}
	for i := range load {
		for s, n := range load[i] {
			require.LessOrEqual(t, n, room[i]*11/10, "part %d, slice %d", i, s)
		}
	}
}

// What the gates' order in the file is matters little where values are many times those that an
// array holds: an array multiplier row by row and in random orders. BenchmarkOrders has larger ones,
// where it matters less.
func TestOrderMattersLittle(t *testing.T) {
	t.Parallel()
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
	p := generated(t, "multiplier-array", 8, 8, 8)
	least, most := infeasible, 0
	for seed := range uint64(3) {
		r, err := runBitsched(context.Background(), p, Options{Seed: 1})
		require.NoError(t, err)
		replay(t, p, r.Program)
		least, most = min(least, r.Copies), max(most, r.Copies)
		p.Graph = reordered(p.Graph, rand.New(rand.NewPCG(seed, 34)))
	}
	require.LessOrEqual(t, float64(most), 1.35*float64(least))
}

// BenchmarkOrders prints the copies of array multipliers at Fast effort, row by row and with
// their gates in random orders:
//
//	go test ./masim -run '^$' -bench Orders -benchtime 1x -timeout 1h
func BenchmarkOrders(b *testing.B) {
	for _, c := range []struct{ width, rows, arrays int }{{64, 64, 8}, {128, 128, 16}, {256, 128, 16}} {
		for order := range uint64(3) {
			b.Run(fmt.Sprintf("width%d/order%d", c.width, order), func(b *testing.B) {
				p := generated(b, "multiplier-array", c.width, c.arrays, c.rows)
				if order > 0 {
					p.Graph = reordered(p.Graph, rand.New(rand.NewPCG(order, 35)))
				}
				for b.Loop() {
					start := processCPU()
					r, err := runBitsched(context.Background(), p, Options{Seed: 1})
					require.NoError(b, err)
					b.ReportMetric(processCPU()-start, "CPU-s")
					_, err = Check(p.Graph, r.Program, CheckOptions{})
					require.NoError(b, err)
					b.ReportMetric(float64(r.Copies), "copies")
				}
			})
		}
	}
}

// Where all values have room, nets that a division cuts are copies: values that are read on the
// other side, inputs among them, which lie in the first part.
func TestCutsAreCopies(t *testing.T) {
	for _, kind := range []string{"multiplier-array", "divider", "sqrt", "adder-kogge-stone"} {
		p := generated(t, kind, 16, 8, 4000)
		in := newInstance(p, 8)
		order := in.dataflow(in.eager(in.depthFirst()))
		h := in.loadNets(order, 0)
		for seed := range uint64(4) {
			room := h.peakLoad() * loadUnit * 6 / 10
			side := h.bisect(t.Context(), balance{share: 0.5, room: [2]int64{room, room}}, rand.New(rand.NewPCG(seed, 36)))
			require.Zero(t, side[in.gates], "the inputs")
			pl := in.inArray(order, 0)
			for g := range pl.array {
				pl.array[g] = side[g]
			}
			cut := newRefiner(h, side, balance{share: 0.5}).cut()
			require.Positive(t, cut)
			require.EqualValues(t, cut, newEvaluator(in, pl, false).reset(), "%s, seed %d", kind, seed)
		}
	}
}

// Fixed vertices stay in the first part, however many parts there are.
func TestFixedVerticesStay(t *testing.T) {
	p := generated(t, "multiplier-array", 12, 8, 12)
	in := newInstance(p, 8)
	h := in.loadNets(in.graphOrder(), in.fullArrays())
	r := rand.New(rand.NewPCG(3, 37))
	for v := range h.fixed {
		h.fixed[v] = h.fixed[v] || r.IntN(20) == 0
	}
	for k := 2; k <= 7; k++ {
		room := make([]int64, k)
		for i := range room {
			room[i] = 12 * loadUnit
		}
		used := map[uint8]bool{}
		for v, a := range h.fit(t.Context(), room, loadSlack, r) {
			used[a] = true
			require.True(t, a == 0 || !h.fixed[v], "vertex %d in part %d", v, a)
		}
		require.Len(t, used, k)
	}
}

// Tilings use the arrays that they say, cost what an evaluation of their own gives, and far less
// than one array does where values are many times those that it holds.
func TestTiledStarts(t *testing.T) {
	const width = 24
	p := generated(t, "multiplier-array", width, 8, width)
	in := newInstance(p, 8)
	b := &bitsched{ctx: t.Context(), in: in, best: infeasible}
	home := in.fullArrays()
	order := in.dataflow(b.depthFirst())
	starts := b.tiled(t.Context(), [][]int32{order, b.depthFirst()}, home, 0, rand.New(rand.NewPCG(5, 38)))
	require.NotEmpty(t, starts)
	for _, s := range starts {
		used := map[uint8]bool{}
		for _, a := range s.plan.array {
			used[a] = true
		}
		require.Len(t, used, s.parts)
		require.Equal(t, newEvaluator(in, s.plan.clone(), false).reset(), s.cost)
	}
	single := newEvaluator(in, in.inArray(order, home), false).reset()
	t.Logf("%d copies in one array, %d in %d", single, starts[0].cost, starts[0].parts)
	require.Less(t, 4*starts[0].cost, single)
}
