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
		t.Skip("a race")
	}
	for _, p := range []string{"logic-sram", "logic-dram", "mvm-reram", "pnm-hbm"} {
		q := problem(t, "table4/C3", p)
		score := map[string]int64{}
		for _, o := range Optimizers() {
			if o.Name() == "bitsched" || o.Name() == "gamma" {
				r, err := o.Search(context.Background(), q, Options{Seed: 1, Threads: 2, Evals: 1000})
				require.NoError(t, err)
				score[o.Name()] = int64(r.Score)
			}
		}
		require.GreaterOrEqual(t, score["bitsched"], int64(q.LowerBound().Cycles), p)
		require.LessOrEqual(t, score["bitsched"], score["gamma"], p)
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
