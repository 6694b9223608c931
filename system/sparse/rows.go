package sparse

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Variant v0 processes rows: the frontier is broadcast in chunks that fit an SPU,
// which merges each of its rows with the chunk. Both lists run to their ends. Products
// are executed where indices match; the instructions between are counted exactly from
// the lengths of the lists, and interpreted on some SPUs.

// rowsFrontier collects the frontier in rising order of columns.
func (r *runner) rowsFrontier() []uint64 {
	var list []uint64
	r.withFront.each(func(s int) {
		from := len(list)
		for i := range r.frontLen[s] {
			e, _ := r.frontier(s, i)
			list = append(list, e)
		}
		slices.Sort(list[from:])
	})
	return list
}

// mergeCycles is what an SPU with rows and nonzeros takes to merge them with a chunk
// of m frontier entries, of which some match, by [MergeProgram]: an instruction for a
// frontier entry, two for a nonzero, five where both match, and five a row.
func (t *timing) mergeCycles(rows, nonzeros, m, matches int64) (cycles, loads int64) {
	if rows == 0 || m == 0 {
		return 0, 0
	}
	up := func(words int64) int64 { return (words + t.mask) >> t.shift }
	cycles = rows*(m+5) + 2*nonzeros + 2*matches
	chunk := 2*m + 1
	if up(chunk) == 1 { // it stays in its latch
		loads = 1
		cycles += (rows - 1) * t.hit[-chunk&t.mask]
	} else {
		loads = rows * up(chunk)
	}
	loads += up(2*nonzeros+rows) + up(rows) + 1
	cycles += loads * t.row
	if t.serial {
		cycles += (up(rows) - 1) * t.row
	}
	return cycles, loads
}

// rowsProduct is steps 2 to 5 of v0.
func (r *runner) rowsProduct() error {
	p, m := r.p, r.p.Matrix
	list := r.rowsFrontier()
	r.step(1, 0, 0, 0, 0)
	spus := len(r.spus)
	if r.shadow != nil {
		r.shadow.makeRows()
	}
	// The smallest free room of an SPU is the chunk, less the index that ends it.
	room := (int64(p.Layout.Received)*int64(r.m.Words()) - 1) / 2
	matches := make([]int64, spus)
	val := r.rowVal
	for len(list) > 0 {
		if err := r.ctx.Err(); err != nil {
			return context.Cause(r.ctx)
		}
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
		busiest, sum, loads := r.eachOf(r.m.Banks(), func(g int) (busiest, sum, loads int64) {
			for s := g * r.pairs; s < (g+1)*r.pairs; s++ {
				c, l := r.time.mergeCycles(int64(p.RowFirst[s+1]-p.RowFirst[s]), p.RowLoad[s], int64(len(chunk)), matches[s])
				busiest, sum, loads = max(busiest, c), sum+c, loads+l
			}
			return busiest, sum, loads
		})
		if r.shadow != nil {
			r.shadow.merge(chunk, matches)
		}
		var matched int64
		for s, n := range matches {
			matched += n
			r.counters.Compare += int64(p.RowFirst[s+1]-p.RowFirst[s])*int64(len(chunk)+2) + 2*p.RowLoad[s] - n
		}
		r.it.Nonzeros += matched
		r.it.Pairs.Local += matched
		r.it.Rounds++
		r.step(2, r.link(busiest), busiest, sum, loads)
	}
	r.counters.ALU += 2 * r.it.Nonzeros
	if want := r.activeNonzeros(); r.it.Nonzeros != want {
		return fmt.Errorf("%w: %d nonzeros matched, the active columns have %d", ErrCheck, r.it.Nonzeros, want)
	}
	return nil
}

// rowsGather finds the outputs that are not clean: v0 looks at all of them, by
// [GatherRowsProgram].
func (r *runner) rowsGather(s int, loads *uint32) (cycles int64) {
	t := &r.time
	n := int64(r.p.RowFirst[s+1] - r.p.RowFirst[s])
	r.tempLen[s] = 0
	if n == 0 {
		return 0
	}
	base := int64(r.p.RowFirst[s]) - int64(r.p.LongRows)
	list := r.cleanList(s)[:r.cleanLen[s]]
	slices.Sort(list)
	w2 := writer{row: noRow}
	rows := (n + t.mask) >> t.shift
	*loads += uint32(rows)
	cycles = 2*n + rows*t.row
	words, dirty := int64(0), int64(noRow)
	for _, i := range list {
		v := r.out[i]
		if v == r.ring.Clean {
			continue
		}
		if row := int64(i-r.p.RowFirst[s]) >> t.shift; row != dirty {
			if t.serial && dirty != noRow {
				cycles += t.row // leaving the one before
			}
			dirty = row
		}
		cycles += 1 + t.put(&w2, words, loads) + t.put(&w2, words+1, loads)
		words += 2
		r.temp[base+int64(r.tempLen[s])] = uint64(i)<<32 | uint64(v)
		r.tempLen[s]++
		r.out[i] = r.ring.Clean
	}
	r.cleanLen[s] = 0
	if t.serial && dirty != noRow && dirty != rows-1 {
		cycles += t.row
	}
	return cycles + t.flush(dirty == rows-1, loads) + t.flush(w2.dirty, loads)
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
	if r.shadow != nil {
		for s := range r.spus {
			r.shadow.sendFrontier(s)
		}
	}
	before := r.it.Pairs.Reduced
	err := r.sendDown(&r.whole, r.collect, sent, func(flit) {}, func(s int) { r.tempLen[s] = 0 })
	r.it.Pairs.Reduced = before
	return err
}
