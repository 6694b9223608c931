package xmg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// countBits makes anew what counts bits: whatever adders a circuit counts with, the number
// of ones among n leaves takes about n full adders if each of these takes in three bits
// (Dadda, "Some schemes for parallel multipliers", 1965), and is compared with a constant t by adding
// 2^k - t to it on the way, so that bit k is the answer and the lower bits need no sums.
//
// Leaves are inputs and what adders read that do not lie above others. Nodes over the same
// leaves are told by patterns to be bits of the number of ones among them, or whether it
// reaches a constant. What patterns tell is proved: first the circuit is compared with
// one where each count is added of the counts that it has of parts of its leaves, and then this one
// with the result, by the identity of full adders, see [algebra].
//
// The result is never larger; it is g itself if no smaller one was found, and then via is
// nil. Else via are the two graphs by way of which they can be proved equal. The time is
// that of some 1000 patterns for each gate and of leaves times the sets of leaves of all nodes, which are
// bounded together. An error means that the context ended, and wraps its error.
func countBits(ctx context.Context, g *Graph, opt Options) (result *Graph, via []*Graph, err error) {
	g = g.Sweep()
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("xmg: counts of bits: %w", err)
	}
	c := &counting{g: g}
	if !c.findLeaves() || !c.findSets() {
		return g, nil, nil
	}
	c.simulate()
	if !c.findCounts() {
		return g, nil, nil
	}
	result = g
	for _, limits := range []bool{false, true} {
		c.findUsed(limits)
		if len(c.used) == 0 {
			continue
		}
		full := c.build(false)
		if h := full.Sweep(); h.NumGates() < result.NumGates() {
			result, via = h, []*Graph{c.build(true), full}
		}
	}
	if via == nil {
		return g, nil, nil
	}
	for i, h := range via {
		e, err := Equivalent(ctx, append([]*Graph{g}, via...)[i], h, EquivalenceOptions{Conflicts: countConflicts, Progress: opt.Progress})
		switch {
		case err != nil:
			return nil, nil, err
		case e.Verdict == Different && i > 0:
			return nil, nil, errors.New("xmg: counts of bits: internal error: adders that count the same bits differ")
		case e.Verdict != Equal:
			return g, nil, nil
		}
	}
	return result, via, nil
}

const (
	countLeast     = 4       // leaves that are counted
	countWords     = 16      // words of patterns
	countSetWords  = 1 << 23 // words of all sets of leaves
	countWork      = 1 << 28 // leaves of sets times words of patterns
	countRefines   = 8       // rounds of patterns that look for a constant
	countConflicts = 10_000
)

// counting is a search for counts of bits.
type counting struct {
	g     *Graph
	leaf  []int32 // the number of the leaf that a node is, or -1
	nodes []uint32
	flip  []Lit      // of leaves: whether it is the complement that is counted
	sets  [][]uint64 // of leaves
	of    []int32    // the set that a node is over, or -1 if that is a leaf or constant
	value []uint64

	counts []bitCount          // smaller sets first
	bitOf  map[uint32]countBit // by node
	bounds map[uint32]bound    // by node: whether a count reaches a constant
	used   []use               // smaller sets first
	usedBy map[uint32]int      // by node that one of used replaces
}

// bitCount is a set of which all bits of the number of ones are nodes.
type bitCount struct {
	set  int32
	bits []Lit
}

// countBit is the bit of a count that a node is.
type countBit struct {
	count, bit int
	flip       Lit
}

// bound says that a node is 1 where the ones of a set are at least so many.
type bound struct {
	set     int32
	atLeast int
	flip    Lit
}

// use is a count that is to be made: of a set, for its bits or for a bound.
type use struct {
	set   int32
	bound *bound
}

