package netlist

import (
	"fmt"
	"slices"
)

// The supported Verilog is what a netlist of gates needs: one module; input,
// output and wire declarations, of scalars and vectors; assign with ~ ! & | ^
// ~^ ^~ && || ?: and parentheses, bit by bit where vectors of one width meet;
// constants; the gate primitives and or nand nor xor xnor not buf.
//
// Ports stand in the order of their declarations. A vector stands for its bits,
// the least significant (the right bound of its range) first: [3:0] a is a[0],
// a[1], a[2], a[3].
//
// Gates stay what the file says: a chain a ^ b ^ c is one Xor3, s ? t : e is
// one Mux, (a & b) | (a & c) | (b & c) is one Maj.

// verilogDepth limits how deep expressions nest.
const verilogDepth = 10_000

// Limits to what vectors may ask for: they take memory that a short file does
// not pay for.
const (
	verilogMaxWidth = 1 << 16
	verilogMaxBits  = 1 << 20
)

// exprOp is what an expression node does.
type exprOp uint8

const (
	exprRef   exprOp = iota // a: first signal of width
	exprConst               // a: index into consts
	exprAnd                 // a: first child
	exprOr
	exprXor
	exprMux
)

// expr is a node of an expression. The nodes of a statement lie side by side,
// children before parents.
type expr struct {
	op    exprOp
	inv   bool // the value is complemented
	a     int32
	next  int32 // the next child of the same parent, or -1
	width int32 // bits; 0 for a constant that takes any width
}

// assignment drives one signal with one bit of an expression.
type assignment struct {
	sig, bit   int32
	root       int32 // the expression
	start, end int32 // its nodes
}

// direction of a port.
type direction uint8

const (
	local direction = iota
	dirIn
	dirOut
)

// variable is a declared name: width signals from base on.
type variable struct {
	name     string
	base     int32
	msb, lsb int32
	width    int32
	dir      direction
	vector   bool
	declared bool // else it is a wire that is only used so far
	port     bool // in the list of ports
	at       pos
}

type verilogReader struct {
	verilogLexer
	wires   signals
	net     *Network
	vars    []variable
	byName  map[string]int32
	ansi    bool    // directions stand in the list of ports
	outs    []int32 // variables, in order of declaration
	exprs   []expr
	consts  []uint64
	waiting []assignment
	depth   int
	lits    []Lit // operands, used as a stack
	bits    int   // of all vectors
}

func readVerilog(s *scanner) (*Network, error) {
	n := New("")
	r := &verilogReader{net: n, wires: signals{scanner: s, net: n}, byName: make(map[string]int32)}
	r.scanner = s
	if err := r.module(); err != nil {
		return nil, err
	}
	return n, r.finish()
}

// expect consumes a punctuation token.
func (r *verilogReader) expect(c int, where string) error {
	if r.kind != c {
		return r.errAt(r.at, "%s, expected %q %s", r.token(), string(rune(c)), where)
	}
	return r.advance()
}

func (r *verilogReader) isWord(word string) bool {
	return r.kind == tokName && string(r.text) == word
}

// isKeyword reports whether a plain name is a word of the language, so that it
// cannot name a signal.
func isKeyword(word []byte) bool {
	_, found := slices.BinarySearchFunc(verilogKeywords[:], word, func(k string, w []byte) int {
		switch {
		case k < string(w):
			return -1
		case k > string(w):
			return 1
		}
		return 0
	})
	return found
}

