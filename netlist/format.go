package netlist

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Format is a file format of circuits.
type Format uint8

// The formats. Reading does not depend on which of the two AIGER formats is
// asked for: the file says which one it is.
const (
	Auto        Format = iota // told by content, and by the file's ending where that is ambiguous
	AIGER                     // binary AIGER 1.9, .aig
	AIGERASCII                // ASCII AIGER 1.9, .aag
	BLIF                      // Berkeley logic interchange format, .blif
	Verilog                   // structural Verilog, .v
	Bench                     // ISCAS and LUT style BENCH, .bench
	formatCount = iota
)

var formats = [formatCount]struct{ name, ending string }{
	Auto:       {"auto", ""},
	AIGER:      {"aig", ".aig"},
	AIGERASCII: {"aag", ".aag"},
	BLIF:       {"blif", ".blif"},
	Verilog:    {"verilog", ".v"},
	Bench:      {"bench", ".bench"},
}

// String returns the name that [ParseFormat] accepts.
func (f Format) String() string {
	if int(f) < len(formats) {
		return formats[f].name
	}
	return fmt.Sprintf("format(%d)", uint8(f))
}

// ParseFormat returns the format of a name: aig, aag, blif, verilog (or v) or
// bench, in any case.
func ParseFormat(name string) (Format, error) {
	lower := strings.ToLower(name)
	for f := AIGER; int(f) < len(formats); f++ {
		if lower == formats[f].name || lower == formats[f].ending[1:] {
			return f, nil
		}
	}
	return Auto, fmt.Errorf("netlist: unknown format %q, expected aig, aag, blif, verilog or bench", clip(name))
}

// FormatOf returns the format that the ending of a path stands for: .aig, .aag,
// .blif, .v or .bench, in any case.
func FormatOf(path string) (Format, error) {
	if f := formatOfEnding(path); f != Auto {
		return f, nil
	}
	return Auto, fmt.Errorf("netlist: %s: the ending names no format, expected .aig, .aag, .blif, .v or .bench", path)
}

func formatOfEnding(path string) Format {
	ending := strings.ToLower(filepath.Ext(path))
	for f := AIGER; int(f) < len(formats); f++ {
		if ending == formats[f].ending {
			return f
		}
	}
	return Auto
}

// ReadOptions are the options of [Read]. The zero value is the default.
type ReadOptions struct {
	Format Format // what to read; Auto tells the format by content
	Words  Words  // builds the operators on words of Verilog; nil: a file with some is refused
}

// Read reads a circuit. The name is used in messages, its ending as a hint
// where the content is ambiguous, and its base as the network's name where the
// format has no name of its own (AIGER, BENCH) and name is not "", "-" or of
// the form <...>.
//
// A malformed file gives a [*SyntaxError]; one that is well-formed but says
// what a combinational [Network] cannot hold (latches, properties, instances)
// gives one that wraps [ErrUnsupported]. Memory is proportional to the input
// that was read, whatever a header promises. An error of r is returned wrapped,
// so a caller can stop a long read by making r fail.
func Read(r io.Reader, name string, o ReadOptions) (*Network, error) {
	s := newScanner(r, name)
	if name == "" {
		s.file = "<input>"
	}
	size := int64(-1)
	switch r := r.(type) {
	case *os.File:
		// Some files of the kernel are regular and say 0 for their size.
		if st, err := r.Stat(); err == nil && st.Mode().IsRegular() && st.Size() > 0 {
			size = st.Size()
		}
	case *bytes.Reader:
		size = int64(r.Len())
	case *bytes.Buffer:
		size = int64(r.Len())
	case *strings.Reader:
		size = int64(r.Len())
	}
	f := o.Format
	if f == Auto {
		var err error
		if f, err = s.detect(name); err != nil {
			return nil, err
		}
	}
	var n *Network
	var err error
	switch f {
	case AIGER, AIGERASCII:
		n, err = readAIGER(s, size)
	case BLIF:
		n, err = readBLIF(s)
	case Verilog:
		n, err = readVerilog(s, o.Words)
	case Bench:
		n, err = readBench(s)
	default:
		err = fmt.Errorf("netlist: read %s: unknown format %v", s.file, f)
	}
	if err == nil {
		err = s.failed()
	}
	if err != nil {
		return nil, err
	}
	if n.Name == "" && name != "" && name != "-" && name[0] != '<' {
		base := filepath.Base(name)
		n.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	return n, nil
}

// ReadFile reads the circuit in a file, of gates only. See [Read].
func ReadFile(path string) (*Network, error) { return ReadFileWith(path, ReadOptions{}) }

// ReadFileWith is ReadFile with options.
func ReadFileWith(path string, o ReadOptions) (*Network, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("netlist: %w", err)
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, fmt.Errorf("netlist: %s: is a directory, expected a circuit file", path)
	}
	return Read(f, path, o)
}

