package masim

import (
	"context"
	"math/rand/v2"
	"slices"
)

// hypergraph is a set of vertices with weights and nets that join them, in
// compressed form: the pins of net e are pins[netStart[e]:netStart[e+1]], the
// nets of vertex v are nets[vertStart[v]:vertStart[v+1]].
//
// A vertex has a load in each of some slices of time, and the sum of these as its
// weight; with one slice the two are the same.
type hypergraph struct {
	weight    []int32
	slices    int     // 0 is 1
	load      []int32 // by vertex x slices + slice; nil where there is one slice
	fixed     []bool  // by vertex: it is in the first part; nil = none is
	netStart  []int32
	pins      []int32
	vertStart []int32
	nets      []int32
}

func (h *hypergraph) size() int32 { return int32(len(h.weight)) }

func (h *hypergraph) isFixed(v int32) bool { return h.fixed != nil && h.fixed[v] }

func (h *hypergraph) pinsOf(e int32) []int32 { return h.pins[h.netStart[e]:h.netStart[e+1]] }

func (h *hypergraph) netsOf(v int32) []int32 { return h.nets[h.vertStart[v]:h.vertStart[v+1]] }

// loads returns the loads of a vertex by slice.
func (h *hypergraph) loads(v int32) []int32 {
	if h.load == nil {
		return h.weight[v : v+1]
	}
	return h.load[int(v)*h.slices : (int(v)+1)*h.slices]
}

func (h *hypergraph) total() int64 {
	sum := int64(0)
	for _, w := range h.weight {
		sum += int64(w)
	}
	return sum
}

// index builds the lists of nets by vertex.
func (h *hypergraph) index() {
	n := h.size()
	h.vertStart = make([]int32, n+1)
	for _, v := range h.pins {
		h.vertStart[v+1]++
	}
	for v := range n {
		h.vertStart[v+1] += h.vertStart[v]
	}
	h.nets = make([]int32, len(h.pins))
	fill := slices.Clone(h.vertStart[:n])
	for e := range int32(len(h.netStart) - 1) {
		for _, v := range h.pinsOf(e) {
			h.nets[fill[v]] = e
			fill[v]++
		}
	}
}

// widestNet is the most pins of a net that partitioning looks at: a wider one is
// cut anyway.
const widestNet = 48

// valueNets returns the hypergraph of the gates with a net for each value: its
// gate and those that read it. A gate weighs as many steps as its value lives in
// the given order.
func (in *instance) valueNets(order []int32) *hypergraph {
	pos := make([]int32, in.gates)
	for t, g := range order {
		pos[g] = int32(t)
	}
	h := &hypergraph{weight: make([]int32, in.gates), netStart: []int32{0}}
	for v := int32(1); v < in.values; v++ {
		uses := in.uses(v)
		g := v - in.first
		if g >= 0 {
			last := pos[g] + 1
			for _, u := range uses {
				last = max(last, pos[u])
			}
			if in.isOut[v] {
				last = in.gates
			}
			h.weight[g] = max(last-pos[g], 1)
		}
		if len(uses) >= widestNet || len(uses) == 0 {
			continue
		}
		if g >= 0 {
			h.pins = append(h.pins, g)
		}
		h.pins = append(h.pins, uses...)
		if int32(len(h.pins))-h.netStart[len(h.netStart)-1] < 2 {
			h.pins = h.pins[:h.netStart[len(h.netStart)-1]]
			continue
		}
		h.netStart = append(h.netStart, int32(len(h.pins)))
	}
	h.index()
	return h
}

// partition divides the vertices into k parts of about equal weight that few
// nets cross, by recursive multilevel bisection with the refinement of Fiduccia
// and Mattheyses (Karypis et al., Multilevel hypergraph partitioning, 1999). It
// returns the part of each vertex; nil if ctx ends. Time is near-linear.
func (h *hypergraph) partition(ctx context.Context, k int, r *rand.Rand) []uint8 {
	return h.fit(ctx, make([]int64, k), 0, r)
}

// fit is partition into parts of given capacities, which need not be of equal weight then: in no
// slice is the load of a part more, where that can be avoided. With a slack above 0 two sides
// share no more than so many times the room that they need.
func (h *hypergraph) fit(ctx context.Context, room []int64, slack float64, r *rand.Rand) []uint8 {
	part := make([]uint8, h.size())
	all := make([]int32, h.size())
	for v := range all {
		all[v] = int32(v)
	}
	h.split(ctx, all, room, slack, 0, part, r)
	if ctx.Err() != nil {
		return nil
	}
	return part
}

