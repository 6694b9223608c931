package kernels_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/egraph"
	"github.com/bitsched/bitsched/tdfg/interp"
)

func compile(t testing.TB, k *kernels.Kernel, defines map[string]int64) *tdfg.Program {
	t.Helper()
	p, err := cfront.Compile(context.Background(), k.File, k.Source, cfront.Options{Defines: defines})
	require.NoError(t, err)
	return p
}

// TestReference compiles each kernel, with sizes that are symbols and with numbers
// for them, and compares what the interpreter computes with the plain program: bit
// for bit, on random data, but for kernels whose sums may be of any order, where the
// data have the same sums in all.
func TestReference(t *testing.T) {
	for _, k := range kernels.All() {
		t.Run(k.Name, func(t *testing.T) {
			for _, defines := range []map[string]int64{nil, k.Small} {
				p := compile(t, k, defines)
				for seed := range uint64(3) {
					d := k.DataExact(k.Small, seed)
					if !k.Reassociate {
						d = k.Data(k.Small, seed)
					}
					m := d.Memory()
					require.NoError(t, interp.Run(context.Background(), p, k.Small, m, interp.Options{}))
					require.NotEmpty(t, d.Diff(m), "the kernel did nothing")
					k.Reference(d)
					require.Empty(t, d.Diff(m), "seed %d", seed)
				}
			}
		})
	}
}

// TestText writes and reads the program of each kernel.
func TestText(t *testing.T) {
	for _, k := range kernels.All() {
		p := compile(t, k, nil)
		require.Equal(t, k.Reassociate, p.Reassociate)
		back, err := tdfg.ParseProgram(k.File, p.String())
		require.NoError(t, err, k.Name)
		require.Equal(t, p.String(), back.String())
	}
}

// TestOptimized is TestReference after optimisation, which may change the order of
// sums only where the kernel allows it.
func TestOptimized(t *testing.T) {
	for _, k := range kernels.All() {
		t.Run(k.Name, func(t *testing.T) {
			p, stats, err := egraph.OptimizeProgram(context.Background(), compile(t, k, nil), egraph.Options{Cost: egraph.DefaultCost(1 << 22), Reassociate: k.Reassociate, Nodes: 2000, Effort: 500})
			require.NoError(t, err)
			for _, s := range stats {
				require.LessOrEqual(t, s.After.Cost, s.Before.Cost)
			}
			d := k.DataExact(k.Small, 1)
			if !k.Reassociate {
				d = k.Data(k.Small, 1)
			}
			m := d.Memory()
			require.NoError(t, interp.Run(context.Background(), p, k.Small, m, interp.Options{}))
			k.Reference(d)
			require.Empty(t, d.Diff(m))
		})
	}
}

// TestReassociate bounds how far sums of random numbers in another order are from
// those in the order of the program.
func TestReassociate(t *testing.T) {
	for _, k := range kernels.All() {
		if !k.Reassociate || k.Name == "kmeans_inner" { // there, another sum makes another centre the nearest
			continue
		}
		p := compile(t, k, nil)
		d := k.Data(k.Small, 1)
		m := d.Memory()
		require.NoError(t, interp.Run(context.Background(), p, k.Small, m, interp.Options{}))
		k.Reference(d)
		far, where := d.Distance(m)
		require.Less(t, far, 1e-4, "%s: %s", k.Name, where)
	}
}
