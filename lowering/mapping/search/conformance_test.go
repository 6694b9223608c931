package search

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/mapping"
)

// TestEveryOptimiser holds of all optimisers behind the interface: what they give is
// legal, priced right and not below the bound; evaluations are counted and kept; seeds and
// not threads decide; what is stopped stops.
func TestEveryOptimiser(t *testing.T) {
	ctx := context.Background()
	for _, w := range []struct{ work, platform string }{
		{"gemm:M=2,K=5,N=2", "logic-sram"}, {"conv:N=1,K=3,W=3,C=2,S=2", "pnm-hbm"}, {"conv:N=1,K=2,W=3,C=2,S=1", "mvm-reram"},
	} {
		q := problem(t, w.work, w.platform)
		for _, o := range Optimizers() {
			require.NotEmpty(t, o.Doc())
			var first *Result
			for _, threads := range []int{1, 4} {
				r, err := o.Search(ctx, q, Options{Evals: 300, Seed: 5, Threads: threads})
				require.NoError(t, err, o.Name())
				require.NoError(t, q.Check(&r.Mapping), o.Name())
				var c mapping.Cost
				require.Equal(t, mapping.Legal, q.Cost(&r.Mapping, &c))
				require.Equal(t, c, r.Cost)
				require.Equal(t, c.Cycles, r.Score)
				require.GreaterOrEqual(t, c.Cycles, q.LowerBound().Cycles)
				if o.Name() != "exhaustive" {
					require.LessOrEqual(t, r.Evaluations, int64(300), o.Name())
				}
				require.Positive(t, r.Evaluations)
				require.Equal(t, r.Score, r.Trace[len(r.Trace)-1].Best)
				if first == nil {
					first = r
				} else {
					require.Equal(t, first.Mapping, r.Mapping, o.Name())
					require.Equal(t, first.Evaluations, r.Evaluations, o.Name())
				}
			}
			stopped, stop := context.WithCancel(ctx)
			stop()
			r, err := o.Search(stopped, q, Options{Evals: 1 << 40, Seed: 5, Threads: 2})
			if err == nil && o.Name() != "template" && !r.Proved {
				require.True(t, r.Stopped, o.Name())
			}
		}
	}
}
