// Package position is the error of every reader of text: a file, a place in it,
// what is wrong there and what was expected.
//
// It is not a lexer, and knows no format. Readers give it another name where it
// is part of what they offer, as in
//
//	type SyntaxError = position.Error
//
// so that errors.As finds one type whatever was read.
package position

import (
	"fmt"
	"strings"
)

// Error says where a file is wrong, what is wrong, and what was expected.
type Error struct {
	File    string
	Line    int   // 1-based; 0 where the place is unknown, or Binary is set
	Col     int   // 1-based, in bytes; 0 where only the line is known
	Binary  bool  // the file has no lines there: Offset is the place
	Offset  int64 // 0-based, in bytes
	Msg     string
	Excerpt string // the line, "" to leave it out
	Err     error  // for errors.Is, or nil; not printed
}

// Error returns "file:line:col: message" with as much of the place as is known,
// or "file: byte offset: message", and after it the excerpt on a line of its own.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	switch {
	case e.Binary:
		fmt.Fprintf(&b, ": byte %d", e.Offset)
	case e.Line > 0 && e.Col > 0:
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Col)
	case e.Line > 0:
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": " + e.Msg)
	if e.Excerpt != "" {
		fmt.Fprintf(&b, "\n%5d | %s", e.Line, e.Excerpt)
	}
	return b.String()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }
