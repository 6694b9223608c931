package netlist

import (
	"bytes"
	"strconv"
)

// The BENCH format: F. Brglez and H. Fujiwara, "A neutral netlist of 10
// combinational benchmark circuits", ISCAS 1985, with the look-up tables,
// constants and MUX of ABC and mockturtle.
//
// MUX(s, t, e) is s ? t : e, as ABC reads it. An XNOR of many inputs is the
// complement of their parity.

type benchOp uint8

const (
	benchAnd benchOp = iota
	benchOr
	benchXor
	benchMux
	benchMaj
	benchLUT
)

// benchOps are the gates by name. The number of inputs is any, or exactly arity.
var benchOps = [...]struct {
	name  string
	op    benchOp
	inv   bool
	arity int
}{
	{"AND", benchAnd, false, 0},
	{"NAND", benchAnd, true, 0},
	{"OR", benchOr, false, 0},
	{"NOR", benchOr, true, 0},
	{"XOR", benchXor, false, 0},
	{"XNOR", benchXor, true, 0},
	{"NXOR", benchXor, true, 0},
	{"NOT", benchAnd, true, 1},
	{"INV", benchAnd, true, 1},
	{"BUF", benchAnd, false, 1},
	{"BUFF", benchAnd, false, 1},
	{"MUX", benchMux, false, 3},
	{"MAJ", benchMaj, false, 3},
}

type benchGate struct {
	out    int32
	start  int32 // of its inputs in benchReader.fanins
	inputs int32
	op     benchOp
	inv    bool
	table  uint64 // of a LUT
}

type benchReader struct {
	signals
	matcher *matcher
	byName  map[string]int32
	outs    []int32
	waiting []benchGate
	fanins  []int32
	lits    []Lit

	kind  int    // of the current token: a byte of "(),=", benchName, or -1 at the end
	start pos    // where it begins
	text  []byte // the name
	saved []byte // a name that is still needed when the next token is read
}

const benchName = 'a'

func readBench(s *scanner) (*Network, error) {
	r := &benchReader{signals: signals{scanner: s, net: New("")}, matcher: newMatcher(), byName: make(map[string]int32)}
	if err := r.advance(); err != nil {
		return nil, err
	}
	for r.kind >= 0 {
		if err := r.statement(); err != nil {
			return nil, err
		}
	}
	// ABC writes vdd and gnd as signals that nothing drives.
	for _, c := range [...]struct {
		name  string
		value Lit
	}{{"vdd", True}, {"gnd", False}, {"VDD", True}, {"GND", False}} {
		if sig, ok := r.byName[c.name]; ok && r.def[sig] == defNone {
			r.def[sig] = defBuilt
			r.lit[sig] = c.value
		}
	}
	err := r.resolve(len(r.waiting),
		func(d int32) int32 { return r.waiting[d].out },
		func(d int32, buf []int32) []int32 {
			g := &r.waiting[d]
			return append(buf, r.fanins[g.start:g.start+g.inputs]...)
		},
		func(d int32) { r.build(&r.waiting[d]) })
	if err != nil {
		return nil, err
	}
	if err := r.outputs(r.outs); err != nil {
		return nil, err
	}
	return r.net, nil
}

// advance reads the next token.
func (r *benchReader) advance() error {
	for {
		c := r.peek()
		switch {
		case c == '#':
			r.skipLine()
			continue
		case c == '\n':
			r.next()
			continue
		case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
			r.skip(1)
			continue
		}
		break
	}
	r.start = r.here()
	c := r.peek()
	switch {
	case c < 0:
		r.kind = -1
		return nil
	case c == '(' || c == ')' || c == ',' || c == '=':
		r.kind = c
		r.skip(1)
		return nil
	case c < ' ' || c == 0x7f:
		return r.errAt(r.start, "%s, expected BENCH", describe(c))
	}
	r.kind = benchName
	r.text = r.text[:0]
	for {
		c := r.peek()
		if c <= ' ' || c == '(' || c == ')' || c == ',' || c == '=' || c == '#' || r.tooLong(r.text, r.start, "name") {
			return nil
		}
		r.text = append(r.text, byte(c))
		r.skip(1)
	}
}

