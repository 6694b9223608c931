package cfront

import (
	"slices"

	"modernc.org/cc/v4"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// maxCopied bounds the elements of a member that is copied with its structure.
const maxCopied = 64

// maxListed bounds how many initial values an array may have.
const maxListed = 256

// scope says whose a local array is that is declared here: of each thread, inside of a
// parallel loop.
func (c *converter) scope() stream.Scope {
	if slices.ContainsFunc(c.loops, func(l *loop) bool { return l.parallel != nil }) {
		return stream.Private
	}
	return stream.Shared
}

// newArray declares an array that is no parameter.
func (c *converter) newArray(name string, t scalar.Type, size []lattice.Expr, scope stream.Scope, at Pos) *array {
	a := &array{name: c.k.unique(name), typ: t, pos: at, declared: true, scope: scope, size: size}
	c.k.arrays = append(c.k.arrays, a)
	return a
}

// localArray declares a local array.
func (c *converter) localArray(name string, t scalar.Type, size []cc.ExpressionNode, in *cc.Initializer, guard *expr, out *[]stmt, at Pos) {
	if t == scalar.Bool {
		fail(at, "array %s of _Bool: supported are %s", name, someTypes)
	}
	var dims []lattice.Expr
	for _, n := range size {
		if n == nil {
			fail(at, "array %s without a size, expected one such as %s[16]", name, name)
		}
		dims = append(dims, c.size(n))
	}
	a := c.newArray(name, t, dims, c.scope(), at)
	c.bind(name, a)
	if in != nil {
		c.listed(a, in, guard, out, at)
	}
}

// listed gives an array its initial values.
func (c *converter) listed(a *array, in *cc.Initializer, guard *expr, out *[]stmt, at Pos) {
	var counts []int64
	total := int64(1)
	for _, x := range a.size {
		k, ok := x.Const()
		if !ok {
			fail(at, "initial values of %s, whose size is no constant", a.name)
		}
		counts = append(counts, k)
		total *= k
	}
	values := map[int64]*expr{}
	var fill func(in *cc.Initializer, dim int, base int64)
	fill = func(in *cc.Initializer, dim int, base int64) {
		step := int64(1)
		for _, k := range counts[min(dim+1, len(counts)):] {
			step *= k
		}
		i := int64(0)
		for l := in.InitializerList; l != nil; l = l.InitializerList {
			if l.Designation != nil {
				fail(c.u.pos(l.Initializer), "a value for a named element: expected the values of %s in their order", a.name)
			}
			if dim >= len(counts) || i >= counts[dim] && l.Initializer.AssignmentExpression == nil || base+i >= total {
				fail(c.u.pos(l.Initializer), "more values than %s has elements", a.name)
			}
			if x := l.Initializer.AssignmentExpression; x != nil {
				if dim+1 < len(counts) { // without braces of its own
					step = 1
				}
				values[base+i*step] = convert(c.expr(x), a.typ)
			} else {
				fill(l.Initializer, dim+1, base+i*step)
			}
			i++
		}
	}
	if in.AssignmentExpression != nil {
		fail(at, "an initial value of array %s, expected a list such as {0}", a.name)
	}
	fill(in, 0, 0)
	if len(values) > maxListed {
		fail(at, "%d initial values of %s, expected at most %d", len(values), a.name, maxListed)
	}
	elem := func(flat *expr, place int64) *expr {
		x := &expr{kind: elemExpr, typ: a.typ, pos: at, array: a}
		for d := len(counts) - 1; d >= 0; d-- {
			i := intConst(at, scalar.Int64, place%counts[d])
			if flat != nil {
				i = intConst(at, scalar.Int64, 0)
				if d == len(counts)-1 {
					i = flat
				}
			}
			x.index = append([]*expr{i}, x.index...)
			place /= counts[d]
		}
		return x
	}
	if int64(len(values)) < total {
		// Zeros by a loop for each dimension.
		zero := &expr{kind: elemExpr, typ: a.typ, pos: at, array: a}
		body := out
		loops := c.loops
		for _, k := range counts {
			l := &loop{pos: at, step: 1, from: intConst(at, scalar.Int64, 0), to: intConst(at, scalar.Int64, k)}
			if guard != nil {
				l.guard, l.to = guard, choose(at, guard, l.to, l.from)
				guard = nil
			}
			l.v = c.declare("zero", loopVar, scalar.Int64, at)
			l.v.symbol = true
			c.loops = append(c.loops, l)
			zero.index = append(zero.index, ref(l.v, at))
			*body = append(*body, l)
			body = &l.body
		}
		*body = append(*body, &assign{target: zero, value: &expr{kind: constExpr, typ: a.typ, pos: at}, pos: at})
		c.loops = loops
		guard = c.guard
	}
	for i := range total {
		if x := values[i]; x != nil && !(x.kind == constExpr && x.value == 0 && int64(len(values)) < total) {
			*out = append(*out, c.assign(elem(nil, i), x, guard, at))
		}
	}
}

// localStruct declares a structure, or an array of them, that is no parameter.
func (c *converter) localStruct(t *structure, d *cc.Declarator, in *cc.Initializer, guard *expr, out *[]stmt) {
	name, at := d.Name(), c.u.pos(d)
	if len(t.fields) == 0 {
		fail(at, "structure %s is not declared yet", t.name)
	}
	size, _ := c.dims(d)
	o := &object{name: name, typ: t, single: size == nil}
	if o.single && !c.whole.memory[name] {
		o.vars = map[string]*variable{}
		for _, f := range t.fields {
			if f.dims != nil {
				o.vars = nil
				break
			}
			o.vars[f.name] = c.declare(name+"."+f.name, localVar, f.typ, at)
		}
	}
	if o.vars == nil {
		o.fields = map[string]*array{}
		n := lattice.Const(1)
		if !o.single {
			if len(size) != 1 || size[0] == nil {
				fail(at, "%s of structures, expected an array such as %s[16]", name, name)
			}
			n = c.size(size[0])
		}
		for i := range t.fields {
			f := &t.fields[i]
			a := c.newArray(name+"."+f.name, f.typ, nil, c.scope(), at)
			a.inner = f.dims
			a.size = a.shape(n)
			o.fields[f.name] = a
		}
	}
	c.bind(name, o)
	if in == nil {
		return
	}
	if in.AssignmentExpression != nil {
		c.copied(d, in.AssignmentExpression, o, guard, out, at)
		return
	}
	i := 0
	for l := in.InitializerList; l != nil; l = l.InitializerList {
		if !o.single || i >= len(t.fields) || l.Initializer.AssignmentExpression == nil || l.Designation != nil || t.fields[i].dims != nil {
			fail(c.u.pos(l.Initializer), "initial values of %s, expected one for each member, in their order", name)
		}
		c.setMember(place{object: o}, &t.fields[i], 0, c.memberValue(&t.fields[i], l.Initializer.AssignmentExpression), guard, out, at)
		i++
	}
	for ; i < len(t.fields); i++ {
		zero := &expr{kind: constExpr, typ: t.fields[i].typ, pos: at}
		if t.fields[i].ptr {
			zero = intConst(at, scalar.Int64, -1)
		}
		for k := range t.fields[i].count() {
			c.setMember(place{object: o}, &t.fields[i], k, zero, guard, out, at)
		}
	}
}

// memberValue converts what a member is given.
func (c *converter) memberValue(f *field, n cc.ExpressionNode) *expr {
	if f.ptr {
		_, x := c.address(n)
		return x
	}
	return c.expr(n)
}

// memberOf returns a member, or an element of one that is an array, as a variable or an
// element.
func (c *converter) memberOf(p place, f *field, elem int64, at Pos) *expr {
	if p.object.vars != nil {
		return ref(p.object.vars[f.name], at)
	}
	if len(p.index) == 0 {
		p.index = []*expr{intConst(at, scalar.Int64, 0)}
	}
	index := slices.Clone(p.index)
	for d := range f.dims {
		step := int64(1)
		for _, n := range f.dims[d+1:] {
			step *= n
		}
		index = append(index, intConst(at, scalar.Int64, elem/step%f.dims[d]))
	}
	return c.element1(place{array: p.object.fields[f.name], index: index}, at)
}

// count returns how many elements a member has.
func (f *field) count() int64 {
	n := int64(1)
	for _, k := range f.dims {
		n *= k
	}
	return n
}

func (c *converter) setMember(p place, f *field, elem int64, x *expr, guard *expr, out *[]stmt, at Pos) {
	*out = append(*out, c.assign(c.memberOf(p, f, elem, at), x, guard, at))
}

// isStruct reports whether an expression is a structure, and no pointer to one.
func (c *converter) isStruct(n cc.ExpressionNode) (p place, ok bool) {
	if c.whole == nil {
		return p, false
	}
	switch unwrap(n).(type) {
	case *cc.PrimaryExpression, *cc.PostfixExpression, *cc.UnaryExpression:
	default:
		return p, false
	}
	if c.isPointer(n) {
		return p, false
	}
	if u, is := unwrap(n).(*cc.PostfixExpression); is && u.Case == cc.PostfixExpressionCall {
		return p, false
	}
	if p, ok = c.peek(n); !ok || p.object == nil {
		return p, false
	}
	return c.place(n)
}

// copied assigns a structure. It reports false if the target is none.
func (c *converter) copied(target cc.Node, value cc.ExpressionNode, to *object, guard *expr, out *[]stmt, at Pos) bool {
	p := place{object: to}
	if to == nil {
		var ok bool
		if p, ok = c.isStruct(target.(cc.ExpressionNode)); !ok {
			return false
		}
	}
	q, ok := c.isStruct(value)
	if !ok || q.object.typ != p.object.typ {
		fail(at, "structure %s, expected another one of its type", p.object.typ.name)
	}
	// All members are read before one is written: both may be the same.
	var values []*expr
	for i := range p.object.typ.fields {
		f := &p.object.typ.fields[i]
		if f.count() > maxCopied {
			fail(at, "a copy of structure %s, whose member %s has %d elements, expected at most %d", p.object.typ.name, f.name, f.count(), maxCopied)
		}
		for k := range f.count() {
			v := c.declare("copy", localVar, f.typ, at)
			*out = append(*out, c.assign(ref(v, at), c.memberOf(q, f, k, at), guard, at))
			values = append(values, ref(v, at))
		}
	}
	for i := range p.object.typ.fields {
		f := &p.object.typ.fields[i]
		for k := range f.count() {
			c.setMember(p, f, k, values[0], guard, out, at)
			values = values[1:]
		}
	}
	return true
}

// inMemory finds the local variables that must be in memory: those that threads share and
// change, by atomic operations or in critical sections, and those whose address is taken.
func (c *converter) inMemory() map[string]bool {
	names := map[string]bool{}
	for _, f := range c.funcs {
		tokens := sorted(f.CompoundStatement)
		call, depth, comma := 0, 0, 0 // of a compare-exchange, whose second argument is a local variable
		for i, t := range tokens {
			switch w := t.SrcStr(); {
			case w == "__atomic_compare_exchange_n":
				call, depth, comma = 1, 0, 0
			case call > 0 && w == "(":
				depth++
			case call > 0 && w == ")":
				if depth--; depth == 0 {
					call = 0
				}
			case call > 0 && w == "," && depth == 1:
				comma++
			case w == "&" && i+2 < len(tokens) && (i == 0 || !operand(tokens[i-1].SrcStr())) && !(call > 0 && depth == 1 && comma == 1):
				if next := tokens[i+2].SrcStr(); next != "[" && next != "." && next != "->" {
					names[tokens[i+1].SrcStr()] = true
				}
			}
		}
		for _, o := range c.u.omp {
			if o.words[0] != "atomic" && o.words[0] != "critical" {
				continue
			}
			if s := statementAt(c, f.CompoundStatement, o.next); s != nil {
				for _, name := range assignedIn(s) {
					names[name] = true
				}
			}
		}
	}
	return names
}

// statementAt returns the statement that begins at a place, nil if there is none.
func statementAt(c *converter, body *cc.CompoundStatement, at Pos) *cc.Statement {
	var find func(s *cc.Statement) *cc.Statement
	block := func(b *cc.CompoundStatement) *cc.Statement {
		for l := b.BlockItemList; l != nil; l = l.BlockItemList {
			if l.BlockItem.Case == cc.BlockItemStmt {
				if s := find(l.BlockItem.Statement); s != nil {
					return s
				}
			}
		}
		return nil
	}
	find = func(s *cc.Statement) *cc.Statement {
		if s == nil {
			return nil
		}
		if p := c.u.pos(s); p == at {
			return s
		}
		switch s.Case {
		case cc.StatementCompound:
			return block(s.CompoundStatement)
		case cc.StatementSelection:
			if x := find(s.SelectionStatement.Statement); x != nil {
				return x
			}
			return find(s.SelectionStatement.Statement2)
		case cc.StatementIteration:
			return find(s.IterationStatement.Statement)
		}
		return nil
	}
	return block(body)
}

// assignedIn lists the names of variables that a statement assigns and does not declare.
func assignedIn(s cc.Node) []string {
	var names []string
	tokens := sorted(s)
	word := func(i int) string {
		if i < 0 || i >= len(tokens) {
			return ""
		}
		return tokens[i].SrcStr()
	}
	declared := map[string]bool{}
	for i, t := range tokens {
		w := t.SrcStr()
		if w == "" || !operand(w) || w == ")" || w == "]" || w[0] >= '0' && w[0] <= '9' {
			continue
		}
		before, after := word(i-1), word(i+1)
		if before != "return" && before != "else" && operand(before) && before != ")" && before != "]" { // a type
			declared[w] = true
		}
		if before == "." || before == "->" || declared[w] {
			continue
		}
		if before == "++" || before == "--" || after == "++" || after == "--" || assigns[after] {
			names = append(names, w)
		}
	}
	return names
}

var assigns = map[string]bool{"=": true, "+=": true, "-=": true, "*=": true, "/=": true, "%=": true, "&=": true, "|=": true, "^=": true, "<<=": true, ">>=": true}

// sorted returns the tokens of a node in the order of the text.
func sorted(n cc.Node) []cc.Token {
	tokens := cc.NodeTokens(n)
	slices.SortStableFunc(tokens, func(a, b cc.Token) int { return int(a.Seq()) - int(b.Seq()) })
	return tokens
}
