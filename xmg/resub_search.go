package xmg

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// resubSearch looks for replacements of a node of a window by few gates over
// nodes that are there already (its divisors).
//
// A divisor, or its complement, errs in those patterns in which it differs from
// the node and an output shows the difference. That makes the search simple:
//   - an edge without errors is the node;
//   - three edges of which no two err in one pattern have the node as majority,
//     and constants are edges as any other, so this covers AND and OR;
//   - three edges whose errors add up to nothing, modulo 2, have it as parity;
//   - for a majority of a, b and a gate to be made, that gate has to be right
//     where a or b errs, which is the same problem with fewer patterns; and for
//     a parity of a, b and a gate it is the same problem with other errors.
//
// (Riener, Lee, Mishchenko, De Micheli, "Boolean rewriting strikes back:
// reconvergence-driven windowing meets resynthesis", ASP-DAC 2022, has the same
// division of cases by the errors of divisors for AND and OR.)
type resubSearch struct {
	w    *resubWindow
	node int
	rng  *rand.Rand

	cone []bool   // by node: the node and what depends on it
	diff []bool   // by node: differs in some pattern if the node does
	flip []uint64 // by node: its values if the node is complemented
	care []uint64

	packs []packedWord
	bins  []uint64

	levels [maxResubChange]resubProblem // the problem, and those of the gates still to be made
	outer  [maxResubChange]outerGate
	depth  int // gates in outer

	count  []int32
	near   []int32
	norm   []int32
	hashes []uint64
	keys   []uint64
	index  []int32

	freed int // gates that die with the node if none of them is used by the resubChange
	stack []uint32
	log   []uint32

	found resubChange
	delta int // gates of found that are added less those that die
	ties  int

	work int64 // words looked at, about
	stop int64 // work at which the search for this node ends
}

// packedWord says where the cared patterns of a word go.
type packedWord struct {
	word, bin, rotate int
}

// problem is a function to be found, as errors of the edges that may be used.
type resubProblem struct {
	words int
	care  []uint64
	total int // patterns cared for
	edges []Lit
	err   []uint64 // words for each edge
	errs  []int32  // the number of errors of each edge, ascending about
	order []int32  // scratch
	spare []uint64
}

func (p *resubProblem) row(i int) []uint64 { return p.err[i*p.words:][:p.words] }

// outerGate is a gate of the change above the one that is looked for.
type outerGate struct {
	xor  bool
	a, b Lit
}

// resubChange is a replacement for the node: new gates, and the edge that takes its
// place.
type resubChange struct {
	steps [maxResubChange]changeStep
	n     int
	out   Lit
}

// maxResubChange is the most gates of a change.
const maxResubChange = 4

const noChange = math.MaxInt

// begin sets the node to be replaced: it computes where it is observed, and the
// errors of all divisors.
func (s *resubSearch) begin(w *resubWindow, node int) {
	s.w, s.node = w, node
	s.delta, s.ties, s.depth = noChange, 0, 0
	words := w.words
	n := len(w.nodes)
	s.cone = resize(s.cone, n)
	s.diff = resize(s.diff, n)
	clear(s.cone)
	clear(s.diff)
	s.flip = resize(s.flip, n*words)
	s.care = resize(s.care, words)
	clear(s.care)
	s.cone[node], s.diff[node] = true, true
	src, dst := w.row(node), s.flip[node*words:][:words]
	for k, x := range src {
		dst[k] = ^x
	}
	changed := 1
	for id := node + 1; id < n; id++ {
		f := w.nodes[id]
		a, b, c := f[0]>>1, f[1]>>1, f[2]>>1
		if !s.cone[a] && !s.cone[b] && !s.cone[c] {
			continue
		}
		s.cone[id] = true
		if s.diff[a] || s.diff[b] || s.diff[c] {
			s.diff[id] = s.flipGate(id, f)
			changed++
		}
	}
	for _, l := range w.outs {
		id := int(l >> 1)
		if !s.diff[id] {
			continue
		}
		a, b := w.row(id), s.flip[id*words:][:words]
		for k := range s.care {
			s.care[k] |= a[k] ^ b[k]
		}
	}
	s.work += int64(n/2 + changed*words)
	s.divide()
}

