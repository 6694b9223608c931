package netlist

import (
	"bytes"
	"math"
)

// The AIGER 1.9 format: Biere, Heljanko, Wieringa, "AIGER 1.9 and beyond", JKU
// FMV report 11/2, 2011; http://fmv.jku.at/aiger/FORMAT.aiger for the rest.

type aigerReader struct {
	*scanner
	net                        *Network
	maxVar, inputs, outs, ands uint64
	outLits                    []Lit
	// vars maps a variable of an ASCII file to the literal that it became. It
	// is dense as far as the definitions read justify, and sparse beyond.
	vars   []Lit
	sparse map[uint64]Lit
}

// maxAIGERVar is the largest variable whose literals fit a Lit.
const maxAIGERVar = MaxNodes - 1

// freeInputs is the number of inputs a binary file may have whatever its
// length. Binary inputs take no space in the file, so that a header could ask
// for any amount of memory; beyond this, no more inputs are accepted than the
// gates and outputs of the file can read.
const freeInputs = 1 << 20

func readAIGER(s *scanner, size int64) (*Network, error) {
	r := &aigerReader{scanner: s, net: New("")}
	binary, err := r.header()
	if err != nil {
		return nil, err
	}
	if binary {
		err = r.readBinary(size)
	} else {
		err = r.readASCII()
	}
	if err != nil {
		return nil, err
	}
	if err := r.symbols(); err != nil {
		return nil, err
	}
	return r.net, nil
}

// header reads "aig M I L O A" or "aag M I L O A" and the counts of 1.9.
func (r *aigerReader) header() (binary bool, err error) {
	var magic []byte
	for len(magic) < 3 {
		c := r.peek()
		if c < 'a' || c > 'z' {
			break
		}
		magic = append(magic, byte(r.next()))
	}
	switch string(magic) {
	case "aig":
		binary = true
	case "aag":
	default:
		return false, r.errAt(pos{1, 1}, "no AIGER header, expected aig or aag")
	}
	names := [...]string{"maximum variable M", "inputs I", "latches L", "outputs O", "AND gates A",
		"bad states B", "constraints C", "justice properties J", "fairness constraints F"}
	properties := [...][2]string{{"bad state", "bad states"}, {"constraint", "constraints"}, {"justice property", "justice properties"}, {"fairness constraint", "fairness constraints"}}
	var v [len(names)]uint64
	var at [len(names)]pos
	for i, name := range names {
		if i >= 5 && (r.peek() == '\n' || r.peek() == '\r') {
			break
		}
		if err := r.space("the number of " + name); err != nil {
			return false, err
		}
		at[i] = r.here()
		if v[i], err = r.number("the number of " + name); err != nil {
			return false, err
		}
	}
	if err := r.endLine(); err != nil {
		return false, err
	}
	if v[2] > 0 {
		return false, unsupported(r.errAt(at[2], "%s: sequential circuits are not supported, expected a combinational circuit (0 latches)", plural(v[2], "latch", "latches")))
	}
	for i := 5; i < len(v); i++ {
		if v[i] > 0 {
			return false, unsupported(r.errAt(at[i], "%s: properties are not supported, expected a combinational circuit without", plural(v[i], properties[i-5][0], properties[i-5][1])))
		}
	}
	r.maxVar, r.inputs, r.outs, r.ands = v[0], v[1], v[3], v[4]
	if r.maxVar > maxAIGERVar {
		return false, r.errAt(at[0], "%d variables, expected at most %d", r.maxVar, maxAIGERVar)
	}
	if sum := r.inputs + r.ands; binary && sum != r.maxVar {
		return false, r.errAt(at[0], "M is %d, expected I+L+A = %d", r.maxVar, sum)
	} else if sum > r.maxVar {
		return false, r.errAt(at[0], "M is %d, expected at least I+L+A = %d", r.maxVar, sum)
	}
	if binary && r.inputs > freeInputs+2*r.ands+r.outs {
		return false, r.errAt(at[1], "%d inputs, expected at most %d for so few gates and outputs", r.inputs, freeInputs+2*r.ands+r.outs)
	}
	return binary, nil
}

