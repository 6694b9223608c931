package micro

import (
	"slices"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/uop"
)

// pieces is the code of a load whose lanes lie rows apart: one load for each lane, and insertions
// that bring them together two by two. Gathers would take longer.
type pieces struct {
	loads   []uop.Op
	inserts []uop.Op // each of the registers of two loads or insertions before
	rows    []uop.Op // additions to pointers, one for four rows as addressing modes have them
}

// rowsApart reports whether iterations of a loop access different rows of an array.
func rowsApart(s *stream.Stream, v string) bool {
	return s.Array != "" && len(s.Index) > 1 && slices.ContainsFunc(s.Index[1:], func(x lattice.Expr) bool { return x.Coef(v) != 0 })
}

func rowsApartWhy(s *stream.Stream) string { return "elements of stream " + s.Name + " lie rows apart" }

// assemble chooses the lanes of a loop some of whose loads lie rows apart: those of the widest
// register with which gcc takes SIMD code for cheaper than scalar code. Elements have at most
// so many bytes.
func (p *Program) assemble(l *loopInfo, bytes int) error {
	var apart []*template
	for _, i := range l.body {
		if t := p.streams[i]; rowsApart(t.s, l.src.Var) {
			apart = append(apart, t)
		}
	}
	if len(apart) == 0 {
		return nil
	}
	l.lanes = 1
	for width := p.opt.Vector; width >= 16; width /= 2 {
		if n := width / bytes; n > 1 && p.price(l, width, n) < n*p.price(l, 0, 1) {
			l.lanes = n
			break
		}
	}
	if l.lanes == 1 {
		l.why = rowsApartWhy(apart[0].s)
		return nil
	}
	defer func() { p.making = nil }()
	for _, t := range apart {
		p.making = t.s
		t.pieces = &pieces{}
		var regs []uop.Reg
		for range l.lanes {
			r, err := p.reg()
			if err != nil {
				return err
			}
			regs = append(regs, r)
			t.pieces.loads = append(t.pieces.loads, uop.Op{PC: p.pc(), Kind: uop.Load, Lanes: 1, Dst: r, Size: uint16(t.bytes)})
		}
		for n := 2; len(regs) > 1; n *= 2 {
			for k := range len(regs) / 2 {
				t.pieces.inserts = append(t.pieces.inserts, uop.Op{PC: p.pc(), Kind: uop.Shuffle, Lanes: uint8(n), Dst: regs[2*k], Src: [3]uop.Reg{regs[2*k], regs[2*k+1]}})
				regs[k] = regs[2*k]
			}
			regs = regs[:len(regs)/2]
		}
		for range (l.lanes + 3) / 4 {
			r, err := p.reg()
			if err != nil {
				return err
			}
			t.pieces.rows = append(t.pieces.rows, uop.Op{PC: p.pc(), Kind: uop.IntALU, Lanes: 1, Dst: r, Src: [3]uop.Reg{r}})
		}
	}
	return nil
}

// Costs of gcc 12 for -march=skylake-avx512 (skylake_cost in gcc/config/i386/x86-tune-costs.h,
// ix86_builtin_vectorization_cost in i386.cc), four to a simple instruction.
const (
	costSimple = 4
	costFloat  = 16 // addition, multiplication, comparison
	costDivide = 44
)

var (
	costLoad  = map[int]int{16: 12, 32: 20, 64: 40}
	costStore = map[int]int{16: 16, 32: 16, 64: 32}
)

// price is what gcc takes one iteration of a loop for, or with a width of registers in bytes as
// many as lanes. To build a vector of elements a variable distance apart counts as often as it has
// lanes, and once more, "since we are bound by latency and execution resources for the many
// scalar loads" (ix86_add_stmt_cost).
func (p *Program) price(l *loopInfo, width, lanes int) (cost int) {
	conditions := map[string]bool{}
	for _, i := range l.body {
		t := p.streams[i]
		float := t.array >= 0 && p.graph.Arrays[t.array].Type.Float()
		one, load, store := 8, costLoad[width], costStore[width] // of integers
		if float {
			one = 12
		}
		if width == 0 {
			load, store = one, 12
			if float {
				store = 16
			}
		}
		if t.array >= 0 && t.s.Kind != stream.Store && !p.invariant(t, l) {
			if width > 0 && rowsApart(t.s, l.src.Var) {
				load = lanes*one + construct(width, lanes)*(lanes+1)
			}
			cost += load
		}
		if t.s.Kind == stream.Store || t.s.Kind == stream.RMW {
			cost += store
		}
		count := func(x *stream.Expr) {
			if x.Kind == stream.ApplyExpr {
				cost += p.priceOf(x, t)
			}
		}
		t.s.Value.Walk(count)
		if x := t.s.If; x != nil && !conditions[x.String()] {
			conditions[x.String()] = true
			x.Walk(count)
		}
	}
	return cost
}

// priceOf is what gcc takes an operation for.
func (p *Program) priceOf(x *stream.Expr, t *template) int {
	switch {
	case !p.typeOf(x, t).Float():
		return costSimple
	case x.Op == scalar.Div || x.Op == scalar.Sqrt:
		return costDivide
	}
	return costFloat
}

// construct is what gcc takes a vector of scalars for: insertions, and what brings registers of 16
// bytes together.
func construct(width, lanes int) int {
	parts := width / 16
	return (lanes-parts)*costSimple + (parts-1)*costFloat
}

// assembled adds the loads of lanes that lie rows apart, and what brings them together.
func (t *thread) assembled(tm *template, n int, to uop.Reg, src uop.Reg, lane func(i int) (elem int64, v scalar.Value)) {
	c := tm.pieces
	for i := range n {
		o := c.loads[i]
		o.Src[0] = src
		elem, v := lane(i)
		t.access(o, tm, elem, v)
	}
	t.out.Ops = append(t.out.Ops, c.inserts[:max(0, n-1)]...)
	t.out.Ops[len(t.out.Ops)-1].Dst = to
	t.out.Ops = append(t.out.Ops, c.rows...)
}