// beginAt is begin for the last node of a window, with the patterns it is observed in.
func (s *resubSearch) beginAt(w *resubWindow, care []uint64) {
	s.w, s.node = w, len(w.nodes)-1
	s.delta, s.ties, s.depth = noChange, 0, 0
	s.cone = resize(s.cone, len(w.nodes))
	clear(s.cone)
	s.cone[s.node] = true
	s.care = append(s.care[:0], care...)
	s.divide()
}

// divide computes what a change may save, and the errors of all divisors.
func (s *resubSearch) divide() {
	s.freed = s.freedBy(nil)
	s.pack()
	s.work += int64(len(s.levels[0].err))
}

// flipGate computes a gate with the complemented node, and whether that differs.
func (s *resubSearch) flipGate(id int, f gate) bool {
	words := s.w.words
	var in [3][]uint64
	for i, l := range f {
		if at := int(l>>1) * words; s.diff[l>>1] {
			in[i] = s.flip[at:][:words]
		} else {
			in[i] = s.w.val[at:][:words]
		}
	}
	dst, old := s.flip[id*words:][:words], s.w.val[id*words:][:words]
	a, b, c := in[0][:len(dst)], in[1][:len(dst)], in[2][:len(dst)]
	old = old[:len(dst)]
	differ := uint64(0)
	if f[0] > f[1] {
		for k := range dst {
			x := a[k] ^ b[k] ^ c[k]
			dst[k] = x
			differ |= x ^ old[k]
		}
		return differ != 0
	}
	ma, mb, mc := -uint64(f[0]&1), -uint64(f[1]&1), -uint64(f[2]&1)
	for k := range dst {
		x, y, z := a[k]^ma, b[k]^mb, c[k]^mc
		x = x&y | (x|y)&z
		dst[k] = x
		differ |= x ^ old[k]
	}
	return differ != 0
}

// pack makes the first problem. Words with few cared patterns are rotated so
// that several share a word.
func (s *resubSearch) pack() {
	const binsTried = 3
	s.packs, s.bins = s.packs[:0], s.bins[:0]
	for k, m := range s.care {
		if m == 0 {
			continue
		}
		ones := bits.OnesCount64(m)
		p := packedWord{word: k, bin: len(s.bins)}
	search:
		for b := len(s.bins) - 1; b >= max(0, len(s.bins)-binsTried); b-- {
			if ones+bits.OnesCount64(s.bins[b]) > 64 {
				continue
			}
			for r := range 64 {
				if s.bins[b]&bits.RotateLeft64(m, r) == 0 {
					p.bin, p.rotate = b, r
					break search
				}
			}
		}
		if p.bin == len(s.bins) {
			s.bins = append(s.bins, 0)
		}
		s.bins[p.bin] |= bits.RotateLeft64(m, p.rotate)
		s.packs = append(s.packs, p)
	}
	p := &s.levels[0]
	p.words = len(s.bins)
	p.care = append(p.care[:0], s.bins...)
	p.total = onesCount(p.care)
	p.edges = p.edges[:0]
	p.errs = p.errs[:0]
	p.err = p.err[:0]
	w := s.w
	t := w.row(s.node)
	for id := range w.nodes {
		if s.cone[id] {
			continue
		}
		at := len(p.err)
		p.err = resize(p.err, at+2*p.words)
		e, c := p.err[at:][:p.words], p.err[at+p.words:][:p.words]
		clear(e)
		row := w.row(id)
		for _, q := range s.packs {
			e[q.bin] |= bits.RotateLeft64((row[q.word]^t[q.word])&s.care[q.word], q.rotate)
		}
		n := 0
		for k := range e {
			c[k] = p.care[k] &^ e[k]
			n += bits.OnesCount64(e[k])
		}
		p.edges = append(p.edges, Lit(id)<<1, Lit(id)<<1|1)
		p.errs = append(p.errs, int32(n), int32(p.total-n))
	}
	s.sort(p)
}