// number reads a decimal number of at most ten digits.
func (r *aigerReader) number(what string) (uint64, error) {
	at := r.here()
	var v uint64
	digits := 0
	for {
		c := r.peek()
		if c < '0' || c > '9' {
			break
		}
		r.skip(1)
		v = v*10 + uint64(c-'0')
		if digits++; digits > 10 {
			return 0, r.errAt(at, "number of more than 10 digits, expected %s", what)
		}
	}
	if digits == 0 {
		return 0, r.errHere("%s, expected %s", r.found(), what)
	}
	return v, nil
}

func (r *aigerReader) space(before string) error {
	if r.peek() != ' ' {
		return r.errHere("%s, expected a space and %s", r.found(), before)
	}
	r.skip(1)
	return nil
}

// endLine consumes the end of a line. Files that went through a Windows editor
// have a carriage return before it.
func (r *aigerReader) endLine() error {
	if r.peek() == '\r' && r.second() == '\n' {
		r.skip(1)
	}
	if r.peek() != '\n' {
		return r.errHere("%s, expected the end of the line", r.found())
	}
	r.next()
	return nil
}

// literal reads a literal of at most 2M+1.
func (r *aigerReader) literal(what string) (uint64, error) {
	at := r.here()
	v, err := r.number(what)
	if err == nil && v > 2*r.maxVar+1 {
		err = r.errAt(at, "literal %d, expected at most %d (2M+1)", v, 2*r.maxVar+1)
	}
	return v, err
}

// outputs reads the output lines; in an ASCII file their literals are those of
// the file.
func (r *aigerReader) outputs() error {
	for range r.outs {
		v, err := r.literal("the literal of an output")
		if err != nil {
			return err
		}
		if err := r.endLine(); err != nil {
			return err
		}
		r.outLits = append(r.outLits, Lit(v))
	}
	return nil
}

// readBinary reads what follows the header of a binary file. Variables are
// node ids as they are: inputs first, then gates, each after its fanins.
func (r *aigerReader) readBinary(size int64) error {
	if err := r.outputs(); err != nil {
		return err
	}
	// A gate takes two bytes or more, so a known size bounds what to make room for.
	room := r.ands
	if size >= 0 {
		if left := uint64(max(size-r.offset(), 0)); room > left/2 {
			return r.errByte(r.offset(), "%d bytes left, expected %d AND gates of two bytes or more", left, r.ands)
		}
	} else {
		room = min(room, 1<<16)
	}
	var gates []node
	first := uint64(0) // index of the first gate in gates
	if r.inputs <= freeInputs {
		r.addInputs(int(room))
		gates, first = r.net.nodes, r.inputs+1
	} else {
		// The gates that justify so many inputs are yet to be seen.
		gates = make([]node, 0, room)
	}
	for v := r.inputs + 1; v <= r.maxVar; v++ {
		lhs := v << 1
		d0, err := r.delta(v)
		if err != nil {
			return err
		}
		if d0 == 0 || d0 > lhs {
			return r.errByte(r.offset()-1, "AND gate %d: first delta is %d, expected 1 to %d (its literal)", v, d0, lhs)
		}
		rhs0 := lhs - d0
		d1, err := r.delta(v)
		if err != nil {
			return err
		}
		if d1 > rhs0 {
			return r.errByte(r.offset()-1, "AND gate %d: second delta is %d, expected 0 to %d (its first fanin)", v, d1, rhs0)
		}
		if len(gates) == cap(gates) {
			more := make([]node, len(gates), uint64(len(gates))+min(r.maxVar-v+1, max(uint64(len(gates)), 1<<16)))
			copy(more, gates)
			gates = more
		}
		gates = append(gates, node{kind: And, fanin: [3]Lit{Lit(rhs0), Lit(rhs0 - d1)}})
	}
	if first == 0 {
		r.addInputs(len(gates))
		gates = append(r.net.nodes, gates...)
	}
	r.net.nodes = gates
	r.setOutputs()
	r.binary = true
	return nil
}

