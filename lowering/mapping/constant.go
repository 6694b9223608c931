package mapping

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync"

	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/sram"
)

// A function whose second source has its place in the program multiplies by constants:
// a weight becomes additions and subtractions of the first source, one for each digit of the
// weight in canonical signed form that is not zero. Zeros take no instructions and weights
// no rows. All units of a level that do not run programs of their own share one stream.

// digit is a power of two that a weight has, or lacks.
type digit struct {
	shift int
	minus bool
}

// signedDigits are the digits of v in canonical signed form (Reitwiesner), of which no two
// neighbours are other than zero: the fewest there can be.
func signedDigits(v int64) []digit {
	var out []digit
	for s := 0; v != 0; s++ {
		if v&1 == 1 {
			d := digit{s, v&3 == 3}
			out = append(out, d)
			if d.minus {
				v++
			} else {
				v--
			}
		}
		v >>= 1
	}
	return out
}

// constants are the weights of a problem that may be instructions.
type constants struct {
	tensor  int
	values  []int32
	count   map[int32]int64 // of values
	sub     [65]*arith.Program
	scratch int // of any sum or difference
	low     int64

	mu    sync.Mutex
	costs map[costKey]*valueCosts
	known map[tilingKey]int64
}

// costKey is what the time of an addition depends on: the width of sums, and the units
// that share activations.
type costKey struct {
	column int
	active int64
}

// valueCosts are the cycles and instructions of a product, by the value of the weight less
// the least, and of all weights together.
type valueCosts struct {
	cycles, instrs []int64
	sum, instrSum  int64
}

// tilingKey is what the time of all products depends on.
type tilingKey struct {
	cost   costKey
	factor [NumSlots][MaxLoops]uint32
}

// MaxConstants is how many weights of an operator may be instructions.
const MaxConstants = 1 << 24

// Most waves of a mapping whose weights are instructions, and most tilings that are remembered.
const (
	maxConstantWaves = 1 << 22
	maxTilings       = 1 << 14
)

// newConstants prepares weights as instructions, nil where no function takes them or
// their values are not given.
func newConstants(ctx context.Context, q *Problem) (*constants, error) {
	uses := false
	for i := range q.Platform.Functions {
		uses = uses || q.Platform.Functions[i].Program()
	}
	if !uses || q.Options.Weights == nil || len(q.Options.Weights) > MaxConstants {
		return nil, nil
	}
	c := &constants{tensor: -1, values: q.Options.Weights, count: map[int32]int64{}, costs: map[costKey]*valueCosts{}, known: map[tilingKey]int64{}}
	for t, x := range q.Op.Operands() {
		if x.Role == dnn.Weight && x.Elements() == int64(len(c.values)) && whole(q.Op, &x) {
			c.tensor = t
			c.low, _ = x.Type.Range()
		}
	}
	if c.tensor < 0 {
		return nil, nil
	}
	for _, v := range c.values {
		c.count[v]++
	}
	a, top := q.Platform.Array, q.maxWidth(q.mac)
	for w := 2; w <= top; w++ {
		var err error
		if q.mac.add[w] == nil {
			if q.mac.add[w], err = arith.Build(ctx, arith.Spec{Op: fmt.Sprintf("int%d.add", w), Tech: q.mac.tech.Name, Rows: a.Rows}); err != nil {
				return nil, err
			}
		}
		if c.sub[w], err = arith.Build(ctx, arith.Spec{Op: fmt.Sprintf("int%d.sub", w), Tech: q.mac.tech.Name, Rows: a.Rows}); err != nil {
			return nil, err
		}
		c.scratch = max(c.scratch, q.mac.add[w].Scratch, c.sub[w].Scratch)
	}
	return c, nil
}

// whole reports whether every iteration reads an element of a tensor: none lies beside it.
func whole(o *dnn.Operator, t *dnn.Tensor) bool {
	for d, row := range t.Access {
		lo, hi := t.Offset[d], t.Offset[d]
		for l, a := range row {
			lo, hi = lo+min(0, a*(o.Loops[l].Extent-1)), hi+max(0, a*(o.Loops[l].Extent-1))
		}
		if lo < 0 || hi >= t.Extents[d] || t.Insert != nil && t.Insert[d] > 1 {
			return false
		}
	}
	return true
}

// streams returns how many programs run beside each other: units whose weights differ.
func (q *Problem) streams(m *Mapping) int64 {
	n := int64(1)
	for l := range q.loops {
		if q.tensors[m.Tensor(Src2)].indexed>>l&1 == 1 {
			for i := range q.levels {
				n *= int64(m.Factor[SlotLevel+i][l])
			}
		}
	}
	return n
}

// passes returns how often all weights come round: loops in time that they do not depend on.
func (q *Problem) passes(m *Mapping) int64 {
	n := int64(1)
	for l := range q.loops {
		if q.tensors[m.Tensor(Src2)].indexed>>l&1 == 0 {
			n *= int64(m.Factor[SlotWave][l]) * int64(m.Factor[SlotTile][l])
		}
	}
	return n
}

