package mapping

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
	"github.com/bitsched/bitsched/sram"
)

// Options are what a mapping is judged by beside operator and platform.
type Options struct {
	Cold  bool // count loading static operands that then stay
	Paper bool // the paper's space: each loop in one dimension at most, no dimension empty
	// Resident are tensors, by their number in the operator, that lie in the buffer before the
	// operator begins, or stay there when it is done: they do not pass the link off chip.
	Resident [3]bool
	// Weights are the values of the static operand, where a function of the platform has them
	// as instructions.
	Weights []int32
	// Held are the bytes of the buffer that such tensors take.
	Held int64
}

// Problem is an operator on a platform, with everything that the price of a mapping
// needs worked out. It is not changed and may be used concurrently.
type Problem struct {
	Op       *dnn.Operator
	Platform *platform.Platform
	Options  Options

	loops     int
	extent    [MaxLoops]uint32
	reduction uint16 // loops
	tensors   [3]tensorInfo
	functions []functionInfo
	accBits   int
	outBits   int // of a finished output outside the units

	levels  int
	fanOut  [platform.MaxLevels]uint32
	milli   [platform.MaxLevels]int64
	latency [platform.MaxLevels]int64
	offMilli, offLatency,
	buffer int64

	mac    *macTable  // of an array
	consts *constants // weights as instructions; nil: none
	each   [numEvents]float64

	relaxed, smooth bool // a quotient, and with the shortest shifts

	good []int64 // units without faults in the groups above the first level, most first; nil: all
	row  []int   // of an array, by row of the plan; nil: itself
	cols int64   // of an array without faults, in one run
}

// tensorInfo is how many elements of a tensor a tile touches.
type tensorInfo struct {
	bits    int64
	indexed uint16 // loops
	dims    []dimInfo
	static  bool
	shared  [][]int // dimensions that have loops in common, as on a diagonal; nil: none have
	halo    *halo   // of a quotient: of some classes, the others are dims
	touched int64   // elements that the nest needs at least
}

// dimInfo is an index: a sum of loops.
type dimInfo struct {
	extent int64
	insert int64
	terms  []term
	gcd    [2]int64 // of two terms, the coefficients without common factors
}

type term struct {
	loop  int
	coeff int64
}

// functionInfo is a compute function with what may be bound to it.
type functionInfo struct {
	*platform.Function
	dims    int
	program bool                // the second source is instructions
	ok      [2]bool             // whether an order of the operands has any binding
	legal   [2][NumSlots]uint16 // loops that may have a factor in a slot, by order of operands
	rowDims [3]bool             // dimensions along rows
	colDims [3]bool             // dimensions along columns
	indexes [3]uint8            // dimensions that index an operand
	maxSize [3]uint32           // of a dimension
}

