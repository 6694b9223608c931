package micro

import (
	"fmt"
	"math"
	"slices"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/uop"
)

// code is the SIMD micro-ops of a stream, without memory accesses: those of the
// condition, those of the subscripts are in the addressing modes.
type code struct {
	cond       []uop.Op // of the condition
	access     uop.Op   // the load
	gather     uop.Op   // the same of lanes apart
	ops        []uop.Op // the computation
	store      uop.Op
	spread     uop.Op // the store of lanes apart
	start      uop.Op // of what is reduced: its value so far in one lane, and what changes nothing in the others
	swap       uop.Op // of the lanes of what is reduced
	dst        uop.Reg
	move, lane uop.Op // of ordered sums: a lane is brought down and added
}

// scalarCode is a stream as scalar micro-ops.
type scalarCode struct {
	cond, value, init *node
	address           []int32 // slots that the subscripts have
	lea               uop.Op  // the address, where several accesses have it
	access            uop.Op  // the load, the atomic operation
	store             uop.Op
	move              uop.Op // of a constant into the value's register
	operand           *node  // of an atomic operation
	retry             retry
}

// retry is an atomic update that processors do not have: the element is loaded, and
// swapped with what it becomes if nothing came between.
type retry struct{ load, compute, skip, swap, again uop.Op }

// template is a stream as micro-ops, for one iteration and for as many as a SIMD
// register has lanes.
type template struct {
	s       *stream.Stream
	array   int // -1 for none
	bytes   int
	typ     scalar.Type
	loop    int // innermost, -1 for none
	one     scalarCode
	many    code
	same    bool // as the condition of the stream before
	hoisted bool // in innermost loops: the same in all iterations
	rmw     uop.RMW
	swaps   bool // an atomic update by compare-and-swap
	any     bool // of these, one that is no operation with an operand
	elem    scalar.Type
	op      scalar.Op // of a reduction
	reduces bool
	ordered bool // SIMD code adds lane by lane
	pieces  *pieces

	// Among threads: what brings values together, and what the threads after the first
	// begin with.
	combine scalar.Op
	start   scalar.Value

	lazy    bool // a condition, which is looked at where it is needed
	carried bool // from iteration to iteration
}

// loopInfo is a loop as micro-ops.
type loopInfo struct {
	src     *stream.Loop
	body    []int // streams in the body itself
	inner   bool  // no loops inside
	lanes   int   // 1 for scalar code
	step    [3]uop.Op
	vstep   [3]uop.Op
	entry   [2]uop.Op // whether there are iterations at all
	check   bool      // it is not known before
	plain   bool      // SIMD code of whole groups of iterations at once
	ops     int64     // of such a group
	rest    int64     // of an iteration that is in no group, about
	guard   *node     // under which the loop is reached
	while   *node
	begins  []int    // reductions over the loop
	rows    []uop.Op // in front of an innermost loop: addresses of rows
	slot    int32    // of the variable
	why     string   // why it is scalar
	reduces []int    // streams that reduce over a parallel loop
	// rowsInside are the loops inside, where streams of this one can configure all of them.
	rowsInside []*row
	spread     bool // while streams are chosen that go through rows: what changes from row to row is an operand
}