// costOf returns what products take, by the value of the weight.
func (q *Problem) costOf(k costKey) *valueCosts {
	c := q.consts
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.costs[k]; v != nil {
		return v
	}
	_, hi := q.Op.Tensors[c.tensor].Type.Range()
	v := &valueCosts{cycles: make([]int64, hi-c.low+1), instrs: make([]int64, hi-c.low+1)}
	for w := c.low; w <= hi; w++ {
		for _, d := range signedDigits(w) {
			ins := q.digitInstrs(k.column, d, q.anywhere(), 0, true)
			v.cycles[w-c.low] += q.throttled(q.time(ins, q.mac.tech), k.active)
			v.instrs[w-c.low] += int64(len(ins))
		}
	}
	for w, n := range c.count {
		v.sum += n * v.cycles[int64(w)-c.low]
		v.instrSum += n * v.instrs[int64(w)-c.low]
	}
	c.costs[k] = v
	return v
}

// digitInstrs adds or subtracts a word, shifted by a digit, to the sum of column bits.
func (q *Problem) digitInstrs(column int, d digit, x word, scratch int, signed bool) []sram.Micro {
	width := column - d.shift
	p := q.mac.add[width]
	if d.minus {
		p = q.consts.sub[width]
	}
	return q.place(p, []word{{base: d.shift, width: width, sign: width}, x}, []bool{true, signed}, d.shift, scratch)
}

// anywhere is a word that is not where sums are, for programs whose length is wanted.
func (q *Problem) anywhere() word { return word{base: q.Platform.Array.Rows - 1, width: 1, sign: 1} }

// least returns cycles below which the products of a mapping cannot be: the weights shared
// out evenly among streams.
func (q *Problem) least(s *shape, column int) int64 {
	v := q.costOf(costKey{column, s.spatial[0]})
	return q.passes(s.m) * ceilDiv(v.sum, q.streams(s.m))
}

// constantCycles returns the cycles of all products: in each wave those of the stream that
// takes longest.
func (q *Problem) constantCycles(s *shape, column int) int64 {
	m, c := s.m, q.consts
	key := tilingKey{cost: costKey{column, s.spatial[0]}}
	v := q.costOf(key.cost)
	if q.streams(m) == 1 {
		return q.passes(m) * v.sum
	}
	t := &q.Op.Tensors[c.tensor]
	indexed := q.tensors[c.tensor].indexed
	for sl := range NumSlots {
		for l := range q.loops {
			if indexed>>l&1 == 1 {
				key.factor[sl][l] = m.Factor[sl][l]
			}
		}
	}
	c.mu.Lock()
	total, ok := c.known[key]
	c.mu.Unlock()
	if ok {
		return q.passes(m) * total
	}
	// Every weight belongs to a wave and a stream: places in mixed radix, loop by loop.
	type contribution struct {
		sum  []int64 // of each index
		step int     // from one weight to the next
	}
	var parts []contribution
	waves, streams := int64(1), q.streams(m)
	stream := int64(1)
	first := 0
	stride := 1
	steps := make([]int, q.loops)
	for d := len(t.Extents) - 1; d >= 0; d-- {
		first += t.Offset[d] * stride
		for l, a := range t.Access[d] {
			steps[l] += a * stride
		}
		stride *= t.Extents[d]
	}
	for l := range q.loops {
		if indexed>>l&1 == 0 {
			continue
		}
		below, spatial := m.Below(l, SlotLevel), m.Below(l, SlotWave)/m.Below(l, SlotLevel)
		p := contribution{step: steps[l]}
		for i := range int64(q.extent[l]) {
			p.sum = append(p.sum, i/(below*spatial)*waves*streams+i/below%spatial*stream)
		}
		parts = append(parts, p)
		waves, stream = waves*int64(m.Factor[SlotWave][l])*int64(m.Factor[SlotTile][l]), stream*spatial
	}
	sums := make([]int64, waves*streams)
	var walk func(k, at int, sum int64)
	walk = func(k, at int, sum int64) {
		p := &parts[k]
		if k < len(parts)-1 {
			for i := range p.sum {
				walk(k+1, at+i*p.step, sum+p.sum[i])
			}
			return
		}
		for _, x := range p.sum {
			sums[sum+x] += v.cycles[int64(c.values[at])-c.low]
			at += p.step
		}
	}
	walk(0, first, 0)
	for w := range waves {
		most := int64(0)
		for _, x := range sums[w*streams : (w+1)*streams] {
			most = max(most, x)
		}
		total += most
	}
	c.mu.Lock()
	if len(c.known) < maxTilings {
		c.known[key] = total
	}
	c.mu.Unlock()
	return q.passes(m) * total
}

// Instructions says what became of weights as instructions.
type Instructions struct {
	Weights, Zeros int64
	Bits, Digits   int64 // that are one, and digits of the canonical signed form that are not zero
	Sums           int64 // additions and subtractions that all units execute
	Cycles         int64 // of products
	Dense          int64 // of products if every bit of every weight took an addition
}