func (r *benchReader) tokenText() string {
	switch r.kind {
	case -1:
		return "end of file"
	case benchName:
		return clip(r.text)
	}
	return describe(r.kind)
}

func (r *benchReader) expect(kind int, what string) error {
	if r.kind != kind {
		return r.errAt(r.start, "%s, expected %s", r.tokenText(), what)
	}
	return r.advance()
}

// signal consumes a name and returns its signal.
func (r *benchReader) signal(what string) (int32, pos, error) {
	at := r.start
	if r.kind != benchName {
		return 0, at, r.errAt(at, "%s, expected %s", r.tokenText(), what)
	}
	sig := r.intern(r.text, at)
	return sig, at, r.advance()
}

func (r *benchReader) intern(text []byte, at pos) int32 {
	sig, ok := r.byName[string(text)]
	if !ok {
		name := string(text)
		sig = r.add(name, at)
		r.byName[name] = sig
	}
	return sig
}

// save keeps the current name until the next call.
func (r *benchReader) save() []byte {
	r.saved = append(r.saved[:0], r.text...)
	return r.saved
}

// statement reads INPUT(x), OUTPUT(x) or x = ...
func (r *benchReader) statement() error {
	at := r.start
	if r.kind != benchName {
		return r.errAt(at, "%s, expected INPUT, OUTPUT or a signal", r.tokenText())
	}
	name := r.save()
	if err := r.advance(); err != nil {
		return err
	}
	switch r.kind {
	case '=':
		sig := r.intern(name, at)
		if err := r.advance(); err != nil {
			return err
		}
		return r.gate(sig, at)
	case '(':
		in := bytes.EqualFold(name, []byte("INPUT"))
		if !in && !bytes.EqualFold(name, []byte("OUTPUT")) {
			return r.errAt(at, "%s, expected INPUT, OUTPUT or a signal and \"=\"", clip(name))
		}
		if err := r.advance(); err != nil {
			return err
		}
		sig, at, err := r.signal("the name of a port")
		if err != nil {
			return err
		}
		if err := r.expect(')', "\")\" after the name of a port"); err != nil {
			return err
		}
		if in {
			return r.input(sig, at)
		}
		r.outs = append(r.outs, sig)
		return nil
	}
	return r.errAt(r.start, "%s after %s, expected \"=\" or \"(\"", r.tokenText(), clip(name))
}