// findLeaves finds what is added: inputs, and what full or half adders read that neither is made by
// one nor lies above one. A half adder is one if its carry is read by others than its parity,
// since an XOR of ANDs has a conjunction as well.
func (c *counting) findLeaves() bool {
	g := c.g
	cuts := make([][]cut, len(g.nodes))
	found := map[[3]uint32]uint8{}
	for id := range g.nodes {
		cuts[id] = append(cuts[id], nodeCut(id))
		if id >= g.FirstGate() {
			cuts[id] = append(cuts[id], g.smallCuts(id, cuts)...)
			for i := range cuts[id][1:] {
				k := &cuts[id][1+i]
				found[k.key()] |= k.adds()
			}
		}
	}
	const isRead = 4   // beside isCarry and isParity
	var carries []*cut // that are read so
	read := func(by []cut, l Lit) {
		for i := range cuts[l>>1][1:] {
			if k := &cuts[l>>1][1+i]; k.adds() == isCarry && !slices.ContainsFunc(by, func(d cut) bool { return d.key() == k.key() }) {
				found[k.key()] |= isRead
				carries = append(carries, k)
			}
		}
	}
	for id := g.FirstGate(); id < len(g.nodes); id++ {
		for _, l := range g.nodes[id] {
			read(cuts[id], l)
		}
	}
	for _, o := range g.outputs {
		read(nil, o.Lit)
	}
	adder := func(key [3]uint32) bool { return found[key] == isCarry|isParity|isRead }
	added := make([]bool, len(g.nodes))
	for key := range found {
		if adder(key) {
			for _, l := range key {
				added[l] = true
			}
		}
	}
	c.leaf = make([]int32, len(g.nodes))
	above := make([]bool, len(g.nodes))
	for id := range g.nodes {
		c.leaf[id] = -1
		for i := range cuts[id][1:] {
			k := &cuts[id][1+i]
			above[id] = above[id] || k.adds() != 0 && adder(k.key())
		}
		if id >= g.FirstGate() {
			for _, l := range g.nodes[id] {
				above[id] = above[id] || above[l>>1]
			}
		}
		if id > 0 && (id < g.FirstGate() || added[id] && !above[id]) {
			c.leaf[id] = int32(len(c.nodes))
			c.nodes = append(c.nodes, uint32(id))
		}
	}
	c.polarize(cuts, carries, adder)
	return slices.Contains(above, true)
}

// polarize tells of which leaves it is the complement that is counted. A half adder says so by its carry; of a full
// adder all may be complements, with what it makes, so that what is known there is known here. A
// carry may have a conjunction or disjunction of two that looks like a half adder.
func (c *counting) polarize(cuts [][]cut, carries []*cut, adder func([3]uint32) bool) {
	p := newPolarities(len(c.g.nodes))
	inverted := map[[3]uint32][3]Lit{} // which leaves a carry reads as complements
	inside := map[[3]uint32]bool{}     // pairs of leaves of full adders
	for _, k := range carries {
		inv, _, _ := k.carry()
		if _, ok := inverted[k.key()]; !ok {
			inverted[k.key()] = inv
		}
		if l := k.leaf; k.n == 3 && adder(k.key()) {
			inside[[3]uint32{l[0], l[1]}], inside[[3]uint32{l[0], l[2]}], inside[[3]uint32{l[1], l[2]}] = true, true, true
			p.join(l[0], l[1], inv[0]^inv[1])
			p.join(l[0], l[2], inv[0]^inv[2])
		}
	}
	for _, k := range carries {
		if inv := inverted[k.key()]; k.n == 2 && adder(k.key()) && !inside[k.key()] {
			p.vote(k.leaf[0], inv[0])
			p.vote(k.leaf[1], inv[1])
		}
	}
	for id := range c.g.nodes {
		for i := range cuts[id][1:] {
			k := &cuts[id][1+i]
			if k.adds() == 0 || !adder(k.key()) || inside[k.key()] {
				continue
			}
			inv := inverted[k.key()]
			// What the node is relative to what it would be without complements.
			own := inv[0] ^ inv[1] ^ inv[2] ^ Lit(k.fn&1)
			if k.adds() == isCarry {
				own = Lit(btoi(k.fn != majTruth(inputTruth[0]^-truth(inv[0]), inputTruth[1]^-truth(inv[1]), thirdOf(k.n)^-truth(inv[2]))))
			}
			if k.n == 3 {
				p.join(k.leaf[0], uint32(id), inv[0]^own)
			} else {
				p.vote(uint32(id), own)
			}
		}
	}
	for _, n := range c.nodes {
		c.flip = append(c.flip, p.of(n))
	}
}

// thirdOf is the third leaf of a carry: that of a half adder is 0.
func thirdOf(n uint8) truth {
	if n == 2 {
		return 0
	}
	return inputTruth[2]
}

// polarities are which nodes are complements, known of some relative to others and of some by
// votes: a disjoint-set forest with parities.
type polarities struct {
	parent []uint32
	flip   []Lit // relative to the parent
	votes  []int // of roots: for what they are, less for the complement
}

func newPolarities(nodes int) *polarities {
	p := &polarities{make([]uint32, nodes), make([]Lit, nodes), make([]int, nodes)}
	for i := range p.parent {
		p.parent[i] = uint32(i)
	}
	return p
}

