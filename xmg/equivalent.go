package xmg

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
)

// EquivalenceOptions say how hard [Equivalent] tries. The zero value is the
// default.
type EquivalenceOptions struct {
	// Conflicts is the most that one SAT query may run into before it is given
	// up; 0 means DefaultConflicts. Queries start with few and are asked again
	// with ten times as many, so that more are only spent on what needs them.
	Conflicts int64
	// Work is the most that is done in all, counted in values of gates computed
	// (some 2 to 20 ns each); 0 means no bound.
	Work int64
	// Progress is called now and then from the calling goroutine; may be nil.
	Progress func(Progress)

	alike  bool        // one was made of the other by a pass: most is equal near by
	effort sweepEffort // the zero value is the default; tests leave parts out
}

// DefaultConflicts is the bound on a SAT query when none is given.
const DefaultConflicts = 1_000_000

// Verdict is what is known of the equality of two circuits.
type Verdict uint8

// The verdicts.
const (
	Undecided Verdict = iota // neither was found within the bounds
	Equal                    // proved for all inputs
	Different                // an input pattern shows it
)

func (v Verdict) String() string {
	return [...]string{"undecided", "equal", "different"}[v%3]
}

// Equivalence is the answer of [Equivalent].
type Equivalence struct {
	Verdict Verdict
	// Witness shows that the circuits are different; nil if they were not found so.
	Witness *Witness
	// Undecided are the outputs, by number, that are neither proved equal nor
	// known to differ; for verdict Different it is not complete.
	Undecided []int
	// Proved is, of [EquivalentAlong], the last circuit of the row that is known to
	// equal the first.
	Proved int
	Stats  EquivalenceStats
}

// Witness is an input pattern for which two circuits differ. Both were
// evaluated for it.
type Witness struct {
	Inputs []bool // by number of the input
	Output int    // the lowest that differs
	A, B   bool   // its values in both circuits
}

// EquivalenceStats says how the answer was found.
type EquivalenceStats struct {
	Rounds    int   // sweeps
	ByTable   int   // nodes proved equal to others by truth tables
	BySAT     int   // and by SAT
	ByAlgebra int   // outputs proved equal as bits of words, by algebra
	Refuted   int   // pairs of nodes that a pattern told apart
	GivenUp   int   // SAT queries that reached their bound
	Work      int64 // as in EquivalenceOptions
	Patterns  int64 // input patterns simulated
}

// Equivalent decides whether two circuits compute the same outputs. Inputs and
// outputs are matched by position, whatever their names.
//
// It puts both into one graph and merges, from the inputs to the outputs, nodes
// that are equal (SAT sweeping: Kuehlmann and Krohm, "Equivalence checking using
// cuts and heaps", DAC 1997). Most of what mapping and rewriting leave equal is
// so over a small cut, and is proved by truth tables; the rest by SAT. What is
// not decided is tried again with ten times the conflicts, up to the bound.
//
// An error means that the numbers of inputs or outputs differ, or that ctx
// ended: then the answer is that of the moment, with verdict Undecided. The
// answer is the same every time for the same options, unless ctx ends. It takes
// some 120 bytes a gate and what the solver takes for 30,000 gates, some 20 MB.
// The time is linear in the gates where circuits are locally alike (3 to 200 us
// a gate) but exponential where they are not, so that a bound or a context that ends
// is in order where the circuits may be such. Words that are sums of products are
// an exception: multipliers, multipliers that add, and trees of adders are compared by
// algebra (algebra.go) where no bound on the work is set, in well under a second for
// 64 bits.
func Equivalent(ctx context.Context, a, b *Graph, opt EquivalenceOptions) (Equivalence, error) {
	switch {
	case a.NumInputs() != b.NumInputs():
		return Equivalence{}, fmt.Errorf("xmg: equivalence of circuits with %d and %d inputs, expected equal numbers", a.NumInputs(), b.NumInputs())
	case a.NumOutputs() != b.NumOutputs():
		return Equivalence{}, fmt.Errorf("xmg: equivalence of circuits with %d and %d outputs, expected equal numbers", a.NumOutputs(), b.NumOutputs())
	}
	if equal, err := equalByLandmarks(ctx, a, b); err != nil || equal {
		return Equivalence{Verdict: Verdict(btoi(equal)), Stats: EquivalenceStats{ByAlgebra: a.NumOutputs()}}, err
	}
	return decide(ctx, a, b, opt, newWordComparer(a, b))
}