// New works a problem out. An error means operators or types that no function of the
// platform can compute.
func New(ctx context.Context, op *dnn.Operator, p *platform.Platform, o Options) (*Problem, error) {
	if err := op.Check(); err != nil {
		return nil, err
	}
	q := &Problem{Op: op, Platform: p, Options: o, loops: len(op.Loops), accBits: op.AccBits()}
	for l := range MaxLoops {
		q.extent[l] = 1
		if l < q.loops {
			q.extent[l] = uint32(op.Loops[l].Extent)
			if op.Reduction(l) {
				q.reduction |= 1 << l
			}
		}
	}
	q.outBits = op.Tensors[0].Type.Bits
	for t := range op.Tensors {
		q.tensors[t] = newTensorInfo(op, t)
		q.tensors[t].touched = q.touched(t)
	}
	q.tensors[Dst].bits = int64(q.accBits)
	q.setLevels()
	if p.OffChip == nil {
		q.Options.Resident, q.Options.Held = [3]bool{}, 0
	} else {
		if o.Held < 0 || o.Held > q.buffer {
			return nil, fmt.Errorf("%w: %d bytes of the buffer are taken, it has %d", ErrInfeasible, o.Held, q.buffer)
		}
	}
	for i := range p.Functions {
		q.functions = append(q.functions, q.newFunction(&p.Functions[i]))
	}
	q.holes()
	for e := range eventLink + q.levels {
		for _, x := range p.Energy {
			if x.Event == q.eventName(e) {
				q.each[e] = x.PJ
			}
		}
	}
	switch p.Executor {
	case platform.ArrayExecutor:
		var err error
		if q.mac, err = newMACTable(ctx, q); errors.Is(err, arith.ErrRows) {
			return nil, fmt.Errorf("%w: B5: %w", ErrInfeasible, err)
		} else if err != nil {
			return nil, err
		}
		if q.consts, err = newConstants(ctx, q); err != nil {
			return nil, err
		}
		any := false
		for i := range q.functions {
			f := &q.functions[i]
			for swap := range f.ok {
				if f.Program() {
					f.ok[swap] = q.consts != nil && operand(Src2, swap == 1) == q.consts.tensor
				}
				any = any || f.ok[swap]
			}
		}
		if !any {
			return nil, fmt.Errorf("%w: B5: %w", ErrInfeasible, errNoConstants)
		}
	case platform.SIMDExecutor:
		if q.accBits > p.SIMD.AccumulatorBits {
			return nil, fmt.Errorf("%w: B5: sums of %d bits, accumulators of %d", ErrInfeasible, q.accBits, p.SIMD.AccumulatorBits)
		}
		for _, t := range op.Operands() {
			if t.Type.Bits > 8*p.SIMD.ColumnBytes/p.SIMD.Lanes {
				return nil, fmt.Errorf("%w: B5: operand %s of %d bits, lanes of %d", ErrInfeasible, t.Name, t.Type.Bits, 8*p.SIMD.ColumnBytes/p.SIMD.Lanes)
			}
		}
	}
	return q, nil
}

// setLevels takes over what the platform says of levels and links.
func (q *Problem) setLevels() {
	p := q.Platform
	q.levels = len(p.Levels)
	for i := range q.fanOut {
		q.fanOut[i], q.milli[i] = 1, math.MaxInt64
	}
	for i, l := range p.Levels {
		q.fanOut[i], q.milli[i], q.latency[i] = uint32(l.FanOut), platform.Milli(l.BytesPerCycle), int64(l.LatencyCycles)
	}
	if p.OffChip != nil {
		q.offMilli, q.offLatency, q.buffer = platform.Milli(p.OffChip.BytesPerCycle), int64(p.OffChip.LatencyCycles), p.Buffer.Bytes
	}
}

func newTensorInfo(op *dnn.Operator, t int) tensorInfo {
	x := &op.Tensors[t]
	info := tensorInfo{bits: int64(x.Type.Bits), static: x.Role == dnn.Weight}
	for d, row := range x.Access {
		di := dimInfo{extent: int64(x.Extents[d]), insert: 1}
		if x.Insert != nil {
			di.insert = int64(x.Insert[d])
		}
		for l, a := range row {
			if a != 0 {
				info.indexed |= 1 << l
				di.terms = append(di.terms, term{l, int64(max(a, -a))})
			}
		}
		if len(di.terms) == 2 {
			a, b := di.terms[0].coeff, di.terms[1].coeff
			g := gcd(a, b)
			di.gcd = [2]int64{a / g, b / g}
		}
		if len(di.terms) > 0 {
			info.dims = append(info.dims, di)
		}
	}
	info.shared = sharing(info.dims)
	return info
}

// sharing groups dimensions by the loops that they have in common, nil if none have any.
func sharing(dims []dimInfo) [][]int {
	group := make([]int, len(dims))
	any := false
	for i := range dims {
		group[i] = i
		for j := range i {
			common := slices.ContainsFunc(dims[i].terms, func(x term) bool {
				return slices.ContainsFunc(dims[j].terms, func(y term) bool { return x.loop == y.loop })
			})
			if common && group[j] != group[i] {
				any = true
				from := group[i]
				for k := range i + 1 {
					if group[k] == from {
						group[k] = group[j]
					}
				}
			}
		}
	}
	if !any {
		return nil
	}
	out := make([][]int, len(dims))
	for i, g := range group {
		out[g] = append(out[g], i)
	}
	return slices.DeleteFunc(out, func(g []int) bool { return g == nil })
}