func (p *polarities) root(n uint32) (root uint32, flip Lit) {
	if p.parent[n] == n {
		return n, 0
	}
	root, flip = p.root(p.parent[n])
	p.parent[n], p.flip[n] = root, p.flip[n]^flip
	return root, p.flip[n]
}

func (p *polarities) join(a, b uint32, flip Lit) {
	ra, fa := p.root(a)
	rb, fb := p.root(b)
	if ra == rb {
		return
	}
	p.parent[rb], p.flip[rb] = ra, fa^fb^flip
	p.votes[ra] += p.votes[rb] * (1 - 2*int(p.flip[rb]))
}

func (p *polarities) vote(n uint32, flip Lit) {
	r, f := p.root(n)
	p.votes[r] += 1 - 2*int(flip^f)
}

// of returns whether a node is a complement by most votes.
func (p *polarities) of(n uint32) Lit {
	r, f := p.root(n)
	return f ^ Lit(btoi(p.votes[r] < 0))
}

// findSets tells over which leaves each node is; false if that takes too much memory.
func (c *counting) findSets() bool {
	g := c.g
	n := (len(c.nodes) + 63) / 64
	byHash := map[uint64][]int32{}
	intern := func(set []uint64) int32 {
		h := uint64(0)
		for _, w := range set {
			h = mix(h ^ w)
		}
		for _, i := range byHash[h] {
			if slices.Equal(c.sets[i], set) {
				return i
			}
		}
		byHash[h] = append(byHash[h], int32(len(c.sets)))
		c.sets = append(c.sets, slices.Clone(set))
		return int32(len(c.sets) - 1)
	}
	c.of = make([]int32, len(g.nodes))
	set := make([]uint64, n)
	for id := range g.nodes {
		c.of[id] = -1
		if id < g.FirstGate() || c.leaf[id] >= 0 {
			continue
		}
		clear(set)
		for _, l := range g.nodes[id] {
			switch k := l >> 1; {
			case c.leaf[k] >= 0:
				set[c.leaf[k]/64] |= 1 << (c.leaf[k] % 64)
			case c.of[k] >= 0:
				for i, w := range c.sets[c.of[k]] {
					set[i] |= w
				}
			}
		}
		if c.of[id] = intern(set); len(c.sets)*n > countSetWords {
			return false
		}
	}
	return true
}

// members returns the leaves of a set.
func (c *counting) members(set int32) []int { return leavesOf(c.sets[set]) }

func (c *counting) size(set int32) (n int) {
	for _, w := range c.sets[set] {
		n += bits.OnesCount64(w)
	}
	return n
}

// simulate draws patterns of the leaves, each of them of its own density so that all
// counts occur, and computes all nodes above.
func (c *counting) simulate() {
	rng := rand.New(rand.NewPCG(7, 11))
	in := make([]uint64, len(c.nodes)*countWords)
	for p := range 64 * countWords {
		density := rng.Uint32()
		for i := range c.nodes {
			if rng.Uint32() < density {
				in[i*countWords+p/64] |= 1 << (p % 64)
			}
		}
	}
	c.value = c.simulateFrom(in, countWords)
}

// simulateFrom returns the values of all nodes above the leaves, w words each.
func (c *counting) simulateFrom(in []uint64, w int) []uint64 {
	g := c.g
	value := make([]uint64, len(g.nodes)*w)
	for id := range g.nodes {
		v := value[id*w:][:w]
		if c.leaf[id] >= 0 {
			copy(v, in[int(c.leaf[id])*w:])
			continue
		}
		if id < g.FirstGate() {
			continue
		}
		f := g.nodes[id]
		x, y, z := value[int(f[0]>>1)*w:][:w], value[int(f[1]>>1)*w:][:w], value[int(f[2]>>1)*w:][:w]
		nx, ny, nz := -uint64(f[0]&1), -uint64(f[1]&1), -uint64(f[2]&1)
		for i := range v {
			p, q, r := x[i]^nx, y[i]^ny, z[i]^nz
			if g.Kind(id) == Maj {
				v[i] = p&q | (p|q)&r
			} else {
				v[i] = p ^ q ^ r
			}
		}
	}
	return value
}