// templates makes the micro-ops of all streams and loops.
func (p *Program) templates() error {
	ids := map[*stream.Loop]int{}
	var err error
	var types map[*stream.Stream]scalar.Type
	if types, err = p.graph.Types(); err != nil {
		return err
	}
	var walk func(body []stream.Stmt, id int) bool
	walk = func(body []stream.Stmt, id int) (plain bool) {
		plain = true
		for _, st := range body {
			switch st := st.(type) {
			case *stream.Stream:
				t := &template{s: st, array: -1, loop: id, typ: types[st]}
				if st.Array != "" {
					t.array = p.arrayIndex(st.Array)
					t.bytes = p.graph.Arrays[t.array].Type.Bytes()
				}
				if id >= 0 {
					p.loops[id].body = append(p.loops[id].body, len(p.streams))
				}
				p.streams = append(p.streams, t)
			case *stream.Loop:
				plain = false
				n := len(p.loops)
				ids[st] = n
				p.loops = append(p.loops, &loopInfo{src: st, lanes: 1})
				p.loops[n].inner = walk(st.Body, n)
			}
		}
		return plain
	}
	walk(p.graph.Body, -1)
	for _, l := range p.loops {
		for i, t := range p.streams {
			if t.s.Kind == stream.Reduce && t.s.Over == l.src.Var && p.within(t, l) {
				p.reduction(t)
				if l.src.Parallel != nil && (t.s.Combine != scalar.NoOp || t.s.If != nil || t.s.Value == nil || t.s.Value.Uses(t.s.Name)) {
					if err := p.combines(t, l); err != nil {
						return err
					}
					l.reduces = append(l.reduces, i)
				}
			}
		}
	}
	for _, l := range p.loops {
		if len(l.reduces) > maxReductions {
			return fmt.Errorf("micro: loop %s reduces %d variables, expected at most %d", l.src.Var, len(l.reduces), maxReductions)
		}
	}
	values, wide := map[string]uop.Reg{}, map[string]uop.Reg{}
	for _, t := range p.streams {
		if values[t.s.Name], err = p.reg(); err != nil {
			return err
		}
		if wide[t.s.Name], err = p.reg(); err != nil {
			return err
		}
	}
	for _, l := range p.loops {
		if values[l.src.Var] == 0 {
			if values[l.src.Var], err = p.reg(); err != nil {
				return err
			}
			wide[l.src.Var] = values[l.src.Var]
		}
		l.why = p.scalarWhy(l)
		if l.why == "" {
			most := 1
			for _, i := range l.body {
				most = max(most, p.streams[i].bytes, p.streams[i].typ.Bytes())
			}
			l.lanes = max(1, p.opt.Vector/most)
			if err := p.assemble(l, most); err != nil {
				return err
			}
			l.plain = l.lanes > 1 && p.program.Plain(l.src)
		}
		for _, list := range []*[3]uop.Op{&l.step, &l.vstep} {
			v := values[l.src.Var]
			flags, err := p.reg()
			if err != nil {
				return err
			}
			list[0] = uop.Op{PC: p.pc(), Kind: uop.IntALU, Lanes: 1, Dst: v, Src: [3]uop.Reg{v}}
			list[1] = uop.Op{PC: p.pc(), Kind: uop.IntALU, Lanes: 1, Dst: flags, Src: [3]uop.Reg{v}}
			list[2] = uop.Op{PC: p.pc(), Kind: uop.Branch, Lanes: 1, Src: [3]uop.Reg{flags}, Flags: uop.Backward}
			l.entry[0], l.entry[1] = list[1], list[2]
			l.entry[0].PC, l.entry[1].PC, l.entry[1].Flags = p.pc(), p.pc(), 0
		}
		_, fixed := l.src.Range.Hi.Sub(l.src.Range.Lo).Const()
		l.check = !fixed && !l.src.Open
	}
	if err := p.scalarTemplates(values); err != nil {
		return err
	}
	var before *template
	defer func() { p.making = nil }()
	for _, t := range p.streams {
		p.making = t.s
		t.same = before != nil && before.loop == t.loop && before.s.If != nil && t.s.If != nil && before.s.If.String() == t.s.If.String()
		t.hoisted = t.loop >= 0 && p.loops[t.loop].inner && !p.loops[t.loop].src.Open && t.s.Kind == stream.Load && !t.s.Racy && t.s.If == nil && p.invariant(t, p.loops[t.loop])
		if t.loop >= 0 && p.loops[t.loop].lanes > 1 {
			if err := p.code(t, &t.many, wide, p.loops[t.loop].lanes); err != nil {
				return err
			}
			if n := len(t.many.ops); t.ordered && n > 0 {
				last := t.many.ops[n-1]
				other := last.Src[0]
				if other == t.many.dst {
					other = last.Src[1]
				}
				spare, err := p.reg()
				if err != nil {
					return err
				}
				t.many.move = uop.Op{PC: p.pc(), Kind: uop.Shuffle, Lanes: last.Lanes, Dst: spare, Src: [3]uop.Reg{other}}
				last.Lanes, last.Src = 1, [3]uop.Reg{t.many.dst, spare}
				t.many.lane, t.many.ops = last, t.many.ops[:n-1]
			}
			t.many.start = uop.Op{PC: p.pc(), Kind: uop.IntALU, Lanes: uint8(p.loops[t.loop].lanes), Dst: wide[t.s.Name]}
			t.many.swap = uop.Op{PC: p.pc(), Kind: uop.Shuffle, Dst: wide[t.s.Name], Src: [3]uop.Reg{wide[t.s.Name]}}
		}
		before = t
	}
	p.making = nil
	for _, l := range p.loops {
		l.ops = p.groupOps(l)
	}
	return p.nearLoops(values)
}

