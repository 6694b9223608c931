package netlist

import (
	"bufio"
	"math/bits"
	"strconv"
)

// writeBench writes gates of two inputs in the style of the ISCAS benchmarks, with
// a NOT for every signal that is used complemented, and all others as look-up
// tables, which ABC and mockturtle read. ABC crashes on an XOR of three inputs.
func writeBench(w *bufio.Writer, n *Network) error {
	v := &benchWriter{Writer: w, net: n, index: inputIndex(n)}
	v.namer = newNamer(n, replaceIn("(),=#"), true, "vdd", "gnd", "VDD", "GND")
	v.suffix = v.freeSuffix("_not")
	v.inverted = make([]uint64, (len(n.nodes)+63)/64)
	v.WriteString("# ")
	name := n.Name
	if name == "" {
		name = "top"
	}
	v.WriteString(replaceIn("")(name))
	v.WriteByte('\n')
	for i := range n.inputs {
		v.port("INPUT(", v.input(v.buf[:0], i))
	}
	for i := range n.outputs {
		v.port("OUTPUT(", v.output(v.buf[:0], i))
	}
	for id := range n.nodes {
		if k := n.nodes[id].kind; k != Const && k != Input {
			v.writeGate(id)
		}
	}
	for i, o := range n.outputs {
		if v.implied[i] {
			continue
		}
		id := o.Lit.Node()
		var op string
		switch {
		case o.Lit == False:
			op = " = gnd\n"
		case o.Lit == True:
			op = " = vdd\n"
		case o.Lit.Complemented() != v.flipped(id):
			op = " = NOT("
		default:
			op = " = BUFF("
		}
		v.name(v.output(v.buf[:0], i))
		v.WriteString(op)
		if id != 0 {
			v.name(v.node(v.buf[:0], id, v.index))
			v.WriteString(")\n")
		}
	}
	return nil
}

type benchWriter struct {
	*bufio.Writer
	*namer
	net      *Network
	index    []int32
	suffix   string   // of the complement of a signal
	inverted []uint64 // nodes whose NOT is written
	buf      []byte
}

func (v *benchWriter) name(b []byte) {
	v.buf = b
	v.Write(b)
}

func (v *benchWriter) port(keyword string, name []byte) {
	v.WriteString(keyword)
	v.name(name)
	v.WriteString(")\n")
}

// invert writes the NOT of a node, once.
func (v *benchWriter) invert(id int) {
	if v.inverted[id>>6]>>(id&63)&1 != 0 {
		return
	}
	v.inverted[id>>6] |= 1 << (id & 63)
	v.name(v.node(v.buf[:0], id, v.index))
	v.WriteString(v.suffix)
	v.WriteString(" = NOT(")
	v.name(v.node(v.buf[:0], id, v.index))
	v.WriteString(")\n")
}

func (v *benchWriter) writeGate(id int) {
	var store [MaxLUT]Lit
	in, t := v.net.localTable(id, store[:0])
	k := len(in)
	for j, l := range in {
		if v.flipped(l.Node()) {
			t = flipInput(t, j)
		}
	}
	if v.flipped(id) {
		t = ^t
	}
	t &= tableMask(k)
	op := ""
	var not [2]bool // inputs of the gate that are complemented
	switch kind := v.net.nodes[id].kind; {
	case t == 0:
		op, k = "gnd", 0
	case t == tableMask(k):
		op, k = "vdd", 0
	case k == 1 && t == 2:
		op = "BUFF"
	case k == 1:
		op = "NOT"
	case kind == LUT || k != 2:
	case t == 0x6:
		op = "XOR"
	case t == 0x9:
		op = "XNOR"
	case k == 2 && bits.OnesCount64(t) == 1:
		row := bits.TrailingZeros64(t)
		op, not = "AND", [2]bool{row&1 == 0, row&2 == 0}
		if row == 0 {
			op, not = "NOR", [2]bool{}
		}
	case k == 2 && bits.OnesCount64(t) == 3:
		row := bits.TrailingZeros64(t ^ 0xf)
		op, not = "NAND", [2]bool{row&1 == 0, row&2 == 0}
		if row == 0 {
			op, not = "OR", [2]bool{}
		}
	}
	for j := range 2 {
		if not[j] {
			v.invert(in[j].Node())
		}
	}
	v.name(v.gate(v.buf[:0], id))
	v.WriteString(" = ")
	if op == "" {
		v.WriteString("LUT 0x")
		v.name(strconv.AppendUint(v.buf[:0], t, 16))
		v.WriteString(" (")
	} else {
		v.WriteString(op)
		if k == 0 {
			v.WriteByte('\n')
			return
		}
		v.WriteByte('(')
	}
	for j, l := range in[:k] {
		if j > 0 {
			v.WriteString(", ")
		}
		v.name(v.node(v.buf[:0], l.Node(), v.index))
		if j < 2 && not[j] {
			v.WriteString(v.suffix)
		}
	}
	v.WriteString(")\n")
}
