package cfront

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"modernc.org/cc/v4"

	"github.com/bitsched/bitsched/lattice"
	"github.com/bitsched/bitsched/scalar"
	"github.com/bitsched/bitsched/tdfg"
)

// unique returns a name that no variable has, made of one that some may have.
func (k *kernel) unique(name string) string {
	base, _, _ := strings.Cut(name, ".")
	u := base
	for n := 2; k.taken[u] || slices.Contains(reserved, u); n++ {
		u = fmt.Sprintf("%s.%d", base, n)
	}
	k.taken[u] = true
	return u
}

// reserved are words of the text form of streams, which arrays and parameters keep
// their names in.
var reserved = strings.Fields("inf over from if while step true false NaN Inf")

// converter makes a kernel of a syntax tree.
type converter struct {
	u       *unit
	k       *kernel
	defines map[string]int64
	scopes  []map[string]any // name to *variable or *array
	types   map[string]scalar.Type
	funcs   map[string]bool
	loops   []*loop
	steps   int
}

// maxStatements bounds how far unrolling and macros can blow up a kernel.
const maxStatements = 1024

// convertUnit finds the kernel of a source and converts it.
func convertUnit(u *unit, defines map[string]int64) *kernel {
	c := &converter{u: u, defines: defines, types: map[string]scalar.Type{}, funcs: map[string]bool{}}
	if len(u.region) == 0 {
		fail(Pos{File: u.file}, "no region: expected #pragma bitsched region in front of the loops of the kernel")
	}
	if len(u.region) > 1 {
		fail(u.region[1].pos, "a second region, expected one in a file")
	}
	at := u.region[0].pos
	var def *cc.FunctionDefinition
	for n := u.ast.TranslationUnit; n != nil; n = n.TranslationUnit {
		d := n.ExternalDeclaration
		switch {
		case d == nil:
		case d.FunctionDefinition != nil:
			f := d.FunctionDefinition
			c.funcs[f.Declarator.Name()] = true
			body := f.CompoundStatement
			if first, last := c.u.pos(body.Token), c.u.pos(body.Token2); !before(at, first) && before(at, last) {
				def = f
			}
		case d.Declaration != nil:
			c.global(d.Declaration)
		}
	}
	if def == nil {
		fail(at, "a region outside of a function")
	}
	c.k = &kernel{name: def.Declarator.Name(), pos: u.pos(def.Declarator), reassociate: u.region[0].reassociate, taken: map[string]bool{}}
	c.scopes = []map[string]any{{}}
	c.params(def)
	for _, name := range sortedKeys(defines) {
		v, ok := c.lookup(name).(*variable)
		if !ok || v.kind != paramVar || !v.typ.Int() {
			fail(c.k.pos, "-D %s=%d: %s has no parameter %s of an integer type", name, defines[name], c.k.name, name)
		}
	}
	c.function(def.CompoundStatement, at)
	return c.k
}

func before(a, b Pos) bool { return a.Line < b.Line || a.Line == b.Line && a.Col < b.Col }

func sortedKeys(m map[string]int64) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// global reads typedefs; all other declarations are only of use where they are used.
func (c *converter) global(d *cc.Declaration) {
	typedef := false
	for s := d.DeclarationSpecifiers; s != nil; s = s.DeclarationSpecifiers {
		typedef = typedef || s.StorageClassSpecifier != nil && s.StorageClassSpecifier.Case == cc.StorageClassSpecifierTypedef
	}
	for l := d.InitDeclaratorList; l != nil; l = l.InitDeclaratorList {
		dec := l.InitDeclarator.Declarator
		if t, _ := c.specifiers(d.DeclarationSpecifiers); typedef && t != scalar.Invalid && dec.Pointer == nil && dec.DirectDeclarator.Case == cc.DirectDeclaratorIdent {
			c.types[dec.Name()] = t
		}
	}
}

// specifiers returns the type that a declaration names, Invalid if it is none that
// elements have, and how C spells it.
func (c *converter) specifiers(s *cc.DeclarationSpecifiers) (scalar.Type, string) {
	var list []*cc.TypeSpecifier
	for ; s != nil; s = s.DeclarationSpecifiers {
		if s.TypeSpecifier != nil {
			list = append(list, s.TypeSpecifier)
		}
	}
	return c.typeOf(list)
}

func (c *converter) typeOf(list []*cc.TypeSpecifier) (scalar.Type, string) {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = s.Token.SrcStr()
		if s.Case == cc.TypeSpecifierTypeName {
			if t, ok := c.types[words[i]]; ok && len(list) == 1 {
				return t, words[i]
			}
		}
	}
	text := strings.Join(words, " ")
	slices.Sort(words)
	switch strings.Join(words, " ") {
	case "char signed":
		return scalar.Int8, text
	case "short", "int short", "short signed", "int short signed":
		return scalar.Int16, text
	case "int", "signed", "int signed":
		return scalar.Int32, text
	case "long", "int long", "long signed", "int long signed", "long long", "int long long", "long long signed", "int long long signed":
		return scalar.Int64, text
	case "float":
		return scalar.FP32, text
	case "_Float16":
		return scalar.FP16, text
	case "__bf16":
		return scalar.BF16, text
	case "_Bool":
		return scalar.Bool, text
	}
	return scalar.Invalid, text
}

const someTypes = "int8_t, int16_t, int32_t, int64_t, int, long, float, fp16 and bf16"

func (c *converter) elementType(s *cc.DeclarationSpecifiers, at Pos) scalar.Type {
	t, text := c.specifiers(s)
	if t == scalar.Invalid {
		fail(at, "type %s: supported are %s", text, someTypes)
	}
	return t
}

// declare makes a variable with a name that no other has.
func (c *converter) declare(name string, kind varKind, t scalar.Type, at Pos) *variable {
	unique := name
	if kind != paramVar {
		unique = c.k.unique(name)
	}
	c.k.taken[unique] = true
	v := &variable{name: unique, kind: kind, typ: t, pos: at}
	if len(c.loops) > 0 {
		v.scope = c.loops[len(c.loops)-1]
	}
	c.k.vars = append(c.k.vars, v)
	return v
}

