package cfront

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"modernc.org/cc/v4"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// CompileWhole returns the stream graph of a whole function, in the order of the
// program: all of its loops and statements, whether or not they could be tensors. The
// function is the one with a region, or else the last that is not static. What no
// tensor needs is allowed here: while, break, continue and return, structures and
// pointers to them, atomic operations, double, bounds and subscripts of any kind, and
// OpenMP's parallel loops.
//
// Of Options, only Defines, Files and Values count. Errors are as for Compile.
func CompileWhole(ctx context.Context, file, source string, opt Options) (g *stream.Graph, err error) {
	defer func() {
		if x := recover(); x != nil {
			e, ok := x.(*Error)
			if !ok {
				panic(x)
			}
			g, err = nil, e
		}
	}()
	u, err := parse(file, source, opt.Files)
	if err != nil {
		return nil, err
	}
	c := &converter{u: u, defines: opt.Defines, values: opt.Values, types: map[string]scalar.Type{}, funcs: map[string]*cc.FunctionDefinition{}, whole: &whole{structs: map[string]*structure{}}}
	k := c.wholeUnit()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return wholeGraph(k)
}

// whole is what a converter needs for a whole function.
type whole struct {
	structs map[string]*structure // by tag, and by the names that typedef gives
	objects []*object
}

// structure is a struct type, laid out as on x86-64.
type structure struct {
	name   string
	fields []field
	size   int64
	align  int64
}

type field struct {
	name   string
	typ    scalar.Type
	to     *structure // what a pointer points to, its typ is int64 then
	ptr    bool
	dims   []int64
	offset int64
}

// object is an array of structures, kept as an array for each member.
type object struct {
	name   string
	typ    *structure
	fields map[string]*array
}

// pointer is a variable that points to an element of an array: its index, -1 for NULL.
type pointer struct {
	array  *array  // of numbers, or
	object *object // of structures
	index  *variable
}

// place is what an expression designates: an array or object, with subscripts, fewer
// than it has dimensions where it is a pointer to the rest.
type place struct {
	array  *array
	object *object
	index  []*expr
}

// wholeUnit converts the function.
func (c *converter) wholeUnit() *kernel {
	u := c.u
	var def *cc.FunctionDefinition
	var at Pos
	if len(u.region) > 0 {
		at = u.region[0].pos
	}
	for n := u.ast.TranslationUnit; n != nil; n = n.TranslationUnit {
		d := n.ExternalDeclaration
		switch {
		case d == nil:
		case d.FunctionDefinition != nil:
			f := d.FunctionDefinition
			c.funcs[f.Declarator.Name()] = f
			if !u.own(f.Declarator) {
				continue
			}
			first, last := u.pos(f.CompoundStatement.Token), u.pos(f.CompoundStatement.Token2)
			switch {
			case len(u.region) > 0:
				if !before(at, first) && before(at, last) {
					def = f
				}
			case !static(f.DeclarationSpecifiers):
				def = f
			}
		case d.Declaration != nil:
			c.structures(d.Declaration.DeclarationSpecifiers)
			c.global(d.Declaration)
			c.typedefs(d.Declaration)
		}
	}
	if def == nil {
		fail(Pos{File: u.file}, "no function that is not static, expected one with sizes and arrays for parameters")
	}
	c.k = &kernel{name: def.Declarator.Name(), pos: u.pos(def.Declarator), taken: map[string]bool{}}
	if len(u.region) > 0 {
		c.k.reassociate = u.region[0].reassociate
	}
	c.scopes = []map[string]any{{}}
	c.params(def)
	for l := def.CompoundStatement.BlockItemList; l != nil; l = l.BlockItemList {
		if l.BlockItem.Case == cc.BlockItemStmt {
			c.infArray(l.BlockItem.Statement)
		}
	}
	c.out = &c.k.body
	for _, v := range slices.Clone(c.k.vars) {
		if v.kind == paramVar && changes(def, v.name) {
			copied := c.declare(v.name+".now", localVar, v.typ, v.pos)
			c.k.body = append(c.k.body, c.assign(&expr{kind: varExpr, typ: v.typ, pos: v.pos, v: copied}, &expr{kind: varExpr, typ: v.typ, pos: v.pos, v: v}, nil, v.pos))
			c.bind(v.name, copied)
		}
	}
	c.calls = []*returning{{name: c.k.name}}
	c.early(def.CompoundStatement)
	c.push()
	for l := def.CompoundStatement.BlockItemList; l != nil; l = l.BlockItemList {
		if l.BlockItem.Case == cc.BlockItemStmt && isInfArray(l.BlockItem.Statement) {
			continue
		}
		c.item(l.BlockItem, nil, &c.k.body)
	}
	c.pop()
	return c.k
}

func static(s *cc.DeclarationSpecifiers) bool {
	for ; s != nil; s = s.DeclarationSpecifiers {
		if s.StorageClassSpecifier != nil && s.StorageClassSpecifier.Case == cc.StorageClassSpecifierStatic {
			return true
		}
	}
	return false
}

// early prepares for returns that something follows.
func (c *converter) early(body *cc.CompoundStatement) {
	r := c.calls[len(c.calls)-1]
	tail := false
	for l := body.BlockItemList; l != nil; l = l.BlockItemList {
		tail = l.BlockItemList == nil && l.BlockItem.Case == cc.BlockItemStmt && l.BlockItem.Statement.Case == cc.StatementJump
	}
	n := 0
	for _, t := range cc.NodeTokens(body) {
		if t.SrcStr() == "return" {
			n++
		}
	}
	if tail {
		n--
	}
	if n > 0 {
		r.done = c.flag("returned", false, c.u.pos(body), c.out, c.guard)
	}
}

// flag declares a condition with a first value.
func (c *converter) flag(name string, value bool, at Pos, out *[]stmt, guard *expr) *variable {
	v := c.declare(name, localVar, scalar.Bool, at)
	c.set(v, value, at, out, guard)
	return v
}