// sort orders the edges of a problem by errors, to one part in 255.
func (s *resubSearch) sort(p *resubProblem) {
	n := len(p.edges)
	s.count = resize(s.count, 258)
	clear(s.count)
	scale := 1 + p.total/255
	for _, e := range p.errs {
		s.count[int(e)/scale+1]++
	}
	for i := range 256 {
		s.count[i+1] += s.count[i]
	}
	p.order = resize(p.order, n)
	for i, e := range p.errs {
		at := &s.count[int(e)/scale]
		p.order[*at] = int32(i)
		*at++
	}
	p.spare = resize(p.spare, n*p.words)
	edges, errs := s.near[:0], s.norm[:0]
	for to, i := range p.order {
		copy(p.spare[to*p.words:][:p.words], p.row(int(i)))
		edges = append(edges, int32(p.edges[i]))
		errs = append(errs, p.errs[i])
	}
	for i := range edges {
		p.edges[i], p.errs[i] = Lit(edges[i]), errs[i]
	}
	s.near, s.norm = edges, errs
	p.err, p.spare = p.spare, p.err
}

// one looks for changes whose innermost part is an edge or one gate.
func (s *resubSearch) one(p *resubProblem) {
	if len(p.edges) == 0 {
		return
	}
	s.edges(p)
	// An edge is better than a gate unless it keeps gates alive that only the
	// node needs.
	if s.delta <= 1+s.depth-s.freed {
		return
	}
	s.majorities(p)
	s.parities(p)
}

// edges looks for changes whose innermost part is an edge.
func (s *resubSearch) edges(p *resubProblem) {
	for i, e := range p.errs {
		if e > int32(p.total/255) {
			break
		}
		if e == 0 {
			s.offer(false, p.edges[i], p.edges[i], p.edges[i])
		}
	}
}

// majorities looks for three edges of which no two have a common error.
func (s *resubSearch) majorities(p *resubProblem) {
	n := len(p.edges)
	small := 0
	for small < n && int(p.errs[small]) <= p.total/3 {
		small++
	}
	if small == 0 {
		return
	}
	words := p.words
	for i, a := 0, s.rng.IntN(small); i < small && s.work < s.stop; i, a = i+1, a+1 {
		if a == small {
			a = 0
		}
		if p.errs[a] == 0 {
			continue // the node itself
		}
		ea := p.row(a)
		near := s.near[:0]
		room := int32(p.total) - p.errs[a]
		s.work += int64(n-a) / 2
		if words == 1 {
			e0 := ea[0]
			for j, e := range p.err[a+1 : n] {
				if e&e0 == 0 {
					near = append(near, int32(a+1+j))
				}
			}
		} else {
		search:
			for j := a + 1; j < n; j++ {
				if p.errs[j] > room {
					break
				}
				ej := p.err[j*words:][:len(ea)]
				for k, e := range ea {
					if e&ej[k] != 0 {
						continue search
					}
				}
				near = append(near, int32(j))
			}
		}
		s.near = near
		if len(near) < 2 {
			continue
		}
		for x, b := range near {
			left := room - p.errs[b]
			eb := p.row(int(b))
			s.work += int64(len(near)-x) / 2
		pairs:
			for _, c := range near[x+1:] {
				if p.errs[c] > left {
					break
				}
				ec := p.err[int(c)*words:][:len(eb)]
				for k, e := range eb {
					if e&ec[k] != 0 {
						continue pairs
					}
				}
				s.offer(false, p.edges[a], p.edges[b], p.edges[c])
			}
			if s.work >= s.stop {
				return
			}
		}
	}
}

