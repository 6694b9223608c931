package netlist

import "bufio"

// writeBLIF writes a model with one .names table a gate. Complemented edges are
// part of the tables, and so are constant fanins.
func writeBLIF(w *bufio.Writer, n *Network) error {
	v := &blifWriter{Writer: w, namer: newNamer(n, replaceIn("#\\"), true), index: inputIndex(n)}
	name := n.Name
	if name == "" {
		name = "top"
	}
	v.WriteString(".model ")
	v.WriteString(replaceIn("#\\")(name))
	v.list("\n.inputs", len(n.inputs), v.input)
	v.list("\n.outputs", len(n.outputs), v.output)
	v.WriteByte('\n')
	var fanins [MaxLUT]Lit
	for id := range n.nodes {
		if k := n.nodes[id].kind; k == Const || k == Input {
			continue
		}
		in, t := n.localTable(id, fanins[:0])
		for j, l := range in {
			if v.flipped(l.Node()) {
				t = flipInput(t, j)
			}
		}
		if v.flipped(id) {
			t = ^t
		}
		v.WriteString(".names")
		for _, l := range in {
			v.word(v.node(v.buf[:0], l.Node(), v.index))
		}
		v.word(v.gate(v.buf[:0], id))
		v.WriteByte('\n')
		v.cover(t, len(in))
	}
	for i, o := range n.outputs {
		if v.implied[i] {
			continue
		}
		v.WriteString(".names")
		id := o.Lit.Node()
		if id == 0 {
			v.word(v.output(v.buf[:0], i))
			v.WriteByte('\n')
			v.cover(uint64(o.Lit&1), 0)
			continue
		}
		v.word(v.node(v.buf[:0], id, v.index))
		v.word(v.output(v.buf[:0], i))
		if o.Lit.Complemented() != v.flipped(id) {
			v.WriteString("\n0 1\n")
		} else {
			v.WriteString("\n1 1\n")
		}
	}
	v.WriteString(".end\n")
	return nil
}

type blifWriter struct {
	*bufio.Writer
	*namer
	index []int32
	buf   []byte
}

func (v *blifWriter) word(name []byte) {
	v.buf = name
	v.WriteByte(' ')
	v.Write(name)
}

// list writes a list of ports on as many lines as it takes. An empty one is
// written too: it says that there are none.
func (v *blifWriter) list(keyword string, n int, name func(b []byte, i int) []byte) {
	const perLine = 16
	v.WriteString(keyword)
	for i := range n {
		if i > 0 && i%perLine == 0 {
			v.WriteString(" \\\n ")
		}
		v.word(name(v.buf[:0], i))
	}
}

// cover writes the cubes of a table of k inputs: those of the phase that takes
// fewer.
func (v *blifWriter) cover(t uint64, k int) {
	mask := tableMask(k)
	var onCubes, offCubes [64]cube
	on := isop(t&mask, k, onCubes[:0])
	off := isop(^t&mask, k, offCubes[:0])
	cubes, value := on, "1\n"
	if len(off) < len(on) && len(off) > 0 {
		cubes, value = off, "0\n"
	}
	if len(cubes) == 0 { // the constant 0; an empty cover would do, but not for every reader
		if k == 0 {
			v.WriteString("0\n")
			return
		}
		cubes, value = off, "0\n"
	}
	for _, c := range cubes {
		for j := range k {
			switch {
			case c.mask>>j&1 == 0:
				v.WriteByte('-')
			case c.value>>j&1 == 0:
				v.WriteByte('0')
			default:
				v.WriteByte('1')
			}
		}
		if k > 0 {
			v.WriteByte(' ')
		}
		v.WriteString(value)
	}
}