func (c *converter) set(v *variable, value bool, at Pos, out *[]stmt, guard *expr) {
	x := int64(0)
	if value {
		x = 1
	}
	*out = append(*out, c.assign(ref(v, at), intConst(at, scalar.Bool, x), guard, at))
}

func ref(v *variable, at Pos) *expr { return &expr{kind: varExpr, typ: v.typ, pos: at, v: v} }

// structures notes the structures that a declaration defines.
func (c *converter) structures(s *cc.DeclarationSpecifiers) *structure {
	for ; s != nil; s = s.DeclarationSpecifiers {
		if s.TypeSpecifier != nil {
			if t := c.structOf(s.TypeSpecifier); t != nil {
				return t
			}
		}
	}
	return nil
}

// typedefs notes names of structures.
func (c *converter) typedefs(d *cc.Declaration) {
	t := c.structures(d.DeclarationSpecifiers)
	for l := d.InitDeclaratorList; t != nil && l != nil; l = l.InitDeclaratorList {
		if dec := l.InitDeclarator.Declarator; dec.Pointer == nil {
			c.whole.structs[dec.Name()] = t
		}
	}
}

// structOf returns the structure that a type specifier is, nil if it is none.
func (c *converter) structOf(s *cc.TypeSpecifier) *structure {
	if c.whole == nil {
		return nil
	}
	if s.Case == cc.TypeSpecifierTypeName {
		return c.whole.structs[s.Token.SrcStr()]
	}
	su := s.StructOrUnionSpecifier
	if su == nil {
		return nil
	}
	tag := ""
	if t := su.Token.SrcStr(); t != "{" {
		tag = t
	}
	key := "struct " + tag
	if su.StructDeclarationList == nil {
		if c.whole.structs[key] == nil {
			c.whole.structs[key] = &structure{name: tag}
		}
		return c.whole.structs[key]
	}
	t := c.whole.structs[key]
	if t == nil || tag == "" {
		t = &structure{name: tag, align: 1}
		if tag != "" {
			c.whole.structs[key] = t
		}
	}
	if len(t.fields) > 0 {
		return t
	}
	if su.StructOrUnion != nil && su.StructOrUnion.Token.SrcStr() == "union" {
		fail(c.u.pos(su), "a union: supported are structures of numbers and of pointers to structures")
	}
	t.align = 1
	for l := su.StructDeclarationList; l != nil; l = l.StructDeclarationList {
		d := l.StructDeclaration
		var list []*cc.TypeSpecifier
		for q := d.SpecifierQualifierList; q != nil; q = q.SpecifierQualifierList {
			if q.TypeSpecifier != nil {
				list = append(list, q.TypeSpecifier)
			}
		}
		for x := d.StructDeclaratorList; x != nil; x = x.StructDeclaratorList {
			dec := x.StructDeclarator.Declarator
			if dec == nil || x.StructDeclarator.ConstantExpression != nil {
				fail(c.u.pos(d), "a member without a name or of some bits: supported are numbers and pointers to structures")
			}
			sizes, depth := c.dims(dec)
			f := field{name: dec.Name()}
			f.typ, _ = c.typeOf(list)
			size := int64(f.typ.Bytes())
			switch {
			case depth == 1:
				f.ptr, f.typ, size = true, scalar.Int64, 8
				if len(list) == 1 {
					f.to = c.structOf(list[0])
				}
				if f.to == nil {
					fail(c.u.pos(dec), "member %s points to numbers: supported are pointers to structures", f.name)
				}
			case depth > 1 || f.typ == scalar.Invalid || f.typ == scalar.Bool:
				fail(c.u.pos(dec), "member %s: supported are %s, and pointers to structures", f.name, someTypes)
			}
			align := size
			for _, n := range sizes {
				e, ok := affine(c.expr(n))
				k, isConst := e.Const()
				if !ok || !isConst || k < 1 {
					fail(c.u.pos(dec), "member %s has a size that is no constant", f.name)
				}
				f.dims = append(f.dims, k)
				size *= k
			}
			f.offset = (t.size + align - 1) / align * align
			t.size, t.align = f.offset+size, max(t.align, align)
			t.fields = append(t.fields, f)
		}
	}
	t.size = (t.size + t.align - 1) / t.align * t.align
	return t
}

// structParam declares a parameter that is an array of structures.
func (c *converter) structParam(t *structure, p *cc.ParameterDeclaration) {
	name, at := p.Declarator.Name(), c.u.pos(p.Declarator)
	size, depth := c.dims(p.Declarator)
	if len(size)+depth != 1 {
		fail(at, "%s of structures, expected an array or a pointer such as %s[N]", name, name)
	}
	o := &object{name: name, typ: t, fields: map[string]*array{}}
	for i := range t.fields {
		f := &t.fields[i]
		a := &array{name: name + "." + f.name, typ: f.typ, pos: at, pointer: depth > 0 || size[0] == nil, field: &stream.Field{Of: name, Offset: f.offset, Stride: t.size}, inner: f.dims}
		if !a.pointer {
			a.size = a.shape(c.size(size[0]))
		}
		o.fields[f.name] = a
		c.k.taken[a.name] = true
		c.k.arrays = append(c.k.arrays, a)
	}
	c.whole.objects = append(c.whole.objects, o)
	c.bind(name, o)
}

// shape returns the sizes of a member of n structures.
func (a *array) shape(n lattice.Expr) []lattice.Expr {
	size := []lattice.Expr{n}
	for _, k := range a.inner {
		size = append(size, lattice.Const(k))
	}
	return size
}

