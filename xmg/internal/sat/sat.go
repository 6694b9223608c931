// Package sat decides propositional formulas in conjunctive normal form. It is
// a solver of the MiniSat family (Eén and Sörensson, "An extensible SAT-solver",
// SAT 2003): two watched literals, learning of the first unique implication
// point, decisions by decaying activity, Luby restarts, and removal of learned
// clauses by their number of levels (Audemard and Simon, IJCAI 2009).
//
// It is made for many small queries on one growing formula: clauses may be added
// between queries, a query has assumptions and names the variables to decide,
// and it ends after a number of conflicts that the caller chooses. Effort is
// counted, never timed, so that an answer depends on nothing but the calls
// before it. Solvers share no state and may run side by side; one solver is not
// safe for concurrent use.
package sat

import "slices"

// Lit is a variable or its complement: variable<<1 | complement. Variables are
// numbered from 0.
type Lit uint32

// Not returns the complement of l.
func (l Lit) Not() Lit { return l ^ 1 }

// Status is the answer to a query.
type Status uint8

// The answers.
const (
	Unknown Status = iota // the limit was reached, or the caller stopped the query
	Sat
	Unsat
)

func (s Status) String() string { return [...]string{"unknown", "sat", "unsat"}[s%3] }

// Values of a literal.
const (
	unset  int8 = 0
	isTrue int8 = 1
)

// A clause is a stretch of the arena: a header (size<<1 | learned), the number
// of levels (learned clauses only; else 0), and the literals. Its reference is
// the index of the header; 0 is none. The two watched literals come first.
type clauseRef uint32

const clauseHead = 2 // words before the literals

// watch is a clause in the list of one of its watched literals; if blocker, some
// other literal of it, is true, the clause need not be looked at.
type watch struct {
	ref     clauseRef
	blocker Lit
}

// A Solver holds a formula. The zero value is an empty one. It takes 60 bytes a
// variable and 4 bytes a literal of a clause plus 24 bytes a clause.
type Solver struct {
	// Stop, if set, is called every some hundred conflicts; the query ends with
	// Unknown when it returns true.
	Stop func() bool

	arena   []uint32
	learned []clauseRef
	watches [][]watch // by literal: the clauses that watch its complement
	value   []int8    // by literal: 1 true, -1 false
	level   []int32   // by variable
	reason  []clauseRef
	phase   []Lit // by variable: the literal that it was last
	trail   []Lit
	limits  []int // length of the trail at each decision
	head    int   // first literal of the trail that is not propagated
	order   heap
	seen    []bool
	bump    float64
	broken  bool // unsatisfiable without assumptions

	model        []bool
	maxLearned   int
	conflicts    int64
	propagations int64

	clause   []Lit // scratch of analyze
	unmark   []int32
	levelOf  []int64 // scratch of levels: stamp by level
	levelNow int64
}

// NewVar adds a variable and returns its number.
func (s *Solver) NewVar() int {
	v := len(s.level)
	if v == 0 {
		s.arena = append(s.arena, 0)
		s.bump = 1
	}
	if n := len(s.watches) + 2; n <= cap(s.watches) {
		s.watches = s.watches[:n] // of a formula before, see Reset
		s.watches[n-2], s.watches[n-1] = s.watches[n-2][:0], s.watches[n-1][:0]
	} else {
		s.watches = append(s.watches, nil, nil)
	}
	s.value = append(s.value, unset, unset)
	s.level = append(s.level, 0)
	s.reason = append(s.reason, 0)
	s.phase = append(s.phase, Lit(v)<<1|1)
	s.seen = append(s.seen, false)
	s.order.add()
	return v
}

// Reset makes the formula empty, and keeps the memory and the counts of effort.
func (s *Solver) Reset() {
	s.arena, s.learned, s.watches = s.arena[:0], s.learned[:0], s.watches[:0]
	s.value, s.level, s.reason, s.phase = s.value[:0], s.level[:0], s.reason[:0], s.phase[:0]
	s.trail, s.limits, s.head, s.seen = s.trail[:0], s.limits[:0], 0, s.seen[:0]
	s.order.empty()
	s.broken, s.model, s.maxLearned = false, s.model[:0], 0
}

