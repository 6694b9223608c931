package xmg

import (
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"slices"
)

// Words of sums of products are compared by algebra. What the outputs of a circuit say
// as a number, the sum of 2^i y[i] modulo 2^n, is a polynomial of its inputs with whole
// coefficients, and there is one such polynomial of no variable more than once in a
// term. So the difference of two circuits is rewritten, from the outputs to the inputs,
// until its terms are of inputs; they are equal if nothing is left, and else the
// smallest term that is left makes an input pattern for which they differ.
//
// Rewriting by the functions of gates makes more terms than there is memory for, if it
// is not done by adders (Ritirc, Biere, Kauers, "Column-wise verification of multipliers
// using computer algebra", FMCAD 2017; Kaufmann, Biere, Kauers, "Verifying large
// multipliers by combining SAT and computer algebra", FMCAD 2019; Mahzoon, Grosse,
// Drechsler, "RevSCA", DAC 2019). Here all of it is linear, because of two facts:
//
//   - x + y + z = 2 maj(x, y, z) + (x ^ y ^ z) whatever x, y and z are, and with z = 0
//     for a half adder. So a majority that counts an even number of times is half as
//     often its inputs less their parity.
//   - A parity is the set of its terms that are no parities, so that it is the same
//     whatever tree of gates makes it, and cancels with others. One that counts 2^(n-1)
//     times is as good as the sum of its terms, modulo 2^n.
//
// A full adder needs no matching: its carry gives what its sum takes away. What depends
// on a few inputs only, products of them and digits of Booth, is the parity of some
// products of inputs, the same ones whatever gates make it, and stays until the end. Final adders that are no chains of majorities are made
// such by finalAdder.

// Limits of the algebra.
const (
	maxSupport    = 8       // inputs of what is expanded by its truth table
	maxProducts   = 64      // of inputs, whose parity a node is; else it is itself
	maxWordBits   = 256     // outputs of a word
	maxFormWork   = 1 << 24 // terms of parities looked at
	maxReductions = 1 << 22 // majorities rewritten
)

// errStuck says that the algebra does not get to the inputs.
var errStuck = errors.New("xmg: terms that are no sums are left")

// coefficient is a number modulo 2^maxWordBits, lowest word first.
type coefficient [maxWordBits / 64]uint64

// algebra rewrites the sum of the outputs of two circuits in one graph.
type algebra struct {
	g    *Graph
	bits int // n: numbers count modulo 2^n
	// Of nodes and, behind them, of products of inputs.
	support  [][]uint32
	products map[monomial]uint32 // by inputs

	large []bool // nodes of more than maxSupport inputs

	ids   map[string]int32       // of parities, by their terms
	terms [][]uint32             // of parities: node ids, ascending; parity 0 has none
	form  []int32                // the parity that a node is, or -1 while unknown
	flip  []bool                 // a node is the complement of that
	made  map[int32][]madeParity // by parity, if linear

	linear bool // linearise is used
	kept   int  // what counts a multiple of 2^kept is not rewritten; 0 = all is, see carryOut

	sum      map[int32]coefficient // by parity
	constant coefficient
	queue    nodeQueue // of large terms that count
	queued   []bool

	work       int
	reductions int
}

