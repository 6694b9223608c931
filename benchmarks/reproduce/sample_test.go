package reproduce

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/results"
	"github.com/bitsched/bitsched/system/multicore"
)

// TestInSamples: what is not known well runs again, with more windows or in time, and only where
// that is affordable.
func TestInSamples(t *testing.T) {
	const all = 1_000_000
	report := func(s *multicore.Sampling, ops uint64, bound float64) *multicore.Report {
		r := &multicore.Report{MicroOps: ops, Traffic: []multicore.Class{{Messages: 0}}}
		if s != nil {
			r.Sample = &multicore.Sampled{Forwarded: ops - ops/100, Bound: bound}
		}
		return r
	}
	for i, c := range []struct {
		sample   float64
		ops      uint64
		messages uint64 // of the windows, a hundredth of all
		bound    float64
		shares   []float64 // of the runs, 0: in time
	}{
		{0, all, 0, 0, []float64{0}},
		{0.01, all, 0, 0.1, []float64{0.01}},
		{0.01, all, 0, 0.11, []float64{0.01, 0}},
		{0.01, all, 0, -1, []float64{0.01, 0}},
		{0.01, 128 * all, 0, -1, []float64{0.01, 0}},
		{0.01, 640 * all, 0, 0.5, []float64{0.01, 0.1}},
		{0.06, 640 * all, 0, 0.5, []float64{0.06}},
		{0.01, 320 * all, 3.2 * all, 0.5, []float64{0.01, 0.1}},
		{0.01, 6400 * all, 0, 0.5, []float64{0.01}},
	} {
		var shares []float64
		var found int
		err := inSamples(t.Context(), &Env{Sample: c.sample}, &found, func(p *int, s *multicore.Sampling) (*multicore.Report, error) {
			*p = len(shares) + 1
			share := 0.0
			if s != nil {
				share = s.Share
			}
			shares = append(shares, share)
			r := report(s, c.ops, c.bound)
			r.Traffic[0].Messages = c.messages
			return r, nil
		})
		require.NoError(t, err, i)
		require.InDeltaSlice(t, c.shares, shares, 1e-9, i)
		require.Equal(t, len(shares), found)
	}
	broken := errors.New("broken")
	for n := range 2 {
		calls, found := 0, 0
		err := inSamples(t.Context(), &Env{Sample: 0.01}, &found, func(*int, *multicore.Sampling) (*multicore.Report, error) {
			if calls++; calls > n {
				return nil, broken
			}
			return report(&multicore.Sampling{}, all, -1), nil
		})
		require.ErrorIs(t, err, broken)
		require.NotErrorIs(t, err, errFirst)
	}
	whole := report(&multicore.Sampling{}, all, -1)
	whole.Sample.Forwarded = 0 // it ended within the first window
	_, again := (&Env{Sample: 0.01}).moreSamples(whole)
	require.False(t, again)
}

// TestFirstWindows: a run that is stopped while it has more windows counts by its first ones, which are not
// simulated again when it goes on.
func TestFirstWindows(t *testing.T) {
	store, err := results.Open(t.TempDir())
	require.NoError(t, err)
	stop, simulated := true, []string{}
	measure := func(budget time.Duration) (found [2]int, ended []bool, failed []string) {
		env := &Env{Sample: 0.01, Budget: budget, Threads: 1, store: store, made: &sync.Map{}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var jobs []job
		for i, name := range []string{"known", "wide"} {
			jobs = append(jobs, job{name, func(ctx context.Context, env *Env) error {
				return inSamples(ctx, env, &found[i], func(p *int, s *multicore.Sampling) (*multicore.Report, error) {
					r := &multicore.Report{MicroOps: 1e6}
					if s == nil {
						simulated = append(simulated, name+" in time")
						if stop {
							if budget == 0 {
								cancel()
							}
							<-ctx.Done()
							return nil, fmt.Errorf("simulator: %w", context.Cause(ctx))
						}
						*p = 2
						return r, nil
					}
					simulated = append(simulated, name)
					r.Sample = &multicore.Sampled{Forwarded: 1, Bound: float64(i)}
					*p = 1
					return r, nil
				}, name)
			}})
		}
		ended, failed, err := env.runJobs(ctx, jobs)
		require.NoError(t, err)
		return found, ended, failed
	}
	found, ended, failed := measure(time.Millisecond)
	require.Equal(t, [2]int{1, 1}, found)
	require.Equal(t, []bool{true, true}, ended)
	require.Equal(t, []string{"wide counts by its first windows alone: with more, not ended within the budget of 1ms"}, failed)
	require.Equal(t, []string{"known", "wide", "wide in time"}, simulated)
	found, _, failed = measure(0)
	require.Equal(t, [2]int{1, 1}, found)
	require.Equal(t, []string{"wide counts by its first windows alone: stopped before it had more"}, failed)
	require.Equal(t, []string{"wide in time"}, simulated[3:])
	stop = false
	found, _, failed = measure(time.Hour)
	require.Equal(t, [2]int{1, 2}, found)
	require.Empty(t, failed)
	require.Equal(t, []string{"wide in time"}, simulated[4:])
	found, _, _ = measure(time.Hour)
	require.Equal(t, [2]int{1, 2}, found)
	require.Len(t, simulated, 5)
}
