package masim

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
)

// The copies are those of an exhaustive search, the program keeps the rules, and
// where there is no schedule that is what the error says.
func TestOptimalBrute(t *testing.T) {
	known, none := 0, 0
	for seed := range uint64(800) {
		p := tinyProblem(rand.New(rand.NewPCG(seed, 23)))
		want, ok := bruteOptimum(p, false, 30_000)
		if !ok {
			continue
		}
		r, err := runOptimal(t.Context(), p, Options{Seed: seed})
		s, serr := newOptimal(newInstance(p, p.Geometry.Arrays))
		require.NoError(t, serr)
		s.report = func(int) {}
		goal, how := s.run(t.Context(), math.MaxInt, 100_000) // not told a schedule
		if want < 0 {
			none++
			require.Equal(t, noneBetter, how)
			require.ErrorIs(t, err, ErrInfeasible, "seed %d: %s", seed, describe(p))
			continue
		}
		known++
		require.NoError(t, err, "seed %d: %s", seed, describe(p))
		require.Equal(t, want, r.Copies, "seed %d: %s", seed, describe(p))
		require.True(t, r.Optimal)
		replay(t, p, r.Program)
		require.Equal(t, foundOptimum, how)
		require.EqualValues(t, want, s.cost[goal], "seed %d: %s", seed, describe(p))
		prog, err := emit(p, s.steps(goal))
		require.NoError(t, err)
		replay(t, p, prog)
		require.Equal(t, want, prog.Copies())
	}
	t.Logf("%d optima, %d infeasible", known, none)
	require.Greater(t, known, 300)
	require.Greater(t, none, 50)
}

func TestOptimalLimit(t *testing.T) {
	p := randomProblem(rand.New(rand.NewPCG(1, 1)), 1)
	p.Graph = andChain(40, 0)
	p.Geometry.Arrays = 6
	_, err := runOptimal(t.Context(), p, Options{})
	var size *SizeError
	require.True(t, errors.As(err, &size))
	require.Equal(t, 79, size.Values)
}

// anySize lists the schedulers that take problems of any size.
func anySize() []Scheduler {
	return slices.DeleteFunc(slices.Clone(Schedulers), func(s Scheduler) bool { return s.Name == "optimal" })
}

// smallOptimal draws a problem of about the size that the scheduler proves.
func smallOptimal(seed uint64, gates int) Problem {
	r := rand.New(rand.NewPCG(seed, 24))
	return Problem{randomGraph(r, 3+r.IntN(6), gates, 4), sram.Geometry{Arrays: 3, Rows: 5 + r.IntN(6), Cols: 1}}
}

// Nobody has fewer copies, the bounds hold, and the program is the same again.
func TestOptimalRivals(t *testing.T) {
	proven, better := 0, 0
	for seed := range uint64(40) {
		p := smallOptimal(seed, 6+int(seed%8))
		r, err := runOptimal(t.Context(), p, Options{})
		if err != nil {
			require.ErrorIs(t, err, ErrInfeasible)
			continue
		}
		replay(t, p, r.Program)
		bound := LowerBound(t.Context(), p).Copies
		require.GreaterOrEqual(t, r.Copies, bound)
		if !r.Optimal {
			continue
		}
		proven++
		for _, s := range anySize() {
			other, err := s.Run(t.Context(), p, Options{Seed: seed})
			if err != nil {
				require.ErrorIs(t, err, ErrInfeasible)
				continue
			}
			require.GreaterOrEqual(t, other.Copies, r.Copies, "%s on seed %d: %s", s.Name, seed, describe(p))
			if s.Name == "bitsched" && other.Copies > r.Copies {
				better++
			}
		}
		again, err := runOptimal(t.Context(), p, Options{Threads: 3, Seed: 0})
		require.NoError(t, err)
		require.Equal(t, r, again)
	}
	t.Logf("%d proven, %d of them better than bitsched at effort fast", proven, better)
	require.Greater(t, proven, 20)
}

// The search finds the optimum without being told a schedule, and its program
// keeps the rules.
func TestOptimalAlone(t *testing.T) {
	found := 0
	for seed := range uint64(60) {
		p := smallOptimal(seed, 4+int(seed%8))
		s, err := newOptimal(newInstance(p, p.Geometry.Arrays))
		require.NoError(t, err)
		s.report = func(int) {}
		goal, how := s.run(t.Context(), math.MaxInt, 300_000)
		if how != foundOptimum {
			continue
		}
		found++
		prog, err := emit(p, s.steps(goal))
		require.NoError(t, err, "seed %d: %s", seed, describe(p))
		replay(t, p, prog)
		r, err := runOptimal(t.Context(), p, Options{})
		require.NoError(t, err)
		require.Equal(t, r.Copies, prog.Copies(), "seed %d: %s", seed, describe(p))
	}
	require.Greater(t, found, 20)
}

// A stopped search returns a schedule and claims nothing; so does one that runs
// out of states.
func TestOptimalStops(t *testing.T) {
	stopped, gaveUp := 0, 0
	for seed := range uint64(8) {
		p := smallOptimal(seed, 26)
		p.Geometry.Rows = 8
		ctx, cancel := context.WithCancel(t.Context())
		r, err := runOptimal(ctx, p, Options{Progress: func(g Progress) {
			if g.Phase == "proving" {
				cancel()
			}
		}})
		cancel()
		if err == nil {
			replay(t, p, r.Program)
			require.False(t, r.Stopped && r.Optimal)
			if r.Stopped {
				stopped++
			}
		}
		s, err := newOptimal(newInstance(p, p.Geometry.Arrays))
		require.NoError(t, err)
		s.report = func(int) {}
		if _, how := s.run(t.Context(), math.MaxInt, 1000); how != foundOptimum {
			require.EqualValues(t, outOfStates, how)
			gaveUp++
		}
	}
	require.NotZero(t, stopped)
	require.NotZero(t, gaveUp)
}
