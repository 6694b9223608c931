package egraph

import (
	"slices"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// rule is a rewrite rule: an equation of the appendix of Infinity Stream in one
// direction, or one that our nodes need besides.
//
// All rules say of each point by itself that two expressions have the same value
// there. That makes them equal only where both have the same points, which is where
// discarding of what is moved out of bounds comes in: search.same compares the
// inferred domains of both sides, and refuses what differs or is not decided.
type rule struct {
	name     string
	equation string // of the appendix, empty if the rule is not there
	text     string
	phase    int         // the first in which it is used
	kinds    []tdfg.Kind // of the node at the top of the left side
	find     func(s *search, n nodeID)

	// deep says that find looks further than at the operands of n, so that a change
	// of these is not all that can give it something new.
	deep bool
}

// The phases of saturation. Rules of earlier ones go on.
const (
	align   = iota // bring tensors to one size, and moves and shrinks out of computations
	reuse          // bring terms together that have something in common
	explore        // all other directions, as far as the limit on nodes goes
	phases
)

var (
	pointwise  = []tdfg.Kind{tdfg.Compute, tdfg.Convert}
	computes   = []tdfg.Kind{tdfg.Compute}
	moves      = []tdfg.Kind{tdfg.Move}
	broadcasts = []tdfg.Kind{tdfg.Broadcast}
	shrinks    = []tdfg.Kind{tdfg.Shrink}
	tensors    = []tdfg.Kind{tdfg.Tensor}
	finals     = []tdfg.Kind{tdfg.Final}
)

// rules returns the table, in the order in which the rules are applied. Equations
// 3b and 6a hold by the normal form of nodes, and so does most of 6b: see
// graph.canonical and graph.shrink.
func rules() []rule {
	return []rule{
		{"expand", "5", "T(r) => S(r, T(hull))", align, tensors, expand, false},
		{"shrink-shrink", "6b", "S(r, S(q, A)) => S(r & q, A)", align, shrinks, shrinkShrink, false},
		{"lift shrink over move", "7a, 7b", "M(S(r, A), i, d) => S(r + d, M(A, i, d))", align, moves, liftShrinkMove, false},
		{"lift shrink over broadcast", "8a", "B(S(r, A), i, d, n) => S(r, B(A, i, d, n))", align, broadcasts, liftShrinkBroadcast, false},
		{"lift shrink over compute", "9", "C(f, S(r, A), B) => S(r, C(f, A, B))", align, pointwise, liftShrinkCompute, false},
		{"lift move", "4a", "C(f, M(A, i, d), M(B, i, d)) => M(C(f, A, B), i, d)", align, pointwise, liftMove, false},
		{"sink move", "4a", "M(C(f, A, B), i, d) => C(f, M(A, i, d), M(B, i, d))", align, moves, sink, false},
		{"lift broadcast", "4b", "C(f, B(A, i, d, n), B(B, i, d, n)) => B(C(f, A, B), i, d, n)", align, pointwise, liftBroadcast, false},
		{"sink broadcast", "4b", "B(C(f, A, B), i, d, n) => C(f, B(A, i, d, n), B(B, i, d, n))", align, broadcasts, sink, false},
		{"move-move", "", "M(M(A, i, d), i, e) => M(A, i, d + e)", align, moves, moveMove, false},
		{"exchange moves", "", "M(M(A, i, d), j, e) => M(M(A, j, e), i, d)", align, moves, exchangeMoves, false},
		{"move-broadcast", "", "M(B(A, i, d, n), i, e) => B(A, i, d + e, n); M(B(A, i, d, n), j, e) => B(M(A, j, e), i, d, n)", align, moves, moveBroadcast, false},
		{"broadcast-move", "", "B(M(A, i, e), i, d, n) => B(A, i, d + e, n); B(M(A, j, e), i, d, n) => M(B(A, i, d, n), j, e)", align, broadcasts, broadcastMove, false},
		{"broadcast-broadcast", "", "B(B(A, i, d, n), j, e, m) => B(B(A, j, e, m), i, d, n)", align, broadcasts, broadcastBroadcast, false},
		{"broadcast to one", "", "B(A, i, d, 1) => M(A, i, d)", align, broadcasts, broadcastOne, false},
		{"lift over reduction", "", "reduction of S(r, A), M(A, i, d) or B(A, i, d, n) along j => S, M or B of the reduction of A", align, finals, liftReduction, true},
		{"fold", "", "C(f, c, k) => f(c, k)", align, pointwise, fold, false},
		{"identity", "", "C(f, A, e) => A", align, computes, identity, false},
		{"factor", "3c", "C(f, C(g, A, B), C(g, A, C)) => C(g, A, C(f, B, C))", reuse, computes, factor, false},
		{"distribute", "3c", "C(g, A, C(f, B, C)) => C(f, C(g, A, B), C(g, A, C))", reuse, computes, distribute, false},
		{"subtract", "", "C(-, A, B) => C(+, A, C(neg, B))", reuse, computes, subtract, false},
		{"add negative", "", "C(+, A, C(neg, B)) => C(-, A, B)", reuse, computes, addNegative, false},
		{"regroup", "3a, 3b", "C(f, A, ..., Z) => C(f, C(f, those with something in common), C(f, others))", reuse, computes, regroup, true},
		{"merge broadcasts", "8b", "B(A, i, d, n) => S(r, B(A, i, d', n'))", reuse, broadcasts, mergeBroadcasts, false},
		{"associate", "3a", "C(f, C(f, A, B), C) => C(f, A, C(f, B, C))", explore, computes, associate, false},
		{"narrow tensor", "5", "S(r, T(q)) => T(r & q)", explore, shrinks, narrowTensor, false},
		{"sink shrink under move", "7a, 7b", "S(r, M(A, i, d)) => M(S(r - d, A), i, d)", explore, shrinks, sinkShrinkMove, false},
		{"sink shrink under broadcast", "8a, 8b", "S(r, B(A, i, d, n)) => B(S(r, A), i, r)", explore, shrinks, sinkShrinkBroadcast, false},
		{"sink shrink under compute", "9", "S(r, C(f, A, B)) => C(f, S(r, A), S(r, B))", explore, shrinks, sinkShrinkCompute, false},
	}
}

// search collects what rules find. New nodes are added at once, as classes of their
// own; the classes that are equal are merged when all rules have looked, so that no
// list changes that a rule reads.
type search struct {
	*graph
	reassociate  bool
	ints, floats *distributive
	stat         *RuleStats
	budget       int // matches that the rule has left in this iteration
	equal        []equation

	atoms     map[atomsKey][]classID // of this iteration
	regrouped map[atomsKey]uint64    // what regroup has seen
	lists     [4][]classID
}

// equation is what a rule found.
type equation struct {
	a, b classID
	rule *RuleStats
}

// match counts a left side that was found, and reports whether it is to be
// rewritten.
func (s *search) match() bool {
	s.stat.Matches++
	s.budget--
	return s.budget >= 0
}

// same says that a class has the same values as the node, where both have points.
func (s *search) same(n nodeID, c classID) {
	if c == none {
		s.stat.Refused++
		return
	}
	a := s.classOf(n)
	if c = s.find(c); a == c {
		return
	}
	if s.classes[a].facts != s.classes[c].facts {
		s.stat.Refused++
		return
	}
	s.equal = append(s.equal, equation{a, c, s.stat})
}

// associative reports whether the operands of an operation may be grouped and
// ordered at will. That changes the bits of sums and products of floating-point
// numbers, so the caller has to allow it.
func (s *search) associative(op scalar.Op, t scalar.Type) bool {
	if !op.Commutative() || op.Arity() != 2 {
		return false
	}
	return op.Associative(t) || s.reassociate && t.Float() && (op == scalar.Add || op == scalar.Mul)
}

// distribution is a pair of operations with f(g(a, c), g(b, c)) = g(f(a, b), c).
type distribution struct {
	f, g   scalar.Op
	common int  // the operand of g that both have, -1 where g has one operand only
	ints   bool // holds for integers, bit by bit
	floats bool // holds for real numbers: for floating-point ones where the caller allows it
}

var distributions = []distribution{
	{scalar.Add, scalar.Mul, 0, true, true}, {scalar.Add, scalar.Mul, 1, true, true},
	{scalar.Sub, scalar.Mul, 0, true, true}, {scalar.Sub, scalar.Mul, 1, true, true},
	{scalar.Add, scalar.Neg, -1, true, true}, {scalar.Sub, scalar.Neg, -1, true, true},
	{scalar.Add, scalar.Div, 1, false, true}, {scalar.Sub, scalar.Div, 1, false, true},
	{scalar.Add, scalar.Shl, 1, true, false}, {scalar.Sub, scalar.Shl, 1, true, false},
	{scalar.And, scalar.Shl, 1, true, false}, {scalar.Or, scalar.Shl, 1, true, false}, {scalar.Xor, scalar.Shl, 1, true, false},
	{scalar.And, scalar.Shr, 1, true, false}, {scalar.Or, scalar.Shr, 1, true, false}, {scalar.Xor, scalar.Shr, 1, true, false},
	{scalar.Min, scalar.Shr, 1, true, false}, {scalar.Max, scalar.Shr, 1, true, false},
	{scalar.Or, scalar.And, 0, true, false}, {scalar.Or, scalar.And, 1, true, false},
	{scalar.Xor, scalar.And, 0, true, false}, {scalar.Xor, scalar.And, 1, true, false},
	{scalar.And, scalar.Or, 0, true, false}, {scalar.And, scalar.Or, 1, true, false},
	{scalar.Min, scalar.Max, 0, true, false}, {scalar.Min, scalar.Max, 1, true, false},
	{scalar.Max, scalar.Min, 0, true, false}, {scalar.Max, scalar.Min, 1, true, false},
	{scalar.Min, scalar.ReLU, -1, true, false}, {scalar.Max, scalar.ReLU, -1, true, false},
}

// distributive has for operations f and g a bit 1<<(common+1) for each operand that
// may be common.
type distributive [scalar.Select + 1][scalar.Select + 1]uint8

// newDistributive returns the tables of integers and of floating-point numbers.
func newDistributive(reassociate bool) (ints, floats *distributive) {
	ints, floats = new(distributive), new(distributive)
	for _, d := range distributions {
		if d.ints {
			ints[d.f][d.g] |= 1 << (d.common + 1)
		}
		if d.floats && reassociate {
			floats[d.f][d.g] |= 1 << (d.common + 1)
		}
	}
	return ints, floats
}

// distributes returns for which common operands g distributes over f.
func (s *search) distributes(f, g scalar.Op, t scalar.Type) uint8 {
	if t.Float() {
		return s.floats[f][g]
	}
	return s.ints[f][g]
}

func isPointwise(k tdfg.Kind) bool { return k == tdfg.Compute || k == tdfg.Convert }

// roots returns the classes of which c is a part and that are parts of no others, or
// c itself.
func (s *search) roots(c classID, list []classID) []classID {
	list = list[:0]
	for _, n := range s.each(c) {
		if s.headOf(n).kind != tdfg.Shrink {
			continue
		}
		if a := s.arg(n, 0); !s.class(a).part && !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		list = append(list, s.find(c))
	}
	return list
}
