package cfront

import (
	_ "embed"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"modernc.org/cc/v4"
)

// Header is bitsched.h, which kernels include and C compilers need.
//
//go:embed bitsched.h
var Header string

// MaxSource is the greatest size of a source in bytes. Parsers recurse; it bounds
// how deep.
const MaxSource = 64 << 10

// expansionLimit bounds the work of the preprocessor, which could grow without end.
const expansionLimit = 1 << 18

// predefined is all that a kernel can expect of its environment: the compiler of the
// host is never asked.
const predefined = `
#define __BITSCHED__ 1
#define __STDC__ 1
#define __STDC_VERSION__ 201710L
int __predefined_declarator;
`

// libraryName is what librarySource is called in positions.
const libraryName = "<library>"

// end follows every source.
const end = `
int bitsched_end(int, int);
int bitsched_end(int, int);
int bitsched_end(int, int);
int bitsched_end(int, int);
`

// maxNesting bounds the depth of brackets.
const maxNesting = 200

// unbalanced says what is wrong with the brackets of a text and at which byte, ""
// if they are in pairs and not too deep. Literals must be over at the end of their
// line. Comments are skipped where the text may have some.
func unbalanced(text string, comments bool) (at int, msg string) {
	closing := map[byte]byte{'(': ')', '[': ']', '{': '}'}
	var open []int
	quote, from := byte(0), 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			} else if c == '\n' {
				return from, fmt.Sprintf("%c that is not closed in its line", quote)
			}
		case comments && strings.HasPrefix(text[i:], "//"):
			n := strings.IndexByte(text[i:], '\n')
			if n < 0 {
				n = len(text) - i
			}
			i += n - 1
		case comments && strings.HasPrefix(text[i:], "/*"):
			n := strings.Index(text[i+2:], "*/")
			if n < 0 {
				return i, "/*, expected */ after it"
			}
			i += n + 3
		case c == '"' || c == '\'':
			quote, from = c, i
		case c == '(' || c == '[' || c == '{':
			open = append(open, i)
			if len(open) > maxNesting {
				return i, fmt.Sprintf("%c, expected at most %d brackets within each other", c, maxNesting)
			}
		case c == ')' || c == ']' || c == '}':
			if len(open) == 0 {
				return i, fmt.Sprintf("%c, expected an opening bracket before it", c)
			}
			if want := closing[text[open[len(open)-1]]]; c != want {
				return i, fmt.Sprintf("%c, expected %c", c, want)
			}
			open = open[:len(open)-1]
		}
	}
	switch {
	case quote != 0:
		return from, fmt.Sprintf("%c that is not closed in its line", quote)
	case len(open) > 0:
		last := open[len(open)-1]
		return last, fmt.Sprintf("%c, expected %c after it", text[last], closing[text[last]])
	}
	return 0, ""
}

// brackets reports brackets that are wrong after the preprocessor: at their place
// in the source if they are wrong there already.
func brackets(file, source, text string) error {
	_, msg := unbalanced(text, false)
	if msg == "" {
		return nil
	}
	if at, here := unbalanced(source, true); here != "" {
		before := source[:at]
		return errorAt(Pos{File: file, Line: 1 + strings.Count(before, "\n"), Col: at - strings.LastIndexByte(before, '\n')}, "%s", here)
	}
	return errorAt(Pos{File: file}, "after the preprocessor: %s", msg)
}

// unit is a parsed source.
type unit struct {
	file   string
	source string
	local  fs.FS // files that it includes, nil for none
	ast    *cc.AST
	region []pragma
	omp    []ompPragma
	err    *Error // the first wrong pragma

	// Of places: the calls that are being replaced by bodies, and the region at hand.
	via  string
	part int
}

// ompPragma is a pragma of OpenMP, or s_sync_free, and the statement that it is in
// front of.
type ompPragma struct {
	pos, next Pos
	words     []string // of the directive
	clauses   []clause
}

type clause struct{ name, args string }

type pragma struct {
	pos         Pos
	reassociate bool
}

