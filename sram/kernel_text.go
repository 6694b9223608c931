package sram

import (
	"bufio"
	"io"
	"strconv"
)

// The text form of a kernel, one instruction a line:
//
//	.kernel neural-cache 1
//	.array rows=256
//	.input a 0 32            # name base width: bit i of a is in row base+i
//	add 64  0 32             # dst  operands: row, ~row where the technology negates, #0 or #1
//	tag.copy 3               # no dst where the instruction sets latches only
//	copy? 65  #0             # ? writes where the tag is set only
//	.output y 64 32
//	.end
//
// Comments and names are those of programs.

// ParseKernel reads the text form of a kernel; file is the name that errors
// give. A malformed text gives a [*SyntaxError]. What the kernel does is not
// looked at: see [Kernel.Check].
func ParseKernel(r io.Reader, file string) (*Kernel, error) {
	p := &parser{br: bufio.NewReaderSize(r, 1<<16), file: file}
	k := &Kernel{}
	if !p.next() {
		p.failf("end of the text, expected .kernel TECHNOLOGY 1")
		return nil, p.err
	}
	if w := p.word(); string(w) != ".kernel" {
		p.failf("%s, expected .kernel TECHNOLOGY 1", quote(w))
	}
	if t, err := LookupTechnology(string(p.word())); err != nil {
		p.failf("%v", err)
	} else {
		k.Tech = t
	}
	if w := p.word(); string(w) != "1" {
		p.failf("version %s, expected .kernel TECHNOLOGY 1", quote(w))
	}
	p.end()
	if !p.next() {
		p.failf("end of the text, expected .array rows=R")
		return nil, p.err
	}
	if w := p.word(); string(w) != ".array" {
		p.failf("%s, expected .array rows=R", quote(w))
	}
	k.Rows = p.setting("rows", 1, MaxRows, 0)
	p.prog.Geometry.Rows = k.Rows
	p.end()
	ended := false
	for !ended && p.next() {
		w := string(p.word())
		switch w {
		case ".input":
			if len(k.Instrs)+len(k.Outputs) > 0 {
				p.failf(".input after an instruction or output, expected all inputs first")
			}
			k.Inputs = append(k.Inputs, p.port("input"))
		case ".output":
			k.Outputs = append(k.Outputs, p.port("output"))
		case ".end":
			ended = true
		default:
			if len(k.Outputs) > 0 {
				p.failf("instruction after .output, expected .output or .end")
			}
			k.Instrs = append(k.Instrs, p.micro(k.Tech, w))
		}
		p.end()
	}
	if p.err == nil && !ended {
		p.failf("end of the text, expected .end")
	}
	if p.err == nil && p.next() {
		p.failf("%s after .end, expected nothing", quote(p.word()))
	}
	if p.err != nil {
		return nil, p.err
	}
	return k, nil
}

func (p *parser) port(what string) Port {
	name := p.name(what)
	base := p.number("row", p.prog.Geometry.Rows)
	return Port{Name: name, Base: base, Width: p.number("width", p.prog.Geometry.Rows+1)}
}

func (p *parser) micro(t *Technology, name string) Micro {
	var m Micro
	if p.err != nil {
		return m
	}
	if n := len(name); n > 0 && name[n-1] == '?' {
		m.Masked, name = true, name[:n-1]
	}
	op := t.Op(name)
	if op < 0 {
		p.failf("%s, expected an instruction of %s, .input, .output or .end", quote([]byte(name)), t.Name)
		return m
	}
	m.Op = Opcode(op)
	if t.Ops[op].Writes {
		m.Dst = uint16(p.number("row", p.prog.Geometry.Rows))
	}
	for i := range t.Ops[op].Operands {
		m.Src[i] = p.operand()
	}
	return m
}

// WriteTo writes the text form of k, which [ParseKernel] reads back to an equal
// kernel.
func (k *Kernel) WriteTo(w io.Writer) (int64, error) {
	b := &printer{w: w, buf: make([]byte, 0, 1<<16)}
	b.str(".kernel " + k.Tech.Name + " 1\n.array rows=")
	b.num(k.Rows)
	b.str("\n")
	for _, p := range k.Inputs {
		b.port(".input ", p)
	}
	for i := range k.Instrs {
		b.buf = k.append(b.buf, &k.Instrs[i])
		b.str("\n")
	}
	for _, p := range k.Outputs {
		b.port(".output ", p)
	}
	b.str(".end\n")
	b.flush()
	return b.n, b.err
}

func (b *printer) port(what string, p Port) {
	b.str(what)
	b.name(p.Name)
	b.str(" ")
	b.num(p.Base)
	b.str(" ")
	b.num(p.Width)
	b.str("\n")
}

// text returns the text form of an instruction.
func (k *Kernel) text(m *Micro) string { return string(k.append(nil, m)) }

func (k *Kernel) append(b []byte, m *Micro) []byte {
	if int(m.Op) >= len(k.Tech.Ops) {
		return strconv.AppendUint(append(b, "op "...), uint64(m.Op), 10)
	}
	info := &k.Tech.Ops[m.Op]
	b = append(b, info.Name...)
	if m.Masked {
		b = append(b, '?')
	}
	if info.Writes {
		b = strconv.AppendUint(append(b, ' '), uint64(m.Dst), 10)
	}
	for i := range info.Operands {
		if i == 0 && info.Writes {
			b = append(b, ' ')
		}
		b = m.Src[i].append(append(b, ' '))
	}
	return b
}