// equivalent is Equivalent for circuits with as many inputs and outputs as each other,
// without the algebra.
func equivalent(ctx context.Context, a, b *Graph, opt EquivalenceOptions) (Equivalence, error) {
	return decide(ctx, a, b, opt, nil)
}

func decide(ctx context.Context, a, b *Graph, opt EquivalenceOptions, words *wordComparer) (Equivalence, error) {
	if opt.Conflicts == 0 {
		opt.Conflicts = DefaultConflicts
	}
	if opt.effort.candidates == 0 {
		opt.effort = defaultEffort
	}
	m := newMiter(a, b)
	if len(m.open) < leastWord || opt.Work > 0 || len(m.g.nodes) > mostAlgebra {
		words = nil
	}
	stopped := func(err error) (Equivalence, error) {
		return m.answer(Undecided), fmt.Errorf("xmg: equivalence: %d of %d outputs undecided: %w", len(m.open), a.NumOutputs(), err)
	}
	// What is alike goes first, without a simulation.
	if err := m.sweep(ctx, &classes{of: make([]int32, len(m.g.nodes))}, opt); errors.Is(err, errWork) {
		return m.answer(Undecided), nil
	} else if err != nil {
		return stopped(err)
	}
	m.classes = nil
	for limit := int64(firstConflicts); len(m.open) > 0; limit *= conflictsGrowth {
		// The algebra takes a while only where it gets somewhere: before the first
		// sweep of circuits as they are, after it of mapped ones; each later if a sweep is likely to do.
		algebra := int64(firstConflicts)
		if opt.alike {
			algebra *= conflictsGrowth
		}
		if words != nil && (limit == algebra || limit == algebra*conflictsGrowth) {
			forms := []wordForm{mapped, wholeHigh, givenHigh}
			if limit == algebra {
				m.guess(a, b)
				forms = []wordForm{asGiven, wholeAdders}
			}
			if m.pattern != nil {
				return m.different(a, b)
			}
			decided := false
			for _, form := range forms {
				var err error
				if m.pattern, decided, err = words.compare(ctx, form); err != nil {
					return stopped(err)
				}
				if decided {
					break
				}
			}
			switch {
			case m.pattern != nil:
				return m.different(a, b)
			case decided:
				m.stats.ByAlgebra += len(m.open)
				m.open = nil
				continue
			}
		}
		step := opt
		step.effort.conflicts = min(limit, opt.Conflicts)
		err := m.sweep(ctx, m.classes, step)
		m.first = 0
		m.stats.Rounds++
		switch {
		case m.pattern != nil:
			return m.different(a, b)
		case errors.Is(err, errWork):
			return m.answer(Undecided), nil
		case err != nil:
			return stopped(err)
		case len(m.open) > 0 && limit >= opt.Conflicts:
			return m.answer(Undecided), nil
		}
	}
	return m.answer(Equal), nil
}

// leastWord is how many outputs must be open for the algebra, and mostAlgebra how many
// nodes there may be.
const (
	leastWord   = 6
	mostAlgebra = 1 << 18
)

// guess looks for a difference among random patterns, so that the algebra is not asked
// about circuits that are plainly different.
func (m *miter) guess(a, b *Graph) {
	const words = 8
	rng := rand.New(rand.NewPCG(3, 5))
	in := make([]uint64, a.NumInputs()*words)
	for i := range in {
		in[i] = rng.Uint64()
	}
	m.stats.Patterns += 64 * words
	x, y := a.Simulate(in, words), b.Simulate(in, words)
	for i := range x {
		if d := x[i] ^ y[i]; d != 0 {
			m.pattern = make([]bool, a.NumInputs())
			for k := range m.pattern {
				m.pattern[k] = in[k*words+i%words]>>bits.TrailingZeros64(d)&1 != 0
			}
			return
		}
	}
}

// The bounds on SAT queries grow from round to round.
const (
	firstConflicts  = 100
	conflictsGrowth = 10
)

