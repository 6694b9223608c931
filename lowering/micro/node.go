package micro

import (
	"slices"

	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/uop"
)

// nodeKind says how a node of an expression becomes scalar micro-ops.
type nodeKind uint8

const (
	constNode  nodeKind = iota
	elemNode            // what the stream has read
	refNode             // the value of a stream, a variable, a parameter
	sameNode            // a conversion that takes no micro-op
	opNode              // one micro-op
	leastNode           // minimum or maximum of integers: a comparison and a conditional move
	selectNode          // a branch, or a conditional move
	andNode             // of conditions: the second one counts only where the first one holds
	orNode
	notNode
	testNode // a comparison, or whether something is not 0
)

// node is an expression of scalar code. Conditions are branches: each comparison is made
// once, where its outcome is first needed, and what depends on it follows from the way
// that the program takes. The state of threads is theirs, by the numbers of nodes.
type node struct {
	id   int32
	kind nodeKind
	x    *stream.Expr
	from scalar.Type // of the operands
	args []*node
	slot int32  // of a refNode
	test int32  // number of a testNode
	op   uop.Op // without sources
	move uop.Op // of a selectNode and a leastNode: the conditional move; of a testNode: its value in a register
	jump uop.Op // of a testNode
}

// slots number what has a value: streams, then variables of loops, parameters and symbols.
type slots map[string]int32

// builder makes nodes.
type builder struct {
	p     *Program
	tests map[string]int32
	names slots
	done  map[*stream.Expr]*node
	t     *template // at hand
}

func (b *builder) node(kind nodeKind, x *stream.Expr) *node {
	n := &node{id: int32(b.p.nodes), kind: kind, x: x}
	b.p.nodes++
	return n
}

// expr makes the nodes of an expression of the stream at hand.
func (b *builder) expr(x *stream.Expr) (n *node, err error) {
	if n := b.done[x]; n != nil {
		return n, nil
	}
	defer func() {
		if err == nil {
			b.done[x] = n
		}
	}()
	p := b.p
	switch x.Kind {
	case stream.ElemExpr:
		return b.node(elemNode, x), nil
	case stream.ConstExpr:
		return b.node(constNode, x), nil
	case stream.RefExpr:
		n = b.node(refNode, x)
		n.slot = b.names[x.Name]
		return n, nil
	}
	var args []*node
	for _, a := range x.Args {
		m, err := b.expr(a)
		if err != nil {
			return nil, err
		}
		args = append(args, m)
	}
	from := p.resultOf(x.Args[len(x.Args)-1], b.t)
	kind := opNode
	result := x.Type
	if x.Kind == stream.ApplyExpr {
		result = x.Op.Result(from)
	}
	switch {
	case x.Kind == stream.ConvertExpr && result == scalar.Bool && from != scalar.Bool:
		kind = testNode
	case x.Kind == stream.ConvertExpr && free(x, from):
		kind = sameNode
	case x.Kind == stream.ConvertExpr:
	case x.Op == scalar.Select:
		kind = selectNode
		if least(x) && from.Float() {
			kind = opNode
			args = args[1:] // the comparison is part of it
		}
	case x.Op.Compares():
		kind = testNode
	case from == scalar.Bool && x.Op == scalar.And:
		kind = andNode
	case from == scalar.Bool && x.Op == scalar.Or:
		kind = orNode
	case from == scalar.Bool && x.Op == scalar.Not:
		kind = notNode
	case from == scalar.Bool && x.Op == scalar.Xor:
		kind = testNode
	case from.Int() && (x.Op == scalar.Min || x.Op == scalar.Max):
		kind = leastNode
	}
	n = b.node(kind, x)
	n.from, n.args = from, args
	op := func(k uop.Kind) (uop.Op, error) {
		r, err := p.reg()
		return uop.Op{PC: p.pc(), Kind: k, Lanes: 1, Dst: r}, err
	}
	switch kind {
	case opNode, leastNode, testNode:
		k := kindOf(x, from)
		if kind == opNode && x.Op == scalar.Select { // the lesser of two
			k = uop.FPAdd
		}
		if kind == testNode && from.Int() {
			k = uop.IntALU
		}
		if n.op, err = op(k); err != nil {
			return nil, err
		}
	}
	switch kind {
	case leastNode, selectNode, testNode:
		if n.move, err = op(uop.IntALU); err != nil {
			return nil, err
		}
	}
	if kind == testNode {
		key := x.String()
		x.Walk(func(y *stream.Expr) {
			if y.Kind == stream.ElemExpr { // another one for each stream
				key = b.t.s.Name + " " + key
			}
		})
		id, ok := b.tests[key]
		if !ok {
			id = int32(len(p.tests))
			b.tests[key] = id
			p.tests = append(p.tests, nil)
			x.Walk(func(y *stream.Expr) {
				if y.Kind == stream.RefExpr {
					s := b.names[y.Name]
					if !slices.Contains(p.depend[s], id) {
						p.depend[s] = append(p.depend[s], id)
					}
				}
			})
		}
		n.test = id
		n.jump = uop.Op{PC: p.pc(), Kind: uop.Branch, Lanes: 1}
	}
	return n, nil
}