// findCounts finds the sets whose counts, or comparisons of these with constants, are nodes.
func (c *counting) findCounts() bool {
	g := c.g
	over := make([][]uint32, len(c.sets))
	for id := g.FirstGate(); id < len(g.nodes); id++ {
		if s := c.of[id]; s >= 0 {
			over[s] = append(over[s], uint32(id))
		}
	}
	c.bitOf, c.bounds = map[uint32]countBit{}, map[uint32]bound{}
	work := 0
	type sized struct {
		set  int32
		size int
	}
	var order []sized
	for s := range c.sets {
		if n := c.size(int32(s)); n >= countLeast {
			order = append(order, sized{int32(s), n})
		}
	}
	slices.SortStableFunc(order, func(a, b sized) int { return cmp.Compare(a.size, b.size) })
	for _, o := range order {
		if work += o.size; work > countWork/countWords {
			break
		}
		if !c.hasSymmetric(o.set, over[o.set]) {
			continue
		}
		work += o.size * countWords
		c.look(o.set, o.size, over[o.set])
	}
	return len(c.counts) > 0 || len(c.bounds) > 0
}

// hasSymmetric reports whether a node over a set may be a function of the number of ones:
// patterns with equal numbers do not tell that it is not.
func (c *counting) hasSymmetric(set int32, nodes []uint32) bool {
	leaves := c.members(set)
	count := c.countOnes(leaves, 1)
	for _, id := range nodes {
		if isFunctionOf(count, c.value[int(id)*countWords:][:1], len(leaves)) {
			return true
		}
	}
	return false
}

// countOnes returns the ones among leaves for each pattern of the first words.
func (c *counting) countOnes(leaves []int, words int) []int32 {
	planes := make([][]uint64, 0, 12)
	carry := make([]uint64, words)
	for _, l := range leaves {
		for i := range carry {
			carry[i] = c.value[int(c.nodes[l])*countWords+i] ^ -uint64(c.flip[l])
		}
		for k := 0; ; k++ {
			some := uint64(0)
			if k == len(planes) {
				planes = append(planes, make([]uint64, words))
			}
			for i := range carry {
				planes[k][i], carry[i] = planes[k][i]^carry[i], planes[k][i]&carry[i]
				some |= carry[i]
			}
			if some == 0 {
				break
			}
		}
	}
	count := make([]int32, 64*words)
	for k, plane := range planes {
		for p := range count {
			count[p] |= int32(plane[p/64]>>(p%64)&1) << k
		}
	}
	return count
}

// isFunctionOf reports whether values are a function of counts, of at most n.
func isFunctionOf(count []int32, value []uint64, n int) bool {
	seen := make([]uint8, n+1)
	for p, k := range count {
		v := uint8(1 + value[p/64]>>(p%64)&1)
		if seen[k] != 0 && seen[k] != v {
			return false
		}
		seen[k] = v
	}
	return true
}

// look tells what nodes over a set are of its count.
func (c *counting) look(set int32, n int, nodes []uint32) {
	count := c.countOnes(c.members(set), countWords)
	found := make([]Lit, bits.Len(uint(n)))
	for _, id := range nodes {
		value := c.value[int(id)*countWords:][:countWords]
		// Where it is 0 and 1; and the bit that it equals, or differs from everywhere.
		least, most := [2]int32{int32(n), int32(n)}, [2]int32{-1, -1}
		same, other := uint32(1)<<len(found)-1, uint32(1)<<len(found)-1
		for p, k := range count {
			v := value[p/64] >> (p % 64) & 1
			least[v], most[v] = min(least[v], k), max(most[v], k)
			same &= ^(uint32(k) ^ uint32(-v))
			other &= uint32(k) ^ uint32(-v)
		}
		if both := same | other; both != 0 && bits.OnesCount32(both) == 1 {
			bit := bits.TrailingZeros32(both)
			flip := Lit(btoi(other != 0))
			if found[bit] == 0 {
				found[bit] = Lit(id)<<1 ^ flip
			}
			c.bitOf[id] = countBit{len(c.counts), bit, flip}
		}
		for v := range Lit(2) { // ones from a count on, or up to it
			if most[v] >= 0 && most[1-v] >= 0 && most[v] < least[1-v] {
				c.bounds[id] = bound{set, -1, v}
			}
		}
	}
	if slices.Contains(found, 0) {
		for _, id := range nodes {
			delete(c.bitOf, id)
		}
		return
	}
	c.counts = append(c.counts, bitCount{set, found})
}