func (h *hypergraph) split(ctx context.Context, vertices []int32, room []int64, slack float64, first int, part []uint8, r *rand.Rand) {
	k := len(room)
	if k == 1 || ctx.Err() != nil {
		for _, v := range vertices {
			part[v] = uint8(first)
		}
		return
	}
	sub := h
	if len(vertices) != len(part) {
		sub = h.induced(vertices)
	}
	b := balance{share: float64(k/2) / float64(k)}
	for i, n := range room {
		if i < k/2 {
			b.room[0] += n
		} else {
			b.room[1] += n
		}
	}
	if all := b.room[0] + b.room[1]; all > 0 {
		b.share = float64(b.room[0]) / float64(all)
		if most := float64(sub.peakLoad()*loadUnit) * slack; slack > 0 && most < float64(all) {
			b.room[0], b.room[1] = int64(b.share*most), int64((1-b.share)*most)
		}
	}
	side := sub.bisect(ctx, b, r)
	var halves [2][]int32
	for i, v := range vertices {
		halves[side[i]] = append(halves[side[i]], v)
	}
	h.split(ctx, halves[0], room[:k/2], slack, first, part, r)
	h.split(ctx, halves[1], room[k/2:], slack, first+k/2, part, r)
}

// balance is what the weights of two sides shall be.
type balance struct {
	share float64  // of the weight, on side 0
	room  [2]int64 // the most load in a slice on each side; 0 = about that share
}

// induced returns the hypergraph of some vertices and what the nets have of them.
func (h *hypergraph) induced(vertices []int32) *hypergraph {
	local := make([]int32, h.size())
	for i := range local {
		local[i] = -1
	}
	s := &hypergraph{weight: make([]int32, len(vertices)), slices: h.slices, netStart: []int32{0}}
	for i, v := range vertices {
		local[v] = int32(i)
		s.weight[i] = h.weight[v]
		if h.load != nil {
			s.load = append(s.load, h.loads(v)...)
		}
		if h.fixed != nil {
			s.fixed = append(s.fixed, h.fixed[v])
		}
	}
	for e := range int32(len(h.netStart) - 1) {
		start := len(s.pins)
		for _, v := range h.pinsOf(e) {
			if local[v] >= 0 {
				s.pins = append(s.pins, local[v])
			}
		}
		if len(s.pins)-start < 2 {
			s.pins = s.pins[:start]
			continue
		}
		s.netStart = append(s.netStart, int32(len(s.pins)))
	}
	s.index()
	return s
}

// bisect divides the vertices into sides 0 and 1: what is best of some divisions of a
// coarse hypergraph, refined at each level. Where vertices have loads at several times it is
// coarsened and refined again, without joining vertices of different sides.
func (h *hypergraph) bisect(ctx context.Context, b balance, r *rand.Rand) []uint8 {
	levels, maps := h.coarsen(ctx, nil, r)
	coarsest := levels[len(levels)-1]
	var best []uint8
	bestCut, bestOver := int64(-1), int64(0)
	for range 8 {
		side := coarsest.grow(b.share, r)
		f := newRefiner(coarsest, side, b)
		if cut := f.refine(ctx); bestCut < 0 || f.over < bestOver || f.over == bestOver && cut < bestCut {
			best, bestCut, bestOver = side, cut, f.over
		}
	}
	best = refineUp(ctx, levels, maps, best, b)
	if h.load != nil && len(best) == len(h.weight) && ctx.Err() == nil {
		levels, maps := h.coarsen(ctx, best, r)
		for i, m := range maps {
			best = coarseSides(best, m, levels[i+1].size())
		}
		newRefiner(levels[len(levels)-1], best, b).refine(ctx)
		best = refineUp(ctx, levels, maps, best, b)
	}
	if len(best) != int(h.size()) {
		return make([]uint8, h.size()) // stopped
	}
	return best
}

