package sparse

import (
	"fmt"
	"math"
	"slices"
)

// Variant v0 processes rows: the frontier is broadcast in chunks that fit an SPU,
// which merges each of its rows with the chunk, a step an instruction. Both lists run
// to their ends. Products are executed where indices match; the steps between are
// counted exactly from the lengths of the lists.

// rowsFrontier collects the frontier in rising order of columns.
func (r *runner) rowsFrontier() []uint64 {
	var list []uint64
	for s := range r.spus {
		from := len(list)
		for i := range r.frontLen[s] {
			e, _ := r.frontier(s, i)
			list = append(list, e)
		}
		slices.Sort(list[from:])
	}
	return list
}

// mergeCycles is what an SPU with rows and nonzeros takes to merge them with a chunk
// of m frontier entries, of which some match: two instructions a row, one a step, two
// more where indices match.
func (t *timing) mergeCycles(rows, nonzeros, m, matches int64) (cycles, loads int64) {
	if rows == 0 || m == 0 {
		return 0, 0
	}
	up := func(words int64) int64 { return (words + t.mask) >> t.shift }
	loads = rows*up(2*m) + up(2*nonzeros+2*rows) + 2*up(rows)
	return rows*(m+2) + nonzeros + matches + loads*t.row, loads
}

// rowsProduct is steps 2 to 5 of v0.
func (r *runner) rowsProduct() error {
	p, m := r.p, r.p.Matrix
	list := r.rowsFrontier()
	r.step(1, 0, 0, 0, 0)
	spus := len(r.spus)
	if r.rowLoad == nil {
		r.rowLoad = make([]int64, spus)
		for _, old := range m.Idx {
			r.rowLoad[p.owner.of(p.RowTo[old])]++
		}
	}
	// The smallest free room of an SPU is the chunk.
	room := int64(math.MaxInt64)
	for s := range spus {
		rows := int64(p.RowFirst[s+1] - p.RowFirst[s])
		used := (2*r.rowLoad[s]+2*rows+4*rows+int64(r.m.Words()))/int64(r.m.Words()) + 4
		room = min(room, (int64(r.m.RowsPerSPU())-used)*int64(r.m.Words())/2)
	}
	if room < 1 {
		return infeasible("rows of an SPU leave no room for a chunk of the frontier")
	}
	cycles, loads := make([]int64, spus), make([]int64, spus)
	matches := make([]int64, spus)
	val := r.rowVal
	for len(list) > 0 {
		chunk := list[:min(int64(len(list)), room)]
		list = list[len(chunk):]
		clear(matches)
		for _, e := range chunk {
			c := p.ColFrom[e>>32]
			f := uint32(e)
			if r.ring.ID {
				f = c
			}
			for k := m.Ptr[c]; k < m.Ptr[c+1]; k++ {
				i := p.RowTo[m.Idx[k]]
				s := p.owner.of(i)
				matches[s]++
				a := uint32(1)
				if val != nil {
					a = val[k]
				} else if r.ring.Mul == OpMulF32 {
					a = math.Float32bits(1)
				}
				old := r.out[i]
				if old == r.ring.Clean && r.checkClean {
					r.appendClean(s, i)
				}
				r.out[i] = acc(r.ring.Acc, r.ring.Clean, old, mul(r.ring.Mul, f, a))
			}
		}
		for s := range spus {
			c, l := r.time.mergeCycles(int64(p.RowFirst[s+1]-p.RowFirst[s]), r.rowLoad[s], int64(len(chunk)), matches[s])
			cycles[s] += c
			loads[s] += l
			r.it.Nonzeros += matches[s]
			r.it.Pairs.Local += matches[s]
		}
	}
	var busiest, sum, sumLoads int64
	for s := range spus {
		busiest, sum, sumLoads = max(busiest, cycles[s]), sum+cycles[s], sumLoads+loads[s]
	}
	r.counters.ALU += 2 * r.it.Nonzeros
	r.counters.Compare += sum
	r.it.Rounds++
	r.step(2, r.link(busiest), busiest, sum, sumLoads)
	if want := r.activeNonzeros(); r.it.Nonzeros != want {
		return fmt.Errorf("%w: %d nonzeros matched, the active columns have %d", ErrCheck, r.it.Nonzeros, want)
	}
	return nil
}

// rowsGather finds the outputs that are not clean: v0 looks at all of them.
func (r *runner) rowsGather(s int, loads *uint32) (cycles int64) {
	n := int64(r.p.RowFirst[s+1] - r.p.RowFirst[s])
	r.tempLen[s] = 0
	if n == 0 {
		return 0
	}
	base := int64(r.p.RowFirst[s]) - int64(r.p.LongRows)
	list := r.cleanList(s)[:r.cleanLen[s]]
	slices.Sort(list)
	for _, i := range list {
		if v := r.out[i]; v != r.ring.Clean {
			r.temp[base+int64(r.tempLen[s])] = uint64(i)<<32 | uint64(v)
			r.tempLen[s]++
			r.out[i] = r.ring.Clean
		}
	}
	r.cleanLen[s] = 0
	rows := (n + r.time.mask) >> r.time.shift
	results := (2*int64(r.tempLen[s]) + r.time.mask) >> r.time.shift
	*loads += uint32(rows + results + 1)
	return 1 + 2*n + 2*int64(r.tempLen[s]) + (rows+results+1)*r.time.row
}

// rowsSend sends the entries of the next frontier down, from where they are broadcast.
func (r *runner) rowsSend() error {
	var sent int64
	for s := range r.spus {
		base := int64(r.p.RowFirst[s]) - int64(r.p.LongRows)
		for i := range r.frontLen[s] {
			r.temp[base+int64(i)], _ = r.frontier(s, i)
		}
		r.tempLen[s] = r.frontLen[s]
		sent += int64(r.frontLen[s])
	}
	before := r.it.Pairs.Reduced
	err := r.sendDown(r.collect, sent, func(*flit) {}, func(s int) { r.tempLen[s] = 0 })
	r.it.Pairs.Reduced = before
	return err
}