// within reports whether a stream is inside of a loop.
func (p *Program) within(t *template, l *loopInfo) bool {
	return slices.Contains(p.graph.Loops(t.s), l.src)
}

// reduction finds op and identity of a reduce whose value is op(itself, x).
func (p *Program) reduction(t *template) {
	x := t.s.Value
	if op := extreme(t.s); op != scalar.NoOp {
		t.op, t.reduces = op, true
		return
	}
	if x == nil || x.Kind != stream.ApplyExpr || len(x.Args) != 2 {
		return
	}
	for i, a := range x.Args {
		if a.Kind == stream.RefExpr && a.Name == t.s.Name && !x.Args[1-i].Uses(t.s.Name) {
			op := x.Op
			if op == scalar.Sub && i == 0 {
				op = scalar.Add
			}
			if _, ok := op.Identity(t.typ); ok && (i == 0 || x.Op.Commutative()) {
				t.op, t.reduces = op, true
			}
		}
	}
}

// extreme returns the operation of a reduction that chooses the lesser or the greater of its
// value and another, as x > most ? x : most. Compilers take it for one where the source says so
// (omp simd reduction): else the order decides what becomes of NaN.
func extreme(s *stream.Stream) scalar.Op {
	x := s.Value
	if !s.Reassociate || x == nil || x.Kind != stream.ApplyExpr || x.Op != scalar.Select {
		return scalar.NoOp
	}
	cond, old, other := x.Args[0], x.Args[2], x.Args[1]
	self := func(y *stream.Expr) bool { return y.Kind == stream.RefExpr && y.Name == s.Name }
	if self(old) && !cond.Uses(s.Name) && other.Kind == stream.ApplyExpr && (other.Op == scalar.Min || other.Op == scalar.Max) {
		if a, b := other.Args[0], other.Args[1]; self(a) && !b.Uses(s.Name) || self(b) && !a.Uses(s.Name) {
			return other.Op // under a condition
		}
	}
	if cond.Kind != stream.ApplyExpr || len(cond.Args) != 2 {
		return scalar.NoOp
	}
	less := cond.Op == scalar.Lt || cond.Op == scalar.Le
	if !less && cond.Op != scalar.Gt && cond.Op != scalar.Ge {
		return scalar.NoOp
	}
	if self(other) {
		old, other, less = other, old, !less
	}
	if !self(old) || other.Uses(s.Name) {
		return scalar.NoOp
	}
	switch {
	case cond.Args[0].String() == old.String() && cond.Args[1].String() == other.String():
		less = !less
	case cond.Args[0].String() != other.String() || cond.Args[1].String() != old.String():
		return scalar.NoOp
	}
	if less {
		return scalar.Min
	}
	return scalar.Max
}

// combines finds out how threads bring the values of a reduction together.
func (p *Program) combines(t *template, l *loopInfo) error {
	t.combine = t.s.Combine
	if t.combine == scalar.NoOp && t.reduces {
		t.combine = t.op
	}
	start, ok := t.combine.Identity(t.typ)
	if !ok {
		return fmt.Errorf("micro: value %s goes from iteration to iteration of parallel loop %s, expected a reduction", t.s.Name, l.src.Var)
	}
	switch { // comparisons of C are false for the identity, which is a NaN
	case t.typ.Float() && t.combine == scalar.Min:
		start = scalar.FromFloat(t.typ, math.Inf(1))
	case t.typ.Float() && t.combine == scalar.Max:
		start = scalar.FromFloat(t.typ, math.Inf(-1))
	}
	t.start = start
	return nil
}

