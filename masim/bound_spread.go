package masim

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// spreadBound bounds the copies by what must cross between arrays where the
// values of a graph do not fit into one, with and without rematerialisation.
//
// Clusters. Call a copy extra unless it is the first of an input out of a full
// array. Some values are tied: inputs of choice, and gates of choice among those
// that read a tied value. A tied value and all gates that read it are of one
// cluster, so clusters are the parts of the graph that ties connect. Let a
// cluster be clean if no copy of a tied value of it is extra. Each gate of a clean
// cluster is computed in one and the same array only, however often. For each
// tied input lies in one array with room, where all that reads it is computed; a
// tied gate computed there is not copied, so what reads it is computed there;
// and so on. With at most k extra copies at most k clusters are not clean.
//
// Rows. Take the moment just before some gate g is computed for the first time:
// its ancestors were computed, and neither g nor a descendant was. Consider a
// path from an input of a clean cluster that was read by then, over tied
// gates of the cluster, to a gate that was not computed yet. The array of the
// cluster holds a value on the path at that moment, since otherwise the input would
// have to be copied there once more. So it holds at least as many values of
// the cluster as a minimum cut of all such paths. Of two gates either may come
// first; the ancestors of both and the first are computed when the second is due.
// Where in both cases the clusters but k need more rows than m-1 arrays have, at
// least m arrays compute clean clusters.
//
// Crossings. Let clean clusters i and j be computed in different arrays. On a path
// of gates from one of j to one of i the first is not computed in the array of i
// and the last is, so some value on the path was copied to that array, none that is
// tied in j: at least as many values as a minimum cut of such paths, and each of
// these copies is extra. Let k+1 clusters be hubs; one of them is clean. If the
// minimum cut between each hub and each other cluster is f or more both ways, each
// of the m arrays receives f extra copies. Hence
//
//	extra copies >= min(k+1, m*f) for every k.
//
// Which values are tied and which clusters are left out decides how good this
// is, not whether it holds.
type spreadBound struct {
	in   *instance
	full int32 // inputs in full arrays are nodes 1 to full
	net  flowNet
	work *meter // arcs that may still be looked at

	best   int32 // extra copies
	arrays int   // that compute clean clusters at least
	cross  int32 // copies that each of them receives

	tied     []bool  // by node
	cluster  []int32 // by node: that it belongs to, -1 = none
	clusters int
	past     []bool // by node: an ancestor, computed at the moment
	future   []bool // by node: not computed
	alive    []bool // by cluster: not left out
	sorted   []int32
}

const (
	spreadWork     = 60_000_000 // some tenths of a second
	spreadSplits   = 8          // gates with the most users, whose moments are looked at
	spreadSmallest = 2          // limits of the size of a cluster
	spreadLargest  = 64
	spreadMost     = 64 // extra copies looked for
)

func newSpreadBound(ctx context.Context, in *instance) *spreadBound {
	rows := int32(in.p.Geometry.Rows)
	return &spreadBound{
		in: in, full: (in.first - 1) / rows * rows, work: newMeter(ctx, spreadWork),
		tied: make([]bool, in.values), cluster: make([]int32, in.values),
		past: make([]bool, in.values), future: make([]bool, in.values),
	}
}

// search bounds the copies with clusters of several sizes.
func (b *spreadBound) search() {
	in := b.in
	// A cluster takes no more rows than it has inputs.
	if int(in.first-1) <= in.p.Geometry.Rows || in.gates > cutLargest {
		return
	}
	splits := make([]int32, in.gates)
	for g := range splits {
		splits[g] = int32(g)
	}
	slices.SortStableFunc(splits, func(x, y int32) int {
		return len(in.uses(in.first+y)) - len(in.uses(in.first+x))
	})
	splits = splits[:min(len(splits), spreadSplits)]
	for size := spreadLargest; size >= spreadSmallest && b.work.more(); size = size * 2 / 3 {
		b.tie(int32(size))
		if b.clusters > 1 {
			b.split(splits)
		}
	}
}

// unions are disjoint sets of nodes.
type unions struct{ parent, size []int32 }

func newUnions(n int32) *unions {
	u := &unions{make([]int32, n), make([]int32, n)}
	for v := range u.parent {
		u.parent[v], u.size[v] = int32(v), 1
	}
	return u
}

func (u *unions) find(v int32) int32 {
	for u.parent[v] != v {
		u.parent[v] = u.parent[u.parent[v]]
		v = u.parent[v]
	}
	return v
}

func (u *unions) join(v, w int32) {
	v, w = u.find(v), u.find(w)
	if v == w {
		return
	}
	if u.size[v] < u.size[w] {
		v, w = w, v
	}
	u.parent[w] = v
	u.size[v] += u.size[w]
}

