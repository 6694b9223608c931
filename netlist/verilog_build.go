package netlist

import "sort"

// assignment drives signals by bits of an expression: one signal by one bit, or, as
// a whole, all signals of a statement.
type assignment struct {
	sig, bit    int32
	root        int32 // the expression
	start, end  int32 // its nodes
	first, sigs int32 // as a whole: signals in targets
}

// verilogWhole is the bits from which on a statement with operators on words waits as a
// whole: each of its bits may need all bits of the operands.
const verilogWhole = 64

// drivenBy reads the expression that drives signals, the lowest first.
func (r *verilogReader) drivenBy(sigs []int32, at pos) error {
	r.begin()
	root, err := r.expression()
	if err != nil {
		return err
	}
	return r.connect(sigs, root, at)
}

// begin begins a statement. What it needs is forgotten when all of it is built.
func (r *verilogReader) begin() {
	r.start, r.startParts, r.startConsts, r.startMemos = int32(len(r.exprs)), len(r.parts), len(r.consts), len(r.memos)
}

// connect makes the expression of a statement the driver of signals. What can be
// built is built at once, so that only what stands before its drivers takes memory.
func (r *verilogReader) connect(sigs []int32, root int32, at pos) error {
	width := int32(len(sigs))
	e := &r.exprs[root]
	r.size(root, max(width, e.own), e.signed, width)
	if r.work > verilogMaxWork {
		return r.errAt(at, "operators on vectors make more than %d gates, expected fewer", verilogMaxWork)
	}
	end := int32(len(r.exprs))
	known, word := true, false
	for i := r.start; i < end; i++ {
		e := &r.exprs[i]
		word = word || e.op.isWord()
		if e.op == exprRef && known {
			for k := range e.n {
				known = known && r.wires.lit[e.a+k] != unset
			}
		}
	}
	if !known && word && width > verilogWhole {
		def := int32(len(r.waiting))
		a := assignment{root: root, start: r.start, end: end, first: int32(len(r.targets)), sigs: width, sig: sigs[0]}
		for _, sig := range sigs {
			if err := r.wires.drive(sig, def, at); err != nil {
				return err
			}
		}
		r.targets = append(r.targets, sigs...)
		r.waiting = append(r.waiting, a)
		return nil
	}
	wait := false
	before := -1
	if word {
		before = r.net.NumNodes() // the first bit builds the gates of all
	}
	for bit, sig := range sigs {
		a := assignment{sig: sig, bit: int32(bit), root: root, start: r.start, end: end}
		if !known && !r.known(&a) {
			if err := r.wires.drive(sig, int32(len(r.waiting)), at); err != nil {
				return err
			}
			r.waiting = append(r.waiting, a)
			wait = true
			continue
		}
		if err := r.wires.drive(sig, defBuilt, at); err != nil {
			return err
		}
		r.build(&a, before)
	}
	if !wait {
		r.exprs, r.parts = r.exprs[:r.start], r.parts[:r.startParts]
		r.consts, r.memos = r.consts[:r.startConsts], r.memos[:r.startMemos]
	}
	return nil
}

func (r *verilogReader) known(a *assignment) bool {
	r.needed = r.needs(a, r.needed[:0])
	for _, sig := range r.needed {
		if r.wires.lit[sig] == unset {
			return false
		}
	}
	return true
}

// needs appends the signals that an assignment reads.
func (r *verilogReader) needs(a *assignment, buf []int32) []int32 {
	if a.sigs > 0 {
		return r.leaves(a, buf)
	}
	return r.bitNeeds(a.root, a.bit, buf)
}

// leaves appends all signals of the expression of an assignment.
func (r *verilogReader) leaves(a *assignment, buf []int32) []int32 {
	for i := a.start; i < a.end; i++ {
		if e := &r.exprs[i]; e.op == exprRef {
			for k := range e.n {
				buf = append(buf, e.a+k)
			}
		}
	}
	return buf
}

// bitNeeds appends the signals that a bit of a node depends on. It goes the way of
// eval.
func (r *verilogReader) bitNeeds(i, bit int32, buf []int32) []int32 {
	e := &r.exprs[i]
	if e.bool && bit > 0 {
		return buf
	}
	if !e.op.inContext() && bit >= e.own {
		if !e.signed {
			return buf
		}
		bit = e.own - 1
	}
	switch {
	case e.op == exprRef:
		return append(buf, e.a+bit)
	case e.op == exprConst:
		return buf
	case e.op == exprConcat:
		p := r.partAt(e, bit)
		return r.bitNeeds(p.expr, bit-p.from, buf)
	case e.op == exprUp:
		if bit < e.n {
			return buf
		}
		return r.bitNeeds(e.a, bit-e.n, buf)
	case e.op == exprDown:
		if bit >= e.width-e.n {
			if !e.arith || !e.signed {
				return buf
			}
			return r.bitNeeds(e.a, e.width-1, buf)
		}
		return r.bitNeeds(e.a, bit+e.n, buf)
	case e.op == exprMux:
		buf = r.bitNeeds(e.a, 0, buf)
		for c := r.exprs[e.a].next; c >= 0; c = r.exprs[c].next {
			buf = r.bitNeeds(c, bit, buf)
		}
		return buf
	case e.op.isWord():
		if e.memo >= 0 {
			return buf
		}
		for c := e.a; c >= 0; c = r.exprs[c].next {
			for k := range r.exprs[c].need {
				buf = r.bitNeeds(c, k, buf)
			}
		}
		return buf
	}
	for c := e.a; c >= 0; c = r.exprs[c].next {
		buf = r.bitNeeds(c, bit, buf)
	}
	return buf
}