func (c *converter) push() { c.scopes = append(c.scopes, map[string]any{}) }
func (c *converter) pop()  { c.scopes = c.scopes[:len(c.scopes)-1] }

func (c *converter) bind(name string, what any) { c.scopes[len(c.scopes)-1][name] = what }

func (c *converter) lookup(name string) any {
	for i := len(c.scopes) - 1; i >= 0; i-- {
		if x, ok := c.scopes[i][name]; ok {
			return x
		}
	}
	return nil
}

// params declares the parameters of the kernel.
func (c *converter) params(def *cc.FunctionDefinition) {
	direct := def.Declarator.DirectDeclarator
	if t, text := c.specifiers(def.DeclarationSpecifiers); t != scalar.Invalid || text != "void" || def.Declarator.Pointer != nil {
		fail(c.k.pos, "%s returns something, expected void: results go to arrays", c.k.name)
	}
	if direct.Case != cc.DirectDeclaratorFuncParam || direct.ParameterTypeList == nil {
		fail(c.k.pos, "%s has no parameters, expected sizes and arrays", c.k.name)
	}
	for l := direct.ParameterTypeList.ParameterList; l != nil; l = l.ParameterList {
		p := l.ParameterDeclaration
		if p.Declarator == nil {
			fail(c.u.pos(p), "a parameter without a name")
		}
		c.param(p)
	}
}

func (c *converter) param(p *cc.ParameterDeclaration) {
	name, at := p.Declarator.Name(), c.u.pos(p.Declarator)
	t := c.elementType(p.DeclarationSpecifiers, c.u.pos(p))
	if slices.Contains(reserved, name) {
		fail(at, "parameter %s: the name is a word of the text form of streams, expected another", name)
	}
	if c.scopes[0][name] != nil {
		fail(at, "parameter %s is declared twice", name)
	}
	size, depth := c.dims(p.Declarator)
	if depth == 0 && size == nil {
		v := c.declare(name, paramVar, t, at)
		if value, ok := c.defines[name]; ok {
			v.bound = &value
		}
		c.bind(name, v)
		return
	}
	if t == scalar.Bool {
		fail(at, "array %s of _Bool: supported are %s", name, someTypes)
	}
	a := &array{name: name, typ: t, pos: at, pointer: depth > 0 || slices.Contains(size, nil)}
	if depth > 1 {
		fail(at, "%s is a pointer to pointers, expected an array such as %s[N][M]", name, name)
	}
	for s := p.DeclarationSpecifiers; s != nil; s = s.DeclarationSpecifiers {
		a.constant = a.constant || s.TypeQualifier != nil && s.TypeQualifier.Case == cc.TypeQualifierConst
	}
	if !a.pointer {
		for _, n := range size {
			a.size = append(a.size, c.size(n))
		}
		c.checkDims(a, len(size))
	}
	c.k.taken[name] = true
	c.k.arrays = append(c.k.arrays, a)
	c.bind(name, a)
}

func (c *converter) checkDims(a *array, n int) {
	if n > tdfg.MaxDims {
		fail(a.pos, "array %s has %d dimensions, supported are %d: fuse some, as in A[N*M][K]", a.name, n, tdfg.MaxDims)
	}
}

// dims returns the sizes of a declarator, nil for one left out, and how many
// pointers there are.
func (c *converter) dims(d *cc.Declarator) (size []cc.ExpressionNode, depth int) {
	for p := d.Pointer; p != nil; p = p.Pointer {
		depth++
	}
	for x := d.DirectDeclarator; x != nil; x = x.DirectDeclarator {
		switch x.Case {
		case cc.DirectDeclaratorArr, cc.DirectDeclaratorStaticArr, cc.DirectDeclaratorArrStatic:
			size = append([]cc.ExpressionNode{x.AssignmentExpression}, size...)
		case cc.DirectDeclaratorStar:
			size = append([]cc.ExpressionNode{nil}, size...)
		case cc.DirectDeclaratorDecl:
			inner, n := c.dims(x.Declarator)
			return append(inner, size...), depth + n
		case cc.DirectDeclaratorFuncParam, cc.DirectDeclaratorFuncIdent:
			fail(c.u.pos(d), "%s is a function, expected a number or an array", d.Name())
		}
	}
	return size, depth
}

// size converts the size of a dimension.
func (c *converter) size(n cc.ExpressionNode) lattice.Expr {
	x := c.expr(n)
	e, ok := affine(x)
	if !ok {
		fail(x.pos, "a size that is not affine in the parameters, expected for example 2*N+1")
	}
	x.walk(func(y *expr) {
		if y.kind == varExpr {
			y.v.inSize = true
		}
	})
	if k, isConst := e.Const(); isConst && (k < 1 || k > 1<<40) {
		fail(x.pos, "size %d, expected at least 1", k)
	}
	return e
}

// function converts the body: declarations, and the region that starts after at.
func (c *converter) function(body *cc.CompoundStatement, at Pos) {
	c.push()
	done := false
	for l := body.BlockItemList; l != nil; l = l.BlockItemList {
		item := l.BlockItem
		pos := c.u.pos(item)
		inRegion := before(at, pos) && !done
		switch {
		case item.Case == cc.BlockItemDecl && !done:
			c.declaration(item.Declaration, nil, &c.k.body)
		case item.Case == cc.BlockItemStmt && inRegion:
			c.region(item.Statement)
			done = true
		case item.Case == cc.BlockItemStmt && c.infArray(item.Statement):
		case item.Case == cc.BlockItemStmt && isReturn(item.Statement):
		case done:
			fail(pos, "a statement after the region, expected the end of %s", c.k.name)
		default:
			fail(pos, "a statement in front of the region, expected declarations and inf_array")
		}
	}
	if !done {
		fail(at, "no statement after the region's pragma")
	}
}

func isReturn(s *cc.Statement) bool {
	return s.JumpStatement != nil && s.JumpStatement.Case == cc.JumpStatementReturn && s.JumpStatement.ExpressionList == nil
}

