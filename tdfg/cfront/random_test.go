package cfront_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// The generator makes kernels of a small grammar as trees, which it can write as C
// and execute: plain loops, one statement after the other, with the types of C. It
// shares nothing with the package under test but the elements' types.

type gtype struct {
	c     string
	bits  int // 0 for float
	typ   scalar.Type
	small bool
}

var gtypes = []gtype{{"int8_t", 8, scalar.Int8, true}, {"int16_t", 16, scalar.Int16, true}, {"int32_t", 32, scalar.Int32, false}, {"int64_t", 64, scalar.Int64, false}, {"float", 0, scalar.FP32, false}}

// gval is a value of C: an integer of 32 or 64 bits, or a float.
type gval struct {
	isFloat bool
	long    bool
	i       int64
	f       float32
}

func (v gval) float() float32 {
	if v.isFloat {
		return v.f
	}
	return float32(v.i)
}

func (t gtype) wrap(v gval) gval {
	switch t.bits {
	case 0:
		return gval{isFloat: true, f: v.float()}
	case 8:
		return gval{i: int64(int8(v.i))}
	case 16:
		return gval{i: int64(int16(v.i))}
	case 32:
		return gval{i: int64(int32(v.i))}
	}
	return gval{i: v.i, long: true}
}

type garray struct {
	name string
	t    gtype
	dims []string // sizes: "N", "M" or "2*N"
	data []gval
	size []int
}

// gexpr is an expression: text, and what it is worth.
type gexpr struct {
	text    string
	isFloat bool
	eval    func(e *genv) gval
}

type genv struct{ vars map[string]gval }

type gstmt struct {
	text string
	exec func(e *genv)
}

// gloop is a loop that is open while its body is made.
type gloop struct {
	v    string
	size string // the size that its upper bound is made of
	low  int    // the least offset that keeps a subscript of v inside: v+low >= 0
	high int    // v+high < size
}

type gen struct {
	n      func(k int) int // a choice of k
	arrays []*garray
	sizes  map[string]int
	loops  []gloop
	locals []string // names of visible local variables: i... are int, f... float
	fresh  int
	used   map[string]bool // loops that the subscripts at hand have
	tidy   bool            // loops and subscripts as programs mostly have them
}

func (g *gen) pick(list ...string) string { return list[g.n(len(list))] }

// subscript returns a subscript for a dimension of a size.
func (g *gen) subscript(size string) gexpr {
	var usable []gloop
	for _, l := range g.loops {
		if l.size == size {
			usable = append(usable, l)
		}
		if "2*"+l.size == size {
			usable = append(usable, l)
		}
	}
	if g.tidy && len(usable) > 0 {
		// Each loop in one subscript, where there are enough.
		fresh := slices.DeleteFunc(slices.Clone(usable), func(l gloop) bool { return g.used[l.v] })
		if len(fresh) > 0 {
			usable = fresh
		}
	}
	if len(usable) == 0 || g.n(12) == 0 && !g.tidy {
		c := g.n(3)
		return gexpr{text: fmt.Sprint(c), eval: func(*genv) gval { return gval{i: int64(c)} }}
	}
	l := usable[g.n(len(usable))]
	if "2*"+l.size == size {
		c := g.n(2)
		if l.low > 0 { // v itself is inside for certain, whatever its offset
			c = 0
		}
		return gexpr{text: fmt.Sprintf("2 * %s + %d", l.v, c), eval: func(e *genv) gval { return gval{i: 2*e.vars[l.v].i + int64(c)} }}
	}
	if g.used != nil {
		g.used[l.v] = true
	}
	c := l.low + g.n(l.high-l.low+1)
	if g.n(2) == 0 && l.low <= 0 && l.high >= 0 {
		c = 0
	}
	text := l.v
	if c > 0 {
		text = fmt.Sprintf("%s + %d", l.v, c)
	} else if c < 0 {
		text = fmt.Sprintf("%s - %d", l.v, -c)
	}
	return gexpr{text: text, eval: func(e *genv) gval { return gval{i: e.vars[l.v].i + int64(c)} }}
}

type gelem struct {
	a    *garray
	text string
	at   func(e *genv) int
}