// place returns what an expression designates, if that is an array, a part of one, or
// an element.
func (c *converter) place(n cc.ExpressionNode) (p place, ok bool) {
	n = unwrap(n)
	at := c.u.pos(n)
	switch n := n.(type) {
	case *cc.PrimaryExpression:
		switch x := c.lookup(identifier(n)).(type) {
		case *array:
			return place{array: x}, true
		case *object:
			return place{object: x}, true
		case *pointer:
			return place{array: x.array, object: x.object, index: []*expr{ref(x.index, at)}}, true
		}
	case *cc.PostfixExpression:
		switch n.Case {
		case cc.PostfixExpressionPrimary:
			return c.place(n.PrimaryExpression)
		case cc.PostfixExpressionIndex:
			p, ok := c.place(n.PostfixExpression)
			if !ok {
				return p, false
			}
			i := c.expr(n.ExpressionList)
			if i.kind == doubleExpr || !promoted(i.typ).Int() {
				fail(i.pos, "a subscript of type %s, expected an integer", cName(i.typ))
			}
			if c.pointsInto(n.PostfixExpression) { // p[i] of a pointer
				return c.moved(p, i), true
			}
			p.index = append(slices.Clip(p.index), i)
			return p, true
		case cc.PostfixExpressionSelect, cc.PostfixExpressionPSelect:
			p, ok := c.place(n.PostfixExpression)
			if !ok || p.object == nil {
				return p, false
			}
			return c.member(p, n.Token2.SrcStr(), at), true
		}
	case *cc.UnaryExpression:
		switch n.Case {
		case cc.UnaryExpressionPostfix:
			return c.place(n.PostfixExpression)
		case cc.UnaryExpressionDeref:
			p, ok := c.place(n.CastExpression)
			if ok && len(p.index) == 0 {
				p.index = []*expr{intConst(at, scalar.Int64, 0)}
			}
			return p, ok
		case cc.UnaryExpressionAddrof:
			return c.place(n.CastExpression)
		}
	case *cc.CastExpression:
		if n.Case == cc.CastExpressionUnary {
			return c.place(n.UnaryExpression)
		}
		if n.TypeName.AbstractDeclarator != nil {
			return c.place(n.CastExpression)
		}
	case *cc.AdditiveExpression:
		p, ok := c.place(n.AdditiveExpression)
		if !ok || !c.isPointer(n.AdditiveExpression) {
			return p, false
		}
		by := c.expr(n.MultiplicativeExpression)
		if n.Case == cc.AdditiveExpressionSub {
			by = binary(at, scalar.Sub, intConst(at, scalar.Int64, 0), by)
		}
		return c.moved(p, by), true
	}
	return p, false
}

// member returns a member of a structure.
func (c *converter) member(p place, name string, at Pos) place {
	a := p.object.fields[name]
	if a == nil {
		fail(at, "structure %s has no member %s", p.object.typ.name, name)
	}
	if len(p.index) == 0 {
		p.index = []*expr{intConst(at, scalar.Int64, 0)}
	}
	q := place{array: a, index: p.index}
	for _, f := range p.object.typ.fields {
		if f.name == name && f.ptr { // what it points to is an element of the one array of its type
			return place{object: c.objectOf(f.to, at), index: []*expr{c.element1(q, at)}}
		}
	}
	return q
}

// objectOf returns the array that holds structures of a type.
func (c *converter) objectOf(t *structure, at Pos) *object {
	var found *object
	for _, o := range c.whole.objects {
		if o.typ == t {
			if found != nil {
				fail(at, "a pointer to a structure %s, of which %s and %s are arrays: expected one", t.name, found.name, o.name)
			}
			found = o
		}
	}
	if found == nil {
		fail(at, "a pointer to a structure %s, of which no parameter is an array", t.name)
	}
	return found
}

// moved returns a pointer some elements further.
func (c *converter) moved(p place, by *expr) place {
	if len(p.index) == 0 {
		p.index = []*expr{by}
		return p
	}
	p.index = slices.Clone(p.index)
	last := len(p.index) - 1
	p.index[last] = binary(by.pos, scalar.Add, convert(p.index[last], scalar.Int64), convert(by, scalar.Int64))
	return p
}

// pointsInto reports whether an expression is a pointer variable, or a member or sum
// that is a pointer, so that a subscript moves it.
func (c *converter) pointsInto(n cc.ExpressionNode) bool {
	switch n := unwrap(n).(type) {
	case *cc.PrimaryExpression:
		_, ok := c.lookup(identifier(n)).(*pointer)
		return ok
	case *cc.PostfixExpression:
		switch n.Case {
		case cc.PostfixExpressionPrimary:
			return c.pointsInto(n.PrimaryExpression)
		case cc.PostfixExpressionSelect, cc.PostfixExpressionPSelect:
			return c.pointerMember(n)
		}
	case *cc.AdditiveExpression:
		return true
	case *cc.UnaryExpression:
		return n.Case == cc.UnaryExpressionAddrof
	}
	return false
}

// pointerMember reports whether a.f or a->f is a pointer.
func (c *converter) pointerMember(n *cc.PostfixExpression) bool {
	for _, o := range c.whole.objects {
		for _, f := range o.typ.fields {
			if f.name == n.Token2.SrcStr() {
				if p, ok := c.place(n.PostfixExpression); ok && p.object == o {
					return f.ptr
				}
			}
		}
	}
	return false
}

// isPointer reports whether an expression is a pointer and no number.
func (c *converter) isPointer(n cc.ExpressionNode) bool {
	if c.whole == nil {
		return false
	}
	switch n := unwrap(n).(type) {
	case *cc.PrimaryExpression:
		switch x := c.lookup(identifier(n)).(type) {
		case *pointer, *object:
			return true
		case *array:
			return x != nil
		}
	case *cc.PostfixExpression:
		switch n.Case {
		case cc.PostfixExpressionPrimary:
			return c.isPointer(n.PrimaryExpression)
		case cc.PostfixExpressionIndex: // of a row
			p, ok := c.place(n)
			return ok && p.array != nil && len(p.index) < p.array.rank()
		case cc.PostfixExpressionSelect, cc.PostfixExpressionPSelect:
			return c.pointerMember(n)
		}
	case *cc.UnaryExpression:
		return n.Case == cc.UnaryExpressionAddrof || n.Case == cc.UnaryExpressionPostfix && c.isPointer(n.PostfixExpression)
	case *cc.CastExpression:
		if n.Case == cc.CastExpressionUnary {
			return c.isPointer(n.UnaryExpression)
		}
		return n.TypeName.AbstractDeclarator != nil
	case *cc.AdditiveExpression:
		return c.isPointer(n.AdditiveExpression)
	case *cc.ConditionalExpression:
		return n.Case == cc.ConditionalExpressionCond && c.isPointer(n.ConditionalExpression)
	}
	return false
}

