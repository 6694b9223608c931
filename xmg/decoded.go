package xmg

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"
)

// Decoded makes large regions of logic anew that few signals decide, as look-up
// tables are: of a root in it that takes more gates than that, it makes the
// Reed-Muller form over some of the signals, the columns, whose coefficients
// are functions of the other four, the rows:
//
//	f = c0(rows) ^ XOR of m(columns) & c(rows) over the products m
//
// Since MAJ(m, a, b) = ab ^ m(a ^ b), a term takes one gate if its coefficient
// is the XOR of any two functions of a pool, and all roots share the pool. A
// few hundred functions of one gate each are enough for all coefficients. Of 8
// signals, a root then takes 15 MAJ and 8 XOR gates, where a multiplexer tree
// or an OR of minterms takes over 60.
//
// A region is what depends on a set of up to decodedSignals nodes only: the
// smallest set that cuts what some decodedSet nodes further down decide. (It is
// not found if more of these decide the signals.) Run it after [Exclusive] and
// [Map], and these two again after it.
//
// The result is never larger; it is g itself if no smaller one was found. The
// time is linear in the gates, and for a region some 10 us for each coefficient
// of a root. It takes 120 bytes a gate, and up to 128 more in regions. An error means
// that the context ended, and wraps its error.
func Decoded(ctx context.Context, g *Graph, opt Options) (*Graph, error) {
	g = g.Sweep()
	tick := &ticker{ctx, opt.Progress, "decoded tables", g.NumNodes()}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("xmg: %s: %w", tick.phase, err)
	}
	for range decodedRegions {
		sets, err := signalSets(g, tick)
		if err != nil {
			return nil, err
		}
		before := g.NumGates()
		for _, s := range sets {
			d := newRegion(g, s)
			if d == nil {
				continue
			}
			if smaller := d.remake(); smaller.NumGates() < g.NumGates() {
				g = smaller
				break // the other sets are of the old graph
			}
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("xmg: %s: %w", tick.phase, err)
			}
		}
		if g.NumGates() == before {
			break
		}
	}
	return g, nil
}

const (
	decodedSignals = 10  // of a region
	decodedSet     = 16  // nodes of a set before it is cut down
	decodedRegions = 8   // regions remade
	decodedSets    = 8   // sets looked at for each of them
	decodedGates   = 100 // gates of a region at least
	decodedCovers  = 4
	decodedRows    = 4 // signals that the coefficients are functions of
)

// signalSet is a set of nodes, ascending.
type signalSet struct {
	n    uint8
	node [decodedSet]uint32
}

func (s *signalSet) nodes() []uint32 { return s.node[:s.n] }

// union makes s the union of a and b; it fails if that is too large.
func (s *signalSet) union(a, b *signalSet) bool {
	i, j, n := uint8(0), uint8(0), uint8(0)
	for i < a.n || j < b.n {
		var l uint32
		switch {
		case j == b.n || i < a.n && a.node[i] < b.node[j]:
			l = a.node[i]
			i++
		case i == a.n || a.node[i] > b.node[j]:
			l = b.node[j]
			j++
		default:
			l = a.node[i]
			i++
			j++
		}
		if n == decodedSet {
			return false
		}
		s.node[n] = l
		n++
	}
	s.n = n
	return true
}

// signalSets returns the sets that most gates depend on: the sets of the fanins
// of a gate together, or the gate itself if they are too large.
func signalSets(g *Graph, tick *ticker) ([]signalSet, error) {
	type use struct {
		hash uint64
		id   uint32
	}
	sets := make([]signalSet, g.NumNodes())
	var uses []use
	for id := 1; id < g.NumNodes(); id++ {
		if err := tick.tick(id); err != nil {
			return nil, err
		}
		s := &sets[id]
		var ab signalSet
		if f := g.nodes[id]; !g.IsGate(id) || !ab.union(&sets[f[0]>>1], &sets[f[1]>>1]) || !s.union(&ab, &sets[f[2]>>1]) {
			s.n, s.node[0] = 1, uint32(id)
			continue
		}
		h := uint64(0)
		for _, n := range s.nodes() {
			h = mix(h + uint64(n) + 1)
		}
		uses = append(uses, use{h, uint32(id)})
	}
	slices.SortFunc(uses, func(a, b use) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.id, b.id)) })
	type count struct {
		gates int
		id    uint32
	}
	var counts []count
	for i := 0; i < len(uses); {
		j := i
		for j < len(uses) && uses[j].hash == uses[i].hash {
			j++
		}
		if j-i >= decodedGates/2 && sets[uses[i].id].n > decodedRows {
			counts = append(counts, count{j - i, uses[i].id})
		}
		i = j
	}
	slices.SortFunc(counts, func(a, b count) int { return cmp.Or(-cmp.Compare(a.gates, b.gates), cmp.Compare(a.id, b.id)) })
	var best []signalSet
	for _, c := range counts[:min(len(counts), decodedSets)] {
		best = append(best, sets[c.id])
	}
	return best, nil
}