func (g *gen) element(a *garray) gelem {
	x := gelem{a: a, text: a.name}
	var index []gexpr
	if g.tidy {
		g.used = map[string]bool{}
	}
	for _, d := range a.dims {
		i := g.subscript(d)
		if d == "N" && g.n(15) == 0 && !g.tidy {
			// An indirect access: the elements of I are below N.
			ia := g.arrays[0]
			j := i
			i = gexpr{text: "I[" + j.text + "]", eval: func(e *genv) gval { return ia.data[j.eval(e).i] }}
		}
		index = append(index, i)
		x.text += "[" + i.text + "]"
	}
	x.at = func(e *genv) int {
		at := 0
		for d, i := range index {
			at = at*a.size[d] + int(i.eval(e).i)
		}
		return at
	}
	return x
}

func (g *gen) array(float bool) *garray {
	var list []*garray
	for _, a := range g.arrays[1:] {
		if (a.t.bits == 0) == float {
			list = append(list, a)
		}
	}
	return list[g.n(len(list))]
}

// expr makes an expression of floats, or one of integers.
func (g *gen) expr(float bool, depth int) gexpr {
	if depth <= 0 || g.n(4) == 0 {
		return g.leaf(float)
	}
	switch g.n(9) {
	case 0: // ?:
		c, x, y := g.cond(depth-1), g.expr(float, depth-1), g.expr(float, depth-1)
		return gexpr{fmt.Sprintf("(%s ? %s : %s)", c.text, x.text, y.text), float, func(e *genv) gval {
			p, q := x.eval(e), y.eval(e)
			long := p.long || q.long
			if c.eval(e).i == 0 {
				p = q
			}
			p.long = long
			return p
		}}
	case 1: // minimum and maximum
		x, y, op := g.expr(float, depth-2), g.expr(float, depth-2), g.pick("<", ">", "<=", ">=")
		return gexpr{fmt.Sprintf("(%s %s %s ? %s : %s)", x.text, op, y.text, x.text, y.text), float, func(e *genv) gval {
			p, q := x.eval(e), y.eval(e)
			long := p.long || q.long
			if !compare(op, p, q) {
				p = q
			}
			p.long = long
			return p
		}}
	case 2:
		if float {
			x := g.expr(false, depth-1)
			return gexpr{"(float)" + paren(x.text), true, func(e *genv) gval { return gval{isFloat: true, f: x.eval(e).float()} }}
		}
		t := gtypes[g.n(4)]
		x := g.expr(false, depth-1)
		return gexpr{"(" + t.c + ")" + paren(x.text), false, func(e *genv) gval { return t.wrap(x.eval(e)) }}
	case 3:
		x := g.expr(float, depth-1)
		return gexpr{"-" + paren(x.text), float, func(e *genv) gval { return arith("-", gval{isFloat: float}, x.eval(e), float) }}
	}
	op := g.pick("+", "-", "*")
	if !float && g.n(4) == 0 {
		op = g.pick("&", "|", "^")
	}
	x, y := g.expr(float, depth-1), g.expr(float && g.n(4) != 0, depth-1)
	if float && !x.isFloat && !y.isFloat {
		x = g.leaf(true)
	}
	return gexpr{fmt.Sprintf("(%s %s %s)", x.text, op, y.text), float, func(e *genv) gval { return arith(op, x.eval(e), y.eval(e), false) }}
}

func paren(s string) string {
	if strings.HasPrefix(s, "(") {
		return s
	}
	return "(" + s + ")"
}

func arith(op string, x, y gval, negate bool) gval {
	if negate {
		return gval{isFloat: true, f: -y.f}
	}
	if x.isFloat || y.isFloat {
		a, b := x.float(), y.float()
		switch op {
		case "+":
			a += b
		case "-":
			a -= b
		default:
			a *= b
		}
		return gval{isFloat: true, f: a}
	}
	r := gval{long: x.long || y.long}
	switch op {
	case "+":
		r.i = x.i + y.i
	case "-":
		r.i = x.i - y.i
	case "*":
		r.i = x.i * y.i
	case "&":
		r.i = x.i & y.i
	case "|":
		r.i = x.i | y.i
	default:
		r.i = x.i ^ y.i
	}
	if !r.long {
		r.i = int64(int32(r.i))
	}
	return r
}