// Write writes a network in a format. The ports keep their order, and their
// names as far as the format can say them:
//
//   - AIGER holds any names, also missing ones and duplicates. A name with a
//     line break is an error. Names of gates are lost.
//   - BLIF, Verilog and BENCH need a name for every signal, and each name once.
//     Unnamed inputs, outputs and gates become i0, o0, n12 (the index of the
//     input or output, the id of the node), with underscores after the letter
//     where these are taken. Of several signals with one name the first keeps
//     it, inputs before outputs before gates; further ports get _2, _3 and so
//     on, further gates lose it. Only in BLIF and BENCH may an output have the
//     name of the input that drives it. White space and control characters, and
//     what else the format gives a meaning to, become an underscore; Verilog
//     names that are not plain identifiers are escaped.
//
// Gates stay one to one, except in AIGER, which knows AND gates only, and
// look-up tables in Verilog, which become sums of products.
func Write(w io.Writer, n *Network, f Format) error {
	b := bufio.NewWriterSize(w, 1<<16)
	var err error
	switch f {
	case AIGER, AIGERASCII:
		err = writeAIGER(b, n, f == AIGER)
	case BLIF:
		err = writeBLIF(b, n)
	case Verilog:
		err = writeVerilog(b, n)
	case Bench:
		err = writeBench(b, n)
	default:
		return fmt.Errorf("netlist: write: unknown format %v", f)
	}
	if err == nil {
		err = b.Flush()
	}
	if err != nil {
		return fmt.Errorf("netlist: write %v: %w", f, err)
	}
	return nil
}

// detect tells the format by the beginning of the file, without consuming it.
func (s *scanner) detect(name string) (Format, error) {
	for {
		text := s.buf[s.p:s.n]
		f, ok := sniff(text, s.err != nil)
		if !ok && s.more() {
			continue
		}
		if err := s.failed(); err != nil {
			return Auto, err
		}
		if f != Auto {
			return f, nil
		}
		const expected = "expected a circuit in AIGER, BLIF, Verilog or BENCH"
		switch {
		case len(text) == 0:
			return Auto, s.errHere("empty file, %s", expected)
		case bytes.HasPrefix(text, []byte{0x1f, 0x8b}):
			return Auto, s.errHere("gzip data, %s (decompress it first)", expected)
		case bytes.ContainsFunc(text, func(c rune) bool { return c < ' ' && !strings.ContainsRune("\t\n\v\f\r", c) }):
			return Auto, s.errHere("binary data, %s", expected)
		case len(bytes.TrimSpace(text)) == 0 && len(text) < len(s.buf):
			return Auto, s.errHere("file of white space only, %s", expected)
		}
		if f := formatOfEnding(name); f != Auto {
			return f, nil
		}
		return Auto, s.errHere("unknown format, %s", expected)
	}
}

// sniff tells the format by the first bytes of a file. ok is false if more of
// the file might tell more.
func sniff(text []byte, all bool) (f Format, ok bool) {
	if len(text) < 4 && !all {
		return Auto, false
	}
	if bytes.HasPrefix(text, []byte("aig ")) || bytes.HasPrefix(text, []byte("aag ")) {
		return AIGER, true
	}
	rest := text
	after := func(mark string) bool { // skips to behind the mark
		i := bytes.Index(rest, []byte(mark))
		if i < 0 {
			return false
		}
		rest = rest[i+len(mark):]
		return true
	}
	for {
		rest = bytes.TrimLeft(rest, " \t\r\n\v\f")
		if len(rest) < 2 {
			return Auto, all
		}
		switch {
		case rest[0] == '#':
			if !after("\n") {
				return Auto, all
			}
			continue
		case rest[0] == '/' && (rest[1] == '/' || rest[1] == '*'), rest[0] == '(' && rest[1] == '*', rest[0] == '`':
			return Verilog, true
		case rest[0] == '.' || rest[0] == '\\' && (rest[1] == '\n' || rest[1] == '\r'):
			return BLIF, true
		}
		word := rest
		if i := bytes.IndexAny(rest, " \t\r\n\v\f(=#),;"); i >= 0 {
			word = rest[:i]
		} else if !all {
			return Auto, false
		}
		rest = bytes.TrimLeft(rest[len(word):], " \t\r\n\v\f")
		if len(rest) == 0 && !all {
			return Auto, false
		}
		if string(word) == "module" && (len(rest) == 0 || rest[0] != '=') {
			return Verilog, true
		}
		if len(rest) == 0 {
			return Auto, true
		}
		if len(word) > 0 && rest[0] == '=' || rest[0] == '(' && (bytes.EqualFold(word, []byte("INPUT")) || bytes.EqualFold(word, []byte("OUTPUT"))) {
			return Bench, true
		}
		return Auto, true
	}
}