// findConstant finds the constant of a bound; ok is false if patterns refute that there is one.
// It draws patterns whose counts lie where the constant may be.
func (c *counting) findConstant(id uint32) (b bound, ok bool) {
	b = c.bounds[id]
	if b.atLeast >= 0 {
		return b, true
	}
	leaves := c.members(b.set)
	rng := rand.New(rand.NewPCG(uint64(id), 13))
	low, high := 0, len(leaves) // it is not reached at low, and reached at high
	value := c.value[int(id)*countWords:][:countWords]
	const w = countWords
	count := c.countOnes(leaves, w)
	for range countRefines {
		for p, k := range count {
			if value[p/64]>>(p%64)&1^uint64(b.flip) == 0 {
				low = max(low, int(k))
			} else {
				high = min(high, int(k))
			}
		}
		if low >= high {
			delete(c.bounds, id)
			return b, false
		}
		if high == low+1 {
			b.atLeast = high
			c.bounds[id] = b
			return b, true
		}
		in := make([]uint64, len(c.nodes)*w)
		for p := range count {
			count[p] = int32(low + 1 + (high-low-1)*p/len(count))
			rng.Shuffle(len(leaves), func(i, j int) { leaves[i], leaves[j] = leaves[j], leaves[i] })
			for k, l := range leaves {
				if (k < int(count[p])) != (c.flip[l] != 0) {
					in[l*w+p/64] |= 1 << (p % 64)
				}
			}
		}
		value = c.simulateFrom(in, w)[int(id)*w:][:w]
	}
	delete(c.bounds, id)
	return b, false
}

// findUsed finds the counts that something else reads, from the outputs down; with bounds
// also the comparisons.
func (c *counting) findUsed(bounds bool) {
	g := c.g
	c.used, c.usedBy = nil, map[uint32]int{}
	live := make([]bool, len(g.nodes))
	for _, o := range g.outputs {
		live[o.Lit>>1] = true
	}
	type found struct {
		use
		nodes []uint32
		size  int
	}
	var all []found
	ofCount := map[int]int{}
	for id := len(g.nodes) - 1; id >= g.FirstGate(); id-- {
		if !live[id] || c.leaf[id] >= 0 {
			if live[id] {
				for _, l := range g.nodes[id] {
					live[l>>1] = true
				}
			}
			continue
		}
		n := uint32(id)
		set := int32(-1)
		if b, ok := c.bitOf[n]; ok {
			set = c.counts[b.count].set
			k, ok := ofCount[b.count]
			if !ok {
				k = len(all)
				ofCount[b.count] = k
				all = append(all, found{use{set, nil}, nil, c.size(set)})
			}
			all[k].nodes = append(all[k].nodes, n)
		} else if _, ok := c.bounds[n]; ok && bounds {
			if b, ok := c.findConstant(n); ok {
				set = b.set
				all = append(all, found{use{set, &b}, []uint32{n}, c.size(set)})
			}
		}
		if set < 0 {
			for _, l := range g.nodes[id] {
				live[l>>1] = true
			}
			continue
		}
		for _, l := range c.members(set) {
			live[c.nodes[l]] = true
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(a.size, b.size) })
	for k, f := range all {
		c.used = append(c.used, f.use)
		for _, n := range f.nodes {
			c.usedBy[n] = k
		}
	}
}

// build makes the graph with the counts that are used, each of all its leaves and of
// the counts used of parts of these; with parts, of all counts there are of parts. Its
// landmarks are the leaves and all that is counted.
func (c *counting) build(parts bool) *Graph {
	g := c.g
	b := &countBuilder{counting: c, out: g.emptyCopy(g.NumGates()), lit: make([]Lit, len(g.nodes)), known: map[int32]int{}, ofUse: make([]int, len(c.used)), parts: parts}
	b.out.landmarks = &landmarks{leaves: make([]Lit, len(c.nodes))}
	for id := range g.nodes {
		k, replaced := c.usedBy[uint32(id)]
		switch {
		case id < g.FirstGate():
			b.lit[id] = Lit(id) << 1
		case replaced:
			word := b.out.landmarks.sums[b.use(k)].word
			if bound := c.used[k].bound; bound != nil {
				b.lit[id] = reached(b.out, word, bound.atLeast) ^ bound.flip
			} else {
				own := c.bitOf[uint32(id)]
				b.lit[id] = word[own.bit] ^ own.flip
			}
		default:
			b.lit[id] = b.out.copyGate(g.nodes[id], b.lit)
		}
		if l := c.leaf[id]; l >= 0 {
			b.out.landmarks.leaves[l] = b.lit[id] ^ c.flip[l]
		}
	}
	for _, o := range g.outputs {
		b.out.AddOutput(o.Name, b.lit[o.Lit>>1]^o.Lit&1)
	}
	return b.out
}