// scalarWhy says why a loop is not executed by SIMD, "" if it is.
func (p *Program) scalarWhy(l *loopInfo) string {
	switch {
	case p.opt.Vector == 0:
		return "no SIMD"
	case !l.inner:
		return "loops inside"
	case l.src.While != nil || l.src.Open:
		return "the number of iterations is not known before"
	case len(l.body) == 0:
		return "empty"
	}
	v := l.src.Var
	var sums []*template // values that go on from themselves
	for _, i := range l.body {
		if t := p.streams[i]; t.s.Kind == stream.Reduce && t.s.Value != nil && t.s.Value.Uses(t.s.Name) {
			sums = append(sums, t)
		}
	}
	for _, i := range l.body {
		t := p.streams[i]
		s := t.s
		switch {
		case s.Kind != stream.Load && rowsApart(s, v):
			return rowsApartWhy(s)
		case s.Racy || s.Kind == stream.RMW && s.Old:
			return "stream " + s.Name + " is atomic"
		case p.calls(t):
			return "fminf or fmaxf is called for " + s.Name // -O3 must keep what they do with NaN
		case slices.Contains(sums, t):
			switch {
			case !t.reduces:
				return "value " + s.Name + " goes from iteration to iteration"
			case !t.op.Associative(t.typ) && !p.opt.Reassociate && !s.Reassociate:
				if t.op != scalar.Add || s.If != nil || s.Array != "" || len(l.body) < 2 {
					return "sums of " + s.Name + " must keep their order"
				}
				t.ordered = true // lane by lane
			}
		}
		for _, u := range sums {
			if u != t && uses(s, u.s.Name) {
				return "value " + u.s.Name + " is used while it is reduced"
			}
		}
		for _, j := range l.body {
			u := p.streams[j]
			if s.Array == "" || u.s.Array != s.Array || s.Kind != stream.Store && s.Kind != stream.RMW {
				continue
			}
			if u == t {
				if !p.moves(s, v) {
					return "stream " + s.Name + " writes one element again and again"
				}
				continue
			}
			if !p.apart(s, u.s, v) {
				return "streams " + s.Name + " and " + u.s.Name + " may share elements"
			}
		}
	}
	return ""
}

// calls reports whether the value of a stream is a minimum or maximum of floating-point
// numbers as the C library has it.
func (p *Program) calls(t *template) bool {
	found := false
	t.s.Value.Walk(func(x *stream.Expr) {
		found = found || x.Kind == stream.ApplyExpr && (x.Op == scalar.Min || x.Op == scalar.Max) && p.typeOf(x, t).Float()
	})
	return found
}

// uses reports whether a stream has a value in its computation, condition or subscripts.
func uses(s *stream.Stream, name string) bool {
	if s.Value != nil && s.Value.Uses(name) || s.If != nil && s.If.Uses(name) {
		return true
	}
	for _, x := range s.Index {
		if x.Coef(name) != 0 {
			return true
		}
	}
	return false
}

// moves reports whether each iteration has an element of its own.
func (p *Program) moves(s *stream.Stream, v string) bool {
	for _, x := range s.Index {
		if x.Coef(v) != 0 && p.steady(x.Symbols(), s) {
			return true
		}
	}
	return false
}

// steady reports whether names are not values of streams in the same loop.
func (p *Program) steady(names []string, s *stream.Stream) bool {
	loops := p.graph.Loops(s)
	for _, name := range names {
		if t := p.graph.Stream(name); t != nil {
			if inner := p.graph.Loops(t); len(loops) > 0 && slices.Contains(inner, loops[len(loops)-1]) {
				return false
			}
		}
	}
	return true
}

// apart reports whether two streams of one loop share elements in the same iteration
// at most.
func (p *Program) apart(s, u *stream.Stream, v string) bool {
	same := true
	for d := range s.Index {
		diff := s.Index[d].Sub(u.Index[d])
		k, isConst := diff.Const()
		if s.Index[d].Coef(v) == 0 && u.Index[d].Coef(v) == 0 && p.steady(diff.Symbols(), s) && p.never(diff, s) {
			return true // another row
		}
		same = same && isConst && k == 0
	}
	return same && p.moves(s, v)
}