// least reports whether a choice is the lesser or greater of two, as x86's minss has it.
func least(x *stream.Expr) bool {
	c := x.Args[0]
	if c.Kind != stream.ApplyExpr || !c.Op.Compares() || c.Op == scalar.Eq || c.Op == scalar.Ne {
		return false
	}
	a, b := c.Args[0].String(), c.Args[1].String()
	p, q := x.Args[1].String(), x.Args[2].String()
	return a == p && b == q || a == q && b == p
}

// eval returns the value of an expression at present.
func (t *thread) eval(n *node) scalar.Value {
	switch n.kind {
	case constNode:
		return n.x.Bits
	case elemNode:
		return t.elem
	case refNode:
		return t.val[n.slot]
	case andNode:
		if t.eval(n.args[0]) == 0 {
			return 0
		}
		return t.eval(n.args[1])
	case orNode:
		if t.eval(n.args[0]) != 0 {
			return 1
		}
		return t.eval(n.args[1])
	case notNode:
		return t.eval(n.args[0]) ^ 1
	case selectNode:
		if t.eval(n.args[0]) != 0 {
			return t.eval(n.args[1])
		}
		return t.eval(n.args[2])
	}
	if n.x.Kind == stream.ConvertExpr {
		return scalar.Convert(n.from, n.x.Type, t.eval(n.args[0]))
	}
	if n.x.Op == scalar.Select {
		return scalar.Eval(n.x.Op, n.from, t.evalTest(n.x.Args[0], n), t.eval(n.args[0]), t.eval(n.args[1]))
	}
	switch len(n.args) {
	case 1:
		return scalar.Eval(n.x.Op, n.from, t.eval(n.args[0]))
	case 2:
		return scalar.Eval(n.x.Op, n.from, t.eval(n.args[0]), t.eval(n.args[1]))
	}
	return scalar.Eval(n.x.Op, n.from, t.eval(n.args[0]), t.eval(n.args[1]), t.eval(n.args[2]))
}

// evalTest evaluates the comparison of a minimum: its operands are the choices.
func (t *thread) evalTest(c *stream.Expr, n *node) scalar.Value {
	a, b := t.eval(n.args[0]), t.eval(n.args[1])
	if c.Args[0].String() != n.x.Args[1].String() {
		a, b = b, a
	}
	return scalar.Eval(c.Op, n.from, a, b)
}

// lazy reports whether a slot is a condition, which is looked at where it is needed.
func (t *thread) lazy(slot int32) *template {
	if int(slot) < len(t.p.streams) && t.p.streams[slot].lazy {
		return t.p.streams[slot]
	}
	return nil
}

// known reports whether the way that the program has taken says what a condition is.
func (t *thread) known(n *node) bool {
	switch n.kind {
	case constNode:
		return true
	case refNode:
		tm := t.lazy(n.slot)
		if tm == nil || !t.fresh[n.slot] {
			return tm != nil
		}
		t.fresh[n.slot] = false // of itself, it has the value from before
		known := t.known(tm.one.value)
		t.fresh[n.slot] = true
		return known
	case notNode, sameNode:
		return t.known(n.args[0])
	case andNode, orNode:
		if !t.known(n.args[0]) {
			return false
		}
		return (t.eval(n.args[0]) != 0) == (n.kind == orNode) || t.known(n.args[1])
	case selectNode:
		if !t.known(n.args[0]) {
			return false
		}
		if t.eval(n.args[0]) != 0 {
			return t.known(n.args[1])
		}
		return t.known(n.args[2])
	case testNode:
		return t.decided[n.test]
	}
	return false
}

