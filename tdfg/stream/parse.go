package stream

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/internal/position"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// SyntaxError says where the text of a graph is wrong, and what was expected.
type SyntaxError = position.Error

// maxNesting bounds how deep loops and expressions of a text may nest.
const maxNesting = 500

// Parse reads a graph in text form and checks it; file is the name that errors
// give. An error is a *SyntaxError.
func Parse(text, file string) (*Graph, error) {
	p := &parser{text: text, file: file, at: map[Stmt]int{}}
	g, err := p.graph()
	if err != nil {
		return nil, err
	}
	if err := g.Check(); err != nil {
		var e *Error
		if errors.As(err, &e) {
			name := "graph"
			switch st := e.Stmt.(type) {
			case *Loop:
				name = "loop " + st.Var
			case *Stream:
				name = "stream " + st.Name
			}
			return nil, p.errorAt(p.at[e.Stmt], "%s: %s", name, e.Msg)
		}
		return nil, err
	}
	return g, nil
}

// parser reads a text by recursive descent.
type parser struct {
	text  string
	file  string
	pos   int
	depth int
	at    map[Stmt]int // where statements are
}

func (p *parser) errorAt(pos int, format string, args ...any) error {
	before := p.text[:pos]
	return &SyntaxError{
		File: p.file, Line: 1 + strings.Count(before, "\n"), Col: pos - strings.LastIndexByte(before, '\n'),
		Msg: fmt.Sprintf(format, args...),
	}
}

// expected says what should be here, and what is.
func (p *parser) expected(what string) error {
	p.blanks()
	rest := p.text[p.pos:]
	switch {
	case rest == "":
		return p.errorAt(p.pos, "end of text, expected %s", what)
	case rest[0] == '\n' || rest[0] == '#':
		return p.errorAt(p.pos, "end of line, expected %s", what)
	}
	end := 1
	for end < len(rest) && isName("_"+rest[:end+1]) {
		end++
	}
	return p.errorAt(p.pos, "%q, expected %s", rest[:end], what)
}

// blanks skips blanks inside a line.
func (p *parser) blanks() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// lines skips blanks, comments and ends of lines.
func (p *parser) lines() {
	for p.blanks(); p.pos < len(p.text); p.blanks() {
		switch p.text[p.pos] {
		case '\n':
			p.pos++
		case '#':
			p.comment()
		default:
			return
		}
	}
}

func (p *parser) comment() {
	if end := strings.IndexByte(p.text[p.pos:], '\n'); end >= 0 {
		p.pos += end
	} else {
		p.pos = len(p.text)
	}
}

// endLine expects the end of a line.
func (p *parser) endLine() error {
	p.blanks()
	if p.pos < len(p.text) && p.text[p.pos] == '#' {
		p.comment()
	}
	if p.pos < len(p.text) && p.text[p.pos] != '\n' {
		return p.expected("the end of the line")
	}
	return nil
}

// peek returns the name that follows, "" for none.
func (p *parser) peek() string {
	p.blanks()
	end := p.pos
	for end < len(p.text) && isName("_"+p.text[end:end+1]) {
		end++
	}
	if name := p.text[p.pos:end]; isName(name) {
		return name
	}
	return ""
}

// take skips what follows if it is that text.
func (p *parser) take(text string) bool {
	p.blanks()
	if isName(text) && p.peek() != text || !strings.HasPrefix(p.text[p.pos:], text) {
		return false
	}
	p.pos += len(text)
	return true
}

func (p *parser) want(text string) error {
	if !p.take(text) {
		return p.expected(strconv.Quote(text))
	}
	return nil
}

func (p *parser) name(what string) (string, error) {
	name := p.peek()
	if name == "" || slices.Contains(keywords, name) {
		return "", p.expected(what)
	}
	p.pos += len(name)
	return name, nil
}

func (p *parser) typ() (scalar.Type, error) {
	t, err := scalar.ParseType(p.peek())
	if err != nil {
		return t, p.expected("a type such as int32 or fp32")
	}
	p.pos += len(t.String())
	return t, nil
}

// maxNumber bounds the numbers in affine expressions, so that the sums of some of
// them do not overflow.
const maxNumber = 1 << 60