func compare(op string, x, y gval) bool {
	if x.isFloat || y.isFloat {
		a, b := x.float(), y.float()
		return op == "<" && a < b || op == ">" && a > b || op == "<=" && a <= b || op == ">=" && a >= b || op == "==" && a == b || op == "!=" && a != b
	}
	a, b := x.i, y.i
	return op == "<" && a < b || op == ">" && a > b || op == "<=" && a <= b || op == ">=" && a >= b || op == "==" && a == b || op == "!=" && a != b
}

func truthOf(b bool) gval {
	if b {
		return gval{i: 1}
	}
	return gval{}
}

func (g *gen) cond(depth int) gexpr {
	if depth > 1 && g.n(4) == 0 {
		x, y, op := g.cond(depth-1), g.cond(depth-1), g.pick("&&", "||")
		return gexpr{fmt.Sprintf("(%s %s %s)", x.text, op, y.text), false, func(e *genv) gval {
			p := x.eval(e).i != 0
			if p == (op == "||") {
				return truthOf(p)
			}
			return truthOf(y.eval(e).i != 0)
		}}
	}
	float := g.n(2) == 0
	x, y, op := g.expr(float, depth-1), g.expr(float, depth-1), g.pick("<", ">", "<=", ">=", "==", "!=")
	return gexpr{fmt.Sprintf("(%s %s %s)", x.text, op, y.text), false, func(e *genv) gval { return truthOf(compare(op, x.eval(e), y.eval(e))) }}
}

func (g *gen) leaf(float bool) gexpr {
	var locals []string
	for _, v := range g.locals {
		if (v[0] == 'f') == float {
			locals = append(locals, v)
		}
	}
	switch k := g.n(8); {
	case k == 0 && float:
		c := float32(g.n(9)-4) / 2
		return gexpr{fmt.Sprintf("%.1ff", c), true, func(*genv) gval { return gval{isFloat: true, f: c} }}
	case k == 0:
		c := g.n(9) - 4
		return gexpr{paren(fmt.Sprint(c)), false, func(*genv) gval { return gval{i: int64(c)} }}
	case k == 1 && float:
		return gexpr{"s", true, func(e *genv) gval { return e.vars["s"] }}
	case k == 1 && len(g.loops) > 0 && g.n(3) == 0 && !g.tidy:
		v := g.loops[g.n(len(g.loops))].v
		return gexpr{v, false, func(e *genv) gval { return e.vars[v] }}
	case k <= 3 && len(locals) > 0:
		v := locals[g.n(len(locals))]
		return gexpr{v, float, func(e *genv) gval { return e.vars[v] }}
	}
	x := g.element(g.array(float))
	return gexpr{x.text, float, func(e *genv) gval { return x.a.data[x.at(e)] }}
}

func (g *gen) block(depth int) gstmt {
	mark := len(g.locals)
	var list []gstmt
	count := 1 + g.n(3)
	if g.tidy && depth > 0 && len(g.loops) > 0 {
		count = 1 + g.n(2)
	}
	for range count {
		list = append(list, g.stmt(depth))
	}
	g.locals = g.locals[:mark]
	var b strings.Builder
	b.WriteString("{\n")
	for _, s := range list {
		b.WriteString(s.text)
	}
	b.WriteString("}\n")
	return gstmt{b.String(), func(e *genv) {
		for _, s := range list {
			s.exec(e)
		}
	}}
}