// verilogKeywords are the reserved words of IEEE 1364-2005, annex B, sorted.
var verilogKeywords = [...]string{
	"always", "and", "assign", "automatic", "begin", "buf", "bufif0", "bufif1", "case", "casex", "casez",
	"cell", "cmos", "config", "deassign", "default", "defparam", "design", "disable", "edge", "else", "end",
	"endcase", "endconfig", "endfunction", "endgenerate", "endmodule", "endprimitive", "endspecify",
	"endtable", "endtask", "event", "for", "force", "forever", "fork", "function", "generate", "genvar",
	"highz0", "highz1", "if", "ifnone", "incdir", "include", "initial", "inout", "input", "instance",
	"integer", "join", "large", "liblist", "library", "localparam", "macromodule", "medium", "module",
	"nand", "negedge", "nmos", "nor", "noshowcancelled", "not", "notif0", "notif1", "or", "output",
	"parameter", "pmos", "posedge", "primitive", "pull0", "pull1", "pulldown", "pullup",
	"pulsestyle_ondetect", "pulsestyle_onevent", "rcmos", "real", "realtime", "reg", "release", "repeat",
	"rnmos", "rpmos", "rtran", "rtranif0", "rtranif1", "scalared", "showcancelled", "signed", "small",
	"specify", "specparam", "strong0", "strong1", "supply0", "supply1", "table", "task", "time", "tran",
	"tranif0", "tranif1", "tri", "tri0", "tri1", "triand", "trior", "trireg", "unsigned", "use", "uwire",
	"vectored", "wait", "wand", "weak0", "weak1", "while", "wire", "wor", "xnor", "xor",
}

// identifier consumes a name and returns it; the string is new.
func (r *verilogReader) identifier(what string) (string, pos, error) {
	at := r.at
	if r.kind != tokEscaped && (r.kind != tokName || isKeyword(r.text)) {
		return "", at, r.errAt(at, "%s, expected %s", r.token(), what)
	}
	name := string(r.text)
	return name, at, r.advance()
}

func (r *verilogReader) module() error {
	if err := r.advance(); err != nil {
		return err
	}
	if !r.isWord("module") {
		return r.errAt(r.at, "%s, expected module", r.token())
	}
	if err := r.advance(); err != nil {
		return err
	}
	name, _, err := r.identifier("the name of the module")
	if err != nil {
		return err
	}
	r.net.Name = name
	if r.kind == '#' {
		return unsupported(r.errAt(r.at, "parameters are not supported, expected the list of ports"))
	}
	if r.kind == '(' {
		if err := r.advance(); err != nil {
			return err
		}
		if err := r.ports(); err != nil {
			return err
		}
	}
	if err := r.expect(';', "after the list of ports"); err != nil {
		return err
	}
	for !r.isWord("endmodule") {
		if err := r.item(); err != nil {
			return err
		}
	}
	if err := r.advance(); err != nil {
		return err
	}
	if r.isWord("module") {
		return unsupported(r.errAt(r.at, "a second module is not supported, expected one flat module"))
	}
	if r.kind != tokEOF {
		return r.errAt(r.at, "%s, expected the end of the file after endmodule", r.token())
	}
	return nil
}

// ports reads the list of ports up to its closing parenthesis: plain names, or
// declarations as in "input [3:0] a, b, output y".
func (r *verilogReader) ports() error {
	if r.kind == ')' {
		return r.advance()
	}
	r.ansi = r.isWord("input") || r.isWord("output") || r.isWord("inout")
	var d declaration
	for {
		if r.ansi {
			if r.isWord("input") || r.isWord("output") || r.isWord("inout") {
				var err error
				if d, err = r.declarationHead(); err != nil {
					return err
				}
			}
			if _, err := r.declareName(d); err != nil {
				return err
			}
		} else {
			name, at, err := r.identifier("the name of a port")
			if err != nil {
				return err
			}
			v := r.variable([]byte(name), at)
			if r.vars[v].port {
				return r.errAt(at, "port %s is listed twice, expected it once", clip(name))
			}
			r.vars[v].port = true
		}
		if r.kind == ')' {
			return r.advance()
		}
		if err := r.expect(',', "or \")\" in the list of ports"); err != nil {
			return err
		}
	}
}

// declaration is what stands before the names of a declaration.
type declaration struct {
	dir      direction
	vector   bool
	msb, lsb int32
}

