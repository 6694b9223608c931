package xmg

import "sync"

// A library holds a small recipe of XMG gates for every function of four
// inputs: all that need at most four gates are found by an exhaustive search
// over gate sequences and are optimal; the few that remain are an optimal
// recipe and one gate more (so those of five gates are optimal, too).
//
// (Size-optimal XMGs of the NPN classes of four inputs: Haaswijk, Soeken,
// Amarù, Gaillardon, De Micheli, "A novel basis for logic rewriting",
// ASP-DAC 2017.)
type library struct {
	cost    [1 << 15]uint8  // gates, by normal function
	recipes [1 << 15]recipe // by normal function
}

// fourInputs makes the library on first use (in some 20 ms); it is never
// written afterwards.
var fourInputs = sync.OnceValue(newLibrary)

// maxSteps is the largest number of gates of a recipe.
const maxSteps = 6

// recipe makes a function of inputs 1 to 4 by steps; item 0 is the constant
// false, items 1 to 4 are the inputs, and items 5 on the steps.
type recipe struct {
	steps [maxSteps]step
	n     uint8
	out   uint8 // item<<1 | complement
}

// step is a gate over earlier items: three operands of five bits (item<<1 |
// complement), and bit 15 for XOR.
type step uint16

const stepXor step = 1 << 15

func makeStep(xor bool, a, b, c uint8) step {
	s := step(a) | step(b)<<5 | step(c)<<10
	if xor {
		s |= stepXor
	}
	return s
}

func (s step) operand(i int) uint8 { return uint8(s>>(5*i)) & 31 }

// truth is a function of four inputs: bit i is its value for the pattern i,
// whose bit j is the value of input j. A normal function is 0 for the pattern 0;
// the library holds those, and a complement is free.
type truth uint16

var inputTruth = [4]truth{0xaaaa, 0xcccc, 0xf0f0, 0xff00}

// normal returns the index of a function, or of its complement, in the library.
func (t truth) normal() uint16 { return uint16(t^-(t&1)) >> 1 }

// dependsOn tells whether the function depends on input j.
func (t truth) dependsOn(j int) bool {
	return (t^t>>(1<<j))&^inputTruth[j] != 0
}

func majTruth(a, b, c truth) truth { return a&b | (a|b)&c }

// build adds the gates of t over some inputs.
func (lib *library) build(g *Graph, t truth, in [4]Lit) Lit {
	r := &lib.recipes[t.normal()]
	var items [5 + maxSteps]Lit
	copy(items[1:], in[:])
	at := func(op uint8) Lit { return items[op>>1] ^ Lit(op&1) }
	for i, s := range r.steps[:r.n] {
		if s&stepXor != 0 {
			items[5+i] = g.Xor(at(s.operand(0)), at(s.operand(1)), at(s.operand(2)))
		} else {
			items[5+i] = g.Maj(at(s.operand(0)), at(s.operand(1)), at(s.operand(2)))
		}
	}
	return at(r.out) ^ Lit(t&1)
}

// truth evaluates a recipe.
func (r *recipe) truth(in [4]truth) truth {
	var items [5 + maxSteps]truth
	copy(items[1:], in[:])
	at := func(op uint8) truth { return items[op>>1] ^ -truth(op&1) }
	for i, s := range r.steps[:r.n] {
		a, b, c := at(s.operand(0)), at(s.operand(1)), at(s.operand(2))
		if s&stepXor != 0 {
			items[5+i] = a ^ b ^ c
		} else {
			items[5+i] = majTruth(a, b, c)
		}
	}
	return at(r.out)
}

// searchSteps is how many gates the exhaustive search goes to.
const searchSteps = 4

const unknownCost = 255

func newLibrary() *library {
	s := &search{lib: &library{}}
	for i := range s.lib.cost {
		s.lib.cost[i] = unknownCost
	}
	for j, t := range inputTruth {
		s.items[j+1] = t
	}
	for a := range uint8(5 + searchSteps) {
		for b := range a {
			for c := range b {
				s.triples[a] = append(s.triples[a], triple{a, b, c, 1<<a | 1<<b | 1<<c})
			}
		}
	}
	s.lib.learn(&recipe{})
	s.lib.learn(&recipe{out: 1 << 1})
	for goal := 1; goal <= searchSteps; goal++ {
		s.goal = goal
		// Up to the order and the negation of the inputs and of the step there
		// are four first steps; learn covers the others.
		for _, first := range []struct {
			xor     bool
			a, b, c uint8
		}{{false, 0, 1, 2}, {true, 0, 1, 2}, {false, 1, 2, 3}, {true, 1, 2, 3}} {
			s.recipe.steps[0] = makeStep(first.xor, first.a<<1, first.b<<1, first.c<<1)
			a, b, c := s.items[first.a], s.items[first.b], s.items[first.c]
			t := majTruth(a, b, c)
			if first.xor {
				t = a ^ b ^ c
			}
			if goal == 1 {
				s.found(1, t)
				continue
			}
			s.items[5] = t
			s.extend(2, 1<<5)
		}
	}
	s.lib.complete()
	return s.lib
}