func (g *gen) stmt(depth int) gstmt {
	switch k := g.n(10); {
	case g.tidy && depth > 0 && (len(g.loops) == 0 || k <= 6), k <= 3 && depth > 0 || len(g.loops) == 0 && depth > 0 && k <= 7:
		return g.loop(depth)
	case k == 4 && depth > 0:
		c := g.cond(2)
		then := g.block(depth - 1)
		if g.n(2) == 0 {
			return gstmt{"if " + paren(c.text) + " " + then.text, func(e *genv) {
				if c.eval(e).i != 0 {
					then.exec(e)
				}
			}}
		}
		other := g.block(depth - 1)
		return gstmt{"if " + paren(c.text) + " " + then.text + "else " + other.text, func(e *genv) {
			if c.eval(e).i != 0 {
				then.exec(e)
			} else {
				other.exec(e)
			}
		}}
	case k == 5:
		float := g.n(2) == 0
		x := g.expr(float, 2)
		g.fresh++
		t, name := gtypes[2], fmt.Sprintf("i%d", g.fresh)
		if float {
			t, name = gtypes[4], fmt.Sprintf("f%d", g.fresh)
		}
		g.locals = append(g.locals, name)
		return gstmt{fmt.Sprintf("%s %s = %s;\n", t.c, name, x.text), func(e *genv) { e.vars[name] = t.wrap(x.eval(e)) }}
	case k == 6 && len(g.locals) > 0:
		v := g.locals[g.n(len(g.locals))]
		float := v[0] == 'f'
		t := gtypes[2]
		if float {
			t = gtypes[4]
		}
		x := g.expr(float, 2)
		op := g.pick("+=", "=", "-=", "+=", "*=")
		return gstmt{fmt.Sprintf("%s %s %s;\n", v, op, x.text), func(e *genv) {
			y := x.eval(e)
			if op != "=" {
				y = arith(op[:1], e.vars[v], y, false)
			}
			e.vars[v] = t.wrap(y)
		}}
	}
	float := g.n(2) == 0
	a := g.array(float)
	target := g.element(a)
	x := g.expr(float, 3)
	op := g.pick("=", "=", "+=", "-=")
	return gstmt{fmt.Sprintf("%s %s %s;\n", target.text, op, x.text), func(e *genv) {
		y := x.eval(e)
		at := target.at(e)
		if op != "=" {
			y = arith(op[:1], a.data[at], y, false)
		}
		a.data[at] = a.t.wrap(y)
	}}
}

func (g *gen) loop(depth int) gstmt {
	size := g.pick("N", "M", "N")
	g.fresh++
	v := fmt.Sprintf("x%d", g.fresh)
	l := gloop{v: v, size: size}
	lo, hi, step := g.n(3), g.n(3), 1
	loText := fmt.Sprint(lo)
	loEval := func(*genv) int64 { return int64(lo) }
	hiText := size
	if hi > 0 {
		hiText = fmt.Sprintf("%s - %d", size, hi)
	}
	hiEval := func(*genv) int64 { return int64(g.sizes[size] - hi) }
	l.low, l.high = -lo, hi
	kind := g.n(8)
	if g.tidy && kind != 2 {
		kind = 3
	}
	switch kind {
	case 0: // literal bounds
		n := 1 + g.n(3)
		hiText = fmt.Sprint(n)
		lo, loText = 0, "0"
		loEval = func(*genv) int64 { return 0 }
		hiEval = func(*genv) int64 { return int64(n) }
		l.low, l.high = 0, 0
	case 1:
		step = 2
	case 2: // triangular
		for _, o := range g.loops {
			if o.size == size && o.low <= 0 {
				loText = o.v + " + 1"
				loEval = func(e *genv) int64 { return e.vars[o.v].i + 1 }
				l.low = o.low - 1
				if o.low > 0 {
					l.low = 0
				}
				l.low = max(l.low, -1)
				break
			}
		}
	}
	if g.n(5) == 0 && !g.tidy {
		g.loops = append(g.loops, l)
		body := g.block(depth - 1)
		g.loops = g.loops[:len(g.loops)-1]
		return gstmt{fmt.Sprintf("for (int %s = %s - 1; %s >= %s; %s -= %d) %s", v, hiText, v, loText, v, step, body.text), func(e *genv) {
			low := loEval(e)
			for i := hiEval(e) - 1; i >= low; i -= int64(step) {
				e.vars[v] = gval{i: i}
				body.exec(e)
			}
		}}
	}
	g.loops = append(g.loops, l)
	body := g.block(depth - 1)
	g.loops = g.loops[:len(g.loops)-1]
	return gstmt{fmt.Sprintf("for (int %s = %s; %s < %s; %s += %d) %s", v, loText, v, hiText, v, step, body.text), func(e *genv) {
		high := hiEval(e)
		for i := loEval(e); i < high; i += int64(step) {
			e.vars[v] = gval{i: i}
			body.exec(e)
		}
	}}
}

