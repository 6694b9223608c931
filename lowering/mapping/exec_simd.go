package mapping

import (
	"context"
	"fmt"
	"sync/atomic"
)

// simdRun executes lanes beside banks as words: columns of banks, registers and the
// commands of all units of a channel in step. Every operand of a command is read from
// the bank or the register where the mapping put it.
type simdRun struct {
	q    *Problem
	m    *Mapping
	o    ExecuteOptions
	data [2][]int32
	out  []int64

	lanes, ks, accs int
	units           [][MaxLoops]int32
	bank, register  *indexer
	bankPart        *parts // k x lane
	registerPart    *parts // k x accumulator, for lane2 x lane
	perLane         bool   // the second source has an element for each lane
	result          *indexer
	resultPart      *parts // accumulator x lane
	waves, compute  atomic.Int64
}

func (q *Problem) executeSIMD(ctx context.Context, m *Mapping, o ExecuteOptions, operands [][]int32) (*Executed, error) {
	r := &simdRun{q: q, m: m, o: o, out: make([]int64, q.Op.Output().Elements())}
	f := &q.functions[m.Function]
	var par, red, levels []int
	for d := range f.dims {
		if f.Reduction(d) {
			red = append(red, d)
		} else {
			par = append(par, d)
		}
	}
	for i := range q.levels {
		levels = append(levels, SlotLevel+i)
	}
	lanes, ks, accs := q.digits(m, q.always, par...), q.digits(m, q.always, red...), q.digits(m, q.always, SlotInner)
	r.lanes, r.ks, r.accs = len(lanes), len(ks), len(accs)
	r.units = q.digits(m, q.always, levels...)
	r.perLane = len(f.Operands[Src2].Index) == len(f.Operands[Src1].Index)
	t1, t2 := m.Tensor(Src1), m.Tensor(Src2)
	r.data = [2][]int32{operands[t1], operands[t2]}
	padding := func(l int) bool { return q.reduces(l) && q.ragged(m, l) }
	r.bank, r.register = q.newIndexer(&q.Op.Tensors[t1], padding), q.newIndexer(&q.Op.Tensors[t2], padding)
	r.result = q.newIndexer(q.Op.Output(), func(l int) bool { return q.parallels(l) && q.ragged(m, l) })
	product := func(a, b [][MaxLoops]int32) (out [][MaxLoops]int32) {
		for _, x := range a {
			for _, y := range b {
				z := x
				for l := range z {
					z[l] += y[l]
				}
				out = append(out, z)
			}
		}
		return out
	}
	r.bankPart = r.bank.parts(product(ks, lanes))
	second := product(ks, accs)
	if r.perLane {
		second = product(second, lanes)
	}
	r.registerPart = r.register.parts(second)
	r.resultPart = r.result.parts(product(accs, lanes))
	err := parallel(ctx, o.Threads, len(r.units), o.Progress, func() func(int) error {
		return func(i int) error { return r.run(ctx, i) }
	})
	if err != nil {
		return nil, err
	}
	return &Executed{Output: r.out, Units: int64(len(r.units)), Waves: r.waves.Load(), Compute: r.compute.Load()}, nil
}

// place is what time, unit and offset contribute to each index.
func (x *indexer) place(into []int32, time, unit *[MaxLoops]int32, buf []int32) []int32 {
	n := len(x.access)
	x.part(time, buf)
	x.part(unit, into)
	for d := range n {
		into[d] += buf[d] + x.offset[d]
	}
	return into[:n]
}

// run takes a unit through all waves: its bank is filled first, then commands read
// columns of it and registers.
func (r *simdRun) run(ctx context.Context, unit int) error {
	q, d := r.q, r.q.Platform.SIMD
	u := &r.units[unit]
	var buf, into [16]int32

	// The bank: a column of lanes for each k of each tile, tiles in the order of time.
	tileOf := map[[MaxLoops]int32]int{}
	var bank []int32
	indexed := q.tensors[r.m.Tensor(Src1)].indexed
	key := func(t *[MaxLoops]int32) (k [MaxLoops]int32) {
		for l := range q.loops {
			if indexed>>l&1 == 1 {
				k[l] = t[l]
			}
		}
		return k
	}
	fill := func(time *[MaxLoops]int32) int {
		at := len(bank)
		base := r.bank.place(into[:], time, u, buf[:])
		for i := range r.ks * r.lanes {
			v := int32(0)
			if e := r.bank.at(base, r.bankPart, i); e >= 0 {
				v = r.data[0][e]
			}
			bank = append(bank, v)
		}
		r.o.spoil(bank[at:])
		return at
	}
	registers := make([]int32, len(r.registerPart.linear))
	acc := make([]int64, r.accs*r.lanes)
	lo, hi := int64(-1)<<(d.AccumulatorBits-1), int64(1)<<(d.AccumulatorBits-1)-1
	waves, compute := int64(0), int64(0)
	loaded := false
	var err error
	q.Waves(r.m, func(w, _ *Wave) bool {
		waves++
		time := q.timeLoops(r.m, w)
		k := key(&time)
		at, ok := tileOf[k]
		if !ok {
			at = fill(&time)
			tileOf[k] = at
		}
		if w.Load>>Src2&1 == 1 || !loaded {
			loaded = true
			base := r.register.place(into[:], &time, u, buf[:])
			inside := r.register.inside(base, r.registerPart)
			lin := 0
			if inside {
				lin = r.register.linearBase(base)
			}
			for i, c := range r.registerPart.linear {
				v := int32(0)
				if inside {
					v = r.data[1][lin+int(c)]
				} else if e := r.register.at(base, r.registerPart, i); e >= 0 {
					v = r.data[1][e]
				}
				registers[i] = v
			}
		}
		if w.Fresh {
			clear(acc)
		}
		for j := range r.ks {
			column := bank[at+j*r.lanes : at+(j+1)*r.lanes]
			for a := range r.accs {
				sums := acc[a*r.lanes : (a+1)*r.lanes]
				if r.perLane {
					second := registers[(j*r.accs+a)*r.lanes : (j*r.accs+a+1)*r.lanes]
					for i, v := range column {
						sums[i] += int64(v) * int64(second[i])
					}
				} else if s := int64(registers[j*r.accs+a]); s != 0 {
					for i, v := range column {
						sums[i] += int64(v) * s
					}
				}
				compute += int64(d.MACCycles)
			}
		}
		if w.Finish {
			base := r.result.place(into[:], &time, u, buf[:])
			for i, v := range acc {
				if v < lo || v > hi {
					err = fmt.Errorf("mapping: sum %d does not fit accumulators of %d bits", v, d.AccumulatorBits)
					return false
				}
				if e := r.result.at(base, r.resultPart, i); e >= 0 {
					// The host adds what units of one result have.
					r.add(e, v)
				}
			}
		}
		err = ctx.Err()
		return err == nil
	})
	if unit == 0 {
		r.waves.Store(waves)
		r.compute.Store(compute)
	}
	return err
}

func (r *simdRun) add(e int, v int64) { atomic.AddInt64(&r.out[e], v) }