func (a *array) rank() int { return max(len(a.size), 1) }

// element1 returns an element of an array.
func (c *converter) element1(p place, at Pos) *expr {
	a := p.array
	switch {
	case !a.declared:
		fail(at, "array %s has no inf_array: expected inf_array(%s, ...) with its sizes at the beginning of the function", a.name, a.name)
	case len(p.index) != len(a.size):
		fail(at, "%d subscripts of %s, which has %d dimensions", len(p.index), a.name, len(a.size))
	}
	return &expr{kind: elemExpr, typ: a.typ, pos: at, array: a, index: p.index}
}

// address returns the index that a pointer is, -1 for NULL.
func (c *converter) address(n cc.ExpressionNode) (p place, index *expr) {
	at := c.u.pos(n)
	for {
		x, ok := unwrap(n).(*cc.CastExpression)
		if !ok || x.Case != cc.CastExpressionCast || x.TypeName.AbstractDeclarator == nil {
			break
		}
		n = x.CastExpression
	}
	if x, ok := unwrap(n).(*cc.ConditionalExpression); ok && x.Case == cc.ConditionalExpressionCond {
		cond := truth(c.expr(x.LogicalOrExpression))
		p, a := c.address(x.ExpressionList)
		q, b := c.address(x.ConditionalExpression)
		if p.object == nil && p.array == nil {
			p = q
		}
		return p, choose(at, cond, a, b)
	}
	if p, ok := c.place(n); ok && c.isPointer(n) {
		switch {
		case len(p.index) == 0:
			return p, intConst(at, scalar.Int64, 0)
		case len(p.index) == 1 && (p.object != nil || p.array.rank() == 1):
			return p, convert(p.index[0], scalar.Int64)
		}
		fail(at, "a pointer into an array of %d dimensions: expected one of arrays of one", p.array.rank())
	}
	x := c.expr(n)
	if x.kind == constExpr && x.typ.Int() && x.value == 0 {
		return place{}, intConst(at, scalar.Int64, -1)
	}
	fail(at, "a pointer of this kind: supported are names of arrays, &A[i], sums of these and numbers, members, and NULL")
	return p, nil
}

// pointerTo declares a pointer.
func (c *converter) pointerTo(name string, t scalar.Type, s *structure, init cc.ExpressionNode, guard *expr, out *[]stmt, at Pos) {
	v := c.declare(name, localVar, scalar.Int64, at)
	p := &pointer{index: v}
	if init != nil {
		target, x := c.address(init)
		p.array, p.object = target.array, target.object
		*out = append(*out, c.assign(ref(v, at), x, guard, at))
	}
	if s != nil && p.object == nil {
		p.object = c.objectOf(s, at)
	}
	if p.array == nil && p.object == nil {
		fail(at, "pointer %s to %s without an array that it begins in: expected one such as %s = A", name, cName(t), name)
	}
	if p.array != nil && p.array.typ != t {
		fail(at, "pointer %s to %s into an array of %s", name, cName(t), cName(p.array.typ))
	}
	c.bind(name, p)
}

// repointed assigns to a pointer variable. It reports false if the target is none.
func (c *converter) repointed(n *cc.AssignmentExpression, guard *expr, out *[]stmt, at Pos) bool {
	p, ok := c.lookup(identifier(n.UnaryExpression)).(*pointer)
	if !ok {
		return false
	}
	var x *expr
	switch n.Case {
	case cc.AssignmentExpressionAssign:
		var q place
		q, x = c.address(n.AssignmentExpression)
		if q.object != nil && q.object != p.object || q.array != nil && q.array != p.array {
			fail(at, "pointer %s would point into another array than before", identifier(n.UnaryExpression))
		}
	case cc.AssignmentExpressionAdd, cc.AssignmentExpressionSub:
		x = binary(at, assignOps[n.Case], ref(p.index, at), c.expr(n.AssignmentExpression))
	default:
		fail(at, "a pointer is changed by =, += and -= only")
	}
	*out = append(*out, c.assign(ref(p.index, at), x, guard, at))
	return true
}

// storedPointer assigns to a member that is a pointer.
func (c *converter) storedPointer(n *cc.AssignmentExpression, guard *expr, out *[]stmt, at Pos) bool {
	m, ok := unwrap(n.UnaryExpression).(*cc.PostfixExpression)
	if !ok || m.Case != cc.PostfixExpressionSelect && m.Case != cc.PostfixExpressionPSelect || !c.pointerMember(m) {
		return false
	}
	p, _ := c.place(m.PostfixExpression)
	if len(p.index) == 0 {
		p.index = []*expr{intConst(at, scalar.Int64, 0)}
	}
	_, x := c.address(n.AssignmentExpression)
	*out = append(*out, c.assign(c.element1(place{array: p.object.fields[m.Token2.SrcStr()], index: p.index}, at), x, guard, at))
	return true
}

// comparePointers converts p == q and p != q.
func (c *converter) comparePointers(op scalar.Op, a, b cc.ExpressionNode, at Pos) *expr {
	_, x := c.address(a)
	_, y := c.address(b)
	return binary(at, op, x, y)
}

// null converts a pointer to the condition that it is not NULL.
func (c *converter) null(n cc.ExpressionNode, at Pos) *expr {
	_, x := c.address(n)
	return binary(at, scalar.Ne, x, intConst(at, scalar.Int64, -1))
}

// frame is a loop of the source, for break and continue.
type frame struct{ broken, continued *variable }