// partAt returns the part of a concatenation that gives a bit.
func (r *verilogReader) partAt(e *expr, bit int32) part {
	parts := r.parts[e.a : e.a+e.n]
	return parts[sort.Search(len(parts), func(k int) bool { return parts[k].from > bit })-1]
}

// build makes the gates of an assignment. Those from the node before on may take
// its name; a negative one stands for the next.
func (r *verilogReader) build(a *assignment, before int) {
	if before < 0 {
		before = r.net.NumNodes()
	}
	if a.sigs == 0 {
		l := r.eval(a.root, a.bit)
		r.wires.built(a.sig, l, before)
		return
	}
	for bit, sig := range r.targets[a.first : a.first+a.sigs] {
		l := r.eval(a.root, int32(bit))
		r.wires.built(sig, l, before)
	}
}

// eval appends the gates of one bit of an expression. Its depth is that of the
// expression, which is limited.
func (r *verilogReader) eval(i, bit int32) Lit {
	e := &r.exprs[i]
	if e.bool && bit > 0 {
		return False
	}
	if !e.op.inContext() && bit >= e.own { // extended
		if !e.signed {
			return False.NotIf(e.inv)
		}
		bit = e.own - 1
	}
	inv := e.inv
	switch e.op {
	case exprRef:
		return r.wires.lit[e.a+bit].NotIf(inv)
	case exprConst:
		return r.consts[e.a].bit(bit).NotIf(inv)
	case exprConcat:
		p := r.partAt(e, bit)
		return r.eval(p.expr, bit-p.from).NotIf(inv)
	case exprCast, exprPass:
		return r.eval(e.a, bit).NotIf(inv)
	case exprUp:
		if bit < e.n {
			return False.NotIf(inv)
		}
		return r.eval(e.a, bit-e.n).NotIf(inv)
	case exprDown:
		if bit >= e.width-e.n {
			if !e.arith || !e.signed {
				return False.NotIf(inv)
			}
			return r.eval(e.a, e.width-1).NotIf(inv)
		}
		return r.eval(e.a, bit+e.n).NotIf(inv)
	case exprOr:
		if l, ok := r.majority(e, bit); ok {
			return l.NotIf(inv)
		}
	case exprAnd, exprXor, exprMux:
	default: // words
		if e.memo < 0 {
			bits := r.word(i)
			e = &r.exprs[i]
			e.memo = int32(len(r.memos))
			r.memos = append(r.memos, bits...)
		}
		return r.memos[e.memo+bit].NotIf(inv)
	}
	from := len(r.lits)
	if e.op == exprMux {
		l := r.eval(e.a, 0)
		r.lits = append(r.lits, l)
	}
	for c := e.a; c >= 0; c = r.exprs[c].next {
		if e.op == exprMux && c == e.a {
			continue
		}
		l := r.eval(c, bit)
		r.lits = append(r.lits, l)
	}
	in := r.lits[from:]
	// What a scalar says stays as it is; a vector may have constant bits that
	// nobody wrote down.
	fold := e.need > 1
	var l Lit
	switch e.op {
	case exprAnd:
		l = r.net.conjunction(in, fold)
	case exprOr:
		for k := range in {
			in[k] ^= 1
		}
		l = r.net.conjunction(in, fold) ^ 1
	case exprXor:
		l = r.net.parity(in, fold)
	case exprMux:
		switch {
		case fold && (in[0] == True || in[1] == in[2]):
			l = in[1]
		case fold && in[0] == False:
			l = in[2]
		default:
			l = r.net.Mux(in[0], in[1], in[2])
		}
	}
	r.lits = r.lits[:from]
	return l.NotIf(inv)
}

// conjunction is AndAll; with fold, constants leave no gates.
func (n *Network) conjunction(in []Lit, fold bool) Lit {
	if fold {
		kept := in[:0]
		for _, l := range in {
			if l == False {
				return False
			}
			if l != True {
				kept = append(kept, l)
			}
		}
		in = kept
	}
	return n.AndAll(in)
}