func (c *converter) region(s *cc.Statement) {
	c.statement(s, nil, &c.k.body)
}

// infArray reads a call of inf_array.
func (c *converter) infArray(s *cc.Statement) bool {
	if s.ExpressionStatement == nil {
		return false
	}
	call, ok := s.ExpressionStatement.ExpressionList.(*cc.PostfixExpression)
	if !ok || call.Case != cc.PostfixExpressionCall || identifier(call.PostfixExpression) != "inf_array" {
		return false
	}
	at := c.u.pos(call)
	var args []cc.ExpressionNode
	for l := call.ArgumentExpressionList; l != nil; l = l.ArgumentExpressionList {
		args = append(args, l.AssignmentExpression)
	}
	if len(args) < 2 {
		fail(at, "inf_array with %d arguments, expected an array and its sizes: inf_array(A, N, M)", len(args))
	}
	a, ok := c.lookup(identifier(args[0])).(*array)
	if !ok {
		fail(c.u.pos(args[0]), "inf_array of what is not an array, expected a parameter such as float A[N]")
	}
	if a.declared {
		fail(at, "inf_array of %s for the second time", a.name)
	}
	var size []lattice.Expr
	for _, n := range args[1:] {
		size = append(size, c.size(n))
	}
	if a.pointer {
		a.size = size
		c.checkDims(a, len(size))
	}
	if len(size) != len(a.size) {
		fail(at, "inf_array with %d sizes of %s, which has %d dimensions", len(size), a.name, len(a.size))
	}
	for i := range size {
		if !size[i].Equal(a.size[i]) {
			fail(c.u.pos(args[i+1]), "inf_array with size %s, but %s is declared with %s", size[i], a.name, a.size[i])
		}
	}
	a.declared = true
	return true
}

// identifier returns the name that an expression is, "" if it is none.
func identifier(n cc.ExpressionNode) string {
	switch n := n.(type) {
	case *cc.PrimaryExpression:
		if n.Case == cc.PrimaryExpressionIdent {
			return n.Token.SrcStr()
		}
		if n.Case == cc.PrimaryExpressionExpr {
			return identifier(n.ExpressionList)
		}
	case *cc.PostfixExpression:
		if n.Case == cc.PostfixExpressionPrimary {
			return identifier(n.PrimaryExpression)
		}
	case *cc.ExpressionList:
		if n.ExpressionList == nil {
			return identifier(n.AssignmentExpression)
		}
	}
	return ""
}

const someStatements = "supported are for loops, if, assignments and declarations"

// statement converts a statement and appends to out what it becomes.
func (c *converter) statement(s *cc.Statement, guard *expr, out *[]stmt) {
	c.steps++
	at := c.u.pos(s)
	if c.steps > maxStatements {
		fail(at, "more than %d statements", maxStatements)
	}
	switch s.Case {
	case cc.StatementCompound:
		c.push()
		for l := s.CompoundStatement.BlockItemList; l != nil; l = l.BlockItemList {
			switch item := l.BlockItem; item.Case {
			case cc.BlockItemDecl:
				c.declaration(item.Declaration, guard, out)
			case cc.BlockItemStmt:
				c.statement(item.Statement, guard, out)
			default:
				fail(c.u.pos(item), "a label or a nested function: %s", someStatements)
			}
		}
		c.pop()
	case cc.StatementExpr:
		if e := s.ExpressionStatement.ExpressionList; e != nil {
			c.effect(e, guard, out)
		}
	case cc.StatementSelection:
		c.selection(s.SelectionStatement, guard, out)
	case cc.StatementIteration:
		c.iteration(s.IterationStatement, guard, out)
	case cc.StatementJump:
		word := s.JumpStatement.Token.SrcStr()
		fail(at, "%s: %s", word, someStatements)
	case cc.StatementLabeled:
		fail(at, "a label: %s", someStatements)
	default:
		fail(at, "asm: %s", someStatements)
	}
}

// assigned finds what gives a new value to a name, as far as the text shows.
func (c *converter) assigned(name string) bool {
	q := regexp.QuoteMeta(name)
	re := regexp.MustCompile(`(?:\+\+|--)\s*\(*\s*` + q + `\b|\b` + q + `\b[\s)]*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=[^=])`)
	return len(re.FindAllStringIndex(c.u.source, 2)) > 1 // the declaration itself is one
}

func (c *converter) declaration(d *cc.Declaration, guard *expr, out *[]stmt) {
	if l := d.InitDeclaratorList; l != nil && l.InitDeclarator.Declarator.Name() == "__func__" {
		return // the parser declares it in each function
	}
	if d.Case != cc.DeclarationDecl {
		fail(c.u.pos(d), "a declaration of another kind, expected variables such as float x = 0;")
	}
	for s := d.DeclarationSpecifiers; s != nil; s = s.DeclarationSpecifiers {
		if s.StorageClassSpecifier != nil && s.StorageClassSpecifier.Case != cc.StorageClassSpecifierAuto && s.StorageClassSpecifier.Case != cc.StorageClassSpecifierRegister {
			fail(c.u.pos(s), "%s: expected local variables only", s.StorageClassSpecifier.Token.SrcStr())
		}
	}
	for l := d.InitDeclaratorList; l != nil; l = l.InitDeclaratorList {
		dec := l.InitDeclarator.Declarator
		name, at := dec.Name(), c.u.pos(dec)
		size, depth := c.dims(dec)
		if depth > 0 {
			what := ""
			if l.InitDeclarator.Initializer != nil && l.InitDeclarator.Initializer.AssignmentExpression != nil {
				if a := c.mentioned(l.InitDeclarator.Initializer.AssignmentExpression); a != nil {
					what = ", a second name of array " + a.name
				}
			}
			fail(at, "pointer %s%s: supported are arrays that are parameters, each under one name", name, what)
		}
		if size != nil {
			fail(at, "local array %s: expected arrays to be parameters", name)
		}
		t := c.elementType(d.DeclarationSpecifiers, c.u.pos(d))
		var init *expr
		if in := l.InitDeclarator.Initializer; in != nil {
			if in.AssignmentExpression == nil {
				fail(at, "a list of initial values for %s, expected one value", name)
			}
			init = c.expr(in.AssignmentExpression)
		}
		v := c.declare(name, localVar, t, at)
		v.host = len(c.loops) == 0
		if init != nil {
			x := convert(init, t)
			if e, ok := c.index(x); ok && t.Int() && t.Bits() >= 32 && !c.assigned(name) {
				v.alias = c.k.expr(e, t, at)
			} else {
				*out = append(*out, c.assign(&expr{kind: varExpr, typ: t, pos: at, v: v}, x, guard, at))
			}
		}
		c.bind(name, v)
	}
}