// declarationHead reads "input", "output wire", "wire [7:0]" and the like.
func (r *verilogReader) declarationHead() (declaration, error) {
	var d declaration
	switch {
	case r.isWord("input"):
		d.dir = dirIn
	case r.isWord("output"):
		d.dir = dirOut
	case r.isWord("inout"):
		return d, unsupported(r.errAt(r.at, "inout ports are not supported, expected input or output"))
	}
	if err := r.advance(); err != nil {
		return d, err
	}
	if d.dir != local && r.isWord("wire") {
		if err := r.advance(); err != nil {
			return d, err
		}
	}
	if r.isWord("reg") {
		return d, unsupported(r.errAt(r.at, "reg is not supported: sequential circuits are not supported, expected wires"))
	}
	if r.kind != '[' {
		return d, nil
	}
	at := r.at
	if err := r.advance(); err != nil {
		return d, err
	}
	d.vector = true
	var err error
	if d.msb, err = r.index("the left bound of a range"); err != nil {
		return d, err
	}
	if err := r.expect(':', "in a range"); err != nil {
		return d, err
	}
	if d.lsb, err = r.index("the right bound of a range"); err != nil {
		return d, err
	}
	if w := max(d.msb, d.lsb) - min(d.msb, d.lsb); w >= verilogMaxWidth {
		return d, r.errAt(at, "vector of %d bits, expected at most %d", int64(w)+1, verilogMaxWidth)
	}
	return d, r.expect(']', "after a range")
}

// index reads a number that indexes bits.
func (r *verilogReader) index(what string) (int32, error) {
	if r.kind != tokNumber {
		return 0, r.errAt(r.at, "%s, expected %s (a number)", r.token(), what)
	}
	if r.value > 1<<30 {
		return 0, r.errAt(r.at, "%d, expected %s of at most %d", r.value, what, 1<<30)
	}
	return int32(r.value), r.advance()
}

// variable returns the variable of a name; one that is not known becomes an
// implicit wire.
func (r *verilogReader) variable(name []byte, at pos) int32 {
	v, ok := r.byName[string(name)]
	if !ok {
		v = int32(len(r.vars))
		r.vars = append(r.vars, variable{name: string(name), width: 1, at: at})
		x := &r.vars[v]
		x.base = r.wires.add(x.name, pos{})
		r.byName[x.name] = v
	}
	return v
}

// declareName reads a name, declares it and returns its variable.
func (r *verilogReader) declareName(d declaration) (int32, error) {
	name, at, err := r.identifier("a name")
	if err != nil {
		return 0, err
	}
	v := r.variable([]byte(name), at)
	x := &r.vars[v]
	again := x.declared && d.dir == local && x.dir != local && x.vector == d.vector && x.msb == d.msb && x.lsb == d.lsb
	switch {
	case x.declared && !again: // "output y; wire y;" says the same twice
		return 0, r.errAt(at, "%s is already declared (line %d), expected one declaration", clip(name), x.at.line)
	case d.dir != local && !x.port && !r.ansi:
		return 0, r.errAt(at, "%s is not in the list of ports, expected every %s there", clip(name), [...]string{"", "input", "output"}[d.dir])
	case d.vector && !x.vector && r.mentioned(x.base):
		return 0, r.errAt(at, "%s is used before it is declared as a vector, expected the declaration first", clip(name))
	case again:
		return v, nil
	}
	x.declared = true
	x.at = at
	x.dir = d.dir
	x.port = x.port || d.dir != local
	if d.vector {
		x.vector, x.msb, x.lsb = true, d.msb, d.lsb
		x.width = max(d.msb, d.lsb) - min(d.msb, d.lsb) + 1
		if r.bits += int(x.width); r.bits > verilogMaxBits {
			return 0, r.errAt(at, "vectors of more than %d bits in all, expected fewer", verilogMaxBits)
		}
		step := int32(1)
		if d.msb < d.lsb {
			step = -1
		}
		for i := range x.width {
			sig := r.wires.add(fmt.Sprintf("%s[%d]", name, d.lsb+step*i), pos{})
			if i == 0 {
				x.base = sig
			}
		}
	}
	switch d.dir {
	case dirIn:
		for i := range x.width {
			if err := r.wires.input(x.base+i, at); err != nil {
				return 0, err
			}
		}
	case dirOut:
		r.outs = append(r.outs, v)
	}
	return v, nil
}

