package tdfg

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/internal/position"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// SyntaxError says what is wrong in which line of a text.
type SyntaxError = position.Error

// ParseGraph reads what Graph.String writes. file is for messages. The graph that
// is returned was checked.
func ParseGraph(file, text string) (*Graph, error) {
	p := newParser(file, text)
	g, err := p.graph()
	if err != nil {
		return nil, p.wrap(err)
	}
	return g, nil
}

// ParseProgram reads what Program.String writes. The program that is returned was
// checked.
func ParseProgram(file, text string) (*Program, error) {
	p := newParser(file, text)
	prog, err := p.program()
	if err != nil {
		return nil, p.wrap(err)
	}
	if err := prog.Check(); err != nil {
		return nil, p.errorAt(len(p.lines), err)
	}
	return prog, nil
}

type parser struct {
	file  string
	lines []string
	at    int   // the line being read, from 1
	inner error // of a stream graph, which says its place itself
}

func newParser(file, text string) *parser {
	return &parser{file: file, lines: strings.Split(text, "\n")}
}

func (p *parser) wrap(err error) error {
	if p.inner != nil {
		return p.inner
	}
	return p.errorAt(min(max(p.at, 1), len(p.lines)), err)
}

func (p *parser) errorAt(line int, err error) *SyntaxError {
	return &SyntaxError{File: p.file, Line: line, Msg: err.Error(), Err: err}
}

// next returns the words of the next line that has any, nil at the end.
func (p *parser) next() []string {
	for p.at < len(p.lines) {
		p.at++
		text, _, _ := strings.Cut(p.lines[p.at-1], "#")
		if words := strings.Fields(text); len(words) > 0 {
			return words
		}
	}
	return nil
}

func (p *parser) graph() (*Graph, error) {
	w := p.next()
	if len(w) != 4 || w[0] != "graph" || w[2] != "dims" {
		return nil, fmt.Errorf("expected graph NAME dims N")
	}
	dims, err := number(w[3])
	if err != nil {
		return nil, err
	}
	s := Scope{Dims: dims, Space: lattice.NewSpace()}
	return p.body(w[1], s, func(b *Builder) error { return b.graph.Scope.Check() }, "")
}

func (p *parser) program() (*Program, error) {
	w := p.next()
	reassociate := len(w) == 3 && w[2] == "reassociate"
	if len(w) != 2 && !reassociate || w[0] != "program" {
		return nil, fmt.Errorf("expected program NAME")
	}
	prog := &Program{Name: w[1], Reassociate: reassociate}
	space := lattice.NewSpace()
	for w = p.next(); w != nil; w = p.next() {
		switch w[0] {
		case "symbol":
			if err := symbolLine(space, w); err != nil {
				return nil, err
			}
			prog.Sizes = space.Symbols()
		case "array":
			a, err := arrayLine(w)
			if err != nil {
				return nil, err
			}
			prog.Arrays = append(prog.Arrays, a)
		case "scalar":
			s, err := scalarLine(w)
			if err != nil {
				return nil, err
			}
			prog.Scalars = append(prog.Scalars, s)
		case "for", "region":
			st, err := p.stmt(w, space)
			if err != nil {
				return nil, err
			}
			prog.Body = append(prog.Body, st)
		default:
			return nil, fmt.Errorf("%q, expected symbol, array, scalar, for or region", w[0])
		}
	}
	return prog, nil
}

