package stream

import (
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// Program is a graph made ready to run: names are registers, and the statements
// between loops are instructions in a row. It is not changed by running, so that
// any number of runs may share it.
type Program struct {
	graph    *Graph
	symbols  []int // their registers
	params   []int
	preset   []scalar.Value // of all registers: constants, 0 for the others
	body     []segment
	accesses []access
	streams  []streamInfo
	loops    int
}

// segment is a run of instructions or a loop.
type segment struct {
	code  []instr
	spans []span // of the streams in the code, in order
	loop  *loop
}

// span is the part of a segment's code that one stream is.
type span struct {
	stream   int32 // in program order
	access   int32 // -1 without an array
	from, to int32
	simple   bool // a load without computation or condition
}

type loop struct {
	src     *Loop
	id      int
	reg     int // of the variable
	lo, hi  affine
	init    []instr // of the reductions over this loop
	while   []instr // evaluated before each iteration; in front of the body's code if there are no loops in it
	inBody  int     // how many instructions of the body's code are those of while
	body    []segment
	planned []int // accesses in the body itself, whose addresses may follow from the iteration
}

// affine is a linear form over registers.
type affine struct {
	offset int64
	terms  []term
}

type term struct {
	reg  int
	coef int64
	pad  uint8 // bits of the register above the integer, for its sign
}

// value returns the value of the form.
func (a *affine) value(regs []scalar.Value) int64 {
	x := a.offset
	for i := range a.terms {
		t := &a.terms[i]
		x += t.coef * (int64(regs[t.reg]<<t.pad) >> t.pad)
	}
	return x
}

// access is where a stream reads or writes.
type access struct {
	stream *Stream
	loops  []*Loop
	vars   []int    // the registers of their variables
	index  []affine // innermost dimension first
	array  int
	// hoisted says that in one execution of the loop only the variable changes.
	hoisted bool
	coef    []int64 // of the variable of the loop, for each dimension
}

// streamInfo is what the counters of a stream follow from.
type streamInfo struct {
	stream  *Stream
	reg     int // of its value
	bytes   int // of an element, 0 without an array
	loop    int // -1 outside all loops
	ops     int // operations of the computation
	condOps int // operations of the condition
	rmw     rmwInfo
}

// rmwInfo is an RMW as processors have it: @ op a, or a where @ is e.
type rmwInfo struct {
	op   scalar.Op // NoOp for an exchange
	a, e int       // registers, -1 for none
}

// opcode is what an instruction does.
type opcode uint8

const (
	opEval opcode = iota // any operation of package scalar
	opConvert
	opMove
	opSelect
	opLoad  // dst = element of access c
	opStore // element of access c = a
	opSkip  // jump to c unless a; counts if not
	opBreak // end the loop unless a
	// What follows are operations that are frequent enough to have code of their own.
	opAdd
	opSub
	opMul
	opEq
	opNe
	opLt
	opLe
	opMin
	opMax
	opExtend // of an integer to another integer type
	opFAdd
	opFSub
	opFMul
	opFLt
	opFLe
)

// instr is one instruction. Operands are registers.
type instr struct {
	op       opcode
	what     scalar.Op
	typ, to  scalar.Type // of the operands; of a conversion's result
	arity    uint8
	pad      uint8 // bits above typ, for its sign
	dst      int32
	a, b, c  int32
	mask     scalar.Value
	fallback int32 // register that is set to 0 where opSkip jumps, -1 for none
}

// Compile checks the graph and makes it ready to run.
func Compile(g *Graph) (*Program, error) {
	types, err := g.resolve()
	if err != nil {
		return nil, err
	}
	c := &compiler{p: &Program{graph: g}, types: types, regs: map[string]place{}, consts: map[scalar.Value]int{}}
	if g.Symbols != nil {
		for _, s := range g.Symbols.Symbols() {
			c.p.symbols = append(c.p.symbols, c.name(s.Name, scalar.Int64))
		}
	}
	for _, p := range g.Params {
		c.p.params = append(c.p.params, c.name(p.Name, p.Type))
	}
	g.Walk(func(_ []*Loop, s *Stream) { c.name(s.Name, types[s]) })
	c.p.body = c.body(g.Body)
	return c.p, nil
}

// place is the register of a name and its type.
type place struct {
	reg int
	typ scalar.Type
}

type compiler struct {
	p      *Program
	types  map[*Stream]scalar.Type
	regs   map[string]place
	consts map[scalar.Value]int // registers
	loops  []*Loop
	ids    []int   // of loops
	code   []instr // of the segment at hand
	spans  []span  // of it
	ops    int     // operations since the count was set to 0
	// done has the registers of the subexpressions of the stream at hand, so that
	// what is shared is computed once.
	done map[*Expr]place
}

func (c *compiler) reg(preset scalar.Value) int {
	c.p.preset = append(c.p.preset, preset)
	return len(c.p.preset) - 1
}

// name gives a name a register of its own. Loops that do not enclose each other
// may share one with their variable.
func (c *compiler) name(name string, t scalar.Type) int {
	if p, ok := c.regs[name]; ok {
		return p.reg
	}
	c.regs[name] = place{c.reg(0), t}
	return c.regs[name].reg
}

// pad returns the bits above an integer, where its sign goes; unsigned ones have none.
func pad(t scalar.Type) uint8 {
	if t.Unsigned() {
		return 0
	}
	return uint8(64 - t.Bits())
}

func (c *compiler) emit(in instr) {
	in.mask, in.pad = in.typ.Mask(), pad(in.typ)
	c.code = append(c.code, in)
}

func (c *compiler) body(body []Stmt) []segment {
	var list []segment
	flush := func() {
		if len(c.spans) > 0 {
			list = append(list, segment{code: c.code, spans: c.spans})
			c.code, c.spans = nil, nil
		}
	}
	for _, st := range body {
		switch st := st.(type) {
		case *Stream:
			c.stream(st)
		case *Loop:
			flush()
			list = append(list, segment{loop: c.loop(st)})
		}
	}
	flush()
	return list
}

func (c *compiler) loop(src *Loop) *loop {
	l := &loop{src: src, id: c.p.loops, lo: c.affine(src.Range.Lo), reg: c.name(src.Var, scalar.Int64)}
	c.p.loops++
	if !src.Open {
		l.hi = c.affine(src.Range.Hi)
	}
	walk(src.Body, nil, func(_ []*Loop, s *Stream) {
		if s.Kind == Reduce && s.Over == src.Var {
			c.done = map[*Expr]place{}
			c.move(c.regs[s.Name].reg, c.expr(s.Init, -1))
		}
	})
	l.init, c.code = c.code, nil
	c.loops, c.ids = append(c.loops, src), append(c.ids, l.id)
	if src.While != nil {
		c.done = map[*Expr]place{}
		cond := c.expr(src.While, -1)
		c.emit(instr{op: opBreak, a: int32(cond.reg)})
		l.while, c.code = c.code, nil
	}
	first := len(c.p.accesses)
	l.body = c.body(src.Body)
	for i := first; i < len(c.p.accesses); i++ {
		if ac := &c.p.accesses[i]; ac.hoisted && ac.loops[len(ac.loops)-1] == src {
			l.planned = append(l.planned, i)
		}
	}
	if len(l.body) == 1 && l.body[0].loop == nil {
		for i := range l.body[0].code {
			if in := &l.body[0].code[i]; in.op == opSkip {
				in.c += int32(len(l.while))
			}
		}
		for i := range l.body[0].spans {
			l.body[0].spans[i].from += int32(len(l.while))
			l.body[0].spans[i].to += int32(len(l.while))
		}
		l.inBody = len(l.while)
		l.body[0].code, l.while = append(l.while, l.body[0].code...), nil
	}
	c.loops, c.ids = c.loops[:len(c.loops)-1], c.ids[:len(c.ids)-1]
	return l
}

func (c *compiler) affine(x lattice.Expr) affine {
	a := affine{offset: x.Offset()}
	for _, name := range x.Symbols() {
		p := c.regs[name]
		a.terms = append(a.terms, term{p.reg, x.Coef(name), pad(p.typ)})
	}
	return a
}

func (c *compiler) stream(s *Stream) {
	c.done = map[*Expr]place{}
	begin := len(c.code)
	info := streamInfo{rmw: rmwInfo{a: -1, e: -1}, stream: s, reg: c.regs[s.Name].reg, loop: -1}
	if len(c.ids) > 0 {
		info.loop = c.ids[len(c.ids)-1]
	}
	skip := -1
	self := c.regs[s.Name]
	if s.If != nil {
		c.ops = 0
		cond := c.expr(s.If, -1)
		info.condOps = c.ops
		in := instr{op: opSkip, a: int32(cond.reg), b: int32(len(c.p.streams)), fallback: int32(self.reg)}
		if s.Kind == Reduce {
			in.fallback = -1
		}
		skip = len(c.code)
		c.emit(in)
	}
	c.ops = 0
	if s.Array != "" {
		info.bytes = c.p.graph.Array(s.Array).Type.Bytes()
	}
	elem := place{-1, scalar.Invalid}
	at := c.access(s)
	if at >= 0 && s.Kind != Store {
		elem.typ = c.p.graph.Array(s.Array).Type
		if s.Kind == Load {
			elem.reg = self.reg
		} else {
			elem.reg = c.reg(0)
		}
		c.emit(instr{op: opLoad, typ: elem.typ, dst: int32(elem.reg), c: int32(at)})
	}
	value := elem
	if s.Value != nil {
		if elem.reg >= 0 {
			s.Value.Walk(func(x *Expr) {
				if x.Kind == ElemExpr {
					c.done[x] = elem
				}
			})
		}
		to := self.reg
		if s.Old { // what is written is still needed when the old value is there
			to = -1
		}
		value = c.expr(s.Value, to)
		info.rmw = c.rmwOf(s)
	}
	c.move(self.reg, value)
	if s.Kind == Store || s.Kind == RMW {
		c.emit(instr{op: opStore, typ: value.typ, a: int32(self.reg), c: int32(at)})
	}
	if s.Old {
		c.move(self.reg, elem)
	}
	info.ops = c.ops
	if skip >= 0 {
		c.code[skip].c = int32(len(c.code))
	}
	c.spans = append(c.spans, span{
		stream: int32(len(c.p.streams)), access: int32(at), from: int32(begin), to: int32(len(c.code)),
		simple: s.Kind == Load && s.Value == nil && s.If == nil,
	})
	c.p.streams = append(c.p.streams, info)
}

// access adds the access of a stream, -1 if it has none.
func (c *compiler) access(s *Stream) int {
	if s.Array == "" {
		return -1
	}
	ac := access{stream: s, loops: append([]*Loop(nil), c.loops...), hoisted: len(c.loops) > 0}
	for i := range c.p.graph.Arrays {
		if c.p.graph.Arrays[i].Name == s.Array {
			ac.array = i
		}
	}
	for _, l := range c.loops {
		ac.vars = append(ac.vars, c.regs[l.Var].reg)
	}
	var changing map[string]bool
	if ac.hoisted {
		changing = changingIn(c.loops[len(c.loops)-1])
	}
	for _, x := range s.Index {
		ac.index = append(ac.index, c.affine(x))
		if ac.hoisted {
			ac.coef = append(ac.coef, x.Coef(c.loops[len(c.loops)-1].Var))
		}
		for _, name := range x.Symbols() {
			ac.hoisted = ac.hoisted && !changing[name]
		}
	}
	c.p.accesses = append(c.p.accesses, ac)
	return len(c.p.accesses) - 1
}

// changingIn returns the streams whose value changes while the loop runs.
func changingIn(l *Loop) map[string]bool {
	names := map[string]bool{}
	walk(l.Body, nil, func(_ []*Loop, s *Stream) { names[s.Name] = true })
	return names
}

func (c *compiler) move(dst int, from place) {
	if dst != from.reg {
		c.emit(instr{op: opMove, typ: from.typ, dst: int32(dst), a: int32(from.reg)})
	}
}

// expr emits the instructions of an expression. The result is in register dst if
// that is not -1 and an instruction is needed at all.
func (c *compiler) expr(x *Expr, dst int) place {
	if p, ok := c.done[x]; ok {
		return p
	}
	var args [3]place
	for i, a := range x.Args {
		args[i] = c.expr(a, -1)
	}
	var p place
	switch x.Kind {
	case RefExpr:
		p = c.regs[x.Name]
	case ConstExpr:
		reg, ok := c.consts[x.Bits]
		if !ok {
			reg = c.reg(x.Bits)
			c.consts[x.Bits] = reg
		}
		p = place{reg, x.Type}
	default:
		c.ops++
		p = place{dst, x.Type}
		if dst < 0 {
			p.reg = c.reg(0)
		}
		in := instr{
			op: opConvert, what: x.Op, arity: uint8(len(x.Args)), typ: args[0].typ, to: x.Type,
			dst: int32(p.reg), a: int32(args[0].reg), b: int32(args[1].reg), c: int32(args[2].reg),
		}
		if x.Kind == ApplyExpr {
			in.typ = args[len(x.Args)-1].typ
			in.op = opEval
			p.typ = x.Op.Result(in.typ)
		}
		in.special()
		c.emit(in)
	}
	c.done[x] = p
	return p
}

// specials are the operations with instructions of their own, for integers and
// for fp32.
var specials = map[bool]map[scalar.Op]opcode{
	false: {
		scalar.Add: opAdd, scalar.Sub: opSub, scalar.Mul: opMul, scalar.Min: opMin, scalar.Max: opMax,
		scalar.Eq: opEq, scalar.Ne: opNe, scalar.Lt: opLt, scalar.Le: opLe,
	},
	true: {scalar.Add: opFAdd, scalar.Sub: opFSub, scalar.Mul: opFMul, scalar.Lt: opFLt, scalar.Le: opFLe},
}

// special gives an operation the instruction of its own, if there is one.
func (in *instr) special() {
	switch {
	case in.what == scalar.Select:
		in.op = opSelect
		return
	case in.op == opConvert:
		if in.typ.Int() && in.to.Int() {
			in.op = opExtend
		}
		return
	case !in.typ.Int() && in.typ != scalar.FP32:
		return
	case in.typ == scalar.UInt64 && (in.what.Compares() && in.what != scalar.Eq && in.what != scalar.Ne || in.what == scalar.Min || in.what == scalar.Max):
		return // these look at the highest bit as a sign
	case in.what == scalar.Gt:
		in.what, in.a, in.b = scalar.Lt, in.b, in.a
	case in.what == scalar.Ge:
		in.what, in.a, in.b = scalar.Le, in.b, in.a
	}
	if op, ok := specials[in.typ.Float()][in.what]; ok {
		in.op = op
	}
}

// rmwOf finds the operands of an update, whose code has been emitted.
func (c *compiler) rmwOf(s *Stream) rmwInfo {
	r := rmwInfo{a: -1, e: -1}
	op, operand, expected, ok := s.Update()
	if !ok {
		return r
	}
	r.op, r.a = op, c.expr(operand, -1).reg
	if expected != nil {
		r.e = c.expr(expected, -1).reg
	}
	return r
}