// parity is xorChain; with fold, constants leave no gates.
func (n *Network) parity(in []Lit, fold bool) Lit {
	flip := Lit(0)
	if fold {
		kept := in[:0]
		for _, l := range in {
			if l.Node() == 0 {
				flip ^= l
			} else {
				kept = append(kept, l)
			}
		}
		in = kept
	}
	return n.xorChain(in) ^ flip
}

// bits builds the lowest bits of a node.
func (r *verilogReader) bits(i, n int32) []Lit {
	out := make([]Lit, n)
	for k := range out {
		out[k] = r.eval(i, int32(k))
	}
	return out
}

// word builds the bits of a node that is built as a whole, before its complement.
func (r *verilogReader) word(i int32) []Lit {
	e := r.exprs[i]
	a, b := e.a, r.exprs[e.a].next
	w := r.words
	switch e.op {
	case exprKept:
		return r.bits(a, e.own)
	case exprAny, exprAll, exprParity:
		x := &r.exprs[a]
		in := r.bits(a, x.own)
		fold := len(in) > 1
		switch e.op {
		case exprAny:
			for k := range in {
				in[k] ^= 1
			}
			return []Lit{r.net.conjunction(in, fold) ^ 1}
		case exprAll:
			return []Lit{r.net.conjunction(in, fold)}
		}
		return []Lit{r.net.parity(in, fold)}
	case exprEqual, exprLess:
		x, y := &r.exprs[a], &r.exprs[b]
		u, v := r.bits(a, x.width), r.bits(b, y.width)
		if e.op == exprEqual {
			return []Lit{w.Equal(r.net, u, v)}
		}
		return []Lit{w.Less(r.net, u, v, x.signed)}
	case exprSum:
		var sum []Lit
		for c := a; c >= 0; c = r.exprs[c].next {
			minus := r.exprs[c].minus
			x := r.bits(c, e.need)
			if minus {
				for k := range x {
					x[k] ^= 1
				}
			}
			switch {
			case sum != nil:
				sum = w.Add(r.net, sum, x, False.NotIf(minus))
			case minus:
				sum = w.Add(r.net, make([]Lit, e.need), x, True)
			default:
				sum = x
			}
		}
		return sum
	case exprMul:
		return w.Multiply(r.net, r.bits(a, e.need), r.bits(b, e.need), e.signed)
	case exprDiv:
		q, _ := w.Divide(r.net, r.bits(a, e.width), r.bits(b, e.width), e.signed)
		return q
	case exprMod:
		_, m := w.Divide(r.net, r.bits(a, e.width), r.bits(b, e.width), e.signed)
		return m
	case exprLeft:
		return w.Shift(r.net, r.bits(a, e.need), r.bits(b, r.exprs[b].own), true, False)
	case exprPart:
		word := r.bits(a, r.exprs[a].own)
		for int32(len(word)) < e.n {
			word = append(word, False)
		}
		return w.Shift(r.net, word, r.bits(b, r.exprs[b].own), false, False)[:e.n]
	}
	// A shift down: where one bit of a constant is asked for, it is a look-up table.
	word, by := r.bits(a, e.width), r.bits(b, r.exprs[b].own)
	if r.exprs[a].op == exprConst && len(by) <= MaxLUT {
		if r.matcher == nil {
			r.matcher = newMatcher()
		}
		out := make([]Lit, e.need)
		for bit := range out {
			var t uint64
			for k := range uint64(1) << len(by) {
				if at := k + uint64(bit); at < uint64(len(word)) && word[at] == True {
					t |= 1 << k
				}
			}
			out[bit] = r.matcher.build(r.net, by, t)
		}
		return out
	}
	fill := False
	if e.arith && e.signed {
		fill = word[len(word)-1]
	}
	return w.Shift(r.net, word, by, false, fill)
}

// majority builds (a & b) | (a & c) | (b & c) as one gate. The operands must be
// signals or constants: there is nothing to build before it is known to match.
func (r *verilogReader) majority(e *expr, bit int32) (Lit, bool) {
	var p [3][2]Lit
	n := 0
	for c := e.a; c >= 0; c = r.exprs[c].next {
		and := &r.exprs[c]
		if n == 3 || and.op != exprAnd || and.inv {
			return 0, false
		}
		k := 0
		for d := and.a; d >= 0; d = r.exprs[d].next {
			leaf := &r.exprs[d]
			if k == 2 || leaf.op != exprRef && leaf.op != exprConst {
				return 0, false
			}
			p[n][k] = r.eval(d, bit)
			k++
		}
		n++
	}
	if n != 3 {
		return 0, false
	}
	for i := range 8 {
		x, y := p[0][i&1], p[0][1-i&1]
		x2, z := p[1][i>>1&1], p[1][1-i>>1&1]
		y2, z2 := p[2][i>>2&1], p[2][1-i>>2&1]
		if x == x2 && y == y2 && z == z2 {
			return r.net.Maj(x, y, z), true
		}
	}
	return 0, false
}