// never reports whether an expression of loop variables around a stream is not 0, by
// the bounds of their loops.
func (p *Program) never(x lattice.Expr, s *stream.Stream) bool {
	loops := p.graph.Loops(s)
	least := func(x lattice.Expr) int64 {
		for _, l := range slices.Backward(loops) {
			if c := x.Coef(l.Var); c > 0 {
				x = x.Subst(l.Var, l.Range.Lo)
			} else if c < 0 && !l.Open {
				x = x.Subst(l.Var, l.Range.Hi.Plus(-1))
			}
		}
		if k, ok := x.Const(); ok {
			return k
		}
		return 0
	}
	return least(x) > 0 || least(x.Scale(-1)) > 0
}

// invariant reports whether a load is the same in all iterations.
func (p *Program) invariant(t *template, l *loopInfo) bool {
	for _, x := range t.s.Index {
		if x.Coef(l.src.Var) != 0 || !p.steady(x.Symbols(), t.s) {
			return false
		}
	}
	for _, i := range l.body {
		if u := p.streams[i].s; u.Array == t.s.Array && u.Kind != stream.Load {
			return false
		}
	}
	return true
}

// code makes the SIMD micro-ops of a stream.
func (p *Program) code(t *template, c *code, values map[string]uop.Reg, lanes int) error {
	s := t.s
	self := values[s.Name]
	c.dst = self
	done := map[*stream.Expr]uop.Reg{}
	elem := self
	var err error
	emit := func(list *[]uop.Op) func(x *stream.Expr) uop.Reg {
		var expr func(x *stream.Expr) uop.Reg
		expr = func(x *stream.Expr) uop.Reg {
			if r, ok := done[x]; ok {
				return r
			}
			switch x.Kind {
			case stream.ElemExpr:
				return elem
			case stream.RefExpr:
				return values[x.Name]
			case stream.ConstExpr:
				return 0
			}
			op := uop.Op{Lanes: uint8(lanes), Kind: kindOf(x, p.typeOf(x, t))}
			if x.Kind == stream.ConvertExpr && free(x, p.typeOf(x.Args[0], t)) {
				return expr(x.Args[0])
			}
			for i, a := range x.Args {
				op.Src[i] = expr(a)
			}
			if op.Dst, err = p.regOr(err); err != nil {
				return 0
			}
			op.PC = p.pc()
			*list = append(*list, op)
			done[x] = op.Dst
			return op.Dst
		}
		return expr
	}
	if s.If != nil {
		emit(&c.cond)(s.If)
	}
	address := p.addressOf(s, values)
	if t.array >= 0 && s.Kind != stream.Store {
		if s.Value != nil {
			if elem, err = p.regOr(err); err != nil {
				return err
			}
		}
		size := uint16(t.bytes * lanes)
		c.access = uop.Op{PC: p.pc(), Kind: uop.Load, Lanes: uint8(lanes), Dst: elem, Src: [3]uop.Reg{address}, Size: size}
		c.gather = uop.Op{PC: p.pc(), Kind: uop.Gather, Lanes: uint8(lanes), Dst: elem, Src: [3]uop.Reg{address}, Size: size}
	}
	value := elem
	if s.Value != nil {
		value = emit(&c.ops)(s.Value)
		if err != nil {
			return err
		}
	}
	switch {
	case s.Kind == stream.Store || s.Kind == stream.RMW:
		size := uint16(t.bytes * lanes)
		c.store = uop.Op{PC: p.pc(), Kind: uop.Store, Lanes: uint8(lanes), Src: [3]uop.Reg{value, address}, Size: size}
		c.spread = uop.Op{PC: p.pc(), Kind: uop.Scatter, Lanes: uint8(lanes), Src: [3]uop.Reg{value, address}, Size: size}
		if n := len(c.ops); n > 0 && c.ops[n-1].Dst == value {
			c.ops[n-1].Dst, c.store.Src[0], c.spread.Src[0] = self, self, self
		}
	case value != self:
		// The last operation gives the stream its value; a move is renamed away.
		if n := len(c.ops); n > 0 && c.ops[n-1].Dst == value {
			c.ops[n-1].Dst = self
		} else if value != 0 {
			c.ops = append(c.ops, uop.Op{PC: p.pc(), Kind: uop.IntALU, Lanes: uint8(lanes), Dst: self, Src: [3]uop.Reg{value}})
		}
	}
	return err
}

