package masim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// draws is how many random problems a test has: n, twice as many where invariants are checked,
// and BITSCHED_DRAWS times as many.
func draws(n uint64) uint64 {
	n *= uint64(invariants.Draws(1, 2))
	if times, err := strconv.ParseUint(os.Getenv("BITSCHED_DRAWS"), 10, 64); err == nil {
		return times * n
	}
	return n
}

// randomProblem draws a graph and a machine of few rows.
func randomProblem(rng *rand.Rand, maxGates int) Problem {
	g := randomGraph(rng, 1+rng.IntN(20), 1+rng.IntN(maxGates), 1+rng.IntN(6))
	return Problem{g, sram.Geometry{Arrays: 1 + rng.IntN(6), Rows: 8 + rng.IntN(17), Cols: 64}}
}

// simulateBoth compares a program with the graph on random patterns.
func simulateBoth(rng *rand.Rand, g *xmg.Graph, p *sram.Program) error {
	code, err := sram.Compile(p)
	if err != nil {
		return err
	}
	const w = 4
	in := make([]uint64, g.NumInputs()*w)
	for i := range in {
		in[i] = rng.Uint64()
	}
	want, got := g.Simulate(in, w), code.NewMachine().Run(in, w)
	for i := range want {
		if want[i] != got[i] {
			return fmt.Errorf("output %d differs", i/w)
		}
	}
	return nil
}

// Whatever the problem, a scheduler finds a program that keeps the rules and
// computes the graph with as many copies as it says and the bound permits, or
// says that it found none.
func TestSchedulersRandom(t *testing.T) {
	t.Parallel()
	bounds := map[uint64]*Bound{}
	for _, s := range anySize() {
		t.Run(s.Name, func(t *testing.T) {
			found, infeasible := 0, 0
			for seed := range draws(16) {
				rng := rand.New(rand.NewPCG(seed, 8))
				p := randomProblem(rng, 90)
				at := fmt.Sprintf("seed %d: %d inputs, %d gates, %d arrays of %d rows", seed,
					p.Graph.NumInputs(), p.Graph.NumGates(), p.Geometry.Arrays, p.Geometry.Rows)
				if bounds[seed] == nil {
					b := LowerBound(t.Context(), p)
					bounds[seed] = &b
				}
				r, err := s.Run(t.Context(), p, Options{Seed: seed, Bound: bounds[seed]})
				if errors.Is(err, ErrInfeasible) {
					infeasible++
					continue
				}
				require.NoError(t, err, at)
				found++
				report, err := Check(p.Graph, r.Program, CheckOptions{})
				require.NoError(t, err, at)
				require.Equal(t, r.Copies, report.Copies, at)
				require.Equal(t, p.Graph.NumGates(), report.Computes, at)
				require.Equal(t, r.Program.ArraysUsed(), report.ArraysUsed, at)
				require.GreaterOrEqual(t, report.Copies, bounds[seed].Copies, at)
				require.NoError(t, simulateBoth(rng, p.Graph, r.Program), at)
				if p.Graph.NumGates() < 40 {
					require.Equal(t, len(r.Program.Instrs), naiveRules(p.Graph, r.Program), at)
				}
			}
			t.Logf("%d scheduled, %d infeasible", found, infeasible)
			require.Greater(t, found, 8)
		})
	}
}

// The same seed gives the same text, whatever the number of threads, and names
// survive.
func TestSchedulersThreads(t *testing.T) {
	t.Parallel()
	for _, s := range anySize() {
		t.Run(s.Name, func(t *testing.T) {
			found := 0
			for seed := range uint64(3) {
				rng := rand.New(rand.NewPCG(seed, 9))
				p := randomProblem(rng, 100)
				p.Geometry.Arrays, p.Geometry.Rows = 4+rng.IntN(3), 24+rng.IntN(9)
				text := ""
				for _, threads := range []int{1, 2, 5} {
					r, err := s.Run(t.Context(), p, Options{Seed: seed, Threads: threads})
					var b strings.Builder
					if err != nil {
						require.ErrorIs(t, err, ErrInfeasible)
						fmt.Fprint(&b, err)
					} else {
						found++
						_, err := r.Program.WriteTo(&b)
						require.NoError(t, err)
					}
					if text == "" {
						text = b.String()
					}
					require.Equal(t, text, b.String(), "seed %d, %d threads", seed, threads)
				}
			}
			require.NotZero(t, found)
		})
	}
}