func (p *parser) stmt(w []string, space *lattice.Space) (Stmt, error) {
	switch {
	case w[0] == "region":
		if len(w) != 5 || w[2] != "dims" || w[4] != "{" {
			return nil, fmt.Errorf("expected region NAME dims N {")
		}
		dims, err := number(w[3])
		if err != nil {
			return nil, err
		}
		g, err := p.body(w[1], Scope{Dims: dims, Space: space}, func(b *Builder) error { return b.graph.Scope.Check() }, "}")
		if err != nil {
			return nil, err
		}
		return &Region{Graph: g}, nil
	case w[0] == "for":
		if len(w) != 7 || w[2] != "in" || w[4] != "step" || w[6] != "{" {
			return nil, fmt.Errorf("expected for NAME in [LO,HI) step N {")
		}
		r, err := lattice.ParseRect(w[3])
		if err != nil || len(r) != 1 {
			return nil, fmt.Errorf("%q, expected [LO,HI)", w[3])
		}
		step, err := number(w[5])
		if err != nil {
			return nil, err
		}
		l := &Loop{Var: w[1], Lo: r[0].Lo, Hi: r[0].Hi, Step: int64(step)}
		inner := space.Clone()
		if err := inner.Declare(l.Var, l.Lo, l.Hi.Plus(-1), true); err != nil {
			return nil, err
		}
		for w = p.next(); w != nil; w = p.next() {
			if w[0] == "}" {
				return l, nil
			}
			st, err := p.stmt(w, inner)
			if err != nil {
				return nil, err
			}
			l.Body = append(l.Body, st)
		}
		return nil, fmt.Errorf("end of text, expected } of loop %s", l.Var)
	}
	return nil, fmt.Errorf("%q, expected for, region or }", w[0])
}

// body reads declarations, nodes and outputs up to a line with the word end, or to
// the end of the text. check is called before the first node.
func (p *parser) body(name string, s Scope, check func(*Builder) error, end string) (*Graph, error) {
	b := NewBuilder(name, s)
	declared := false
	for w := p.next(); ; w = p.next() {
		if w == nil && end != "" {
			return nil, fmt.Errorf("end of text, expected %s of %s", end, name)
		}
		decl := w != nil && (w[0] == "symbol" || w[0] == "array" || w[0] == "param")
		if !decl && !declared {
			declared = true
			if err := check(b); err != nil {
				return nil, err
			}
		}
		if w == nil || len(w) == 1 && w[0] == end {
			return b.Finish()
		}
		var err error
		switch {
		case decl && declared:
			err = fmt.Errorf("%s after the first node, expected it before", w[0])
		case decl:
			err = b.graph.declare(w, end != "")
		case w[0] == "store" || w[0] == "result":
			err = p.output(b, w)
		case strings.HasPrefix(w[0], "%"):
			err = p.node(b, w)
		default:
			err = fmt.Errorf("%q, expected symbol, array, param, %%N =, store or result", w[0])
		}
		if err != nil {
			return nil, err
		}
	}
}

func (s *Scope) declare(w []string, region bool) error {
	switch {
	case w[0] == "symbol" && region:
		return fmt.Errorf("symbol in a region, expected it in the program")
	case w[0] == "symbol":
		return symbolLine(s.Space, w)
	case w[0] == "array":
		a, err := arrayLine(w)
		s.Arrays = append(s.Arrays, a)
		return err
	}
	if len(w) != 3 {
		return fmt.Errorf("expected param NAME TYPE")
	}
	t, err := scalar.ParseType(w[2])
	s.Params = append(s.Params, Param{w[1], t})
	return err
}

func symbolLine(s *lattice.Space, w []string) error {
	usage := fmt.Errorf("expected symbol NAME in [LO,HI) or [LO,inf)")
	if len(w) != 4 || w[2] != "in" {
		return usage
	}
	text, open := strings.CutSuffix(w[3], ",inf)")
	if open {
		text += ",0)"
	}
	r, err := lattice.ParseRect(text)
	if err != nil || len(r) != 1 {
		return usage
	}
	return s.Declare(w[1], r[0].Lo, r[0].Hi.Plus(-1), !open)
}

func arrayLine(w []string) (*Array, error) {
	usage := fmt.Errorf("expected array NAME TYPE[SIZE]... on the dimensions that it lies along, and of ARRAY [SUBSCRIPT]... for a view, or iota")
	if len(w) < 3 || len(w) > 3 && (len(w) < 5 || w[3] != "on") {
		return nil, usage
	}
	name, rest, _ := strings.Cut(w[2], "[")
	t, err := scalar.ParseType(name)
	if err != nil {
		return nil, err
	}
	a := &Array{Name: w[1], Type: t}
	if a.Size, err = brackets(rest, usage); err != nil {
		return nil, err
	}
	w = w[3:]
	if n := len(w); n > 0 && w[n-1] == "iota" {
		a.Iota, w = true, w[:n-1]
	}
	if i := slices.Index(w, "of"); i >= 0 {
		if len(w) != i+3 || w[i+2][0] != '[' {
			return nil, usage
		}
		a.View = &View{Of: w[i+1]}
		if a.View.Index, err = brackets(w[i+2][1:], usage); err != nil {
			return nil, err
		}
		w = w[:i]
	}
	for _, word := range w[min(1, len(w)):] {
		d, err := number(word)
		if err != nil {
			return nil, err
		}
		a.Axes = append(a.Axes, d)
	}
	slices.Reverse(a.Axes)
	return a, nil
}