// NumVars returns the number of variables.
func (s *Solver) NumVars() int { return len(s.level) }

// Conflicts returns the number of conflicts of all queries so far.
func (s *Solver) Conflicts() int64 { return s.conflicts }

// Propagations returns the number of literals propagated by all queries so far,
// the measure of their time.
func (s *Solver) Propagations() int64 { return s.propagations }

// AddClause adds a clause: one of the literals is true. It must not be called
// from Stop.
func (s *Solver) AddClause(lits ...Lit) {
	if s.broken {
		return
	}
	c := append(s.clause[:0], lits...)
	slices.Sort(c)
	n := 0
	for i, l := range c {
		switch {
		case s.value[l] == isTrue, i > 0 && c[i-1] == l.Not():
			s.clause = c
			return // always true
		case s.value[l] != unset, n > 0 && c[n-1] == l:
			continue // false, or there already
		}
		c[n] = l
		n++
	}
	c = c[:n]
	s.clause = c
	switch n {
	case 0:
		s.broken = true
	case 1:
		s.assign(c[0], 0)
		s.broken = s.propagate() != 0
	default:
		s.store(c, 0, 0)
	}
}

// store writes a clause to the arena and watches its first two literals.
func (s *Solver) store(c []Lit, learned, levels uint32) clauseRef {
	ref := clauseRef(len(s.arena))
	s.arena = append(s.arena, uint32(len(c))<<1|learned, levels)
	for _, l := range c {
		s.arena = append(s.arena, uint32(l))
	}
	s.watches[c[0].Not()] = append(s.watches[c[0].Not()], watch{ref, c[1]})
	s.watches[c[1].Not()] = append(s.watches[c[1].Not()], watch{ref, c[0]})
	return ref
}

// lits returns the literals of a clause.
func (s *Solver) lits(ref clauseRef) []uint32 {
	n := s.arena[ref] >> 1
	return s.arena[int(ref)+clauseHead:][:n]
}

// Solve looks for an assignment that makes all clauses and all assumptions true.
// It decides only the given variables: when all of these have a value without
// conflict, the answer is Sat, and it is up to the caller that the others can be
// given values too (gates outside of the cones in question can). It ends with
// Unknown after the given number of conflicts.
func (s *Solver) Solve(assumptions []Lit, decide []int32, conflicts int64) Status {
	if s.broken {
		return Unsat
	}
	s.order.reset(decide)
	defer s.backtrack(0)
	if s.maxLearned == 0 {
		s.maxLearned = 4000
	}
	end := s.conflicts + conflicts
	for run := int64(1); ; run++ {
		stop := min(end, s.conflicts+100*luby(run))
		switch st := s.search(assumptions, stop); {
		case st != Unknown:
			return st
		case s.conflicts >= end || s.Stop != nil && s.Stop():
			return Unknown
		}
		s.backtrack(0)
		if len(s.learned) > s.maxLearned {
			s.reduce()
			s.maxLearned += 300
		}
	}
}

// Value returns the value that a variable has in the assignment of the last
// query, if that was Sat, and false for a variable that had none.
func (s *Solver) Value(v int) bool { return v < len(s.model) && s.model[v] }

