package sram

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/bitsched/bitsched/internal/position"
)

// The text form of a program, one instruction a line:
//
//	.program bitsched 1
//	.geometry arrays=2 rows=256     # cols=N follows when it is not 256
//	.input x0 0 0                   # name array row
//	maj 0 24  0 1 ~2                # array dst  src src src: row, ~row, #0 or #1
//	xor 0 25  24 3 #0
//	copy 1 12  0 24                 # dst-array dst-row  src-array src-row
//	.output y0 0 ~25                # name array row; a constant has array 0
//	.end
//
// The parts come in this order. A # starts a comment, except that #0 and #1
// after a blank, where an operand stands, are the constants. A name is written as it is if it
// has only printable characters other than space, " and #; any other name,
// also the empty one, is written as a Go string literal in double quotes. No
// line is longer than 1 MiB.
//
// This is section 2 of the scheduling specification.

// DefaultCols is the number of columns of a program that does not say it.
const DefaultCols = 256

// maxLine bounds the length of a line of a program, so that garbage without a
// line end is refused and not read into memory.
const maxLine = 1 << 20

// SyntaxError says where a program's text is malformed, and what was expected.
type SyntaxError = position.Error

// Parse reads the text form of a program; file is the name that errors give.
//
// A malformed text gives a [*SyntaxError], a failed read the reader's error. The
// program returned is valid in the sense of [Program.Validate]. That every row
// that is read was written is not looked at here: see [Program.CheckRows].
func Parse(r io.Reader, file string) (*Program, error) {
	p := &parser{br: bufio.NewReaderSize(r, 1<<16), file: file}
	prog, err := p.program()
	if err != nil {
		return nil, err
	}
	return prog, nil
}

// ParseLines is Parse that also returns the line of the text, from 1, that each
// instruction is in.
func ParseLines(r io.Reader, file string) (*Program, []int32, error) {
	p := &parser{br: bufio.NewReaderSize(r, 1<<16), file: file, keepLines: true}
	prog, err := p.program()
	if err != nil {
		return nil, nil, err
	}
	return prog, p.lines, nil
}

// parser reads line by line. The first error of a line is kept in err; what
// follows in the line then yields zeros.
type parser struct {
	br   *bufio.Reader
	file string
	line int
	s    []byte // rest of the line
	long []byte // holds a line that does not fit br's buffer
	err  error
	prog Program

	keepLines bool
	lines     []int32 // of the instructions
}

func (p *parser) failf(format string, args ...any) {
	if p.err == nil {
		p.err = &SyntaxError{File: p.file, Line: p.line, Msg: fmt.Sprintf(format, args...)}
	}
}