func newAlgebra(g *Graph, bits int, linear bool) (*algebra, error) {
	al := &algebra{
		g: g, bits: bits, linear: linear,
		support: make([][]uint32, len(g.nodes)), large: make([]bool, len(g.nodes)),
		products: map[monomial]uint32{},
		ids:      map[string]int32{"": 0}, terms: [][]uint32{nil},
		form: make([]int32, len(g.nodes)), flip: make([]bool, len(g.nodes)),
		made: map[int32][]madeParity{}, sum: map[int32]coefficient{}, queued: make([]bool, len(g.nodes)),
	}
	for id := range g.nodes {
		if al.work > maxFormWork {
			return nil, errStuck
		}
		switch {
		case id == 0:
		case id < g.FirstGate():
			al.support[id] = []uint32{uint32(id)}
			al.form[id] = al.intern([]uint32{uint32(id)})
		default:
			f := g.nodes[id]
			var all []uint32
			for _, l := range f {
				al.large[id] = al.large[id] || al.large[l>>1]
				if !al.large[id] {
					all = union(all, al.support[l>>1])
				}
			}
			al.large[id] = al.large[id] || len(all) > maxSupport
			if !al.large[id] {
				al.support[id] = all
			}
			if g.Kind(id) == Xor {
				al.form[id], al.flip[id] = al.parity(f)
				continue
			}
			terms, flip, ok := []uint32(nil), false, false
			if !al.large[id] {
				terms, flip, ok = al.majority(f)
			}
			if !ok {
				terms, flip = []uint32{uint32(id)}, false
			}
			al.form[id], al.flip[id] = al.intern(terms), flip
		}
	}
	return al, nil
}

// union joins two ascending lists.
func union(a, b []uint32) []uint32 { return merge(a, b, true) }

// difference returns what is in one of two ascending lists.
func difference(a, b []uint32) []uint32 { return merge(a, b, false) }

