package mapping

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// Quotient is a problem whose loops of a kind, those that index the same tensors, are
// one: the bound of sizes depends on little more than the products of their factors, and
// these are few where loops are many. Nothing that it says is above what the problem
// itself says of any mapping with these products.
type Quotient struct {
	// Classes are loops of the problem by kind, reductions first, those with the most
	// iterations last. Loops of extent 1 are in none.
	Classes [][]int

	// relaxed has a loop for each class, and behind them one for each but the last that
	// stands for the time of all classes from there on, as long as they are open.
	relaxed *Problem
	// Smooth is the problem with shifts over any distance as short as those over the best
	// one in reach.
	smooth *Problem
	whole  []int64 // iterations of a class
}

// Quotient returns a problem's, nil if it has none that is known: weights as
// instructions, the paper's space, or windows over loops of more than two kinds.
func (q *Problem) Quotient() *Quotient {
	if q.Options.Paper || q.consts != nil {
		return nil
	}
	z := &Quotient{}
	kind := func(l int) (k int) {
		for t := range q.tensors {
			k |= int(q.tensors[t].indexed>>l&1) << t
		}
		return k
	}
	byKind := [8][]int{}
	for l := range q.loops {
		if q.extent[l] > 1 {
			byKind[kind(l)] = append(byKind[kind(l)], l)
		}
	}
	size := func(loops []int) int64 {
		n := int64(1)
		for _, l := range loops {
			if n *= int64(q.extent[l]); n > maxClass {
				return maxClass + 1
			}
		}
		return n
	}
	for _, loops := range byKind {
		if loops != nil {
			z.Classes = append(z.Classes, loops)
		}
	}
	if len(z.Classes) == 0 || 2*len(z.Classes) > MaxLoops {
		return nil
	}
	slices.SortStableFunc(z.Classes, func(a, b []int) int {
		ra, rb := q.reduction>>a[0]&1, q.reduction>>b[0]&1
		return cmp.Or(cmp.Compare(rb, ra), cmp.Compare(size(a), size(b)))
	})
	r := *q
	r.relaxed = true
	r.loops = 2*len(z.Classes) - 1
	r.reduction = 0
	for l := range r.extent {
		r.extent[l] = 1
	}
	class := [MaxLoops]int{}
	for l := range class {
		class[l] = -1
	}
	for c, loops := range z.Classes {
		n := size(loops)
		if n > maxClass {
			return nil
		}
		z.whole = append(z.whole, n)
		r.extent[c] = uint32(n)
		r.reduction |= (q.reduction >> loops[0] & 1) << c
		for _, l := range loops {
			class[l] = c
		}
	}
	for t := range r.tensors {
		x := &r.tensors[t]
		var ok bool
		if x.halo, ok = q.tensors[t].newHalo(q, &class); !ok {
			return nil
		}
		x.indexed, x.dims, x.shared = 0, nil, nil
		for c, loops := range z.Classes {
			if q.tensors[t].indexed>>loops[0]&1 == 1 {
				x.indexed |= 1 << c
				if x.halo == nil || c != x.halo.class[0] && c != x.halo.class[1] {
					x.dims = append(x.dims, dimInfo{extent: z.whole[c], insert: 1, terms: []term{{c, 1}}})
				}
			}
		}
		for from := 1; from < len(z.Classes); from++ { // of all classes: no tensor is sure to be indexed
			all := uint16(1)<<len(z.Classes) - 1<<from
			all &= 1<<len(z.Classes) - 1
			if x.indexed&all == all {
				x.indexed |= 1 << z.open(from)
			}
		}
	}
	r.functions = slices.Clone(q.functions)
	for i := range r.functions {
		f := &r.functions[i]
		for swap := range f.legal {
			for s, was := range f.legal[swap] {
				now := uint16(0)
				for c, loops := range z.Classes {
					n := 0
					for _, l := range loops {
						n += int(was >> l & 1)
					}
					if n == len(loops) {
						now |= 1 << c
					} else if n > 0 {
						return nil
					}
				}
				if s == SlotWave {
					now = 1<<r.loops - 1
				}
				f.legal[swap][s] = now
			}
		}
	}
	z.relaxed = &r
	smooth := *q
	smooth.smooth = true
	r.smooth = true
	z.smooth = &smooth
	return z
}

// maxClass is the number of iterations of a class up to which there are tables.
const maxClass = 1 << 20

// open is the loop that stands for the classes from one on.
func (z *Quotient) open(from int) int { return len(z.Classes) + from }

// Whole returns the iterations of a class.
func (z *Quotient) Whole(class int) int64 { return z.whole[class] }