// mentioned reports whether a signal is used or driven.
func (r *verilogReader) mentioned(sig int32) bool { return r.wires.at[sig].line != 0 }

// item reads one item of the module.
func (r *verilogReader) item() error {
	const supported = "expected input, output, wire, assign or a gate primitive (and, or, nand, nor, xor, xnor, not, buf)"
	at := r.at
	switch {
	case r.kind == tokEOF:
		return r.errAt(at, "end of file, expected endmodule")
	case r.kind == ';':
		return r.advance()
	case r.isWord("input"), r.isWord("output"), r.isWord("inout"):
		if r.ansi {
			return r.errAt(at, "%s after a list of ports with directions, expected all ports there", r.token())
		}
		d, err := r.declarationHead()
		if err != nil {
			return err
		}
		return r.list(func() error {
			_, err := r.declareName(d)
			return err
		})
	case r.isWord("wire"):
		d, err := r.declarationHead()
		if err != nil {
			return err
		}
		return r.list(func() error { return r.wire(d) })
	case r.isWord("assign"):
		if err := r.advance(); err != nil {
			return err
		}
		if r.kind == '#' || r.kind == '(' {
			return unsupported(r.errAt(r.at, "delays and strengths are not supported, expected the name of a signal"))
		}
		return r.list(r.assign)
	case r.isWord("reg"), r.isWord("always"), r.isWord("initial"):
		return unsupported(r.errAt(at, "%s is not supported: sequential and behavioural circuits are not supported, %s", r.token(), supported))
	case r.kind == tokName:
		if op, inv, unary, ok := primitive(r.text); ok {
			if err := r.advance(); err != nil {
				return err
			}
			if r.kind == '#' {
				return unsupported(r.errAt(r.at, "delays are not supported, expected the terminals of a gate"))
			}
			return r.list(func() error { return r.gate(op, inv, unary) })
		}
		if isKeyword(r.text) {
			return unsupported(r.errAt(at, "%s is not supported, %s", r.token(), supported))
		}
	}
	if r.kind != tokName && r.kind != tokEscaped {
		return r.errAt(at, "%s, %s", r.token(), supported)
	}
	name := clip(r.text)
	if err := r.advance(); err != nil {
		return err
	}
	switch r.kind {
	case tokName, tokEscaped, '#', '(':
		return unsupported(r.errAt(at, "instance of module %s is not supported, %s", name, supported))
	}
	return r.errAt(at, "%s, %s", name, supported)
}

// list reads elements up to a semicolon.
func (r *verilogReader) list(element func() error) error {
	for {
		if err := element(); err != nil {
			return err
		}
		if r.kind == ';' {
			return r.advance()
		}
		if err := r.expect(',', "or \";\""); err != nil {
			return err
		}
	}
}

// wire reads a name of a wire declaration, with its driver if it has one.
func (r *verilogReader) wire(d declaration) error {
	at := r.at
	i, err := r.declareName(d)
	if err != nil || r.kind != '=' {
		return err
	}
	if err := r.advance(); err != nil {
		return err
	}
	v := &r.vars[i]
	return r.driven(v.base, v.width, at)
}