func (p *Program) regOr(err error) (uop.Reg, error) {
	if err != nil {
		return 0, err
	}
	return p.reg()
}

// addressOf returns the register that an indirect address waits for.
func (p *Program) addressOf(s *stream.Stream, values map[string]uop.Reg) uop.Reg {
	var any uop.Reg
	for _, x := range s.Index {
		for _, name := range x.Symbols() {
			if p.graph.Stream(name) != nil {
				return values[name]
			}
			if r := values[name]; r != 0 {
				any = r
			}
		}
	}
	return any
}

// typeOf returns the type of an expression of a stream.
func (p *Program) typeOf(x *stream.Expr, t *template) scalar.Type {
	switch x.Kind {
	case stream.ElemExpr:
		return p.graph.Arrays[t.array].Type
	case stream.ConstExpr, stream.ConvertExpr:
		return x.Type
	case stream.RefExpr:
		for _, u := range p.streams {
			if u.s.Name == x.Name {
				return u.typ
			}
		}
		if q := p.graph.Param(x.Name); q != nil {
			return q.Type
		}
		return scalar.Int64
	}
	return p.typeOf(x.Args[len(x.Args)-1], t) // of the operands
}

// resultOf returns the type that the value of an expression of a stream has.
func (p *Program) resultOf(x *stream.Expr, t *template) scalar.Type {
	if x.Kind == stream.ApplyExpr {
		return x.Op.Result(p.resultOf(x.Args[len(x.Args)-1], t))
	}
	return p.typeOf(x, t)
}

// free reports whether a change of type takes no micro-op: integers of which only the
// width changes are extended when they are loaded, or by the names of their registers.
func free(x *stream.Expr, from scalar.Type) bool {
	return (x.Type.Int() || x.Type == scalar.Bool) && (from.Int() || from == scalar.Bool)
}

// kindOf returns the unit that an operation takes.
func kindOf(x *stream.Expr, t scalar.Type) uop.Kind {
	if x.Kind == stream.ConvertExpr {
		return uop.FPAdd
	}
	if !t.Float() {
		switch x.Op {
		case scalar.Mul, scalar.FMA:
			return uop.IntMul
		case scalar.Div, scalar.Rem:
			return uop.IntDiv
		}
		return uop.IntALU
	}
	switch x.Op {
	case scalar.Mul:
		return uop.FPMul
	case scalar.FMA:
		return uop.FPFMA
	case scalar.Div, scalar.Sqrt:
		return uop.FPDiv
	case scalar.Select, scalar.Neg, scalar.Abs:
		return uop.IntALU
	}
	return uop.FPAdd
}

// rmws are the atomic operations that x86 has.
var rmws = map[scalar.Op]uop.RMW{
	scalar.NoOp: uop.Exchange, scalar.Add: uop.Add, scalar.Sub: uop.Add, scalar.And: uop.And, scalar.Or: uop.Or, scalar.Xor: uop.Xor,
}

