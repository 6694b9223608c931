package sat

import (
	"math/rand/v2"
	"testing"

	"github.com/crillab/gophersat/solver"
	"github.com/stretchr/testify/require"
)

// randomFormula makes clauses of two to four literals, near the ratio where
// formulas turn from satisfiable to unsatisfiable.
func randomFormula(r *rand.Rand, vars int) [][]int {
	clauses := make([][]int, int(float64(vars)*(3.2+2*r.Float64())))
	for i := range clauses {
		size := 3
		if k := r.IntN(20); k < 3 {
			size = [...]int{2, 4, 4}[k]
		}
		for range size {
			l := 1 + r.IntN(vars)
			if r.IntN(2) == 0 {
				l = -l
			}
			clauses[i] = append(clauses[i], l)
		}
	}
	return clauses
}

func literal(l int) Lit {
	if l < 0 {
		return Lit(-l-1)<<1 | 1
	}
	return Lit(l-1) << 1
}

func load(vars int, clauses [][]int) (*Solver, []int32) {
	s := &Solver{}
	var all []int32
	for range vars {
		all = append(all, int32(s.NewVar()))
	}
	for _, c := range clauses {
		add(s, c)
	}
	return s, all
}

func add(s *Solver, c []int) {
	var lits []Lit
	for _, l := range c {
		lits = append(lits, literal(l))
	}
	s.AddClause(lits...)
}

// oracle is the answer of gophersat: one fresh solver for each query, and no
// test of this package is parallel, since its solvers share a buffer.
func oracle(vars int, clauses [][]int) Status {
	copied := make([][]int, len(clauses)) // it changes what it is given
	for i, c := range clauses {
		copied[i] = append([]int(nil), c...)
	}
	if solver.New(solver.ParseSliceNb(copied, vars)).Solve() == solver.Sat {
		return Sat
	}
	return Unsat
}

func requireModel(t *testing.T, s *Solver, clauses [][]int, assumed ...int) {
	t.Helper()
	holds := func(l int) bool {
		if l < 0 {
			return !s.Value(-l - 1)
		}
		return s.Value(l - 1)
	}
	for _, l := range assumed {
		require.True(t, holds(l), "assumption %d", l)
	}
	for _, c := range clauses {
		ok := false
		for _, l := range c {
			ok = ok || holds(l)
		}
		require.True(t, ok, "clause %v", c)
	}
}

// One solver answers query after query, with assumptions, while clauses are
// added, as gophersat answers each from the start.
func TestAgainstGophersat(t *testing.T) {
	answers := map[Status]int{}
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 1))
		vars := 5 + r.IntN(80)
		clauses := randomFormula(r, vars)
		given := clauses[:len(clauses)*3/4]
		s, all := load(vars, given)
		for query := range 12 {
			if query%3 == 2 && len(given) < len(clauses) {
				more := min(len(clauses), len(given)+len(clauses)/12)
				for _, c := range clauses[len(given):more] {
					add(s, c)
				}
				given = clauses[:more]
			}
			var assumed []int
			var lits []Lit
			full := append([][]int(nil), given...)
			for range r.IntN(6) {
				l := 1 + r.IntN(vars)
				if r.IntN(2) == 0 {
					l = -l
				}
				assumed, lits = append(assumed, l), append(lits, literal(l))
				full = append(full, []int{l})
			}
			got := s.Solve(lits, all, 1<<40)
			require.Equal(t, oracle(vars, full), got, "seed %d, query %d", seed, query)
			if got == Sat {
				requireModel(t, s, given, assumed...)
			}
			answers[got]++
		}
	}
	require.Greater(t, answers[Sat], 200)
	require.Greater(t, answers[Unsat], 200)
}

// pigeons says that n+1 pigeons have a hole each, of n: hard to refute.
func pigeons(n int) (vars int, clauses [][]int) {
	at := func(pigeon, hole int) int { return pigeon*n + hole + 1 }
	for p := range n + 1 {
		var c []int
		for h := range n {
			c = append(c, at(p, h))
			for q := range p {
				clauses = append(clauses, []int{-at(p, h), -at(q, h)})
			}
		}
		clauses = append(clauses, c)
	}
	return n * (n + 1), clauses
}

func TestPigeons(t *testing.T) {
	s, all := load(pigeons(7))
	s.maxLearned = 50 // so that learned clauses are forgotten
	require.Equal(t, Unsat, s.Solve(nil, all, 1<<40))
	require.Greater(t, s.Conflicts(), int64(500))
	require.Equal(t, Unsat, s.Solve(nil, all, 1), "for good")
}

func TestLimitAndStop(t *testing.T) {
	s, all := load(pigeons(9))
	require.Equal(t, Unknown, s.Solve(nil, all, 250))
	require.Equal(t, int64(250), s.Conflicts())
	s.Stop = func() bool { return true }
	require.Equal(t, Unknown, s.Solve(nil, all, 1<<40))
	again, _ := load(pigeons(9))
	again.Solve(nil, all, 250)
	again.Stop = s.Stop
	again.Solve(nil, all, 1<<40)
	require.Equal(t, s.Propagations(), again.Propagations(), "the same work the second time")
}

// Only the given variables are decided: others stay false in Value.
func TestDecidesOnlyTheGiven(t *testing.T) {
	s, _ := load(4, [][]int{{1, 2}, {3, 4}})
	require.Equal(t, Sat, s.Solve([]Lit{literal(-1)}, []int32{0, 1}, 1<<40))
	require.True(t, s.Value(1))
	require.False(t, s.Value(2))
	require.False(t, s.Value(3))
}

func TestLuby(t *testing.T) {
	for i, want := range []int64{1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8, 1} {
		require.Equal(t, want, luby(int64(i+1)), "element %d", i+1)
	}
}