// holes works out what is left between faults.
func (q *Problem) holes() {
	p := q.Platform
	if p.Array != nil {
		_, n := p.GoodColumns()
		q.cols = int64(n)
	}
	if p.Faults == nil {
		return
	}
	if len(p.Faults.Rows) > 0 {
		for r := range p.Array.Rows {
			if !slices.Contains(p.Faults.Rows, r) {
				q.row = append(q.row, r)
			}
		}
	}
	if len(p.Faults.Units) == 0 {
		return
	}
	q.good = make([]int64, p.Units()/p.Levels[0].FanOut)
	for g := range q.good {
		q.good[g] = int64(p.Levels[0].FanOut)
	}
	for _, u := range p.Faults.Units {
		g, n := 0, 1
		for i := 1; i < len(u); i++ {
			g, n = g+u[i]*n, n*p.Levels[i].FanOut
		}
		q.good[g]--
	}
	slices.SortFunc(q.good, func(a, b int64) int { return int(b - a) })
}

// usableRows are the rows below those that the technology reserves, without faults.
func (q *Problem) usableRows(tech *sram.Technology) int {
	a := q.Platform.Array
	n := a.Rows - tech.Reserved - a.SparesRows
	if q.row == nil {
		return n
	}
	good := 0
	for _, r := range q.row {
		if r < n {
			good++
		}
	}
	return good
}