// parse reads a source. The parser is made for correct programs and panics for some
// others.
func parse(file, source string, local fs.FS) (u *unit, err error) {
	if len(source) > MaxSource {
		return nil, errorAt(Pos{File: file}, "more than %d bytes, expected at most so many", MaxSource)
	}
	if i := strings.IndexByte(source, 0); i >= 0 {
		return nil, errorAt(Pos{File: file, Line: 1 + strings.Count(source[:i], "\n"), Col: 1}, "a zero byte, expected C")
	}
	if !utf8.ValidString(source) {
		return nil, errorAt(Pos{File: file}, "not UTF-8, expected C")
	}
	// The scanner does not come back from a backslash that nothing follows.
	source = strings.TrimRight(source, " \t\r\n\f\v")
	if strings.HasSuffix(source, "\\") {
		return nil, errorAt(Pos{File: file}, "a backslash at the end, expected C")
	}
	source += "\n"
	defer func() {
		x := recover()
		if e, ok := x.(*Error); ok {
			u, err = nil, e
		} else if x != nil {
			u, err = nil, errorAt(Pos{File: file}, "not C as the parser knows it: expected a function of C99")
		}
	}()
	u = &unit{file: file, source: source, local: local}
	abi, err := cc.NewABI("linux", "amd64")
	if err != nil {
		return nil, fmt.Errorf("cfront: %w", err)
	}
	cfg := &cc.Config{
		ABI: abi,
		FS: &includes{
			header: headerFiles(),
			local:  local,
		},
		FSOnly:          true,
		IncludePaths:    []string{"include", localDir},
		SysIncludePaths: []string{"include"},
		ExpansionLimit:  expansionLimit,
		PragmaHandler:   u.pragma,
	}
	sources := []cc.Source{{Name: "<predefined>", Value: predefined}, {Name: libraryName, Value: librarySource}, {Name: filepath.Base(file), Value: source}, {Name: "<end>", Value: end}}
	// The parser may wait for ever for what follows the end of its input. So it gets
	// only what comes through the preprocessor, with brackets in pairs, and with
	// declarations after it that nothing open goes on past.
	var text strings.Builder
	if err := cc.Preprocess(cfg, sources, &text); err != nil {
		return nil, u.clean(err)
	}
	if err := brackets(file, source, text.String()); err != nil {
		return nil, err
	}
	u.region, u.omp, u.err = nil, nil, nil
	u.ast, err = cc.Parse(cfg, sources)
	if err != nil {
		return nil, u.clean(err)
	}
	if u.err != nil {
		return nil, u.err
	}
	return u, nil
}

// localDir is where files that the source includes are in names.
const localDir = "local"

// includes has our header and the files beside the source.
type includes struct {
	header fs.FS
	local  fs.FS // nil for none
	bytes  int64 // of local files, so far
}

// Open opens a file, and bounds how much is included.
func (f *includes) Open(name string) (fs.File, error) {
	path, ok := strings.CutPrefix(name, localDir+"/")
	if !ok {
		return f.header.Open(name)
	}
	if f.local == nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	x, err := f.local.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := x.Stat()
	if err != nil {
		return nil, err
	}
	if f.bytes += info.Size(); !info.Mode().IsRegular() || f.bytes > 2*MaxSource { // all is read twice
		fail(Pos{File: path}, "more than %d bytes of included files, expected at most so many", MaxSource)
	}
	return x, nil
}

// pragma reads what follows #pragma.
func (u *unit) pragma(tokens []cc.Token) error {
	if len(tokens) > 0 && (tokens[0].SrcStr() == "omp" || tokens[0].SrcStr() == "s_sync_free") {
		u.openMP(tokens)
	}
	if len(tokens) == 0 || tokens[0].SrcStr() != "bitsched" {
		return nil
	}
	at := u.pos(tokens[0])
	if len(tokens) < 2 || tokens[1].SrcStr() != "region" {
		u.wrong(at, "#pragma bitsched, expected #pragma bitsched region")
		return nil
	}
	p := pragma{pos: at}
	for _, t := range tokens[2:] {
		if t.SrcStr() != "reassociate" {
			u.wrong(u.pos(t), "clause "+t.SrcStr()+" of a region, expected reassociate or nothing")
		}
		p.reassociate = true
	}
	u.region = append(u.region, p)
	return nil
}

