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
