package netlist

// Expressions follow IEEE 1364-2005, chapter 5: an operand is as wide and as signed
// as its context asks for (5.4 and 5.5). So a node is read first, sized when the
// whole expression and what it drives are known, and built last.

// Limits of an expression.
const (
	verilogDepth    = 10_000  // brackets and conditions within each other
	verilogMaxTree  = 20_000  // operators from the root to a leaf
	verilogMaxNodes = 1 << 22 // nodes of a statement
	verilogMaxWork  = 1 << 26 // gates of all operators on vectors
	verilogMaxSigns = 1_000   // operators before an operand
	verilogMaxIndex = 1 << 30 // of a bit
)

// exprOp is what an expression node does.
type exprOp uint8

const (
	exprRef    exprOp = iota // a: first signal
	exprConst                // a: index into consts
	exprConcat               // a: first of parts, n of them
	exprCast                 // one child, of its own width

	// Bit by bit, in the width of the context.
	exprAnd // any number of children
	exprOr
	exprXor
	exprMux  // condition, then, else
	exprPass // one child
	exprUp   // one child, moved up by n
	exprDown // one child, moved down by n

	// Words that are built as a whole, in the width of the context.
	exprSum // any number of children, some of them minus
	exprMul
	exprDiv
	exprMod
	exprLeft  // word, amount
	exprRight // word, amount

	// The same, of a width of their own.
	exprPart  // word, amount: n bits of the word from the amount on
	exprKept  // one child, for bits that are asked for often
	exprEqual // this and the following have one bit
	exprLess
	exprAny // of a child's bits
	exprAll
	exprParity
)

// isWord reports whether an operator is built as a whole, not bit by bit.
func (o exprOp) isWord() bool { return o >= exprSum }

// inContext reports whether an operator has the width of its context; others are
// extended to it.
func (o exprOp) inContext() bool { return o >= exprAnd && o <= exprRight }

// expr is a node of an expression. The nodes of a statement lie side by side,
// children before parents.
type expr struct {
	op     exprOp
	inv    bool // the value is complemented, after it was extended
	bool   bool // one bit: above it are zeros, whatever inv says
	signed bool // extended by its highest bit
	minus  bool // of a child of a sum: it is subtracted
	arith  bool // of a shift down: a signed word is filled with its sign
	a, n   int32
	next   int32 // the next child of the same parent, or -1
	own    int32 // bits by itself
	width  int32 // bits in its context
	need   int32 // of these, the lowest that are asked for
	memo   int32 // where the bits of a word are in memos, or -1
	depth  int32
}

// part is an element of a concatenation, the lowest first.
type part struct {
	expr int32
	from int32 // the lowest bit of the concatenation that it gives
}

// node appends a node, the children of which are linked from e.a on where it has
// some. A concatenation has parts.
func (r *verilogReader) node(e expr) (int32, error) {
	e.next, e.memo = -1, -1
	switch e.op {
	case exprRef, exprConst:
	case exprConcat:
		for _, p := range r.parts[e.a : e.a+e.n] {
			e.depth = max(e.depth, r.exprs[p.expr].depth)
		}
	default:
		for c := e.a; c >= 0; c = r.exprs[c].next {
			e.depth = max(e.depth, r.exprs[c].depth)
		}
	}
	e.depth++
	switch {
	case e.depth > verilogMaxTree:
		return 0, r.errAt(r.at, "expression deeper than %d operators, expected a flatter one", verilogMaxTree)
	case e.own > verilogMaxWidth:
		return 0, r.errAt(r.at, "expression of %d bits, expected at most %d", e.own, verilogMaxWidth)
	case len(r.exprs)-int(r.start) > verilogMaxNodes:
		return 0, r.errAt(r.at, "statement of more than %d operands, expected fewer", verilogMaxNodes)
	}
	r.exprs = append(r.exprs, e)
	return int32(len(r.exprs) - 1), nil
}