// delta reads a number in the variable-length code: seven bits a byte, the
// lowest first, the top bit set on all but the last.
func (r *aigerReader) delta(v uint64) (uint64, error) {
	var x uint64
	for shift := 0; ; shift += 7 {
		if r.p == r.n && !r.more() {
			return 0, r.errByte(r.offset(), "end of file in AND gate %d, expected AND gates up to %d", v, r.maxVar)
		}
		c := r.buf[r.p]
		r.p++
		x |= uint64(c&0x7f) << shift
		if c < 0x80 {
			if c == 0 && shift > 0 {
				return 0, r.errByte(r.offset()-1, "AND gate %d: overlong delta, expected no leading zero byte", v)
			}
			if x > math.MaxUint32 {
				return 0, r.errByte(r.offset()-1, "AND gate %d: delta is %d, expected at most %d", v, x, uint32(math.MaxUint32))
			}
			return x, nil
		}
		if shift >= 28 {
			return 0, r.errByte(r.offset()-1, "AND gate %d: delta of more than five bytes, expected a number of 32 bits", v)
		}
	}
}

// addInputs appends the inputs of the header and makes room for gates.
func (r *aigerReader) addInputs(gates int) {
	r.net.Grow(int(r.inputs) + gates)
	r.net.inputs = make([]int32, 0, r.inputs)
	for range r.inputs {
		r.net.AddInput("")
	}
}

func (r *aigerReader) setOutputs() {
	r.net.outputs = make([]Output, len(r.outLits))
	for i, l := range r.outLits {
		r.net.outputs[i].Lit = l
	}
}

// unset marks a variable without a definition.
const unset = ^Lit(0)

func (r *aigerReader) lookup(v uint64) Lit {
	if v < uint64(len(r.vars)) && r.vars[v] != unset {
		return r.vars[v]
	}
	if l, ok := r.sparse[v]; ok {
		return l
	}
	return unset
}

func (r *aigerReader) define(v uint64, l Lit, defined int) {
	if want := uint64(8*defined + 4096); v >= uint64(len(r.vars)) && v < want {
		size := min(want*2, r.maxVar+1)
		more := make([]Lit, size)
		for i := copy(more, r.vars); i < len(more); i++ {
			more[i] = unset
		}
		r.vars = more
	}
	if v < uint64(len(r.vars)) {
		r.vars[v] = l
		return
	}
	if r.sparse == nil {
		r.sparse = make(map[uint64]Lit)
	}
	r.sparse[v] = l
}

// definition reads the literal that an input or gate defines.
func (r *aigerReader) definition(what, expected string) (uint64, error) {
	at := r.here()
	v, err := r.literal(expected)
	if err != nil {
		return 0, err
	}
	if v&1 != 0 {
		return 0, r.errAt(at, "%s literal %d is odd, expected an even one", what, v)
	}
	if v == 0 {
		return 0, r.errAt(at, "%s literal is the constant 0, expected 2 or more", what)
	}
	if r.lookup(v>>1) != unset {
		return 0, r.errAt(at, "literal %d is already defined, expected each one once", v)
	}
	return v, nil
}