// assign reads "y = expression".
func (r *verilogReader) assign() error {
	if r.kind == '{' {
		return unsupported(r.errAt(r.at, "concatenations are not supported, expected the name of a signal"))
	}
	base, width, at, err := r.reference()
	if err != nil {
		return err
	}
	if err := r.expect('=', "in an assign"); err != nil {
		return err
	}
	return r.driven(base, width, at)
}

// driven reads the expression that drives width signals from base on.
func (r *verilogReader) driven(base, width int32, at pos) error {
	start := int32(len(r.exprs))
	from := r.at
	root, err := r.expression()
	if err != nil {
		return err
	}
	if w := r.exprs[root].width; w != width && w != 0 {
		return r.errAt(from, "expression of %d bits, expected %d as on the left", w, width)
	}
	return r.connect(base, width, root, start, at)
}

// connect makes an expression the driver of signals. What can be built is built
// at once, so that only what stands before its drivers takes memory.
func (r *verilogReader) connect(base, width, root, start int32, at pos) error {
	end := int32(len(r.exprs))
	wait := false
	for bit := range width {
		a := assignment{sig: base + bit, bit: bit, root: root, start: start, end: end}
		if !r.known(&a) {
			if err := r.wires.drive(a.sig, int32(len(r.waiting)), at); err != nil {
				return err
			}
			r.waiting = append(r.waiting, a)
			wait = true
			continue
		}
		if err := r.wires.drive(a.sig, defBuilt, at); err != nil {
			return err
		}
		r.build(&a)
	}
	if !wait {
		r.exprs = r.exprs[:start]
		if start == 0 {
			r.consts = r.consts[:0]
		}
	}
	return nil
}

func (r *verilogReader) known(a *assignment) bool {
	for i := a.start; i < a.end; i++ {
		if e := &r.exprs[i]; e.op == exprRef && r.wires.lit[e.bit(a.bit)] == unset {
			return false
		}
	}
	return true
}

// bit returns the signal of a bit of a reference. In a vector expression every
// reference is a vector of the same width, except for the condition of ?:.
func (e *expr) bit(bit int32) int32 {
	if e.width == 1 {
		return e.a
	}
	return e.a + bit
}

func (r *verilogReader) build(a *assignment) {
	before := r.net.NumNodes()
	l := r.eval(a.root, a.bit)
	r.wires.built(a.sig, l, before)
}

func primitive(word []byte) (op exprOp, inv, unary, ok bool) {
	switch string(word) {
	case "and":
		return exprAnd, false, false, true
	case "nand":
		return exprAnd, true, false, true
	case "or":
		return exprOr, false, false, true
	case "nor":
		return exprOr, true, false, true
	case "xor":
		return exprXor, false, false, true
	case "xnor":
		return exprXor, true, false, true
	case "buf":
		return exprRef, false, true, true
	case "not":
		return exprRef, true, true, true
	}
	return 0, false, false, false
}

