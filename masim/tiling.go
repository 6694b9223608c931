package masim

import (
	"cmp"
	"context"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sort"
)

// dataflow returns an order by fronts: each gate as soon as its fanins are there, but
// those that end no life only just before they are read. So the products of a
// multiplier do not all come first. Gates of the same front come as they do in tie, an order.
//
// It does not depend on the order of the gates in the graph if tie does not.
func (in *instance) dataflow(tie []int32) []int32 {
	time := make([]int32, in.gates)
	for g := range time {
		for _, v := range in.fanin[g] {
			if f := v - in.first; f >= 0 {
				time[g] = max(time[g], time[f]+1)
			}
		}
	}
	last := make([]int32, in.gates) // use of the value
	for g := range time {
		for _, v := range in.fanin[g] {
			if f := v - in.first; f >= 0 {
				last[f] = max(last[f], time[g])
			}
		}
	}
	lazy := make([]bool, in.gates)
	for g := in.gates - 1; g >= 0; g-- {
		uses := in.uses(in.first + g)
		if in.isOut[in.first+g] || len(uses) == 0 {
			continue
		}
		ends := false
		for _, v := range in.fanin[g] {
			f := v - in.first
			ends = ends || f >= 0 && !lazy[f] && last[f] == time[g] && !in.isOut[v]
		}
		if ends {
			continue
		}
		lazy[g] = true
		time[g] = never
		for _, u := range uses {
			time[g] = min(time[g], time[u])
		}
	}
	pos := make([]int32, in.gates)
	for t, g := range tie {
		pos[g] = int32(t)
	}
	byTime := in.graphOrder()
	sort.Slice(byTime, func(i, j int) bool {
		x, y := byTime[i], byTime[j]
		if time[x] != time[y] {
			return time[x] < time[y]
		}
		return pos[x] < pos[y]
	})
	order := make([]int32, 0, in.gates)
	done := make([]bool, in.gates)
	for _, g := range byTime {
		if !lazy[g] {
			order = in.visit(g, time, done, order)
		}
	}
	return order
}

// The loads of gates by time.
const (
	loadSlices = 16
	loadUnit   = 1 << 10 // a row through a whole slice
	widestLoad = 4096    // pins of the widest net that matters to parts by load
)

// loadNets is valueNets with the rows that values take in each of some slices of an order as
// the loads of the gates that compute them. Of an input that takes rows, each gate that reads it
// has an equal part. A last vertex, fixed in the first part, stands for the inputs that lie in array
// home: gates of other parts that read them take copies.
func (in *instance) loadNets(order []int32, home int) *hypergraph {
	pos := make([]int32, in.gates)
	for t, g := range order {
		pos[g] = int32(t)
	}
	anchor := in.gates
	h := &hypergraph{weight: make([]int32, in.gates+1), slices: loadSlices, load: make([]int32, int(in.gates+1)*loadSlices),
		fixed: make([]bool, in.gates+1), netStart: []int32{0}}
	h.fixed[anchor] = true
	steps := max(int64(in.gates), 1)
	// add notes a value that lives from one time to another, 1/parts of which is a gate's.
	add := func(g, from, to int32, parts int64) {
		load := h.loads(g)
		for s := int64(from) * loadSlices / steps; s <= int64(to-1)*loadSlices/steps && s < loadSlices; s++ {
			lo, hi := max(int64(from)*loadSlices, s*steps), min(int64(to)*loadSlices, (s+1)*steps)
			load[s] += int32(((hi-lo)*loadUnit/steps + parts/2) / parts)
		}
	}
	for v := int32(1); v < in.values; v++ {
		uses := in.uses(v)
		g := v - in.first
		from, to := in.gates, int32(0)
		for _, u := range uses {
			from, to = min(from, pos[u]), max(to, pos[u])
		}
		switch {
		case g >= 0:
			if in.isOut[v] {
				to = in.gates
			}
			add(g, pos[g], max(to, pos[g]+1), 1)
		case int(in.home[v]) != home:
			for _, u := range uses {
				add(u, from, to, int64(len(uses)))
			}
		}
		start := len(h.pins)
		if len(uses) < widestLoad {
			switch {
			case g >= 0:
				h.pins = append(h.pins, g)
			case int(in.home[v]) == home:
				h.pins = append(h.pins, anchor)
			}
			h.pins = append(h.pins, uses...)
		}
		if len(h.pins)-start < 2 {
			h.pins = h.pins[:start]
			continue
		}
		h.netStart = append(h.netStart, int32(len(h.pins)))
	}
	for v := range in.gates {
		sum := int32(1)
		for _, w := range h.loads(v) {
			sum += w
		}
		h.weight[v] = sum
	}
	h.index()
	return h
}