// next moves to the next line that is not blank or a comment; false means the
// end of the text or an error.
func (p *parser) next() bool {
	for p.err == nil {
		s, err := p.br.ReadSlice('\n')
		p.line++
		if errors.Is(err, bufio.ErrBufferFull) {
			p.long = append(p.long[:0], s...)
			for errors.Is(err, bufio.ErrBufferFull) {
				s, err = p.br.ReadSlice('\n')
				p.long = append(p.long, s...)
				if len(p.long) > maxLine {
					p.failf("line of more than %d bytes, expected one instruction a line", maxLine)
					return false
				}
			}
			s = p.long
		}
		if err != nil && !errors.Is(err, io.EOF) {
			p.err = fmt.Errorf("%s:%d: %w", p.file, p.line, err)
			return false
		}
		p.s = s
		if !p.atEnd() {
			return true
		}
		if err != nil {
			return false
		}
	}
	return false
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// atEnd skips blanks and reports whether nothing or a comment follows.
func (p *parser) atEnd() bool {
	s := p.s
	for len(s) > 0 && blank(s[0]) {
		s = s[1:]
	}
	p.s = s
	return len(s) == 0 || s[0] == '#'
}

// word takes the characters up to the next blank or comment.
func (p *parser) word() []byte {
	if p.atEnd() {
		return nil
	}
	i := 0
	for i < len(p.s) && !blank(p.s[i]) && p.s[i] != '#' {
		i++
	}
	w := p.s[:i]
	p.s = p.s[i:]
	return w
}

// quote shows a piece of the text in a message, cut where it is long.
func quote(w []byte) string {
	if len(w) > 32 {
		return strconv.Quote(string(w[:32])) + "..."
	}
	return strconv.Quote(string(w))
}

// number takes a number from 0 to limit-1.
func (p *parser) number(what string, limit int) int {
	if p.err != nil {
		return 0
	}
	if p.atEnd() {
		p.failf("%s missing, expected a number from 0 to %d", what, limit-1)
		return 0
	}
	v, i := 0, 0
	for i < len(p.s) && '0' <= p.s[i] && p.s[i] <= '9' && v < limit {
		v = 10*v + int(p.s[i]-'0')
		i++
	}
	if i == 0 || v >= limit || i < len(p.s) && !blank(p.s[i]) && p.s[i] != '#' {
		p.failf("%s %s, expected a number from 0 to %d", what, quote(p.word()), limit-1)
		return 0
	}
	p.s = p.s[i:]
	return v
}

// constant takes #0 or #1 if one follows. A # right after what comes before
// starts a comment.
func (p *parser) constant() (Operand, bool) {
	if len(p.s) > 0 && p.s[0] == '#' {
		return 0, false
	}
	p.atEnd()
	s := p.s
	if len(s) < 2 || s[0] != '#' || s[1] != '0' && s[1] != '1' || len(s) > 2 && !blank(s[2]) && s[2] != '#' {
		return 0, false
	}
	p.s = s[2:]
	return Zero + Operand(s[1]-'0'), true
}

// operand takes a row, a negated row or a constant.
func (p *parser) operand() Operand {
	if p.err != nil {
		return 0
	}
	if o, ok := p.constant(); ok {
		return o
	}
	if p.atEnd() {
		p.failf("operand missing, expected a row, ~row, #0 or #1")
		return 0
	}
	negated := p.s[0] == '~'
	if negated {
		p.s = p.s[1:]
		if len(p.s) == 0 || p.s[0] < '0' || p.s[0] > '9' {
			p.failf("~ without a row, expected a number from 0 to %d", p.prog.Geometry.Rows-1)
			return 0
		}
	}
	return Row(p.number("row", p.prog.Geometry.Rows), negated)
}

// name takes a plain or quoted name.
func (p *parser) name(what string) string {
	if p.err != nil {
		return ""
	}
	if p.atEnd() {
		p.failf("name of the %s missing, expected .%s name array row", what, what)
		return ""
	}
	if p.s[0] != '"' {
		w := p.word()
		if !plainName(string(w)) {
			p.failf("name %s, expected printable characters, or a name in double quotes", quote(w))
		}
		return string(w)
	}
	q, err := strconv.QuotedPrefix(string(p.s))
	if err != nil {
		p.failf("name %s, expected a string in double quotes", quote(p.s))
		return ""
	}
	p.s = p.s[len(q):]
	if len(p.s) > 0 && !blank(p.s[0]) && p.s[0] != '#' {
		p.failf("%s directly after a quoted name, expected a blank", quote(p.word()))
	}
	name, err := strconv.Unquote(q)
	if err != nil {
		p.failf("name %s, expected a string in double quotes", quote([]byte(q)))
	}
	return name
}

func plainName(s string) bool {
	for i, r := range s {
		if r == '"' || r == '#' || r == ' ' || !strconv.IsPrint(r) {
			return false
		}
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return false
			}
		}
	}
	return s != ""
}

// end demands that the line ends.
func (p *parser) end() {
	if p.err == nil && !p.atEnd() {
		p.failf("%s, expected the end of the line", quote(p.word()))
	}
}