// search runs until an answer or until a number of conflicts is reached.
func (s *Solver) search(assumptions []Lit, stop int64) Status {
	for {
		if conflict := s.propagate(); conflict != 0 {
			s.conflicts++
			if len(s.limits) == 0 {
				s.broken = true
				return Unsat
			}
			back, levels := s.analyze(conflict)
			s.backtrack(back)
			if c := s.clause; len(c) == 1 {
				s.assign(c[0], 0)
			} else {
				ref := s.store(c, 1, levels)
				s.learned = append(s.learned, ref)
				s.assign(c[0], ref)
			}
			s.bump /= 0.95
			continue
		}
		if s.conflicts >= stop {
			return Unknown
		}
		var next Lit
		found := false
		for !found && len(s.limits) < len(assumptions) {
			switch a := assumptions[len(s.limits)]; s.value[a] {
			case isTrue:
				s.limits = append(s.limits, len(s.trail)) // nothing to decide at this level
			case unset:
				next, found = a, true
			default:
				return Unsat
			}
		}
		for !found {
			v, ok := s.order.pop()
			if !ok {
				s.model = s.model[:0]
				for v := range s.level {
					s.model = append(s.model, s.value[v<<1] == isTrue)
				}
				return Sat
			}
			if s.value[v<<1] == unset {
				next, found = s.phase[v], true
			}
		}
		s.limits = append(s.limits, len(s.trail))
		s.assign(next, 0)
	}
}

// assign makes a literal true.
func (s *Solver) assign(l Lit, reason clauseRef) {
	s.value[l], s.value[l^1] = isTrue, -isTrue
	s.level[l>>1] = int32(len(s.limits))
	s.reason[l>>1] = reason
	s.trail = append(s.trail, l)
}

// backtrack takes back all decisions above a level.
func (s *Solver) backtrack(level int) {
	if len(s.limits) <= level {
		return
	}
	to := s.limits[level]
	for i := len(s.trail) - 1; i >= to; i-- {
		l := s.trail[i]
		s.value[l], s.value[l^1] = unset, unset
		s.phase[l>>1] = l
		s.order.push(int32(l >> 1))
	}
	s.trail = s.trail[:to]
	s.limits = s.limits[:level]
	s.head = to
}

// propagate assigns what follows; it returns a clause that is false, or 0.
func (s *Solver) propagate() clauseRef {
	conflict := clauseRef(0)
	for s.head < len(s.trail) && conflict == 0 {
		p := s.trail[s.head] // true: clauses with its complement may be unit
		s.head++
		s.propagations++
		list := s.watches[p]
		falsified := uint32(p ^ 1)
		n := 0
	clauses:
		for i := 0; i < len(list); i++ {
			w := list[i]
			if s.value[w.blocker] == isTrue {
				list[n] = w
				n++
				continue
			}
			c := s.lits(w.ref)
			if c[0] == falsified {
				c[0], c[1] = c[1], c[0]
			}
			first := Lit(c[0])
			if first != w.blocker && s.value[first] == isTrue {
				list[n] = watch{w.ref, first}
				n++
				continue
			}
			for k := 2; k < len(c); k++ {
				if l := Lit(c[k]); s.value[l] >= unset {
					c[1], c[k] = c[k], falsified
					s.watches[l^1] = append(s.watches[l^1], watch{w.ref, first})
					continue clauses
				}
			}
			list[n] = watch{w.ref, first}
			n++
			if s.value[first] != unset {
				conflict = w.ref
				n += copy(list[n:], list[i+1:])
				break
			}
			s.assign(first, w.ref)
		}
		s.watches[p] = list[:n]
	}
	return conflict
}