// affine reads an expression up to one of the bytes of end, which is skipped.
func (p *parser) affine(end string) (lattice.Expr, error) {
	p.blanks()
	n := strings.IndexAny(p.text[p.pos:], end+"\n#")
	if n < 0 {
		n = len(p.text) - p.pos
	}
	x, err := lattice.ParseExpr(p.text[p.pos : p.pos+n])
	if err != nil {
		return x, p.errorAt(p.pos, "%s", strings.TrimPrefix(err.Error(), "lattice: "))
	}
	numbers := []int64{x.Offset()}
	for _, name := range x.Symbols() {
		numbers = append(numbers, x.Coef(name))
		if slices.Contains(keywords, name) {
			return x, p.errorAt(p.pos, "%s is a keyword, expected a name", name)
		}
	}
	if slices.Max(numbers) > maxNumber || slices.Min(numbers) < -maxNumber {
		return x, p.errorAt(p.pos, "%s: a number is out of range, expected at most %d", x, int64(maxNumber))
	}
	p.pos += n
	if p.pos == len(p.text) || strings.IndexByte(end, p.text[p.pos]) < 0 {
		return x, p.expected(strconv.Quote(end))
	}
	p.pos++
	return x, nil
}

// interval reads "in [LO,HI)", where HI may be inf.
func (p *parser) interval() (i lattice.Interval, open bool, err error) {
	if err = p.want("in"); err != nil {
		return i, false, err
	}
	if err = p.want("["); err != nil {
		return i, false, err
	}
	if i.Lo, err = p.affine(","); err != nil {
		return i, false, err
	}
	if p.take("inf") {
		return i, true, p.want(")")
	}
	i.Hi, err = p.affine(")")
	return i, false, err
}

