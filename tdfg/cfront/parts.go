package cfront

import (
	"strconv"
	"strings"

	"modernc.org/cc/v4"

	"github.com/bitsched/bitsched/tdfg/scalar"
)

// functions notes the functions of a source and what it declares, and returns the kernel:
// the function that is neither static nor main and has a region, or else the last of these,
// or else, if strict, the one with the region.
func (c *converter) functions(strict bool) (def *cc.FunctionDefinition) {
	u := c.u
	var last, with *cc.FunctionDefinition
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
			public := !static(f.DeclarationSpecifiers) && f.Declarator.Name() != "main"
			if c.hasRegion(f.CompoundStatement) && (with == nil || public && static(with.DeclarationSpecifiers)) {
				with = f
			}
			if public {
				last = f
			}
		case d.Declaration != nil:
			if c.whole != nil {
				c.structures(d.Declaration.DeclarationSpecifiers)
			}
			c.global(d.Declaration)
			if c.whole != nil {
				c.typedefs(d.Declaration)
			}
		}
	}
	if with != nil && (strict || !static(with.DeclarationSpecifiers) || last == nil) {
		return with
	}
	return last
}

// hasRegion reports whether a region begins between the first and the last token of a part
// of the source.
func (c *converter) hasRegion(n cc.Node) bool {
	tokens := cc.NodeTokens(n)
	if len(tokens) == 0 || len(c.u.region) == 0 {
		return false
	}
	first, last := c.u.pos(tokens[0]), c.u.pos(tokens[len(tokens)-1])
	for _, p := range c.u.region {
		if p.pos.File == first.File && before(first, p.pos) && before(p.pos, last) {
			return true
		}
	}
	return false
}

// parts converts the regions of a function, and of those that it calls, and leaves out all
// other statements.
func (c *converter) parts(body *cc.CompoundStatement) {
	c.push()
	defer c.pop()
	end := c.u.pos(body.Token)
	for l := body.BlockItemList; l != nil; l = l.BlockItemList {
		item := l.BlockItem
		pos := c.u.pos(item)
		tokens := cc.NodeTokens(item)
		from := end
		if len(tokens) > 0 {
			end = c.u.pos(tokens[len(tokens)-1])
		}
		switch {
		case item.Case == cc.BlockItemDecl:
			c.outer(item.Declaration)
		case item.Case != cc.BlockItemStmt || c.infArray(item.Statement):
		case c.regionAt(from, pos):
			c.u.part++
			around := c.u.part
			c.out = &c.k.body
			c.statement(item.Statement, nil, &c.k.body)
			c.out = nil
			c.u.part = around
		default:
			c.between(item.Statement)
		}
	}
}

// regionAt reports whether there is a region's pragma between two places.
func (c *converter) regionAt(from, to Pos) bool {
	for _, p := range c.u.region {
		if p.pos.File == to.File && before(from, p.pos) && before(p.pos, to) {
			return true
		}
	}
	return false
}

// outer declares variables that are not those of a region. Regions may use them where they
// stand for an expression in the parameters that never changes.
func (c *converter) outer(d *cc.Declaration) {
	for l := d.InitDeclaratorList; l != nil; l = l.InitDeclaratorList {
		dec := l.InitDeclarator.Declarator
		size, depth := c.dims(dec)
		if dec.Name() == "__func__" || size != nil || depth > 0 {
			continue
		}
		t, _ := c.specifiers(d.DeclarationSpecifiers)
		if in := l.InitDeclarator.Initializer; t.Int() && in != nil && in.AssignmentExpression != nil && !c.assigned(dec.Name()) && c.plain(in.AssignmentExpression) {
			if x := convert(c.expr(in.AssignmentExpression), t); steady(x) {
				v := c.declare(dec.Name(), localVar, t, c.u.pos(dec))
				v.host, v.alias = true, x
				c.bind(dec.Name(), v)
			}
		}
	}
}

// plain reports whether an expression is of numbers, operators and names that are known
// here, and nothing else.
func (c *converter) plain(n cc.ExpressionNode) bool {
	for _, t := range cc.NodeTokens(n) {
		text := t.SrcStr()
		if v, ok := c.lookup(text).(*variable); ok && v.typ.Int() || strings.Contains("+-*()", text) {
			continue
		}
		if _, err := strconv.ParseInt(text, 0, 64); err != nil {
			return false
		}
	}
	return true
}

// between looks for regions in a statement that is in none.
func (c *converter) between(s *cc.Statement) {
	if s.Case == cc.StatementCompound {
		c.parts(s.CompoundStatement)
		return
	}
	if c.hasRegion(s) {
		fail(c.u.pos(s), "a region inside of a loop or a condition, expected all of this statement to be the region")
	}
	if s.ExpressionStatement == nil {
		c.noRegions(s)
		return
	}
	call, ok := s.ExpressionStatement.ExpressionList.(*cc.PostfixExpression)
	if !ok || call.Case != cc.PostfixExpressionCall {
		c.noRegions(s)
		return
	}
	name := identifier(call.PostfixExpression)
	def := c.funcs[name]
	if def == nil || !c.reaches(def, map[string]bool{}) {
		return
	}
	var args []cc.ExpressionNode
	for l := call.ArgumentExpressionList; l != nil; l = l.ArgumentExpressionList {
		args = append(args, l.AssignmentExpression)
	}
	c.inline(name, def, args, c.u.pos(call))
}

// reaches reports whether a function or one that it calls has a region.
func (c *converter) reaches(def *cc.FunctionDefinition, seen map[string]bool) bool {
	if c.hasRegion(def.CompoundStatement) {
		return true
	}
	for _, t := range cc.NodeTokens(def.CompoundStatement) {
		if f := c.funcs[t.SrcStr()]; f != nil && !seen[t.SrcStr()] {
			seen[t.SrcStr()] = true
			if c.reaches(f, seen) {
				return true
			}
		}
	}
	return false
}

// noRegions refuses calls of functions with regions where the call is not a statement of the
// function.
func (c *converter) noRegions(s *cc.Statement) {
	for _, t := range cc.NodeTokens(s) {
		if f := c.funcs[t.SrcStr()]; f != nil && c.reaches(f, map[string]bool{}) {
			fail(c.u.pos(t), "a call of %s, which has a region, inside of a loop, a condition or an expression: expected a statement of its own", t.SrcStr())
		}
	}
}

// partArgument binds a number that a function with regions is called with: regions may use
// it where it never changes.
func (c *converter) partArgument(scope map[string]any, name string, t scalar.Type, arg cc.ExpressionNode, def *cc.FunctionDefinition, at Pos) {
	if !t.Int() || !c.plain(arg) || changesIn(def.CompoundStatement, name) {
		return
	}
	if x := convert(c.expr(arg), t); steady(x) {
		v := c.declare(name, localVar, t, at)
		v.host, v.alias = true, x
		scope[name] = v
	}
}