// setting takes key=number; a missing one gives the default if that is not 0.
func (p *parser) setting(key string, lowest, highest, missing int) int {
	if p.err != nil {
		return 0
	}
	if p.atEnd() && missing != 0 {
		return missing
	}
	w := p.word()
	n := len(key)
	if len(w) <= n || string(w[:n]) != key || w[n] != '=' {
		if len(w) == 0 {
			p.failf("%s missing, expected %s=N", key, key)
		} else {
			p.failf("%s, expected %s=N", quote(w), key)
		}
		return 0
	}
	v, err := strconv.ParseUint(string(w[n+1:]), 10, 32)
	if err != nil || int(v) < lowest || int(v) > highest {
		p.failf("%s, expected %s from %d to %d", quote(w), key, lowest, highest)
		return 0
	}
	return int(v)
}

func (p *parser) program() (*Program, error) {
	prog := &p.prog
	if !p.next() {
		p.failf("end of the text, expected .program bitsched 1")
		return nil, p.err
	}
	if w := p.word(); string(w) != ".program" {
		if string(w) == "Init:" {
			p.failf("a program in the form that MASIM's checker reads, which is only written, expected .program bitsched 1")
		}
		p.failf("%s, expected .program bitsched 1", quote(w))
	}
	if w := p.word(); string(w) != "bitsched" {
		p.failf("format %s, expected .program bitsched 1", quote(w))
	}
	if w := p.word(); string(w) != "1" {
		p.failf("version %s, expected .program bitsched 1", quote(w))
	}
	p.end()
	if !p.next() {
		p.failf("end of the text, expected .geometry arrays=A rows=R")
		return nil, p.err
	}
	if w := p.word(); string(w) != ".geometry" {
		p.failf("%s, expected .geometry arrays=A rows=R", quote(w))
	}
	geo := &prog.Geometry
	geo.Arrays = p.setting("arrays", 1, MaxArrays, 0)
	geo.Rows = p.setting("rows", 1, MaxRows, 0)
	geo.Cols = p.setting("cols", 1, MaxCols, DefaultCols)
	p.end()
	if p.err != nil {
		return nil, p.err
	}

	// The parts of the text after the geometry, in their order.
	const (
		inputs = iota
		instrs
		outputs
		ended
	)
	part := inputs
	taken := NewRowTable(*geo)
	for p.next() {
		w := p.word()
		if part == ended {
			p.failf("%s after .end, expected nothing", quote(w))
			break
		}
		if len(w) > 0 && w[0] != '.' {
			var ins Instr
			switch string(w) {
			case "maj":
			case "xor":
				ins.Op = Xor
			case "copy":
				ins.Op = Copy
			default:
				p.failf("%s, expected maj, xor, copy, .input, .output or .end", quote(w))
			}
			if part > instrs {
				p.failf("instruction after .output, expected .output or .end")
			}
			part = instrs
			ins.Array = uint16(p.number("array", geo.Arrays))
			ins.Dst = uint16(p.number("row", geo.Rows))
			if ins.Op == Copy {
				ins.From = uint16(p.number("source array", geo.Arrays))
				ins.Src[0] = Row(p.number("source row", geo.Rows), false)
				if ins.From == ins.Array {
					p.failf("copy from array %d to itself, expected another array", ins.Array)
				}
			} else {
				for i := range ins.Src {
					ins.Src[i] = p.operand()
				}
			}
			p.end()
			prog.Instrs = append(prog.Instrs, ins)
			if p.keepLines {
				p.lines = append(p.lines, int32(p.line))
			}
			continue
		}
		switch string(w) {
		case ".input":
			if part > inputs {
				p.failf(".input after an instruction or output, expected all inputs first")
			}
			in := Input{Name: p.name("input")}
			in.Array = p.number("array", geo.Arrays)
			in.Row = p.number("row", geo.Rows)
			p.end()
			if p.err != nil {
				break
			}
			if i := taken.Get(in.Array, in.Row); i != 0 {
				p.failf("input %q in row %d of array %d, which holds input %q, expected another row",
					in.Name, in.Row, in.Array, prog.Inputs[i-1].Name)
				break
			}
			prog.Inputs = append(prog.Inputs, in)
			taken.Set(in.Array, in.Row, uint32(len(prog.Inputs)))
		case ".output":
			part = outputs
			out := Output{Name: p.name("output")}
			if o, ok := p.constant(); ok && p.err == nil {
				out.Operand = o // the array may be left out
			} else {
				out.Array = p.number("array", geo.Arrays)
				out.Operand = p.operand()
				if out.Operand.IsConst() && out.Array != 0 {
					p.failf("constant output in array %d, expected array 0", out.Array)
				}
			}
			p.end()
			prog.Outputs = append(prog.Outputs, out)
		case ".end":
			p.end()
			part = ended
		default:
			p.failf("%s, expected maj, xor, copy, .input, .output or .end", quote(w))
		}
	}
	if p.err == nil && part != ended {
		p.failf("end of the text, expected .end")
	}
	if p.err != nil {
		return nil, p.err
	}
	return prog, nil
}