// search runs over the sequences of steps.
type search struct {
	lib     *library
	items   [5 + searchSteps]truth
	triples [5 + searchSteps][]triple // by their largest item
	recipe  recipe
	goal    int
}

type triple struct {
	a, b, c uint8
	mask    uint16
}

// extend tries every step as number k of goal; unused are the earlier steps
// that none has used yet.
func (s *search) extend(k int, unused uint16) {
	size := 4 + k // items so far
	last := k == s.goal
	for top := range size {
		for _, tr := range s.triples[top] {
			rest := unused &^ tr.mask
			if last && rest != 0 {
				continue
			}
			a, b, c := s.items[tr.a], s.items[tr.b], s.items[tr.c]
			if last {
				s.last(tr, a, b, c)
				continue
			}
			for op := range 5 {
				t, st := stepOf(op, tr, a, b, c)
				if s.known(t, size) {
					continue
				}
				// Two steps that do not use each other come in one order only.
				// (The first step is fixed up to symmetry and is not ordered.)
				if k > 2 && tr.mask>>(size-1)&1 == 0 && st < s.recipe.steps[k-2] {
					continue
				}
				s.items[size] = t
				s.recipe.steps[k-1] = st
				s.extend(k+1, rest|1<<size)
			}
		}
	}
}

// stepOf returns operation op of a triple: XOR, or MAJ with no or one operand
// complemented (all others are these, up to the complement of the result).
func stepOf(op int, tr triple, a, b, c truth) (truth, step) {
	switch op {
	case 0:
		return a ^ b ^ c, makeStep(true, tr.a<<1, tr.b<<1, tr.c<<1)
	case 1:
		return majTruth(a, b, c), makeStep(false, tr.a<<1, tr.b<<1, tr.c<<1)
	case 2:
		return majTruth(^a, b, c), makeStep(false, tr.a<<1|1, tr.b<<1, tr.c<<1)
	case 3:
		return majTruth(a, ^b, c), makeStep(false, tr.a<<1, tr.b<<1|1, tr.c<<1)
	}
	return majTruth(a, b, ^c), makeStep(false, tr.a<<1, tr.b<<1, tr.c<<1|1)
}

func (s *search) known(t truth, size int) bool {
	for _, u := range s.items[:size] {
		if t == u || t == ^u {
			return true
		}
	}
	return false
}

// last tries a triple as the last step.
func (s *search) last(tr triple, a, b, c truth) {
	for op := range 5 {
		t, st := stepOf(op, tr, a, b, c)
		if s.lib.cost[t.normal()] == unknownCost {
			s.recipe.steps[s.goal-1] = st
			s.found(s.goal, t)
		}
	}
}

func (s *search) found(n int, t truth) {
	if s.lib.cost[t.normal()] == unknownCost {
		r := s.recipe
		r.n = uint8(n)
		r.out = uint8(4+n) << 1
		s.lib.learn(&r)
	}
}

// learn enters a recipe for its function and for all that differ only in the
// order and the negation of the inputs and in the negation of the output.
func (lib *library) learn(r *recipe) {
	for _, p := range permutations4 {
		for neg := range uint8(16) {
			rename := func(op uint8) uint8 {
				if item := op >> 1; item >= 1 && item <= 4 {
					j := p[item-1]
					return (j+1)<<1 | (op^neg>>j)&1
				}
				return op
			}
			v := *r
			for i, s := range r.steps[:r.n] {
				v.steps[i] = makeStep(s&stepXor != 0, rename(s.operand(0)), rename(s.operand(1)), rename(s.operand(2)))
			}
			v.out = rename(r.out)
			lib.enter(&v)
		}
	}
}

// enter enters a recipe for its function if there is none.
func (lib *library) enter(r *recipe) {
	t := r.truth(inputTruth)
	i := t.normal()
	if lib.cost[i] == unknownCost {
		r.out ^= uint8(t & 1)
		lib.cost[i] = r.n
		lib.recipes[i] = *r
	}
}

// complete enters recipes for the functions that the search did not reach: a
// known function and two of the constant and the inputs, in one step more.
func (lib *library) complete() {
	for n := uint8(searchSteps); n < maxSteps; n++ {
		for i := range lib.cost {
			if lib.cost[i] != n {
				continue
			}
			r := lib.recipes[i]
			for b := range uint8(5) {
				for c := range b {
					tr := triple{a: 4 + n, b: b, c: c}
					for op := range 5 {
						v := r
						_, v.steps[n] = stepOf(op, tr, 0, 0, 0)
						if r.out&1 != 0 {
							v.steps[n] ^= 1
						}
						v.n++
						v.out = (5 + n) << 1
						lib.enter(&v)
					}
				}
			}
		}
	}
}

// permutations4 are the orders of four things.
var permutations4 = func() (ps [][4]uint8) {
	for a := range uint8(4) {
		for b := range uint8(4) {
			for c := range uint8(4) {
				if d := 6 - a - b - c; a != b && b != c && a != c {
					ps = append(ps, [4]uint8{a, b, c, d})
				}
			}
		}
	}
	return ps
}()