// physical is the row of an array in which a row of the plan lies.
func (q *Problem) physical(row int) int {
	if q.row == nil {
		return row
	}
	return q.row[row]
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// elements returns the elements that a tile of the loops touches at most, wherever it
// lies: distinct ones, and none beyond the tensor.
func (t *tensorInfo) elements(e *[MaxLoops]int64) int64 {
	n := int64(1)
	if t.halo != nil {
		n = t.halo.elements(e)
	}
	if t.shared != nil {
		for _, group := range t.shared {
			box, loops, seen := int64(1), int64(1), uint16(0)
			for _, i := range group {
				d := &t.dims[i]
				box *= d.distinct(e)
				for _, x := range d.terms {
					if seen>>x.loop&1 == 0 {
						seen |= 1 << x.loop
						if n := e[x.loop]; loops > 1<<62/n {
							loops = 1 << 62
						} else {
							loops *= n
						}
					}
				}
			}
			if len(group) > 1 {
				box = min(box, loops)
			}
			n *= box
		}
		return n
	}
	for i := range t.dims {
		n *= t.dims[i].distinct(e)
	}
	return n
}

func (d *dimInfo) distinct(e *[MaxLoops]int64) int64 {
	var n int64
	switch {
	case d.insert > 1 || len(d.terms) > 2:
		span := int64(1)
		for _, t := range d.terms {
			span += t.coeff * (e[t.loop] - 1)
		}
		n = (span + d.insert - 1) / d.insert
	case len(d.terms) == 1:
		n = e[d.terms[0].loop]
	default:
		// Of the values a·i + b·j those have two forms that differ by (b, -a).
		x, y := e[d.terms[0].loop], e[d.terms[1].loop]
		n = x * y
		if p, q := x-d.gcd[1], y-d.gcd[0]; p > 0 && q > 0 {
			n -= p * q
		}
	}
	return min(n, d.extent)
}

func (q *Problem) newFunction(f *platform.Function) functionInfo {
	info := functionInfo{Function: f, dims: len(f.Dims), program: f.Program()}
	for d := range f.Dims {
		for o := range f.Operands {
			if f.Indexed(o, d) {
				info.indexes[o] |= 1 << d
			}
		}
		info.maxSize[d] = math.MaxUint32
		if f.Dims[d].Max > 0 {
			info.maxSize[d] = uint32(f.Dims[d].Max)
		}
	}
	for o := range f.Operands {
		rows, _ := f.Axis(o, "row")
		cols, _ := f.Axis(o, "column")
		for _, d := range rows {
			info.rowDims[d] = true
		}
		for _, d := range cols {
			info.colDims[d] = true
		}
	}
	for swap := range 2 {
		if swap == 1 && f.Symmetric() {
			continue
		}
		any := true
		for d := range f.Dims {
			info.legal[swap][SlotDim+d] = q.legalLoops(f, d, swap == 1)
		}
		all := uint16(1)<<q.loops - 1
		if q.Platform.Executor == platform.SIMDExecutor {
			// Accumulators beside each other: parallel loops that use one column of the bank.
			info.legal[swap][SlotInner] = all &^ q.reduction &^ q.tensors[operand(Src1, swap == 1)].indexed
		}
		own := !f.Program()
		for i := range q.levels {
			info.legal[swap][SlotLevel+i] = all
			if own = own || q.Platform.Levels[i].OwnProgram; !own {
				info.legal[swap][SlotLevel+i] &^= q.tensors[operand(Src2, swap == 1)].indexed
			}
		}
		info.legal[swap][SlotWave] = all
		if q.buffer > 0 {
			info.legal[swap][SlotTile] = all
		}
		info.ok[swap] = any
	}
	return info
}

func operand(o int, swap bool) int {
	if swap && o < Dst {
		return 1 - o
	}
	return o
}

// macTable has the programs of an array: a product, sums of each width, and their
// cycles.
type macTable struct {
	mul     *arith.Program
	add     [65]*arith.Program
	mulTime timing
	addTime [65]timing
	width   int // of a product
	signed  bool
	usable  int
	scratch int // rows beside the accumulator while it works, at least
	tech    *sram.Technology
}

// timing is what a program takes: cycles if nothing holds it up, and activations.
type timing struct{ cycles, activations int64 }

func newMACTable(ctx context.Context, q *Problem) (*macTable, error) {
	a := q.Platform.Array
	tech, err := sram.LookupTechnology(a.Technology)
	if err != nil {
		return nil, err
	}
	n, mixed := 0, q.Op.Mixed()
	for _, t := range q.Op.Operands() {
		b := t.Type.Bits
		if mixed && !t.Type.Signed {
			b++ // a sign that is always zero
		}
		n = max(n, b)
	}
	signed := q.Op.Tensors[0].Type.Signed || q.Op.Tensors[1].Type.Signed
	name := "uint"
	if signed {
		name = "int"
	}
	t := &macTable{signed: signed, tech: tech, usable: q.usableRows(tech), width: 2 * n}
	if n == 1 {
		n = 2
		t.width = 4
	}
	t.mul, err = arith.Build(ctx, arith.Spec{Op: fmt.Sprintf("%s%d.mulw", name, n), Tech: tech.Name, Rows: a.Rows})
	if err != nil {
		return nil, err
	}
	t.mulTime = q.time(t.mul.Kernel.Instrs, tech)
	top := q.maxWidth(t)
	if top > 64 {
		return nil, fmt.Errorf("%w: B5: sums of %d bits, expected at most 64", ErrInfeasible, top)
	}
	t.scratch = t.width + t.mul.Scratch
	for w := min(t.width, top); w <= top; w++ {
		t.add[w], err = arith.Build(ctx, arith.Spec{Op: fmt.Sprintf("int%d.add", w), Tech: tech.Name, Rows: a.Rows})
		if err != nil {
			return nil, err
		}
		t.addTime[w] = q.time(t.add[w].Kernel.Instrs, tech)
		t.scratch = max(t.scratch, t.width+t.add[w].Scratch)
	}
	return t, nil
}

// maxWidth is the width of the widest sum.
func (q *Problem) maxWidth(t *macTable) int { return max(q.accBits, t.width) }

// time counts the cycles and the activations of instructions.
func (q *Problem) time(ins []sram.Micro, tech *sram.Technology) timing {
	var count [16]int64 // by class
	for i := range ins {
		count[tech.Ops[ins[i].Op].Class]++
	}
	var t timing
	for _, class := range sram.Classes() {
		c, n := q.instruction(class)
		t.cycles += count[class] * c
		t.activations += count[class] * n
	}
	return t
}

// instruction returns the cycles and the activations of an instruction of a class.
func (q *Problem) instruction(class sram.Class) (cycles, activations int64) {
	a := q.Platform.Array
	c, ok := a.ClassCycles[class.String()]
	if !ok {
		c = max(1, a.DefaultCycles)
	}
	if h := a.Throttle; h != nil {
		n, ok := h.Class[class.String()]
		if !ok {
			n = max(1, h.Default)
		}
		activations = int64(n)
	}
	return int64(c), activations
}