// analyze learns a clause from a conflict, into s.clause: its first literal is
// the one to assert, its second one of the highest level of the others, to which
// to go back. It also returns the number of levels in the clause.
func (s *Solver) analyze(conflict clauseRef) (back int, levels uint32) {
	c := append(s.clause[:0], 0)
	open := 0 // literals of the current level to resolve
	var p Lit
	for i, ref := len(s.trail)-1, conflict; ; {
		lits := s.lits(ref)
		if ref != conflict {
			lits = lits[1:] // the first is p itself
		}
		for _, q := range lits {
			v := int32(q >> 1)
			if s.seen[v] || s.level[v] == 0 {
				continue
			}
			s.seen[v] = true
			s.bumpVar(v)
			if int(s.level[v]) == len(s.limits) {
				open++
			} else {
				c = append(c, Lit(q))
			}
		}
		for !s.seen[s.trail[i]>>1] {
			i--
		}
		p = s.trail[i]
		i--
		s.seen[p>>1] = false
		open--
		if open == 0 {
			break
		}
		ref = s.reason[p>>1]
	}
	c[0] = p ^ 1

	// A literal that follows from the others of the clause is left out.
	s.unmark = s.unmark[:0]
	for _, l := range c[1:] {
		s.unmark = append(s.unmark, int32(l>>1))
	}
	n := 1
	for _, l := range c[1:] {
		if !s.implied(l) {
			c[n] = l
			n++
		}
	}
	c = c[:n]
	for _, v := range s.unmark {
		s.seen[v] = false
	}

	if n > 1 {
		high := 1
		for i := 2; i < n; i++ {
			if s.level[c[i]>>1] > s.level[c[high]>>1] {
				high = i
			}
		}
		c[1], c[high] = c[high], c[1]
		back = int(s.level[c[1]>>1])
	}
	s.levelNow++
	for _, l := range c {
		at := int(s.level[l>>1])
		for len(s.levelOf) <= at {
			s.levelOf = append(s.levelOf, 0)
		}
		if s.levelOf[at] != s.levelNow {
			s.levelOf[at] = s.levelNow
			levels++
		}
	}
	s.clause = c
	return back, levels
}

// implied tells whether all that made a literal false is marked.
func (s *Solver) implied(l Lit) bool {
	ref := s.reason[l>>1]
	if ref == 0 {
		return false
	}
	for _, q := range s.lits(ref)[1:] {
		if v := q >> 1; !s.seen[v] && s.level[v] > 0 {
			return false
		}
	}
	return true
}

func (s *Solver) bumpVar(v int32) {
	s.order.activity[v] += s.bump
	if s.order.activity[v] > 1e100 {
		for i := range s.order.activity {
			s.order.activity[i] *= 1e-100
		}
		s.bump *= 1e-100
	}
	s.order.up(v)
}

// reduce forgets the half of the learned clauses that have the most levels,
// the older ones first; those of two levels stay. No decision is open.
func (s *Solver) reduce() {
	order := slices.Clone(s.learned)
	slices.SortStableFunc(order, func(a, b clauseRef) int {
		return int(s.arena[b+1]) - int(s.arena[a+1])
	})
	drop := make(map[clauseRef]bool, len(order)/2)
	for _, ref := range order[:len(order)/2] {
		if s.arena[ref+1] > 2 {
			drop[ref] = true
		}
	}
	// The arena is packed; what is known for good has no reason any more.
	for _, l := range s.trail {
		s.reason[l>>1] = 0
	}
	packed := make([]uint32, 1, len(s.arena))
	for i := range s.watches {
		s.watches[i] = s.watches[i][:0]
	}
	s.learned = s.learned[:0]
	for at := clauseRef(1); int(at) < len(s.arena); {
		size := s.arena[at] >> 1
		words := s.arena[at:][:clauseHead+size]
		at += clauseRef(len(words))
		if drop[at-clauseRef(len(words))] || s.holds(words[clauseHead:]) {
			continue
		}
		ref := clauseRef(len(packed))
		packed = append(packed, words...)
		a, b := Lit(words[clauseHead]), Lit(words[clauseHead+1])
		s.watches[a^1] = append(s.watches[a^1], watch{ref, b})
		s.watches[b^1] = append(s.watches[b^1], watch{ref, a})
		if words[0]&1 != 0 {
			s.learned = append(s.learned, ref)
		}
	}
	s.arena = packed
}

// holds tells whether a literal is true; no decision is open.
func (s *Solver) holds(lits []uint32) bool {
	for _, l := range lits {
		if s.value[l] == isTrue {
			return true
		}
	}
	return false
}

// luby returns element i, from 1, of the sequence 1 1 2 1 1 2 4 1 1 2 ...
func luby(i int64) int64 {
	for {
		k := int64(1)
		for 2*k <= i {
			k *= 2
		}
		if i == 2*k-1 {
			return k
		}
		i -= k - 1
	}
}