// expression reads an expression and returns its node.
func (r *verilogReader) expression() (int32, error) {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > verilogDepth {
		return 0, r.errAt(r.at, "expression nests deeper than %d, expected a flatter one", verilogDepth)
	}
	cond, err := r.binary(0)
	if err != nil || r.kind != '?' {
		return cond, err
	}
	if cond, err = r.truth(cond); err != nil {
		return 0, err
	}
	// A vector asks for the condition again for each bit.
	if op := r.exprs[cond].op; op != exprRef && op != exprConst && !op.isWord() {
		if cond, err = r.node(expr{op: exprAny, bool: true, a: cond, own: 1}); err != nil {
			return 0, err
		}
	}
	if err := r.advance(); err != nil {
		return 0, err
	}
	then, err := r.expression()
	if err != nil {
		return 0, err
	}
	if err := r.expect(':', "in a conditional expression"); err != nil {
		return 0, err
	}
	other, err := r.expression()
	if err != nil {
		return 0, err
	}
	r.exprs[cond].next = then
	r.exprs[then].next = other
	t, o := &r.exprs[then], &r.exprs[other]
	return r.node(expr{op: exprMux, a: cond, own: max(t.own, o.own), signed: t.signed && o.signed})
}

// truth returns a node of one bit that tells whether a value is not zero.
func (r *verilogReader) truth(i int32) (int32, error) {
	if r.exprs[i].own == 1 {
		return i, nil
	}
	return r.node(expr{op: exprAny, bool: true, a: i, own: 1})
}

// levels are the binary operators by precedence, the weakest first (IEEE 1364-2005,
// table 5-4).
var levels = [...][]int{
	{tokOrOr}, {tokAndAnd}, {'|'}, {'^', tokXnor}, {'&'},
	{tokEqual, tokUnequal, tokCaseEqual, tokCaseUnequal},
	{'<', tokLessEqual, '>', tokGreaterEqual},
	{tokLeft, tokRight, tokLeftArith, tokRightArith},
	{'+', '-'}, {'*', '/', '%'}, {tokPower},
}

// precedence returns the level of an operator, -1 if the token is none.
func precedence(kind int) int {
	switch kind { // the common ones first
	case ';', ')', ',', '}', ':', '?':
		return -1
	case '&':
		return 4
	case '^':
		return 3
	case '|':
		return 2
	}
	for level, kinds := range levels {
		for _, k := range kinds {
			if k == kind {
				return level
			}
		}
	}
	return -1
}

// binary reads operators of a level and of those that bind stronger.
func (r *verilogReader) binary(level int) (int32, error) {
	left, err := r.unary()
	for err == nil {
		p := precedence(r.kind)
		if p < level {
			break
		}
		switch r.kind {
		case tokOrOr, tokAndAnd, '|', '&', '^', tokXnor, '+', '-':
			left, err = r.chain(left, p)
		default:
			left, err = r.pair(left, p)
		}
	}
	return left, err
}

// chain reads operators of one level that associate, behind their first operand, as
// one node.
func (r *verilogReader) chain(first int32, level int) (int32, error) {
	var err error
	var e expr
	logical := r.kind == tokAndAnd || r.kind == tokOrOr
	if r.kind == '+' || r.kind == '-' {
		if err := r.needWords(); err != nil {
			return 0, err
		}
	}
	if logical {
		if first, err = r.truth(first); err != nil {
			return 0, err
		}
		e.bool = true
	}
	e.a, e.own, e.signed = first, r.exprs[first].own, r.exprs[first].signed
	last := first
	for precedence(r.kind) == level {
		minus := false
		switch r.kind {
		case tokOrOr, '|':
			e.op = exprOr
		case tokAndAnd, '&':
			e.op = exprAnd
		case '^':
			e.op = exprXor
		case tokXnor:
			e.op = exprXor
			e.inv = !e.inv
		default:
			e.op = exprSum
			minus = r.kind == '-'
		}
		if err := r.advance(); err != nil {
			return 0, err
		}
		next, err := r.binary(level + 1)
		if err != nil {
			return 0, err
		}
		if logical {
			if next, err = r.truth(next); err != nil {
				return 0, err
			}
		}
		x := &r.exprs[next]
		x.minus = minus
		e.own, e.signed = max(e.own, x.own), e.signed && x.signed && !logical
		r.exprs[last].next = next
		last = next
	}
	return r.node(e)
}

