package netlist

import (
	"fmt"
	"slices"
	"strings"
)

// The supported Verilog is what a flat combinational netlist needs, in particular what
// Yosys writes of one: one module; input, output and wire declarations, of scalars and
// vectors, signed or not; assign with all operators but **; constants; the gate
// primitives and or nand nor xor xnor not buf, and the gate cells of Yosys.
//
// Inputs stand in the order of the header of the module, and so do outputs. A vector
// stands for its bits, the least significant (the right bound of its range) first:
// [3:0] a is a[0], a[1], a[2], a[3].
//
// Gates stay what the file says: a chain a ^ b ^ c is one Xor3, s ? t : e is one
// Mux, (a & b) | (a & c) | (b & c) is one Maj. What is done to words a builder of
// words makes into gates. What Verilog leaves unknown is 0: the digit x, and bits beyond
// the ends of a vector. A quotient by zero is all ones, and the remainder the dividend.

// Limits to what vectors may ask for: they take memory that a short file does
// not pay for.
const (
	verilogMaxWidth = 1 << 16
	verilogMaxBits  = 1 << 20
)

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
	signed   bool
	declared bool // else it is a wire that is only used so far
	port     bool // in the list of ports
	at       pos
}

type verilogReader struct {
	verilogLexer
	wires   signals
	words   Words
	matcher *matcher
	net     *Network
	vars    []variable
	byName  map[string]int32
	header  []int32 // variables, in the order of the list of ports
	ansi    bool    // directions stand in the list of ports
	open    int     // ports without a direction so far
	made    bool    // the inputs of the network
	depth   int
	total   int // bits of all vectors

	exprs   []expr
	parts   []part
	consts  []number
	memos   []Lit
	waiting []assignment
	targets []int32 // of assignments that wait as a whole
	lits    []Lit   // operands, used as a stack
	needed  []int32
	sigs    []int32 // that a statement drives
	work    int64   // gates that vectors ask for

	start                               int32 // of the statement, in exprs
	startParts, startConsts, startMemos int
}

func readVerilog(s *scanner, words Words) (*Network, error) {
	n := New("")
	r := &verilogReader{net: n, wires: signals{scanner: s, net: n}, words: words, byName: make(map[string]int32)}
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
		return unsupported(r.errAt(r.at, "parameters are not supported, %s", r.remedy("parameter")))
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
		return unsupported(r.errAt(r.at, "a second module is not supported, %s", r.remedy("module")))
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
			r.header = append(r.header, v)
			r.open++
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
	signed   bool
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
		return d, unsupported(r.errAt(r.at, "reg is not supported, %s", r.remedy("reg")))
	}
	if r.isWord("signed") || r.isWord("unsigned") {
		d.signed = r.isWord("signed")
		if err := r.advance(); err != nil {
			return d, err
		}
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
	if d.msb, err = r.bound("the left bound of a range"); err != nil {
		return d, err
	}
	if err := r.expect(':', "in a range"); err != nil {
		return d, err
	}
	if d.lsb, err = r.bound("the right bound of a range"); err != nil {
		return d, err
	}
	if w := max(d.msb, d.lsb) - min(d.msb, d.lsb); w >= verilogMaxWidth {
		return d, r.errAt(at, "vector of %d bits, expected at most %d", int64(w)+1, verilogMaxWidth)
	}
	return d, r.expect(']', "after a range")
}