// index returns an expression that is affine in loop variables.
func (c *converter) index(x *expr) (e lattice.Expr, ok bool) {
	ok = true
	x.walk(func(y *expr) { ok = ok && (y.kind != varExpr || y.v.kind == loopVar) })
	if !ok {
		return e, false
	}
	return affine(x)
}

// mentioned returns an array that an expression names.
func (c *converter) mentioned(n cc.ExpressionNode) *array {
	for _, t := range cc.NodeTokens(n) {
		if a, ok := c.lookup(t.SrcStr()).(*array); ok {
			return a
		}
	}
	return nil
}

func (c *converter) assign(target, value, guard *expr, at Pos) *assign {
	if target.kind == varExpr && target.v.scope == nil && len(c.loops) == 0 {
		target.v.host = true
	}
	return &assign{target: target, value: convert(value, target.typ), guard: guard, pos: at}
}

var assignOps = map[cc.AssignmentExpressionCase]scalar.Op{
	cc.AssignmentExpressionMul: scalar.Mul, cc.AssignmentExpressionDiv: scalar.Div, cc.AssignmentExpressionMod: scalar.Rem,
	cc.AssignmentExpressionAdd: scalar.Add, cc.AssignmentExpressionSub: scalar.Sub, cc.AssignmentExpressionLsh: scalar.Shl,
	cc.AssignmentExpressionRsh: scalar.Shr, cc.AssignmentExpressionAnd: scalar.And, cc.AssignmentExpressionXor: scalar.Xor,
	cc.AssignmentExpressionOr: scalar.Or,
}

// effect converts an expression that is a statement.
func (c *converter) effect(n cc.ExpressionNode, guard *expr, out *[]stmt) {
	at := c.u.pos(n)
	switch n := n.(type) {
	case *cc.ExpressionList:
		for l := n; l != nil; l = l.ExpressionList {
			c.effect(l.AssignmentExpression, guard, out)
		}
		return
	case *cc.PrimaryExpression:
		if n.Case == cc.PrimaryExpressionExpr {
			c.effect(n.ExpressionList, guard, out)
			return
		}
	case *cc.CastExpression:
		if n.Case == cc.CastExpressionCast { // (void)x
			c.expr(n.CastExpression)
			return
		}
	case *cc.AssignmentExpression:
		if n.Case != cc.AssignmentExpressionCond {
			target := c.target(n.UnaryExpression)
			value := c.expr(n.AssignmentExpression)
			if op, ok := assignOps[n.Case]; ok {
				value = c.operation(at, op, target, value)
			}
			*out = append(*out, c.assign(target, value, guard, at))
			return
		}
	case *cc.PostfixExpression:
		switch n.Case {
		case cc.PostfixExpressionInc, cc.PostfixExpressionDec:
			c.increment(n.PostfixExpression, n.Case == cc.PostfixExpressionInc, guard, out)
			return
		case cc.PostfixExpressionCall:
			c.call(n)
			fail(at, "a call whose value is not used: %s", someStatements)
		}
	case *cc.UnaryExpression:
		switch n.Case {
		case cc.UnaryExpressionInc, cc.UnaryExpressionDec:
			c.increment(n.UnaryExpression, n.Case == cc.UnaryExpressionInc, guard, out)
			return
		}
	}
	fail(at, "a statement without effect: %s", someStatements)
}

func (c *converter) increment(n cc.ExpressionNode, up bool, guard *expr, out *[]stmt) {
	target := c.target(n)
	op := scalar.Sub
	if up {
		op = scalar.Add
	}
	*out = append(*out, c.assign(target, c.operation(target.pos, op, target, intConst(target.pos, scalar.Int32, 1)), guard, target.pos))
}

// target converts what is assigned to.
func (c *converter) target(n cc.ExpressionNode) *expr {
	x := c.expr(n)
	switch {
	case x.kind == elemExpr:
		if x.array.constant {
			fail(x.pos, "%s is const", x.array.name)
		}
		return x
	case x.kind == varExpr && x.v.kind == localVar:
		return x
	case x.kind == varExpr && x.v.kind == loopVar:
		fail(x.pos, "%s is changed in its loop, expected only the loop to change it", identifier(n))
	}
	if name := identifier(n); name != "" {
		if v, ok := c.lookup(name).(*variable); ok {
			if v.kind == localVar {
				fail(x.pos, "%s is an index and changed by more than its declaration: expected a value that does not change", name)
			}
			fail(x.pos, "parameter %s is changed, expected a local variable or an element of an array", name)
		}
	}
	fail(x.pos, "assignment to what is neither a variable nor an element of an array")
	return nil
}

func (c *converter) selection(s *cc.SelectionStatement, guard *expr, out *[]stmt) {
	at := c.u.pos(s)
	if s.Case == cc.SelectionStatementSwitch {
		fail(at, "switch: %s", someStatements)
	}
	cond := truth(c.expr(s.ExpressionList))
	if cond.kind == constExpr {
		branch := s.Statement
		if cond.value == 0 {
			branch = s.Statement2
		}
		if branch != nil {
			c.statement(branch, guard, out)
		}
		return
	}
	// The condition is looked at once: a branch may change what it depends on.
	v := c.declare("if", localVar, scalar.Bool, at)
	v.host = len(c.loops) == 0
	taken := &expr{kind: varExpr, typ: scalar.Bool, pos: at, v: v}
	*out = append(*out, c.assign(taken, and(guard, cond), nil, at))
	c.statement(s.Statement, taken, out)
	if s.Statement2 != nil {
		c.statement(s.Statement2, and(guard, not(taken)), out)
	}
}

