package egraph

import (
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// Positions in the tables of a graph. What is interned is equal if and only if its
// positions are.
type (
	exprID  int32
	rectID  int32
	factsID int32
	headID  int32
	nodeID  int32
	classID int32
)

// none is no position, in each of the tables.
const none = -1

// everywhere is the position of the rectangle that is all of the lattice space.
const everywhere rectID = 0

// facts are tdfg.Facts in a form that compares fast.
type facts struct {
	typ     scalar.Type
	partial bool
	domain  rectID
}

// head is an operation without its operands. Fields that do not count for the kind
// are zero.
type head struct {
	kind  tdfg.Kind
	op    scalar.Op   // Compute, Reduce, Final
	typ   scalar.Type // Const, Convert, Stream
	form  uint8       // Const: what index is
	dim   int8        // Move, Broadcast, Reduce, Final
	group int32       // Reduce
	index int32       // Tensor: the array; Const: the parameter or expression; Stream: which one
	rect  rectID      // Tensor; Shrink: the domain of the result, in all dimensions
	dist  exprID      // Move, Broadcast
	count exprID      // Broadcast
	value scalar.Value
}

// The forms of constants.
const (
	formValue = iota
	formParam
	formIndex
)

// geometry interns expressions, rectangles, facts and heads, and remembers what was
// computed of them: there are few different ones, and many nodes.
type geometry struct {
	scope   *tdfg.Scope
	exprs   []lattice.Expr
	rects   []lattice.Rect
	facts   []facts
	heads   []head
	sorted  []bool // of heads: the order of the two operands does not count
	streams []*tdfg.StreamNode

	exprAt  map[string]exprID
	rectAt  map[string]rectID
	factsAt map[facts]factsID
	headAt  map[head]headID

	sums     map[[2]exprID]exprID
	meets    map[[2]rectID]rectID
	inferred map[inferKey]factsID
}

type inferKey struct {
	head headID
	args [3]factsID
}

func newGeometry(scope *tdfg.Scope) *geometry {
	t := &geometry{
		scope: scope, rects: []lattice.Rect{nil}, exprAt: map[string]exprID{}, rectAt: map[string]rectID{},
		factsAt: map[facts]factsID{}, headAt: map[head]headID{}, sums: map[[2]exprID]exprID{},
		meets: map[[2]rectID]rectID{}, inferred: map[inferKey]factsID{},
	}
	t.expr(lattice.Const(0)) // so that a dist of zero in a head is the number zero
	return t
}

func (t *geometry) expr(x lattice.Expr) exprID {
	s := x.String()
	id, ok := t.exprAt[s]
	if !ok {
		id = exprID(len(t.exprs))
		t.exprs = append(t.exprs, x)
		t.exprAt[s] = id
	}
	return id
}

func (t *geometry) rect(r lattice.Rect) rectID {
	if r == nil {
		return everywhere
	}
	s := r.String()
	id, ok := t.rectAt[s]
	if !ok {
		id = rectID(len(t.rects))
		t.rects = append(t.rects, r)
		t.rectAt[s] = id
	}
	return id
}

func (t *geometry) known(f facts) factsID {
	id, ok := t.factsAt[f]
	if !ok {
		id = factsID(len(t.facts))
		t.facts = append(t.facts, f)
		t.factsAt[f] = id
	}
	return id
}

func (t *geometry) internFacts(f tdfg.Facts) factsID {
	return t.known(facts{f.Type, f.Partial, t.rect(f.Domain)})
}

func (t *geometry) head(h head) headID {
	id, ok := t.headAt[h]
	if !ok {
		id = headID(len(t.heads))
		t.heads = append(t.heads, h)
		t.sorted = append(t.sorted, h.kind == tdfg.Compute && h.op.Arity() == 2 && h.op.Commutative())
		t.headAt[h] = id
	}
	return id
}

// sum returns x+y.
func (t *geometry) sum(x, y exprID) exprID {
	k := [2]exprID{min(x, y), max(x, y)}
	id, ok := t.sums[k]
	if !ok {
		id = t.expr(t.exprs[x].Add(t.exprs[y]))
		t.sums[k] = id
	}
	return id
}

// meet returns the points in both rectangles, or none where that is not decided.
func (t *geometry) meet(a, b rectID) rectID {
	if a == b || b == everywhere {
		return a
	}
	if a == everywhere {
		return b
	}
	k := [2]rectID{min(a, b), max(a, b)}
	id, ok := t.meets[k]
	if !ok {
		id = none
		if r, err := t.scope.Space.Intersect(t.rects[a], t.rects[b]); err == nil {
			id = t.rect(r)
		}
		t.meets[k] = id
	}
	return id
}

// node returns the tdfg.Node of a head, without its operands and facts. A Shrink
// of several dimensions is no single node: see graph.emit.
func (t *geometry) node(h headID) tdfg.Node {
	x := &t.heads[h]
	n := tdfg.Node{Kind: x.kind, Op: x.op}
	switch x.kind {
	case tdfg.Tensor:
		n.Array, n.Rect = int(x.index), t.rects[x.rect]
	case tdfg.Const:
		n.Type = x.typ
		switch x.form {
		case formValue:
			n.Value = x.value
		case formParam:
			n.Param = t.scope.Params[x.index].Name
		case formIndex:
			e := t.exprs[x.index]
			n.Index = &e
		}
	case tdfg.Convert:
		n.Type = x.typ
	case tdfg.Move:
		n.Dim, n.Dist = int(x.dim), t.exprs[x.dist]
	case tdfg.Broadcast:
		n.Dim, n.Dist, n.Count = int(x.dim), t.exprs[x.dist], t.exprs[x.count]
	case tdfg.Reduce, tdfg.Final:
		n.Dim, n.Group = int(x.dim), int(x.group)
	case tdfg.Stream:
		n.Stream, n.Type = t.streams[x.index], x.typ
	}
	return n
}

// infer returns the facts of an operation on operands with these facts, or none
// where tdfg.Scope.Infer refuses it. That is where all domains come from.
func (t *geometry) infer(h headID, args []factsID) factsID {
	k := inferKey{head: h}
	remember := len(args) <= len(k.args)
	if remember {
		copy(k.args[:], args)
		if id, ok := t.inferred[k]; ok {
			return id
		}
	}
	id := t.inferAnew(h, args)
	if remember {
		t.inferred[k] = id
	}
	return id
}

func (t *geometry) inferAnew(h headID, args []factsID) factsID {
	if x := &t.heads[h]; x.kind == tdfg.Shrink {
		f := t.facts[args[0]]
		if f.partial || f.domain == everywhere {
			return none
		}
		if f.domain = t.meet(f.domain, x.rect); f.domain == none {
			return none
		}
		return t.known(f)
	}
	n := t.node(h)
	of := make([]tdfg.Facts, len(args))
	for i, a := range args {
		f := t.facts[a]
		of[i] = tdfg.Facts{Type: f.typ, Domain: t.rects[f.domain], Partial: f.partial}
	}
	f, err := t.scope.Infer(&n, of)
	if err != nil {
		return none
	}
	return t.internFacts(f)
}