// parities looks for three edges whose errors add up to nothing. Of each edge
// and its complement it takes the one that is right in the first pattern.
func (s *resubSearch) parities(p *resubProblem) {
	first, bit := 0, uint64(0)
	for k, c := range p.care {
		if c != 0 {
			first, bit = k, c&-c
			break
		}
	}
	if bit == 0 {
		return
	}
	norm, hashes := s.norm[:0], s.hashes[:0]
	size := 64
	for size < 2*len(p.edges) {
		size *= 2
	}
	s.keys = resize(s.keys, size)
	s.index = resize(s.index, size)
	clear(s.keys)
	mask := uint64(size - 1)
	for i := range p.edges {
		row := p.row(i)
		if row[first]&bit != 0 {
			continue
		}
		h := uint64(0) // linear, so that hashes add up as the errors do
		for _, e := range row {
			h = bits.RotateLeft64(h, 23) ^ e
		}
		if h == 0 {
			continue
		}
		at := slot(h) & mask
		for s.keys[at] != 0 && s.keys[at] != h {
			at = (at + 1) & mask
		}
		s.keys[at] = h
		s.index[at] = int32(i)
		norm = append(norm, int32(i))
		hashes = append(hashes, h)
	}
	s.norm, s.hashes = norm, hashes
	n := len(norm)
	s.work += int64(2 * n)
	if n < 3 {
		return
	}
	for i, x := 0, s.rng.IntN(n); i < n && s.work < s.stop; i, x = i+1, x+1 {
		if x == n {
			x = 0
		}
		hx := hashes[x]
		s.work += int64(n-x) / 2
		for y := x + 1; y < n; y++ {
			h := hx ^ hashes[y]
			at := slot(h) & mask
			for s.keys[at] != 0 && s.keys[at] != h {
				at = (at + 1) & mask
			}
			if s.keys[at] == 0 {
				continue
			}
			a, b, c := int(norm[x]), int(norm[y]), int(s.index[at])
			if c == a || c == b || !sumsToNothing(p.row(a), p.row(b), p.row(c)) {
				continue
			}
			s.offer(true, p.edges[a], p.edges[b], p.edges[c])
		}
	}
}

func slot(h uint64) uint64 { return h * 0x9E3779B97F4A7C15 >> 40 }

func sumsToNothing(a, b, c []uint64) bool {
	for k := range a {
		if a[k]^b[k]^c[k] != 0 {
			return false
		}
	}
	return true
}

// offer makes a change of the edges of the innermost gate (of one edge, if all
// are equal) and the gates outside it, and keeps it if it is the best; of equal
// ones each is kept with the same probability.
func (s *resubSearch) offer(xor bool, a, b, c Lit) {
	var ch resubChange
	ch.out = a
	if a != b {
		ch.steps[0] = changeStep{xor, [3]Lit{a, b, c}}
		ch.n, ch.out = 1, newNode<<1
	}
	for d := s.depth - 1; d >= 0; d-- {
		o := s.outer[d]
		ch.steps[ch.n] = changeStep{o.xor, [3]Lit{o.a, o.b, ch.out}}
		ch.out = Lit(newNode+ch.n) << 1
		ch.n++
	}
	if ch.n-s.freed > s.delta {
		return
	}
	if ch.n == 1 && s.isNode(&ch.steps[0]) {
		return
	}
	freed := s.freed
	if freed > 1 {
		freed = s.freedBy(&ch)
	}
	delta := ch.n - freed
	switch {
	case delta > s.delta:
		return
	case delta < s.delta:
		s.delta, s.ties = delta, 1
	default:
		s.ties++
		if s.rng.IntN(s.ties) != 0 {
			return
		}
	}
	s.found = ch
}

// isNode tells whether a step is the node as it is.
func (s *resubSearch) isNode(st *changeStep) bool {
	f := s.w.nodes[s.node]
	var h gate
	if st.xor {
		h, _, _ = xorGate(st.in[0], st.in[1], st.in[2])
	} else {
		h, _, _ = majGate(st.in[0], st.in[1], st.in[2])
	}
	return f == h
}

// freedBy returns the number of gates that die if a change takes the place of
// the node: what only the node needs, and the change does not use.
func (s *resubSearch) freedBy(ch *resubChange) int {
	w := s.w
	if ch != nil {
		for _, st := range ch.steps[:ch.n] {
			for _, l := range st.in {
				if l>>1 < newNode {
					w.refs[l>>1]++
				}
			}
		}
		if ch.out>>1 < newNode {
			w.refs[ch.out>>1]++
		}
	}
	dead := 0
	s.log = s.log[:0]
	s.stack = append(s.stack[:0], uint32(s.node))
	for k := 0; k >= 0; k = len(s.stack) - 1 {
		n := s.stack[k]
		s.stack = s.stack[:k]
		dead++
		for _, l := range w.nodes[n] {
			id := uint32(l >> 1)
			w.refs[id]--
			s.log = append(s.log, id)
			if w.refs[id] == 0 && int(id) > w.inputs {
				s.stack = append(s.stack, id)
			}
		}
	}
	for _, id := range s.log {
		w.refs[id]++
	}
	if ch != nil {
		for _, st := range ch.steps[:ch.n] {
			for _, l := range st.in {
				if l>>1 < newNode {
					w.refs[l>>1]--
				}
			}
		}
		if ch.out>>1 < newNode {
			w.refs[ch.out>>1]--
		}
	}
	return dead
}