// region is the gates that depend on some signals only.
type region struct {
	g       *Graph
	signals []uint32
	index   []int32 // by node: its place among the signals and the gates, or -1
	nodes   []uint32
	cone    []bool // by node: a signal depends on it
}

// newRegion returns the region of a set, or nil if it is too small. The set is
// replaced by a smaller one that cuts the region.
func newRegion(g *Graph, s signalSet) *region {
	d := &region{g: g, signals: slices.Clone(s.nodes()), index: make([]int32, g.NumNodes())}
	d.collect()
	if d.signals = d.minCut(); len(d.signals) > decodedSignals || len(d.signals) <= decodedRows {
		return nil
	}
	slices.Sort(d.signals)
	d.collect()
	if len(d.nodes)-len(d.signals) < decodedGates {
		return nil
	}
	return d
}

// collect finds the gates of the region.
func (d *region) collect() {
	g := d.g
	for i := range d.index {
		d.index[i] = -1
	}
	d.nodes = append(d.nodes[:0], d.signals...)
	for i, n := range d.signals {
		d.index[n] = int32(i)
	}
	for id := g.FirstGate(); id < g.NumNodes(); id++ {
		if d.index[id] >= 0 {
			continue
		}
		inside := true
		for _, l := range g.nodes[id] {
			if l > True && d.index[l>>1] < 0 {
				inside = false
			}
		}
		if inside {
			d.index[id] = int32(len(d.nodes))
			d.nodes = append(d.nodes, uint32(id))
		}
	}
}

// minCut returns the smallest set of nodes on all paths from the signals to the
// later half of the region, the one nearest to that. (Augmenting paths, one for
// each node of the set; a node is on one path at most.)
func (d *region) minCut() []uint32 {
	const none, end = -1, -2
	n := len(d.nodes)
	from, to := make([]int32, n), make([]int32, n) // of the path through a node
	for i := range n {
		from[i], to[i] = none, none
	}
	// States are twice the place, plus one on the side of the outputs.
	seen := make([]int32, 2*n) // the state before, plus one; 0 is not seen
	var stack []int32
	for {
		clear(seen)
		stack = stack[:0]
		visit := func(s, before int32) {
			if seen[s] == 0 {
				seen[s] = before + 1
				stack = append(stack, s)
			}
		}
		for i := max(n/2, len(d.signals)); i < n; i++ {
			if to[i] == none {
				visit(int32(2*i+1), int32(2*n))
			}
		}
		found := int32(-1)
		for len(stack) > 0 && found < 0 {
			s := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			v := s / 2
			switch {
			case s&1 == 1 && to[v] == none:
				visit(2*v, s)
			case s&1 == 1:
				if to[v] != end {
					visit(2*to[v], s)
				}
			case int(v) < len(d.signals):
				if from[v] == none {
					found = s
				}
			default:
				for _, l := range d.g.nodes[d.nodes[v]] {
					if u := d.index[l>>1]; l > True && u != from[v] {
						visit(2*u+1, s)
					}
				}
				if to[v] != none {
					visit(2*v+1, s)
				}
			}
		}
		if found < 0 {
			break
		}
		// Along the path towards the top: edges that are cancelled first.
		var path []int32
		for s := found; s != int32(2*n); s = seen[s] - 1 {
			path = append(path, s)
		}
		for k := 1; k < len(path); k++ {
			if a, b := path[k-1], path[k]; a&1 == 0 && b&1 == 1 && a/2 != b/2 && to[b/2] == a/2 {
				to[b/2], from[a/2] = none, none
			}
		}
		from[found/2] = end
		for k := 1; k < len(path); k++ {
			if a, b := path[k-1], path[k]; a&1 == 1 && b&1 == 0 && a/2 != b/2 {
				to[a/2], from[b/2] = b/2, a/2
			}
		}
		to[path[len(path)-1]/2] = end
	}
	var cut []uint32
	for i, v := range d.nodes {
		if seen[2*i+1] != 0 && seen[2*i] == 0 {
			cut = append(cut, v)
		}
	}
	return cut
}