// gate reads what stands behind "x =".
func (r *benchReader) gate(out int32, outAt pos) error {
	at := r.start
	if r.kind != benchName {
		return r.errAt(at, "%s, expected a gate", r.tokenText())
	}
	g := benchGate{out: out, start: int32(len(r.fanins))}
	name := r.save()
	if err := r.advance(); err != nil {
		return err
	}
	arity := -1
	switch {
	case bytes.EqualFold(name, []byte("LUT")) && (r.kind == benchName || r.kind == '('):
		var err error
		g.op = benchLUT
		at = r.start
		if g.table, err = r.hexTable(); err != nil {
			return err
		}
		if err := r.advance(); err != nil {
			return err
		}
	case r.kind != '(':
		// Another name for a signal, or for a constant.
		r.fanins = append(r.fanins, r.intern(name, at))
		return r.define(&g, outAt)
	default:
		for _, o := range benchOps {
			if bytes.EqualFold(name, []byte(o.name)) {
				g.op, g.inv, arity = o.op, o.inv, o.arity
			}
		}
		if arity < 0 {
			switch upper := bytes.ToUpper(name); {
			case bytes.HasPrefix(upper, []byte("DFF")), bytes.Contains(upper, []byte("LATCH")):
				return unsupported(r.errAt(at, "%s: sequential circuits are not supported, expected a combinational gate", clip(name)))
			}
			return unsupported(r.errAt(at, "gate %s is not supported, expected AND, NAND, OR, NOR, XOR, XNOR, NOT, BUFF, MUX, MAJ or LUT", clip(name)))
		}
	}
	if err := r.expect('(', "\"(\" before the inputs of a gate"); err != nil {
		return err
	}
	for r.kind != ')' || len(r.fanins) > int(g.start) {
		sig, _, err := r.signal("an input of a gate")
		if err != nil {
			return err
		}
		r.fanins = append(r.fanins, sig)
		if len(r.fanins)-int(g.start) > maxFanins {
			return r.errAt(at, "%s of more than %d inputs, expected fewer", clip(name), maxFanins)
		}
		if r.kind == ')' {
			break
		}
		if err := r.expect(',', "\",\" or \")\" after an input of a gate"); err != nil {
			return err
		}
	}
	if err := r.expect(')', "\")\""); err != nil {
		return err
	}
	n := len(r.fanins) - int(g.start)
	switch {
	case g.op == benchLUT && n > MaxLUT:
		return unsupported(r.errAt(at, "look-up table of %d inputs is not supported, expected at most %d", n, MaxLUT))
	case g.op == benchLUT && g.table&^tableMask(n) != 0:
		return r.errAt(at, "table 0x%x is too large for a LUT (inputs: %d), expected at most 0x%x", g.table, n, tableMask(n))
	case g.op != benchLUT && n == 0:
		return r.errAt(at, "%s without inputs, expected at least one", clip(name))
	case arity > 0 && n != arity:
		return r.errAt(at, "%s of %d inputs, expected %d", clip(name), n, arity)
	}
	return r.define(&g, outAt)
}

// hexTable parses the table of a LUT. It reads at most 64 bits; leading zeros
// may be there or not.
func (r *benchReader) hexTable() (uint64, error) {
	if r.kind != benchName || len(r.text) < 3 || r.text[0] != '0' || r.text[1]|0x20 != 'x' {
		return 0, r.errAt(r.start, "%s, expected a table such as 0x8 after LUT", r.tokenText())
	}
	digits := bytes.TrimLeft(r.text[2:], "0")
	if len(digits) > 16 {
		return 0, unsupported(r.errAt(r.start, "table %s of more than 64 bits is not supported, expected at most %d inputs", clip(r.text), MaxLUT))
	}
	if len(digits) == 0 {
		return 0, nil
	}
	t, err := strconv.ParseUint(string(digits), 16, 64)
	if err != nil {
		return 0, r.errAt(r.start, "%s, expected hexadecimal digits", clip(r.text))
	}
	return t, nil
}

// define makes a gate the driver of its output, and builds it if it can.
func (r *benchReader) define(g *benchGate, at pos) error {
	g.inputs = int32(len(r.fanins)) - g.start
	known := true
	for _, sig := range r.fanins[g.start:] {
		known = known && r.lit[sig] != unset
	}
	if !known {
		if err := r.drive(g.out, int32(len(r.waiting)), at); err != nil {
			return err
		}
		r.waiting = append(r.waiting, *g)
		return nil
	}
	if err := r.drive(g.out, defBuilt, at); err != nil {
		return err
	}
	r.build(g)
	r.fanins = r.fanins[:g.start]
	return nil
}

func (r *benchReader) build(g *benchGate) {
	before := r.net.NumNodes()
	in := r.lits[:0]
	for _, sig := range r.fanins[g.start : g.start+g.inputs] {
		in = append(in, r.lit[sig])
	}
	r.lits = in
	var l Lit
	switch g.op {
	case benchAnd:
		l = r.net.AndAll(in)
	case benchOr:
		l = r.net.OrAll(in)
	case benchXor:
		l = r.net.xorChain(in)
	case benchMux:
		l = r.net.Mux(in[0], in[1], in[2])
	case benchMaj:
		l = r.net.Maj(in[0], in[1], in[2])
	case benchLUT:
		l = r.matcher.build(r.net, in, g.table)
	}
	r.built(g.out, l.NotIf(g.inv), before)
}