// pair reads an operator of two operands, behind the first.
func (r *verilogReader) pair(first int32, level int) (int32, error) {
	op := r.kind
	if op == tokPower {
		return 0, unsupported(r.errAt(r.at, "operator ** is not supported, %s", r.remedy("")))
	}
	shift := op == tokLeft || op == tokLeftArith || op == tokRight || op == tokRightArith
	if !shift || r.exprs[first].op != exprConst {
		if err := r.needWords(); err != nil {
			return 0, err
		}
	}
	if err := r.advance(); err != nil {
		return 0, err
	}
	second, err := r.binary(level + 1)
	if err != nil {
		return 0, err
	}
	a, b := r.exprs[first], r.exprs[second]
	e := expr{own: max(a.own, b.own), signed: a.signed && b.signed}
	switch op {
	case tokEqual, tokCaseEqual:
		e = expr{op: exprEqual, own: 1, bool: true}
	case tokUnequal, tokCaseUnequal:
		e = expr{op: exprEqual, own: 1, bool: true, inv: true}
	case '<':
		e = expr{op: exprLess, own: 1, bool: true}
	case tokGreaterEqual:
		e = expr{op: exprLess, own: 1, bool: true, inv: true}
	case '>':
		e = expr{op: exprLess, own: 1, bool: true}
		first, second = second, first
	case tokLessEqual:
		e = expr{op: exprLess, own: 1, bool: true, inv: true}
		first, second = second, first
	case '*':
		e.op = exprMul
	case '/':
		e.op = exprDiv
	case '%':
		e.op = exprMod
	default:
		e.own, e.signed, e.arith = a.own, a.signed, op == tokRightArith
		down := op == tokRight || op == tokRightArith
		if b.op == exprConst && !b.inv {
			e.op, e.a = exprUp, first
			if down {
				e.op = exprDown
			}
			e.n = verilogMaxWidth
			if v := &r.consts[b.a]; v.big == nil && v.low < verilogMaxWidth {
				e.n = int32(v.low)
			}
			return r.node(e)
		}
		e.op = exprLeft
		if down {
			e.op = exprRight
		}
		if a.op == exprConst && b.own > MaxLUT {
			if err := r.needWords(); err != nil {
				return 0, err
			}
		}
	}
	e.a = first
	r.exprs[first].next = second
	return r.node(e)
}

func (r *verilogReader) needWords() error {
	if r.words != nil {
		return nil
	}
	return unsupported(r.errAt(r.at, "operator %s is not supported without a builder of words, expected ~ & | ^ ~^ && || ?: and concatenations", r.token()))
}

// unary reads an operand with the operators before it.
func (r *verilogReader) unary() (int32, error) {
	var before []int
	for {
		switch r.kind {
		case '~', '!', '&', '|', '^', tokXnor, tokNand, tokNor, '+', '-':
			if r.kind == '-' {
				if err := r.needWords(); err != nil {
					return 0, err
				}
			}
			if k := len(before); k > 0 && before[k-1] == r.kind && (r.kind == '~' || r.kind == '-') {
				before = before[:k-1] // the two undo each other
			} else {
				before = append(before, r.kind)
			}
			if len(before) > verilogMaxSigns {
				return 0, r.errAt(r.at, "more than %d operators before an operand, expected fewer", verilogMaxSigns)
			}
			if err := r.advance(); err != nil {
				return 0, err
			}
			continue
		}
		break
	}
	i, err := r.operand()
	for k := len(before) - 1; k >= 0 && err == nil; k-- {
		i, err = r.sign(before[k], i)
	}
	return i, err
}

// sign applies an operator of one operand.
func (r *verilogReader) sign(op int, i int32) (int32, error) {
	reduce := func(op exprOp, inv bool) (int32, error) {
		return r.node(expr{op: op, inv: inv, bool: true, a: i, own: 1})
	}
	switch op {
	case '~':
		if r.exprs[i].bool { // the zeros above it become ones
			return r.node(expr{op: exprPass, inv: true, a: i, own: 1})
		}
		r.exprs[i].inv = !r.exprs[i].inv
		return i, nil
	case '!':
		i, err := r.truth(i)
		if err == nil {
			e := &r.exprs[i]
			e.inv, e.bool, e.signed = !e.inv, true, false
		}
		return i, err
	case '&':
		return reduce(exprAll, false)
	case tokNand:
		return reduce(exprAll, true)
	case '|':
		return reduce(exprAny, false)
	case tokNor:
		return reduce(exprAny, true)
	case '^':
		return reduce(exprParity, false)
	case tokXnor:
		return reduce(exprParity, true)
	case '-':
		e := &r.exprs[i]
		e.minus = true
		return r.node(expr{op: exprSum, a: i, own: e.own, signed: e.signed})
	}
	return i, nil // plus
}