// Instructed reports whether the weights of a mapping are instructions.
func (q *Problem) Instructed(m *Mapping) bool { return q.functions[m.Function].program }

// Instructions counts, nil where weights of a mapping are operands.
func (q *Problem) Instructions(m *Mapping) *Instructions {
	s := shape{m: m}
	if q.shape(&s) != Legal || !s.f.Program() {
		return nil
	}
	r := q.rows(&s)
	out := &Instructions{Cycles: q.constantCycles(&s, r.column)}
	typ := q.Op.Tensors[q.consts.tensor].Type
	for v, n := range q.consts.count {
		out.Weights += n
		if v == 0 {
			out.Zeros += n
		}
		out.Bits += n * int64(bits.OnesCount32(uint32(v)&(1<<typ.Bits-1)))
		out.Digits += n * int64(len(signedDigits(int64(v))))
	}
	units := int64(1)
	for i := range q.levels {
		units *= s.spatial[i]
	}
	out.Sums = q.passes(m) * out.Digits * units / q.streams(m)
	dense := int64(0)
	for b := range typ.Bits {
		ins := q.digitInstrs(r.column, digit{b, typ.Signed && b == typ.Bits-1}, q.anywhere(), 0, true)
		dense += q.throttled(q.time(ins, q.mac.tech), s.spatial[0])
	}
	out.Dense = q.passes(m) * ceilDiv(out.Weights*dense, q.streams(m))
	return out
}

// constantKernels are the additions and subtractions of a mapping, placed on rows when they
// are first executed.
type constantKernels struct {
	q    *Problem
	m    *Mapping
	rows *rowPlan
	run  bool // not only timed
	mu   sync.Mutex
	made map[kernelKey]*placedKernel
}

type kernelKey struct {
	digit
	word, copy int
}

// kernel returns the sum or difference of word j of the first source.
func (k *constantKernels) kernel(d digit, j, copy int) (*placedKernel, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := kernelKey{d, j, copy}
	if p := k.made[key]; p != nil {
		return p, nil
	}
	x := k.rows.sourceWord(0, j, copy)
	ins := k.q.digitInstrs(k.rows.column, d, x, k.rows.temp, k.q.Op.Tensors[k.m.Tensor(0)].Type.Signed)
	p, err := k.q.compile(ins, []word{{width: k.rows.column, sign: k.rows.column}, x}, "sum of a digit", k.run)
	if err == nil {
		k.made[key] = p
	}
	return p, err
}

// weight returns the weight of word j of a unit at a time, 0 for padding.
func (q *Problem) weight(x *indexer, time, unit, word *[MaxLoops]int32) int64 {
	for l := range q.loops {
		if int64(time[l]+unit[l]+word[l]) >= int64(q.extent[l]) && q.tensors[q.consts.tensor].indexed>>l&1 == 1 {
			return 0
		}
	}
	at := 0
	for d := range x.t.Extents {
		n := x.offset[d]
		for l, a := range x.access[d] {
			n += a * (time[l] + unit[l] + word[l])
		}
		if n < 0 || n >= x.bound[d] {
			return 0
		}
		at += int(n) * x.stride[d]
	}
	return int64(q.consts.values[at])
}

// programOf calls f with the digits of every word of a unit, in the order of their execution.
func (q *Problem) programOf(x *indexer, words [][MaxLoops]int32, time, unit *[MaxLoops]int32, f func(j int, d digit) error) error {
	for j := range words {
		for _, d := range signedDigits(q.weight(x, time, unit, &words[j])) {
			if err := f(j, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// waveClock returns the cycles of the products of a wave by the programs of all streams.
func (q *Problem) waveClock(m *Mapping, code *arrayCode, active int64) func(w *Wave) (int64, error) {
	indexed := q.tensors[q.consts.tensor].indexed
	levels := make([]int, q.levels)
	for i := range levels {
		levels[i] = SlotLevel + i
	}
	units := q.digits(m, func(l int) bool { return indexed>>l&1 == 1 }, levels...)
	words := q.digits(m, q.always, code.rowDims...)
	x := q.newIndexer(&q.Op.Tensors[q.consts.tensor], func(int) bool { return false })
	return func(w *Wave) (int64, error) {
		time := q.timeLoops(m, w)
		most := int64(0)
		for u := range units {
			n := int64(0)
			err := q.programOf(x, words, &time, &units[u], func(j int, d digit) error {
				k, err := code.constants.kernel(d, j, 0)
				if err == nil {
					n += q.throttled(k.time, active)
				}
				return err
			})
			if err != nil {
				return 0, err
			}
			most = max(most, n)
		}
		return most, nil
	}
}

// errNoConstants is of functions whose weights are instructions, where there are none.
var errNoConstants = errors.New("weights are instructions: the operator needs one static operand, with values")