// bound reads a number that is the bound of a range.
func (r *verilogReader) bound(what string) (int32, error) {
	if r.kind != tokNumber {
		return 0, r.errAt(r.at, "%s, expected %s (a number)", r.token(), what)
	}
	if r.value.big != nil || r.value.low > verilogMaxIndex {
		return 0, r.errAt(r.at, "%s, expected %s of at most %d", r.value.text(), what, verilogMaxIndex)
	}
	return int32(r.value.low), r.advance()
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
		x.signed = x.signed || d.signed
		return v, nil
	}
	x.declared = true
	x.at = at
	x.dir = d.dir
	x.signed = d.signed
	if d.dir != local {
		if !x.port {
			x.port = true
			r.header = append(r.header, v)
		} else {
			r.open--
		}
	}
	if d.vector {
		x.vector, x.msb, x.lsb = true, d.msb, d.lsb
		x.width = max(d.msb, d.lsb) - min(d.msb, d.lsb) + 1
		if r.total += int(x.width); r.total > verilogMaxBits {
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
	if d.dir == dirIn {
		for i := range x.width {
			if err := r.wires.declareInput(x.base+i, at); err != nil {
				return 0, err
			}
		}
	}
	r.inputs()
	return v, nil
}

// inputs makes the inputs of the network once all ports have a direction.
func (r *verilogReader) inputs() {
	if r.made || r.open > 0 || r.ansi && r.kind != ')' {
		return
	}
	r.made = true
	for _, v := range r.header {
		x := &r.vars[v]
		if x.dir != dirIn {
			continue
		}
		for i := range x.width {
			r.wires.makeInput(x.base + i)
		}
	}
}

// mentioned reports whether a signal is used or driven.
func (r *verilogReader) mentioned(sig int32) bool { return r.wires.at[sig].line != 0 }

// mention notes where signals are used first.
func (r *verilogReader) mention(base, width int32, at pos) {
	for i := range width {
		if !r.mentioned(base + i) {
			r.wires.at[base+i] = at
		}
	}
}

// item reads one item of the module.
func (r *verilogReader) item() error {
	const supported = "expected input, output, wire, assign or a gate (and, or, nand, nor, xor, xnor, not, buf)"
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
		if isKeyword(r.text) || isSystemVerilog(r.text) {
			return unsupported(r.errAt(at, "%s is not supported, %s", r.token(), r.remedy(string(r.text))))
		}
	case r.kind == tokEscaped && r.text[0] == '$':
		return r.cell()
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
		return unsupported(r.errAt(at, "instance of module %s is not supported, %s", name, r.remedy("instance")))
	}
	return r.errAt(at, "%s, %s", name, supported)
}

// isSystemVerilog tells some words of SystemVerilog (IEEE 1800) that begin an item.
func isSystemVerilog(word []byte) bool {
	switch string(word) {
	case "logic", "bit", "byte", "int", "always_comb", "always_ff", "always_latch", "typedef", "enum", "struct", "import", "interface":
		return true
	}
	return false
}

// remedy says what is expected in the place of something, and the one command of
// Yosys that makes the file so.
func (r *verilogReader) remedy(what string) string {
	if r.yosys && (what == "reg" || what == "always") {
		return "expected no registers: expose -evert-dff of Yosys makes ports of them"
	}
	sv := ""
	if isSystemVerilog([]byte(what)) {
		sv = "-sv "
	}
	file := r.file
	if strings.ContainsAny(file, "<>'\" ;") {
		file = "design.v"
	}
	return fmt.Sprintf("expected a flat netlist, as by yosys -p 'read_verilog %s%s; synth -flatten -auto-top; write_verilog -noattr flat.v'", sv, file)
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
	r.sigs = signalRange(r.sigs[:0], v.base, v.width)
	return r.drivenBy(r.sigs, at)
}

func signalRange(sigs []int32, base, width int32) []int32 {
	for i := range width {
		sigs = append(sigs, base+i)
	}
	return sigs
}

// assign reads "y = expression".
func (r *verilogReader) assign() error {
	r.begin()
	at := r.at
	sigs, err := r.driven(r.sigs[:0])
	if err != nil {
		return err
	}
	r.sigs = sigs
	if err := r.expect('=', "in an assign"); err != nil {
		return err
	}
	return r.drivenBy(sigs, at)
}

// driven appends what an assignment drives, the lowest bit first: a signal, a part of
// one, or a concatenation of them.
func (r *verilogReader) driven(sigs []int32) ([]int32, error) {
	if r.kind == '{' {
		r.depth++
		defer func() { r.depth-- }()
		if r.depth > verilogDepth {
			return nil, r.errAt(r.at, "concatenation nests deeper than %d, expected a flatter one", verilogDepth)
		}
		var list [][]int32
		bits := 0
		for r.kind != '}' || list == nil {
			if err := r.advance(); err != nil { // "{" or ","
				return nil, err
			}
			one, err := r.driven(nil)
			if err != nil {
				return nil, err
			}
			list = append(list, one)
			if bits += len(one); bits > verilogMaxWidth {
				return nil, r.errAt(r.at, "concatenation of more than %d bits, expected fewer", verilogMaxWidth)
			}
			if r.kind != ',' && r.kind != '}' {
				return nil, r.errAt(r.at, "%s, expected \",\" or \"}\" in a concatenation", r.token())
			}
		}
		for k := len(list) - 1; k >= 0; k-- {
			sigs = append(sigs, list[k]...)
		}
		return sigs, r.advance()
	}
	at := r.at
	v, err := r.name()
	if err != nil {
		return nil, err
	}
	x := r.vars[v]
	base, width := x.base, x.width
	if r.kind == '[' {
		place, low, bits, err := r.index(&x, at)
		if err != nil {
			return nil, err
		}
		if place >= 0 {
			return nil, r.errAt(at, "index that is no number on the left of an assignment, expected a number")
		}
		base, width = x.base+low, bits
	}
	r.mention(base, width, at)
	return signalRange(sigs, base, width), nil
}