// operand reads an operand without operators before it.
func (r *verilogReader) operand() (int32, error) {
	switch r.kind {
	case '(':
		if err := r.advance(); err != nil {
			return 0, err
		}
		i, err := r.expression()
		if err != nil {
			return 0, err
		}
		return i, r.expect(')', "after an expression")
	case tokNumber:
		own := r.value.width
		if own == 0 { // what IEEE 1364 says of a number without a width
			own = 32
			if r.value.big != nil {
				own = max(own, int32(r.value.big.BitLen()))
			} else if r.value.low>>32 != 0 {
				own = 64
			}
		}
		r.consts = append(r.consts, r.value)
		i, err := r.node(expr{op: exprConst, a: int32(len(r.consts) - 1), own: own, signed: r.value.signed})
		if err != nil {
			return 0, err
		}
		return i, r.advance()
	case '{':
		return r.concatenation()
	case tokSystem:
		return r.cast()
	case tokName, tokEscaped:
		return r.selection()
	}
	return 0, r.errAt(r.at, "%s, expected a signal, a constant, an operator before them, \"{\" or \"(\"", r.token())
}

// cast reads $signed(expression) or $unsigned(expression).
func (r *verilogReader) cast() (int32, error) {
	signed := string(r.text) == "signed"
	if !signed && string(r.text) != "unsigned" {
		return 0, unsupported(r.errAt(r.at, "function $%s is not supported, expected $signed or $unsigned", clip(r.text)))
	}
	if err := r.advance(); err != nil {
		return 0, err
	}
	if err := r.expect('(', "after $signed or $unsigned"); err != nil {
		return 0, err
	}
	i, err := r.expression()
	if err != nil {
		return 0, err
	}
	if err := r.expect(')', "after an expression"); err != nil {
		return 0, err
	}
	if i, err = r.keep(i); err != nil {
		return 0, err
	}
	return r.node(expr{op: exprCast, a: i, own: r.exprs[i].own, signed: signed})
}

// keep has bits that are asked for more than once built once.
func (r *verilogReader) keep(i int32) (int32, error) {
	e := &r.exprs[i]
	switch {
	case e.op == exprRef, e.op == exprConst, e.op.isWord():
		return i, nil
	case e.op == exprConcat:
		leaves := true
		for _, p := range r.parts[e.a : e.a+e.n] {
			op := r.exprs[p.expr].op
			leaves = leaves && (op == exprRef || op == exprConst || op.isWord())
		}
		if leaves {
			return i, nil
		}
	}
	return r.node(expr{op: exprKept, a: i, own: e.own, signed: e.signed})
}

// concatenation reads {a, b, c}, the highest first, or {4{a, b}}.
func (r *verilogReader) concatenation() (int32, error) {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > verilogDepth {
		return 0, r.errAt(r.at, "expression nests deeper than %d, expected a flatter one", verilogDepth)
	}
	if err := r.advance(); err != nil {
		return 0, err
	}
	var list []int32
	for {
		at := r.at
		i, err := r.expression()
		if err != nil {
			return 0, err
		}
		e := &r.exprs[i]
		if r.kind == '{' && len(list) == 0 {
			if e.op != exprConst || e.inv || r.consts[e.a].big != nil || r.consts[e.a].low < 1 || r.consts[e.a].low > verilogMaxWidth {
				return 0, r.errAt(at, "number of repetitions, expected a constant from 1 to %d", verilogMaxWidth)
			}
			times := int32(r.consts[e.a].low)
			inner, err := r.concatenation()
			if err != nil {
				return 0, err
			}
			if inner, err = r.keep(inner); err != nil {
				return 0, err
			}
			if err := r.expect('}', "after a replication"); err != nil {
				return 0, err
			}
			own := r.exprs[inner].own
			if int64(own)*int64(times) > verilogMaxWidth {
				return 0, r.errAt(at, "replication of %d bits, expected at most %d", int64(own)*int64(times), verilogMaxWidth)
			}
			first := int32(len(r.parts))
			for k := range times {
				r.parts = append(r.parts, part{inner, k * own})
			}
			return r.node(expr{op: exprConcat, a: first, n: times, own: own * times})
		}
		list = append(list, i)
		if r.kind == '}' {
			break
		}
		if err := r.expect(',', "or \"}\" in a concatenation"); err != nil {
			return 0, err
		}
	}
	if err := r.advance(); err != nil {
		return 0, err
	}
	first, own := int32(len(r.parts)), int32(0)
	for k := len(list) - 1; k >= 0; k-- {
		r.parts = append(r.parts, part{list[k], own})
		if own += r.exprs[list[k]].own; own > verilogMaxWidth {
			return 0, r.errAt(r.at, "concatenation of more than %d bits, expected fewer", verilogMaxWidth)
		}
	}
	return r.node(expr{op: exprConcat, a: first, n: int32(len(list)), own: own})
}

