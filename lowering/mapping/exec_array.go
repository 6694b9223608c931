package mapping

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/bitsched/bitsched/sram"
)

// arrayRun executes arrays in clusters: units whose sums are added together. Clusters
// do not touch each other, so that each runs through all waves by itself, in cells
// that stay in the processor's cache; several small ones share a group of bitlines.
type arrayRun struct {
	q    *Problem
	m    *Mapping
	code *arrayCode
	data [2][]int32
	out  []int64
	o    ExecuteOptions

	cols     int               // bitlines of a unit that are simulated
	first    int               // words of them before those that hold something
	lanes    int               // units of a group; 0 where a unit takes several groups
	span     int               // groups of a unit, at least 1
	members  [][MaxLoops]int32 // units of a cluster, by their place
	clusters [][MaxLoops]int32
	batch    int // clusters at a time

	source [2]*indexer
	column [2]*parts // of the columns
	word   [2]*parts // of the words of a bitline
	result *indexer
	outCol *parts

	covered []bool // nil: all
	waves   int64
	compute atomic.Int64
	rowOps  atomic.Int64
	sums    atomic.Int64

	rowPlaces [][MaxLoops]int32 // of the words of a bitline
	programs  []int64           // cycles of the longest program of each wave; nil: weights are operands
	mu        sync.Mutex        // of programs
}

func (q *Problem) executeArray(ctx context.Context, m *Mapping, o ExecuteOptions, operands [][]int32) (*Executed, error) {
	code, err := q.newArrayCode(m, true)
	if err != nil {
		return nil, err
	}
	o.spoil(code)
	r := &arrayRun{q: q, m: m, code: code, o: o, out: make([]int64, q.Op.Output().Elements())}
	f := code.shape.f
	var colPar, colRed, rowRed, levels []int
	for d := range f.dims {
		switch {
		case !f.Reduction(d):
			colPar = append(colPar, d)
		case f.colDims[d]:
			colRed = append(colRed, d)
		default:
			rowRed = append(rowRed, d)
		}
	}
	for i := range q.levels {
		levels = append(levels, SlotLevel+i)
	}
	from, _ := q.Platform.GoodColumns()
	r.first = from / 64
	used := int(code.m*code.k2) + from
	if cols := q.Platform.Array.Cols; cols > sram.GroupCols {
		r.span = (used + sram.GroupCols - 1) / sram.GroupCols
		r.cols, r.lanes = r.span*sram.GroupCols, 0
	} else { // whole words, as many units as fill a group
		for r.cols = 64; r.cols < cols; {
			r.cols *= 2
		}
		r.lanes, r.span = sram.GroupCols/r.cols, 1
	}
	columns := q.digits(m, q.always, append(colPar, colRed...)...)
	words := q.digits(m, q.always, rowRed...)
	r.rowPlaces = words
	if code.constants != nil {
		if q.streams(m) > 1 {
			r.lanes = min(r.lanes, 1) // a program for each unit
		}
		var c Cost
		q.Cost(m, &c)
		r.programs = make([]int64, c.Waves)
	}
	r.members = q.digits(m, q.reduces, levels...)
	r.clusters = q.digits(m, q.parallels, levels...)
	for i := range 2 {
		t := m.Tensor(i)
		r.data[i] = operands[t]
		r.source[i] = q.newIndexer(&q.Op.Tensors[t], func(l int) bool { return q.reduces(l) && q.ragged(m, l) })
		r.column[i] = r.source[i].parts(columns)
		r.word[i] = r.source[i].parts(words)
	}
	r.result = q.newIndexer(q.Op.Output(), func(l int) bool { return q.parallels(l) && q.ragged(m, l) })
	r.outCol = r.result.parts(q.digits(m, q.always, colPar...))
	r.batch = 1
	if r.lanes > 0 {
		r.batch = max(1, r.lanes/len(r.members))
	}
	n := (len(r.clusters) + r.batch - 1) / r.batch
	every := 1
	if o.Fidelity == WordLevel {
		every = o.Every
		if every < 1 {
			every = 64
		}
	}
	wordUnits := atomic.Int64{}
	if o.Sample > 1 {
		r.covered = make([]bool, len(r.out))
	}
	err = parallel(ctx, o.Threads, n, o.Progress, func() func(int) error {
		w := r.newWorker()
		return func(i int) error {
			if o.Sample > 1 && i%o.Sample != 0 {
				return nil
			}
			if i%every == 0 {
				return w.run(ctx, i)
			}
			wordUnits.Add(int64(min(r.batch, len(r.clusters)-i*r.batch) * len(r.members)))
			return w.elements(ctx, i)
		}
	})
	if err != nil {
		return nil, err
	}
	if code.constants != nil {
		total := int64(0)
		if every > 1 || o.Sample > 1 { // what was not executed by bits is counted
			total = q.constantCycles(&code.shape, code.rows.column)
		} else {
			for _, c := range r.programs {
				total += c
			}
		}
		r.compute.Store(total)
	}
	all := int64(len(r.clusters) * len(r.members))
	if o.Sample > 1 {
		all = 0
		for i := 0; i < n; i += o.Sample {
			all += int64(min(r.batch, len(r.clusters)-i*r.batch) * len(r.members))
		}
	}
	return &Executed{
		Output: r.out, Covered: r.covered, Units: all - wordUnits.Load(), Word: wordUnits.Load(), Waves: r.waves,
		Compute: r.compute.Load(), RowOps: r.rowOps.Load(), Sums: r.sums.Load(),
	}, nil
}

