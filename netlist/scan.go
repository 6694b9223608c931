package netlist

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/bitsched/bitsched/internal/position"
)

// ErrUnsupported is wrapped by the error of a reader that understands what a
// file says but cannot represent it: latches, properties, module instances.
var ErrUnsupported = errors.New("netlist: not supported")

// SyntaxError says what is wrong with a file, where, and what was expected. Err is
// ErrUnsupported or nil.
type SyntaxError = position.Error

// pos is a place in a text file: line and column. Behind the binary part of a
// file, where lines mean nothing, it is the high and the low half of an offset.
type pos struct{ line, col uint32 }

// scanner is a buffered reader of bytes that knows where it is. All readers
// stand on it, so that no file is ever held as a whole.
type scanner struct {
	file string
	r    io.Reader
	buf  []byte
	p, n int   // buf[p:n] is read but not consumed
	base int64 // offset of buf[0] in the file
	line uint32
	bol  int64 // offset of the beginning of the line
	err  error // what ended the input: io.EOF or a read error

	binary bool // the binary part of the file has begun: places are offsets
}

const scanBuffer = 1 << 16

// Limits that keep garbage without an end from being read into memory.
const (
	maxToken  = 1 << 20 // bytes of a name or a number
	maxFanins = 1 << 20 // inputs of one gate
)

func newScanner(r io.Reader, file string) *scanner {
	return &scanner{file: file, r: r, buf: make([]byte, scanBuffer), line: 1}
}

// more reads behind what is buffered. It reports whether there is anything new.
func (s *scanner) more() bool {
	if s.err != nil {
		return false
	}
	if s.p > 0 {
		copy(s.buf, s.buf[s.p:s.n])
		s.base += int64(s.p)
		s.n -= s.p
		s.p = 0
	}
	if s.n == len(s.buf) {
		return false
	}
	for range 100 {
		k, err := s.r.Read(s.buf[s.n:])
		if k < 0 || k > len(s.buf)-s.n {
			s.err = errors.New("reader returned an invalid count")
			return false
		}
		s.n += k
		if err != nil {
			s.err = err
		}
		if k > 0 || err != nil {
			return k > 0
		}
	}
	s.err = io.ErrNoProgress
	return false
}

// peek returns the next byte, or -1 at the end.
func (s *scanner) peek() int {
	if s.p == s.n && !s.more() {
		return -1
	}
	return int(s.buf[s.p])
}

// next consumes the next byte and returns it, or -1 at the end.
func (s *scanner) next() int {
	if s.p == s.n && !s.more() {
		return -1
	}
	c := s.buf[s.p]
	s.p++
	if c == '\n' {
		s.line++
		s.bol = s.base + int64(s.p)
	}
	return int(c)
}

// skip consumes n bytes that were peeked and hold no line break.
func (s *scanner) skip(n int) { s.p += n }

// second returns the byte after the next one, or -1 at the end.
func (s *scanner) second() int {
	for s.n-s.p < 2 {
		if !s.more() {
			return -1
		}
	}
	return int(s.buf[s.p+1])
}

// skipLine consumes the rest of the line but not its end.
func (s *scanner) skipLine() {
	for {
		for s.p < s.n {
			if s.buf[s.p] == '\n' {
				return
			}
			s.p++
		}
		if !s.more() {
			return
		}
	}
}

// drain consumes the rest of the file, so that what writes it is not cut off and
// a read error is not missed.
func (s *scanner) drain() {
	for s.p = s.n; s.more(); s.p = s.n {
	}
}

// offset returns the offset of the next byte.
func (s *scanner) offset() int64 { return s.base + int64(s.p) }

// here returns the place of the next byte.
func (s *scanner) here() pos {
	if s.binary {
		return pos{uint32(s.offset() >> 32), uint32(s.offset())}
	}
	return pos{s.line, uint32(s.offset() - s.bol + 1)}
}

// tooLong ends the input with an error if a token that begins at a place has all
// the bytes that one may have.
func (s *scanner) tooLong(token []byte, at pos, what string) bool {
	if len(token) < maxToken {
		return false
	}
	if s.failed() == nil {
		s.err = s.errAt(at, "%s of more than %d bytes, expected a shorter one", what, maxToken)
		s.n = s.p
	}
	return true
}

// failed returns the read error that ended the input, or that of a token which is
// too long, if it was one.
func (s *scanner) failed() error {
	if s.err == nil || s.err == io.EOF {
		return nil
	}
	if e, ok := s.err.(*SyntaxError); ok {
		return e
	}
	return fmt.Errorf("netlist: read %s: %w", s.file, s.err)
}

// errAt returns an error at a place. A read error goes before it: what looks
// like a truncated file is then only a symptom.
func (s *scanner) errAt(at pos, format string, args ...any) error {
	if err := s.failed(); err != nil {
		return err
	}
	if s.binary {
		return s.errByte(int64(at.line)<<32|int64(at.col), format, args...)
	}
	return &SyntaxError{File: s.file, Line: int(at.line), Col: int(at.col), Msg: fmt.Sprintf(format, args...)}
}

// errHere returns an error at the next byte.
func (s *scanner) errHere(format string, args ...any) error {
	return s.errAt(s.here(), format, args...)
}

// errByte returns an error at a byte of the binary part.
func (s *scanner) errByte(offset int64, format string, args ...any) error {
	if err := s.failed(); err != nil {
		return err
	}
	return &SyntaxError{File: s.file, Binary: true, Offset: offset, Msg: fmt.Sprintf(format, args...)}
}

// unsupported marks an error as one of a feature that is not supported.
func unsupported(err error) error {
	if e, ok := err.(*SyntaxError); ok {
		e.Err = ErrUnsupported
	}
	return err
}

// found names the next byte for a message.
func (s *scanner) found() string { return describe(s.peek()) }

func describe(c int) string {
	switch {
	case c < 0:
		return "end of file"
	case c == '\n' || c == '\r':
		return "end of line"
	case c < ' ' || c > '~':
		return fmt.Sprintf("byte 0x%02x", c)
	}
	return strconv.Quote(string(rune(c)))
}

// clip makes a name fit for a message: short, and quoted if it is not plain text.
func clip[T string | []byte](name T) string {
	const most = 60
	s, more := string(name), ""
	if len(s) > most {
		s, more = s[:most], "..."
	}
	if q := strconv.Quote(s); len(q) != len(s)+2 {
		s = q
	}
	return s + more
}

// plural is a number with what it counts.
func plural(n uint64, one, many string) string {
	if n == 1 {
		many = one
	}
	return strconv.FormatUint(n, 10) + " " + many
}
