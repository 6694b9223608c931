package xmg

import (
	"context"
	"errors"
	"slices"
)

// landmarks are words that a pass knows to be sums of bits, so that those that add the
// same bits are equal whatever adders make them: what is compared with constants or read by other
// logic, so that no output shows it.
type landmarks struct {
	leaves []Lit // bits that are added
	sums   []landmark
}

// landmark says that a word is a sum of words, of leaves and of a constant.
type landmark struct {
	name     int // of sums of two graphs that are the same; -1 = none
	word     []Lit
	parts    []int // earlier sums
	leaves   []int // by number
	constant int
}

// equalByLandmarks reports whether two graphs are equal because sums of the same name add
// the same leaves, and leaves and outputs are the same functions of inputs and of
// what is a leaf or a sum below. false says nothing.
//
// Each sum is reduced by algebra to what it adds, modulo a power of two that what it adds cannot reach.
func equalByLandmarks(ctx context.Context, a, b *Graph) (equal bool, err error) {
	if a.landmarks == nil || b.landmarks == nil || len(a.landmarks.leaves) != len(b.landmarks.leaves) {
		return false, nil
	}
	m := a.emptyCopy(a.NumGates() + b.NumGates())
	sides := [2]*landmarkSide{{g: a, marks: a.landmarks}, {g: b, marks: b.landmarks}}
	free := map[markBit]Lit{} // what stands for bits, the same on both sides
	for k, s := range sides {
		s.free = map[uint32]Lit{}
		for i, l := range s.marks.leaves {
			s.enter(m, free, markBit{-1, i, 0}, l)
		}
		for _, mark := range s.marks.sums {
			for i, l := range mark.word {
				if mark.name >= 0 {
					s.enter(m, free, markBit{mark.name, i, 0}, l)
				}
			}
		}
		for t, mark := range s.marks.sums {
			for i, l := range mark.word {
				s.enter(m, free, markBit{t, i, 1 + k}, l)
			}
		}
	}
	for _, s := range sides {
		s.copyInto(m)
	}
	for i, l := range a.landmarks.leaves {
		if sides[0].made(l) != sides[1].made(b.landmarks.leaves[i]) {
			return false, nil
		}
	}
	for i, o := range a.outputs {
		if sides[0].seen(o.Lit) != sides[1].seen(b.outputs[i].Lit) {
			return false, nil
		}
	}
	var named [2]map[int]linearSum
	for k, s := range sides {
		if named[k], err = s.sums(ctx); err != nil || named[k] == nil {
			return false, err
		}
	}
	for name, x := range named[0] {
		if y, ok := named[1][name]; ok && (x.constant != y.constant || !slices.Equal(x.times, y.times)) {
			return false, nil
		}
	}
	return true, nil
}

// markBit is a bit of a landmark: of a leaf (-1), of a sum with a name, or of another one of a side.
type markBit struct{ mark, bit, side int }

// landmarkSide is one of two graphs in the graph of both.
type landmarkSide struct {
	g         *Graph
	marks     *landmarks
	free      map[uint32]Lit // by node: the input that stands for it
	function  []Lit          // by node: what it is of inputs and landmarks below
	fromAbove []Lit          // by node: how others see it
}

// enter makes an input stand for a gate that is a landmark, if none does.
func (s *landmarkSide) enter(m *Graph, free map[markBit]Lit, at markBit, l Lit) {
	n := uint32(l >> 1)
	if _, ok := s.free[n]; ok || !s.g.IsGate(int(n)) {
		return
	}
	if _, ok := free[at]; !ok {
		free[at] = m.AddInput("")
	}
	s.free[n] = free[at] ^ l&1
}

