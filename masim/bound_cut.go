package masim

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// cutBound bounds the copies by minimum cuts at moments that every schedule goes
// through: just before some gate g is computed, and the end.
//
// What is known. Let h be the array that inputs fill in part, with r rows of
// room, and U the inputs that lie in full arrays. Each gate is computed once, in
// h or outside. Let H be the inputs of h and the gates computed in h, S the
// members of H that are copied out of h at some time, and B the gates computed
// outside that are copied into h. S, B and U are disjoint, so
//
//	copies >= |used inputs of U| + |S| + |B|.
//
// A gate of H reads values of H, B and U only. A member of H that is not in S is
// read by gates of H only. Just before g is computed, the set I of computed gates
// holds all ancestors of g, neither g nor a descendant, and with a gate its
// fanins. Gates of I that are outputs or have a user outside I are live. Those of
// H that are not in S are held in h, so there are at most r of them.
//
// The cut. Take a network with nodes in(v), mid(v), out(v) and back(v) for each
// gate v and mid(x) for each input x of h. Arcs: in(v) to mid(v) and back(v) to
// in(v) of capacity 1, also from the source to mid(x); mid(v) to out(v) of
// capacity c; without limit from out(v) to in(u) and from in(u) to back(v) for
// each user u of v, and from mid(x) to in(u) for each user u of x that is an
// ancestor of g. Of g and its descendants in, and of outputs out, lead to the
// sink without limit. Let the source's side hold
//
//	in(v)   for gates v of I and H,
//	mid(v)  for those of them, and those inputs, that are not in S,
//	out(v)  where v is moreover not live, and
//	back(v) where v has a user in I and H.
//
// No arc without limit leaves this side. The arcs of capacity 1 that leave it
// enter mid of a member of S or come from back of a member of B; those of
// capacity c are of live gates held in h. So minimum cut <= |S| + |B| + c*r, and
//
//	copies >= |used inputs of U| + minimum cut - c*r
//
// for every g and every c >= 0. The difference is concave in c; Newton's method
// finds a good c for each g. Where a gate cannot be live (all its users are
// ancestors of g) there is no limit from mid to out.
//
// Pairs. Of two gates neither of which descends from the other one is computed
// later. Just before that the other is computed too, with all its ancestors, so
// that more is known of I than at the moment of either gate alone. Which is later
// is not known: the lesser of the two bounds holds.
//
// With rematerialisation a gate may be computed on both sides, and need not be
// held while it is live. There remains the moment at the end without the arcs of
// back, H being the values ever held in h and never outside, or copied out.
type cutBound struct {
	in    *instance
	once  bool  // no gate is computed twice
	full  int32 // inputs in full arrays are nodes 1 to full
	room  int32 // of the array that inputs fill in part
	net   flowNet
	side  []uint8 // by node, relative to the moment
	lives *meter  // arcs that may still be looked at for live values
	work  *meter  // and for copies
	pairs *meter  // and for both at moments of pairs

	best   int32  // copies beyond those of inputs of full arrays
	moment moment // that needs them
}

const (
	undecided = iota
	before    // an ancestor: computed
	after     // the gate of the moment, or a descendant: not computed
)

// The capacities are integers: those of S and B are cutUnit, those of live values
// a part or a multiple of it.
const (
	cutUnit    = 64
	maxWeight  = 16 * cutUnit
	cutSamples = 32          // moments looked at in a first pass
	cutSpread  = 4           // best of them that neighbours are looked at of
	cutSmall   = 1000        // gates up to which all moments are looked at
	liveWork   = 100_000_000 // arcs looked at for live values
	cutWork    = 100_000_000 // and for copies
	pairWork   = 100_000_000 // and for moments of pairs: one to two seconds in all
	cutPairs   = 24          // moments of most live values whose pairs are looked at
	cutLargest = 50_000      // gates beyond which cuts take too long
)

// newCutBound returns the bound for an instance, without moments. Where once is
// not set, gates may be computed more than once.
func newCutBound(ctx context.Context, in *instance, once bool) *cutBound {
	rows := int32(in.p.Geometry.Rows)
	inputs := in.first - 1
	b := &cutBound{in: in, once: once, full: inputs / rows * rows, side: make([]uint8, in.values)}
	b.lives, b.work, b.pairs = newMeter(ctx, liveWork), newMeter(ctx, cutWork), newMeter(ctx, pairWork)
	if inputs > b.full {
		b.room = rows - (inputs - b.full)
	}
	return b
}

