package search

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/mapping"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

func problem(t testing.TB, work, name string) *mapping.Problem {
	o, err := dnn.Parse(work, dnn.DefaultBits)
	require.NoError(t, err)
	p, err := platform.Load(name)
	require.NoError(t, err)
	q, err := mapping.New(context.Background(), o, p, mapping.Options{})
	require.NoError(t, err)
	return q
}

func TestRace(t *testing.T) {
	if testing.Short() {
		t.Skip("a race of all optimisers")
	}
	for _, p := range []string{"logic-sram", "logic-dram", "mvm-reram", "pnm-hbm"} {
		for _, w := range []string{"table4/C1", "table4/C3", "table4/C10", "table4/G2"} {
			q := problem(t, w, p)
			b := q.LowerBound()
			for _, o := range Optimizers() {
				if o.Name() != "bitsched" {
					continue
				}
				r, err := o.Search(context.Background(), q, Options{Seed: 1, Threads: 2})
				require.NoError(t, err)
				t.Logf("%-11s %-11s %-9s %12d  bound %12d %.2fx evals %d refused %d", p, w, o.Name(), r.Score, b.Cycles, float64(r.Score)/float64(b.Cycles), r.Evaluations, r.Refused)
			}
		}
	}
}

func TestCanonical(t *testing.T) {
	for n := uint32(1); n < 300; n++ {
		seen := map[uint32]uint32{}
		for f := n; f >= 1; f-- {
			seen[(n+f-1)/f] = f
		}
		got := canonical(n)
		require.Len(t, got, len(seen))
		for _, f := range got {
			require.Equal(t, f, seen[(n+f-1)/f])
		}
	}
}

// spaces are small enough for every mapping to be priced.
var spaces = []struct{ work, platform string }{
	{"gemm:M=2,K=5,N=2", "logic-sram"},
	{"gemm:M=3,K=4,N=3", "logic-dram"},
	{"conv:N=1,K=2,W=3,C=2,S=1", "mvm-reram"},
	{"conv:N=1,K=3,W=3,C=2,S=2", "pnm-hbm"},
	{"gemm:M=3,K=6,N=4", "pnm-hbm"},
}

func TestExactEqualsExhaustive(t *testing.T) {
	for _, s := range spaces {
		q := problem(t, s.work, s.platform)
		want, err := exhaustive{}.Search(context.Background(), q, Options{})
		require.NoError(t, err)
		got, err := bitsched{}.Search(context.Background(), q, Options{Seed: 1})
		require.NoError(t, err)
		t.Logf("%s on %s: space %.0f legal %d, optimum %d, bitsched %d after %d (bounded %d) proved %v", s.work, s.platform, q.SpaceSize(), want.Evaluations, want.Score, got.Score, got.Evaluations, got.Bounded, got.Proved)
		require.Equal(t, want.Score, got.Score, s.work)
		require.True(t, got.Proved, s.work)
	}
}