// subscripts reads "[X][Y]" to X and Y, innermost first.
func (p *parser) subscripts() ([]lattice.Expr, error) {
	var list []lattice.Expr
	for p.take("[") {
		x, err := p.affine("]")
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	if list == nil {
		return nil, p.expected(`"["`)
	}
	slices.Reverse(list)
	return list, nil
}

func (p *parser) graph() (*Graph, error) {
	p.lines()
	g := &Graph{}
	err := p.want("graph")
	if err == nil {
		g.Name, err = p.name("the name of the graph")
	}
	if err == nil {
		err = p.endLine()
	}
	for p.lines(); err == nil && p.pos < len(p.text); p.lines() {
		start := p.pos
		switch {
		case p.take("symbol"):
			err = p.symbol(g)
		case p.take("array"):
			var a Array
			if a.Name, err = p.name("the name of an array"); err == nil {
				a.Type, err = p.typ()
			}
			if err == nil {
				a.Size, err = p.subscripts()
			}
			if err == nil && p.take("of") {
				a.Field, err = p.field()
			}
			for _, sc := range []Scope{Shared, Private, Lock} {
				if err == nil && p.take(scopeNames[sc]) {
					a.Scope = sc
				}
			}
			g.Arrays = append(g.Arrays, a)
		case p.take("param"):
			var q Param
			if q.Name, err = p.name("the name of a parameter"); err == nil {
				q.Type, err = p.typ()
			}
			g.Params = append(g.Params, q)
		default:
			var st Stmt
			st, err = p.stmt("symbol, array, param, for, load, store, rmw or reduce")
			g.Body = append(g.Body, st)
			p.at[st] = start
		}
		if err == nil {
			err = p.endLine()
		}
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

func (p *parser) field() (f *Field, err error) {
	f = &Field{}
	if f.Of, err = p.name("the name of an array of structures"); err != nil {
		return nil, err
	}
	if err = p.want("at"); err != nil {
		return nil, err
	}
	if f.Offset, err = p.integer(0); err != nil {
		return nil, err
	}
	if err = p.want("every"); err != nil {
		return nil, err
	}
	f.Stride, err = p.integer(1)
	return f, err
}

// integer reads a number of at least a least one.
func (p *parser) integer(least int64) (int64, error) {
	p.blanks()
	n := strings.IndexAny(p.text[p.pos:]+"\n", " \t\r\n{#")
	v, err := strconv.ParseInt(p.text[p.pos:p.pos+n], 10, 32)
	if err != nil || v < least {
		return 0, p.expected(fmt.Sprintf("an integer of at least %d", least))
	}
	p.pos += n
	return v, nil
}

func (p *parser) symbol(g *Graph) error {
	p.blanks()
	start := p.pos
	name, err := p.name("the name of a symbol")
	if err != nil {
		return err
	}
	i, open, err := p.interval()
	if err != nil {
		return err
	}
	if g.Symbols == nil {
		g.Symbols = lattice.NewSpace()
	}
	if err := g.Symbols.Declare(name, i.Lo, i.Hi.Plus(-1), !open); err != nil {
		return p.errorAt(start, "%s", strings.TrimPrefix(err.Error(), "lattice: "))
	}
	return nil
}

func (p *parser) stmt(what string) (Stmt, error) {
	if p.take("for") {
		return p.loop()
	}
	for k, name := range kindNames {
		if p.take(name) {
			return p.stream(Kind(k))
		}
	}
	return nil, p.expected(what)
}

func (p *parser) loop() (*Loop, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, p.errorAt(p.pos, "loops nest more than %d deep", maxNesting)
	}
	defer func() { p.depth-- }()
	l := &Loop{}
	var err error
	if l.Var, err = p.name("the variable of the loop"); err != nil {
		return nil, err
	}
	if l.Range, l.Open, err = p.interval(); err != nil {
		return nil, err
	}
	if p.take("step") {
		p.blanks()
		n := strings.IndexAny(p.text[p.pos:]+"\n", " \t\r\n{#")
		if l.Step, err = strconv.ParseInt(p.text[p.pos:p.pos+n], 10, 64); err != nil || l.Step == 0 {
			return nil, p.expected("an integer that is not 0")
		}
		p.pos += n
	}
	if p.take("while") {
		if l.While, err = p.expr(); err != nil {
			return nil, err
		}
	}
	if p.take("parallel") {
		l.Parallel = &Parallel{Dynamic: p.take("dynamic")}
		if p.take("chunk") {
			if l.Parallel.Chunk, err = p.integer(1); err != nil {
				return nil, err
			}
		}
		l.Parallel.SyncFree = p.take("syncfree")
	}
	if err := p.want("{"); err != nil {
		return nil, err
	}
	if err := p.endLine(); err != nil {
		return nil, err
	}
	for p.lines(); !p.take("}"); p.lines() {
		start := p.pos
		st, err := p.stmt(`for, load, store, rmw, reduce or "}"`)
		if err == nil {
			err = p.endLine()
		}
		if err != nil {
			return nil, err
		}
		p.at[st] = start
		l.Body = append(l.Body, st)
	}
	return l, nil
}

func (p *parser) stream(k Kind) (*Stream, error) {
	s := &Stream{Kind: k}
	var err error
	if s.Name, err = p.name("the name of the stream"); err != nil {
		return nil, err
	}
	s.Old, s.Racy, s.Relaxed, s.Reassociate = p.take("old"), p.take("racy"), p.take("relaxed"), p.take("reassociate")
	if p.take("combine") {
		if s.Combine, err = scalar.ParseOp(p.peek()); err != nil {
			return nil, p.expected("an operation such as add")
		}
		p.take(s.Combine.String())
	}
	if p.take(":") {
		if s.Array, err = p.name("an array"); err != nil {
			return nil, err
		}
		if s.Index, err = p.subscripts(); err != nil {
			return nil, err
		}
	}
	if p.take("over") {
		if s.Over, err = p.name("the variable of a loop"); err != nil {
			return nil, err
		}
		if err = p.want("from"); err != nil {
			return nil, err
		}
		if s.Init, err = p.expr(); err != nil {
			return nil, err
		}
	}
	if p.take("=") {
		if s.Value, err = p.expr(); err != nil {
			return nil, err
		}
	}
	if p.take("if") {
		if s.If, err = p.expr(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (p *parser) expr() (*Expr, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, p.errorAt(p.pos, "expressions nest more than %d deep", maxNesting)
	}
	defer func() { p.depth-- }()
	if p.take("@") {
		return Elem(), nil
	}
	start := p.pos
	name, err := p.name("an expression")
	if err != nil {
		return nil, err
	}
	if !p.take("(") {
		return Ref(name), nil
	}
	x := &Expr{}
	if t, err := scalar.ParseType(name); err == nil {
		if c, ok, err := p.constant(t); ok || err != nil {
			return c, err
		}
		x.Kind, x.Type = ConvertExpr, t
	} else if op, err := scalar.ParseOp(name); err == nil {
		x.Kind, x.Op = ApplyExpr, op
	} else {
		return nil, p.errorAt(start, "%q, expected an operation such as add or a type such as int32", name)
	}
	for {
		arg, err := p.expr()
		if err != nil {
			return nil, err
		}
		x.Args = append(x.Args, arg)
		if p.take(")") {
			return x, nil
		}
		if !p.take(",") {
			return nil, p.expected(`"," or ")"`)
		}
	}
}

// constant reads a number and the parenthesis behind it. ok is false where there
// is no number.
func (p *parser) constant(t scalar.Type) (x *Expr, ok bool, err error) {
	p.blanks()
	n := strings.IndexAny(p.text[p.pos:]+"\n", "(),#\n")
	text := strings.TrimSpace(p.text[p.pos : p.pos+n])
	if text == "" || strings.IndexByte("+-.0123456789", text[0]) < 0 && !slices.Contains(literals, text) {
		return nil, false, nil
	}
	v, err := scalar.Parse(t, text)
	if err != nil {
		return nil, false, p.errorAt(p.pos, "%s", strings.TrimPrefix(err.Error(), "scalar: "))
	}
	p.pos += n
	return Const(t, v), true, p.want(")")
}