// coarsen returns ever coarser hypergraphs, h first, and the maps from each to the next.
// Vertices of different sides, if there are any, stay apart.
func (h *hypergraph) coarsen(ctx context.Context, side []uint8, r *rand.Rand) (levels []*hypergraph, maps [][]int32) {
	const smallest = 120
	levels = []*hypergraph{h}
	for c := h; c.size() > smallest && ctx.Err() == nil; {
		m, n := c.match(ctx, side, r)
		if m == nil || n > c.size()*9/10 {
			break
		}
		if side != nil {
			side = coarseSides(side, m, n)
		}
		c = c.contract(m, n)
		levels = append(levels, c)
		maps = append(maps, m)
	}
	return levels, maps
}

// coarseSides returns the sides of the n vertices that m maps those of known sides to.
func coarseSides(side []uint8, m []int32, n int32) []uint8 {
	coarse := make([]uint8, n)
	for v, u := range m {
		coarse[u] = side[v]
	}
	return coarse
}

// refineUp takes sides of the coarsest level to the finest, refining them at each.
func refineUp(ctx context.Context, levels []*hypergraph, maps [][]int32, side []uint8, b balance) []uint8 {
	for i := len(maps) - 1; i >= 0 && ctx.Err() == nil; i-- {
		fine := make([]uint8, levels[i].size())
		for v := range fine {
			fine[v] = side[maps[i][v]]
		}
		side = fine
		newRefiner(levels[i], side, b).refine(ctx)
	}
	return side
}

// match joins vertices in pairs that share many small nets. It returns the
// vertex of the coarser hypergraph for each, and how many there are; nil if ctx ends.
// Those of different sides are not joined.
func (h *hypergraph) match(ctx context.Context, side []uint8, r *rand.Rand) (coarse []int32, n int32) {
	size := h.size()
	coarse = make([]int32, size)
	for v := range coarse {
		coarse[v] = -1
	}
	heaviest := max(h.total()/60, 1)
	score := make([]float32, size)
	var near []int32
	order := r.Perm(int(size))
	for i, o := range order {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, 0
		}
		v := int32(o)
		if coarse[v] >= 0 {
			continue
		}
		near = near[:0]
		for _, e := range h.netsOf(v) {
			pins := h.pinsOf(e)
			if len(pins) > 16 {
				continue
			}
			w := 1 / float32(len(pins)-1)
			for _, u := range pins {
				if u == v || coarse[u] >= 0 || h.isFixed(u) || h.isFixed(v) || side != nil && side[u] != side[v] || int64(h.weight[u])+int64(h.weight[v]) > heaviest {
					continue
				}
				if score[u] == 0 {
					near = append(near, u)
				}
				score[u] += w
			}
		}
		mate := int32(-1)
		for _, u := range near {
			score[u] *= h.apart(u, v)
			if mate < 0 || score[u] > score[mate] {
				mate = u
			}
		}
		for _, u := range near {
			score[u] = 0
		}
		coarse[v] = n
		if mate >= 0 {
			coarse[mate] = n
		}
		n++
	}
	return coarse, n
}

// apart is how much better it is to join two vertices for their loads being at different
// times: so coarse vertices come to take about as much in every slice, and can be divided.
func (h *hypergraph) apart(u, v int32) float32 {
	if h.load == nil {
		return 1
	}
	x, y := h.loads(u), h.loads(v)
	wx, wy := float32(h.weight[u]), float32(h.weight[v])
	common := float32(0)
	for i := range x {
		if x[i] > 0 && y[i] > 0 {
			common += min(float32(x[i])/wx, float32(y[i])/wy)
		}
	}
	return 1 - 0.9*min(common, 1)
}

// contract merges the vertices that m maps to the same one of n.
func (h *hypergraph) contract(m []int32, n int32) *hypergraph {
	c := &hypergraph{weight: make([]int32, n), slices: h.slices, netStart: []int32{0}}
	if h.load != nil {
		c.load = make([]int32, int(n)*h.slices)
	}
	if h.fixed != nil {
		c.fixed = make([]bool, n)
	}
	for v, w := range h.weight {
		c.weight[m[v]] += w
		if h.isFixed(int32(v)) {
			c.fixed[m[v]] = true // joined to no other
		}
		if h.load != nil {
			to := c.loads(m[v])
			for i, n := range h.loads(int32(v)) {
				to[i] += n
			}
		}
	}
	seen := make([]int32, n)
	for i := range seen {
		seen[i] = -1
	}
	for e := range int32(len(h.netStart) - 1) {
		start := len(c.pins)
		for _, v := range h.pinsOf(e) {
			if u := m[v]; seen[u] != e {
				seen[u] = e
				c.pins = append(c.pins, u)
			}
		}
		if len(c.pins)-start < 2 {
			c.pins = c.pins[:start]
			continue
		}
		c.netStart = append(c.netStart, int32(len(c.pins)))
	}
	c.index()
	return c
}