// tie makes clusters of at most so many nodes: of values with the most users
// and these first, then of what several values connect. What is in one set with all
// its users is tied.
func (b *spreadBound) tie(most int32) {
	in := b.in
	sets := newUnions(in.values)
	var order []int32
	for v := int32(1); v < in.values; v++ {
		b.tied[v] = false
		if n := int32(len(in.uses(v))); n > 0 && n < most {
			order = append(order, v)
		}
	}
	slices.SortStableFunc(order, func(x, y int32) int { return len(in.uses(y)) - len(in.uses(x)) })
	var roots []int32
	for _, v := range order {
		if len(in.uses(v)) < 2 {
			break
		}
		roots = append(roots[:0], sets.find(v))
		sum := sets.size[roots[0]]
		for _, u := range in.uses(v) {
			if r := sets.find(in.first + u); sum <= most && !slices.Contains(roots, r) {
				roots = append(roots, r)
				sum += sets.size[r]
			}
		}
		if sum <= most {
			for _, r := range roots {
				sets.join(v, r)
			}
		}
	}
	for b.work.more() && b.match(sets, order, most) {
	}
	slices.Sort(order)
	for _, v := range order { // fanins come first
		b.tied[v] = (v < in.first || b.readsTied(v)) &&
			!slices.ContainsFunc(in.uses(v), func(u int32) bool { return sets.find(in.first+u) != sets.find(v) })
	}
	b.connect()
}

// match joins pairs of sets, each set once and with one that most values connect
// it with; false if there are none.
func (b *spreadBound) match(sets *unions, values []int32, most int32) bool {
	in := b.in
	var links []uint64 // pairs of sets
	for _, v := range values {
		x := sets.find(v)
		for _, u := range in.uses(v) {
			if y := sets.find(in.first + u); x != y && sets.size[x]+sets.size[y] <= most {
				links = append(links, uint64(min(x, y))<<32|uint64(max(x, y)))
			}
		}
	}
	b.work.spend(int64(len(links)))
	slices.Sort(links)
	type pair struct {
		sets  uint64
		count int32
	}
	var pairs []pair
	for _, l := range links {
		if n := len(pairs) - 1; n >= 0 && pairs[n].sets == l {
			pairs[n].count++
		} else {
			pairs = append(pairs, pair{l, 1})
		}
	}
	slices.SortStableFunc(pairs, func(x, y pair) int { return int(y.count - x.count) })
	joined := make(map[int32]bool)
	waits := make(map[int32]int32) // for a set that it has so many connections with
	for _, p := range pairs {
		x, y := int32(p.sets>>32), int32(p.sets&math.MaxUint32)
		switch {
		case joined[x] || joined[y]:
			waits[x], waits[y] = max(waits[x], p.count), max(waits[y], p.count)
		case waits[x] <= p.count && waits[y] <= p.count:
			joined[x], joined[y] = true, true
			sets.join(x, y)
		}
	}
	return len(pairs) > 0
}

func (b *spreadBound) readsTied(v int32) bool {
	return slices.ContainsFunc(b.in.fanin[v-b.in.first][:], func(f int32) bool { return b.tied[f] })
}

// connect makes the clusters of the tied values.
func (b *spreadBound) connect() {
	in := b.in
	sets := newUnions(in.values)
	for v := int32(1); v < in.values; v++ {
		if b.tied[v] {
			for _, u := range in.uses(v) {
				sets.join(v, in.first+u)
			}
		}
	}
	number := make([]int32, in.values)
	n := int32(0)
	for v := range in.values {
		b.cluster[v] = -1
		if !b.tied[v] && (v < in.first || !b.readsTied(v)) {
			continue
		}
		r := sets.find(v)
		if number[r] == 0 {
			n++
			number[r] = n
		}
		b.cluster[v] = number[r] - 1
	}
	b.clusters = int(n)
}

// split looks at the moments of single gates and of pairs of them.
func (b *spreadBound) split(gates []int32) {
	for i, g := range gates {
		b.consider([][]int32{b.rows(g, -1)})
		for _, h := range gates[:i] {
			if !b.work.more() {
				return
			}
			if first, second := b.rows(g, h), b.rows(h, g); first != nil && second != nil {
				b.consider([][]int32{first, second})
			}
		}
	}
}

// rows returns the rows that each cluster needs just before gate g is first
// computed, gate h (-1 = none) having been; nil if one is an ancestor of the other.
func (b *spreadBound) rows(g, h int32) []int32 {
	in, f := b.in, &b.net
	v, w := in.first+g, in.first+h
	clear(b.past)
	b.markAncestors(v)
	if h >= 0 {
		before := b.past[w]
		b.markAncestors(w)
		if before || b.past[v] {
			return nil
		}
		b.past[w] = true
	}
	clear(b.future)
	b.future[v] = true
	for x := v + 1; x < in.values; x++ {
		for _, f := range in.fanin[x-in.first] {
			b.future[x] = b.future[x] || b.future[f]
		}
	}
	f.reset(int(2 + 2*in.values))
	rows := make([]int32, b.clusters)
	var arcs, of []int32
	for x := int32(1); x < in.values; x++ {
		n := 2 + 2*x
		if b.future[x] {
			f.arc(n, sink, noCut)
			continue
		}
		if !b.tied[x] {
			continue
		}
		arrived := x < in.first && x > b.full // lies there from the start
		for _, u := range in.uses(x) {
			arrived = arrived || x < in.first && b.past[in.first+u]
			f.arc(n+1, 2+2*(in.first+u), noCut)
		}
		f.arc(n, n+1, 1)
		if arrived {
			arcs = append(arcs, int32(len(f.to)))
			of = append(of, b.cluster[x])
			f.arc(source, n, 1)
		}
	}
	b.maximise(noCut)
	for i, a := range arcs { // clusters have no path in common
		if f.room[a] == 0 {
			rows[of[i]]++
		}
	}
	return rows
}