// branch makes the micro-ops that find out a condition, and jumps by it.
func (t *thread) branch(n *node) bool {
	switch n.kind {
	case refNode:
		if tm := t.lazy(n.slot); tm != nil {
			if t.fresh[n.slot] {
				t.fresh[n.slot] = false
				t.branch(tm.one.value)
			}
			return t.val[n.slot] != 0
		}
	case sameNode:
		return t.branch(n.args[0])
	case notNode:
		return !t.branch(n.args[0])
	case andNode:
		return t.branch(n.args[0]) && t.branch(n.args[1])
	case orNode:
		return t.branch(n.args[0]) || t.branch(n.args[1])
	case selectNode:
		if t.branch(n.args[0]) {
			return t.branch(n.args[1])
		}
		return t.branch(n.args[2])
	case testNode:
		v := t.eval(n) != 0
		if t.decided[n.test] {
			return v
		}
		t.decided[n.test] = true
		t.test(n)
		o := n.jump
		o.Src[0] = n.op.Dst
		if !v {
			o.Flags |= uop.Taken
		}
		t.out.Ops = append(t.out.Ops, o)
		return v
	}
	return t.eval(n) != 0
}

// test makes the micro-op of a comparison.
func (t *thread) test(n *node) {
	o := n.op
	for i, a := range n.args {
		o.Src[i] = t.value(a)
	}
	t.out.Ops = append(t.out.Ops, o)
}

// value makes the micro-ops of an expression, once for each step, and returns the
// register of its value, 0 for a constant.
func (t *thread) value(n *node) uop.Reg {
	switch n.kind {
	case constNode:
		return 0
	case elemNode:
		return t.elemReg
	case sameNode:
		return t.value(n.args[0])
	case refNode:
		if tm := t.lazy(n.slot); tm != nil {
			if t.known(n) {
				return 0
			}
			t.fresh[n.slot] = false
			r := t.value(tm.one.value)
			t.fresh[n.slot] = true
			return r
		}
		return t.cur[n.slot]
	}
	if t.stamp[n.id] == t.now {
		return t.reg[n.id]
	}
	r := t.make(n)
	t.stamp[n.id], t.reg[n.id] = t.now, r
	return r
}

func (t *thread) make(n *node) uop.Reg {
	switch n.kind {
	case selectNode:
		c, a, b := n.args[0], n.args[1], n.args[2]
		if !t.known(c) && (c.kind == testNode && plain(a) && plain(b)) && n.from != scalar.Bool {
			t.test(c)
			o := n.move
			o.Src = [3]uop.Reg{c.op.Dst, t.value(a), t.value(b)}
			t.out.Ops = append(t.out.Ops, o)
			return o.Dst
		}
		if t.branch(c) {
			return t.value(a)
		}
		return t.value(b)
	case leastNode:
		t.test(n)
		o := n.move
		o.Src[0] = n.op.Dst
		t.out.Ops = append(t.out.Ops, o)
		return o.Dst
	case testNode:
		t.test(n)
		o := n.move
		o.Src[0] = n.op.Dst
		t.out.Ops = append(t.out.Ops, o)
		return o.Dst
	case notNode:
		return t.value(n.args[0]) // the opposite comparison
	case andNode, orNode:
		if t.branch(n.args[0]) == (n.kind == andNode) {
			return t.value(n.args[1])
		}
		return 0
	}
	o := n.op
	for i, a := range n.args {
		o.Src[i] = t.value(a)
	}
	t.out.Ops = append(t.out.Ops, o)
	return o.Dst
}

// plain reports whether a choice is in a register already.
func plain(n *node) bool {
	for n.kind == sameNode {
		n = n.args[0]
	}
	return n.kind == constNode || n.kind == refNode || n.kind == elemNode
}