// grow returns sides where side 0 is what a breadth-first walk reaches first.
func (h *hypergraph) grow(share float64, r *rand.Rand) []uint8 {
	n := h.size()
	side := make([]uint8, n)
	for v := range side {
		if side[v] = 1; h.isFixed(int32(v)) {
			side[v] = 0
		}
	}
	if n == 0 {
		return side
	}
	need := int64(share * float64(h.total()))
	var queue []int32
	next := func(v int32) {
		if side[v] == 1 {
			side[v] = 0
			need -= int64(h.weight[v])
			queue = append(queue, v)
		}
	}
	for i := 0; need > 0; i++ {
		if i == len(queue) {
			for v := int32(r.IntN(int(n))); ; v = (v + 1) % n {
				if side[v] == 1 {
					next(v)
					break
				}
			}
			continue
		}
		for _, e := range h.netsOf(queue[i]) {
			for _, u := range h.pinsOf(e) {
				if need > 0 {
					next(u)
				}
			}
		}
	}
	return side
}

// refiner moves vertices between two sides by gain, in passes.
type refiner struct {
	h     *hypergraph
	side  []uint8
	count [2][]int32 // by net: pins on each side
	load  [2][]int64 // by slice
	most  [2][]int64 // load allowed on each side
	over  int64      // load beyond that

	gain   []int32
	bucket []int32 // by gain + span: first vertex, -1 = none
	next   []int32
	prev   []int32 // -2: not in a bucket
	span   int32
	top    int32
	locked []bool
}

func newRefiner(h *hypergraph, side []uint8, b balance) *refiner {
	n := h.size()
	f := &refiner{h: h, side: side, gain: make([]int32, n), next: make([]int32, n), prev: make([]int32, n), locked: make([]bool, n)}
	nets := len(h.netStart) - 1
	f.count = [2][]int32{make([]int32, nets), make([]int32, nets)}
	slices := max(h.slices, 1)
	for s := range f.load {
		f.load[s], f.most[s] = make([]int64, slices), make([]int64, slices)
	}
	heaviest := make([]int32, slices)
	for v := range n {
		for i, w := range h.loads(v) {
			f.load[side[v]][i] += int64(w)
			heaviest[i] = max(heaviest[i], w)
		}
		if !h.isFixed(v) {
			f.span = max(f.span, int32(len(h.netsOf(v))))
		}
	}
	for e := range int32(nets) {
		for _, v := range h.pinsOf(e) {
			f.count[side[v]][e]++
		}
	}
	for i := range slices {
		total := float64(f.load[0][i] + f.load[1][i])
		slack := int64(0.04*total) + int64(heaviest[i])
		f.most[0][i], f.most[1][i] = int64(b.share*total)+slack, int64((1-b.share)*total)+slack
		if b.room[0]+b.room[1] > 0 {
			f.most[0][i], f.most[1][i] = b.room[0], b.room[1]
		}
		for s := range f.load {
			f.over += max(f.load[s][i]-f.most[s][i], 0)
		}
	}
	f.bucket = make([]int32, 2*f.span+1)
	return f
}

func (f *refiner) cut() int64 {
	c := int64(0)
	for e := range f.count[0] {
		if f.count[0][e] > 0 && f.count[1][e] > 0 {
			c++
		}
	}
	return c
}

// refine runs passes until one brings nothing or ctx ends, and returns the nets cut.
func (f *refiner) refine(ctx context.Context) int64 {
	for range 12 {
		if ctx.Err() != nil || !f.pass(ctx) {
			break
		}
	}
	return f.cut()
}

func (f *refiner) gainOf(v int32) int32 {
	s := f.side[v]
	g := int32(0)
	for _, e := range f.h.netsOf(v) {
		if f.count[s][e] == 1 {
			g++
		}
		if f.count[1-s][e] == 0 {
			g--
		}
	}
	return g
}

func (f *refiner) insert(v int32) {
	b := f.gain[v] + f.span
	f.prev[v] = -1
	f.next[v] = f.bucket[b]
	if f.next[v] >= 0 {
		f.prev[f.next[v]] = v
	}
	f.bucket[b] = v
	f.top = max(f.top, b)
}