// countBuilder makes counts; those that are made are landmarks of its graph.
type countBuilder struct {
	*counting
	out   *Graph
	lit   []Lit // by node
	parts bool
	ofUse []int         // by number of used: 1 + the landmark, 0 while not made
	known map[int32]int // landmarks of other counts, by set
}

// use returns the landmark of what is used: the number of ones of a set, or of that and 2^k - t.
func (b *countBuilder) use(k int) int {
	if b.ofUse[k] == 0 {
		u := b.used[k]
		mark := landmark{name: k}
		if u.bound != nil {
			mark.constant = addedForBound(u.bound.atLeast)
		}
		if b.parts {
			mark.parts = []int{b.count(u.set)}
		} else {
			left := slices.Clone(b.sets[u.set])
			for i := k - 1; i >= 0; i-- {
				if v := b.used[i]; v.bound == nil && takeOut(left, b.sets[v.set]) {
					mark.parts = append(mark.parts, b.use(i))
				}
			}
			mark.leaves = leavesOf(left)
		}
		b.ofUse[k] = 1 + b.add(mark, b.size(u.set))
	}
	return b.ofUse[k] - 1
}

// count returns the landmark of the count of a set, added of those of the largest parts that there are.
func (b *countBuilder) count(set int32) int {
	if t, ok := b.known[set]; ok {
		return t
	}
	left := slices.Clone(b.sets[set])
	mark := landmark{name: -1}
	for i := len(b.counts) - 1; i >= 0; i-- {
		if s := b.counts[i].set; s != set && takeOut(left, b.sets[s]) {
			mark.parts = append(mark.parts, b.count(s))
		}
	}
	mark.leaves = leavesOf(left)
	b.known[set] = b.add(mark, b.size(set))
	return b.known[set]
}

// add makes the word of a landmark that counts so many leaves.
func (b *countBuilder) add(mark landmark, leaves int) int {
	marks := b.out.landmarks
	var words [][]Lit
	for _, p := range mark.parts {
		words = append(words, marks.sums[p].word)
	}
	for _, i := range mark.leaves {
		words = append(words, []Lit{marks.leaves[i]})
	}
	mark.word = addWords(b.out, words, mark.constant, leaves+mark.constant)
	marks.sums = append(marks.sums, mark)
	return len(marks.sums) - 1
}

func leavesOf(set []uint64) (leaves []int) {
	for i, w := range set {
		for ; w != 0; w &= w - 1 {
			leaves = append(leaves, 64*i+bits.TrailingZeros64(w))
		}
	}
	return leaves
}

// takeOut takes a part out of a set, if it is one.
func takeOut(set, part []uint64) bool {
	for i, w := range part {
		if w&^set[i] != 0 {
			return false
		}
	}
	for i, w := range part {
		set[i] &^= w
	}
	return true
}

// addedForBound is what is added to a count so that it is a power of two, or more, where it is at least t.
func addedForBound(t int) int { return 1<<bits.Len(uint(t-1)) - t }

// reached returns whether a word that addedForBound was added to shows that the count is at least t.
func reached(g *Graph, word []Lit, t int) (l Lit) {
	for _, high := range word[min(len(word), bits.Len(uint(t-1))):] {
		l = g.Or(l, high)
	}
	return l
}

// addWords returns the sum of words and of a constant: in each place full adders take in
// three bits until there are two, and a half adder these. The constant comes last, where
// it costs least. The sum is at most so much.
func addWords(g *Graph, words [][]Lit, constant, most int) (sum []Lit) {
	var columns [][]Lit
	at := func(place int, l Lit) {
		for len(columns) <= place {
			columns = append(columns, nil)
		}
		columns[place] = append(columns[place], l)
	}
	for _, w := range words {
		for i, l := range w {
			at(i, l)
		}
	}
	for place := range bits.Len(uint(most)) {
		at(place, False)
		col := columns[place][:len(columns[place])-1]
		for len(col) > 2 {
			s := g.Xor(col[0], col[1], col[2])
			at(place+1, g.Maj(col[0], col[1], col[2]))
			col = append(col[3:], s)
		}
		for len(col) < 2 {
			col = append(col, False)
		}
		more := MakeLit(0, constant>>place&1 != 0)
		if carry := g.Maj(col[0], col[1], more); carry != False {
			at(place+1, carry)
		}
		sum = append(sum, g.Xor(col[0], col[1], more))
	}
	return sum
}
