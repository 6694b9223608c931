package cfront

import (
	"context"
	"maps"
	"slices"

	"modernc.org/cc/v4"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// CompileWhole returns the stream graph of a whole function, in the order of the
// program: all of its loops and statements, whether or not they could be tensors. The
// function is the one with a region, or else the last that is neither static nor main. What no
// tensor needs is allowed here: while, break, continue and return, structures and
// pointers to them, atomic operations, double, bounds and subscripts of any kind, and
// OpenMP's parallel loops.
//
// Of Options, only Defines, Files, Values and Reassociates count. Errors are as for Compile.
func CompileWhole(ctx context.Context, file, source string, opt Options) (g *stream.Graph, err error) {
	defer caught(&err)
	u, err := parse(file, source, opt.Files)
	if err != nil {
		return nil, err
	}
	c := &converter{u: u, defines: opt.Defines, values: opt.Values, types: map[string]scalar.Type{}, funcs: map[string]*cc.FunctionDefinition{}, whole: &whole{structs: map[string]*structure{}}}
	k := c.wholeUnit()
	if opt.Reassociates != nil {
		*opt.Reassociates = k.reassociate
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return wholeGraph(ctx, k)
}

// whole is what a converter needs for a whole function.
type whole struct {
	structs map[string]*structure // by tag, and by the names that typedef gives
	objects []*object
	memory  map[string]bool   // local variables that must be in memory
	locks   map[string]*array // of critical sections
}

// wholeUnit converts the function.
func (c *converter) wholeUnit() *kernel {
	u := c.u
	def := c.functions(false)
	if def == nil {
		fail(Pos{File: u.file}, "no function that is neither static nor main, expected one with sizes and arrays for parameters")
	}
	c.k = &kernel{name: def.Declarator.Name(), pos: u.pos(def.Declarator), taken: map[string]bool{}}
	if len(u.region) > 0 {
		c.k.reassociate = u.region[0].reassociate
	}
	c.scopes = []map[string]any{{}}
	c.whole.memory = c.inMemory()
	c.params(def)
	for l := def.CompoundStatement.BlockItemList; l != nil; l = l.BlockItemList {
		if l.BlockItem.Case == cc.BlockItemStmt {
			c.infArray(l.BlockItem.Statement)
		}
	}
	c.ones(def.CompoundStatement)
	c.out = &c.k.body
	for _, v := range slices.Clone(c.k.vars) {
		if v.kind == paramVar && changesIn(def.CompoundStatement, v.name) {
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

// ones gives pointers without a size that of one element, where all that is done with them
// is *p, p[0] or p->member.
func (c *converter) ones(body *cc.CompoundStatement) {
	tokens := cc.NodeTokens(body)
	text := func(i int) string {
		if i < 0 || i >= len(tokens) {
			return ""
		}
		return tokens[i].SrcStr()
	}
	one := func(name string) bool {
		used := false
		for i := range tokens {
			if text(i) != name || text(i-1) == "." || text(i-1) == "->" {
				continue
			}
			used = true
			zero := text(i+1) == "[" && text(i+2) == "0" && text(i+3) == "]"
			star := text(i-1) == "*" && text(i+1) != "[" && text(i+1) != "++" && text(i+1) != "--" && text(i+1) != "->"
			if !zero && !star && text(i+1) != "->" {
				return false
			}
		}
		return used
	}
	for _, a := range c.k.arrays {
		name := a.name
		if a.field != nil {
			name = a.field.Of
		}
		if a.pointer && !a.declared && one(name) {
			a.size, a.declared = a.shape(lattice.Const(1)), true
		}
	}
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

// wholeGraph makes the stream graph of a kernel.
func wholeGraph(ctx context.Context, k *kernel) (*stream.Graph, error) {
	e := &emitter{planner: &planner{ctx: ctx, k: k}, scope: map[*variable]bool{}}
	for _, v := range k.vars {
		e.scope[v] = v.kind == localVar
	}
	narrowScopes(k)
	walkStmts(k.body, nil, func(s stmt, _ []*loop) {
		if l, ok := s.(*loop); ok && l.from != nil && l.from.kind == constExpr && l.to.kind == constExpr && l.parallel == nil && l.simd == nil {
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
		st.g.Arrays = append(st.g.Arrays, stream.Array{Name: a.name, Type: a.typ, Size: size, Field: a.field, Scope: a.scope})
	}
	if err := st.g.Check(); err != nil {
		return nil, errorAt(k.pos, "no graph: %s", err.Error())
	}
	return st.g, nil
}