// readASCII reads what follows the header of an ASCII file. Gates come in any
// order; lines are strict, so that a place can be computed afterwards.
func (r *aigerReader) readASCII() error {
	r.define(0, False, 0)
	for range r.inputs {
		v, err := r.definition("input", "the literal of an input")
		if err != nil {
			return err
		}
		if err := r.endLine(); err != nil {
			return err
		}
		r.define(v>>1, r.net.AddInput(""), r.net.NumInputs())
	}
	if err := r.outputs(); err != nil {
		return err
	}
	// Until all gates are known, gate i stands for itself as base+i.
	base := len(r.net.nodes)
	var gates [][3]uint32
	sorted := true // each gate after its fanins
	for i := range int(r.ands) {
		lhs, err := r.definition("AND gate", "the literal of an AND gate")
		if err != nil {
			return err
		}
		gate := [3]uint32{uint32(lhs)}
		for j := 1; j <= 2; j++ {
			if err := r.space("the literal of a fanin"); err != nil {
				return err
			}
			v, err := r.literal("the literal of a fanin")
			if err != nil {
				return err
			}
			gate[j] = uint32(v)
			sorted = sorted && r.lookup(v>>1) != unset
		}
		if err := r.endLine(); err != nil {
			return err
		}
		r.define(lhs>>1, MakeLit(base+i, false), base+i)
		gates = append(gates, gate)
	}
	for i, v := range r.outLits {
		l := r.lookup(uint64(v >> 1))
		if l == unset {
			return r.errAt(pos{uint32(2 + r.inputs + uint64(i)), 1}, "literal %d is not defined, expected an input or AND gate", v)
		}
		r.outLits[i] = l ^ v&1
	}
	// Rewrite the fanins to nodes.
	for i := range gates {
		g := &gates[i]
		col := uint32(2 + digits(g[0]))
		for j := 1; j <= 2; j++ {
			l := r.lookup(uint64(g[j] >> 1))
			if l == unset {
				return r.errAt(r.gateLine(i, col), "literal %d is not defined, expected an input or AND gate", g[j])
			}
			col += uint32(1 + digits(g[j]))
			g[j] = uint32(l) ^ g[j]&1
		}
	}
	r.net.Grow(len(gates))
	if sorted {
		for _, g := range gates {
			r.net.And(Lit(g[1]), Lit(g[2]))
		}
		r.setOutputs()
		return nil
	}
	final := make([]Lit, len(gates))
	move := func(l Lit) Lit {
		if l.Node() < base {
			return l
		}
		return final[l.Node()-base] ^ l&1
	}
	cycle := topological(len(gates), func(d int32, buf []int32) []int32 {
		for _, l := range gates[d][1:] {
			if id := Lit(l).Node(); id >= base {
				buf = append(buf, int32(id-base))
			}
		}
		return buf
	}, func(d int32) {
		final[d] = r.net.And(move(Lit(gates[d][1])), move(Lit(gates[d][2])))
	})
	if cycle != nil {
		name := func(i int) string { return decimal(gates[cycle[i]][0]) }
		return r.errAt(r.gateLine(int(cycle[0]), 1), "%s", cycleMessage(len(cycle), name))
	}
	for i, l := range r.outLits {
		r.outLits[i] = move(l)
	}
	r.setOutputs()
	return nil
}

// gateLine returns the place of a column of the line of gate i.
func (r *aigerReader) gateLine(i int, col uint32) pos {
	return pos{uint32(2 + r.inputs + r.outs + uint64(i)), col}
}

func digits(v uint32) int {
	n := 1
	for ; v >= 10; v /= 10 {
		n++
	}
	return n
}

// symbols reads the symbol table and skips the comments. A name is the rest of
// its line, spaces included.
func (r *aigerReader) symbols() error {
	var seenIn, seenOut []bool
	var name bytes.Buffer
	for {
		c := r.peek()
		at := r.here()
		var seen *[]bool
		count := 0
		kind := "input"
		switch c {
		case -1:
			return nil
		case 'c':
			r.drain() // what follows is for people
			return nil
		case 'i':
			seen, count = &seenIn, r.net.NumInputs()
		case 'o':
			seen, count, kind = &seenOut, r.net.NumOutputs(), "output"
		case 'l', 'b', 'j', 'f':
			return r.errAt(at, "symbol of a latch or property, expected i, o or c: the header has none")
		default:
			return r.errAt(at, "%s, expected a symbol (i or o), a comment (c) or the end of the file", r.found())
		}
		r.skip(1)
		i, err := r.number("the index of an " + kind)
		if err != nil {
			return err
		}
		if i >= uint64(count) {
			return r.errAt(at, "symbol of %s %d, expected an index below %d", kind, i, count)
		}
		if *seen == nil {
			*seen = make([]bool, count)
		}
		if (*seen)[i] {
			return r.errAt(at, "second symbol of %s %d, expected one", kind, i)
		}
		(*seen)[i] = true
		if err := r.space("a name"); err != nil {
			return err
		}
		name.Reset()
		for {
			c := r.peek()
			if c < 0 || c == '\n' || r.tooLong(name.Bytes(), at, "name") {
				break
			}
			name.WriteByte(byte(c))
			r.skip(1)
		}
		text := bytes.TrimSuffix(name.Bytes(), []byte("\r"))
		if len(text) == 0 {
			return r.errHere("%s, expected a name", r.found())
		}
		r.next()
		if kind == "input" {
			r.net.SetNodeName(r.net.Input(int(i)), string(text))
		} else {
			r.net.SetOutputName(int(i), string(text))
		}
	}
}
