package reproduce

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

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
		err := (&Env{Sample: c.sample}).inSamples(func(s *multicore.Sampling) (*multicore.Report, error) {
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
	}
	broken := errors.New("broken")
	for n := range 2 {
		calls := 0
		err := (&Env{Sample: 0.01}).inSamples(func(s *multicore.Sampling) (*multicore.Report, error) {
			if calls++; calls > n {
				return nil, broken
			}
			return report(s, all, -1), nil
		})
		require.ErrorIs(t, err, broken)
	}
	whole := report(&multicore.Sampling{}, all, -1)
	whole.Sample.Forwarded = 0 // it ended within the first window
	_, again := (&Env{Sample: 0.01}).moreSamples(whole)
	require.False(t, again)
}
