package sparse

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/sparse/matrix"
)

// TestStopped stops runs in the middle of their third iteration, and between two: on a
// stack, on several and on the chip, what was complete is what a run of as many
// iterations has.
func TestStopped(t *testing.T) {
	m, err := matrix.Generate("gen:rmat,scale=9,undirected", 1)
	require.NoError(t, err)
	mach := small(2, 4, 3)
	cause := errors.New("enough")
	for _, step := range []string{stepNames[0], stepNames[2]} {
		ctx, stop := stoppable(t)
		at := func(iteration int, now string) {
			if iteration == 3 && now == step {
				stop(cause)
			}
		}
		o := DefaultAppOptions()
		o.Tolerance = 0
		short := o
		cfg := config(mach, "v3")
		want := func(n int, whole, stopped any) {
			t.Helper()
			require.Equal(t, whole, stopped)
			require.Contains(t, []int{2, 3}, n)
		}
		cfg.Progress = at
		got, err := Run(ctx, "pagerank", m, o, cfg, nil)
		require.NoError(t, err)
		require.Equal(t, "enough", got.Stopped)
		require.Empty(t, got.Digest)
		short.Iterations = len(got.Iterations)
		cfg.Progress = nil
		whole, err := Run(context.Background(), "pagerank", m, short, cfg, nil)
		require.NoError(t, err)
		want(len(got.Iterations), whole.Iterations, got.Iterations)

		ctx, stop = stoppable(t)
		chip, err := RunChip(ctx, "pagerank", m, o, ChipConfig{Type: F32, Coalesce: 8, Progress: at})
		require.NoError(t, err)
		require.Equal(t, "enough", chip.Stopped)
		short.Iterations = len(chip.Iterations)
		chipWhole, err := RunChip(context.Background(), "pagerank", m, short, ChipConfig{Type: F32, Coalesce: 8})
		require.NoError(t, err)
		want(len(chip.Iterations), chipWhole.Iterations, chip.Iterations)

		ctx, stop = stoppable(t)
		cfg.Progress = at
		stacks, err := RunStacks(ctx, "pagerank", m, o, cfg, 2, nil)
		require.NoError(t, err)
		require.Equal(t, "enough", stacks.Stopped)
		short.Iterations = stacks.Iterations
		cfg.Progress = nil
		stacksWhole, err := RunStacks(context.Background(), "pagerank", m, short, cfg, 2, nil)
		require.NoError(t, err)
		want(stacks.Iterations, [2]float64{stacksWhole.Products, float64(stacksWhole.Nonzeros)}, [2]float64{stacks.Products, float64(stacks.Nonzeros)})
	}
}

func stoppable(t *testing.T) (context.Context, context.CancelCauseFunc) {
	ctx, stop := context.WithCancelCause(context.Background())
	t.Cleanup(func() { stop(nil) })
	return ctx, stop
}
