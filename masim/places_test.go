package masim

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Copies and rows after thousands of moves are those that a count from the definition gives, with rows at each
// step instead of by slices, and where none is beyond the room the simulation of the plan takes no more copies.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind                string
		width, rows, arrays int
	}{{"multiplier", 8, 40, 4}, {"divider", 7, 22, 3}, {"sqrt", 16, 12, 5}, {"squarer", 9, 300, 3}} {
		in := newInstance(generated(t, c.kind, c.width, c.arrays, c.rows), c.arrays)
		r := rand.New(rand.NewPCG(3, uint64(c.width)))
		home := in.fullArrays()
		pl := in.inArray(in.dataflow(in.depthFirst()), home)
		for g := range pl.array {
			pl.array[g] += uint8(r.IntN(c.arrays - home))
		}
		p := newPlaces(in, pl, home, c.arrays-home)
		before := p.cost()
		p.anneal(context.Background(), 3000, r)
		if len(p.crowded()) > 0 {
			require.Less(t, p.cost(), before, c.kind)
		}
		for range 300 {
			p.move(int32(r.IntN(int(in.gates))), uint8(home+r.IntN(c.arrays-home)))
		}

		rows := make([][]int, c.arrays) // by array and step
		for a := range rows {
			rows[a] = make([]int, in.gates)
		}
		copies := 0
		for v := int32(1); v < in.values; v++ {
			lives := map[int][2]int32{} // by array: first and last step of use
			own, here := int(in.home[v]), int32(-1)
			if g := v - in.first; g >= 0 {
				own = int(pl.array[g])
				lives[own] = [2]int32{p.pos[g], p.pos[g] + 1}
				here = p.pos[g] + 1
			}
			for step, g := range pl.order {
				if !readsValue(in, g, v) {
					continue
				}
				a := int(pl.array[g])
				l, ok := lives[a]
				if !ok {
					l[0] = int32(step)
					if here >= 0 {
						l[0] = min(l[0], here)
					}
				}
				l[1] = int32(step)
				lives[a] = l
				if here >= 0 {
					here = max(here, int32(step))
				}
			}
			if in.isOut[v] {
				l := lives[own]
				l[1] = in.gates
				lives[own] = l
			}
			for a, l := range lives {
				if a != own {
					copies++
				}
				if a == int(in.home[v]) {
					continue
				}
				for step := l[0]; step < l[1]; step++ {
					rows[a][step]++
				}
			}
		}
		require.Equal(t, copies, p.copies, c.kind)
		sum, fits := 0, true
		for a := home; a < c.arrays; a++ {
			slices := 0
			for _, n := range rows[a] {
				slices += n
				fits = fits && n < int(in.room[a])
			}
			load := 0
			for s := range placeSlices {
				load += int(p.load[(a-home)*placeSlices+s])
			}
			require.InDelta(t, slices*placeSlices*placeUnit/int(in.gates), load, float64(in.values), "%s array %d", c.kind, a)
			sum += slices
		}
		require.NotZero(t, sum)
		if fits {
			require.Zero(t, p.over)
			require.LessOrEqual(t, newEvaluator(in, pl, false).reset(), copies, c.kind)
		}
	}
}

func readsValue(in *instance, g, v int32) bool {
	return in.fanin[g][0] == v || in.fanin[g][1] == v || in.fanin[g][2] == v
}

// BenchmarkPlaces prints the copies of a partition of log2, what annealing its places makes of it, and what it makes
// of the best order in three arrays beside the first, each of the program that they come to.
func BenchmarkPlaces(b *testing.B) {
	p := sharedProblem(b, "log2")
	copies := func(in *instance, pl *plan) float64 {
		prog, err := in.program(pl, nil)
		require.NoError(b, err)
		_, err = Check(p.Graph, prog, CheckOptions{})
		require.NoError(b, err)
		return float64(prog.Copies())
	}
	for b.Loop() {
		in := newInstance(p, p.Geometry.Arrays)
		s := &bitsched{ctx: context.Background(), in: in, best: infeasible}
		seed := func(stream int) *rand.Rand { return rand.New(rand.NewPCG(1, uint64(stream))) }
		order := s.orders(s.ctx, 20_000_000, 0, 1, seed)[0].order
		tile := s.tiled(s.ctx, [][]int32{order}, 0, 800_000, seed(61))[0]
		b.ReportMetric(copies(in, tile.plan), "partition-copies")
		newPlaces(in, tile.plan, 0, tile.parts).anneal(s.ctx, 12_000_000, seed(70))
		b.ReportMetric(copies(in, tile.plan), "copies")
		beside := in.inArray(order, 1)
		newPlaces(in, beside, 1, 3).anneal(s.ctx, 12_000_000, seed(70))
		b.ReportMetric(copies(in, beside), "beside-copies")
	}
}

// Where live values fill several arrays, what is placed costs what its simulation says, and less than the starts that it is made of.
func TestPlaced(t *testing.T) {
	t.Parallel()
	p := generated(t, "multiplier-array", 24, 8, 24)
	b := &bitsched{ctx: t.Context(), in: newInstance(p, 8), best: infeasible}
	home := b.in.fullArrays()
	f := newFrontier(b.in, b.in.dataflow(b.depthFirst()), home, nil)
	require.Greater(t, int(f.peak()), 2*p.Geometry.Rows)
	r := rand.New(rand.NewPCG(2, 40))
	pl := b.in.inArray(f.order, home)
	for g := range pl.array {
		pl.array[g] += uint8(r.IntN(4))
	}
	from := start{pl, newEvaluator(b.in, pl.clone(), false).reset(), 4}
	require.Less(t, from.cost, infeasible)
	b.offer(from.plan, from.cost)
	placed := b.placed(t.Context(), []start{from}, f, home, 4_000_000, r)
	require.Len(t, placed, 1)
	require.Equal(t, newEvaluator(b.in, placed[0].plan.clone(), false).reset(), placed[0].cost)
	require.Less(t, 2*placed[0].cost, from.cost)
	t.Logf("%d copies, %d placed", from.cost, placed[0].cost)
	require.Empty(t, b.placed(t.Context(), []start{from}, f, home, 100, r), "no work")
}