// scalarTemplates makes the scalar code of all streams and loops.
func (p *Program) scalarTemplates(values map[string]uop.Reg) error {
	names := slots{}
	for i, t := range p.streams {
		names[t.s.Name] = int32(i)
	}
	n := int32(len(p.streams))
	add := func(name string, v scalar.Value) {
		if _, ok := names[name]; !ok {
			names[name] = n
			p.values, p.home = append(p.values, v), append(p.home, values[name])
			n++
		}
	}
	for _, t := range p.streams {
		p.values, p.home = append(p.values, 0), append(p.home, values[t.s.Name])
	}
	for _, l := range p.loops {
		add(l.src.Var, 0)
		l.slot = names[l.src.Var]
	}
	for _, q := range p.graph.Params {
		add(q.Name, p.args.Params[q.Name]&q.Type.Mask())
	}
	if p.graph.Symbols != nil {
		for _, s := range p.graph.Symbols.Symbols() {
			add(s.Name, scalar.Value(p.args.Symbols[s.Name]))
		}
	}
	p.names = names
	p.depend = make([][]int32, n)
	b := &builder{p: p, tests: map[string]int32{}, names: names}
	for _, t := range p.streams {
		t.lazy = t.s.Kind == stream.Reduce && t.s.Array == "" && t.typ == scalar.Bool
		t.carried = t.s.Kind == stream.Reduce && t.s.Value != nil && t.s.Value.Uses(t.s.Name)
	}
	for _, t := range p.streams {
		p.making = t.s
		if err := p.scalarCode(t, b, values); err != nil {
			return err
		}
	}
	for _, t := range p.streams {
		p.making = t.s
		if err := p.shared(t); err != nil {
			return err
		}
	}
	p.making = nil
	for _, l := range p.loops {
		b.t, b.done = &template{array: -1}, map[*stream.Expr]*node{}
		var err error
		if l.src.While != nil {
			if l.while, err = b.expr(l.src.While); err != nil {
				return err
			}
		}
		p.rows(l)
		for i, t := range p.streams {
			if t.s.Kind == stream.Reduce && t.s.Over == l.src.Var && p.within(t, l) {
				l.begins = append(l.begins, i)
			}
		}
		// The end of a loop under a condition is select(condition, end, begin).
		if !l.src.Open {
			for _, name := range l.src.Range.Hi.Symbols() {
				if i := slices.IndexFunc(p.streams, func(t *template) bool { return t.s.Name == name }); i >= 0 {
					if v := p.streams[i].one.value; v != nil && v.kind == selectNode {
						l.guard = v.args[0]
					}
				}
			}
		}
	}
	return nil
}

// rows makes the address arithmetic in front of an innermost loop: a compiler keeps a
// pointer for each row that the loop goes along, and moves it on by an addition for each
// dimension. Accesses a constant apart have one pointer.
func (p *Program) rows(l *loopInfo) {
	if !l.inner || l.src.Open {
		return
	}
	seen := map[string]bool{}
	for _, i := range l.body {
		t := p.streams[i]
		if t.array < 0 || len(t.s.Index) < 2 {
			continue
		}
		key, moves := t.s.Array, false
		for d, x := range t.s.Index {
			if d == 0 {
				x = x.Plus(-x.Offset())
			}
			key += " " + x.String()
			moves = moves || d > 0 && len(x.Symbols()) > 0
		}
		if seen[key] || !moves {
			continue
		}
		seen[key] = true
		for range t.s.Index {
			r, err := p.reg()
			if err != nil {
				return
			}
			l.rows = append(l.rows, uop.Op{PC: p.pc(), Kind: uop.IntALU, Lanes: 1, Dst: r})
		}
	}
}

// shared gives an address a micro-op of its own that several accesses of a loop have
// and that follows from a value of a stream: the first of them computes it.
func (p *Program) shared(t *template) error {
	if len(t.one.address) == 0 || int(t.one.address[0]) >= len(p.streams) || t.loop < 0 {
		return nil
	}
	n := 0
	if t.swaps { // loaded, and swapped
		n++
	}
	for _, i := range p.loops[t.loop].body {
		u := p.streams[i]
		if u == t && n > 0 && !t.swaps {
			return nil // not the first
		}
		if u.s.Array == t.s.Array && slices.EqualFunc(u.s.Index, t.s.Index, lattice.Expr.Equal) {
			n++
		}
	}
	if n < 2 {
		return nil
	}
	r, err := p.reg()
	t.one.lea = uop.Op{PC: p.pc(), Kind: uop.IntALU, Lanes: 1, Dst: r}
	return err
}

