package xmg

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"github.com/bitsched/bitsched/xmg/internal/sat"
)

// ExactOptions are how hard [Exact] and [ExactRewrite] search. The zero value is
// the default.
type ExactOptions struct {
	// Conflicts bounds the search for an XMG of one function with one number of
	// gates, in conflicts of the SAT solver; 0 means 20,000 for [Exact] (up to a
	// few seconds) and 3,000 for [ExactRewrite].
	Conflicts int64
	// Work bounds all searches of [ExactRewrite], in propagations of the SAT
	// solver (some ten million a second); 0 means 200 million.
	Work int64
	// Seed of the choices among equally good gates.
	Seed uint64
	// Progress is called now and then from the calling goroutine; may be nil.
	Progress func(Progress)
}

const (
	// exactGates is the most gates that the SAT solver looks for: it never finds
	// more within its limits, and the formula grows with the sixth power.
	exactGates            = 8
	exactConflicts        = 20_000
	exactRewriteConflicts = 3_000
	exactRewriteWork      = 200_000_000
)

// Exact returns the smallest XMG of a function of up to six inputs that it
// finds, and whether it is proved that there is no smaller one. Bit i of table is
// the value for the pattern i, whose bit j is that of input j.
//
// Functions of four inputs come from a table of minimum XMGs. Others start from
// a decomposition; then for each number of gates below, ascending, a SAT solver
// looks for an XMG. Up to five gates that mostly ends with a proof.
//
// When the context ends, Exact returns the best so far; that is no error.
func Exact(ctx context.Context, table uint64, inputs int, opt ExactOptions) (g *Graph, proved bool, err error) {
	if inputs < 0 || inputs > 6 {
		return nil, false, fmt.Errorf("xmg: exact synthesis of %d inputs, expected at most 6", inputs)
	}
	if opt.Conflicts == 0 {
		opt.Conflicts = exactConflicts
	}
	g = emptyFunction(inputs)
	in := g.inputs6()
	g.AddOutput("f", newTableBuilder(g).build(table, in[:inputs]))
	g = g.Sweep()
	better := func(r *recipe6) {
		h := emptyFunction(inputs)
		h.AddOutput("f", buildRecipe6(h, r, &in))
		if h = h.Sweep(); h.NumGates() < g.NumGates() {
			g = h
		}
	}
	t := truth6(spreadTable(table, inputs))
	if _, _, n := t.compact(); n <= 4 {
		return g, true, nil
	}
	var r recipe6
	var ok bool
	ops := [6]uint8{1 << 1, 2 << 1, 3 << 1, 4 << 1, 5 << 1, 6 << 1}
	if r.out, ok = newLibrary6(opt.Seed).emit(&r, t, &ops); ok {
		better(&r)
	}
	db := newExactLibrary(opt.Conflicts, math.MaxInt64)
	db.stop = func() bool { return ctx.Err() != nil }
	db.progress = opt.Progress
	r, ok, proved = db.find(t, g.NumGates()-1)
	if ok {
		better(&r)
	}
	return g, proved, nil
}

// emptyFunction returns a graph of some inputs.
func emptyFunction(inputs int) *Graph {
	g := New("")
	for i := range inputs {
		g.AddInput(fmt.Sprintf("x%d", i))
	}
	return g
}

// inputs6 returns the first six inputs.
func (g *Graph) inputs6() (in [6]Lit) {
	for i := range min(g.NumInputs(), len(in)) {
		in[i] = MakeLit(1+i, false)
	}
	return in
}

// exactLibrary holds minimum XMGs of functions of up to six inputs, found as
// they are asked for. It takes some 150 bytes a function.
type exactLibrary struct {
	conflicts int64 // for a function and a number of gates
	work      int64 // propagations that are left
	entries   map[exactKey]*exactEntry
	stop      func() bool
	progress  func(Progress)
}

// exactKey is an NPN class of functions that depend on all of n inputs.
type exactKey struct {
	t truth6
	n int
}

// exactEntry is what is known of a class.
type exactEntry struct {
	next   int  // no XMG of fewer gates was found
	proved bool // and there is none
	found  bool
	recipe recipe6 // of next gates
}

func newExactLibrary(conflicts, work int64) *exactLibrary {
	return &exactLibrary{conflicts: conflicts, work: work, entries: map[exactKey]*exactEntry{}}
}