func (c *converter) iteration(s *cc.IterationStatement, guard *expr, out *[]stmt) {
	at := c.u.pos(s)
	if s.Case != cc.IterationStatementFor && s.Case != cc.IterationStatementForDecl {
		fail(at, "%s loop: supported are for loops such as for (int i = 0; i < N; i++)", s.Token.SrcStr())
	}
	c.push()
	defer c.pop()
	l := &loop{pos: at}
	var name string
	var typ scalar.Type
	var init *expr
	var cond, inc cc.ExpressionNode
	if s.Case == cc.IterationStatementForDecl {
		d := s.Declaration
		if d.InitDeclaratorList == nil || d.InitDeclaratorList.InitDeclaratorList != nil || d.InitDeclaratorList.InitDeclarator.Initializer == nil ||
			d.InitDeclaratorList.InitDeclarator.Initializer.AssignmentExpression == nil {
			fail(at, "a loop with several variables or without a start, expected one such as int i = 0")
		}
		in := d.InitDeclaratorList.InitDeclarator
		if size, depth := c.dims(in.Declarator); size != nil || depth > 0 {
			fail(c.u.pos(in.Declarator), "a loop over pointers, expected an integer")
		}
		name, typ = in.Declarator.Name(), c.elementType(d.DeclarationSpecifiers, c.u.pos(d))
		init = c.expr(in.Initializer.AssignmentExpression)
		cond, inc = s.ExpressionList, s.ExpressionList2
	} else {
		a, ok := unwrap(s.ExpressionList).(*cc.AssignmentExpression)
		if !ok || a.Case != cc.AssignmentExpressionAssign {
			fail(at, "a loop without a start, expected for (i = 0; i < N; i++)")
		}
		name = identifier(a.UnaryExpression)
		v, ok := c.lookup(name).(*variable)
		if !ok || v.kind != localVar {
			fail(c.u.pos(a), "a loop over what is no local variable, expected for (int i = 0; i < N; i++)")
		}
		typ = v.typ
		init = c.expr(a.AssignmentExpression)
		cond, inc = s.ExpressionList2, s.ExpressionList3
	}
	if !typ.Int() || typ.Bits() < 32 {
		fail(at, "the loop's variable %s is %s, expected int or int64_t", name, cName(typ))
	}
	l.v = c.declare(name, loopVar, typ, at)
	l.v.symbol = true
	first := c.bound(init, "start")
	step := c.step(inc, name, at)
	l.step = step
	last, lastExpr := c.condition(cond, name, step, at)
	l.literal = literal(init) && literal(lastExpr)
	if step > 0 {
		l.lo, l.hi = first, last.Plus(1)
	} else {
		l.lo, l.hi = last, first.Plus(1)
	}
	c.bind(name, l.v)
	c.loops = append(c.loops, l)
	c.statement(s.Statement, guard, &l.body)
	c.loops = c.loops[:len(c.loops)-1]
	*out = append(*out, l)
}

func literal(x *expr) bool {
	found := false
	x.walk(func(y *expr) { found = found || y.kind == varExpr || y.kind == elemExpr })
	return !found
}

func (c *converter) bound(x *expr, what string) lattice.Expr {
	if e, ok := affine(x); ok {
		return e
	}
	fail(x.pos, "a %s of the loop that is not affine: supported are sums of constants, parameters and outer loop variables, each times a constant", what)
	return lattice.Expr{}
}

// unwrap removes parentheses and lists of one expression.
func unwrap(n cc.ExpressionNode) cc.ExpressionNode {
	for {
		switch x := n.(type) {
		case *cc.ExpressionList:
			if x.ExpressionList != nil {
				return n
			}
			n = x.AssignmentExpression
		case *cc.PrimaryExpression:
			if x.Case != cc.PrimaryExpressionExpr {
				return n
			}
			n = x.ExpressionList
		default:
			return n
		}
	}
}

// step returns by how much a loop changes its variable.
func (c *converter) step(n cc.ExpressionNode, name string, at Pos) int64 {
	const want = "expected a step such as i++, i--, i += 2 or i -= 2"
	switch x := unwrap(n).(type) {
	case *cc.PostfixExpression:
		if identifier(x.PostfixExpression) == name && x.Case == cc.PostfixExpressionInc {
			return 1
		}
		if identifier(x.PostfixExpression) == name && x.Case == cc.PostfixExpressionDec {
			return -1
		}
	case *cc.UnaryExpression:
		if x.Case == cc.UnaryExpressionInc && identifier(x.UnaryExpression) == name {
			return 1
		}
		if x.Case == cc.UnaryExpressionDec && identifier(x.UnaryExpression) == name {
			return -1
		}
	case *cc.AssignmentExpression:
		if identifier(x.UnaryExpression) != name {
			break
		}
		sign, by := int64(1), x.AssignmentExpression
		switch x.Case {
		case cc.AssignmentExpressionAdd:
		case cc.AssignmentExpressionSub:
			sign = -1
		case cc.AssignmentExpressionAssign: // i = i + 2
			sum, ok := unwrap(x.AssignmentExpression).(*cc.AdditiveExpression)
			if !ok || identifier(sum.AdditiveExpression) != name {
				fail(c.u.pos(x), "%s", want)
			}
			by = sum.MultiplicativeExpression
			if sum.Case == cc.AdditiveExpressionSub {
				sign = -1
			}
		default:
			fail(c.u.pos(x), "%s", want)
		}
		e, ok := affine(c.expr(by))
		k, isConst := e.Const()
		if !ok || !isConst || k == 0 || k > 1<<30 || k < -1<<30 {
			fail(c.u.pos(by), "a step that is no constant, %s", want)
		}
		return sign * k
	}
	fail(at, "a loop that does not step %s, %s", name, want)
	return 0
}

