package micro

import (
	"math/bits"
	"slices"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/se"
	"github.com/bitsched/bitsched/tile/uop"
)

// A loop inside of another one whose iterations reduce a row of at most a line is configured by
// a stream of that one (section III.A, nest): the bank that has the stream's element sends a
// request to the bank of the row, which executes all iterations of the instance, and sends
// what they come to. The core has none of them, so that as many instances are under way as
// there is credit for.

// row is such a loop.
type row struct {
	loop   *loopInfo
	of     *template // the load of the row
	index  int       // of that template
	sum    *template // what is reduced
	at     int       // of that template
	where  *nearStream
	value  *term       // of an iteration; its operands are the row's element and those of others
	init   *term       // what the reduction begins with
	others []*template // rows that are the same in each instance: the configuration brings them
	n      int64
	work   int // operations of an instance
	ops    int // micro-ops of it, with SIMD registers
	depth  int
	loads  []uop.Op // of others, by the core
}

// rowLoops finds what the loops inside of a loop reduce; nil if one of them is not such a loop.
func (p *Program) rowLoops(l *loopInfo) []*row {
	if l.inner || l.src.Open || l.src.While != nil {
		return nil
	}
	var list []*row
	for _, o := range p.loops {
		if o == l || len(o.body) == 0 || !slices.Contains(p.graph.Loops(p.streams[o.body[0]].s), l.src) {
			continue
		}
		r := p.row(o, l)
		if r == nil {
			return nil
		}
		list = append(list, r)
	}
	return list
}

// row makes the row of a loop inside of another one; nil if it is none.
func (p *Program) row(o, l *loopInfo) *row {
	n, fixed := o.src.Range.Len().Const()
	lo, steady := o.src.Range.Lo.Const()
	if !o.inner || !fixed || !steady || n < 2 || o.src.Open || o.src.While != nil || o.src.Parallel != nil || o.src.Stride() != 1 {
		return nil
	}
	around := p.graph.Loops(p.streams[o.body[0]].s)
	if len(around) < 2 || around[len(around)-2] != l.src {
		return nil
	}
	r := &row{loop: o, n: n}
	for _, i := range o.body {
		tm := p.streams[i]
		s := tm.s
		switch {
		case s.If != nil || s.Racy || tm.lazy || tm.hoisted:
			return nil
		case s.Kind == stream.Load && s.Value == nil && p.lineOf(tm, n, lo, o):
			switch {
			case !p.varies(tm, l):
				r.others = append(r.others, tm)
			case r.of == nil:
				r.of, r.index = tm, i
			default:
				return nil
			}
		case s.Kind == stream.Reduce && s.Array == "" && tm.carried && r.sum == nil && s.Value != nil:
			r.sum, r.at = tm, i
		case s.Kind == stream.Reduce && s.Array == "" && !tm.carried && s.Value != nil:
		default:
			return nil
		}
	}
	if r.of == nil || r.sum == nil || p.reach(r.of, l) <= p.opt.Streams.Private {
		return nil
	}
	for _, i := range p.inside(l) { // nothing orders rows with what the loop writes
		s := p.streams[i].s
		if s.Kind != stream.Store && s.Kind != stream.RMW {
			continue
		}
		if p.together(s.Array, r.of.s.Array) || slices.ContainsFunc(r.others, func(tm *template) bool { return p.together(s.Array, tm.s.Array) }) {
			return nil
		}
	}
	if r.where = p.rowWhere(r, l, lo); r.where == nil {
		return nil
	}
	x := &nearStream{inputs: []int{r.index}}
	for _, tm := range r.others {
		x.inputs = append(x.inputs, slices.Index(p.streams, tm))
	}
	known := len(x.inputs)
	b := &termBuilder{p: p, l: o, of: r.sum, x: x, done: map[*stream.Expr]*term{}}
	r.value = b.expr(r.sum.s.Value)
	r.work, r.depth = b.ops*int(n), r.value.depth
	r.ops = b.ops
	start := &termBuilder{p: p, l: o, of: &template{array: -1}, x: x, done: map[*stream.Expr]*term{}}
	r.init = &term{kind: constTerm}
	if r.sum.s.Init != nil {
		r.init = start.expr(r.sum.s.Init)
	}
	if b.failed || start.failed || len(x.inputs) != known || p.takesVarying(r.value, l) || p.takesVarying(r.init, l) {
		return nil
	}
	// SIMD code has groups of lanes, which are brought together at the end.
	lanes := max(1, int64(o.lanes))
	groups := int((n + lanes - 1) / lanes)
	if r.sum.ordered {
		groups, lanes = int(n), 1
	}
	steps := bits.Len64(uint64(min(lanes, n) - 1))
	join := latencyNear(kindOf(r.sum.s.Value, r.sum.typ))
	r.ops = r.ops*groups + 2*steps
	r.depth += (groups-1)*join + steps*(1+join)
	return r
}

