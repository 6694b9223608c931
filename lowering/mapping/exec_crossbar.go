package mapping

import (
	"context"
	"math"
	"math/bits"
	"sync"

	"github.com/bitsched/bitsched/lowering/mapping/dnn"
)

// crossbarRun executes crossbars as exact integers, as ISAAC computes them (section
// 3.2 of the specification): cells hold digits of w + 2^(w-1), a column whose digits
// sum to more than half the range holds their complements and a flip bit, and each bit
// of the vector gives a sum for each column, which a converter may clip.
type crossbarRun struct {
	q    *Problem
	m    *Mapping
	o    ExecuteOptions
	data [2][]int32
	out  []int64

	rows, outs, digits int // of a matrix: places along rows and columns, digits of an element
	block, across      int // rows and columns of a group on the diagonal; all where there are none
	members, clusters  [][MaxLoops]int32
	matrix, vector     *indexer
	matrixPart         *parts // row x outs + column
	vectorPart         *parts // rows
	result             *indexer
	resultPart         *parts

	covered []bool // nil: all
	mu      sync.Mutex
	quant   Quantisation
	waves   int64
	compute int64
}

func (q *Problem) executeCrossbar(ctx context.Context, m *Mapping, o ExecuteOptions, operands [][]int32) (*Executed, error) {
	r := &crossbarRun{q: q, m: m, o: o, out: make([]int64, q.Op.Output().Elements())}
	f := &q.functions[m.Function]
	var par, red, diagonal, levels []int
	for d := range f.dims {
		switch {
		case f.Reduction(d):
			red = append(red, d)
		case f.diagonal(d):
			diagonal = append(diagonal, d)
		default:
			par = append(par, d)
		}
	}
	for i := range q.levels {
		levels = append(levels, SlotLevel+i)
	}
	rowPlaces, colPlaces := q.digits(m, q.always, red...), q.digits(m, q.always, par...)
	r.block, r.across = len(rowPlaces), len(colPlaces)
	groups := q.digits(m, q.always, diagonal...)
	rowPlaces, colPlaces = sums(groups, rowPlaces), sums(groups, colPlaces)
	r.rows, r.outs = len(rowPlaces), len(colPlaces)
	r.members, r.clusters = q.digits(m, q.reduces, levels...), q.digits(m, q.parallels, levels...)
	padding := func(l int) bool { return q.reduces(l) && q.ragged(m, l) }
	t1, t2 := m.Tensor(Src1), m.Tensor(Src2)
	r.data = [2][]int32{operands[t1], operands[t2]}
	r.matrix, r.vector = q.newIndexer(&q.Op.Tensors[t1], padding), q.newIndexer(&q.Op.Tensors[t2], padding)
	var cells [][MaxLoops]int32 // those off the diagonal are not looked at
	for i, a := range rowPlaces {
		for k, b := range colPlaces {
			c := a
			for l := range c {
				c[l] += b[l] - groups[k/r.across][l]
			}
			if i/r.block != k/r.across {
				c = a
			}
			cells = append(cells, c)
		}
	}
	r.matrixPart, r.vectorPart = r.matrix.parts(cells), r.vector.parts(rowPlaces)
	r.result = q.newIndexer(q.Op.Output(), func(l int) bool { return q.parallels(l) && q.ragged(m, l) })
	r.resultPart = r.result.parts(colPlaces)
	r.digits = int(q.cells(q.tensors[t1].bits))
	ran := len(r.clusters)
	if o.Sample > 1 {
		r.covered = make([]bool, len(r.out))
		ran = (ran + o.Sample - 1) / o.Sample
	}
	err := parallel(ctx, o.Threads, len(r.clusters), o.Progress, func() func(int) error {
		w := r.newWorker()
		return func(i int) error {
			if o.Sample > 1 && i%o.Sample != 0 {
				return nil
			}
			return w.run(ctx, i)
		}
	})
	if err != nil {
		return nil, err
	}
	x := &Executed{Output: r.out, Covered: r.covered, Units: int64(ran * len(r.members)), Waves: r.waves, Compute: r.compute}
	if r.quant.Samples > 0 {
		x.Quantised = &r.quant
	}
	return x, nil
}