// remake returns the graph with roots of the region made anew. It tries several
// prices of a form: low ones also remake gates that are little more than a few
// others together.
func (d *region) remake() *Graph {
	d.findCone()
	tables := d.simulate()
	forms := d.forms(tables)
	best := d.g
	var last []uint32
	for _, price := range [...]float32{1, 1.5, 2, 3} {
		roots := d.roots(forms, price)
		if len(roots) == 0 || slices.Equal(roots, last) {
			continue
		}
		last = roots
		if g := d.build(tables, roots); g.NumGates() < best.NumGates() {
			best = g
		}
	}
	return best
}

// build returns the graph with some gates made anew.
func (d *region) build(tables [][]uint64, roots []uint32) *Graph {
	g := d.g
	out := g.emptyCopy(g.NumGates())
	lit := make([]Lit, g.NumNodes())
	for id := range g.FirstGate() {
		lit[id] = Lit(id) << 1
	}
	for id := g.FirstGate(); id < g.NumNodes(); id++ {
		if d.cone[id] {
			lit[id] = out.copyGate(g.nodes[id], lit)
		}
	}
	var in []Lit
	for _, s := range d.signals {
		in = append(in, lit[s])
	}
	var fs [][]uint64
	for _, r := range roots {
		fs = append(fs, tables[d.index[r]])
	}
	made := make([]bool, g.NumNodes())
	for i, l := range makeTables(out, in, fs) {
		lit[roots[i]] = l
		made[roots[i]] = true
	}
	for id := g.FirstGate(); id < g.NumNodes(); id++ {
		if !d.cone[id] && !made[id] {
			lit[id] = out.copyGate(g.nodes[id], lit)
		}
	}
	for _, o := range g.outputs {
		out.AddOutput(o.Name, lit[o.Lit>>1]^o.Lit&1)
	}
	return out.Sweep()
}

// findCone finds the nodes that the signals depend on, and these.
func (d *region) findCone() {
	d.cone = make([]bool, d.g.NumNodes())
	for _, s := range d.signals {
		d.cone[s] = true
	}
	for id := d.g.NumNodes() - 1; id >= d.g.FirstGate(); id-- {
		if d.cone[id] {
			for _, l := range d.g.nodes[id] {
				d.cone[l>>1] = true
			}
		}
	}
}

// simulate returns the truth tables by place.
func (d *region) simulate() [][]uint64 {
	words := 1 << max(0, len(d.signals)-6)
	store := make([]uint64, words*len(d.nodes))
	tables := make([][]uint64, len(d.nodes))
	for i, v := range d.nodes {
		t := store[i*words:][:words]
		tables[i] = t
		if i < len(d.signals) {
			for w := range t {
				switch {
				case i < 6:
					t[w] = uint64(sixTruth[i])
				case w>>(i-6)&1 != 0:
					t[w] = ^uint64(0)
				}
			}
			continue
		}
		f := d.g.nodes[v]
		for w := range t {
			var in [3]uint64
			for k, l := range f {
				if l > True {
					in[k] = tables[d.index[l>>1]][w]
				}
				in[k] ^= -uint64(l & 1)
			}
			if f[0] > f[1] {
				t[w] = in[0] ^ in[1] ^ in[2]
			} else {
				t[w] = in[0]&in[1] | (in[0]|in[1])&in[2]
			}
		}
	}
	return tables
}

// forms returns the gates of the form of each gate of the region, by place.
func (d *region) forms(tables [][]uint64) []float32 {
	form := make([]float32, len(d.nodes))
	rows := make([]uint16, 1<<(len(d.signals)-decodedRows))
	order := make([]int, len(d.signals))
	for i := range order {
		order[i] = i
	}
	for i := len(d.signals); i < len(d.nodes); i++ {
		coefficients(tables[i], order, rows)
		terms := 0
		for _, c := range rows[1:] {
			if c != 0 {
				terms++
			}
		}
		form[i] = float32(terms + (terms+1)/2)
	}
	return form
}