// moment is a gate about to be computed, -1 = the end, another that was computed
// before, -1 = none is known, and the least number of live values that there can be then.
type moment struct{ gate, other, live int32 }

// String says which moment it is. Of a pair either gate may come first.
func (m moment) String() string {
	if m.other >= 0 {
		return fmt.Sprintf("the later of gates %d and %d", m.gate, m.other)
	}
	return fmt.Sprintf("gate %d", m.gate)
}

// complete reports whether nothing was left out.
func (b *cutBound) complete() bool { return b.lives.more() && b.work.more() && b.pairs.more() }

// search bounds the copies at the moments of most live values.
func (b *cutBound) search() {
	if b.full == b.in.first-1 || b.in.gates > cutLargest {
		return // no input that could be a source
	}
	moments := b.moments()
	spread := b.spread(moments)
	for _, m := range spread {
		if n := b.at(m, b.work); n > b.best {
			b.best, b.moment = n, m
		}
	}
	if !b.once {
		return
	}
	for _, list := range [...][]moment{spread[:min(len(spread), cutPairs/2)], moments[:min(len(moments), cutPairs)]} {
		for i, m := range list {
			for _, o := range list[:i] {
				if m.gate >= 0 && o.gate >= 0 {
					b.pair(m.gate, o.gate)
				}
			}
		}
	}
}

// spread returns moments with the first of each part of the gates before the second of
// any, since neighbours are much alike.
func (b *cutBound) spread(moments []moment) []moment {
	ranks := make([][]moment, 0, len(moments))
	var count [cutSamples + 1]int
	for _, m := range moments {
		part := cutSamples // the end
		if m.gate >= 0 {
			part = int(int64(m.gate) * cutSamples / int64(b.in.gates))
		}
		if count[part] == len(ranks) {
			ranks = append(ranks, nil)
		}
		ranks[count[part]] = append(ranks[count[part]], m)
		count[part]++
	}
	return slices.Concat(ranks...)
}

// middles returns of each part of the gates the one with the most ancestors and
// descendants, whichever are fewer: what is live before it is most likely to be much.
func (b *cutBound) middles() []int32 {
	in := b.in
	above, below := make([]int32, in.gates), make([]int32, in.gates)
	word := make([]uint64, in.values) // by value: which of 64 gates are above it, or below, and it
	for from := in.first; from < in.values; from += 64 {
		to := min(from+64, in.values)
		if b.lives.spend(int64(in.values) / 4); !b.lives.more() {
			return nil
		}
		clear(word[in.first:])
		for v := from; v < in.values; v++ {
			w := uint64(0)
			for _, f := range in.fanin[v-in.first] {
				w |= word[f]
			}
			above[v-in.first] += int32(bits.OnesCount64(w))
			if v < to {
				w |= 1 << (v - from)
			}
			word[v] = w
		}
		clear(word[in.first:])
		for v := to - 1; v >= in.first; v-- {
			w := uint64(0)
			for _, u := range in.uses(v) {
				w |= word[in.first+u]
			}
			below[v-in.first] += int32(bits.OnesCount64(w))
			if v >= from {
				w |= 1 << (v - from)
			}
			word[v] = w
		}
	}
	var middles []int32
	for part := range int64(cutSamples) {
		best := int32(-1)
		for g := int32(part * int64(in.gates) / cutSamples); g < int32((part+1)*int64(in.gates)/cutSamples); g++ {
			if best < 0 || min(above[g], below[g]) > min(above[best], below[best]) {
				best = g
			}
		}
		if best >= 0 {
			middles = append(middles, best)
		}
	}
	return middles
}

// pair bounds the copies at the moment of the later of two gates.
func (b *cutBound) pair(g, h int32) {
	least := moment{g, h, math.MaxInt32}
	copies := int32(math.MaxInt32)
	for _, m := range [...]moment{{gate: g, other: h}, {gate: h, other: g}} {
		if !b.pairs.more() || !b.mark(m) {
			return
		}
		m.live = b.live(m, b.pairs)
		least.live, copies = min(least.live, m.live), min(copies, b.at(m, b.pairs))
		if copies <= b.best {
			return
		}
	}
	b.best, b.moment = copies, least
}