// Bound returns cycles below which no mapping is whose loops of each class have the
// products of factors that m has; or the rule that all of them break. Those of classes from open on
// may be larger, in units, and where not all have factors in levels, there too. Flags of m are off.
func (z *Quotient) Bound(m *Mapping, open int, leveled bool) (int64, Violation) {
	return z.relaxed.sizesBound(m, open, leveled)
}

// OpenBound is Bound where the classes from one on have no sizes in units yet, only levels, and
// all of them together go round at least a number of times.
func (z *Quotient) OpenBound(m *Mapping, from int, leveled bool, times int64) (int64, Violation) {
	was := m.Factor[SlotWave]
	for c := from; c < len(z.Classes); c++ {
		m.Factor[SlotWave][c] = 1
	}
	m.Factor[SlotWave][z.open(from)] = uint32(min(times, math.MaxUint32))
	b, v := z.relaxed.sizesBound(m, from, leveled)
	m.Factor[SlotWave] = was
	return b, v
}

// OrderBound is Bound with the best order of classes, where tiles have none.
func (z *Quotient) OrderBound(m *Mapping, orders func(func(order [MaxLoops]uint8) bool)) int64 {
	least := int64(math.MaxInt64)
	was := m.Wave
	orders(func(order [MaxLoops]uint8) bool {
		m.Wave = order
		least = min(least, z.relaxed.OrderBound(m, len(z.Classes)))
		return true
	})
	m.Wave = was
	return least
}

// Alike reports whether the loops of a class are alike but for their extents: each alone in the indices
// that have it.
func (z *Quotient) Alike(class int) bool {
	for _, l := range z.Classes[class] {
		for t := range z.smooth.tensors {
			for _, d := range z.smooth.tensors[t].dims {
				if len(d.terms) > 1 || d.insert > 1 || z.smooth.tensors[t].shared != nil {
					if slices.ContainsFunc(d.terms, func(x term) bool { return x.loop == l }) {
						return false
					}
				}
			}
		}
	}
	return true
}

// Smooth is SizesBound as if each distance that columns are moved over were the shortest that
// padding might give.
func (z *Quotient) Smooth(m *Mapping) (int64, Violation) { return z.smooth.SizesBound(m) }

// Room returns how many iterations of the classes from one on a unit may take at once, as long as nothing
// but its columns is in the way and its time does not grow with them; false if that is not known.
func (z *Quotient) Room(m *Mapping, from int) (int64, bool) {
	q := z.relaxed
	f := &q.functions[m.Function]
	swap := 0
	if m.Swap {
		swap = 1
	}
	p := q.Platform
	var cols int64
	switch {
	case q.mac != nil:
		cols = q.cols
	case p.Crossbar != nil:
		cols = int64(p.Crossbar.Cols) / q.cells(q.tensors[m.Tensor(Src1)].bits)
	case from > 0:
		return 0, false
	default:
		return int64(p.SIMD.Lanes), true
	}
	if from == 0 {
		if q.mac == nil {
			cols *= int64(p.Crossbar.Rows)
		}
		return cols, true
	}
	for d := range f.dims {
		if !f.colDims[d] {
			if f.legal[swap][d]&(1<<len(z.Classes)-1)>>from != 0 {
				return 0, false
			}
			continue
		}
		for c := range from {
			cols /= int64(m.Factor[d][c])
		}
	}
	return cols, true
}

// leastOnes returns the fewest ones of a number from lo to hi.
func leastOnes(lo, hi int64) int {
	if hi <= lo {
		return bits.OnesCount64(uint64(lo))
	}
	// What they have in common, and a one behind it unless lo ends there.
	k := bits.Len64(uint64(lo ^ hi))
	common := bits.OnesCount64(uint64(hi >> k))
	if lo&(1<<k-1) == 0 {
		return common
	}
	return common + 1
}

// halo bounds the elements of a tensor whose windows overlap from below, by the iterations of the at
// most two classes of loops that its windows are made of.
type halo struct {
	class [2]int
	grid  [2][]int64  // iterations, ascending
	at    [2][]uint16 // the last of the grid that is not above a number of iterations
	least []int64     // elements, by both
}

func (h *halo) elements(e *[MaxLoops]int64) int64 {
	i := int(h.at[0][e[h.class[0]]]) * len(h.grid[1])
	if h.class[1] >= 0 {
		i += int(h.at[1][e[h.class[1]]])
	}
	return h.least[i]
}

// maxWindows bounds the ways to cut the loops of windows that are looked at.
const maxWindows = 3_000_000

