package system

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tile"
)

// TestWordIsChecked has elements computed by another operation than the program of
// the step: the arrays that are executed bit by bit must show it.
func TestWordIsChecked(t *testing.T) {
	ctx := context.Background()
	k, err := kernels.Get("vec_add")
	require.NoError(t, err)
	sizes := map[string]int64{"N": 1024}
	p, err := cfront.Compile(ctx, k.File, k.Source, cfront.Options{Defines: sizes})
	require.NoError(t, err)
	for _, wrong := range []bool{false, true} {
		r := newRunner(p, sizes, k.Data(sizes, 1).Memory(), Options{Machine: tile.Default(), Fidelity: Word, Check: 2})
		require.NoError(t, r.prepare(ctx))
		for _, plan := range r.plans {
			require.Len(t, plan.Steps, 1)
			if wrong {
				plan.Steps[0].Elem = scalar.Sub
			}
		}
		err := p.Each(ctx, sizes, func(g *tdfg.Graph, values map[string]int64) error { return r.region(ctx, g, values) })
		if wrong {
			require.ErrorContains(t, err, "system: internal check failed: fp32.add on tile 0 bitline 0: program gives")
			require.ErrorIs(t, err, ErrInternal)
			continue
		}
		require.NoError(t, err)
		require.EqualValues(t, 2*256, r.data.(*word).checked)
	}
}

// TestDecide is Eq. 2 of Infinity Stream (section 4.3): with few elements cores are
// faster than a latency in memory, with many they are not.
func TestDecide(t *testing.T) {
	ctx := context.Background()
	k, err := kernels.Get("vec_add")
	require.NoError(t, err)
	for n, near := range map[int64]int64{1024: 1, 4 << 20: 0} {
		sizes := map[string]int64{"N": n}
		p, err := cfront.Compile(ctx, k.File, k.Source, cfront.Options{Defines: sizes})
		require.NoError(t, err)
		d := k.Data(sizes, 1)
		m := d.Memory()
		r, err := Run(ctx, p, sizes, m, Options{Machine: tile.Default(), Fidelity: Word, Decide: true, Threads: 2})
		require.NoError(t, err)
		require.Equal(t, near, r.NearRegions)
		k.Reference(d)
		require.Empty(t, d.Diff(m))
	}
}