// brackets reads expressions in brackets, without the first one, in the order of C.
func brackets(text string, usage error) (list []lattice.Expr, err error) {
	for _, part := range strings.Split(text, "[") {
		text, ok := strings.CutSuffix(part, "]")
		if !ok {
			return nil, usage
		}
		x, err := lattice.ParseExpr(text)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	slices.Reverse(list)
	return list, nil
}

func scalarLine(w []string) (s Scalar, err error) {
	if len(w) < 4 {
		return s, fmt.Errorf("expected scalar NAME TYPE input or scalar NAME TYPE = VALUE")
	}
	s.Name = w[1]
	if s.Type, err = scalar.ParseType(w[2]); err != nil {
		return s, err
	}
	switch {
	case len(w) == 4 && w[3] == "input":
		s.Input = true
	case len(w) == 5 && w[3] == "=":
		s.Init, err = scalar.Parse(s.Type, w[4])
	default:
		err = fmt.Errorf("expected scalar NAME TYPE input or scalar NAME TYPE = VALUE")
	}
	return s, err
}

func (p *parser) output(b *Builder, w []string) error {
	if len(w) != 3 {
		return fmt.Errorf("expected %s %%N NAME", w[0])
	}
	id, err := operand(w[1])
	if err != nil {
		return err
	}
	if w[0] == "result" {
		b.Result(id, w[2])
		return nil
	}
	i := b.graph.ArrayIndex(w[2])
	if i < 0 {
		return fmt.Errorf("no array %s", w[2])
	}
	b.Store(id, i)
	return nil
}

// fields takes a node's words apart.
type fields struct {
	words []string
	err   error
}

func (f *fields) word() string {
	if len(f.words) == 0 {
		f.fail("end of line, expected more")
		return ""
	}
	w := f.words[0]
	f.words = f.words[1:]
	return w
}

func (f *fields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

func (f *fields) expect(word string) {
	if w := f.word(); f.err == nil && w != word {
		f.fail("%q, expected %s", w, word)
	}
}

func (f *fields) keep(err error) {
	if f.err == nil {
		f.err = err
	}
}

func (f *fields) expr() lattice.Expr {
	w := f.word()
	if f.err != nil {
		return lattice.Expr{}
	}
	x, err := lattice.ParseExpr(w)
	f.keep(err)
	return x
}

func (f *fields) number() int {
	w := f.word()
	if f.err != nil {
		return 0
	}
	n, err := number(w)
	f.keep(err)
	return n
}

func (f *fields) op() scalar.Op {
	w := f.word()
	if f.err != nil {
		return scalar.NoOp
	}
	o, err := scalar.ParseOp(w)
	f.keep(err)
	return o
}

func (f *fields) typ() scalar.Type {
	w := f.word()
	if f.err != nil {
		return scalar.Invalid
	}
	t, err := scalar.ParseType(w)
	f.keep(err)
	return t
}

// args takes all words that are operands.
func (f *fields) args() []NodeID {
	var list []NodeID
	for len(f.words) > 0 && strings.HasPrefix(f.words[0], "%") {
		id, err := operand(f.word())
		f.keep(err)
		list = append(list, id)
	}
	return list
}

func (f *fields) dim() int {
	f.expect("dim")
	return f.number()
}

func (p *parser) node(b *Builder, w []string) error {
	f := &fields{words: w}
	if want := fmt.Sprintf("%%%d", len(b.graph.Nodes)); f.word() != want {
		return fmt.Errorf("%q, expected %s: nodes are numbered in order", w[0], want)
	}
	f.expect("=")
	kind := f.word()
	n := Node{Kind: Kind(max(0, slices.Index(kinds[:], kind)))}
	if n.Kind == 0 && f.err == nil {
		f.fail("%q, expected one of %s", kind, strings.Join(kinds[1:], ", "))
	}
	switch n.Kind {
	case Tensor:
		name := f.word()
		if n.Array = b.graph.ArrayIndex(name); n.Array < 0 {
			f.fail("no array %s", name)
		}
		r, err := lattice.ParseRect(f.word())
		f.keep(err)
		n.Rect = r
	case Const:
		parseConst(f, &n)
	case Compute:
		n.Op, n.Args = f.op(), f.args()
	case Convert:
		n.Type, n.Args = f.typ(), f.args()
	case Move:
		n.Args, n.Dim = f.args(), f.dim()
		f.expect("dist")
		n.Dist = f.expr()
	case Broadcast:
		n.Args, n.Dim = f.args(), f.dim()
		f.expect("dist")
		n.Dist = f.expr()
		f.expect("count")
		n.Count = f.expr()
	case Shrink:
		n.Args, n.Dim = f.args(), f.dim()
		f.expect("to")
		r, err := lattice.ParseRect(f.word())
		if f.keep(err); f.err == nil && len(r) != 1 {
			f.fail("expected [LO,HI)")
		} else if f.err == nil {
			n.Range = r[0]
		}
	case Reduce:
		n.Op, n.Args, n.Dim = f.op(), f.args(), f.dim()
		f.expect("group")
		n.Group = f.number()
	case Final:
		n.Op, n.Args, n.Dim = f.op(), f.args(), f.dim()
	case Stream:
		p.stream(f, &n)
	}
	if f.err == nil && len(f.words) > 0 {
		f.fail("%q, expected the end of the line", f.words[0])
	}
	if f.err != nil {
		return f.err
	}
	b.Add(n)
	return b.Err()
}

func parseConst(f *fields, n *Node) {
	if len(f.words) == 2 && f.words[0] == "param" {
		f.word()
		n.Param = f.word()
		return
	}
	n.Type = f.typ()
	w := f.word()
	switch {
	case f.err != nil:
	case w == "index":
		x := f.expr()
		n.Index = &x
	case w == "bits":
		v, err := strconv.ParseUint(f.word(), 0, 64)
		if err != nil || v > n.Type.Mask() {
			f.fail("expected bits of %s", n.Type)
		}
		n.Value = v
	default:
		v, err := scalar.Parse(n.Type, w)
		f.keep(err)
		n.Value = v
	}
}

// stream reads the rest of a strm line and the stream graph up to the line that
// closes it.
func (p *parser) stream(f *fields, n *Node) {
	n.Type = f.typ()
	n.Stream = &StreamNode{Result: f.word()}
	for len(f.words) > 0 && f.words[0] != "{" {
		name, arg, _ := strings.Cut(f.word(), "=")
		id, err := operand(arg)
		f.keep(err)
		n.Args = append(n.Args, id)
		n.Stream.Args = append(n.Stream.Args, name)
	}
	f.expect("{")
	if f.err != nil {
		return
	}
	first, depth := p.at, 1
	for p.at < len(p.lines) {
		p.at++
		text, _, _ := strings.Cut(p.lines[p.at-1], "#")
		text = strings.TrimSpace(text)
		if strings.HasSuffix(text, "{") {
			depth++
		}
		if strings.HasPrefix(text, "}") {
			depth--
		}
		if depth == 0 {
			g, err := stream.Parse(strings.Repeat("\n", first)+strings.Join(p.lines[first:p.at-1], "\n"), p.file)
			f.keep(err)
			p.inner = err
			n.Stream.Graph = g
			return
		}
	}
	f.fail("end of text, expected } of the stream graph")
}

func operand(w string) (NodeID, error) {
	text, ok := strings.CutPrefix(w, "%")
	i, err := strconv.ParseInt(text, 10, 32)
	if !ok || err != nil || i < 0 {
		return None, fmt.Errorf("%q, expected a node, as %%0", w)
	}
	return NodeID(i), nil
}

func number(w string) (int, error) {
	n, err := strconv.ParseInt(w, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q, expected a number", w)
	}
	return int(n), nil
}