// selection reads the name of a signal, with a bit or a part of it: a, a[3],
// a[3:0], a[i], a[i +: 4], a[i -: 4].
func (r *verilogReader) selection() (int32, error) {
	at := r.at
	v, err := r.name()
	if err != nil {
		return 0, err
	}
	x := r.vars[v]
	if r.kind != '[' {
		r.mention(x.base, x.width, at)
		return r.node(expr{op: exprRef, a: x.base, n: x.width, own: x.width, signed: x.signed})
	}
	index, low, width, err := r.index(&x, at)
	if err != nil {
		return 0, err
	}
	if index < 0 {
		r.mention(x.base+low, width, at)
		return r.node(expr{op: exprRef, a: x.base + low, n: width, own: width})
	}
	// A part from a place that is not known: the place of its lowest bit is
	// index + low, or low - index where bits count downwards.
	r.mention(x.base, x.width, at)
	word, err := r.node(expr{op: exprRef, a: x.base, n: x.width, own: x.width})
	if err != nil {
		return 0, err
	}
	i := &r.exprs[index]
	down := x.msb < x.lsb
	if low != 0 || down || i.signed {
		// The part may begin below the word: zeros there, and a sum wide enough for
		// all that the index may say.
		zeros, err := r.constant(0, width-1)
		if err != nil {
			return 0, err
		}
		if zeros >= 0 {
			first := int32(len(r.parts))
			r.parts = append(r.parts, part{zeros, 0}, part{word, width - 1})
			if word, err = r.node(expr{op: exprConcat, a: first, n: 2, own: width - 1 + x.width}); err != nil {
				return 0, err
			}
		}
		own := max(r.exprs[index].own, 32) + 2
		by := int64(low) + int64(width) - 1
		offset, err := r.constant(uint64(by)&(1<<own-1), own)
		if err != nil {
			return 0, err
		}
		r.exprs[index].minus = down
		r.exprs[index].next = -1
		r.exprs[offset].next = index
		r.exprs[offset].signed = true
		if index, err = r.node(expr{op: exprSum, a: offset, own: own, signed: r.exprs[index].signed}); err != nil {
			return 0, err
		}
	}
	r.exprs[word].next = index
	return r.node(expr{op: exprPart, a: word, n: width, own: width})
}

// constant appends a node of a constant; -1 if it has no bits.
func (r *verilogReader) constant(value uint64, width int32) (int32, error) {
	if width == 0 {
		return -1, nil
	}
	r.consts = append(r.consts, number{low: value, width: width})
	return r.node(expr{op: exprConst, a: int32(len(r.consts) - 1), own: width})
}