// scalarCode makes the scalar code of a stream.
func (p *Program) scalarCode(t *template, b *builder, values map[string]uop.Reg) (err error) {
	s, c, self := t.s, &t.one, values[t.s.Name]
	b.t, b.done = t, map[*stream.Expr]*node{}
	if s.If != nil {
		if c.cond, err = b.expr(s.If); err != nil {
			return err
		}
	}
	if s.Init != nil {
		if c.init, err = b.expr(s.Init); err != nil {
			return err
		}
	}
	if s.Value != nil {
		if c.value, err = b.expr(s.Value); err != nil {
			return err
		}
	}
	for _, x := range s.Index {
		for _, name := range x.Symbols() {
			if i := b.names[name]; int(i) < len(p.streams) {
				c.address = append([]int32{i}, c.address...)
			} else if values[name] != 0 {
				c.address = append(c.address, i)
			}
		}
	}
	c.move = uop.Op{PC: p.pc(), Kind: uop.IntALU, Lanes: 1, Dst: self}
	if t.array < 0 {
		return nil
	}
	size := uint16(t.bytes)
	if s.Kind != stream.Store {
		elem := self
		if s.Value != nil {
			if elem, err = p.reg(); err != nil {
				return err
			}
		}
		c.access = uop.Op{PC: p.pc(), Kind: uop.Load, Lanes: 1, Dst: elem, Size: size}
		if s.Racy && s.Kind == stream.RMW {
			c.access.Kind, c.access.Dst = uop.Atomic, self
			return p.atomic(t, c)
		}
	}
	if s.Kind == stream.Store || s.Kind == stream.RMW {
		c.store = uop.Op{PC: p.pc(), Kind: uop.Store, Lanes: 1, Size: size}
	}
	return nil
}

// atomic makes the micro-ops of an atomic update.
func (p *Program) atomic(t *template, c *scalarCode) error {
	op, compare, ok := p.program.Atomic(slices.Index(p.streams, t))
	typ := p.graph.Arrays[t.array].Type
	t.op, t.elem = op, typ
	switch native, has := rmws[op]; {
	case !ok:
		t.rmw, t.swaps, t.any = uop.CompareSwap, true, true
	case compare:
		t.rmw = uop.CompareSwap
	case !has || typ.Float() && op != scalar.NoOp, (op == scalar.And || op == scalar.Or || op == scalar.Xor) && p.used(t.s.Name):
		t.rmw, t.swaps = uop.CompareSwap, true
	default:
		t.rmw = native
	}
	c.operand = c.value
	for _, a := range c.value.args {
		if a.kind != elemNode && !(compare && a.kind == testNode) {
			c.operand = a
		}
	}
	switch {
	case compare: // the second one, behind the comparison
		c.operand = c.value.args[1]
	case t.any:
		c.operand = nil
	}
	c.access.RMW = t.rmw
	if !t.swaps {
		return nil
	}
	now, err := p.reg()
	if err != nil {
		return err
	}
	next, err := p.reg()
	if err != nil {
		return err
	}
	r := &c.retry
	r.load = c.access
	r.load.Kind, r.load.RMW, r.load.Dst, r.load.PC = uop.Load, uop.NoRMW, now, p.pc()
	x := &stream.Expr{Kind: stream.ApplyExpr, Op: op}
	r.compute = uop.Op{PC: p.pc(), Kind: kindOf(x, typ), Lanes: 1, Dst: next, Src: [3]uop.Reg{now}}
	r.skip = uop.Op{PC: p.pc(), Kind: uop.Branch, Lanes: 1, Src: [3]uop.Reg{next}}
	r.swap = c.access
	r.swap.PC, r.swap.Dst = p.pc(), now
	r.again = uop.Op{PC: p.pc(), Kind: uop.Branch, Lanes: 1, Src: [3]uop.Reg{now}, Flags: uop.Backward}
	return nil
}

// used reports whether anything has the value of a stream.
func (p *Program) used(name string) bool {
	for _, l := range p.loops {
		if !l.src.Open && l.src.Range.Hi.Coef(name) != 0 || l.src.Range.Lo.Coef(name) != 0 || l.src.While != nil && l.src.While.Uses(name) {
			return true
		}
	}
	return slices.ContainsFunc(p.streams, func(t *template) bool { return uses(t.s, name) })
}
