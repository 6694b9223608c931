package cfront

import (
	"fmt"
	"slices"
	"strings"

	"modernc.org/cc/v4"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
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
	values  map[string]int64 // of sizes that stay symbols
	scopes  []map[string]any // name to *variable or *array
	types   map[string]scalar.Type
	funcs   map[string]*cc.FunctionDefinition
	loops   []*loop
	steps   int
	calls   []*returning // calls that are being replaced by bodies, outermost first
	inlined int
	peeks   bool    // place only looks for the array
	out     *[]stmt // where the statement at hand goes, nil outside of the region
	inParts bool    // regions are parts of the function, others stay out
	guard   *expr   // under which it is executed
	whole   *whole  // not nil for a whole function
	frames  []*frame

	inCritical int   // critical sections around the statement at hand
	opened     []Pos // pragmas whose statement is being converted
}

// maxStatements bounds how far unrolling and macros can blow up a kernel.
const maxStatements = 1024

// convertUnit finds the kernel of a source and converts it.
func convertUnit(u *unit, defines, values map[string]int64, parts bool) *kernel {
	c := &converter{u: u, inParts: parts, defines: defines, values: values, types: map[string]scalar.Type{}, funcs: map[string]*cc.FunctionDefinition{}}
	if len(u.region) == 0 {
		fail(Pos{File: u.file}, "no region: expected #pragma bitsched region in front of the loops of the kernel")
	}
	at := u.region[0].pos
	def := c.functions(!parts)
	switch {
	case !parts && len(u.region) > 1:
		fail(u.region[1].pos, "a second region, expected one in a function that arrays compute alone: with run --config there may be several, with other statements between")
	case !parts && (def == nil || !c.hasRegion(def.CompoundStatement)):
		fail(at, "a region outside of a function")
	case def == nil:
		fail(at, "no function that is neither static nor main, expected one with sizes and arrays for parameters")
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
	if !parts {
		c.function(def.CompoundStatement, at)
		return c.k
	}
	for _, r := range u.region {
		if r.reassociate != c.k.reassociate {
			fail(r.pos, "a region that is unlike another in the clause reassociate, expected it at all or at none")
		}
	}
	c.parts(def.CompoundStatement)
	used := map[*array]bool{}
	walkStmts(c.k.body, nil, func(s stmt, _ []*loop) {
		if a, ok := s.(*assign); ok {
			for _, x := range []*expr{a.target, a.value, a.guard} {
				x.walk(func(y *expr) { used[y.array] = true })
			}
		}
	})
	for _, a := range c.k.arrays {
		a.declared = a.declared && used[a]
	}
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
	case "char", "char signed": // as on x86
		return scalar.Int8, text
	case "char unsigned":
		return scalar.UInt8, text
	case "short unsigned", "int short unsigned":
		return scalar.UInt16, text
	case "unsigned", "int unsigned":
		return scalar.UInt32, text
	case "long unsigned", "int long unsigned", "long long unsigned", "int long long unsigned":
		return scalar.UInt64, text
	case "double":
		return scalar.FP64, text
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

const someTypes = "int8_t to int64_t, uint8_t to uint64_t, int, long, float, double, fp16 and bf16"

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
	if c.whole != nil {
		if s := c.structures(p.DeclarationSpecifiers); s != nil {
			c.structParam(s, p)
			return
		}
	}
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
		for _, given := range []map[string]int64{c.defines, c.values} {
			if value, ok := given[name]; ok && t.Int() && scalar.ToInt(t, scalar.FromInt(t, value)) != value {
				fail(at, "-D %s=%d: %s does not hold that number", name, value, cName(t))
			}
		}
		if value, ok := c.defines[name]; ok {
			v.bound = &value
		}
		v.symbol = c.whole != nil && t.Int()
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
		// A tensor's array says by inf_array too that no other is in the same memory.
		a.declared = c.whole != nil
	}
	c.k.taken[name] = true
	c.k.arrays = append(c.k.arrays, a)
	c.bind(name, a)
}

func (c *converter) checkDims(a *array, n int) {
	if c.whole == nil && n > tdfg.MaxDims {
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
			c.out = &c.k.body
			c.declaration(item.Declaration, nil, &c.k.body)
			c.out = nil
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

func isInfArray(s *cc.Statement) bool {
	if s.ExpressionStatement == nil {
		return false
	}
	call, ok := s.ExpressionStatement.ExpressionList.(*cc.PostfixExpression)
	return ok && call.Case == cc.PostfixExpressionCall && identifier(call.PostfixExpression) == "inf_array"
}

// infArray reads a call of inf_array.
func (c *converter) infArray(s *cc.Statement) bool {
	if !isInfArray(s) {
		return false
	}
	call := s.ExpressionStatement.ExpressionList.(*cc.PostfixExpression)
	at := c.u.pos(call)
	var args []cc.ExpressionNode
	for l := call.ArgumentExpressionList; l != nil; l = l.ArgumentExpressionList {
		args = append(args, l.AssignmentExpression)
	}
	if len(args) < 2 {
		fail(at, "inf_array with %d arguments, expected an array and its sizes: inf_array(A, N, M)", len(args))
	}
	if o, ok := c.lookup(identifier(args[0])).(*object); ok {
		if len(args) != 2 {
			fail(at, "inf_array with %d sizes of %s, an array of structures, expected one", len(args)-1, o.name)
		}
		for _, a := range o.fields {
			a.size, a.declared = a.shape(c.size(args[1])), true
		}
		return true
	}
	a, ok := c.lookup(identifier(args[0])).(*array)
	if !ok {
		fail(c.u.pos(args[0]), "inf_array of what is not an array, expected a parameter such as float A[N]")
	}
	if a.declared && c.whole == nil {
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