// gate reads "[name] (y, a, b, ...)", where y is driven; buf and not have one
// input, the last terminal, and may drive several.
func (r *verilogReader) gate(op exprOp, inv, unary bool) error {
	if r.kind != '(' {
		if _, _, err := r.identifier("the name of a gate or \"(\""); err != nil {
			return err
		}
		if r.kind == '[' {
			return unsupported(r.errAt(r.at, "arrays of gates are not supported, expected \"(\""))
		}
	}
	if err := r.expect('(', "before the terminals of a gate"); err != nil {
		return err
	}
	type terminal struct {
		start, root int32
		at          pos
	}
	var terms []terminal
	for {
		t := terminal{start: int32(len(r.exprs)), at: r.at}
		if r.kind == '.' {
			return unsupported(r.errAt(r.at, "named terminals of a gate are not supported, expected a signal"))
		}
		var err error
		if t.root, err = r.expression(); err != nil {
			return err
		}
		if w := r.exprs[t.root].width; w > 1 {
			return r.errAt(t.at, "terminal of %d bits, expected one bit", w)
		}
		terms = append(terms, t)
		if r.kind == ')' {
			break
		}
		if err := r.expect(',', "or \")\" after a terminal"); err != nil {
			return err
		}
	}
	if err := r.advance(); err != nil {
		return err
	}
	outs := 1
	if unary {
		outs = len(terms) - 1
	}
	if len(terms) < 2 {
		return r.errAt(terms[0].at, "gate of %d terminal, expected an output and an input", len(terms))
	}
	sigs := make([]int32, outs)
	for i, t := range terms[:outs] {
		e := &r.exprs[t.root]
		if e.op != exprRef || e.inv {
			return r.errAt(t.at, "output terminal is an expression, expected a signal")
		}
		sigs[i] = e.a
	}
	start := terms[outs].start
	root := terms[outs].root
	if unary {
		r.exprs[root].inv = r.exprs[root].inv != inv
	} else {
		for i := outs; i < len(terms)-1; i++ {
			r.exprs[terms[i].root].next = terms[i+1].root
		}
		r.exprs = append(r.exprs, expr{op: op, inv: inv, a: root, next: -1, width: 1})
		root = int32(len(r.exprs) - 1)
	}
	first := sigs[0]
	if err := r.connect(first, 1, root, start, terms[0].at); err != nil {
		return err
	}
	for i, sig := range sigs[1:] { // the others copy the first
		start := int32(len(r.exprs))
		r.exprs = append(r.exprs, expr{op: exprRef, a: first, next: -1, width: 1})
		if err := r.connect(sig, 1, start, start, terms[i+1].at); err != nil {
			return err
		}
	}
	return nil
}

// reference reads the name of a signal, with a bit or a part of it: a, a[3],
// a[3:0].
func (r *verilogReader) reference() (base, width int32, at pos, err error) {
	at = r.at
	if r.kind != tokEscaped && (r.kind != tokName || isKeyword(r.text)) {
		return 0, 0, at, r.errAt(at, "%s, expected the name of a signal", r.token())
	}
	v := r.variable(r.text, at)
	if err := r.advance(); err != nil {
		return 0, 0, at, err
	}
	x := r.vars[v]
	base, width = x.base, x.width
	if r.kind == '[' {
		if !x.vector {
			return 0, 0, at, r.errAt(r.at, "%s is not a vector, expected no index", clip(x.name))
		}
		if err := r.advance(); err != nil {
			return 0, 0, at, err
		}
		left, err := r.bitIndex(&x)
		if err != nil {
			return 0, 0, at, err
		}
		right := left
		if r.kind == ':' {
			if err := r.advance(); err != nil {
				return 0, 0, at, err
			}
			if right, err = r.bitIndex(&x); err != nil {
				return 0, 0, at, err
			}
			if right > left {
				return 0, 0, at, r.errAt(at, "part of %s has its bounds the wrong way round, expected the order of its declaration", clip(x.name))
			}
		}
		if err := r.expect(']', "after an index"); err != nil {
			return 0, 0, at, err
		}
		base, width = x.base+right, left-right+1
	}
	for i := range width {
		if !r.mentioned(base + i) {
			r.wires.at[base+i] = at
		}
	}
	return base, width, at, nil
}

// bitIndex reads an index of a vector and returns its distance from the least
// significant bit.
func (r *verilogReader) bitIndex(x *variable) (int32, error) {
	at := r.at
	i, err := r.index("the index of a bit")
	if err != nil {
		return 0, err
	}
	if i < min(x.msb, x.lsb) || i > max(x.msb, x.lsb) {
		return 0, r.errAt(at, "index %d of %s, expected one in [%d:%d]", i, clip(x.name), x.msb, x.lsb)
	}
	return max(i-x.lsb, x.lsb-i), nil
}

// Precedence of the binary operators, the weakest first (IEEE 1364-2005, table
// 5-4).
const (
	precOrOr = iota
	precAndAnd
	precOr
	precXor
	precAnd
	precUnary
)

