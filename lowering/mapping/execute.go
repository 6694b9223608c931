package mapping

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// Fidelity is how a mapping is executed.
type Fidelity uint8

// The fidelities.
const (
	Gate      Fidelity = iota // every instruction on every bitline; the exact executors of crossbars and lanes
	WordLevel                 // elements, and every n-th unit as at Gate
)

// ExecuteOptions say how.
type ExecuteOptions struct {
	Threads  int
	Fidelity Fidelity
	Every    int // of the units that word fidelity executes by gates; 0: 64
	// Sample executes only every n-th batch of clusters, of arrays and crossbars; 0 and 1
	// execute all.
	Sample   int
	Progress func(done, total int)

	tamper func(part any) // spoils what is executed, in tests
}

// spoil lets a test change a part of what is executed.
func (o *ExecuteOptions) spoil(part any) {
	if o.tamper != nil {
		o.tamper(part)
	}
}

// Executed is what was executed, beside the output.
type Executed struct {
	Output    []int64
	Covered   []bool // the outputs that were executed; nil: all
	Units     int64  // that were executed by bits, or by the exact executor
	Word      int64  // that were executed by elements
	Waves     int64  // of each unit
	Compute   int64  // cycles of the programs that one unit executed
	RowOps    int64  // instructions x bitlines, of all units
	Sums      int64  // of digits of weights that are instructions, of all units that were executed by bits
	Quantised *Quantisation
}

// Quantisation is what converters with too few bits did to the sums.
type Quantisation struct {
	Samples, Clipped int64
	MaxError         int64
	SQNR             float64 // in decibels
}

// Execute runs a mapping on the values of the operator's operands and returns its
// output. Operands are read from where the mapping puts them.
func (q *Problem) Execute(ctx context.Context, m *Mapping, o ExecuteOptions, operands ...[]int32) (*Executed, error) {
	if err := q.Check(m); err != nil {
		return nil, err
	}
	for i, t := range q.Op.Operands() {
		if int64(len(operands[i])) != t.Elements() {
			return nil, fmt.Errorf("mapping: operand %s has %d values, expected %d", t.Name, len(operands[i]), t.Elements())
		}
		if t.Elements() > dnn.MaxElements {
			return nil, fmt.Errorf("mapping: operand %s has %d elements, at most %d are executed", t.Name, t.Elements(), int64(dnn.MaxElements))
		}
		lo, hi := t.Type.Range()
		for at, v := range operands[i] {
			if int64(v) < lo || int64(v) > hi {
				return nil, fmt.Errorf("mapping: element %d of %s is %d, expected %d to %d", at, t.Name, v, lo, hi)
			}
		}
	}
	switch q.Platform.Executor {
	case platform.CrossbarExecutor:
		return q.executeCrossbar(ctx, m, o, operands)
	case platform.SIMDExecutor:
		return q.executeSIMD(ctx, m, o, operands)
	}
	return q.executeArray(ctx, m, o, operands)
}

// parallel does n pieces of work on threads, each with a worker of its own.
func parallel(ctx context.Context, threads, n int, progress func(done, total int), worker func() func(i int) error) error {
	var next, done atomic.Int64
	var mu sync.Mutex
	var first error
	work := func() {
		do := worker()
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if err := do(i); err != nil {
				mu.Lock()
				if first == nil {
					first = err
				}
				mu.Unlock()
				next.Store(int64(n))
				return
			}
			if d := int(done.Add(1)); progress != nil {
				progress(d, n)
			}
		}
	}
	var wg sync.WaitGroup
	for range min(max(threads, 1), n) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	if first != nil {
		return first
	}
	return ctx.Err()
}

// indexer gives the element of a tensor at a place: a sum of what time, unit, word
// and column contribute to each index.
type indexer struct {
	t       *dnn.Tensor
	access  [][]int32 // by dimension, then loops; behind them the loops that must not pass their extents
	bound   []int32
	stride  []int
	insert  []int32
	offset  []int32
	inserts bool
}

// newIndexer makes one; checked are loops whose index beyond the extent is padding.
func (q *Problem) newIndexer(t *dnn.Tensor, checked func(l int) bool) *indexer {
	x := &indexer{t: t}
	stride := 1
	strides := make([]int, len(t.Extents))
	for d := len(t.Extents) - 1; d >= 0; d-- {
		strides[d] = stride
		stride *= t.Extents[d]
	}
	add := func(row []int32, bound, offset, insert int32, stride int) {
		x.access, x.bound, x.offset = append(x.access, row), append(x.bound, bound), append(x.offset, offset)
		x.insert, x.stride = append(x.insert, insert), append(x.stride, stride)
		if insert > 1 {
			x.inserts = true
		}
	}
	for d, row := range t.Access {
		r := make([]int32, q.loops)
		for l, a := range row {
			r[l] = int32(a)
		}
		insert := int32(1)
		if t.Insert != nil {
			insert = int32(t.Insert[d])
		}
		add(r, int32(t.Extents[d])*insert, int32(t.Offset[d]), insert, strides[d])
	}
	for l := range q.loops {
		if checked(l) {
			r := make([]int32, q.loops)
			r[l] = 1
			add(r, int32(q.extent[l]), 0, 1, 0)
		}
	}
	return x
}

