package plan

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// TestShareIsOptimal compares with all ways to share crossbars out.
func TestShareIsOptimal(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		var fronts [][]choice
		for range 1 + r.IntN(4) {
			var c []choice
			for range 1 + r.IntN(4) {
				c = append(c, choice{units: int64(1 + r.IntN(9)), cycles: int64(1 + r.IntN(30))})
			}
			fronts = append(fronts, front(c))
		}
		units := int64(1 + r.IntN(25))
		best := int64(-1)
		var walk func(i int, left, slowest int64)
		walk = func(i int, left, slowest int64) {
			if left < 0 {
				return
			}
			if i == len(fronts) {
				if best < 0 || slowest < best {
					best = slowest
				}
				return
			}
			for _, c := range fronts[i] {
				walk(i+1, left-c.units, max(slowest, c.cycles))
			}
		}
		walk(0, units, 0)
		pick := share(fronts, units)
		if best < 0 {
			require.Nil(t, pick)
			continue
		}
		slowest, used := int64(0), int64(0)
		for i, c := range pick {
			slowest, used = max(slowest, fronts[i][c].cycles), used+fronts[i][c].units
		}
		require.Equal(t, best, slowest)
		require.LessOrEqual(t, used, units)
	}
}

// TestSegments: a chip that holds two small layers runs them at once, each row as soon as
// those below it are there; a chip that does not takes them one after another. By hand: no
// segment has more crossbars than there are, and the time is at least the slowest stage's
// and at most that of all stages in turn.
func TestSegments(t *testing.T) {
	ctx := context.Background()
	whole := load(t, "mvm-reram")
	small, err := whole.With("levels[2].fan_out", 1)
	require.NoError(t, err)
	var cycles []int64
	for _, p := range []*platform.Platform{small, whole} {
		rep, err := Map(ctx, ctx, branching(t), p, Options{Evals: 400, Seed: 1, Threads: 2, Execute: "gate", Pipeline: true, Cold: true})
		require.NoError(t, err)
		require.Equal(t, rep.All, rep.Outputs)
		require.GreaterOrEqual(t, rep.Cycles, rep.Bound)
		require.GreaterOrEqual(t, rep.Baseline, rep.Cycles)
		next, sum := 0, int64(0)
		for _, s := range rep.Segments {
			require.Equal(t, next, s.First)
			next = s.Last + 1
			sum += s.Cycles
			slowest, all, units := int64(0), int64(0), int64(0)
			for i, st := range s.Stages {
				require.Equal(t, rep.Layers[st.Layer].Cost.Cycles, st.Cycles)
				slowest, all, units = max(slowest, st.Cycles), all+st.Cycles, units+st.Units
				if i > 0 {
					require.GreaterOrEqual(t, st.Finish, s.Stages[i].Start)
				}
			}
			if !s.Alone {
				require.LessOrEqual(t, units, int64(p.Units()))
				require.GreaterOrEqual(t, s.Cycles-s.Program, slowest)
				require.LessOrEqual(t, s.Cycles-s.Program, all)
			}
		}
		require.Equal(t, len(rep.Layers), next)
		require.Equal(t, rep.Cycles, sum)
		parts := int64(0)
		for _, c := range rep.Parts {
			parts += c
		}
		require.Equal(t, rep.Cycles, parts)
		cycles = append(cycles, rep.Cycles)
	}
	require.Less(t, cycles[1], cycles[0])
}

// TestNeed compares the rows that a node needs with those that its nest reads.
func TestNeed(t *testing.T) {
	net := branching(t)
	net2, err := dnn.Build("resnet18", 2, dnn.DefaultBits)
	require.NoError(t, err)
	for _, n := range []*dnn.Network{net, net2} {
		for _, i := range n.MACs() {
			o := n.Nodes[i].Op
			if o.Kind != "conv2d" {
				continue
			}
			h, r := o.Loop("H"), o.Loop("R")
			d := len(o.Tensors[0].Access) - 2
			in := o.Tensors[0].Extents[d]
			for y := range o.Loops[h].Extent {
				most := 0
				for k := range o.Loops[r].Extent {
					at := y*o.Tensors[0].Access[d][h] + k*o.Tensors[0].Access[d][r] + o.Tensors[0].Offset[d]
					if at >= 0 && at < in {
						most = max(most, at+1)
					}
				}
				require.Equal(t, most, need(n, i, 0, y+1), "%s row %d", n.Nodes[i].Name, y)
			}
		}
	}
}