// peakLoad returns the most rows that all vertices take in a slice.
func (h *hypergraph) peakLoad() int64 {
	sums := make([]int64, h.slices)
	for v := range h.size() {
		for i, w := range h.loads(v) {
			sums[i] += int64(w)
		}
	}
	return slices.Max(sums) / loadUnit
}

// loadSlack is how much more room than is needed two sides of a tight tiling have: in a division
// of many parts it does not pay to cut time in two, which leaves each half more to cut. Few parts
// do better with all the room.
const loadSlack = 1.1

// tiling is a way to spread gates over arrays: by parts whose values fit at any time of an order.
type tiling struct {
	order []int32
	nets  *hypergraph
	parts int
	slack float64
	best  int // cost of the best start so far
}

// tileSteps is the work of dividing a gate in two, in steps.
const tileSteps = 30

// tiled returns starts that spread gates over arrays so that at any time of an order each
// has room for its values and few values cross: for each order with the fewest arrays
// that this takes, for the best order also with others. Then what came near the best is tried
// again for the rest of the work, since divisions depend on chance.
func (b *bitsched) tiled(ctx context.Context, orders [][]int32, home int, work int64, r *rand.Rand) []start {
	in := b.in
	if in.room[home] < int32(in.p.Geometry.Rows)/4 && home+1 < in.arrays {
		home++
	}
	var tilings []tiling
	var starts []start
	try := func(t *tiling) {
		s := b.tile(ctx, *t, home, r)
		work -= tileSteps * int64(in.gates) * int64(bits.Len(uint(t.parts)))
		if t.best = min(t.best, s.cost); s.cost != infeasible {
			starts = append(starts, s)
		}
	}
	for _, order := range orders {
		t := tiling{order, in.loadNets(order, home), 0, loadSlack, infeasible}
		t.parts = max(in.arraysFor(t.nets.peakLoad()), 2)
		b.wanted = max(b.wanted, home+min(t.parts, maxParts))
		if t.parts = min(t.parts, in.arrays-home, maxParts); t.parts < 2 {
			continue
		}
		if tilings = append(tilings, t); in.gates <= manyGates {
			t.slack = 0
			tilings = append(tilings, t)
		}
	}
	for i := range tilings {
		try(&tilings[i])
	}
	if len(starts) == 0 || in.gates > searchLimit {
		return starts
	}
	nearest := slices.MinFunc(tilings, func(x, y tiling) int { return cmp.Compare(x.best, y.best) })
	for _, n := range [...]int{nearest.parts + 1, nearest.parts * 5 / 4, nearest.parts * 3 / 2} {
		if t := nearest; n > tilings[len(tilings)-1].parts && home+n <= min(in.arrays, maxParts) {
			t.parts = n
			try(&t)
			tilings = append(tilings, t)
		}
	}
	best := infeasible
	for _, t := range tilings {
		best = min(best, t.best)
	}
	tilings = slices.DeleteFunc(tilings, func(t tiling) bool { return float64(t.best) > worthTiling*float64(best) })
	if best < b.best { // by itself the best there is
		work += int64((winningShare - tileShare) * float64(b.work))
	}
	for i := 0; work > 0 && ctx.Err() == nil; i++ {
		try(&tilings[i%len(tilings)])
	}
	slices.SortStableFunc(starts, func(x, y start) int { return cmp.Compare(x.cost, y.cost) })
	starts = slices.CompactFunc(starts, func(x, y start) bool { return x.cost == y.cost && x.parts == y.parts })
	return starts[:min(len(starts), 4)]
}

// worthTiling is how many times the best a tiling may cost to be tried again.
const worthTiling = 1.2

// arraysFor returns how many arrays have room for that many live values, and some more.
func (in *instance) arraysFor(live int64) int {
	return int(live*10/(9*int64(in.p.Geometry.Rows))) + 1
}

// tile returns the start of a tiling from array home on. Its cost is infeasible if there is none.
func (b *bitsched) tile(ctx context.Context, t tiling, home int, r *rand.Rand) start {
	in := b.in
	room := make([]int64, t.parts)
	for i := range room {
		room[i] = int64(in.room[home+i]) * loadUnit * 9 / 10
	}
	part := t.nets.fit(ctx, room, t.slack, r)
	if part == nil {
		return start{cost: infeasible}
	}
	pl := in.inArray(t.order, home)
	for g := range pl.array {
		pl.array[g] += part[g]
	}
	ev := b.evaluator(pl)
	ev.most = b.hopeless()
	return start{pl, ev.reset(), t.parts}
}
