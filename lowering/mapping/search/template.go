package search

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/lowering/mapping"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// Template is a fixed rule that maps any operator: a baseline. It looks at names of
// loops where the rule does.
type Template struct {
	Name     string
	Executor string
	Rule     string
	Source   string
	build    func(b *filler)
	prefer   string // function
}

// Templates lists them; the first of an executor is the baseline of its platforms, as
// in the paper's evaluation (VI-A).
var Templates = []Template{
	{"neural-cache", platform.ArrayExecutor, "R, S in one bitline (at most 9 taps, 1x1 packs channels), C across bitlines, then outputs", "ARES VI-A; Neural Cache", neuralCache, "bulk"},
	{"template-plain", platform.ArrayExecutor, "as neural-cache, without packing channels of 1x1 kernels", "ARES VI-A", neuralCachePlain, "bulk"},
	{"simdram", platform.ArrayExecutor, "an output a bitline, products added in time, no sums over bitlines", "SIMDRAM", simdram, "bulk"},
	{"pimd", platform.ArrayExecutor, "K across bitlines first, so that inputs are shared, then outputs", "PIMD, data layouts", pimd, "bulk"},
	{"puma", platform.CrossbarExecutor, "C on rows, K on columns, R and S on crossbars of their own, one copy, weights stay", "ARES VI-A; PUMA", puma, "mvm"},
	{"isaac", platform.CrossbarExecutor, "C, R, S on rows as one matrix, K on columns, copies over outputs", "ISAAC", isaac, "mvm"},
	{"pim-hbm", platform.SIMDExecutor, "K on lanes, or M or N of a GEMM, one accumulator", "ARES VI-A; PIM-HBM", pimHBM, "lane"},
	{"newton", platform.SIMDExecutor, "rows of the matrix to banks, one output vector at a time", "Newton", newton, "lane"},
}

// filler builds a mapping by filling slots.
type filler struct {
	q *mapping.Problem
	v *moves
	m mapping.Mapping
}

// loops returns those of the names that there are, and behind them, if rest is set,
// the others of the same class by extent.
func (b *filler) loops(names string, reduction, rest bool) []int {
	var out []int
	for _, n := range strings.Fields(names) {
		if l := b.q.Op.Loop(n); l >= 0 && b.q.Op.Reduction(l) == reduction {
			out = append(out, l)
		}
	}
	if !rest {
		return out
	}
	var more []int
	for l := range b.q.Loops() {
		if b.q.Op.Reduction(l) == reduction && !slices.Contains(out, l) {
			more = append(more, l)
		}
	}
	slices.SortStableFunc(more, func(x, y int) int { return int(b.q.Extent(y)) - int(b.q.Extent(x)) })
	return append(out, more...)
}

// fill gives loops, in order, the largest factors in a slot that the limit and the
// unit take.
func (b *filler) fill(slot int, limit uint32, loops ...int) {
	for _, l := range loops {
		if b.q.Legal(int(b.m.Function), b.m.Swap, slot)>>l&1 == 0 {
			continue
		}
		vals := b.v.of(b.v.left(&b.m, l, slot))
		for i := len(vals) - 1; i >= 0; i-- {
			n := uint32(1)
			for k := range b.q.Loops() {
				if k != l {
					n *= b.m.Factor[slot][k]
				}
			}
			if vals[i]*n > limit || vals[i] <= b.m.Factor[slot][l] {
				continue
			}
			n2 := b.m
			b.v.set(&n2, l, slot, vals[i])
			if b.legal(&n2) {
				b.m = n2
				break
			}
		}
	}
}

// legal reports whether a mapping is, but for the buffer, which Repair looks after.
func (b *filler) legal(m *mapping.Mapping) bool {
	var c mapping.Cost
	v := b.q.Cost(m, &c)
	return v == mapping.Legal || v == mapping.BadBuffer
}

func (b *filler) levels(loops ...int) {
	for i := range b.q.Levels() {
		b.fill(mapping.SlotLevel+i, b.q.FanOut(i), loops...)
	}
}

// dim returns the slot of a dimension.
func (b *filler) dim(name string) int {
	f := b.q.Platform.Functions[b.m.Function]
	return mapping.SlotDim + max(0, f.Dim(name))
}

const noLimit = 1 << 30

func neuralCache(b *filler) { b.neural(16) }

func neuralCachePlain(b *filler) { b.neural(1) }

func (b *filler) neural(pack uint32) {
	taps := b.loops("Q R S", true, false)
	b.fill(b.dim("k1"), 9, taps...)
	alone := true
	for _, l := range taps {
		alone = alone && b.q.Extent(l) == 1
	}
	channels := b.loops("C K", true, true)
	// Packed channels must leave rows for the sums of those across bitlines.
	before, best, most := b.m, b.m, int64(-1)
	for p := pack; p >= 1; p-- {
		b.m = before
		if alone && p > 1 {
			b.fill(b.dim("k1"), p, channels...)
		}
		b.fill(b.dim("k2"), noLimit, channels...)
		n := int64(1)
		for _, l := range channels {
			n *= b.m.Below(l, mapping.SlotInner)
		}
		if n > most {
			best, most = b.m, n
		}
		if !alone {
			break
		}
	}
	b.m = best
	b.fill(b.dim("m"), noLimit, b.loops("W H D N", false, true)...)
	b.levels(append(b.loops("K W H N G", false, true), channels...)...)
}