// program is a kernel that was made.
type program struct {
	source string
	sizes  map[string]int64
	arrays []*garray
	s      float32
	body   gstmt
}

func generate(n func(k int) int, seed uint64) *program {
	g := &gen{n: n, tidy: n(3) > 0, sizes: map[string]int{"N": 6 + n(3), "M": 5 + n(3)}}
	g.arrays = []*garray{
		{name: "I", t: gtypes[2], dims: []string{"N"}},
		{name: "A", t: gtypes[4], dims: []string{"N"}}, {name: "B", t: gtypes[4], dims: []string{"N"}},
		{name: "C", t: gtypes[4], dims: []string{"N", "M"}}, {name: "D", t: gtypes[4], dims: []string{"M", "N"}},
		{name: "E", t: gtypes[4], dims: []string{"2*N"}},
		{name: "P", t: gtypes[n(4)], dims: []string{"N"}}, {name: "Q", t: gtypes[n(4)], dims: []string{"M"}},
		{name: "R", t: gtypes[n(4)], dims: []string{"N", "M"}}, {name: "S", t: gtypes[n(4)], dims: []string{"N", "M"}},
	}
	p := &program{arrays: g.arrays, sizes: map[string]int64{}, s: float32(n(7)-3) / 2}
	r := rand.New(rand.NewPCG(seed, 7))
	for _, a := range g.arrays {
		total := 1
		for _, d := range a.dims {
			k := g.sizes[strings.TrimPrefix(d, "2*")]
			if strings.HasPrefix(d, "2*") {
				k *= 2
			}
			a.size = append(a.size, k)
			total *= k
		}
		for range total {
			v := gval{i: r.Int64() >> r.IntN(60)}
			if a.name == "I" {
				v.i = r.Int64N(int64(g.sizes["N"]))
			}
			if a.t.bits == 0 {
				v = gval{isFloat: true, f: float32(r.IntN(65)-32) / 8}
			}
			a.data = append(a.data, a.t.wrap(v))
		}
	}
	for name, k := range g.sizes {
		p.sizes[name] = int64(k)
	}
	p.body = g.block(3)
	var b strings.Builder
	b.WriteString("#include \"bitsched.h\"\n\nvoid k(int N, int M, float s")
	for _, a := range g.arrays {
		fmt.Fprintf(&b, ", %s %s[%s]", a.t.c, a.name, strings.Join(a.dims, "]["))
	}
	b.WriteString(")\n{\n")
	for _, a := range g.arrays {
		fmt.Fprintf(&b, "inf_array(%s, %s);\n", a.name, strings.Join(a.dims, ", "))
	}
	b.WriteString("#pragma bitsched region\n" + p.body.text + "}\n")
	p.source = b.String()
	return p
}

// memory returns the arguments for the interpreter.
func (p *program) memory() *memory.Memory {
	m := memory.New()
	for _, a := range p.arrays {
		var size []int64
		var elems []scalar.Value
		for _, s := range a.size {
			size = append(size, int64(s))
		}
		slices.Reverse(size)
		for _, v := range a.data {
			elems = append(elems, bits(a.t, v))
		}
		m.Add(a.name, a.t.typ, size, elems)
	}
	m.Scalars["s"] = scalar.Value(math.Float32bits(p.s))
	return m
}

func bits(t gtype, v gval) scalar.Value {
	if t.bits != 0 {
		return scalar.FromInt(t.typ, v.i)
	}
	if v.f != v.f {
		return 0x7fc00000
	}
	return scalar.Value(math.Float32bits(v.f))
}

// differs returns the first difference of the arguments from those in a memory. The
// sign of a NaN is nobody's business.
func (p *program) differs(m *memory.Memory) string {
	for _, a := range m.Arrays {
		for i, v := range a.Elems {
			if a.Type == scalar.FP32 && v&0x7fffffff > 0x7f800000 {
				a.Elems[i] = 0x7fc00000
			}
		}
	}
	return p.memory().Diff(m)
}