// part is what a place contributes to each index.
func (x *indexer) part(loops *[MaxLoops]int32, into []int32) {
	for d, row := range x.access {
		n := int32(0)
		for l, a := range row {
			n += a * loops[l]
		}
		into[d] = n
	}
}

// parts are the contributions of many places, with what is the same for all.
type parts struct {
	dims     [][]int32 // by dimension, then place
	linear   []int32   // sum over dimensions of index x stride
	lo, hi   []int32
	chunks   [][2][]int32 // lo and hi of each 64 places
	constant bool
}

func (x *indexer) parts(places [][MaxLoops]int32) *parts {
	p := &parts{linear: make([]int32, len(places)), constant: true}
	buf := make([]int32, len(x.access))
	for d := range x.access {
		p.dims = append(p.dims, make([]int32, len(places)))
		p.lo, p.hi = append(p.lo, 0), append(p.hi, 0)
		_ = d
	}
	for i := range places {
		x.part(&places[i], buf)
		if i%64 == 0 {
			p.chunks = append(p.chunks, [2][]int32{slices.Clone(buf), slices.Clone(buf)})
		}
		chunk := &p.chunks[i/64]
		n := 0
		for d, v := range buf {
			p.dims[d][i] = v
			if i == 0 {
				p.lo[d], p.hi[d] = v, v
			}
			p.lo[d], p.hi[d] = min(p.lo[d], v), max(p.hi[d], v)
			chunk[0][d], chunk[1][d] = min(chunk[0][d], v), max(chunk[1][d], v)
			n += int(v) * x.stride[d]
		}
		p.linear[i] = int32(n)
	}
	for d := range p.lo {
		p.constant = p.constant && p.lo[d] == p.hi[d]
	}
	return p
}

// inside reports whether all places lie in the tensor for a base.
func (x *indexer) inside(base []int32, p *parts) bool {
	if x.inserts {
		return false
	}
	for d, b := range base {
		if b+p.lo[d] < 0 || b+p.hi[d] >= x.bound[d] {
			return false
		}
	}
	return true
}

// outside returns which of 64 places from 64k on lie outside the tensor for a base, a bit for
// each, where nothing is inserted between elements.
func (x *indexer) outside(base []int32, p *parts, k int) (mask uint64) {
	lo, hi := p.chunks[k][0], p.chunks[k][1]
	for d, b := range base {
		if b+lo[d] >= 0 && b+hi[d] < x.bound[d] {
			continue
		}
		bound := uint32(x.bound[d])
		for i, v := range p.dims[d][64*k : min(64*k+64, len(p.dims[d]))] {
			if uint32(b+v) >= bound {
				mask |= 1 << i
			}
		}
	}
	return mask
}

// at returns the element at place i for a base, -1 for padding.
func (x *indexer) at(base []int32, p *parts, i int) int {
	n := 0
	for d, b := range base {
		v := b + p.dims[d][i]
		if v < 0 || v >= x.bound[d] {
			return -1
		}
		if x.insert[d] > 1 {
			if v%x.insert[d] != 0 {
				return -1
			}
			v /= x.insert[d]
		}
		n += int(v) * x.stride[d]
	}
	return n
}

// linearBase is the sum of a base's indices times strides.
func (x *indexer) linearBase(base []int32) int {
	n := 0
	for d, b := range base {
		n += int(b) * x.stride[d]
	}
	return n
}

// digits lists the places of loops in slots, the loops of the first slot fastest.
func (q *Problem) digits(m *Mapping, keep func(l int) bool, slots ...int) [][MaxLoops]int32 {
	out := [][MaxLoops]int32{{}}
	for _, s := range slots {
		for l := range q.loops {
			f := int32(m.Factor[s][l])
			if f <= 1 || !keep(l) {
				continue
			}
			scale := int32(m.Below(l, s))
			var next [][MaxLoops]int32
			for i := range f {
				for _, p := range out {
					p[l] += i * scale
					next = append(next, p)
				}
			}
			out = next
		}
	}
	return out
}

func (q *Problem) always(int) bool      { return true }
func (q *Problem) reduces(l int) bool   { return q.reduction>>l&1 == 1 }
func (q *Problem) parallels(l int) bool { return q.reduction>>l&1 == 0 }

// ragged reports whether factors of a loop reach beyond its extent.
func (q *Problem) ragged(m *Mapping, l int) bool {
	return m.Below(l, NumSlots) > int64(q.extent[l])
}

// timeLoops is the contribution of a wave to the loops.
func (q *Problem) timeLoops(m *Mapping, w *Wave) (out [MaxLoops]int32) {
	for l := range q.loops {
		out[l] = int32(w.Time[l]) * int32(m.Below(l, SlotWave))
	}
	return out
}