// find returns the smallest recipe of a function that depends on two inputs or
// more that it finds with at most so many gates, if any; and whether it is proved
// that there is no smaller one (or none at all).
func (db *exactLibrary) find(t truth6, most int) (r recipe6, ok, proved bool) {
	t, vars, n := t.compact()
	if most < n/2 { // a gate makes one value of three
		return r, false, true
	}
	rep, place := t.canonical(n)
	key := exactKey{rep, n}
	e := db.entries[key]
	if e == nil {
		e = &exactEntry{next: n / 2, proved: true}
		db.entries[key] = e
	}
	for !e.found && e.next <= most {
		if db.work <= 0 || e.next > exactGates || db.stop() {
			return r, false, false
		}
		if db.progress != nil {
			db.progress(Progress{Phase: "exact synthesis: gates", Done: e.next, Total: most})
		}
		s := newExactSearch(rep, n, e.next)
		s.solver.Stop = db.stop
		st := s.run(db.conflicts)
		db.work -= s.solver.Propagations()
		if st == sat.Unknown && db.stop() {
			return r, false, false
		}
		switch st {
		case sat.Sat:
			e.found, e.recipe = true, s.recipe
		case sat.Unsat:
			e.next++
		default:
			e.next++
			e.proved = false
		}
	}
	if !e.found || e.next > most {
		return r, false, e.proved
	}
	// From the representative back to the function.
	var in [6]uint8
	for i, v := range vars[:n] {
		in[i] = (v + 1) << 1
	}
	var items [firstStep6 + maxSteps6]uint8
	at := func(op uint8) uint8 {
		switch item := op >> 1; {
		case item == 0:
			return op
		case item < firstStep6:
			return place.op(op, &in)
		default:
			return items[item] ^ op&1
		}
	}
	for i, s := range e.recipe.steps[:e.recipe.n] {
		items[firstStep6+i], ok = r.gate(s&stepXor6 != 0, at(s.operand(0)), at(s.operand(1)), at(s.operand(2)))
		if !ok {
			panic("xmg: a recipe of too many gates")
		}
	}
	r.out = at(e.recipe.out)
	if place.complement {
		r.out ^= 1
	}
	return r, true, e.proved
}

// exactSearch looks for an XMG of some gates by SAT, for a function that is 0 for
// pattern 0. All gates can be taken to be so, too: XOR, and MAJ with at most one
// complement.
//
// For each gate there is a variable for each three items that can be its
// operands, and one for each of the five operations. The values of the gates are
// variables for each pattern; patterns are added as results turn out to be wrong
// for them.
//
// (The encoding is that of Kojevnikov, Kulikov, Yaroslavtsev, "Finding efficient
// circuits using SAT-solvers", SAT 2009, for three operands; the removal of
// symmetries is as in Knuth, TAOCP 7.2.2.2, exercise 477, and Haaswijk, Soeken,
// Mishchenko, De Micheli, "SAT-based exact synthesis", IEEE TCAD 39(4), 2020.)
type exactSearch struct {
	solver   sat.Solver
	t        truth6
	n, gates int
	triples  [][3]uint8  // in colexicographic order
	count    []int       // by gate: the triples of its items
	selected []int       // by gate: the variable of the first triple
	op       []int       // by gate: the variable of the first operation
	result   []int       // by gate: the variables of its value for the operands 0 to 7
	value    [][64]int32 // by gate and pattern: 1 + the variable
	recipe   recipe6
}

// exactOps are the truth tables of the operations: bit i is the value for the
// operands i.
var exactOps = [5]uint8{
	0b10010110, // XOR
	0b11101000, // MAJ
	0b11010100, // MAJ with the first operand complemented
	0b10110010, // the second
	0b10001110, // the third
}

func newExactSearch(t truth6, n, gates int) *exactSearch {
	s := &exactSearch{t: t, n: n, gates: gates, value: make([][64]int32, gates)}
	for c := range uint8(n + gates) {
		for b := range c {
			for a := range b {
				s.triples = append(s.triples, [3]uint8{a, b, c})
			}
		}
	}
	for i := range gates {
		items := 1 + n + i
		count := items * (items - 1) * (items - 2) / 6
		s.count = append(s.count, count)
		s.selected = append(s.selected, s.solver.NumVars())
		for range count {
			s.solver.NewVar()
		}
		s.op = append(s.op, s.solver.NumVars())
		for range exactOps {
			s.solver.NewVar()
		}
		s.result = append(s.result, s.solver.NumVars())
		for range 8 {
			s.solver.NewVar()
		}
	}
	s.structure()
	return s
}

func positive(v int) sat.Lit { return sat.Lit(v) << 1 }