// jumps says which jumps out of its own iterations a loop's body has.
func jumps(s *cc.Statement) (brk, cont, ret bool) {
	var walk func(s *cc.Statement, inside bool)
	walk = func(s *cc.Statement, inside bool) {
		if s == nil {
			return
		}
		switch s.Case {
		case cc.StatementCompound:
			for l := s.CompoundStatement.BlockItemList; l != nil; l = l.BlockItemList {
				if l.BlockItem.Case == cc.BlockItemStmt {
					walk(l.BlockItem.Statement, inside)
				}
			}
		case cc.StatementSelection:
			walk(s.SelectionStatement.Statement, inside)
			walk(s.SelectionStatement.Statement2, inside)
		case cc.StatementIteration:
			walk(s.IterationStatement.Statement, true)
		case cc.StatementJump:
			switch s.JumpStatement.Case {
			case cc.JumpStatementBreak:
				brk = brk || !inside
			case cc.JumpStatementContinue:
				cont = cont || !inside
			case cc.JumpStatementReturn:
				ret = true
			}
		}
	}
	walk(s, false)
	return brk, cont, ret
}

// wholeLoop converts a loop of any kind.
func (c *converter) wholeLoop(s *cc.IterationStatement, guard *expr, out *[]stmt) {
	at := c.u.pos(s)
	parallel, reduces := c.parallelAt(at)
	brk, cont, ret := jumps(s.Statement)
	if parallel != nil && (brk || ret) {
		fail(at, "a parallel loop with break or return, which OpenMP does not allow")
	}
	isFor := s.Case == cc.IterationStatementFor || s.Case == cc.IterationStatementForDecl
	c.push()
	defer c.pop()
	f := &frame{}
	if cont {
		f.continued = c.declare("continued", localVar, scalar.Bool, at)
	}
	if isFor && !brk && !ret && c.counted(s, f, parallel, reduces, guard, out) {
		return
	}
	if parallel != nil {
		fail(at, "a parallel loop that does not count: expected for (int i = a; i < b; i++) with bounds that the loop does not change")
	}
	var cond, inc cc.ExpressionNode
	switch s.Case {
	case cc.IterationStatementFor:
		if s.ExpressionList != nil {
			c.effect(s.ExpressionList, guard, out)
		}
		cond, inc = s.ExpressionList2, s.ExpressionList3
	case cc.IterationStatementForDecl:
		c.declaration(s.Declaration, guard, out)
		cond, inc = s.ExpressionList, s.ExpressionList2
	default:
		cond = s.ExpressionList
	}
	if brk {
		f.broken = c.flag("broken", false, at, out, nil)
	}
	goes := c.declare("go", localVar, scalar.Bool, at)
	test := func(guard *expr, out *[]stmt) {
		outer, around := c.out, c.guard
		c.out, c.guard = out, guard
		x := intConst(at, scalar.Bool, 1)
		if cond != nil && !(cond == s.ExpressionList && isFor && s.Case == cc.IterationStatementFor) {
			x = c.condition1(cond)
		}
		c.out, c.guard = outer, around
		*out = append(*out, c.assign(ref(goes, at), and(guard, x), nil, at))
	}
	if s.Case == cc.IterationStatementDo {
		g := guard
		if g == nil {
			g = intConst(at, scalar.Bool, 1)
		}
		*out = append(*out, c.assign(ref(goes, at), g, nil, at))
	} else {
		test(guard, out)
	}
	l := &loop{v: c.declare("w", loopVar, scalar.Int64, at), step: 1, pos: at, while: goes}
	l.v.symbol = true
	c.loops = append(c.loops, l)
	c.frames = append(c.frames, f)
	if cont {
		c.set(f.continued, false, at, &l.body, nil)
	}
	c.statement(s.Statement, nil, &l.body)
	c.frames = c.frames[:len(c.frames)-1]
	live := c.live(nil, at)
	if f.broken != nil {
		live = and(live, not(ref(f.broken, at)))
	}
	if inc != nil {
		outer, around := c.out, c.guard
		c.out, c.guard = &l.body, live
		c.effect(inc, live, &l.body)
		c.out, c.guard = outer, around
	}
	test(live, &l.body)
	c.loops = c.loops[:len(c.loops)-1]
	*out = append(*out, l)
}

// condition1 converts the condition of a loop or an if, which may be a pointer or have
// effects in front of a comma.
func (c *converter) condition1(n cc.ExpressionNode) *expr {
	if c.isPointer(n) {
		return c.null(n, c.u.pos(n))
	}
	return truth(c.expr(n))
}