// condition returns the last value that a loop's variable may have.
func (c *converter) condition(n cc.ExpressionNode, name string, step int64, at Pos) (lattice.Expr, *expr) {
	const want = "expected a condition such as i < N"
	var left, right cc.ExpressionNode
	var op string
	switch x := unwrap(n).(type) {
	case *cc.RelationalExpression:
		left, op, right = x.RelationalExpression, x.Token.SrcStr(), x.ShiftExpression
	case *cc.EqualityExpression:
		left, op, right = x.EqualityExpression, x.Token.SrcStr(), x.RelationalExpression
	default:
		fail(at, "a loop without an end, %s", want)
	}
	if identifier(left) != name {
		left, right = right, left
		op = map[string]string{"<": ">", ">": "<", "<=": ">=", ">=": "<="}[op]
	}
	if identifier(left) != name {
		fail(c.u.pos(n), "a condition on something else than %s, %s", name, want)
	}
	x := c.expr(right)
	e := c.bound(x, "bound")
	switch {
	case op == "<" && step > 0, op == "!=" && step == 1:
		return e.Plus(-1), x
	case op == "<=" && step > 0, op == ">=" && step < 0:
		return e, x
	case op == ">" && step < 0, op == "!=" && step == -1:
		return e.Plus(1), x
	}
	fail(c.u.pos(n), "a condition that a step of %d does not end at, %s", step, want)
	return e, x
}

// expr converts an expression.
func (c *converter) expr(n cc.ExpressionNode) *expr {
	at := c.u.pos(n)
	switch n := n.(type) {
	case *cc.PrimaryExpression:
		return c.primary(n, at)
	case *cc.PostfixExpression:
		return c.postfix(n, at)
	case *cc.UnaryExpression:
		return c.unary(n, at)
	case *cc.CastExpression:
		if n.Case == cc.CastExpressionUnary {
			return c.expr(n.UnaryExpression)
		}
		return c.cast(n, at)
	case *cc.MultiplicativeExpression:
		switch n.Case {
		case cc.MultiplicativeExpressionMul:
			return c.operation(at, scalar.Mul, c.expr(n.MultiplicativeExpression), c.expr(n.CastExpression))
		case cc.MultiplicativeExpressionDiv:
			return c.operation(at, scalar.Div, c.expr(n.MultiplicativeExpression), c.expr(n.CastExpression))
		case cc.MultiplicativeExpressionMod:
			return c.operation(at, scalar.Rem, c.expr(n.MultiplicativeExpression), c.expr(n.CastExpression))
		}
		return c.expr(n.CastExpression)
	case *cc.AdditiveExpression:
		switch n.Case {
		case cc.AdditiveExpressionAdd:
			return c.operation(at, scalar.Add, c.expr(n.AdditiveExpression), c.expr(n.MultiplicativeExpression))
		case cc.AdditiveExpressionSub:
			return c.operation(at, scalar.Sub, c.expr(n.AdditiveExpression), c.expr(n.MultiplicativeExpression))
		}
		return c.expr(n.MultiplicativeExpression)
	case *cc.ShiftExpression:
		switch n.Case {
		case cc.ShiftExpressionLsh:
			return c.operation(at, scalar.Shl, c.expr(n.ShiftExpression), c.expr(n.AdditiveExpression))
		case cc.ShiftExpressionRsh:
			return c.operation(at, scalar.Shr, c.expr(n.ShiftExpression), c.expr(n.AdditiveExpression))
		}
		return c.expr(n.AdditiveExpression)
	case *cc.RelationalExpression:
		op := map[cc.RelationalExpressionCase]scalar.Op{cc.RelationalExpressionLt: scalar.Lt, cc.RelationalExpressionGt: scalar.Gt,
			cc.RelationalExpressionLeq: scalar.Le, cc.RelationalExpressionGeq: scalar.Ge}[n.Case]
		if op == scalar.NoOp {
			return c.expr(n.ShiftExpression)
		}
		return c.operation(at, op, c.expr(n.RelationalExpression), c.expr(n.ShiftExpression))
	case *cc.EqualityExpression:
		switch n.Case {
		case cc.EqualityExpressionEq:
			return c.operation(at, scalar.Eq, c.expr(n.EqualityExpression), c.expr(n.RelationalExpression))
		case cc.EqualityExpressionNeq:
			return c.operation(at, scalar.Ne, c.expr(n.EqualityExpression), c.expr(n.RelationalExpression))
		}
		return c.expr(n.RelationalExpression)
	case *cc.AndExpression:
		if n.Case == cc.AndExpressionAnd {
			return c.operation(at, scalar.And, c.expr(n.AndExpression), c.expr(n.EqualityExpression))
		}
		return c.expr(n.EqualityExpression)
	case *cc.ExclusiveOrExpression:
		if n.Case == cc.ExclusiveOrExpressionXor {
			return c.operation(at, scalar.Xor, c.expr(n.ExclusiveOrExpression), c.expr(n.AndExpression))
		}
		return c.expr(n.AndExpression)
	case *cc.InclusiveOrExpression:
		if n.Case == cc.InclusiveOrExpressionOr {
			return c.operation(at, scalar.Or, c.expr(n.InclusiveOrExpression), c.expr(n.ExclusiveOrExpression))
		}
		return c.expr(n.ExclusiveOrExpression)
	case *cc.LogicalAndExpression:
		if n.Case == cc.LogicalAndExpressionLAnd {
			return and(truth(c.expr(n.LogicalAndExpression)), truth(c.expr(n.InclusiveOrExpression)))
		}
		return c.expr(n.InclusiveOrExpression)
	case *cc.LogicalOrExpression:
		if n.Case == cc.LogicalOrExpressionLOr {
			return fold(&expr{kind: opExpr, typ: scalar.Bool, pos: at, op: scalar.Or,
				args: []*expr{truth(c.expr(n.LogicalOrExpression)), truth(c.expr(n.LogicalAndExpression))}})
		}
		return c.expr(n.LogicalAndExpression)
	case *cc.ConditionalExpression:
		if n.Case == cc.ConditionalExpressionCond {
			if n.ExpressionList == nil {
				fail(at, "?: without a second operand, expected one")
			}
			return choose(at, truth(c.expr(n.LogicalOrExpression)), c.expr(n.ExpressionList), c.expr(n.ConditionalExpression))
		}
		return c.expr(n.LogicalOrExpression)
	case *cc.AssignmentExpression:
		if n.Case == cc.AssignmentExpressionCond {
			return c.expr(n.ConditionalExpression)
		}
		fail(at, "an assignment inside an expression, expected a statement of its own")
	case *cc.ExpressionList:
		if n.ExpressionList == nil {
			return c.expr(n.AssignmentExpression)
		}
		fail(at, "a comma operator, expected one expression")
	case *cc.ConstantExpression:
		return c.expr(n.ConditionalExpression)
	}
	fail(at, "an expression of a kind that is not supported")
	return nil
}