// structure adds the clauses that hold for all functions, and those that leave
// one of networks that differ in little.
func (s *exactSearch) structure() {
	var clause []sat.Lit
	for i := range s.gates {
		clause = clause[:0]
		for k := range s.count[i] {
			clause = append(clause, positive(s.selected[i]+k))
		}
		s.solver.AddClause(clause...)
		clause = clause[:0]
		for k := range exactOps {
			clause = append(clause, positive(s.op[i]+k))
			for l := range k {
				s.solver.AddClause(positive(s.op[i]+k).Not(), positive(s.op[i]+l).Not())
			}
		}
		s.solver.AddClause(clause...)
		for k, table := range exactOps {
			for v := range 8 {
				l := positive(s.result[i] + v)
				if table>>v&1 == 0 {
					l = l.Not()
				}
				s.solver.AddClause(positive(s.op[i]+k).Not(), l)
			}
		}
	}
	// Every input and every gate but the last is used.
	for item := 1; item < s.n+s.gates; item++ {
		clause = clause[:0]
		for i := range s.gates {
			for k, tr := range s.triples[:s.count[i]] {
				if has(tr, item) {
					clause = append(clause, positive(s.selected[i]+k))
				}
			}
		}
		s.solver.AddClause(clause...)
	}
	// A gate that does not use the one before it comes after it in the order of
	// the triples (equal ones have other operations).
	for i := 1; i < s.gates; i++ {
		for k := range s.count[i-1] {
			for l := range k {
				s.solver.AddClause(positive(s.selected[i-1]+k).Not(), positive(s.selected[i]+l).Not())
			}
		}
	}
	// A gate of another gate and two operands of that one is a gate of the three.
	for i := range s.gates {
		for k, tr := range s.triples[:s.count[i]] {
			for h := i + 1; h < s.gates; h++ {
				for l, up := range s.triples[:s.count[h]] {
					if has(up, 1+s.n+i) && shared(tr, up) == 2 {
						s.solver.AddClause(positive(s.selected[i]+k).Not(), positive(s.selected[h]+l).Not())
					}
				}
			}
		}
	}
	// Of two inputs that can be exchanged the first is used first.
	for q := 1; q < s.n; q++ {
		for p := range q {
			if s.t.swap(p, q) != s.t {
				continue
			}
			for i := range s.gates {
				for k, tr := range s.triples[:s.count[i]] {
					if !has(tr, q+1) || has(tr, p+1) {
						continue
					}
					clause = append(clause[:0], positive(s.selected[i]+k).Not())
					for h := range i {
						for l, tr := range s.triples[:s.count[h]] {
							if has(tr, p+1) {
								clause = append(clause, positive(s.selected[h]+l))
							}
						}
					}
					s.solver.AddClause(clause...)
				}
			}
		}
	}
}

func has(tr [3]uint8, item int) bool {
	return int(tr[0]) == item || int(tr[1]) == item || int(tr[2]) == item
}

// shared returns how many items both have.
func shared(a, b [3]uint8) (n int) {
	for _, item := range a {
		if has(b, int(item)) {
			n++
		}
	}
	return n
}

// run looks for a recipe until the conflicts are used up.
func (s *exactSearch) run(conflicts int64) sat.Status {
	s.addPattern(1<<s.n - 1)
	for j := range s.n {
		s.addPattern(1 << j)
	}
	var decide []int32
	for {
		for v := len(decide); v < s.solver.NumVars(); v++ {
			decide = append(decide, int32(v))
		}
		left := conflicts - s.solver.Conflicts()
		if left <= 0 {
			return sat.Unknown
		}
		if st := s.solver.Solve(nil, decide, left); st != sat.Sat {
			return st
		}
		s.read()
		wrong := s.recipe.truth() ^ s.t
		if wrong == 0 {
			return sat.Sat
		}
		s.addPattern(bits.TrailingZeros64(uint64(wrong)))
	}
}

// read makes a recipe of the solver's assignment.
func (s *exactSearch) read() {
	s.recipe = recipe6{}
	var items [firstStep6 + maxSteps6]uint8 // by item of the search: an operand
	for i := range s.n {
		items[1+i] = uint8(1+i) << 1
	}
	ok := true
	for i := range s.gates {
		k, op := 0, 0
		for !s.solver.Value(s.selected[i] + k) {
			k++
		}
		for !s.solver.Value(s.op[i] + op) {
			op++
		}
		var in [3]uint8
		for j, item := range s.triples[k] {
			in[j] = items[item]
		}
		if op >= 2 {
			in[op-2] ^= 1
		}
		items[1+s.n+i], ok = s.recipe.gate(op == 0, in[0], in[1], in[2])
		if !ok {
			panic("xmg: a recipe of too many gates")
		}
	}
	s.recipe.out = items[s.n+s.gates]
}

// addPattern adds the values of all gates for an input pattern.
func (s *exactSearch) addPattern(pattern int) {
	if s.value[0][pattern] != 0 {
		panic("xmg: the solver's XMG is wrong for a pattern that it knows")
	}
	for i := range s.gates {
		s.value[i][pattern] = int32(s.solver.NewVar()) + 1
	}
	last := positive(int(s.value[s.gates-1][pattern] - 1))
	if s.t>>pattern&1 == 0 {
		last = last.Not()
	}
	s.solver.AddClause(last)
	for i := range s.gates {
		out := positive(int(s.value[i][pattern] - 1))
		for k, tr := range s.triples[:s.count[i]] {
			chosen := positive(s.selected[i] + k)
			for v := range 8 {
				clause := [6]sat.Lit{chosen.Not()}
				lits := clause[:1]
				possible := true
				for j, item := range tr {
					bit := v >> j & 1
					switch {
					case item == 0:
						possible = possible && bit == 0
					case int(item) <= s.n:
						possible = possible && pattern>>(item-1)&1 == bit
					default:
						x := positive(int(s.value[int(item)-s.n-1][pattern] - 1))
						lits = append(lits, x^sat.Lit(bit))
					}
				}
				if !possible {
					continue
				}
				switch v {
				case 0:
					s.solver.AddClause(append(lits, out.Not())...)
				case 7:
					s.solver.AddClause(append(lits, out)...)
				default:
					result := positive(s.result[i] + v)
					s.solver.AddClause(append(lits, result.Not(), out)...)
					s.solver.AddClause(append(lits, result, out.Not())...)
				}
			}
		}
	}
}
