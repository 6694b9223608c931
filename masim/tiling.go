package masim

import (
	"context"
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
// has an equal part.
func (in *instance) loadNets(order []int32, home int) *hypergraph {
	pos := make([]int32, in.gates)
	for t, g := range order {
		pos[g] = int32(t)
	}
	h := &hypergraph{weight: make([]int32, in.gates), slices: loadSlices, load: make([]int32, int(in.gates)*loadSlices), netStart: []int32{0}}
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
			if g >= 0 {
				h.pins = append(h.pins, g)
			}
			h.pins = append(h.pins, uses...)
		}
		if len(h.pins)-start < 2 {
			h.pins = h.pins[:start]
			continue
		}
		h.netStart = append(h.netStart, int32(len(h.pins)))
	}
	for v := range h.size() {
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

// loadSlack is how much more room than is needed two sides may have: with more, it pays to
// cut time in two, which leaves each half more to cut.
const loadSlack = 1.1

// tiled returns starts that spread gates over arrays so that at any time of an order each
// has room for its values and few values cross: for each order the one with the fewest arrays
// that this takes, for the best order also others.
func (b *bitsched) tiled(ctx context.Context, orders [][]int32, home int, r *rand.Rand) []start {
	in := b.in
	if in.room[home] < int32(in.p.Geometry.Rows)/2 && home+1 < in.arrays {
		home++
	}
	var starts []start
	best, least := -1, 0
	nets := make([]*hypergraph, len(orders))
	for i, order := range orders {
		nets[i] = in.loadNets(order, home)
		k := in.arraysFor(nets[i].peakLoad())
		b.wanted = max(b.wanted, home+min(k, maxParts))
		if s := b.tile(ctx, nets[i], order, home, k, r); s.cost != infeasible {
			starts = append(starts, s)
			if best < 0 || s.cost < starts[best].cost {
				best, least = len(starts)-1, i
			}
		}
	}
	if best < 0 || in.gates > searchLimit {
		return starts
	}
	order, k := orders[least], starts[best].parts
	tried := k
	for _, n := range [...]int{k + 1, k * 5 / 4, k * 3 / 2} {
		if n > tried && home+n <= in.arrays {
			if s := b.tile(ctx, nets[least], order, home, n, r); s.cost != infeasible {
				starts = append(starts, s)
			}
			tried = n
		}
	}
	return starts
}

// arraysFor returns how many arrays have room for that many live values, and some more.
func (in *instance) arraysFor(live int64) int {
	return int(live*10/(9*int64(in.p.Geometry.Rows))) + 1
}

// tileWork is how many gates are divided for one start: small graphs more than once.
const tileWork = 20_000

// tile returns the start that spreads gates over k arrays, or all that there are. Its cost is
// infeasible if there is none.
func (b *bitsched) tile(ctx context.Context, h *hypergraph, order []int32, home, k int, r *rand.Rand) start {
	in := b.in
	k = min(k, in.arrays-home, maxParts)
	none := start{cost: infeasible}
	if k < 2 || ctx.Err() != nil {
		return none
	}
	room := make([]int64, k)
	for i := range room {
		room[i] = int64(in.room[home+i]) * loadUnit * 9 / 10
	}
	best := none
	for range min(max(tileWork/in.gates, 1), 4) {
		part := h.fit(ctx, room, r)
		if part == nil {
			break
		}
		pl := in.inArray(order, home)
		for g := range pl.array {
			pl.array[g] += part[g]
		}
		ev := b.evaluator(pl)
		ev.most = b.hopeless()
		if c := ev.reset(); c < best.cost {
			best = start{pl, c, k}
		}
	}
	return best
}
