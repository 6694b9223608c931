package masim

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// The program does not depend on the number of threads.
func TestMASIMThreads(t *testing.T) {
	for seed := range uint64(12) {
		p, _ := smallProblem(rand.New(rand.NewPCG(seed, 9)), 120)
		var first *Result
		for _, threads := range []int{0, 1, 2, 5} {
			r, err := runMASIM(context.Background(), p, Options{Seed: seed, Threads: threads})
			if err != nil {
				require.ErrorIs(t, err, ErrInfeasible)
				require.Nil(t, first)
				continue
			}
			require.False(t, r.Stopped)
			if first == nil {
				first = r
			}
			require.Equal(t, first, r)
		}
	}
}

// Of two trials that are as good, the first is taken, whichever ended first.
func TestMASIMFirstOfEquals(t *testing.T) {
	a := &attempt{index: 3, state: &cicppState{copies: 5}}
	b := &attempt{index: 7, state: &cicppState{copies: 5}}
	c := &attempt{index: 9, state: &cicppState{copies: 4}}
	require.True(t, a.better(nil))
	require.True(t, a.better(b))
	require.False(t, b.better(a))
	require.True(t, c.better(a))
	require.False(t, a.better(c))
}

// Once a trial is as good as the lower bound, nothing more is tried.
func TestMASIMStopsAtBound(t *testing.T) {
	p := Problem{andChain(20, 0), sram.Geometry{Arrays: 4, Rows: 16, Cols: 1}}
	for _, threads := range []int{1, 3} {
		r, err := runMASIM(context.Background(), p, Options{Effort: High, Threads: threads})
		require.NoError(t, err)
		require.Equal(t, 16, r.Copies, "the inputs of the full array")
		require.Equal(t, 1, r.Trials)
	}
}

// Another seed is another search, more effort is no worse on average.
func TestMASIMSeedsAndEfforts(t *testing.T) {
	total := map[Effort]int{}
	differ := false
	for seed := range uint64(6) {
		p, _ := smallProblem(rand.New(rand.NewPCG(seed, 12)), 60)
		for _, e := range []Effort{Fast, Normal} {
			r, err := runMASIM(context.Background(), p, Options{Seed: 1, Effort: e})
			if err != nil {
				continue
			}
			total[e] += r.Copies
			other, err := runMASIM(context.Background(), p, Options{Seed: 2, Effort: e})
			require.NoError(t, err)
			differ = differ || !sameInstrs(r.Program, other.Program)
		}
	}
	require.True(t, differ)
	require.LessOrEqual(t, total[Normal], total[Fast])
}

func sameInstrs(a, b *sram.Program) bool {
	if len(a.Instrs) != len(b.Instrs) {
		return false
	}
	for i := range a.Instrs {
		if a.Instrs[i] != b.Instrs[i] {
			return false
		}
	}
	return true
}

func TestMASIMInfeasible(t *testing.T) {
	wide := xmg.New("wide") // every pair of 8 inputs, all needed at the end
	var in []xmg.Lit
	for range 8 {
		in = append(in, wide.AddInput(""))
	}
	for i := range in {
		for j := range i {
			wide.AddOutput("", wide.And(in[i], in[j]))
		}
	}
	for _, c := range []struct {
		name         string
		g            *xmg.Graph
		arrays, rows int
	}{
		{"inputs do not fit", andChain(9, 0), 1, 8},
		{"inputs fill everything", andChain(8, 0), 1, 8},
		{"inputs fill both arrays", andChain(8, 0), 2, 4},
		{"more outputs than rows", wide, 2, 12},
		{"more outputs than rows in many arrays", wide, 9, 3},
		{"arrays too small for two fanins", andChain(4, 0), 8, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Problem{c.g, sram.Geometry{Arrays: c.arrays, Rows: c.rows, Cols: 1}}
			_, err := runMASIM(context.Background(), p, Options{Threads: 2})
			require.ErrorIs(t, err, ErrInfeasible)
		})
	}
}

// Problems at the edge of what fits, and arrays far beyond the first few.
func TestMASIMTight(t *testing.T) {
	wide := xmg.New("wide")
	var in []xmg.Lit
	for range 8 {
		in = append(in, wide.AddInput(""))
	}
	for i := range in {
		for j := range i {
			wide.AddOutput("", wide.And(in[i], in[j]))
		}
	}
	for _, c := range []struct {
		name         string
		g            *xmg.Graph
		arrays, rows int
	}{
		{"one array", andChain(8, 0), 1, 9},
		{"as many rows as outputs", wide, 1, 36},
		{"twenty arrays", wide, 20, 3},
		{"sixty thousand arrays", wide, 60000, 3},
		{"only an input", andChain(1, 0), 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Problem{c.g, sram.Geometry{Arrays: c.arrays, Rows: c.rows, Cols: 1}}
			r, err := runMASIM(context.Background(), p, Options{Threads: 2})
			require.NoError(t, err)
			replay(t, p, r.Program)
		})
	}
}

// Gates that nothing reads and outputs that are inputs, constants or shared.
func TestMASIMOddGraphs(t *testing.T) {
	g := xmg.New("odd")
	a, b := g.AddInput("a"), g.AddInput("b")
	idle := g.And(a, b)
	x := g.Xor2(a, b)
	g.Or(idle, x) // feeds nothing
	g.AddOutput("zero", xmg.False)
	g.AddOutput("one", xmg.True)
	g.AddOutput("a", a.Not())
	g.AddOutput("x", x)
	g.AddOutput("nx", x.Not())
	p := Problem{g, sram.Geometry{Arrays: 2, Rows: 4, Cols: 1}}
	r, err := runMASIM(context.Background(), p, Options{})
	require.NoError(t, err)
	require.Zero(t, r.Copies)
	replay(t, p, r.Program)
}

// A run that is stopped gives the best so far, and an error if there is none.
func TestMASIMStops(t *testing.T) {
	p := largeProblem(2000)
	ctx, cancel := context.WithCancel(context.Background())
	phases := map[string]bool{}
	best := -1
	r, err := runMASIM(ctx, p, Options{Effort: High, Threads: 2, Progress: func(pr Progress) {
		phases[pr.Phase] = true
		if pr.Best >= 0 {
			require.True(t, best < 0 || pr.Best <= best, "the best got worse")
			best = pr.Best
			cancel()
		}
	}})
	require.NoError(t, err)
	require.True(t, r.Stopped)
	require.LessOrEqual(t, r.Copies, best)
	require.NotEmpty(t, phases)
	replay(t, p, r.Program)

	_, err = runMASIM(ctx, p, Options{})
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrInfeasible)
}

// largeProblem is a random graph that takes a while.
func largeProblem(gates int) Problem {
	rng := rand.New(rand.NewPCG(1, 1))
	g := xmg.New("large")
	var lits []xmg.Lit
	for range 30 {
		lits = append(lits, g.AddInput(""))
	}
	for g.NumGates() < gates {
		recent := lits[max(0, len(lits)-60):]
		n := g.NumGates()
		l := g.Maj(recent[rng.IntN(len(recent))], recent[rng.IntN(len(recent))].Not(), recent[rng.IntN(len(recent))])
		if g.NumGates() > n {
			lits = append(lits, l)
		}
	}
	g.AddOutput("y", lits[len(lits)-1])
	return Problem{g, sram.Geometry{Arrays: 8, Rows: 32, Cols: 1}}
}