// counted converts a for loop that counts, and reports false if it is none: then
// nothing has been converted.
func (c *converter) counted(s *cc.IterationStatement, f *frame, parallel *stream.Parallel, reduces []string, guard *expr, out *[]stmt) (ok bool) {
	at := c.u.pos(s)
	vars, taken, steps := len(c.k.vars), maps.Clone(c.k.taken), c.steps
	done := len(*out)
	defer func() {
		x := recover()
		if x == nil {
			return
		}
		if _, is := x.(notCounted); !is {
			panic(x)
		}
		c.k.vars, c.k.taken, c.steps = c.k.vars[:vars], taken, steps
		*out = (*out)[:done]
		ok = false
	}()
	l := &loop{pos: at, parallel: parallel, reduces: reduces}
	var name string
	var typ scalar.Type
	var init, cond, inc cc.ExpressionNode
	var outlives *variable
	if s.Case == cc.IterationStatementForDecl {
		d := s.Declaration
		if d.InitDeclaratorList == nil || d.InitDeclaratorList.InitDeclaratorList != nil || d.InitDeclaratorList.InitDeclarator.Initializer == nil {
			panic(notCounted{})
		}
		in := d.InitDeclaratorList.InitDeclarator
		if size, depth := c.dims(in.Declarator); size != nil || depth > 0 {
			panic(notCounted{})
		}
		name, typ = in.Declarator.Name(), c.elementType(d.DeclarationSpecifiers, at)
		init, cond, inc = in.Initializer.AssignmentExpression, s.ExpressionList, s.ExpressionList2
	} else {
		a, is := unwrap(s.ExpressionList).(*cc.AssignmentExpression)
		if s.ExpressionList == nil || !is || a.Case != cc.AssignmentExpressionAssign {
			panic(notCounted{})
		}
		name = identifier(a.UnaryExpression)
		v, is := c.lookup(name).(*variable)
		if !is || v.kind != localVar {
			panic(notCounted{})
		}
		typ, outlives = v.typ, v
		init, cond, inc = a.AssignmentExpression, s.ExpressionList2, s.ExpressionList3
	}
	if cond == nil || inc == nil || !typ.Int() || changesIn(s.Statement, name) {
		panic(notCounted{})
	}
	step, is := c.tryStep(inc, name)
	if !is {
		panic(notCounted{})
	}
	l.step = step
	op, right, is := compared(cond, name)
	if !is {
		panic(notCounted{})
	}
	outer, around := c.out, c.guard
	c.out, c.guard = out, guard
	first := convert(c.expr(init), typ)
	last := c.expr(right)
	c.out, c.guard = outer, around
	if last.kind == doubleExpr || !last.typ.Int() || c.written(last, s.Statement) {
		panic(notCounted{})
	}
	last = convert(last, scalar.Int64)
	first = convert(first, scalar.Int64)
	add := func(x *expr, k int64) *expr { return binary(at, scalar.Add, x, intConst(at, scalar.Int64, k)) }
	switch {
	case (op == "<" || op == "!=" && step == 1) && step > 0:
		l.from, l.to = first, last
	case op == "<=" && step > 0:
		l.from, l.to = first, add(last, 1)
	case (op == ">" || op == "!=" && step == -1) && step < 0:
		l.from, l.to = add(last, 1), add(first, 1)
	case op == ">=" && step < 0 && typ.Signed():
		l.from, l.to = last, add(first, 1)
	default:
		panic(notCounted{})
	}
	if guard != nil { // no iteration where the loop is not reached
		l.guard = guard
		l.to = choose(at, guard, l.to, l.from)
	}
	l.v = c.declare(name, loopVar, typ, at)
	l.v.symbol = true
	c.bind(name, l.v)
	c.loops = append(c.loops, l)
	c.frames = append(c.frames, f)
	if f.continued != nil {
		c.set(f.continued, false, at, &l.body, nil)
	}
	c.statement(s.Statement, nil, &l.body)
	c.frames = c.frames[:len(c.frames)-1]
	c.loops = c.loops[:len(c.loops)-1]
	*out = append(*out, l)
	if outlives != nil { // the variable's value after the loop
		at := at
		n := binary(at, scalar.Sub, l.to, l.from)
		size := max(step, -step)
		n = binary(at, scalar.Div, add(n, size-1), intConst(at, scalar.Int64, size))
		n = binary(at, scalar.Max, n, intConst(at, scalar.Int64, 0))
		end := binary(at, scalar.Add, first, binary(at, scalar.Mul, n, intConst(at, scalar.Int64, step)))
		*out = append(*out, c.assign(ref(outlives, at), end, guard, at))
	}
	return true
}

// notCounted says that a loop does not count.
type notCounted struct{}

// changesIn reports whether the text of a statement may give a name a new value.
func changesIn(n cc.Node, name string) bool {
	tokens := cc.NodeTokens(n)
	slices.SortStableFunc(tokens, func(a, b cc.Token) int { return int(a.Seq()) - int(b.Seq()) })
	for i, t := range tokens {
		if t.SrcStr() != name {
			continue
		}
		for _, j := range []int{i - 1, i + 1} {
			if j < 0 || j >= len(tokens) {
				continue
			}
			w := tokens[j].SrcStr()
			if w == "++" || w == "--" || j < i && w == "&" && (i < 2 || !operand(tokens[i-2].SrcStr())) ||
				j > i && strings.HasSuffix(w, "=") && w != "==" && w != "!=" && w != "<=" && w != ">=" {
				return true
			}
		}
	}
	return false
}

// operand reports whether a token ends an operand, so that a & after it is binary.
func operand(w string) bool {
	return w == ")" || w == "]" || w != "" && (w[0] >= 'a' && w[0] <= 'z' && w != "return" || w[0] >= 'A' && w[0] <= 'Z' || w[0] == '_' || w[0] >= '0' && w[0] <= '9')
}

// written reports whether a statement may change what an expression has.
func (c *converter) written(x *expr, n cc.Node) bool {
	found := false
	arrays := map[string]bool{}
	x.walk(func(y *expr) {
		switch {
		case y.kind == elemExpr:
			arrays[y.array.name] = true
		case y.kind == varExpr && y.v.kind == localVar:
			found = found || changesIn(n, y.v.source())
		}
	})
	if len(arrays) == 0 {
		return found
	}
	// An array may be changed under the name of a parameter of a function: any
	// assignment to an element of a constant array cannot be.
	x.walk(func(y *expr) {
		if y.kind == elemExpr && !y.array.constant {
			found = true
		}
	})
	return found
}

// tryStep is step without an error.
func (c *converter) tryStep(n cc.ExpressionNode, name string) (step int64, ok bool) {
	defer func() {
		if x := recover(); x != nil {
			if _, is := x.(*Error); !is {
				panic(x)
			}
			ok = false
		}
	}()
	return c.step(n, name, Pos{}), true
}

// compared takes a comparison of a name with something apart.
func compared(n cc.ExpressionNode, name string) (op string, right cc.ExpressionNode, ok bool) {
	var left cc.ExpressionNode
	switch x := unwrap(n).(type) {
	case *cc.RelationalExpression:
		left, op, right = x.RelationalExpression, x.Token.SrcStr(), x.ShiftExpression
	case *cc.EqualityExpression:
		left, op, right = x.EqualityExpression, x.Token.SrcStr(), x.RelationalExpression
	default:
		return "", nil, false
	}
	if identifier(left) != name {
		left, right = right, left
		op = map[string]string{"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!="}[op]
	}
	return op, right, identifier(left) == name && op != ""
}