// operation is binary with the checks of C and of the element types.
func (c *converter) operation(at Pos, op scalar.Op, x, y *expr) *expr {
	x, y = asNumber(x), asNumber(y)
	switch op {
	case scalar.Shl, scalar.Shr:
		t := promoted(x.typ)
		if !t.Int() || !promoted(y.typ).Int() || x.kind == doubleExpr || y.kind == doubleExpr {
			fail(at, "a shift of %s, expected integers", cName(t))
		}
		return fold(&expr{kind: opExpr, typ: t, pos: at, op: op, args: []*expr{convert(x, t), convert(y, t)}})
	case scalar.Rem, scalar.And, scalar.Or, scalar.Xor:
		t := common(at, x, y)
		if t.Float() {
			fail(at, "%s of %s: supported for floating-point numbers are + - * / and comparisons", cOp(op), cName(t))
		}
	}
	return binary(at, op, x, y)
}

// asNumber returns a condition as the int that it is in C.
func asNumber(x *expr) *expr {
	if x.typ == scalar.Bool {
		return convert(x, scalar.Int32)
	}
	return x
}

func cOp(op scalar.Op) string {
	switch op {
	case scalar.Rem:
		return "%"
	case scalar.And:
		return "&"
	case scalar.Or:
		return "|"
	case scalar.Xor:
		return "^"
	}
	return op.String()
}

func (c *converter) primary(n *cc.PrimaryExpression, at Pos) *expr {
	switch n.Case {
	case cc.PrimaryExpressionIdent:
		name := n.Token.SrcStr()
		switch x := c.lookup(name).(type) {
		case *variable:
			switch {
			case x.alias != nil:
				return x.alias
			case x.bound != nil:
				v := intConst(at, x.typ, *x.bound)
				if scalar.ToInt(x.typ, v.value) != *x.bound {
					fail(x.pos, "-D %s=%d: %s does not hold that number", name, *x.bound, cName(x.typ))
				}
				return &expr{kind: varExpr, typ: x.typ, pos: at, v: x}
			}
			return &expr{kind: varExpr, typ: x.typ, pos: at, v: x}
		case *array:
			fail(at, "array %s without a subscript: pointers and their arithmetic are not supported, write %s[i]", name, name)
		}
		if name == "INFINITY" {
			return &expr{kind: constExpr, typ: scalar.FP32, pos: at, value: scalar.FromFloat(scalar.FP32, math.Inf(1))}
		}
		fail(at, "%s is not declared", name)
	case cc.PrimaryExpressionInt:
		return c.integer(n.Token.SrcStr(), at)
	case cc.PrimaryExpressionFloat:
		return c.float(n.Token.SrcStr(), at)
	case cc.PrimaryExpressionChar:
		if s, err := strconv.Unquote(n.Token.SrcStr()); err == nil && len(s) == 1 {
			return intConst(at, scalar.Int32, int64(int8(s[0])))
		}
		fail(at, "character %s, expected a number", n.Token.SrcStr())
	case cc.PrimaryExpressionExpr:
		return c.expr(n.ExpressionList)
	}
	fail(at, "a string or another expression that is no number")
	return nil
}

func (c *converter) integer(text string, at Pos) *expr {
	digits := strings.TrimRight(text, "uUlL")
	suffix := strings.ToLower(text[len(digits):])
	v, err := strconv.ParseInt(digits, 0, 64)
	if err != nil || strings.Contains(suffix, "u") || strings.Contains(digits, "_") {
		fail(at, "number %s: supported are signed integers of up to 64 bits", text)
	}
	t := scalar.Int32
	if suffix != "" || v > 1<<31-1 {
		t = scalar.Int64
	}
	if t == scalar.Int64 && suffix == "" && v < 1<<32 && strings.HasPrefix(digits, "0") {
		fail(at, "number %s is unsigned in C: supported are signed integers", text)
	}
	return intConst(at, t, v)
}

func (c *converter) float(text string, at Pos) *expr {
	digits := strings.TrimRight(text, "fFlL")
	if strings.HasPrefix(strings.ToLower(text), "0x") {
		digits = text
		if strings.HasSuffix(strings.ToLower(text), "f") && strings.ContainsAny(text, "pP") {
			digits = text[:len(text)-1]
		}
	}
	suffix := strings.ToLower(text[len(digits):])
	if suffix == "l" {
		fail(at, "number %s is a long double: expected a float such as 0.5f", text)
	}
	if suffix == "f" {
		v, err := strconv.ParseFloat(digits, 32)
		if err != nil {
			fail(at, "number %s, expected one that a float holds", text)
		}
		return &expr{kind: constExpr, typ: scalar.FP32, pos: at, value: scalar.FromFloat(scalar.FP32, v)}
	}
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		fail(at, "number %s, expected one that a double holds", text)
	}
	return &expr{kind: doubleExpr, typ: scalar.FP32, pos: at, double: v}
}

func (c *converter) postfix(n *cc.PostfixExpression, at Pos) *expr {
	switch n.Case {
	case cc.PostfixExpressionPrimary:
		return c.expr(n.PrimaryExpression)
	case cc.PostfixExpressionIndex:
		return c.element(n, at)
	case cc.PostfixExpressionCall:
		return c.call(n)
	case cc.PostfixExpressionInc, cc.PostfixExpressionDec:
		fail(at, "%s inside an expression, expected a statement of its own", n.Token.SrcStr())
	case cc.PostfixExpressionSelect, cc.PostfixExpressionPSelect:
		fail(at, "a member of a structure: supported are arrays of numbers")
	}
	fail(at, "a compound literal: supported are arrays and variables")
	return nil
}

