package netlist

import "bufio"

// writeVerilog writes a module in the style of the MASIM netlists: an assign for
// every gate, complements on its operands, then one for every output that is
// not a gate of that name.
func writeVerilog(w *bufio.Writer, n *Network) error {
	v := &verilogWriter{Writer: w, namer: newNamer(n, replaceIn(""), false), index: inputIndex(n)}
	ports := len(n.inputs) + len(n.outputs)
	port := func(b []byte, i int) []byte {
		if i < len(n.inputs) {
			return v.input(b, i)
		}
		return v.output(b, i-len(n.inputs))
	}
	v.WriteString("module ")
	name := n.Name
	if name == "" {
		name = "top"
	}
	v.identifier(append(v.buf[:0], replaceIn("")(name)...))
	v.WriteString("( ")
	v.names(ports, func(b []byte, i int) []byte { return port(b, i) })
	v.WriteString(");\n")
	if len(n.inputs) > 0 {
		v.WriteString("  input ")
		v.names(len(n.inputs), v.input)
		v.WriteString(";\n")
	}
	if len(n.outputs) > 0 {
		v.WriteString("  output ")
		v.names(len(n.outputs), v.output)
		v.WriteString(";\n")
	}
	// A gate that has the name of its output is no wire.
	isPort := make(map[int]bool)
	for i, o := range n.outputs {
		if v.implied[i] {
			isPort[o.Lit.Node()] = true
		}
	}
	const perLine = 16
	wires := 0
	for id := range n.nodes {
		if k := n.nodes[id].kind; k == Const || k == Input || isPort[id] {
			continue
		}
		switch {
		case wires == 0:
			v.WriteString("  wire ")
		case wires%perLine == 0:
			v.WriteString(",\n    ")
		default:
			v.WriteString(", ")
		}
		wires++
		v.identifier(v.gate(v.buf[:0], id))
	}
	if wires > 0 {
		v.WriteString(";\n")
	}
	for id := range n.nodes {
		if k := n.nodes[id].kind; k != Const && k != Input {
			v.gateAssign(n, id)
		}
	}
	for i, o := range n.outputs {
		if v.implied[i] {
			continue
		}
		v.WriteString("  assign ")
		v.identifier(v.output(v.buf[:0], i))
		v.WriteString("= ")
		v.operand(o.Lit)
		v.WriteString(";\n")
	}
	v.WriteString("endmodule\n")
	return nil
}

type verilogWriter struct {
	*bufio.Writer
	*namer
	index []int32
	buf   []byte
}

// identifier writes a name and a space; the space ends escaped names.
func (v *verilogWriter) identifier(name []byte) {
	v.buf = name
	plain := isNameStart(int(name[0])) && !isKeyword(name)
	for _, c := range name {
		plain = plain && isNamePart(int(c))
	}
	if !plain {
		v.WriteByte('\\')
	}
	v.Write(name)
	v.WriteByte(' ')
}

func (v *verilogWriter) names(n int, name func(b []byte, i int) []byte) {
	const perLine = 16
	for i := range n {
		switch {
		case i == 0:
		case i%perLine == 0:
			v.WriteString(",\n    ")
		default:
			v.WriteString(", ")
		}
		v.identifier(name(v.buf[:0], i))
	}
}

// operand writes a literal and a space.
func (v *verilogWriter) operand(l Lit) {
	id := l.Node()
	if id == 0 {
		v.WriteString([...]string{"1'b0 ", "1'b1 "}[l&1])
		return
	}
	if l.Complemented() != v.flipped(id) {
		v.WriteByte('~')
	}
	v.identifier(v.node(v.buf[:0], id, v.index))
}

// gateAssign writes a gate. Where its name is that of its complement, the gate
// is written complemented.
func (v *verilogWriter) gateAssign(n *Network, id int) {
	v.WriteString("  assign ")
	v.identifier(v.gate(v.buf[:0], id))
	v.WriteString("= ")
	flip := Lit(0)
	if v.flipped(id) {
		flip = 1
	}
	f := n.Fanins(id)
	pair := func(a, b Lit, open, close string) {
		v.WriteString(open)
		v.operand(a)
		v.WriteString("& ")
		v.operand(b)
		v.WriteString(close)
	}
	switch n.nodes[id].kind {
	case And:
		if flip != 0 {
			v.operand(f[0] ^ 1)
			v.WriteString("| ")
			v.operand(f[1] ^ 1)
		} else {
			pair(f[0], f[1], "", "")
		}
	case Xor:
		v.operand(f[0] ^ flip)
		v.WriteString("^ ")
		v.operand(f[1])
	case Xor3:
		v.operand(f[0] ^ flip)
		v.WriteString("^ ")
		v.operand(f[1])
		v.WriteString("^ ")
		v.operand(f[2])
	case Maj: // self-dual: complement the operands
		a, b, c := f[0]^flip, f[1]^flip, f[2]^flip
		pair(a, b, "( ", ") | ")
		pair(a, c, "( ", ") | ")
		pair(b, c, "( ", ") ")
	case Mux:
		v.operand(f[0])
		v.WriteString("? ")
		v.operand(f[1] ^ flip)
		v.WriteString(": ")
		v.operand(f[2] ^ flip)
	case LUT:
		v.sum(f, n.Table(id), flip != 0)
	}
	v.WriteString(";\n")
}

// sum writes a table as a sum of products.
func (v *verilogWriter) sum(f []Lit, t uint64, flip bool) {
	mask := tableMask(len(f))
	if flip {
		t ^= mask
	}
	var cubes [64]cube
	products := isop(t&mask, len(f), cubes[:0])
	if len(products) == 0 {
		v.WriteString("1'b0 ")
		return
	}
	for i, c := range products {
		if i > 0 {
			v.WriteString("| ")
		}
		if c.mask == 0 {
			v.WriteString("1'b1 ")
			continue
		}
		parens := len(products) > 1 && c.mask&(c.mask-1) != 0
		if parens {
			v.WriteString("( ")
		}
		first := true
		for j, l := range f {
			if c.mask>>j&1 == 0 {
				continue
			}
			if !first {
				v.WriteString("& ")
			}
			first = false
			v.operand(l.NotIf(c.value>>j&1 == 0))
		}
		if parens {
			v.WriteString(") ")
		}
	}
}