// roots picks the gates that are made anew: it covers the region with gates and
// forms for the least area flow, with the uses in the last cover, a few times.
func (d *region) roots(form []float32, price float32) []uint32 {
	n, first := len(d.nodes), len(d.signals)
	outside := d.outsideUses()
	refs := d.g.References()
	estimate := make([]float32, n)
	for i, v := range d.nodes {
		estimate[i] = max(1, float32(refs[v]))
	}
	flow := make([]float32, n)
	remade := make([]bool, n)
	var uses []int32
	for range decodedCovers {
		for i := first; i < n; i++ {
			gate := float32(1)
			for _, l := range d.g.nodes[d.nodes[i]] {
				if l > True {
					gate += flow[d.index[l>>1]]
				}
			}
			if f := price * form[i]; f < gate && !d.cone[d.nodes[i]] {
				remade[i], gate = true, f
			} else {
				remade[i] = false
			}
			flow[i] = gate / estimate[i]
		}
		uses = slices.Clone(outside)
		for i := n - 1; i >= first; i-- {
			if uses[i] > 0 && !remade[i] {
				for _, l := range d.g.nodes[d.nodes[i]] {
					if l > True {
						uses[d.index[l>>1]]++
					}
				}
			}
		}
		for i := range estimate {
			estimate[i] = max(1, (estimate[i]+2*float32(uses[i]))/3)
		}
	}
	var roots []uint32
	for i := first; i < n; i++ {
		if remade[i] && uses[i] > 0 {
			roots = append(roots, d.nodes[i])
		}
	}
	return roots
}

// outsideUses counts, by place, the uses by outputs and by gates that are not in
// the region.
func (d *region) outsideUses() []int32 {
	uses := make([]int32, len(d.nodes))
	use := func(l Lit) {
		if i := d.index[l>>1]; l > True && i >= 0 {
			uses[i]++
		}
	}
	for _, o := range d.g.outputs {
		use(o.Lit)
	}
	for id := d.g.FirstGate(); id < d.g.NumNodes(); id++ {
		if i := d.index[id]; i < 0 || int(i) < len(d.signals) {
			for _, l := range d.g.nodes[id] {
				use(l)
			}
		}
	}
	return uses
}

// coefficients takes a truth table apart: rows[m] is the coefficient of the
// product of the columns that are set in m, as a truth table of the rows. The
// first decodedRows signals of the order are the rows, the others the columns.
func coefficients(t []uint64, order []int, rows []uint16) {
	clear(rows)
	n := len(order)
	for p := range 1 << n {
		if t[p/64]>>(p%64)&1 == 0 {
			continue
		}
		row, column := 0, 0
		for i, s := range order {
			if b := p >> s & 1; i < decodedRows {
				row |= b << i
			} else {
				column |= b << (i - decodedRows)
			}
		}
		rows[column] |= 1 << row
	}
	for i := range n - decodedRows {
		for m := range rows {
			if m>>i&1 != 0 {
				rows[m] ^= rows[m^1<<i]
			}
		}
	}
}

// makeTables makes functions of the signals in.
func makeTables(g *Graph, in []Lit, fs [][]uint64) []Lit {
	order := bestOrder(len(in), fs)
	columns := 1 << (len(in) - decodedRows)
	products := make([]Lit, columns)
	products[0] = True
	for m := 1; m < columns; m++ {
		low := bits.TrailingZeros(uint(m))
		products[m] = g.And(products[m&(m-1)], in[order[decodedRows+low]])
	}
	p := newPool(g, [decodedRows]Lit{in[order[0]], in[order[1]], in[order[2]], in[order[3]]})
	rows := make([][]uint16, len(fs))
	for i, f := range fs {
		rows[i] = make([]uint16, columns)
		coefficients(f, order, rows[i])
		for _, c := range rows[i][1:] {
			p.want(c)
		}
	}
	p.fill()
	made := make([]Lit, len(fs))
	for i := range fs {
		made[i] = p.make(rows[i], products)
	}
	return made
}

// bestOrder picks the rows for the fewest different coefficients.
func bestOrder(n int, fs [][]uint64) []int {
	var best []int
	least := -1
	rows := make([]uint16, 1<<(n-decodedRows))
	seen := make([]bool, 1<<15)
	for set := range 1 << n {
		if bits.OnesCount(uint(set)) != decodedRows {
			continue
		}
		var order []int
		for i := range n {
			if set>>i&1 != 0 {
				order = append(order, i)
			}
		}
		for i := range n {
			if set>>i&1 == 0 {
				order = append(order, i)
			}
		}
		clear(seen)
		cost := 0
		for _, f := range fs {
			coefficients(f, order, rows)
			for _, c := range rows[1:] {
				if c == 0 {
					continue
				}
				cost++
				if k := truth(c).normal(); !seen[k] {
					seen[k] = true
					cost++
				}
			}
		}
		if least < 0 || cost < least {
			best, least = order, cost
		}
	}
	return best
}