func (s *landmarkSide) copyInto(m *Graph) {
	s.function, s.fromAbove = make([]Lit, len(s.g.nodes)), make([]Lit, len(s.g.nodes))
	for id := range s.g.nodes {
		l := Lit(id) << 1
		if id >= s.g.FirstGate() {
			l = m.copyGate(s.g.nodes[id], s.fromAbove)
		}
		s.function[id], s.fromAbove[id] = l, l
		if f, ok := s.free[uint32(id)]; ok {
			s.fromAbove[id] = f
		}
	}
}

func (s *landmarkSide) made(l Lit) Lit { return s.function[l>>1] ^ l&1 }
func (s *landmarkSide) seen(l Lit) Lit { return s.fromAbove[l>>1] ^ l&1 }

// linearSum is a sum of leaves, each of them so many times, and a constant.
type linearSum struct {
	times          []int
	constant, most int
}

// sums returns what the sums with names add in the end, or nil if one was not proved.
func (s *landmarkSide) sums(ctx context.Context) (named map[int]linearSum, err error) {
	named = map[int]linearSum{}
	all := make([]linearSum, len(s.marks.sums))
	for t, mark := range s.marks.sums {
		if ok, err := s.adds(ctx, mark); err != nil || !ok {
			return nil, err
		}
		sum := linearSum{make([]int, len(s.marks.leaves)), mark.constant, mark.constant + len(mark.leaves)}
		for _, i := range mark.leaves {
			sum.times[i]++
		}
		for _, p := range mark.parts {
			for i, n := range all[p].times {
				sum.times[i] += n
			}
			sum.constant += all[p].constant
			sum.most += all[p].most
		}
		if sum.most>>len(mark.word) != 0 {
			return nil, nil
		}
		if all[t] = sum; mark.name >= 0 {
			named[mark.name] = sum
		}
	}
	return named, nil
}

// adds proves that a word is what it adds, modulo 2^n of its bits: as a function of what is
// added, whatever values these bits have.
func (s *landmarkSide) adds(ctx context.Context, mark landmark) (ok bool, err error) {
	h := New("")
	lit := map[uint32]Lit{0: False} // by node of the graph
	type term struct {
		l Lit
		c coefficient
	}
	n := len(mark.word)
	var terms []term
	minus := func(l Lit, place int) {
		if _, ok := lit[uint32(l>>1)]; !ok {
			lit[uint32(l>>1)] = h.AddInput("")
		}
		terms = append(terms, term{lit[uint32(l>>1)] ^ l&1, power(place).minus()})
	}
	for _, p := range mark.parts {
		for i, l := range s.marks.sums[p].word {
			minus(l, i)
		}
	}
	for _, i := range mark.leaves {
		minus(s.marks.leaves[i], 0)
	}
	for i, l := range mark.word {
		if mark.constant>>i&1 != 0 {
			minus(True, i)
		}
		if !s.g.copyCone(l, h, lit) {
			return false, nil
		}
		terms = append(terms, term{lit[uint32(l>>1)] ^ l&1, power(i)})
	}
	al, err := newAlgebra(h, n, false)
	if err == nil {
		for _, t := range terms {
			al.addLit(t.l, al.trim(t.c))
		}
		err = al.reduce(ctx)
	}
	if errors.Is(err, errStuck) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, different := al.remainder()
	return !different, nil
}

// copyCone copies the gates that a literal depends on and that lit does not have; false if an input is
// among them.
func (g *Graph) copyCone(l Lit, to *Graph, lit map[uint32]Lit) bool {
	id := uint32(l >> 1)
	if _, ok := lit[id]; ok {
		return true
	}
	if !g.IsGate(int(id)) {
		return false
	}
	f := g.nodes[id]
	for k, x := range f {
		if !g.copyCone(x, to, lit) {
			return false
		}
		f[k] = lit[uint32(x>>1)] ^ x&1
	}
	if g.Kind(int(id)) == Maj {
		lit[id] = to.Maj(f[0], f[1], f[2])
	} else {
		lit[id] = to.Xor(f[0], f[1], f[2])
	}
	return true
}