// newHalo returns nil for a tensor without windows, false for one of which no bound is known.
func (t *tensorInfo) newHalo(q *Problem, class *[MaxLoops]int) (*halo, bool) {
	// Dimensions that have loops in common, by the first.
	groups := t.shared
	if groups == nil {
		for d := range t.dims {
			groups = append(groups, []int{d})
		}
	}
	type part struct {
		loops []int
		dims  tensorInfo
	}
	var parts []part
	h := &halo{class: [2]int{-1, -1}}
	single := [MaxLoops]int64{} // iterations of a class in dimensions of their own
	for c := range single {
		single[c] = 1
	}
	for _, g := range groups {
		var p part
		seen := uint16(0)
		simple := len(g) == 1
		for _, d := range g {
			x := t.dims[d]
			p.dims.dims = append(p.dims.dims, x)
			for _, y := range x.terms {
				if q.extent[y.loop] > 1 && seen>>y.loop&1 == 0 {
					seen |= 1 << y.loop
					p.loops = append(p.loops, y.loop)
				}
			}
			simple = simple && x.insert == 1
		}
		if len(p.loops) == 0 {
			continue
		}
		l := p.loops[0]
		if simple && len(p.loops) == 1 && t.dims[g[0]].extent >= int64(q.extent[l]) {
			single[class[l]] *= int64(q.extent[l])
			continue
		}
		p.dims.shared = sharing(p.dims.dims)
		for _, l := range p.loops {
			switch c := class[l]; {
			case c == h.class[0] || c == h.class[1]:
			case h.class[0] < 0:
				h.class[0] = c
			case h.class[1] < 0:
				h.class[1] = c
			default:
				return nil, false
			}
		}
		parts = append(parts, p)
	}
	if parts == nil {
		return nil, true
	}
	// All sizes of windows: iterations of both classes, and elements.
	type window struct{ a, b, n int64 }
	all := []window{{1, 1, 1}}
	ways := int64(1)
	for i := range parts {
		p := &parts[i]
		for _, l := range p.loops {
			if ways *= int64(q.extent[l]); ways > maxWindows {
				return nil, false
			}
		}
		var some []window
		e := [MaxLoops]int64{}
		for l := range e {
			e[l] = 1
		}
		var walk func(k int, a, b int64)
		walk = func(k int, a, b int64) {
			if k == len(p.loops) {
				some = append(some, window{a, b, p.dims.elements(&e)})
				return
			}
			l := p.loops[k]
			for x := int64(1); x <= int64(q.extent[l]); x++ {
				e[l] = x
				if class[l] == h.class[0] {
					walk(k+1, a*x, b)
				} else {
					walk(k+1, a, b*x)
				}
			}
			e[l] = 1
		}
		walk(0, 1, 1)
		next := make([]window, 0, len(all)*len(some))
		for _, x := range all {
			for _, y := range some {
				next = append(next, window{x.a * y.a, x.b * y.b, x.n * y.n})
			}
		}
		all = next
	}
	for i, c := range h.class {
		whole := int64(1)
		if c >= 0 {
			for l := range q.loops {
				if q.extent[l] > 1 && class[l] == c {
					whole *= int64(q.extent[l])
				}
			}
		}
		h.at[i] = make([]uint16, whole+1)
		for v := int64(1); v < whole; v += 1 + v/32 {
			h.grid[i] = append(h.grid[i], v)
		}
		h.grid[i] = append(h.grid[i], whole)
		g := 0
		for v := range h.at[i] {
			if g+1 < len(h.grid[i]) && int64(v) >= h.grid[i][g+1] {
				g++
			}
			h.at[i][v] = uint16(g)
		}
	}
	na, nb := len(h.grid[0]), len(h.grid[1])
	h.least = make([]int64, na*nb)
	for i := range h.least {
		h.least[i] = math.MaxInt64
	}
	up := func(i int, v int64) int { // the first of the grid that is not below
		g := int(h.at[i][v])
		if h.grid[i][g] < v {
			g++
		}
		return g
	}
	for _, w := range all {
		at := &h.least[up(0, w.a)*nb+up(1, w.b)]
		*at = min(*at, w.n)
	}
	for i := na - 1; i >= 0; i-- { // more iterations take no fewer elements
		for j := nb - 1; j >= 0; j-- {
			x := &h.least[i*nb+j]
			if i+1 < na {
				*x = min(*x, h.least[(i+1)*nb+j])
			}
			if j+1 < nb {
				*x = min(*x, h.least[i*nb+j+1])
			}
		}
	}
	// Loops in dimensions of their own multiply both.
	stretch := func(axis, lines, step, stride int, factor int64) {
		g := h.grid[axis]
		for line := range lines {
			base := line * step
			for i := len(g) - 1; i >= 0; i-- {
				x := &h.least[base+i*stride]
				for k := range i {
					if n := h.least[base+k*stride]; n < *x && g[i] <= g[k]*factor {
						*x = min(*x, ceilDiv(n*g[i], g[k]))
					}
				}
			}
		}
	}
	stretch(0, nb, 1, nb, single[h.class[0]])
	if h.class[1] >= 0 {
		stretch(1, na, nb, 1, single[h.class[1]])
	}
	return h, true
}