// markAncestors notes the ancestors of root in past.
func (b *spreadBound) markAncestors(root int32) {
	in := b.in
	for v := root; v >= in.first; v-- {
		if v == root || b.past[v] {
			for _, f := range in.fanin[v-in.first] {
				b.past[f] = true
			}
		}
	}
}

func (b *spreadBound) maximise(limit int32) int32 {
	b.work.spend(int64(len(b.net.to)))
	return b.net.maximiseMetered(limit, b.work)
}

// consider bounds the copies, one of the cases being true: the rows that each
// cluster needs at some moment. Clusters that need none in some case are left
// out, and so are those that fewer copies reach from a hub or leave to it
// than most clusters.
func (b *spreadBound) consider(cases [][]int32) {
	b.alive = b.alive[:0]
	least := make([]int32, b.clusters)
	var order []int32
	for c := range least {
		least[c] = cases[0][c]
		for _, rows := range cases {
			least[c] = min(least[c], rows[c])
		}
		b.alive = append(b.alive, least[c] > 0)
		if least[c] > 0 {
			order = append(order, int32(c))
		}
	}
	if b.needArrays(cases, int(b.best)) < 2 {
		return
	}
	slices.SortStableFunc(order, func(x, y int32) int { return cmp.Compare(least[y], least[x]) })
	cross, hubs := int32(0), 0
	for _, hub := range order {
		if !b.alive[hub] {
			continue
		}
		crossings := b.crossings(hub)
		b.sorted = b.sorted[:0]
		for c, n := range crossings {
			if b.alive[c] && int32(c) != hub {
				b.sorted = append(b.sorted, n)
			}
		}
		if len(b.sorted) == 0 {
			return
		}
		slices.Sort(b.sorted)
		median := b.sorted[len(b.sorted)/2]
		if cross == 0 {
			cross = median
		}
		if median < cross { // not a good hub
			b.alive[hub] = false
			continue
		}
		for c, n := range crossings {
			b.alive[c] = b.alive[c] && (int32(c) == hub || n >= cross)
		}
		arrays := b.needArrays(cases, hubs)
		hubs++
		if arrays < 2 || arrays*int(cross) < hubs || hubs > spreadMost || !b.work.more() {
			return
		}
		if int32(hubs) > b.best {
			b.best, b.arrays, b.cross = int32(hubs), arrays, cross
		}
	}
}

// needArrays returns how many arrays the rows of all clusters but k take.
func (b *spreadBound) needArrays(cases [][]int32, k int) int {
	least, capacity := b.in.arrays+1, b.in.p.Geometry.Rows
	for _, rows := range cases {
		b.sorted = b.sorted[:0]
		for c, n := range rows {
			if b.alive[c] {
				b.sorted = append(b.sorted, n)
			}
		}
		slices.Sort(b.sorted)
		sum := 0
		for _, n := range b.sorted[:max(len(b.sorted)-k, 0)] {
			sum += int(n)
		}
		least = min(least, (sum+capacity-1)/capacity)
	}
	return least
}

// crossings returns for each cluster the least number of copies from it to the
// array of the hub, or from the hub to its array, where these are two.
func (b *spreadBound) crossings(hub int32) []int32 {
	n := make([]int32, b.clusters)
	for c := range n {
		if b.alive[c] && int32(c) != hub && b.work.more() {
			if n[c] = b.crossing(hub, int32(c)); n[c] > 0 {
				n[c] = min(n[c], b.crossing(int32(c), hub))
			}
		}
	}
	return n
}

// crossing returns how many values at least are copied to the array of cluster i,
// if cluster j is computed in another.
func (b *spreadBound) crossing(j, i int32) int32 {
	in, f := b.in, &b.net
	f.reset(int(2 + 2*in.values))
	for v := in.first; v < in.values; v++ {
		n := 2 + 2*v
		switch b.cluster[v] {
		case i:
			f.arc(n, sink, noCut)
			continue
		case j:
			if b.tied[v] {
				continue // all that reads it is of j
			}
			f.arc(source, n, noCut)
		}
		f.arc(n, n+1, 1)
		for _, u := range in.uses(v) {
			f.arc(n+1, 2+2*(in.first+u), noCut)
		}
	}
	return min(b.maximise(spreadMost), spreadMost)
}