// elements computes the sums of a batch of clusters element by element: what its units
// would add, read from where the mapping puts it, without bits.
func (w *arrayWorker) elements(ctx context.Context, batch int) error {
	q := w.q
	first := batch * w.batch
	n := min(w.batch, len(w.clusters)-first)
	cols := len(w.outCol.linear)
	sums := make([]int64, cols)
	words := len(w.word[0].linear)
	groups := len(w.column[0].linear) / cols
	time := [2][]int32{make([]int32, len(w.source[0].access)), make([]int32, len(w.source[1].access))}
	base := [2][]int32{make([]int32, len(w.source[0].access)), make([]int32, len(w.source[1].access))}
	unit := [2][]int32{make([]int32, len(w.source[0].access)), make([]int32, len(w.source[1].access))}
	outTime, outBase := make([]int32, len(w.result.access)), make([]int32, len(w.result.access))
	for c := range n {
		root := w.clusters[first+c]
		clear(sums)
		var err error
		q.Waves(w.m, func(wave, _ *Wave) bool {
			loops := q.timeLoops(w.m, wave)
			if wave.Fresh {
				clear(sums)
			}
			for _, member := range w.members {
				u := root
				for l := range u {
					u[l] += member[l]
				}
				for j := range words {
					for o := range 2 {
						x := w.source[o]
						x.part(&loops, time[o])
						x.part(&u, unit[o])
						for d := range base[o] {
							base[o][d] = x.offset[d] + time[o][d] + unit[o][d] + w.word[o].dims[d][j]
						}
					}
					for g := range groups {
						for i := range cols {
							a, b := w.source[0].at(base[0], w.column[0], g*cols+i), w.source[1].at(base[1], w.column[1], g*cols+i)
							if a >= 0 && b >= 0 {
								sums[i] += int64(w.data[0][a]) * int64(w.data[1][b])
							}
						}
					}
				}
			}
			if wave.Finish {
				w.result.part(&loops, outTime)
				w.result.part(&root, outBase)
				for d := range outBase {
					outBase[d] += outTime[d] + w.result.offset[d]
				}
				for i, v := range sums {
					if e := w.result.at(outBase, w.outCol, i); e >= 0 {
						w.give(e, v)
					}
				}
			}
			err = ctx.Err()
			return err == nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// arrayWorker has the cells of a batch.
type arrayWorker struct {
	*arrayRun
	groups   []sram.Group
	units    [][MaxLoops]int32 // of the batch
	unitPart [2][][]int32
	rootPart [][]int32
	copyOf   [2]int
	buf      []uint64 // a row of a unit
	moved    []uint64
	vals     [64]uint32
	wide     [64]int64
	failed   uint64
}

func (r *arrayRun) newWorker() *arrayWorker {
	w := &arrayWorker{arrayRun: r}
	units := r.batch * len(r.members)
	groups := units * r.span
	if r.lanes > 0 {
		groups = (units + r.lanes - 1) / r.lanes
	}
	w.groups = sram.NewGroups(groups, r.q.Platform.Array.Rows)
	w.buf, w.moved = make([]uint64, r.cols/64), make([]uint64, r.cols/64)
	return w
}

// words returns the k-th word of a row of a unit.
func (w *arrayWorker) words(unit, row, k int) *uint64 {
	row, k = w.q.physical(row), k+w.first
	if w.lanes > 0 {
		return &w.groups[unit/w.lanes].Row(row)[unit%w.lanes*(w.cols/64)+k]
	}
	return &w.groups[unit*w.span+k/sram.GroupWords].Row(row)[k%sram.GroupWords]
}

// run takes a batch of clusters through all waves.
func (w *arrayWorker) run(ctx context.Context, batch int) error {
	q, code := w.q, w.code
	first := batch * w.batch
	n := min(w.batch, len(w.clusters)-first)
	w.units = w.units[:0]
	for c := range n {
		for _, member := range w.members {
			u := w.clusters[first+c]
			for l := range u {
				u[l] += member[l]
			}
			w.units = append(w.units, u)
		}
	}
	for o := range 2 {
		w.unitPart[o] = w.unitPart[o][:0]
		for i := range w.units {
			p := make([]int32, len(w.source[o].access))
			w.source[o].part(&w.units[i], p)
			w.unitPart[o] = append(w.unitPart[o], p)
		}
	}
	w.rootPart = w.rootPart[:0]
	for c := range n {
		p := make([]int32, len(w.result.access))
		w.result.part(&w.clusters[first+c], p)
		w.rootPart = append(w.rootPart, p)
	}
	groups := (len(w.units)*w.span + max(w.lanes, 1) - 1) / max(w.lanes, 1)
	active := int64(1)
	for l := range q.loops {
		active *= int64(w.m.Factor[SlotLevel][l])
	}
	compute, rowOps, waves, sums := int64(0), int64(0), int64(0), int64(0)
	var programs []int64
	if code.constants != nil {
		programs = make([]int64, len(w.programs))
	}
	w.copyOf = [2]int{}
	begun := [2]bool{}
	var err error
	q.Waves(w.m, func(wave, _ *Wave) bool {
		waves++
		for o := range 2 {
			if o == Src2 && programs != nil {
				continue
			}
			// What stays in units was written there before the first inference.
			if wave.Load>>o&1 == 1 || !begun[o] {
				if begun[o] {
					w.copyOf[o] = (w.copyOf[o] + 1) % code.rows.copies[o]
				}
				begun[o] = true
				w.load(o, wave)
			}
		}
		if wave.Fresh {
			for _, g := range w.groups[:groups] {
				for r := range code.rows.column {
					*g.Row(q.physical(r)) = [sram.GroupWords]uint64{}
				}
			}
		}
		w.fail(groups)
		if programs != nil {
			var ops int64
			if programs[waves-1], ops, err = w.multiply(wave, active); err != nil {
				return false
			}
			sums += ops
		}
		for j := range code.mac {
			k := code.mac[j][w.copyOf[0]][w.copyOf[1]]
			for _, g := range w.groups[:groups] {
				k.code.RunGroup(g)
			}
			compute += q.throttled(k.time, active)
			rowOps += int64(len(k.code.Kernel().Instrs)) * int64(groups) * sram.GroupCols
		}
		if wave.Finish {
			for i := range code.rounds {
				r := &code.rounds[i]
				w.move(r, n)
				if r.extend {
					for _, g := range w.groups[:groups] {
						if q.mac.signed {
							*g.Row(q.physical(r.width)) = *g.Row(q.physical(r.width - 1))
						} else {
							*g.Row(q.physical(r.width)) = [sram.GroupWords]uint64{}
						}
					}
				}
				for _, g := range w.groups[:groups] {
					r.add.code.RunGroup(g)
				}
				rowOps += int64(len(r.add.code.Kernel().Instrs)) * int64(groups) * sram.GroupCols
			}
			w.drain(wave, n)
		}
		if err = ctx.Err(); err != nil {
			return false
		}
		return true
	})
	w.rowOps.Add(rowOps)
	w.sums.Add(sums)
	if programs != nil {
		w.mu.Lock()
		for i, c := range programs {
			w.programs[i] = max(w.programs[i], c)
		}
		w.mu.Unlock()
	}
	if batch == 0 {
		w.compute.Store(compute)
		w.waves = waves
	}
	return err
}

// multiply runs the programs of a wave, weights by digits, on the units that they are for. It
// returns the cycles of the longest, and the sums that all units execute.
func (w *arrayWorker) multiply(wave *Wave, active int64) (most, sums int64, err error) {
	time := w.q.timeLoops(w.m, wave)
	run := func(unit int, groups []sram.Group) error {
		n := int64(0)
		err := w.q.programOf(w.source[Src2], w.rowPlaces, &time, &w.units[unit], func(j int, d digit) error {
			k, err := w.code.constants.kernel(d, j, w.copyOf[0])
			if err != nil {
				return err
			}
			for _, g := range groups {
				k.code.RunGroup(g)
			}
			n += w.q.throttled(k.time, active)
			sums++
			w.rowOps.Add(int64(len(k.code.Kernel().Instrs)) * int64(len(groups)) * sram.GroupCols)
			return nil
		})
		most = max(most, n)
		return err
	}
	if w.lanes > 1 { // one program for all
		err := run(0, w.groups)
		return most, sums * int64(len(w.units)), err
	}
	for u := range w.units {
		if err := run(u, w.groups[u*w.span:(u+1)*w.span]); err != nil {
			return 0, 0, err
		}
	}
	return most, sums, nil
}

// fail gives faulty rows and columns other values than what was written there, if it
// was: all ones and all zeros in turn.
func (w *arrayWorker) fail(groups int) {
	f := w.q.Platform.Faults
	if f == nil {
		return
	}
	w.failed = ^w.failed
	for _, r := range f.Rows {
		for _, g := range w.groups[:groups] {
			for k := range g.Row(r) {
				g.Row(r)[k] = w.failed
			}
		}
	}
	for _, c := range f.Columns {
		for u := range w.units {
			for r := range w.q.Platform.Array.Rows {
				x := w.cell(u, r, c/64)
				*x = *x&^(1<<(c%64)) | w.failed&(1<<(c%64))
			}
		}
	}
}

// cell returns a word of a physical row of a unit.
func (w *arrayWorker) cell(unit, row, k int) *uint64 {
	if w.lanes > 0 {
		return &w.groups[unit/w.lanes].Row(row)[unit%w.lanes*(w.cols/64)+k]
	}
	if at := unit*w.span + k/sram.GroupWords; at < (unit+1)*w.span {
		return &w.groups[at].Row(row)[k%sram.GroupWords]
	}
	return new(uint64) // beyond what is simulated
}

// load writes an operand of all units of the batch into its rows, transposed.
func (w *arrayWorker) load(o int, wave *Wave) {
	x, cols, rows := w.source[o], w.column[o], &w.code.rows
	time := w.q.timeLoops(w.m, wave)
	base := make([]int32, len(x.access))
	timePart := make([]int32, len(x.access))
	x.part(&time, timePart)
	used := len(cols.linear)
	width := rows.width[o]
	data := w.data[o]
	for u := range w.units {
		for j := range rows.words[o] {
			for d := range base {
				base[d] = x.offset[d] + timePart[d] + w.unitPart[o][u][d] + w.word[o].dims[d][j]
			}
			at := rows.sourceWord(o, j, w.copyOf[o]).base
			inside := x.inside(base, cols)
			lin := x.linearBase(base)
			if cols.constant {
				v := uint32(0)
				if inside {
					v = uint32(data[lin+int(cols.linear[0])])
				} else if e := x.at(base, cols, 0); e >= 0 {
					v = uint32(data[e])
				}
				for k := range (used + 63) / 64 {
					for b := range width {
						*w.words(u, at+b, k) = -uint64(v >> b & 1)
					}
				}
				continue
			}
			for k := 0; 64*k < used; k++ {
				n := min(64, used-64*k)
				if n < 64 {
					w.vals = [64]uint32{}
				}
				if !x.inserts {
					out := uint64(0)
					if !inside {
						out = x.outside(base, cols, k)
					}
					for i, c := range cols.linear[64*k : 64*k+n] {
						if w.vals[i] = 0; out>>i&1 == 0 {
							w.vals[i] = uint32(data[lin+int(c)])
						}
					}
				} else {
					for i := range n {
						w.vals[i] = 0
						if e := x.at(base, cols, 64*k+i); e >= 0 {
							w.vals[i] = uint32(data[e])
						}
					}
				}
				w.planes(u, at, k, width)
			}
		}
	}
}

// planes writes 64 values as bits of rows.
func (w *arrayWorker) planes(unit, at, k, width int) {
	for b := 0; b < width; b += 8 {
		plane := bitPlanes(&w.vals, b)
		for p := range min(8, width-b) {
			*w.words(unit, at+b+p, k) = plane[p]
		}
	}
}

// bitPlanes returns bits b to b+7 of 64 values, a word for each.
func bitPlanes(v *[64]uint32, b int) (plane [8]uint64) {
	for i := 0; i < 64; i += 8 {
		v := (*[8]uint32)(v[i:])
		x := uint64(v[0]>>b&255) | uint64(v[1]>>b&255)<<8 | uint64(v[2]>>b&255)<<16 | uint64(v[3]>>b&255)<<24 |
			uint64(v[4]>>b&255)<<32 | uint64(v[5]>>b&255)<<40 | uint64(v[6]>>b&255)<<48 | uint64(v[7]>>b&255)<<56
		x = transpose8(x)
		for p := range 8 {
			plane[p] |= (x >> (8 * p) & 255) << i
		}
	}
	return plane
}

// transpose8 transposes a matrix of 8 x 8 bits, a row in each byte (Hacker's Delight,
// section 7-3).
func transpose8(x uint64) uint64 {
	t := (x ^ x>>7) & 0x00aa00aa00aa00aa
	x ^= t ^ t<<7
	t = (x ^ x>>14) & 0x0000cccc0000cccc
	x ^= t ^ t<<14
	t = (x ^ x>>28) & 0x00000000f0f0f0f0
	return x ^ t ^ t<<28
}

// move brings the sums of a round beside those that they are added to: from other
// columns of a unit or from other units. What receives nothing gets zeros.
func (w *arrayWorker) move(r *sumRound, clusters int) {
	words := w.cols/64 - w.first
	temp := w.code.rows.temp
	send := r.n - r.stay
	if r.level < 0 {
		dist, count := int(w.code.m*r.stay), int(w.code.m*send)
		for u := range w.units {
			for b := range r.width {
				for k := range words {
					w.buf[k] = *w.words(u, b, k)
				}
				shiftDown(w.moved, w.buf, dist, count)
				for k := range words {
					*w.words(u, temp+b, k) = w.moved[k]
				}
			}
		}
		return
	}
	below := 1
	for i := range r.level {
		below *= int(w.code.shape.reduce[i])
	}
	size := len(w.members)
	here := int(w.code.shape.reduce[r.level])
	for c := range clusters {
		for i := range size {
			from := -1
			if digit := i / below % here; i%below == 0 && digit < int(send) {
				from = i + int(r.stay)*below
			}
			for b := range r.width {
				for k := range words {
					v := uint64(0)
					if from >= 0 {
						v = *w.words(c*size+from, b, k)
					}
					*w.words(c*size+i, temp+b, k) = v
				}
			}
		}
	}
}

// shiftDown sets bits 0 to n-1 of dst to those of src from dist on, the others to zero.
func shiftDown(dst, src []uint64, dist, n int) {
	for k := range dst {
		v := uint64(0)
		if left := n - 64*k; left > 0 {
			at := k + dist/64
			if at < len(src) {
				v = src[at] >> (dist % 64)
			}
			if dist%64 > 0 && at+1 < len(src) {
				v |= src[at+1] << (64 - dist%64)
			}
			if left < 64 {
				v &= 1<<left - 1
			}
		}
		dst[k] = v
	}
}

// drain adds the sums of the first unit of each cluster to the output: the rest of a
// sum that was not finished is added in the buffer.
func (w *arrayWorker) drain(wave *Wave, clusters int) {
	x, cols := w.result, w.outCol
	time := w.q.timeLoops(w.m, wave)
	timePart := make([]int32, len(x.access))
	x.part(&time, timePart)
	base := make([]int32, len(x.access))
	width := w.code.rows.column
	if n := len(w.code.rounds); n > 0 {
		width = w.code.rounds[n-1].width
		if w.code.rounds[n-1].extend {
			width++
		}
	}
	used := len(cols.linear)
	for c := range clusters {
		for d := range base {
			base[d] = x.offset[d] + timePart[d] + w.rootPart[c][d]
		}
		inside := x.inside(base, cols)
		lin := x.linearBase(base)
		for k := 0; 64*k < used; k++ {
			w.unpack(c*len(w.members), k, width)
			out := uint64(0)
			if !inside && !x.inserts {
				out = x.outside(base, cols, k)
			}
			for i := range min(64, used-64*k) {
				if out>>i&1 == 1 {
					continue
				}
				if !x.inserts {
					w.give(lin+int(cols.linear[64*k+i]), w.wide[i])
				} else if e := x.at(base, cols, 64*k+i); e >= 0 {
					w.give(e, w.wide[i])
				}
			}
		}
	}
}

// give adds a sum to an output.
func (r *arrayRun) give(e int, v int64) {
	r.out[e] += v
	if r.covered != nil {
		r.covered[e] = true
	}
}

// unpack reads 64 sums of width bits from row 0 on.
func (w *arrayWorker) unpack(unit, k, width int) {
	w.wide = [64]int64{}
	for b := 0; b < width; b += 8 {
		var plane [8]uint64
		for p := range min(8, width-b) {
			plane[p] = *w.words(unit, b+p, k)
		}
		for i := 0; i < 64; i += 8 {
			x := uint64(0)
			for p := range 8 {
				x |= (plane[p] >> i & 255) << (8 * p)
			}
			x = transpose8(x)
			for j := range 8 {
				w.wide[i+j] |= int64(x>>(8*j)&255) << b
			}
		}
	}
	if w.q.mac.signed {
		for i := range w.wide {
			w.wide[i] = w.wide[i] << (64 - width) >> (64 - width)
		}
	}
}