// element converts A[i][j].
func (c *converter) element(n *cc.PostfixExpression, at Pos) *expr {
	var index []*expr
	var base cc.ExpressionNode = n
	for {
		p, ok := unwrap(base).(*cc.PostfixExpression)
		if !ok || p.Case != cc.PostfixExpressionIndex {
			break
		}
		i := c.expr(p.ExpressionList)
		if i.kind == doubleExpr || !promoted(i.typ).Int() {
			fail(i.pos, "a subscript of type %s, expected an integer", cName(i.typ))
		}
		index = append([]*expr{i}, index...)
		base = p.PostfixExpression
	}
	name := identifier(base)
	a, ok := c.lookup(name).(*array)
	switch {
	case !ok && name != "" && c.lookup(name) == nil:
		fail(at, "%s is not declared", name)
	case !ok && name != "":
		fail(at, "%s is not an array", name)
	case !ok:
		fail(at, "a subscript of an expression: pointer arithmetic is not supported, expected the name of an array")
	case !a.declared:
		fail(at, "array %s has no inf_array: expected inf_array(%s, ...) with its sizes in front of the region", a.name, a.name)
	case len(index) != len(a.size):
		fail(at, "%d subscripts of %s, which has %d dimensions", len(index), a.name, len(a.size))
	}
	return &expr{kind: elemExpr, typ: a.typ, pos: at, array: a, index: index}
}

// functions are those of the C library that a kernel may call.
var functions = map[string]struct {
	op    scalar.Op
	arity int
	typ   scalar.Type
}{
	"fminf": {scalar.Min, 2, scalar.FP32}, "fmaxf": {scalar.Max, 2, scalar.FP32},
	"sqrtf": {scalar.Sqrt, 1, scalar.FP32}, "fabsf": {scalar.Abs, 1, scalar.FP32},
	"fmaf": {scalar.FMA, 3, scalar.FP32}, "abs": {scalar.Abs, 1, scalar.Int32},
}

func (c *converter) call(n *cc.PostfixExpression) *expr {
	at := c.u.pos(n)
	name := identifier(n.PostfixExpression)
	f, ok := functions[name]
	switch {
	case name == c.k.name:
		fail(at, "%s calls itself: recursion is not supported", name)
	case name == "inf_array":
		fail(at, "inf_array inside the region, expected it in front")
	case c.funcs[name]:
		fail(at, "a call of %s: supported are fminf, fmaxf, sqrtf, fabsf, fmaf and abs; write its body in the loop", name)
	case !ok && name == "":
		fail(at, "a call through a pointer: supported are fminf, fmaxf, sqrtf, fabsf, fmaf and abs")
	case !ok:
		fail(at, "a call of %s: supported are fminf, fmaxf, sqrtf, fabsf, fmaf and abs", name)
	}
	var args []*expr
	for l := n.ArgumentExpressionList; l != nil; l = l.ArgumentExpressionList {
		args = append(args, convert(c.expr(l.AssignmentExpression), f.typ))
	}
	if len(args) != f.arity {
		fail(at, "%s with %d arguments, expected %d", name, len(args), f.arity)
	}
	return fold(&expr{kind: opExpr, typ: f.typ, pos: at, op: f.op, args: args})
}

func (c *converter) unary(n *cc.UnaryExpression, at Pos) *expr {
	switch n.Case {
	case cc.UnaryExpressionPostfix:
		return c.expr(n.PostfixExpression)
	case cc.UnaryExpressionPlus:
		x := asNumber(c.expr(n.CastExpression))
		return convert(x, promoted(x.typ))
	case cc.UnaryExpressionMinus:
		x := asNumber(c.expr(n.CastExpression))
		if x.kind == doubleExpr {
			return &expr{kind: doubleExpr, typ: scalar.FP32, pos: at, double: -x.double}
		}
		t := promoted(x.typ)
		return fold(&expr{kind: opExpr, typ: t, pos: at, op: scalar.Neg, args: []*expr{convert(x, t)}})
	case cc.UnaryExpressionCpl:
		x := asNumber(c.expr(n.CastExpression))
		t := promoted(x.typ)
		if !t.Int() || x.kind == doubleExpr {
			fail(at, "~ of %s, expected an integer", cName(t))
		}
		return fold(&expr{kind: opExpr, typ: t, pos: at, op: scalar.Not, args: []*expr{convert(x, t)}})
	case cc.UnaryExpressionNot:
		return not(truth(c.expr(n.CastExpression)))
	case cc.UnaryExpressionInc, cc.UnaryExpressionDec:
		fail(at, "%s inside an expression, expected a statement of its own", n.Token.SrcStr())
	case cc.UnaryExpressionDeref, cc.UnaryExpressionAddrof:
		fail(at, "operator %s: pointers and their arithmetic are not supported, write A[i]", n.Token.SrcStr())
	}
	fail(at, "%s: supported are the operators of arithmetic, comparison and logic", n.Token.SrcStr())
	return nil
}

func (c *converter) cast(n *cc.CastExpression, at Pos) *expr {
	var list []*cc.TypeSpecifier
	for s := n.TypeName.SpecifierQualifierList; s != nil; s = s.SpecifierQualifierList {
		if s.TypeSpecifier != nil {
			list = append(list, s.TypeSpecifier)
		}
	}
	t, text := c.typeOf(list)
	if n.TypeName.AbstractDeclarator != nil {
		fail(at, "a cast to a pointer or an array: supported are %s", someTypes)
	}
	if t == scalar.Invalid {
		fail(at, "a cast to %s: supported are %s", text, someTypes)
	}
	x := c.expr(n.CastExpression)
	if t == scalar.Bool {
		return truth(x)
	}
	return convert(x, t)
}