// run executes the statements.
func (p *program) run() {
	p.body.exec(&genv{vars: map[string]gval{"s": {isFloat: true, f: p.s}}})
}

// allowed are refusals that depend on sizes, which the generator does not look at.
func allowed(err error) bool {
	for _, s := range []string{"cannot tell whether", "is out of bounds"} {
		if strings.Contains(err.Error(), s) {
			return true
		}
	}
	return false
}

// TestRandom compares what random kernels compute as tensors and streams with what
// their statements do, one after the other; with sizes as symbols, and with numbers
// for them.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := generate(func(k int) int { return rapid.IntRange(0, k-1).Draw(t, "choice") }, 1)
		t.Log(p.source)
		checkRandom(t, p, map[tdfg.Kind]int{})
	})
}

// checkRandom reports whether the kernel compiles, and how many computations are on
// tensors of more than a point, and counts nodes.
func checkRandom(t require.TestingT, p *program, kinds map[tdfg.Kind]int) (done bool, tensors int) {
	before := p.memory()
	p.run()
	for _, defines := range []map[string]int64{nil, p.sizes} {
		q, err := cfront.Compile(context.Background(), "k.c", p.source, cfront.Options{Defines: defines})
		if err != nil {
			if !allowed(err) {
				require.NoError(t, err, p.source)
			}
			continue
		}
		sizes := map[string]int64{}
		for _, s := range q.Sizes {
			sizes[s.Name] = p.sizes[s.Name]
		}
		m := before.Clone()
		err = interp.Run(context.Background(), q, sizes, m, interp.Options{})
		if slices.ContainsFunc(q.Sizes, func(s lattice.Symbol) bool { // the program is for greater ones, and says so
			least, _ := s.Lo.Const()
			return sizes[s.Name] < least
		}) {
			require.ErrorContains(t, err, "expected at least", "%s%s", p.source, q)
			continue
		}
		require.NoError(t, err, "%s%s", p.source, q)
		require.Empty(t, p.differs(m), "%s%s", p.source, q)
		done = true
		for _, r := range q.Regions() {
			for _, n := range r.Graph.Nodes {
				kinds[n.Kind]++
				if n.Kind == tdfg.Compute && slices.ContainsFunc(n.Domain, func(i lattice.Interval) bool { return !i.Len().Equal(lattice.Const(1)) }) {
					tensors++
				}
			}
		}
	}
	return done, tensors
}

// TestRandomSeeds is TestRandom for seeds that are always the same, and looks that
// enough of the kernels become tensors.
func TestRandomSeeds(t *testing.T) {
	seeds := invariants.Draws(50, 100)
	compiled, parallel := 0, 0
	kinds := map[tdfg.Kind]int{}
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 3))
		done, tensors := checkRandom(t, generate(r.IntN, seed), kinds)
		if done {
			compiled++
		}
		if tensors > 0 {
			parallel++
		}
	}
	require.Greater(t, compiled, seeds*9/10)
	require.Greater(t, parallel, seeds/2)
	for k := tdfg.Tensor; k <= tdfg.Stream; k++ {
		require.NotZero(t, kinds[k], "%s", k)
	}
	t.Log(compiled, parallel, kinds)
}

// TestRandomWhole compares what random kernels compute as whole functions, statement by
// statement, with what their statements do.
func TestRandomWhole(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 31))
		p := generate(r.IntN, seed)
		m := p.memory()
		g, err := cfront.CompileWhole(context.Background(), "k.c", p.source, cfront.Options{})
		require.NoError(t, err, p.source)
		mem := stream.Memory{}
		for _, a := range g.Arrays {
			mem[a.Name] = m.Arrays[a.Name].Elems
		}
		args := stream.Args{Symbols: map[string]int64{}, Params: m.Scalars}
		for name, n := range p.sizes {
			args.Symbols[name] = int64(n)
		}
		_, err = g.Run(context.Background(), mem, args)
		require.NoError(t, err, "%s%s", p.source, g)
		p.run()
		require.Empty(t, p.differs(m), "%s%s", p.source, g)
	}
}