// WriteTo writes the text form of p, which [Parse] reads back to an equal
// program. It does not check p: see [Program.Validate].
func (p *Program) WriteTo(w io.Writer) (int64, error) {
	b := &printer{w: w, buf: make([]byte, 0, 1<<16)}
	b.str(".program bitsched 1\n.geometry arrays=")
	b.num(p.Geometry.Arrays)
	b.str(" rows=")
	b.num(p.Geometry.Rows)
	if p.Geometry.Cols != DefaultCols {
		b.str(" cols=")
		b.num(p.Geometry.Cols)
	}
	b.str("\n")
	for i := range p.Inputs {
		in := &p.Inputs[i]
		b.str(".input ")
		b.name(in.Name)
		b.str(" ")
		b.num(in.Array)
		b.str(" ")
		b.num(in.Row)
		b.str("\n")
	}
	for i := range p.Instrs {
		b.buf = p.Instrs[i].append(b.buf)
		b.str("\n")
		if b.err != nil {
			break
		}
	}
	for i := range p.Outputs {
		o := &p.Outputs[i]
		b.str(".output ")
		b.name(o.Name)
		b.str(" ")
		b.num(o.Array)
		b.str(" ")
		b.buf = o.Operand.append(b.buf)
		b.str("\n")
	}
	b.str(".end\n")
	b.flush()
	return b.n, b.err
}

// String returns the text form of the instruction, without a line end.
func (i Instr) String() string { return string(i.append(nil)) }

func (i *Instr) append(b []byte) []byte {
	switch i.Op {
	case Maj:
		b = append(b, "maj "...)
	case Xor:
		b = append(b, "xor "...)
	case Copy:
		b = append(b, "copy "...)
	default:
		b = append(append(b, i.Op.String()...), ' ')
	}
	b = strconv.AppendUint(b, uint64(i.Array), 10)
	b = append(b, ' ')
	b = strconv.AppendUint(b, uint64(i.Dst), 10)
	b = append(b, "  "...)
	if i.Op == Copy {
		b = strconv.AppendUint(b, uint64(i.From), 10)
		b = append(b, ' ')
		return i.Src[0].append(b)
	}
	b = i.Src[0].append(b)
	b = append(b, ' ')
	b = i.Src[1].append(b)
	b = append(b, ' ')
	return i.Src[2].append(b)
}

func (o Operand) append(b []byte) []byte {
	switch {
	case o == Zero:
		return append(b, "#0"...)
	case o == One:
		return append(b, "#1"...)
	case o.Negated():
		b = append(b, '~')
	}
	return strconv.AppendUint(b, uint64(o.Row()), 10)
}

// printer is a buffer that counts what it has written and keeps the first error.
type printer struct {
	w   io.Writer
	buf []byte
	n   int64
	err error
}

func (b *printer) str(s string) {
	b.buf = append(b.buf, s...)
	if len(b.buf) > 1<<16-256 {
		b.flush()
	}
}

func (b *printer) num(v int) { b.buf = strconv.AppendInt(b.buf, int64(v), 10) }

func (b *printer) name(s string) {
	if plainName(s) {
		b.str(s)
	} else {
		b.buf = strconv.AppendQuote(b.buf, s)
	}
}

func (b *printer) flush() {
	if b.err == nil {
		n, err := b.w.Write(b.buf)
		b.n += int64(n)
		b.err = err
	}
	b.buf = b.buf[:0]
}
