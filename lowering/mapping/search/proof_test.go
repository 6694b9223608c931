package search

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/lowering/mapping"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// fromEnv is a number that the tests may be given more time with.
func fromEnv(name string, otherwise uint64) uint64 {
	n, err := strconv.ParseUint(os.Getenv(name), 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}

// drawnProblems calls f with problems of drawn machines and operators. PROOFS and PROOFS_FROM draw more.
func drawnProblems(t *testing.T, rounds, stream uint64, f func(seed uint64, r *rand.Rand, q *mapping.Problem)) {
	from := fromEnv("PROOFS_FROM", 1)
	for seed := from; seed < from+fromEnv("PROOFS", rounds); seed++ {
		r := rand.New(rand.NewPCG(seed, stream))
		p, err := platform.Parse(strings.NewReader(drawPlatform(r)), "drawn.yaml")
		if err != nil {
			continue
		}
		o := drawNest(t, r, 1+r.IntN(7))
		if q, err := mapping.New(context.Background(), o, p, mapping.Options{Cold: r.IntN(2) == 0}); err == nil {
			f(seed, r, q)
		}
	}
}

// TestProofs: what the tree proves is the optimum of the whole space, also where it begins with a poor
// mapping and has to find the best one itself. PROOFS_SPACE walks larger spaces.
func TestProofs(t *testing.T) {
	ctx := context.Background()
	most := float64(fromEnv("PROOFS_SPACE", 20000))
	walked := map[string]int{}
	drawnProblems(t, 150, 78, func(seed uint64, _ *rand.Rand, q *mapping.Problem) {
		if q.SpaceSize() > most {
			return
		}
		all, err := exhaustive{}.Search(ctx, q, Options{})
		if err != nil {
			require.ErrorIs(t, err, mapping.ErrInfeasible)
			return
		}
		u := newRun(ctx, q, Options{Evals: 1 << 40}, 1<<40, 0)
		for range 3 {
			if m, ok := q.Random(u.rng, 50); ok {
				u.price(&m)
			}
		}
		if !u.res.Found {
			return
		}
		require.True(t, u.empty(newMoves(q), 1<<50), "%d", seed)
		require.Equal(t, all.Score, u.res.Score, "%d: %s on %s\n%s", seed, q.Op, q.Platform.Executor, q.String(&all.Mapping))
		walked[q.Platform.Executor]++
		if q.Quotient() != nil {
			walked["by classes"]++
		}
	})
	t.Log(walked)
	require.NotZero(t, walked["by classes"])
}

// TestQuotientBounds: what the products of factors say is not above what the factors
// say, nor is that above what any order and flag costs; nor is it with fewer classes known.
func TestQuotientBounds(t *testing.T) {
	bounds := 0
	drawnProblems(t, 300, 77, func(seed uint64, r *rand.Rand, q *mapping.Problem) {
		z := q.Quotient()
		if z == nil {
			return
		}
		classes := len(z.Classes)
		for range 10 {
			m, ok := q.Random(r, 10)
			if !ok {
				continue
			}
			var c mapping.Cost
			require.Equal(t, mapping.Legal, q.Cost(&m, &c), "%d", seed)
			schedule, _ := q.ScheduleBound(&m)
			ordered, _ := q.OrderedBound(&m)
			n := m
			n.Double, n.DoubleTile, n.Keep = false, false, [3]bool{}
			require.LessOrEqual(t, q.TilesBound(&n), schedule, "%d", seed)
			require.LessOrEqual(t, schedule, ordered, "%d", seed)
			require.LessOrEqual(t, ordered, c.Cycles, "%d", seed)
			for l := range q.Loops() {
				m.Factor[mapping.SlotTile][l] = 1
			}
			q.Complete(&m)
			m.Keep = [3]bool{}
			sizes, v := q.SizesBound(&m)
			if v != mapping.Legal {
				continue
			}
			for range 6 {
				m.Double = !m.Double
				r.Shuffle(q.Loops(), func(i, j int) { m.Wave[i], m.Wave[j] = m.Wave[j], m.Wave[i] })
				if q.Cost(&m, &c) == mapping.Legal {
					require.LessOrEqual(t, q.OrderBound(&m, 0), c.Cycles, "%d", seed)
					b, v := q.OrderedBound(&m)
					require.Equal(t, mapping.Legal, v, "%d", seed)
					require.LessOrEqual(t, b, c.Cycles, "%d", seed)
				}
			}
			x := mapping.Unit()
			x.Function, x.Swap, x.Keep = m.Function, m.Swap, [3]bool{}
			for c, loops := range z.Classes {
				for s := range mapping.NumSlots {
					for _, l := range loops {
						x.Factor[s][c] *= m.Factor[s][l]
					}
				}
			}
			atMost := func(b int64, v mapping.Violation, most int64) {
				bounds++
				require.Equal(t, mapping.Legal, v, "%d", seed)
				require.LessOrEqual(t, b, most, "%d", seed)
			}
			b, v := z.Bound(&x, classes, true)
			atMost(b, v, sizes)
			for open := classes - 1; open >= 0; open-- {
				y := x
				times, whole := int64(1), 1.0
				for c := open; c < classes; c++ {
					for s := range mapping.SlotLevel {
						y.Factor[s][c] = 1
					}
					times *= int64(x.Factor[mapping.SlotWave][c])
					whole *= float64(z.Whole(c))
					for s := mapping.SlotLevel; s < mapping.SlotWave; s++ {
						whole /= float64(y.Factor[s][c])
					}
				}
				for _, leveled := range []bool{false, true} {
					some, v := z.Bound(&y, open, leveled)
					atMost(some, v, b)
					some, v = z.OpenBound(&y, open, leveled, times)
					atMost(some, v, b)
					if room, ok := z.Room(&y, open); ok {
						some, v = z.OpenBound(&y, open, leveled, rounds(whole/float64(room)))
						atMost(some, v, b)
					}
				}
			}
		}
	})
	require.NotZero(t, bounds)
}

// TestProvesTableIV: an operator of the paper on each platform whose tree ends soon.
func TestProvesTableIV(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
	for _, c := range [][2]string{{"mvm-reram", "C7"}, {"logic-dram", "C2"}, {"pnm-hbm", "C9"}} {
		p, err := platform.Load(c[0])
		require.NoError(t, err)
		op, err := dnn.Parse("table4/"+c[1], dnn.DefaultBits)
		require.NoError(t, err)
		q, err := mapping.New(context.Background(), op, p, mapping.Options{})
		require.NoError(t, err)
		r, err := bitsched{}.Search(context.Background(), q, Options{Evals: 10000, Seed: 1, Threads: 2, Prove: true})
		require.NoError(t, err)
		require.True(t, r.Proved, "%v", c)
		require.LessOrEqual(t, r.Evaluations, int64(10000))
	}
}