// expression reads an expression and returns its node.
func (r *verilogReader) expression() (int32, error) {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > verilogDepth {
		return 0, r.errAt(r.at, "expression nests deeper than %d, expected a flatter one", verilogDepth)
	}
	cond, err := r.binary(precOrOr)
	if err != nil || r.kind != '?' {
		return cond, err
	}
	at := r.at
	if w := r.exprs[cond].width; w > 1 {
		return 0, r.errAt(at, "condition of %d bits, expected one bit", w)
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
	width, err := r.oneWidth(r.exprs[then].width, r.exprs[other].width, at)
	if err != nil {
		return 0, err
	}
	r.exprs[cond].next = then
	r.exprs[then].next = other
	return r.node(expr{op: exprMux, a: cond, width: width}), nil
}

func (r *verilogReader) node(e expr) int32 {
	e.next = -1
	r.exprs = append(r.exprs, e)
	return int32(len(r.exprs) - 1)
}

func (r *verilogReader) oneWidth(a, b int32, at pos) (int32, error) {
	if a != b && a != 0 && b != 0 {
		return 0, r.errAt(at, "operands of %d and %d bits, expected the same width", a, b)
	}
	return max(a, b), nil
}

// binary reads a chain of operators of one precedence, as one node.
func (r *verilogReader) binary(prec int) (int32, error) {
	if prec == precUnary {
		return r.unary()
	}
	first, err := r.binary(prec + 1)
	if err != nil {
		return 0, err
	}
	var e expr
	last := first
	for {
		at := r.at
		xnor := false
		switch {
		case prec == precOrOr && r.kind == tokOrOr, prec == precOr && r.kind == '|':
			e.op = exprOr
		case prec == precAndAnd && r.kind == tokAndAnd, prec == precAnd && r.kind == '&':
			e.op = exprAnd
		case prec == precXor && (r.kind == '^' || r.kind == tokXnor):
			e.op = exprXor
			xnor = r.kind == tokXnor
		default:
			if last == first {
				return first, nil
			}
			e.a = first
			return r.node(e), nil
		}
		if err := r.advance(); err != nil {
			return 0, err
		}
		operand, err := r.binary(prec + 1)
		if err != nil {
			return 0, err
		}
		if last == first {
			e.width = r.exprs[first].width
		}
		if e.width, err = r.oneWidth(e.width, r.exprs[operand].width, at); err != nil {
			return 0, err
		}
		if prec <= precAndAnd && e.width > 1 {
			return 0, r.errAt(at, "logical operator on %d bits, expected one bit", e.width)
		}
		e.inv = e.inv != xnor
		r.exprs[last].next = operand
		last = operand
	}
}

// unary reads an operand with the complements before it.
func (r *verilogReader) unary() (int32, error) {
	inv, not := false, false
	at := r.at
	for r.kind == '~' || r.kind == '!' {
		inv = !inv
		not = not || r.kind == '!'
		if err := r.advance(); err != nil {
			return 0, err
		}
	}
	var e int32
	switch r.kind {
	case '(':
		if err := r.advance(); err != nil {
			return 0, err
		}
		var err error
		if e, err = r.expression(); err != nil {
			return 0, err
		}
		if err := r.expect(')', "after an expression"); err != nil {
			return 0, err
		}
	case tokNumber:
		width := r.width
		if width == 0 && r.value > 1 {
			width = 32 // what IEEE 1364 says of a plain number
		}
		r.consts = append(r.consts, r.value)
		e = r.node(expr{op: exprConst, a: int32(len(r.consts) - 1), width: width})
		if err := r.advance(); err != nil {
			return 0, err
		}
	case tokName, tokEscaped:
		base, width, _, err := r.reference()
		if err != nil {
			return 0, err
		}
		e = r.node(expr{op: exprRef, a: base, width: width})
	case '{':
		return 0, unsupported(r.errAt(r.at, "concatenations are not supported, expected a signal, a constant, ~ or \"(\""))
	case '&', '|', '^', tokXnor, '+', '-':
		return 0, unsupported(r.errAt(r.at, "%s before an operand is not supported, expected a signal, a constant, ~ or \"(\"", r.token()))
	default:
		return 0, r.errAt(r.at, "%s, expected a signal, a constant, ~ or \"(\"", r.token())
	}
	switch r.kind {
	case '+', '-', '*', '/', '%', '<', '>', '=':
		return 0, unsupported(r.errAt(r.at, "operator %s is not supported, expected ~ & | ^ ~^ && || or ?:", r.token()))
	}
	if not && r.exprs[e].width > 1 {
		return 0, r.errAt(at, "logical operator on %d bits, expected one bit", r.exprs[e].width)
	}
	if inv {
		// A plain 0 or 1 of no width is complemented bit by bit, as any constant.
		r.exprs[e].inv = !r.exprs[e].inv
	}
	return e, nil
}

// eval appends the gates of one bit of an expression. Its depth is that of the
// expression, which is limited.
func (r *verilogReader) eval(i, bit int32) Lit {
	e := &r.exprs[i]
	switch e.op {
	case exprRef:
		return r.wires.lit[e.bit(bit)].NotIf(e.inv)
	case exprConst:
		v := r.consts[e.a]
		if e.width != 1 && bit < 64 {
			v >>= bit
		} else if e.width != 1 {
			v = 0
		}
		return Lit(v & 1).NotIf(e.inv)
	case exprOr:
		if l, ok := r.majority(e, bit); ok {
			return l.NotIf(e.inv)
		}
	}
	from := len(r.lits)
	for c := e.a; c >= 0; c = r.exprs[c].next {
		l := r.eval(c, bit)
		r.lits = append(r.lits, l)
	}
	in := r.lits[from:]
	var l Lit
	switch e.op {
	case exprAnd:
		l = r.net.AndAll(in)
	case exprOr:
		l = r.net.OrAll(in)
	case exprXor:
		l = r.net.xorChain(in)
	case exprMux:
		l = r.net.Mux(in[0], in[1], in[2])
	}
	r.lits = r.lits[:from]
	return l.NotIf(e.inv)
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

// xorChain appends the parity of literals as a chain of three-input gates, with
// one of two inputs at its end if their number is even.
func (n *Network) xorChain(ls []Lit) Lit {
	switch len(ls) {
	case 0:
		return False
	case 1:
		return ls[0]
	}
	acc := ls[0]
	i := 1
	for ; i+1 < len(ls); i += 2 {
		acc = n.Xor3(acc, ls[i], ls[i+1])
	}
	if i < len(ls) {
		acc = n.Xor(acc, ls[i])
	}
	return acc
}

// finish builds what waits for definitions behind it, and the outputs.
func (r *verilogReader) finish() error {
	for i := range r.vars {
		if v := &r.vars[i]; v.port && v.dir == local {
			return r.errAt(v.at, "port %s has no direction, expected an input or output declaration", clip(v.name))
		}
	}
	err := r.wires.resolve(len(r.waiting),
		func(d int32) int32 { return r.waiting[d].sig },
		func(d int32, buf []int32) []int32 {
			a := &r.waiting[d]
			for i := a.start; i < a.end; i++ {
				if e := &r.exprs[i]; e.op == exprRef {
					buf = append(buf, e.bit(a.bit))
				}
			}
			return buf
		},
		func(d int32) { r.build(&r.waiting[d]) })
	if err != nil {
		return err
	}
	var sigs []int32
	for _, v := range r.outs {
		x := &r.vars[v]
		for i := range x.width {
			if !r.mentioned(x.base + i) {
				r.wires.at[x.base+i] = x.at
			}
			sigs = append(sigs, x.base+i)
		}
	}
	return r.wires.outputs(sigs)
}