// ompAt returns the OpenMP pragmas in front of a statement.
func (c *converter) ompAt(at Pos) []ompPragma {
	if c.whole == nil {
		return nil
	}
	var list []ompPragma
	for _, p := range c.u.omp {
		if p.next.Line == at.Line && p.next.Col == at.Col && p.pos.File == at.File {
			list = append(list, p)
		}
	}
	return list
}

// parallelAt returns how the iterations of a loop are shared out, nil if they are not,
// and the variables that are reduced.
func (c *converter) parallelAt(at Pos) (p *stream.Parallel, reduces []string) {
	free := false
	for _, o := range c.ompAt(at) {
		if o.words[0] == "s_sync_free" {
			free = true
			continue
		}
		if !slices.Contains(o.words, "for") {
			continue
		}
		p = &stream.Parallel{}
		for _, cl := range o.clauses {
			switch cl.name {
			case "schedule":
				args := strings.Split(cl.args, ",")
				switch args[0] {
				case "static", "auto", "runtime":
				case "dynamic", "guided":
					p.Dynamic = true
				default:
					fail(o.pos, "schedule %s, expected static or dynamic", args[0])
				}
				if len(args) > 1 {
					n, err := strconv.ParseInt(args[1], 10, 32)
					if err != nil || n < 1 {
						fail(o.pos, "a chunk of %s, expected a number of iterations", args[1])
					}
					p.Chunk = n
				}
			case "reduction":
				_, names, _ := strings.Cut(cl.args, ":")
				reduces = append(reduces, strings.Split(names, ",")...)
			case "private", "firstprivate", "shared", "default", "nowait", "num_threads", "collapse":
			default:
				fail(o.pos, "clause %s of OpenMP: supported are schedule, reduction, private, firstprivate, shared, default and nowait", cl.name)
			}
		}
	}
	if p != nil {
		p.SyncFree = free
	}
	return p, reduces
}

// atomics are GCC's functions: the operation on the element, and whether the value is
// the old one.
var atomics = map[string]struct {
	op   scalar.Op // NoOp: exchange
	old  bool
	args int
}{
	"__atomic_fetch_add": {scalar.Add, true, 3}, "__atomic_fetch_sub": {scalar.Sub, true, 3}, "__atomic_fetch_and": {scalar.And, true, 3},
	"__atomic_fetch_or": {scalar.Or, true, 3}, "__atomic_fetch_xor": {scalar.Xor, true, 3}, "__atomic_exchange_n": {scalar.NoOp, true, 3},
	"__atomic_add_fetch": {scalar.Add, false, 3}, "__atomic_sub_fetch": {scalar.Sub, false, 3}, "__atomic_and_fetch": {scalar.And, false, 3},
	"__atomic_or_fetch": {scalar.Or, false, 3}, "__atomic_xor_fetch": {scalar.Xor, false, 3},
	"__sync_fetch_and_add": {scalar.Add, true, 2}, "__sync_fetch_and_sub": {scalar.Sub, true, 2}, "__sync_fetch_and_and": {scalar.And, true, 2},
	"__sync_fetch_and_or": {scalar.Or, true, 2}, "__sync_fetch_and_xor": {scalar.Xor, true, 2}, "__sync_lock_test_and_set": {scalar.NoOp, true, 2},
	"__sync_add_and_fetch": {scalar.Add, false, 2}, "__sync_sub_and_fetch": {scalar.Sub, false, 2},
	"inf_fetch_min": {scalar.Min, true, 2}, "inf_fetch_max": {scalar.Max, true, 2},
}

// atomic converts a call of an atomic function. ok is false if it is none.
func (c *converter) atomic(name string, args []cc.ExpressionNode, at Pos) (value *expr, ok bool) {
	if c.whole == nil || c.out == nil {
		return nil, false
	}
	want := func(n int) {
		if len(args) != n {
			fail(at, "%s with %d arguments, expected %d", name, len(args), n)
		}
	}
	target := func() *expr {
		p, ok := c.place(args[0])
		if !ok || p.array == nil {
			fail(at, "%s of what is no element of an array: expected &A[i]", name)
		}
		if len(p.index) == 0 {
			p.index = []*expr{intConst(at, scalar.Int64, 0)}
		}
		return c.element1(p, at)
	}
	update := func(elem, value *expr, old bool) *expr {
		v := c.declare("atomic", localVar, elem.typ, at)
		*c.out = append(*c.out, &assign{target: elem, value: convert(value, elem.typ), guard: c.guard, pos: at, atomic: true, old: old, result: v})
		return ref(v, at)
	}
	switch name {
	case "__atomic_load_n":
		want(2)
		x := *target()
		x.racy = true
		v := c.declare("atomic", localVar, x.typ, at)
		*c.out = append(*c.out, c.assign(ref(v, at), &x, c.guard, at))
		return ref(v, at), true
	case "__atomic_store_n":
		want(3)
		elem := target()
		*c.out = append(*c.out, c.assign(elem, c.expr(args[1]), c.guard, at))
		return intConst(at, scalar.Int32, 0), true
	case "__sync_bool_compare_and_swap", "__sync_val_compare_and_swap":
		want(3)
		elem := target()
		e := convert(c.expr(args[1]), elem.typ)
		old := update(elem, choose(at, binary(at, scalar.Eq, elem, e), convert(c.expr(args[2]), elem.typ), elem), true)
		if name == "__sync_val_compare_and_swap" {
			return old, true
		}
		return binary(at, scalar.Eq, old, e), true
	case "__atomic_compare_exchange_n":
		want(6)
		elem := target()
		name := ""
		if a, ok := unwrap(args[1]).(*cc.UnaryExpression); ok && a.Case == cc.UnaryExpressionAddrof {
			name = identifier(unwrap(a.CastExpression))
		}
		v, isVar := c.lookup(name).(*variable)
		if !isVar || v.kind != localVar {
			fail(at, "__atomic_compare_exchange_n expects the address of a local variable as its second argument")
		}
		e := convert(ref(v, at), elem.typ)
		// What is expected is taken before it is overwritten.
		was := c.declare("expected", localVar, elem.typ, at)
		*c.out = append(*c.out, c.assign(ref(was, at), e, c.guard, at))
		old := update(elem, choose(at, binary(at, scalar.Eq, elem, ref(was, at)), convert(c.expr(args[2]), elem.typ), elem), true)
		*c.out = append(*c.out, c.assign(ref(v, at), old, c.guard, at))
		return binary(at, scalar.Eq, old, ref(was, at)), true
	}
	f, ok := atomics[name]
	if !ok {
		return nil, false
	}
	want(f.args)
	elem := target()
	x := convert(c.expr(args[1]), elem.typ)
	if f.op != scalar.NoOp {
		x = &expr{kind: opExpr, typ: elem.typ, pos: at, op: f.op, args: []*expr{elem, x}}
	}
	return update(elem, x, f.old), true
}