// rowWhere is where a row begins, as a function of an affine load of the loop around.
func (p *Program) rowWhere(r *row, l *loopInfo, lo int64) *nearStream {
	x := &nearStream{name: r.of.s.Name, tm: r.of}
	b := &termBuilder{p: p, l: l, of: r.of, x: x, done: map[*stream.Expr]*term{}, fixed: map[string]int64{r.loop.src.Var: lo}}
	x.value = b.element(r.of)
	if b.failed || b.own || len(x.inputs) != 1 {
		return nil
	}
	of := p.streams[x.inputs[0]]
	if of.s.Value != nil || of.s.If != nil || of.s.Racy || of.hoisted || !p.affine(of) {
		return nil
	}
	for _, i := range p.inside(l) { // what addresses follow from is the same whenever it is read
		if o := p.streams[i].s; (o.Kind == stream.Store || o.Kind == stream.RMW) && p.together(o.Array, of.s.Array) {
			return nil
		}
	}
	x.index = x.inputs[0]
	return x
}

// lineOf reports whether the elements that a load of a loop of n iterations takes lie side by
// side in one line, wherever the row is.
func (p *Program) lineOf(tm *template, n, lo int64, o *loopInfo) bool {
	a := &p.arrays[tm.array]
	bytes := n * int64(tm.bytes)
	if p.graph.Arrays[tm.array].Scope == stream.Private || a.inner != 0 || a.stride != uint64(tm.bytes) || bytes > lineBytes || bytes&(bytes-1) != 0 || a.base%uint64(bytes) != 0 {
		return false
	}
	for d, x := range tm.s.Index {
		if d > 0 {
			if x.Coef(o.src.Var) != 0 {
				return false
			}
			continue
		}
		if x.Coef(o.src.Var) != 1 || len(x.Symbols()) != 1 || (x.Offset()+lo)%n != 0 {
			return false
		}
	}
	if len(tm.s.Index) < 2 {
		return true
	}
	size, err := p.graph.Arrays[tm.array].Size[0].Eval(p.args.Symbols)
	return err == nil && size%n == 0
}

// varies reports whether the subscripts of an access change in a loop, apart from the variables
// of loops inside of it.
func (p *Program) varies(tm *template, l *loopInfo) bool {
	return slices.ContainsFunc(tm.s.Index, func(x lattice.Expr) bool {
		return slices.ContainsFunc(x.Symbols(), func(name string) bool { return p.changes(name, l) })
	})
}

// changes reports whether a name is the variable of a loop, or a value of a stream in it.
func (p *Program) changes(name string, l *loopInfo) bool {
	if name == l.src.Var {
		return true
	}
	slot := int(p.names[name])
	return slot < len(p.streams) && p.within(p.streams[slot], l)
}

// takesVarying reports whether a term takes a value that changes in a loop and is no operand.
func (p *Program) takesVarying(x *term, l *loopInfo) bool {
	if x.kind == slotTerm && (x.slot == l.slot || int(x.slot) < len(p.streams) && p.within(p.streams[x.slot], l)) {
		return true
	}
	return slices.ContainsFunc(x.args, func(arg *term) bool { return p.takesVarying(arg, l) })
}

// rowOf finds the row whose reduction a slot is.
func (l *loopInfo) rowOf(slot int32) *row {
	for _, r := range l.rowsInside {
		if r.at == int(slot) {
			return r
		}
	}
	return nil
}

// addRows adds the streams of rows to those of a loop, behind those that they follow; false if
// there are not all of these, or no places.
func (p *Program) addRows(near *nearLoop, sid map[*stream.Stream]int, needed map[string]bool, most int) bool {
	for _, r := range near.info.rowsInside {
		k, ok := sid[p.streams[r.where.index].s]
		if !ok || len(near.streams) >= most {
			return false
		}
		x := nearStream{name: r.of.s.Name, kind: se.Load, tm: r.of, index: r.index, inputs: []int{k}, where: r.where, near: k, row: r, toCore: true, config: p.configBytes(r.of.s)}
		if p.opt.Streams.Level == Float { // the core reduces
			sid[r.of.s], near.loads[r.of.s] = len(near.streams), len(near.streams)
			near.streams = append(near.streams, x)
			near.report.Rows++
			continue
		}
		x = nearStream{name: r.sum.s.Name, kind: se.Load, tm: r.of, index: r.index, inputs: []int{k}, value: r.value, where: r.where, result: r.sum, ops: r.ops, depth: r.depth,
			near: k, row: r, toCore: needed[r.sum.s.Name], config: p.configBytes(r.sum.s) + p.configBytes(r.of.s)}
		for _, tm := range r.others { // rows that the configuration brings
			x.config += int(r.n) * tm.bytes
		}
		sid[r.of.s] = len(near.streams)
		near.streams = append(near.streams, x)
		near.report.Offloaded++
		near.report.Rows++
		for _, i := range r.loop.body {
			near.drop[p.streams[i].s] = true
		}
	}
	return true
}

