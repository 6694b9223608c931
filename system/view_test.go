package system_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/tdfgtest"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// TestViews runs programs of two graphs on arrays and views of them, one after the other,
// twice: what one has stored under a name the next reads under another. Every element is
// compared with the interpreter's, which has no views of its own.
func TestViews(t *testing.T) {
	machine := small(t)
	ctx := context.Background()
	ran, stored := 0, 0
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 73))
		typ := []scalar.Type{scalar.Int8, scalar.Int16}[seed%2]
		opt := tdfgtest.Options{Type: typ, Nodes: 8, Reuse: true, Open: true, Align: 8, Views: true}
		g := tdfgtest.Graph(r, opt)
		opt.Scope = &g.Scope
		p := tdfgtest.Program(2, g, tdfgtest.Graph(r, opt))
		before := memory.New()
		require.NoError(t, before.Allocate(p.Arrays, nil))
		fill(r, before, p.Arrays)
		before.Scalars["p"] = scalar.FromInt(typ, 3)
		shape := shapes[g.Dims][seed%uint64(len(shapes[g.Dims]))]
		want := before.Clone()
		group := interp.Options{Group: func(dim int) int { return int(shape[dim]) }}
		require.NoError(t, interp.Run(ctx, p, nil, want, group))
		var reports [2]*system.Report
		for _, f := range []system.Fidelity{system.Gate, system.Word} {
			got := before.Clone()
			rep, err := system.Run(ctx, p, nil, got, system.Options{Machine: machine, Fidelity: f, Tile: shape, Threads: 2, Check: 1})
			require.NoError(t, err, "seed %d\n%s", seed, p)
			require.Empty(t, want.Diff(got), "seed %d %v %v\n%s", seed, shape, f, p)
			reports[f] = rep
		}
		require.Equal(t, reports[0].Cycles, reports[1].Cycles)
		if reports[0].NearRegions == 0 {
			ran++
		}
		for _, o := range g.Outputs {
			if g.Arrays[o.Array].View != nil {
				stored++
			}
		}
		timed, err := system.Run(ctx, p, nil, nil, system.Options{Machine: machine, TimingOnly: true, Tile: shape})
		require.NoError(t, err)
		require.Equal(t, reports[0].Cycles, timed.Cycles)
	}
	require.Greater(t, ran, 80)
	require.Greater(t, stored, 60)
}