// sums are all sums of a place of one list and one of another, the first outermost.
func sums(a, b [][MaxLoops]int32) (out [][MaxLoops]int32) {
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

// diagonal reports whether a dimension lies along rows and columns of the matrix: groups,
// of which each has rows and columns of its own and zeros in those of the others.
func (f *functionInfo) diagonal(d int) bool {
	_, row := f.Operands[Src1].Layout["row"][f.Dims[d].Name]
	_, column := f.Operands[Src1].Layout["column"][f.Dims[d].Name]
	return row && column && !f.Reduction(d)
}

// matrixCells are the cells of a crossbar: bit planes of digits, a bit for each row.
type matrixCells struct {
	plane []uint64 // words of rows, by column of the crossbar and bit of its digit
	flip  []bool   // by column of the crossbar
	most  []int64  // by column: its sum with all wordlines driven
}

type crossbarWorker struct {
	*crossbarRun
	cells  []matrixCells // of the units of the cluster
	acc    []int64       // sums of the cluster
	bits   []uint64      // the vector: words of rows, by bit
	values []int32       // the vector
	words  int
	pairs  bool // two words of rows, cells of two bits, a bit of the vector at a time
	vals   [64]uint32
}

func (r *crossbarRun) newWorker() *crossbarWorker {
	w := &crossbarWorker{crossbarRun: r, words: (r.rows + 63) / 64}
	x := r.q.Platform.Crossbar
	cell := x.CellBits
	if r.rows <= 128 && cell == 2 && x.DACBits == 1 {
		w.pairs, w.words = true, 2
	}
	for range r.members {
		w.cells = append(w.cells, matrixCells{flip: make([]bool, r.outs*r.digits), most: make([]int64, r.outs*r.digits), plane: make([]uint64, r.outs*r.digits*cell*w.words)})
	}
	w.acc = make([]int64, r.outs)
	w.values = make([]int32, r.rows)
	w.bits = make([]uint64, w.words*r.q.Op.Tensors[r.m.Tensor(Src2)].Type.Bits)
	return w
}

// run takes a cluster through all waves.
func (w *crossbarWorker) run(ctx context.Context, cluster int) error {
	q := w.q
	var quant Quantisation
	waves := int64(0)
	units := make([][MaxLoops]int32, len(w.members))
	for i, m := range w.members {
		units[i] = w.clusters[cluster]
		for l := range m {
			units[i][l] += m[l]
		}
	}
	root := make([]int32, len(w.result.access))
	w.result.part(&w.clusters[cluster], root)
	matrixUnit, vectorUnit := make([][]int32, len(units)), make([][]int32, len(units))
	for i := range units {
		matrixUnit[i], vectorUnit[i] = make([]int32, len(w.matrix.access)), make([]int32, len(w.vector.access))
		w.matrix.part(&units[i], matrixUnit[i])
		w.vector.part(&units[i], vectorUnit[i])
	}
	base := make([]int32, 16)
	part := make([]int32, 16)
	begun := false
	var err error
	q.Waves(w.m, func(wave, _ *Wave) bool {
		waves++
		time := q.timeLoops(w.m, wave)
		if wave.Load>>Src1&1 == 1 || !begun {
			begun = true
			w.matrix.part(&time, part)
			for i := range units {
				b := base[:len(w.matrix.access)]
				for d := range b {
					b[d] = w.matrix.offset[d] + part[d] + matrixUnit[i][d]
				}
				w.program(&w.cells[i], b)
				w.o.spoil(&w.cells[i])
				w.measure(&w.cells[i])
			}
		}
		if wave.Fresh {
			clear(w.acc)
		}
		w.vector.part(&time, part)
		for i := range units {
			b := base[:len(w.vector.access)]
			for d := range b {
				b[d] = w.vector.offset[d] + part[d] + vectorUnit[i][d]
			}
			w.take(b)
			w.multiply(&w.cells[i], &quant)
		}
		if wave.Finish {
			w.result.part(&time, part)
			b := base[:len(w.result.access)]
			for d := range b {
				b[d] = w.result.offset[d] + part[d] + root[d]
			}
			for i, v := range w.acc {
				if e := w.result.at(b, w.resultPart, i); e >= 0 {
					w.out[e] += v
					if w.covered != nil {
						w.covered[e] = true
					}
				}
			}
		}
		err = ctx.Err()
		return err == nil
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.quant.Samples += quant.Samples
	w.quant.Clipped += quant.Clipped
	if cluster == 0 {
		w.waves = waves
		w.compute = waves * q.crossbarTimes(w.m).invoke[Compute]
	}
	return err
}

// program writes a matrix into cells: biased, in digits, columns turned over where
// that makes their sums smaller.
func (w *crossbarWorker) program(c *matrixCells, base []int32) {
	x := w.q.Platform.Crossbar
	t := &w.q.Op.Tensors[w.m.Tensor(Src1)]
	bias := int64(0)
	if t.Type.Signed {
		bias = 1 << (t.Type.Bits - 1)
	}
	cell := x.CellBits
	top := uint64(1)<<cell - 1
	inside := w.matrix.inside(base, w.matrixPart)
	lin := 0
	if inside {
		lin = w.matrix.linearBase(base)
	}
	planes := make([]uint64, (w.digits*cell+7)/8*8*w.words) // words of rows, by bit
	for col := range w.outs {
		for k := range w.words {
			w.vals = [64]uint32{}
			for i := range min(64, w.rows-64*k) {
				r, v := 64*k+i, int64(0)
				switch at := r*w.outs + col; {
				case r/w.block != col/w.across: // another group's
				case inside:
					v = int64(w.data[0][lin+int(w.matrixPart.linear[at])])
				default:
					if e := w.matrix.at(base, w.matrixPart, at); e >= 0 {
						v = int64(w.data[0][e])
					}
				}
				w.vals[i] = uint32(v + bias)
			}
			for b := 0; b < w.digits*cell; b += 8 {
				for p, word := range bitPlanes(&w.vals, b) {
					planes[(b+p)*w.words+k] = word
				}
			}
		}
		for d := range w.digits {
			sum := uint64(0)
			for i, word := range planes[d*cell*w.words : (d+1)*cell*w.words] {
				sum += uint64(bits.OnesCount64(word)) << (i / w.words)
			}
			at := col*w.digits + d
			c.flip[at] = 2*sum > top*uint64(w.rows)
			for i, word := range planes[d*cell*w.words : (d+1)*cell*w.words] {
				if c.flip[at] {
					word = ^word
					if left := w.rows - 64*(i%w.words); left <= 0 {
						word = 0
					} else if left < 64 {
						word &= 1<<left - 1
					}
				}
				c.plane[at*cell*w.words+i] = word
			}
		}
	}
}

// measure adds up what columns give at most.
func (w *crossbarWorker) measure(c *matrixCells) {
	per := w.q.Platform.Crossbar.CellBits * w.words
	for at := range c.most {
		c.most[at] = 0
		for i, p := range c.plane[at*per : (at+1)*per] {
			c.most[at] += int64(bits.OnesCount64(p)) << (i / w.words)
		}
	}
}

// take puts a vector on the wordlines.
func (w *crossbarWorker) take(base []int32) {
	p := w.vectorPart
	if w.vector.inside(base, p) {
		lin := w.vector.linearBase(base)
		for i, c := range p.linear {
			w.values[i] = w.data[1][lin+int(c)]
		}
		return
	}
	for i := range w.values {
		w.values[i] = 0
		if e := w.vector.at(base, p, i); e >= 0 {
			w.values[i] = w.data[1][e]
		}
	}
}

// multiply adds the products of cells and vector to the sums: for each step of the
// vector's bits a sum of each column, converted, turned back, shifted and added. The
// highest bit of a signed vector counts negative; where a step has several bits, it is a
// step of its own.
func (w *crossbarWorker) multiply(c *matrixCells, quant *Quantisation) {
	x := w.q.Platform.Crossbar
	t := &w.q.Op.Tensors[w.m.Tensor(Src2)].Type
	sum := int64(0) // of the vector
	for k := range w.words {
		n := min(64, len(w.values)-64*k)
		if n < 64 {
			w.vals = [64]uint32{}
		}
		for i := range n {
			v := w.values[64*k+i]
			sum += int64(v)
			w.vals[i] = uint32(v)
		}
		for b := 0; b < t.Bits; b += 8 {
			plane := bitPlanes(&w.vals, b)
			for p := range min(8, t.Bits-b) {
				w.bits[(b+p)*w.words+k] = plane[p]
			}
		}
	}
	if w.pairs {
		w.columns(c, t.Signed, quant)
	}
	for lo := 0; lo < t.Bits && !w.pairs; lo += x.DACBits {
		hi := min(lo+x.DACBits, t.Bits)
		if t.Signed && hi == t.Bits {
			if hi-1 > lo {
				w.step(c, lo, hi-1, 1, quant)
			}
			w.step(c, hi-1, hi, -1, quant)
		} else {
			w.step(c, lo, hi, 1, quant)
		}
	}
	if m := w.q.Op.Tensors[w.m.Tensor(Src1)].Type; m.Signed {
		for col := range w.acc {
			w.acc[col] -= sum << (m.Bits - 1)
		}
	}
}

// columns converts the columns for all bits of the vector, one after another, where two words
// hold the rows. Only columns whose sums may be too large are looked at for clipping.
func (w *crossbarWorker) columns(c *matrixCells, signed bool, quant *Quantisation) {
	limit := int64(1)<<w.q.Platform.Crossbar.ADCBits - 1
	x := w.bits
	driven := int64(0) // wordlines, by the weight of the bit
	last := len(x) - 2
	weigh := func(s, bit int64, b int) int64 { // the highest bit comes first
		if signed && b == last {
			return -bit
		}
		return s<<1 + bit
	}
	for b := last; b >= 0; b -= 2 {
		driven = weigh(driven, int64(bits.OnesCount64(x[b])+bits.OnesCount64(x[b+1])), b)
	}
	clipped := int64(0)
	at := 0
	for col := range w.acc {
		total := int64(0)
		for d := range w.digits {
			p := (*[4]uint64)(c.plane[4*at:])
			p0, p1, p2, p3 := p[0], p[1], p[2], p[3]
			s := int64(0)
			if c.most[at] <= limit {
				for b := last; b >= 0; b -= 2 {
					x0, x1 := x[b], x[b+1]
					n := int64(bits.OnesCount64(x0&p0) + bits.OnesCount64(x1&p1) + 2*(bits.OnesCount64(x0&p2)+bits.OnesCount64(x1&p3)))
					if signed && b == last {
						n = -n
					}
					s = s<<1 + n
				}
			} else {
				for b := last; b >= 0; b -= 2 {
					n := int64(bits.OnesCount64(x[b]&p0) + bits.OnesCount64(x[b+1]&p1) + 2*(bits.OnesCount64(x[b]&p2)+bits.OnesCount64(x[b+1]&p3)))
					if n > limit {
						n = limit
						clipped++
					}
					s = weigh(s, n, b)
				}
			}
			if c.flip[at] {
				s = 3*driven - s
			}
			total += s << (2 * d)
			at++
		}
		w.acc[col] += total
	}
	quant.Samples += int64(len(w.acc) * w.digits * (last/2 + 1))
	quant.Clipped += clipped
}

// step converts the columns for bits lo to hi-1 of the vector.
func (w *crossbarWorker) step(c *matrixCells, lo, hi int, sign int64, quant *Quantisation) {
	x := w.q.Platform.Crossbar
	cell, top, limit, words := x.CellBits, int64(1)<<x.CellBits-1, int64(1)<<x.ADCBits-1, w.words
	driven := int64(0)
	for b := lo; b < hi; b++ {
		for _, word := range w.bits[b*words : (b+1)*words] {
			driven += int64(bits.OnesCount64(word)) << (b - lo)
		}
	}
	clipped := int64(0)
	for col := range w.acc {
		total := int64(0)
		for d := range w.digits {
			at := col*w.digits + d
			column := int64(0)
			p := c.plane[at*cell*words : (at+1)*cell*words]
			for b := lo; b < hi; b++ {
				for q := range cell {
					for k, word := range w.bits[b*words : (b+1)*words] {
						column += int64(bits.OnesCount64(word&p[q*words+k])) << (b - lo + q)
					}
				}
			}
			if column > limit {
				column = limit
				clipped++
			}
			if c.flip[at] {
				column = top*driven - column
			}
			total += column << (d * cell)
		}
		w.acc[col] += sign * total << lo
	}
	quant.Samples += int64(len(w.acc) * w.digits)
	quant.Clipped += clipped
}

// Measure compares what clipped converters gave with the true result, in the elements
// that are covered; nil is all.
func (x *Quantisation) Measure(want, got []int64, covered []bool) {
	signal, noise := 0.0, 0.0
	for i, v := range want {
		if covered != nil && !covered[i] {
			continue
		}
		d := v - got[i]
		signal += float64(v) * float64(v)
		noise += float64(d) * float64(d)
		x.MaxError = max(x.MaxError, d, -d)
	}
	if noise > 0 && signal > 0 {
		x.SQNR = 10 * math.Log10(signal/noise)
	}
}

// QuantisedReference computes what crossbars with converters of few bits give, element by
// element and without bit planes: the oracle of such runs. It takes the columns of
// each crossbar from the mapping's sizes and shares nothing else with the executor.
func (q *Problem) QuantisedReference(ctx context.Context, m *Mapping, operands ...[]int32) ([]int64, error) {
	out := make([]int64, q.Op.Output().Elements())
	x := q.Platform.Crossbar
	t1, t2 := &q.Op.Tensors[m.Tensor(Src1)], &q.Op.Tensors[m.Tensor(Src2)]
	a, b := operands[m.Tensor(Src1)], operands[m.Tensor(Src2)]
	// Blocks of the nest whose reductions lie in one crossbar: every loop is cut by its
	// factor in the reduction dimension, if it has one.
	f := q.Platform.Functions[m.Function]
	block := make([]int64, q.loops)
	for l := range q.loops {
		block[l] = 1
		for d := range f.Dims {
			if f.Dims[d].Kind == "reduction" {
				block[l] *= int64(m.Factor[d][l])
			}
		}
	}
	element := func(t *dnn.Tensor, v []int32, i []int64) int64 {
		at := int64(0)
		for d, row := range t.Access {
			p := int64(t.Offset[d])
			for l, c := range row {
				p += int64(c) * i[l]
			}
			if t.Insert != nil {
				if p < 0 || p%int64(t.Insert[d]) != 0 {
					return 0
				}
				p /= int64(t.Insert[d])
			}
			if p < 0 || p >= int64(t.Extents[d]) {
				return 0
			}
			at = at*int64(t.Extents[d]) + p
		}
		return int64(v[at])
	}
	bias := int64(0)
	if t1.Type.Signed {
		bias = 1 << (t1.Type.Bits - 1)
	}
	top := int64(1)<<x.CellBits - 1
	limit := int64(1)<<x.ADCBits - 1
	digits := (t1.Type.Bits + x.CellBits - 1) / x.CellBits
	index := make([]int64, q.loops)
	var first func(l int) error
	first = func(l int) error {
		if l < q.loops {
			for index[l] = 0; index[l] < int64(q.extent[l]); index[l] += block[l] {
				if err := first(l + 1); err != nil {
					return err
				}
			}
			return ctx.Err()
		}
		// One column of one crossbar and one vector: the rows of its own group, and those of
		// others, whose cells hold zero in it.
		var w, v []int64
		at := append([]int64(nil), index...)
		other := false
		var rows func(l int)
		rows = func(l int) {
			if l == q.loops {
				inside := true
				for k := range at {
					inside = inside && (at[k] < int64(q.extent[k]) || other && q.parallels(k))
				}
				switch {
				case other:
					x := int64(0)
					if inside {
						x = element(t2, b, at)
					}
					w, v = append(w, 0), append(v, x)
				case inside:
					w, v = append(w, element(t1, a, at)), append(v, element(t2, b, at))
				default:
					w, v = append(w, 0), append(v, 0)
				}
				return
			}
			first := at[l]
			for k := range block[l] {
				at[l] = first + k
				rows(l + 1)
			}
			at[l] = first
		}
		rows(0)
		var groups func(l int, same bool)
		groups = func(l int, same bool) {
			if l == q.loops {
				if !same {
					rows(0)
				}
				return
			}
			own := at[l]
			below, n := int64(1), int64(1)
			for d := range f.Dims {
				if g := int64(m.Factor[d][l]); q.functions[m.Function].diagonal(d) {
					n *= g
				} else if n == 1 {
					below *= g
				}
			}
			digit := own / below % n
			for k := range n {
				at[l] = own + (k-digit)*below
				groups(l+1, same && k == digit)
			}
			at[l] = own
		}
		other = true
		groups(0, true)
		sum, total := int64(0), int64(0)
		for _, y := range v {
			sum += y
		}
		for d := range digits {
			digit := make([]int64, len(w))
			all := int64(0)
			for r := range w {
				digit[r] = (w[r] + bias) >> (d * x.CellBits) & top
				all += digit[r]
			}
			flip := 2*all > top*int64(len(w))
			for lo := 0; lo < t2.Type.Bits; {
				hi := min(lo/x.DACBits*x.DACBits+x.DACBits, t2.Type.Bits)
				sign := int64(1)
				if t2.Type.Signed && hi == t2.Type.Bits {
					if lo < hi-1 {
						hi--
					} else {
						sign = -1
					}
				}
				column, driven := int64(0), int64(0)
				for r := range w {
					in := v[r] >> lo & (1<<(hi-lo) - 1)
					driven += in
					if flip {
						column += in * (top - digit[r])
					} else {
						column += in * digit[r]
					}
				}
				column = min(column, limit)
				if flip {
					column = top*driven - column
				}
				total += sign * column << (lo + d*x.CellBits)
				lo = hi
			}
		}
		o := q.Op.Output()
		place := int64(0)
		for d, row := range o.Access {
			p := int64(o.Offset[d])
			for l, c := range row {
				p += int64(c) * index[l]
			}
			place = place*int64(o.Extents[d]) + p
		}
		out[place] += total - bias*sum
		return nil
	}
	return out, first(0)
}