// merge joins two ascending lists, with or without what is in both.
func merge(a, b []uint32, both bool) []uint32 {
	out := make([]uint32, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			out, a = append(out, a[0]), a[1:]
		case a[0] > b[0]:
			out, b = append(out, b[0]), b[1:]
		default:
			if both {
				out = append(out, a[0])
			}
			a, b = a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// intern returns the number of a parity.
func (al *algebra) intern(terms []uint32) int32 {
	key := make([]byte, 0, 4*len(terms))
	for _, t := range terms {
		key = binary.LittleEndian.AppendUint32(key, t)
	}
	al.work += len(terms)
	id, ok := al.ids[string(key)]
	if !ok {
		id = int32(len(al.terms))
		al.ids[string(key)] = id
		al.terms = append(al.terms, terms)
	}
	return id
}

// parity returns the parity of three literals.
func (al *algebra) parity(f [3]Lit) (id int32, flip bool) {
	var all []uint32
	for _, l := range f {
		flip = flip != (l&1 != 0) != al.flip[l>>1]
		all = difference(all, al.terms[al.form[l>>1]])
	}
	id = al.intern(all)
	if m := (madeParity{f, flip}); al.linear && len(all) > 1 && len(al.made[id]) < maxMade && !slices.Contains(al.made[id], m) {
		al.made[id] = append(al.made[id], m)
	}
	return id, flip
}

// majority returns the products of inputs whose parity the majority of three literals is,
// which depend on few inputs. ok is false if there are too many.
func (al *algebra) majority(f [3]Lit) (terms []uint32, flip, ok bool) {
	for k := range f { // xy ^ yz ^ xz
		x, y := f[k], f[(k+1)%3]
		all, both, ok := al.product(x, y)
		if !ok {
			return nil, false, false
		}
		terms, flip = difference(terms, all), flip != both
	}
	return terms, flip, len(terms) <= maxProducts
}

// product returns the parity that the conjunction of two literals is.
func (al *algebra) product(x, y Lit) (terms []uint32, flip, ok bool) {
	a, b := al.terms[al.form[x>>1]], al.terms[al.form[y>>1]]
	notA, notB := al.flip[x>>1] != (x&1 != 0), al.flip[y>>1] != (y&1 != 0)
	if al.work += len(a) * len(b); len(a)*len(b) > maxProducts*maxProducts {
		return nil, false, false
	}
	// (A ^ notA) (B ^ notB)
	odd := map[uint32]bool{}
	for _, s := range a {
		for _, t := range b {
			id, ok := al.productNode(s, t)
			if !ok {
				return nil, false, false
			}
			odd[id] = !odd[id]
		}
	}
	for id, o := range odd {
		if o {
			terms = append(terms, id)
		}
	}
	slices.Sort(terms)
	if notB {
		terms = difference(terms, a)
	}
	if notA {
		terms = difference(terms, b)
	}
	return terms, notA && notB, true
}

// productNode returns the product of two terms; ok is false if one is no product of inputs.
func (al *algebra) productNode(s, t uint32) (id uint32, ok bool) {
	if !al.isProduct(s) || !al.isProduct(t) {
		return 0, false
	}
	all := union(al.support[s], al.support[t])
	if len(all) == 1 {
		return all[0], true
	}
	var m monomial
	copy(m[:], all)
	id, ok = al.products[m]
	if !ok {
		id = uint32(len(al.support))
		al.products[m] = id
		al.support = append(al.support, all)
		al.large, al.flip, al.queued = append(al.large, false), append(al.flip, false), append(al.queued, false)
		al.form = append(al.form, al.intern([]uint32{id}))
	}
	return id, true
}

func (al *algebra) isProduct(t uint32) bool {
	return int(t) < al.g.FirstGate() || int(t) >= len(al.g.nodes)
}

// trim takes a number modulo 2^n.
func (al *algebra) trim(c coefficient) coefficient {
	for i := range c {
		switch k := al.bits - 64*i; {
		case k <= 0:
			c[i] = 0
		case k < 64:
			c[i] &= 1<<k - 1
		}
	}
	return c
}

// addLit adds c times a literal to the sum.
func (al *algebra) addLit(l Lit, c coefficient) {
	al.addParity(al.form[l>>1], l&1 != 0 != al.flip[l>>1], c)
}

func (al *algebra) addParity(id int32, flip bool, c coefficient) {
	if flip { // 1 - x
		al.constant = al.trim(al.constant.plus(c))
		c = c.minus()
	}
	if id == 0 {
		return
	}
	c = al.trim(al.sum[id].plus(c))
	if c == (coefficient{}) {
		delete(al.sum, id)
		return
	}
	terms := al.terms[id]
	if len(terms) == 1 {
		al.sum[id] = c
		if t := terms[0]; al.large[t] && !al.queued[t] && !al.isKept(c) {
			al.queued[t] = true
			heap.Push(&al.queue, t)
		}
		return
	}
	if c == power(al.bits-1) && al.kept == 0 {
		delete(al.sum, id)
		al.work += len(terms)
		for _, t := range terms {
			al.addParity(al.form[t], false, c)
		}
		return
	}
	al.sum[id] = c
}

// reduce rewrites until all terms depend on few inputs. The error is errStuck, or that
// of the context.
func (al *algebra) reduce(ctx context.Context) error {
	for range maxLinearSums {
		if err := al.reduceQueue(ctx); err != nil {
			return err
		}
		if !al.linear || !al.linearise() {
			break
		}
	}
	if al.queue.Len() > 0 {
		return errStuck
	}
	for id := range al.sum {
		if al.parityIsLarge(id) {
			return errStuck
		}
	}
	return nil
}

// reduceQueue rewrites majorities until none is left.
func (al *algebra) reduceQueue(ctx context.Context) error {
	for al.queue.Len() > 0 {
		t := heap.Pop(&al.queue).(uint32)
		al.queued[t] = false
		c, ok := al.sum[al.form[t]]
		if !ok || al.isKept(c) {
			continue
		}
		if c[0]&1 != 0 { // not a carry that counts as one
			return errStuck
		}
		if al.reductions++; al.reductions%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if al.reductions > maxReductions || al.work > maxFormWork {
			return errStuck
		}
		delete(al.sum, al.form[t])
		negative := al.kept > 0 && c.bit(al.bits-1)
		if c = c.half(); negative { // half of 2^n more is as good, but cancels with less
			c = c.plus(power(al.bits - 1))
		}
		f := al.g.nodes[t]
		for _, l := range f {
			al.addLit(l, c)
		}
		id, flip := al.parity(f)
		al.addParity(id, flip, al.trim(c.minus()))
	}
	return nil
}

func (al *algebra) parityIsLarge(id int32) bool {
	var all []uint32
	for _, t := range al.terms[id] {
		if al.large[t] {
			return true
		}
		if all = union(all, al.support[t]); len(all) > maxSupport {
			return true
		}
	}
	return false
}

// monomial is a product of inputs: their nodes, ascending, and zeros.
type monomial [maxSupport]uint32

// remainder returns the inputs, as nodes, that are 1 in a pattern for which the sum is
// not 0; ok is false if it is 0 for all.
func (al *algebra) remainder() (ones []uint32, ok bool) {
	poly := map[monomial]coefficient{}
	if al.constant != (coefficient{}) {
		poly[monomial{}] = al.constant
	}
	for id, c := range al.sum {
		al.addExpanded(poly, id, c)
	}
	// The least monomial by degree, then by inputs, whatever the order of the map.
	var best monomial
	for m := range poly {
		if !ok || m.degree() < best.degree() || m.degree() == best.degree() && slices.Compare(m[:], best[:]) < 0 {
			best, ok = m, true
		}
	}
	return best[:best.degree()], ok
}

// addExpanded adds c times a parity of few inputs to a polynomial.
func (al *algebra) addExpanded(poly map[monomial]coefficient, id int32, c coefficient) {
	al.expand(id, func(m monomial, times int64) {
		k := c.times(uint64(max(times, -times)))
		if times < 0 {
			k = k.minus()
		}
		if k = al.trim(poly[m].plus(k)); k == (coefficient{}) {
			delete(poly, m)
		} else {
			poly[m] = k
		}
	})
}

func (m *monomial) degree() int {
	n := 0
	for n < len(m) && m[n] != 0 {
		n++
	}
	return n
}

// expand calls add for the terms of a parity as a polynomial of inputs: the Moebius
// transform of its truth table.
func (al *algebra) expand(id int32, add func(m monomial, times int64)) {
	var in []uint32
	for _, t := range al.terms[id] {
		in = union(in, al.support[t])
	}
	var words [1 << maxSupport / 64]uint64
	values := map[uint32][len(words)]uint64{}
	for i, v := range in {
		var w [len(words)]uint64
		for p := range 1 << len(in) {
			w[p>>6] |= uint64(p>>i&1) << (p & 63)
		}
		values[v] = w
	}
	var value func(id uint32) [len(words)]uint64
	value = func(id uint32) (w [len(words)]uint64) {
		if w, ok := values[id]; ok || id == 0 {
			return w
		}
		if al.isProduct(id) {
			for i := range w {
				w[i] = ^uint64(0)
				for _, v := range al.support[id] {
					w[i] &= values[v][i]
				}
			}
			return w
		}
		f := al.g.nodes[id]
		var x [3][len(words)]uint64
		for k, l := range f {
			x[k] = value(uint32(l >> 1))
			if l&1 != 0 {
				for i := range x[k] {
					x[k][i] = ^x[k][i]
				}
			}
		}
		for i := range w {
			if al.g.Kind(int(id)) == Maj {
				w[i] = x[0][i]&x[1][i] | x[0][i]&x[2][i] | x[1][i]&x[2][i]
			} else {
				w[i] = x[0][i] ^ x[1][i] ^ x[2][i]
			}
		}
		values[id] = w
		return w
	}
	for _, t := range al.terms[id] {
		for i, w := range value(t) {
			words[i] ^= w
		}
	}
	times := make([]int64, 1<<len(in))
	for p := range times {
		times[p] = int64(words[p>>6] >> (p & 63) & 1)
	}
	for i := range in {
		for p := range times {
			if p>>i&1 != 0 {
				times[p] -= times[p^1<<i]
			}
		}
	}
	for p, n := range times {
		if n == 0 {
			continue
		}
		var m monomial
		k := 0
		for i, v := range in {
			if p>>i&1 != 0 {
				m[k] = v
				k++
			}
		}
		add(m, n)
	}
}

// nodeQueue is a heap of nodes, the last of the graph first.
type nodeQueue []uint32

func (q nodeQueue) Len() int           { return len(q) }
func (q nodeQueue) Less(i, j int) bool { return q[i] > q[j] }
func (q nodeQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *nodeQueue) Push(x any)        { *q = append(*q, x.(uint32)) }
func (q *nodeQueue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}