// inner sets the problem of the gate to be found below an outer gate of edges a
// and b: all but depth gates of the change are then given. It returns nil if
// a and b cannot be used.
func (s *resubSearch) inner(p *resubProblem, xor bool, a, b int) *resubProblem {
	q := &s.levels[s.depth+1]
	ea, eb := p.row(a), p.row(b)
	q.edges = append(q.edges[:0], p.edges...)
	n := len(p.edges)
	q.errs = resize(q.errs, n)
	if xor {
		q.words, q.total = p.words, p.total
		q.care = append(q.care[:0], p.care...)
		q.err = resize(q.err, n*q.words)
		for i := range n {
			src, dst := p.row(i), q.row(i)
			ones := 0
			for k := range dst {
				dst[k] = src[k] ^ ea[k] ^ eb[k]
				ones += bits.OnesCount64(dst[k])
			}
			q.errs[i] = int32(ones)
		}
	} else {
		q.care, q.words, q.total = q.care[:0], 0, 0
		s.packs = s.packs[:0]
		for k := range ea {
			if ea[k]&eb[k] != 0 {
				return nil
			}
			if m := ea[k] | eb[k]; m != 0 {
				s.packs = append(s.packs, packedWord{word: k})
				q.care = append(q.care, m)
				q.words++
				q.total += bits.OnesCount64(m)
			}
		}
		q.err = resize(q.err, n*q.words)
		for i := range n {
			src, dst := p.row(i), q.row(i)
			ones := 0
			for k := range dst {
				dst[k] = src[s.packs[k].word] & q.care[k]
				ones += bits.OnesCount64(dst[k])
			}
			q.errs[i] = int32(ones)
		}
	}
	s.work += int64(n * (q.words + 2))
	s.sort(q)
	s.outer[s.depth] = outerGate{xor, p.edges[a], p.edges[b]}
	return q
}

// deeper tries some outer gates of up to depth levels, at random, and one gate
// inside each.
func (s *resubSearch) deeper(p *resubProblem, gates, tries int) {
	n := len(p.edges)
	if n < 4 || p.total == 0 {
		return
	}
	small := 1
	for small < n && int(p.errs[small]) <= p.total/2 {
		small++
	}
	zero := -1
	for range tries {
		if s.work >= s.stop {
			return
		}
		xor := s.rng.IntN(4) == 0
		// The better edges more often.
		a := min(s.rng.IntN(small), s.rng.IntN(small))
		b := -1
		if xor {
			a = s.rng.IntN(n)
			if s.rng.IntN(2) == 0 {
				if zero < 0 {
					for i, l := range p.edges {
						if l == False {
							zero = i
						}
					}
				}
				b = zero
			} else {
				b = s.rng.IntN(n)
			}
			if b < 0 || p.edges[a]>>1 == p.edges[b]>>1 || p.edges[a]>>1 == 0 {
				continue
			}
		} else {
			// A random one of those that agree with a.
			ea := p.row(a)
			seen := int32(0)
			s.work += int64(n / 2)
		search:
			for j := range n {
				ej := p.err[j*p.words:][:len(ea)]
				for k, e := range ea {
					if e&ej[k] != 0 {
						continue search
					}
				}
				if j == a || p.edges[j] == p.edges[a]^1 {
					continue
				}
				if seen++; s.rng.Int32N(seen) == 0 {
					b = j
				}
			}
			if b < 0 {
				continue
			}
		}
		q := s.inner(p, xor, a, b)
		if q == nil {
			continue
		}
		s.depth++
		if gates > 2 {
			s.deeper(q, gates-1, 1)
		} else {
			s.one(q)
		}
		s.depth--
	}
}