// name consumes the name of a signal and returns its variable.
func (r *verilogReader) name() (int32, error) {
	if r.kind != tokEscaped && (r.kind != tokName || isKeyword(r.text)) {
		return 0, r.errAt(r.at, "%s, expected the name of a signal", r.token())
	}
	v := r.variable(r.text, r.at)
	return v, r.advance()
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
	r.begin()
	type terminal struct {
		root int32
		at   pos
	}
	var terms []terminal
	for {
		t := terminal{at: r.at}
		if r.kind == '.' {
			return unsupported(r.errAt(r.at, "named terminals of a gate are not supported, expected a signal"))
		}
		var err error
		if t.root, err = r.expression(); err != nil {
			return err
		}
		if w := r.exprs[t.root].own; w > 1 && r.exprs[t.root].op != exprConst {
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
		e.op, e.a = exprConst, 0 // it is not read
	}
	r.consts = append(r.consts, number{})
	for _, t := range terms[:outs] {
		r.exprs[t.root].a = int32(len(r.consts) - 1)
	}
	root := terms[outs].root
	if unary {
		if inv {
			var err error
			if root, err = r.sign('~', root); err != nil {
				return err
			}
		}
	} else {
		for i := outs; i < len(terms)-1; i++ {
			r.exprs[terms[i].root].next = terms[i+1].root
		}
		var err error
		if root, err = r.node(expr{op: op, inv: inv, a: root, own: 1}); err != nil {
			return err
		}
	}
	first := sigs[0]
	if err := r.connect(sigs[:1], root, terms[0].at); err != nil {
		return err
	}
	for i, sig := range sigs[1:] { // the others copy the first
		r.begin()
		copied, err := r.node(expr{op: exprRef, a: first, n: 1, own: 1})
		if err != nil {
			return err
		}
		if err := r.connect([]int32{sig}, copied, terms[i+1].at); err != nil {
			return err
		}
	}
	return nil
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
	r.tieUnused()
	err := r.wires.resolve(len(r.waiting),
		func(d int32) int32 { return r.waiting[d].sig },
		func(d int32, buf []int32) []int32 { return r.needs(&r.waiting[d], buf) },
		func(d int32) { r.build(&r.waiting[d], -1) })
	if err != nil {
		return err
	}
	var sigs []int32
	for _, v := range r.header {
		x := &r.vars[v]
		if x.dir != dirOut {
			continue
		}
		r.mention(x.base, x.width, x.at)
		sigs = signalRange(sigs, x.base, x.width)
	}
	return r.wires.outputs(sigs)
}

// tieUnused makes signals 0 that nothing drives and no output depends on. Yosys leaves
// such signals behind.
func (r *verilogReader) tieUnused() {
	var undriven []int32
	for sig, def := range r.wires.def {
		if def == defNone && r.mentioned(int32(sig)) {
			undriven = append(undriven, int32(sig))
		}
	}
	if undriven == nil {
		return
	}
	used := make([]bool, len(r.wires.def))
	seen := make([]bool, len(r.waiting))
	var open []int32
	for _, v := range r.header {
		if x := &r.vars[v]; x.dir == dirOut {
			open = signalRange(open, x.base, x.width)
		}
	}
	for len(open) > 0 {
		sig := open[len(open)-1]
		open = open[:len(open)-1]
		used[sig] = true
		if def := r.wires.def[sig]; def >= 0 && !seen[def] {
			seen[def] = true
			open = r.needs(&r.waiting[def], open)
		}
	}
	for _, sig := range undriven {
		if !used[sig] {
			r.wires.def[sig], r.wires.lit[sig] = defBuilt, False
		}
	}
}