// wholeGraph makes the stream graph of a kernel.
func wholeGraph(k *kernel) (*stream.Graph, error) {
	e := &emitter{planner: &planner{k: k}, scope: map[*variable]bool{}}
	for _, v := range k.vars {
		e.scope[v] = v.kind == localVar
	}
	narrowScopes(k)
	walkStmts(k.body, nil, func(s stmt, _ []*loop) {
		if l, ok := s.(*loop); ok && l.from != nil && l.from.kind == constExpr && l.to.kind == constExpr && l.parallel == nil {
			l.lo, l.hi = lattice.Const(scalar.ToInt(l.from.typ, l.from.value)), lattice.Const(scalar.ToInt(l.to.typ, l.to.value))
			l.from, l.to, l.literal = nil, nil, true
		}
	})
	k.body = unroll(k, k.body, nil, 1)
	for _, v := range k.vars { // copies too
		e.scope[v] = v.kind == localVar
	}
	st := &streamer{
		e: e, env: map[*variable]*stream.Expr{}, taken: maps.Clone(k.taken), inits: map[*variable]string{}, whole: true, cache: map[string]*stream.Expr{},
		g: &stream.Graph{Name: k.name},
	}
	st.out = []*[]stream.Stmt{&st.g.Body}
	once := &loop{v: &variable{name: k.unique("once"), kind: loopVar, typ: scalar.Int64}, hi: lattice.Const(1), step: 1, body: k.body, pos: k.pos}
	st.loop(once)
	space := lattice.NewSpace()
	for _, v := range k.vars {
		if v.kind == paramVar && v.typ.Int() && v.bound == nil {
			lo := int64(-1 << 40)
			if v.inSize {
				lo = 1
			}
			if err := space.Declare(v.name, lattice.Const(lo), lattice.Expr{}, false); err != nil {
				return nil, errorAt(v.pos, "%s", err.Error())
			}
		}
		if v.kind == paramVar && st.inits[v] != "" {
			st.g.Params = append(st.g.Params, stream.Param{Name: v.name, Type: v.typ})
		}
	}
	st.g.Symbols = space
	for _, a := range k.arrays {
		if !a.declared {
			continue
		}
		size := slices.Clone(a.size)
		slices.Reverse(size)
		for i, x := range size {
			size[i] = bind(k, x)
		}
		st.g.Arrays = append(st.g.Arrays, stream.Array{Name: a.name, Type: a.typ, Size: size, Field: a.field})
	}
	if err := st.g.Check(); err != nil {
		return nil, errorAt(k.pos, "no graph: %s", err.Error())
	}
	return st.g, nil
}

// wholeElement converts an element or a member, which must be a number.
func (c *converter) wholeElement(n cc.ExpressionNode, at Pos) *expr {
	if c.isPointer(n) {
		return c.null(n, at)
	}
	p, ok := c.place(n)
	if !ok || p.array == nil {
		fail(at, "what is neither an element of an array nor a member of a structure in one")
	}
	if len(p.index) == 0 {
		p.index = []*expr{intConst(at, scalar.Int64, 0)}
	}
	return c.element1(p, at)
}

// argument binds a parameter that is an array to an array, or to a pointer into one.
func (c *converter) argument(param string, n cc.ExpressionNode, at Pos) any {
	switch x := c.lookup(identifier(n)).(type) {
	case *array, *object, *pointer:
		return x
	}
	if !c.isPointer(n) {
		fail(c.u.pos(n), "argument %s, expected an array or a pointer into one", param)
	}
	p, x := c.address(n)
	v := c.declare(param, localVar, scalar.Int64, at)
	*c.out = append(*c.out, c.assign(ref(v, at), x, c.guard, at))
	return &pointer{array: p.array, object: p.object, index: v}
}

// markAtomic makes an assignment an atomic update where OpenMP says so.
func (c *converter) markAtomic(a *assign, n cc.Node, at Pos) {
	for _, o := range c.ompAt(at) {
		if o.words[0] != "atomic" {
			continue
		}
		switch {
		case slices.Contains(o.words, "read"):
			a.value.walk(func(x *expr) { x.racy = x.kind == elemExpr })
		case slices.Contains(o.words, "write"):
		case slices.Contains(o.words, "capture") || slices.Contains(o.words, "compare"):
			fail(o.pos, "atomic %s: write __atomic_fetch_add and the like, whose values are the old ones", o.words[len(o.words)-1])
		case a.target.kind != elemExpr || !a.value.uses(a.target):
			fail(at, "an atomic update, expected one of an element such as A[i] += x")
		default:
			a.atomic = true
		}
	}
}

// stepped converts x++ and the like for its value.
func (c *converter) stepped(n cc.ExpressionNode, up, old bool, at Pos) *expr {
	x := c.expr(n)
	if old {
		v := c.declare("before", localVar, x.typ, at)
		*c.out = append(*c.out, c.assign(ref(v, at), x, c.guard, at))
		x = ref(v, at)
	}
	c.increment(n, up, c.guard, c.out)
	if !old {
		x = c.expr(n)
	}
	return x
}