// index reads what stands in brackets behind a name: a bit or a part of so many
// bits. The lowest of them is low, if expr is negative, or else as selection says.
func (r *verilogReader) index(x *variable, at pos) (expr, low, width int32, err error) {
	if !x.vector {
		return 0, 0, 0, r.errAt(r.at, "%s is not a vector, expected no index", clip(x.name))
	}
	fail := func(err error) (int32, int32, int32, error) { return 0, 0, 0, err }
	if err := r.advance(); err != nil {
		return fail(err)
	}
	from := r.at
	first, err := r.expression()
	if err != nil {
		return fail(err)
	}
	// place is the distance of a constant index from the lowest bit.
	place := func(i int32, at pos) (int32, error) {
		e := &r.exprs[i]
		if e.op != exprConst || e.inv {
			return 0, r.errAt(at, "bound of a part, expected a number")
		}
		v := &r.consts[e.a]
		if v.big != nil || v.low > verilogMaxIndex || int32(v.low) < min(x.msb, x.lsb) || int32(v.low) > max(x.msb, x.lsb) {
			return 0, r.errAt(at, "index %s of %s, expected one in [%d:%d]", v.text(), clip(x.name), x.msb, x.lsb)
		}
		return max(int32(v.low)-x.lsb, x.lsb-int32(v.low)), nil
	}
	constant := r.exprs[first].op == exprConst && !r.exprs[first].inv
	how := r.kind
	width = 1
	switch how {
	case ':':
		if err := r.advance(); err != nil {
			return fail(err)
		}
		left, err := place(first, from)
		if err != nil {
			return fail(err)
		}
		rightAt := r.at
		second, err := r.expression()
		if err != nil {
			return fail(err)
		}
		right, err := place(second, rightAt)
		if err != nil {
			return fail(err)
		}
		if right > left {
			return fail(r.errAt(at, "part of %s has its bounds the wrong way round, expected the order of its declaration", clip(x.name)))
		}
		return -1, right, left - right + 1, r.expect(']', "after an index")
	case tokPlusColon, tokMinusColon:
		if err := r.advance(); err != nil {
			return fail(err)
		}
		widthAt := r.at
		second, err := r.expression()
		if err != nil {
			return fail(err)
		}
		e := &r.exprs[second]
		if e.op != exprConst || e.inv || r.consts[e.a].big != nil || r.consts[e.a].low < 1 || r.consts[e.a].low > verilogMaxWidth {
			return fail(r.errAt(widthAt, "width of a part, expected a number from 1 to %d", verilogMaxWidth))
		}
		width = int32(r.consts[e.a].low)
	}
	if err := r.expect(']', "after an index"); err != nil {
		return fail(err)
	}
	// The first index is that of the highest bit of the part where that is what the
	// direction of the declaration and of the part make it.
	highest := how == tokMinusColon && x.msb >= x.lsb || how == tokPlusColon && x.msb < x.lsb
	if constant {
		low, err := place(first, from)
		if err != nil {
			return fail(err)
		}
		if highest {
			low -= width - 1
		}
		if low < 0 || low+width > x.width {
			return fail(r.errAt(from, "part of %d bits of %s, expected bits in [%d:%d]", width, clip(x.name), x.msb, x.lsb))
		}
		return -1, low, width, nil
	}
	if err := r.needIndex(from); err != nil {
		return fail(err)
	}
	low = -x.lsb
	if x.msb < x.lsb {
		low = x.lsb
	}
	if highest {
		low -= width - 1
	}
	return first, low, width, nil
}

func (r *verilogReader) needIndex(at pos) error {
	if r.words != nil {
		return nil
	}
	return unsupported(r.errAt(at, "index that is no number is not supported without a builder of words, expected a number"))
}

// size gives the nodes below i the width and sign of their context. Of the width
// bits, the lowest need are asked for.
func (r *verilogReader) size(i, width int32, signed bool, need int32) {
	e := &r.exprs[i]
	e.width, e.signed = width, signed
	e.need = min(need, width)
	alone := func(c int32) {
		x := &r.exprs[c]
		r.size(c, x.own, x.signed, x.own)
	}
	switch e.op {
	case exprRef, exprConst:
		return
	case exprConcat:
		for _, p := range r.parts[e.a : e.a+e.n] {
			if r.exprs[p.expr].width == 0 { // a replication has one node often
				alone(p.expr)
			}
		}
		return
	case exprMux:
		alone(e.a)
		for c := r.exprs[e.a].next; c >= 0; c = r.exprs[c].next {
			r.size(c, width, signed, need)
		}
		r.cost(int64(e.need))
		return
	case exprUp:
		r.size(e.a, width, signed, max(1, need-e.n))
		return
	case exprDown:
		r.size(e.a, width, signed, width)
		return
	case exprLeft, exprRight:
		by := r.exprs[e.a].next
		alone(by)
		if e.op == exprRight {
			need = width
		}
		r.size(e.a, width, signed, need)
		r.cost(int64(width) * int64(min(r.exprs[by].own, 18)))
		return
	case exprEqual, exprLess:
		a, b := &r.exprs[e.a], &r.exprs[r.exprs[e.a].next]
		w, s := max(a.own, b.own), a.signed && b.signed
		r.size(e.a, w, s, w)
		r.size(r.exprs[e.a].next, w, s, w)
		r.cost(int64(w))
		return
	case exprPart:
		alone(e.a)
		alone(r.exprs[e.a].next)
		r.cost(int64(r.exprs[e.a].own) * int64(min(r.exprs[r.exprs[e.a].next].own, 18)))
		return
	case exprDiv, exprMod:
		need = width
		r.cost(3 * int64(width) * int64(width))
	case exprMul:
		r.cost(int64(e.need) * int64(e.need))
	}
	for c := e.a; c >= 0; c = r.exprs[c].next {
		r.cost(int64(e.need))
		if e.op.inContext() && !e.bool {
			r.size(c, width, signed, need)
		} else {
			alone(c)
		}
	}
}

// cost counts gates that a vector asks for.
func (r *verilogReader) cost(gates int64) {
	if gates > 1 {
		r.work += gates
	}
}
