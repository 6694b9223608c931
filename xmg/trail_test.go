package xmg

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The answer about the ends of a row is that of all patterns, whatever stands
// between them: steps of a synthesis, or circuits that compute something else.
func TestEquivalentAlong(t *testing.T) {
	verdicts := map[Verdict]int{}
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 8))
		g := randomGraph(r, 3+r.IntN(5), 20+r.IntN(30), 1+r.IntN(4)).Sweep()
		if g.NumGates() == 0 {
			continue
		}
		_, report, err := Synthesize(context.Background(), g, SynthOptions{Effort: Fast})
		require.NoError(t, err)
		row := append([]*Graph{g}, report.Trail...)
		for range 2 {
			row = slices.Insert(row, 1+r.IntN(len(row)), mutate(g, r))
		}
		if seed%2 == 0 {
			row = append(row, report.Trail[len(report.Trail)-1])
		} else {
			row = append(row, mutate(g, r))
		}
		last := row[len(row)-1]
		in, w := allPatterns(g.NumInputs())
		e, err := EquivalentAlong(context.Background(), row, EquivalenceOptions{})
		require.NoError(t, err)
		verdicts[e.Verdict]++
		if slices.Equal(g.Simulate(in, w), last.Simulate(in, w)) {
			require.Equal(t, Equal, e.Verdict)
			continue
		}
		require.Equal(t, Different, e.Verdict)
		pattern := make([]uint64, g.NumInputs())
		for i, v := range e.Witness.Inputs {
			if v {
				pattern[i] = 1
			}
		}
		a, b := g.Simulate(pattern, 1), last.Simulate(pattern, 1)
		require.Equal(t, e.Witness.A, a[e.Witness.Output]&1 != 0)
		require.Equal(t, e.Witness.B, b[e.Witness.Output]&1 != 0)
		require.NotEqual(t, e.Witness.A, e.Witness.B)
	}
	require.Greater(t, verdicts[Equal], 5)
	require.Greater(t, verdicts[Different], 5)
}

// Each graph of a trail is made of the one before, from the graph given to the
// result.
func TestTrail(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	g := randomGraph(r, 7, 30, 4)
	h, report, err := Synthesize(context.Background(), g, SynthOptions{Effort: Normal})
	require.NoError(t, err)
	require.Greater(t, len(report.Trail), 2)
	require.Equal(t, g.Sweep().NumGates(), report.Trail[0].NumGates())
	require.Same(t, h, report.Trail[len(report.Trail)-1])
	in, w := allPatterns(g.NumInputs())
	for _, step := range report.Trail {
		require.Equal(t, g.Simulate(in, w), step.Simulate(in, w))
	}
}