func (f *refiner) take(v int32) {
	if f.prev[v] >= 0 {
		f.next[f.prev[v]] = f.next[v]
	} else {
		f.bucket[f.gain[v]+f.span] = f.next[v]
	}
	if f.next[v] >= 0 {
		f.prev[f.next[v]] = f.prev[v]
	}
	f.prev[v] = -2
}

// pass moves vertices one after another, each once, best gain first, and keeps
// the best prefix of the moves. It reports whether that is any better.
func (f *refiner) pass(ctx context.Context) bool {
	h := f.h
	for i := range f.bucket {
		f.bucket[i] = -1
	}
	f.top = 0
	for v := range h.size() {
		f.prev[v] = -2
		if f.locked[v] = h.isFixed(v); f.locked[v] {
			continue
		}
		f.gain[v] = f.gainOf(v)
		for _, e := range h.netsOf(v) { // at the border
			if f.count[0][e] > 0 && f.count[1][e] > 0 {
				f.insert(v)
				break
			}
		}
	}
	var moved []int32
	sum, best, bestAt := int64(0), int64(0), 0
	bestOver := f.over // what is over the allowed load must first become less
	patience := 200 + int(h.size()/20)
	for len(moved)-bestAt < patience {
		v := f.pick()
		if v < 0 || len(moved)%4096 == 4095 && ctx.Err() != nil {
			break
		}
		f.take(v)
		f.locked[v] = true
		sum += int64(f.gain[v])
		f.move(v)
		moved = append(moved, v)
		if f.over < bestOver || f.over == bestOver && sum > best {
			best, bestAt, bestOver = sum, len(moved), f.over
		}
	}
	for i := len(moved) - 1; i >= bestAt; i-- {
		f.flip(moved[i])
	}
	return bestAt > 0
}

// pick returns the vertex of the best gain whose move the weights allow.
func (f *refiner) pick() int32 {
	for f.top > 0 && f.bucket[f.top] < 0 {
		f.top--
	}
	tries := 0
	for b := f.top; b >= 0; b-- {
		for v := f.bucket[b]; v >= 0; v = f.next[v] {
			if f.excess(v) <= 0 {
				return v
			}
			if tries++; tries > 100 {
				return -1
			}
		}
	}
	return -1
}

// excess returns by how much moving v raises what is over the allowed load.
func (f *refiner) excess(v int32) int64 {
	from, to := f.side[v], 1-f.side[v]
	more := int64(0)
	for i, n := range f.h.loads(v) {
		if w := int64(n); w > 0 {
			more -= min(max(f.load[from][i]-f.most[from][i], 0), w)
			more += min(max(f.load[to][i]+w-f.most[to][i], 0), w)
		}
	}
	return more
}

// flip moves v without regard to gains.
func (f *refiner) flip(v int32) {
	s := f.side[v]
	for _, e := range f.h.netsOf(v) {
		f.count[s][e]--
		f.count[1-s][e]++
	}
	f.over += f.excess(v)
	for i, n := range f.h.loads(v) {
		f.load[s][i] -= int64(n)
		f.load[1-s][i] += int64(n)
	}
	f.side[v] = 1 - s
}

// move moves v and brings the gains of the others up to date.
func (f *refiner) move(v int32) {
	s := f.side[v]
	for _, e := range f.h.netsOf(v) {
		to := f.count[1-s][e]
		switch to {
		case 0:
			f.adjust(e, -1, +1) // the net is no longer safe on one side
		case 1:
			f.adjust(e, int8(1-s), -1) // the only pin there is no longer alone
		}
		from := f.count[s][e] - 1
		switch from {
		case 0:
			f.adjust(e, -1, -1)
		case 1:
			f.adjust(e, int8(s), +1)
		}
	}
	f.flip(v)
}

// adjust changes the gains of the free pins of net e by d: of those on a side, or
// of all if side is -1. Pins that were not at the border come to it.
func (f *refiner) adjust(e int32, side int8, d int32) {
	for _, u := range f.h.pinsOf(e) {
		if f.locked[u] || side >= 0 && f.side[u] != uint8(side) {
			continue
		}
		if f.prev[u] != -2 {
			f.take(u)
		}
		f.gain[u] += d
		f.insert(u)
	}
}
