package reproduce

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/results"
)

// TestJobs has more jobs than run at a time, of which some fail, one takes longer than it
// may, and the rest are counted: the same however many run at a time.
func TestJobs(t *testing.T) {
	for _, threads := range []int{0, 1, 2, 5} {
		var now, most, reports atomic.Int64
		env := &Env{Threads: threads, Budget: 200 * time.Millisecond, Progress: func(string, int, int) { reports.Add(1) }}
		found := make([]int, 12)
		var jobs []job
		for i := range found {
			jobs = append(jobs, job{fmt.Sprint("job ", i), func(ctx context.Context, env *Env) error {
				n := now.Add(1)
				defer now.Add(-1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				switch {
				case i == 7:
					<-ctx.Done()
					return ctx.Err()
				case i%5 == 3:
					return errors.New("broken")
				}
				env.progress("half", 1, 2)
				found[i] = i * i
				return nil
			}})
		}
		ended, failed, err := env.runJobs(t.Context(), jobs)
		require.NoError(t, err)
		require.Equal(t, []string{"job 3: broken", "job 7: not ended within the budget of 200ms", "job 8: broken"}, failed)
		for i, ok := range ended {
			require.Equal(t, i != 3 && i != 7 && i != 8, ok)
			require.Equal(t, ok, i == 0 || found[i] == i*i && found[i] > 0)
		}
		require.LessOrEqual(t, most.Load(), int64(max(1, threads)))
		require.Equal(t, int64(12+9), reports.Load())
	}
}

// TestJobsStopped stops jobs: what has ended counts, the first of the others is named, and
// it is an error if there is none.
func TestJobsStopped(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	jobs := []job{
		{"a", func(context.Context, *Env) error { return nil }},
		{"b", func(ctx context.Context, _ *Env) error { stop(why); return context.Cause(ctx) }},
		{"c", func(context.Context, *Env) error { t.Error("begun after the stop"); return nil }},
	}
	env := &Env{Threads: 1}
	ended, failed, err := env.runJobs(ctx, jobs)
	require.NoError(t, err)
	require.Equal(t, []bool{true, false, false}, ended)
	require.Equal(t, []string{"stopped before b was complete"}, failed)
	_, _, err = env.runJobs(ctx, jobs[1:])
	require.ErrorIs(t, err, why)
}

// TestSources names the machines and sizes of each reading, and keeps results of each apart.
func TestSources(t *testing.T) {
	for _, c := range []struct {
		env       Env
		near, inf string
	}{
		{Env{Size: Small}, "nsc-small", "infinity-stream-slice"},
		{Env{Size: PaperSizes}, "nsc", "infinity-stream-base"},
		{Env{Size: Small, Readings: Simulator}, "nsc-simulator-small", "infinity-stream-simulator-slice"},
		{Env{Size: PaperSizes, Readings: Simulator}, "nsc-simulator", "infinity-stream-simulator"},
	} {
		require.Equal(t, c.near, nearMachine(&c.env))
		require.Equal(t, c.inf, infsMachine(&c.env))
	}
	runs := 0
	e := &Entry{ID: "t:x", Run: func(_ context.Context, env *Env) (*Measured, error) {
		runs++
		return &Measured{}, env.kept(new(int), func() error { return nil }, "part", env.Readings, env.Rounds)
	}}
	store, err := results.Open(t.TempDir())
	require.NoError(t, err)
	for range 2 {
		for _, env := range []*Env{{}, {Readings: Simulator}, {Rounds: Simulator}, {Readings: Simulator, Rounds: Simulator}, {Set: []string{"l1d.mshrs=4"}}} {
			_, err := e.Make(t.Context(), env, store, "1", false)
			require.NoError(t, err)
		}
	}
	require.Equal(t, 5, runs)
	env := Env{Readings: Simulator, Set: []string{"l1d.mshrs=4", "memory.placement=staggered"}}
	require.NoError(t, CheckReadings(env.Set))
	m, err := env.machine(nearMachine(&env), "l1d.mshrs", "8")
	require.NoError(t, err)
	require.Equal(t, 8, m.L1D.MSHRs) // what an entry changes is changed
	require.Equal(t, "staggered", m.Memory.Placement)
	require.Equal(t, "machines as the authors' simulator has them, l1d.mshrs=4, memory.placement=staggered", env.reading())
	for text, want := range map[string]Source{"paper": Paper, "simulator": Simulator} {
		got, err := ParseSource(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err = ParseSource("gem5")
	require.ErrorContains(t, err, `"gem5", expected paper or simulator`)
}

// Chosen workloads are the only ones whose runs are asked for, in both papers' figures in time; a
// budget that nothing can keep names every run.
func TestChosenWorkloads(t *testing.T) {
	for _, x := range []struct {
		id        string
		workloads []string
		want      []string
	}{
		{"nsc:fig15", []string{"srad", "svm"}, []string{"srad in ns", "srad in ns, streams.l3.affine_ranges l3"}},
		{"infs:fig12", []string{"conv2d"}, []string{"conv2d in base", "conv2d in near-l3", "conv2d in in-l3", "conv2d in inf-s"}},
		{"infs:base", []string{"conv2d"}, []string{"conv2d on io4", "conv2d on ooo4", "conv2d on ooo8"}},
		{"infs:fig16", []string{"gather_mlp_outer"}, []string{"gather_mlp_outer"}},
		{"infs:fig15", []string{"mm_outer"}, []string{"mm_outer in base", "mm_outer in near-l3", "mm_outer in in-l3", "mm_outer in inf-s"}},
	} {
		found, err := Find(x.id)
		require.NoError(t, err)
		var runs []string
		env := &Env{Size: Small, Seed: 1, Threads: 1, Budget: 1, Workloads: x.workloads, Progress: func(what string, _, _ int) {
			if !slices.Contains(runs, what) {
				runs = append(runs, what)
			}
		}}
		_, err = found[0].Run(t.Context(), env)
		assert.NoError(t, err)
		assert.Equal(t, x.want, runs, x.id)
	}
}