func simdram(b *filler) {
	b.fill(b.dim("m"), noLimit, b.loops("W H N K", false, true)...)
	b.fill(b.dim("k1"), noLimit, b.loops("S R C", true, true)...)
	b.levels(b.loops("K H W N", false, true)...)
}

func pimd(b *filler) {
	b.fill(b.dim("m"), noLimit, b.loops("K N W H", false, true)...)
	b.fill(b.dim("k1"), noLimit, b.loops("S R C", true, true)...)
	b.levels(b.loops("H W N K", false, true)...)
}

func puma(b *filler) {
	b.fill(b.dim("k"), noLimit, b.loops("C", true, b.q.Op.Loop("C") < 0)...)
	b.fill(b.dim("m"), noLimit, b.loops("K N", false, false)...)
	b.levels(append(b.loops("C R S Q K", true, true), b.matrix()...)...)
}

// matrix returns the parallel loops along the columns of the matrix in cells, so that all
// of it has crossbars of its own, and no other loop makes copies.
func (b *filler) matrix() []int {
	var out []int
	for _, l := range b.loops("K N", false, true) {
		if b.q.Op.Tensors[b.m.Tensor(mapping.Src1)].Indexed(l) {
			out = append(out, l)
		}
	}
	return out
}

func isaac(b *filler) {
	b.fill(b.dim("k"), noLimit, b.loops("C R S Q", true, true)...)
	b.fill(b.dim("m"), noLimit, b.loops("K N", false, false)...)
	b.levels(slices.Concat(b.loops("C R S Q", true, true), b.matrix(), b.loops("H W N M", false, true))...)
}

func pimHBM(b *filler) {
	b.fill(b.dim("m"), noLimit, b.loops("K N M", false, true)...)
	b.fill(b.dim("k"), noLimit, b.loops("C R S Q", true, true)...)
	b.levels(b.loops("K H W N M", false, true)...)
}

func newton(b *filler) {
	b.fill(b.dim("m"), noLimit, b.loops("K N M", false, true)...)
	b.fill(b.dim("k"), noLimit, b.loops("C R S Q", true, true)...)
	b.fill(mapping.SlotLevel, b.q.FanOut(0), b.loops("K N M", false, false)...)
	b.levels(b.loops("K N M H W", false, true)...)
}

// Apply maps an operator by the template.
func (t *Template) Apply(q *mapping.Problem) (*mapping.Mapping, error) {
	if t.Executor != q.Platform.Executor {
		return nil, fmt.Errorf("search: template %s is for executor %s, platform %s has %s", t.Name, t.Executor, q.Platform.Name, q.Platform.Executor)
	}
	var best *mapping.Mapping
	var least int64
	var c mapping.Cost
	for f := range q.Functions() {
		if name := q.Platform.Functions[f].Name; name != t.prefer && q.Platform.Function(t.prefer) != nil {
			continue
		}
		for _, swap := range q.Orders(f) {
			// The weights lie still where the function tells its sources apart; of two
			// activations, or for PIM-HBM's GEMMs, the better is taken.
			m := mapping.Unit()
			m.Function, m.Swap = uint8(f), swap
			first := &q.Op.Tensors[m.Tensor(mapping.Src1)]
			gemm := t.Executor == platform.SIMDExecutor && q.Op.Kind == "gemm"
			if len(q.Orders(f)) > 1 && first.Role.String() != "weight" && q.Op.Weights() > 0 && !gemm {
				continue
			}
			b := &filler{q: q, v: newMoves(q), m: m}
			q.Complete(&b.m)
			t.build(b)
			// The rule says where and not when: the best order and flags are given to it, with
			// all operands kept in the buffer or all passing it by to begin with.
			for _, keep := range []bool{true, false} {
				x := b.m
				x.Keep = [3]bool{keep, keep, keep}
				if !q.Repair(&x, 200) || q.Cost(&x, &c) != mapping.Legal {
					continue
				}
				r := newRun(context.Background(), q, Options{}, 1<<20, 0)
				d := &descent{run: r, v: b.v}
				y, s := d.polish(x, c.Cycles)
				if best == nil || s < least {
					best, least = &y, s
				}
			}
		}
	}
	if best == nil {
		return nil, fmt.Errorf("%w: template %s does not fit: %s", mapping.ErrInfeasible, t.Name, q.WhyEmpty())
	}
	return best, nil
}

// Baseline returns the template that the paper compares with on platforms of the
// problem's executor.
func Baseline(q *mapping.Problem) *Template {
	for i := range Templates {
		if Templates[i].Executor == q.Platform.Executor {
			return &Templates[i]
		}
	}
	return nil
}

// template is the baseline as an optimiser: one evaluation for each template of the
// executor that fits, the paper's first.
type template struct{}

func (template) Name() string { return "template" }
func (template) Doc() string  { return "the baseline of the paper for the platform's kind" }

func (template) Search(ctx context.Context, q *mapping.Problem, o Options) (*Result, error) {
	r := newRun(ctx, q, o, 1, 0)
	m, err := Baseline(q).Apply(q)
	if err != nil {
		return nil, err
	}
	r.price(m)
	return r.finish()
}