// rowOps makes the loads of rows that a configuration brings.
func (p *Program) rowOps(near *nearLoop, reg uop.Reg) {
	for _, r := range near.info.rowsInside {
		r.loads = r.loads[:0]
		for _, tm := range r.others {
			bytes := int(r.n) * tm.bytes
			if p.opt.Vector == 0 {
				bytes = tm.bytes
			} else {
				bytes = min(bytes, p.opt.Vector)
			}
			r.loads = append(r.loads, uop.Op{PC: p.pc(), Kind: uop.Load, Lanes: uint8(bytes / tm.bytes), Size: uint16(bytes), Dst: reg})
		}
	}
}

// inRow reports whether the loop at hand is one whose instances streams execute.
func (t *thread) inRow() *row {
	if t.near == nil || len(t.depth) == 0 {
		return nil
	}
	return t.near.l.rowAt(t.depth[len(t.depth)-1].info)
}

func (l *nearLoop) rowAt(info *loopInfo) *row {
	for k := range l.streams {
		if r := l.streams[k].row; r != nil && r.loop == info && l.streams[k].value != nil {
			return r
		}
	}
	return nil
}

// leftRow takes out the micro-ops of a row, which have left the core.
func (t *thread) leftRow(r *row, from int) {
	ops := slices.Clone(t.out.Ops[from:])
	t.out.Ops = t.out.Ops[:from]
	for i := range ops {
		t.marked(gone, &ops[i], r.of.s)
	}
}

// endRow goes on behind a row, with what it has come to if the core takes that.
func (t *thread) endRow(r *row, from int) {
	t.leftRow(r, from)
	s := t.near
	k := slices.IndexFunc(s.l.streams, func(x nearStream) bool { return x.row == r })
	x := s.l.streams[k].load[0]
	t.set(r.at, t.val[r.at], x.Dst)
	if !s.l.streams[k].toCore {
		return
	}
	if s.ordered {
		s.computed = append(s.computed, nil)
	}
	bytes := r.sum.typ.Bytes()
	x.Kind, x.Lanes, x.Size, x.Data, x.Addr = uop.Load, 1, uint16(bytes), uint32(len(t.out.Data)), se.Window // its place is found with its iteration
	t.out.Data = append(t.out.Data, 0, 0, 0, 0, 0, 0, 0, 0)[:len(t.out.Data)+bytes]
	put(t.out.Data[x.Data:], t.val[r.at], bytes)
	t.out.Ops = append(t.out.Ops, x)
}

// bringRows loads what a configuration brings.
func (t *thread) bringRows(l *nearLoop) {
	for k := range l.streams {
		r := l.streams[k].row
		if r == nil || l.streams[k].value == nil {
			continue
		}
		for j, tm := range r.others {
			o := r.loads[j]
			first := t.otherRow(r, tm)
			data := t.p.memory[tm.s.Array]
			for i := int64(0); i < r.n; i += int64(o.Lanes) {
				o.Addr, o.Data = t.address(tm.array, first+i), uint32(len(t.out.Data))
				for lane := range int64(o.Lanes) {
					at := len(t.out.Data)
					t.out.Data = append(t.out.Data, 0, 0, 0, 0, 0, 0, 0, 0)[:at+tm.bytes]
					put(t.out.Data[at:], data[first+i+lane], tm.bytes)
				}
				t.out.Ops = append(t.out.Ops, o)
			}
		}
	}
}

// otherRow is the first element of a row that is the same in each instance.
func (t *thread) otherRow(r *row, tm *template) int64 {
	lo, _ := r.loop.src.Range.Lo.Const()
	return t.elementOf(tm, r.loop, lo)
}

// rowFunction is an instance of a row's loop, as the bank executes it on the elements of the
// row.
type rowFunction struct {
	*function
	r      *row
	init   uint64
	others [][]scalar.Value
	in     []uint64
}

// rowOf makes the function of a row for an instance of the loop around.
func (t *thread) rowOf(s *nearStream) *rowFunction {
	r := s.row
	lo, _ := r.loop.src.Range.Lo.Const()
	f := &rowFunction{function: t.bind(s, lo, r.loop), r: r, in: make([]uint64, 1+len(r.others))}
	start := t.bind(&nearStream{tm: r.of, result: r.sum, value: r.init}, lo, r.loop)
	f.init, _ = start.Eval(0, nil, 0)
	for _, tm := range r.others {
		first := t.otherRow(r, tm)
		f.others = append(f.others, slices.Clone(t.p.memory[tm.s.Array][first:first+r.n]))
	}
	return f
}

// Eval implements se.Function: in has the elements of the row.
func (f *rowFunction) Eval(_ uint64, in []uint64, _ int64) (v uint64, ok bool) {
	v = f.init
	for k := range in {
		f.in[0] = in[k]
		for j, list := range f.others {
			f.in[1+j] = list[k]
		}
		v, _ = f.function.Eval(v, f.in, int64(k))
	}
	return v, true
}