// miter is two circuits in one graph. Its outputs 2i and 2i+1 are output open[i]
// of both.
type miter struct {
	g       *Graph
	first   int      // nodes of the circuit that was put in first, until a round has been
	classes *classes // of an earlier round; nil = none
	exact   bool     // they are of all patterns
	open    []int
	pattern []bool // for which an output differs; nil = none known
	stats   EquivalenceStats
}

func newMiter(a, b *Graph) *miter {
	m := &miter{g: a.emptyCopy(a.NumGates() + b.NumGates())}
	// The finer circuit first: it has more for the nodes of the other to equal.
	var lits [2][]Lit
	for _, side := range [2]int{0, 1} {
		m.first = len(m.g.nodes)
		g := [2]*Graph{a, b}[side^btoi(a.NumGates() < b.NumGates())]
		lit := make([]Lit, len(g.nodes))
		for id := range lit {
			if id < g.FirstGate() {
				lit[id] = Lit(id) << 1
			} else {
				lit[id] = m.g.copyGate(g.nodes[id], lit)
			}
		}
		lits[side^btoi(a.NumGates() < b.NumGates())] = lit
	}
	for i, o := range a.outputs {
		x, y := lits[0][o.Lit>>1]^o.Lit&1, lits[1][b.outputs[i].Lit>>1]^b.outputs[i].Lit&1
		if x != y {
			m.open = append(m.open, i)
			m.g.AddOutput("", x)
			m.g.AddOutput("", y)
		}
	}
	m.first = m.g.liveBefore(m.first)
	m.g = m.g.Sweep()
	return m
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sweep sweeps the graph and keeps what is then open. Without classes it makes them.
func (m *miter) sweep(ctx context.Context, from *classes, opt EquivalenceOptions) error {
	s := newFraig(ctx, m.g, opt.effort)
	s.classes, s.exact = from, m.exact
	s.progress = opt.Progress
	s.seen = m.compare
	s.first = m.first
	if opt.Work > 0 {
		s.maxWork = max(1, opt.Work-m.stats.Work)
	}
	err := s.run()
	m.stats.ByTable += s.byTable + s.byCut
	m.stats.BySAT += s.bySAT
	m.stats.Refuted += s.refuted
	m.stats.GivenUp += s.givenUp
	m.stats.Patterns += s.patterns
	m.stats.Work += s.work()
	if err != nil || m.pattern != nil {
		return err
	}
	var open []int
	var outputs []Output
	for i, o := range m.open {
		x, y := s.out.outputs[2*i], s.out.outputs[2*i+1]
		if x.Lit != y.Lit {
			open = append(open, o)
			outputs = append(outputs, x, y)
		}
	}
	m.open = open
	m.g, m.classes, m.first = s.reduced(outputs)
	m.exact = s.exact
	return nil
}

// compare looks at simulated patterns for one that tells outputs apart.
func (m *miter) compare(value []uint64) bool {
	for i := 0; i < len(m.g.outputs); i += 2 {
		x, y := m.g.outputs[i].Lit, m.g.outputs[i+1].Lit
		d := value[x>>1] ^ value[y>>1] ^ -uint64((x^y)&1)
		if d == 0 {
			continue
		}
		m.pattern = make([]bool, m.g.NumInputs())
		for k := range m.pattern {
			m.pattern[k] = value[1+k]>>bits.TrailingZeros64(d)&1 != 0
		}
		return true
	}
	return false
}

// different evaluates both circuits for the pattern that was found.
func (m *miter) different(a, b *Graph) (Equivalence, error) {
	in := make([]uint64, len(m.pattern))
	for i, v := range m.pattern {
		if v {
			in[i] = 1
		}
	}
	x, y := a.Simulate(in, 1), b.Simulate(in, 1)
	for i := range x {
		if (x[i]^y[i])&1 != 0 {
			e := m.answer(Different)
			e.Witness = &Witness{Inputs: m.pattern, Output: i, A: x[i]&1 != 0, B: y[i]&1 != 0}
			return e, nil
		}
	}
	return m.answer(Undecided), errors.New("xmg: equivalence: internal error: the pattern found does not tell the circuits apart")
}

func (m *miter) answer(v Verdict) Equivalence {
	return Equivalence{Verdict: v, Undecided: m.open, Stats: m.stats}
}