// openMP reads a pragma of OpenMP.
func (u *unit) openMP(tokens []cc.Token) {
	p := ompPragma{pos: u.pos(tokens[0])}
	if tokens[0].SrcStr() == "s_sync_free" {
		p.words = []string{"s_sync_free"}
	}
	for i := 1; i < len(tokens); i++ {
		w := tokens[i].SrcStr()
		if i+1 < len(tokens) && tokens[i+1].SrcStr() == "(" {
			depth, args := 0, ""
			for i++; i < len(tokens); i++ {
				s := tokens[i].SrcStr()
				if s == "(" {
					depth++
				}
				if s == ")" {
					depth--
				}
				if depth == 0 {
					break
				}
				if !(s == "(" && depth == 1) {
					args += s
				}
			}
			if w == "critical" { // its name
				p.words = append(p.words, w)
			}
			p.clauses = append(p.clauses, clause{w, args})
			continue
		}
		switch w {
		case ",":
		case "parallel", "for", "simd", "atomic", "update", "capture", "read", "write", "compare", "critical", "barrier", "single", "master", "task", "sections":
			p.words = append(p.words, w)
		default:
			p.clauses = append(p.clauses, clause{w, ""})
		}
	}
	if len(p.words) == 0 {
		u.wrong(p.pos, "a pragma of OpenMP that is not supported: expected parallel for, for, simd, atomic or critical")
		return
	}
	// The statement begins behind lines that have none.
	source := u.source
	if p.pos.File != u.file && u.local != nil {
		name, err := filepath.Rel(filepath.Dir(u.file), p.pos.File)
		var data []byte
		if err == nil {
			data, err = fs.ReadFile(u.local, filepath.ToSlash(name))
		}
		if err != nil {
			u.wrong(p.pos, "a pragma of OpenMP in a file that cannot be read again: "+err.Error())
			return
		}
		source = string(data)
	}
	lines := strings.Split(source, "\n")
	for i := p.pos.Line; i < len(lines); i++ {
		text := strings.TrimLeft(lines[i], " \t")
		if text == "" || text[0] == '#' || strings.HasPrefix(text, "//") || strings.HasSuffix(lines[i-1], "\\") {
			continue
		}
		p.next = Pos{File: p.pos.File, Line: i + 1, Col: len(lines[i]) - len(text) + 1}
		break
	}
	u.omp = append(u.omp, p)
}

// wrong notes an error in a pragma, the first one.
func (u *unit) wrong(at Pos, msg string) {
	if u.err == nil {
		u.err = errorAt(at, "%s", msg)
	}
}

// own reports whether a node is of the source itself, and not of a file that it
// includes.
func (u *unit) own(n cc.Node) bool { return n.Position().Filename == filepath.Base(u.file) }

func (u *unit) pos(n cc.Node) Pos {
	p := n.Position()
	if !p.IsValid() {
		return Pos{File: u.file, via: u.via, part: u.part}
	}
	file := u.file
	if name, ok := strings.CutPrefix(p.Filename, localDir+"/"); ok {
		file = filepath.Join(filepath.Dir(u.file), name)
	}
	return Pos{file, p.Line, p.Column, u.via, u.part}
}

var (
	located = regexp.MustCompile(`^[^:\n]*:(\d+):(\d+):? *([^\n]*)`)
	origin  = regexp.MustCompile(` *\([a-z]+\.go:[^)]*\)$`)
)

// clean returns the first of the parser's errors as one of this package.
func (u *unit) clean(err error) error {
	first, _, _ := strings.Cut(err.Error(), "\n")
	m := located.FindStringSubmatch(first)
	if m == nil {
		return errorAt(Pos{File: u.file}, "%s", origin.ReplaceAllString(first, ""))
	}
	line, _ := strconv.Atoi(m[1])
	col, _ := strconv.Atoi(m[2])
	msg := origin.ReplaceAllString(m[3], "")
	if strings.HasPrefix(msg, "macro expansion limit") {
		msg = fmt.Sprintf("macros expand to more than %d tokens, expected at most so many", expansionLimit)
	}
	if strings.HasPrefix(msg, "include file not found") {
		msg += ", expected bitsched.h, " + strings.Join(slices.Sorted(maps.Keys(standard)), ", ") + " or a file beside " + u.file
	}
	return errorAt(Pos{File: u.file, Line: line, Col: col}, "%s", msg)
}