// moments returns the end and, where no gate is computed twice, moments of many live values: among some
// spread over the graph, and others near the best of these. Those with the most come first.
func (b *cutBound) moments() []moment {
	in := b.in
	end := moment{-1, -1, 0}
	for _, out := range in.isOut {
		if out {
			end.live++
		}
	}
	moments := []moment{end}
	seen := make([]bool, in.gates)
	note := func(g int32) {
		if g >= 0 && g < in.gates && !seen[g] && b.lives.more() {
			seen[g] = true
			m := moment{gate: g, other: -1}
			m.live = b.live(m, b.lives)
			moments = append(moments, m)
		}
	}
	sort := func() {
		slices.SortStableFunc(moments, func(x, y moment) int { return int(y.live - x.live) })
	}
	if b.once && in.gates <= cutLargest {
		// The middle first, then ever finer, so that running out of work leaves
		// no part out.
		for d := int32(2); d <= cutSamples && d <= 2*in.gates; d *= 2 {
			for k := int32(1); k < d; k += 2 {
				note(int32(int64(k) * int64(in.gates) / int64(d)))
			}
		}
		for _, g := range b.middles() {
			note(g)
		}
		for step := in.gates / cutSamples; step > 0; step /= 4 {
			sort()
			for _, m := range slices.Clone(moments[:min(len(moments), cutSpread)]) {
				for _, g := range [...]int32{m.gate - step, m.gate - step/2, m.gate + step/2, m.gate + step} {
					note(g)
				}
			}
		}
		if in.gates <= cutSmall {
			for g := range in.gates {
				note(g)
			}
		}
	}
	sort()
	return moments
}

// at returns how many copies a moment takes at least: the most that is found within
// the work that is left, 0 if that is no more than the best known.
func (b *cutBound) at(m moment, work *meter) (most int32) {
	// Two cuts are known: copy no value, which leaves all that is live, and copy
	// all inputs. At weight c a cut costs s + c*(live - room). The cut that is
	// least at the weight where the two cost the same replaces one of them,
	// until it is no better than both.
	type line struct{ s, over int64 }
	work.spend(int64(len(b.side)))
	if !work.more() || m.live-b.room <= b.best {
		return 0
	}
	b.mark(m)
	lo := line{0, int64(m.live - b.room)}
	hi := line{int64(b.sources()), -int64(b.room)}
	last := int64(0)
	for work.more() && lo.over > 0 && hi.over < 0 {
		c := min((hi.s-lo.s)*cutUnit/(lo.over-hi.over), maxWeight)
		if c < 1 || c == last || lo.s*cutUnit+c*lo.over <= int64(max(b.best, most))*cutUnit {
			break // nothing to gain
		}
		last = c
		flow, s, live := b.cut(int32(c), work)
		value := int64(flow) - c*int64(b.room)
		most = max(most, int32((value+cutUnit-1)/cutUnit))
		if over := int64(live - b.room); over > 0 {
			lo = line{int64(s), over}
		} else {
			hi = line{int64(s), over}
		}
	}
	if most <= b.best {
		return 0
	}
	return most
}

// sources counts the inputs of h that ancestors read.
func (b *cutBound) sources() int32 {
	n := int32(0)
	for v := b.full + 1; v < b.in.first; v++ {
		for _, u := range b.in.uses(v) {
			if b.side[b.in.first+u] == before {
				n++
				break
			}
		}
	}
	return n
}

