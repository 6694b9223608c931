package cfront

import (
	_ "embed"
	"fmt"

	"modernc.org/cc/v4"

	"github.com/bitsched/bitsched/tdfg/scalar"
)

// librarySource has functions of the C library in C.
//
//go:embed library.h
var librarySource string

// inC are functions of the library by the names that librarySource has for them.
var inC = map[string]string{"expf": "bitsched_expf"}

// maxCalls bounds how many calls are replaced by the bodies of functions.
const maxCalls = 256

// returning is a call that is being replaced by the function's body.
type returning struct {
	name  string
	value *variable // what it returns, nil for void
	done  *variable // whether it has returned, nil before a return that may be left out
	may   bool      // done may be true here
	loops int       // open loops at the call
}

// inline replaces a call by the body of the function: parameters become variables,
// arrays stay what they are. It returns the value, nil for void.
func (c *converter) inline(name string, def *cc.FunctionDefinition, args []cc.ExpressionNode, at Pos) *expr {
	for _, r := range c.calls {
		if r.name == name {
			fail(at, "%s calls itself: recursion is not supported", name)
		}
	}
	if c.inlined++; c.inlined > maxCalls {
		fail(at, "more than %d calls", maxCalls)
	}
	parts := c.out == nil && c.inParts
	if c.out == nil && !parts {
		fail(at, "a call of %s outside of the region", name)
	}
	var params []*cc.ParameterDeclaration
	if d := def.Declarator.DirectDeclarator; d.Case == cc.DirectDeclaratorFuncParam && d.ParameterTypeList != nil {
		for l := d.ParameterTypeList.ParameterList; l != nil; l = l.ParameterList {
			if l.ParameterDeclaration.Declarator != nil {
				params = append(params, l.ParameterDeclaration)
			}
		}
	}
	if len(params) != len(args) {
		fail(at, "%s with %d arguments, expected %d", name, len(args), len(params))
	}
	scope := map[string]any{}
	for i, p := range params {
		param := p.Declarator.Name()
		size, depth := c.dims(p.Declarator)
		if c.whole != nil && (size != nil || depth > 0) {
			scope[param] = c.argument(param, args[i], at)
			continue
		}
		if size != nil || depth > 0 {
			a, ok := c.lookup(identifier(args[i])).(*array)
			if !ok {
				fail(c.u.pos(args[i]), "argument %s of %s, expected the name of an array", param, name)
			}
			scope[param] = a
			continue
		}
		t := c.elementType(p.DeclarationSpecifiers, at)
		if parts {
			c.partArgument(scope, param, t, args[i], def, at)
			continue
		}
		x := convert(c.expr(args[i]), t)
		v := c.declare(param, localVar, t, at)
		v.host = len(c.loops) == 0
		if t.Int() && steady(x) && !changesIn(def.CompoundStatement, param) {
			v.alias = x
		} else {
			*c.out = append(*c.out, c.assign(&expr{kind: varExpr, typ: t, pos: at, v: v}, x, c.guard, at))
		}
		scope[param] = v
	}
	r := &returning{name: name, loops: len(c.loops)}
	t, text := c.specifiers(def.DeclarationSpecifiers)
	if text != "void" {
		if t == scalar.Invalid || def.Declarator.Pointer != nil {
			fail(at, "%s returns %s, supported are %s", name, text, someTypes)
		}
		r.value = c.declare(name, localVar, t, at)
		r.value.host = len(c.loops) == 0
	}
	scopes, guard, frames := c.scopes, c.guard, c.frames
	c.scopes, c.calls, c.frames = []map[string]any{scope}, append(c.calls, r), nil
	if c.whole != nil {
		c.early(def.CompoundStatement)
	}
	via := c.u.via
	c.u.via = fmt.Sprintf(", in %s called at %d:%d", name, at.Line, at.Col) + via
	if parts {
		c.parts(def.CompoundStatement)
	} else {
		c.block(def.CompoundStatement, guard, c.out)
	}
	c.u.via = via
	c.scopes, c.guard, c.calls, c.frames = scopes, guard, c.calls[:len(c.calls)-1], frames
	if r.value == nil {
		return nil
	}
	return &expr{kind: varExpr, typ: t, pos: at, v: r.value}
}

// steady reports whether an expression has its value wherever it is written in the
// loops around it.
func steady(x *expr) bool {
	ok := true
	x.walk(func(y *expr) { ok = ok && y.kind != elemExpr && (y.kind != varExpr || y.v.kind != localVar) })
	return ok
}

// jump converts a return inside of a function that replaces a call.
func (c *converter) jump(s *cc.JumpStatement, guard *expr, out *[]stmt, at Pos) {
	if len(c.frames) > 0 && (s.Case == cc.JumpStatementBreak || s.Case == cc.JumpStatementContinue) {
		f := c.frames[len(c.frames)-1]
		v := f.broken
		if s.Case == cc.JumpStatementContinue {
			v = f.continued
		}
		f.may = true
		c.set(v, true, at, out, guard)
		return
	}
	if s.Case != cc.JumpStatementReturn || len(c.calls) == 0 {
		fail(at, "%s: %s", s.Token.SrcStr(), c.statements())
	}
	r := c.calls[len(c.calls)-1]
	if c.whole == nil && len(c.loops) != r.loops {
		fail(at, "a return inside of a loop of %s, expected one at the end", r.name)
	}
	if (s.ExpressionList != nil) != (r.value != nil) {
		fail(at, "a return of %s with a value too many or too few", r.name)
	}
	if r.value != nil {
		*out = append(*out, c.assign(&expr{kind: varExpr, typ: r.value.typ, pos: at, v: r.value}, c.expr(s.ExpressionList), guard, at))
	}
	// What follows in the function is done where the condition of this return did not
	// hold.
	taken := guard
	if taken == nil {
		taken = intConst(at, scalar.Bool, 1)
	}
	if c.whole != nil {
		if r.done != nil {
			c.set(r.done, true, at, out, guard)
			r.may = true
		}
		return
	}
	if r.done == nil {
		r.done = c.declare("returned", localVar, scalar.Bool, at)
		r.done.host = len(c.loops) == 0
		*out = append(*out, c.assign(&expr{kind: varExpr, typ: scalar.Bool, pos: at, v: r.done}, taken, nil, at))
		return
	}
	done := &expr{kind: varExpr, typ: scalar.Bool, pos: at, v: r.done}
	*out = append(*out, c.assign(done, fold(&expr{kind: opExpr, typ: scalar.Bool, pos: at, op: scalar.Or, args: []*expr{done, taken}}), nil, at))
}

// live is the guard of the next statement: that the function has not returned.
func (c *converter) live(guard *expr, at Pos) *expr {
	if n := len(c.frames); n > 0 && c.frames[n-1].may {
		for _, v := range []*variable{c.frames[n-1].broken, c.frames[n-1].continued} {
			if v != nil {
				guard = and(guard, not(ref(v, at)))
			}
		}
	}
	if len(c.calls) == 0 || c.calls[len(c.calls)-1].done == nil {
		return guard
	}
	if c.whole != nil && !c.calls[len(c.calls)-1].may {
		return guard
	}
	done := &expr{kind: varExpr, typ: scalar.Bool, pos: at, v: c.calls[len(c.calls)-1].done}
	return and(guard, not(done))
}

// where converts an operand that C evaluates only under a condition.
func (c *converter) where(cond *expr, n cc.ExpressionNode) *expr {
	guard := c.guard
	c.guard = and(guard, cond)
	x := c.expr(n)
	c.guard = guard
	return x
}