// live returns the least number of live values at a moment: the minimum over all
// sets of gates that can be the computed ones then. What is known to be computed is
// one with the source, what is not with the sink.
func (b *cutBound) live(m moment, work *meter) (certain int32) {
	in, f := b.in, &b.net
	b.mark(m)
	f.reset(int(2 + 2*in.values))
	for v := in.first; v < in.values; v++ {
		if b.side[v] == after {
			continue
		}
		n := 2 + 2*v
		from, live, open := n, in.isOut[v], in.isOut[v]
		if b.side[v] == before {
			from = source
			for _, u := range in.uses(v) {
				live = live || b.side[in.first+u] == after
				open = open || b.side[in.first+u] != before
			}
			if live {
				certain++
			}
			if live || !open {
				continue
			}
		}
		f.arc(from, n+1, 1)
		for _, u := range in.uses(v) {
			n2 := 2 + 2*(in.first+u)
			switch b.side[in.first+u] {
			case after:
				f.arc(n+1, sink, noCut)
			case undecided:
				f.arc(n+1, n2, noCut)
				if from == n {
					f.arc(n2, n, noCut) // u is computed after v
				}
			}
		}
		if in.isOut[v] {
			f.arc(n+1, sink, noCut)
		}
	}
	return certain + b.flow(32, work)
}

// flow returns the maximum flow of the network, pushed in steps of a size, or
// what was pushed when the work ran out: no more than the minimum cut either.
func (b *cutBound) flow(size int32, m *meter) int32 {
	f := &b.net
	m.spend(int64(len(f.to)))
	for total := int32(0); ; {
		n := f.maximiseMetered(size, m)
		total += n
		if n <= size || !m.more() {
			return total
		}
	}
}

// mark tells the gates computed before a moment from those computed after. False if the
// moment does not come: the other gate descends from the one that is due.
func (b *cutBound) mark(m moment) bool {
	in := b.in
	if m.gate < 0 {
		for v := in.first; v < in.values; v++ {
			b.side[v] = before
		}
		return true
	}
	clear(b.side)
	root, top := in.first+m.gate, in.first+m.gate
	b.side[root] = after
	if m.other >= 0 {
		b.side[in.first+m.other] = before
		top = max(top, in.first+m.other)
	}
	for v := top; v >= in.first; v-- {
		if v == root || b.side[v] == before {
			for _, u := range in.fanin[v-in.first] {
				if u >= in.first {
					b.side[u] = before
				}
			}
		}
	}
	if b.side[root] != after {
		return false
	}
	for v := root + 1; v < in.values; v++ {
		for _, u := range in.fanin[v-in.first] {
			if u >= in.first && b.side[u] == after {
				b.side[v] = after
			}
		}
	}
	return true
}

// cut returns the minimum cut at weight c, how many values of S it cuts and how
// many live ones.
func (b *cutBound) cut(c int32, work *meter) (flow, s, live int32) {
	in, f := b.in, &b.net
	entry := func(v int32) int32 { return 2 + 4*v }
	f.reset(int(2 + 4*in.values))
	for v := b.full + 1; v < in.first; v++ {
		mid := entry(v) + 1
		used := false
		for _, u := range in.uses(v) {
			if b.side[in.first+u] == before {
				f.arc(mid, entry(in.first+u), noCut)
				used = true
			}
		}
		if used {
			f.arc(source, mid, cutUnit)
		}
	}
	for v := in.first; v < in.values; v++ {
		n := entry(v)
		if b.side[v] == after {
			f.arc(n, sink, noCut)
			continue
		}
		dead := b.side[v] == before && !in.isOut[v]
		for _, u := range in.uses(v) {
			f.arc(n+2, entry(in.first+u), noCut)
			if b.once {
				f.arc(entry(in.first+u), n+3, noCut)
			}
			dead = dead && b.side[in.first+u] == before
		}
		if in.isOut[v] {
			f.arc(n+2, sink, noCut)
		}
		f.arc(n, n+1, cutUnit)
		if b.once {
			f.arc(n+3, n, cutUnit)
		}
		if dead {
			f.arc(n+1, n+2, noCut)
		} else {
			f.arc(n+1, n+2, c)
		}
	}
	flow = b.flow(32*cutUnit, work)
	f.sourceSide()
	cuts := func(n, m int32) bool { return f.level[n] >= 0 && f.level[m] < 0 }
	for v := b.full + 1; v < in.values; v++ {
		n := entry(v)
		if v >= in.first && b.side[v] != after && cuts(n+3, n) {
			s++
		}
		switch {
		case v < in.first:
			if f.head[n+1] >= 0 && f.level[n+1] < 0 {
				s++
			}
		case b.side[v] == after:
		case cuts(n, n+1):
			s++
		case cuts(n+1, n+2):
			live++
		}
	}
	return flow, s, live
}
