package main

import (
	"bufio"
	"fmt"
	"io"
	"math/bits"
)

const (
	// maxSteps is how many gates the search goes to; no function needs more.
	maxSteps = 5
	// maxFound bounds the structures collected for a class, of which the most
	// different ones are kept.
	maxFound = 1 << 12
	unknown  = 255
)

type search struct {
	class []truth             // by function: its representative
	cost  []uint8             // by representative
	found map[truth][]recipe  // by representative
	seen  map[recipe]struct{} // what found holds
	tried map[recipe]struct{} // what was entered, as it was found

	items   [5 + maxSteps]truth
	triples [5 + maxSteps][]triple // by their largest item
	recipe  recipe
	goal    int
	steps   int // the last goal
}

type triple struct {
	a, b, c uint8
	mask    uint16
}

func newSearch(steps int) *search {
	s := &search{class: classes(), cost: make([]uint8, 1<<16), found: map[truth][]recipe{}, seen: map[recipe]struct{}{}, tried: map[recipe]struct{}{}, steps: steps}
	for i := range s.cost {
		s.cost[i] = unknown
	}
	for j, t := range inputTruth {
		s.items[j+1] = t
	}
	for a := range uint8(5 + maxSteps) {
		for b := range a {
			for c := range b {
				s.triples[a] = append(s.triples[a], triple{a, b, c, 1<<a | 1<<b | 1<<c})
			}
		}
	}
	s.cost[0] = 0
	s.cost[inputTruth[0]] = 0 // the smallest of its class
	return s
}

func (s *search) run() {
	for goal := 1; goal <= s.steps; goal++ {
		s.goal = goal
		// Up to the order and the negation of the inputs and of the step there
		// are four first steps.
		for _, first := range []struct {
			op int
			tr triple
		}{{1, triple{2, 1, 0, 0}}, {0, triple{2, 1, 0, 0}}, {1, triple{3, 2, 1, 0}}, {0, triple{3, 2, 1, 0}}} {
			t := stepTruth(first.op, s.items[first.tr.a], s.items[first.tr.b], s.items[first.tr.c])
			s.recipe = recipe{n: uint8(goal)}
			s.recipe.steps[0] = makeStep(first.op, first.tr)
			s.items[5] = t
			if goal == 1 {
				s.hit(t)
				continue
			}
			s.extend(2, 1<<5)
		}
	}
}

// extend tries every step as number k of goal; unused are the earlier steps
// that none has used yet.
func (s *search) extend(k int, unused uint16) {
	size := 4 + k // items so far
	last := k == s.goal
	for top := range size {
		for _, tr := range s.triples[top] {
			rest := unused &^ tr.mask
			a, b, c := s.items[tr.a], s.items[tr.b], s.items[tr.c]
			if last {
				if rest == 0 {
					s.last(tr, a, b, c)
				}
				continue
			}
			// The steps to come can take up two unused ones each, and this one.
			if bits.OnesCount16(rest) > 2*(s.goal-k) {
				continue
			}
			for op := range 5 {
				t := stepTruth(op, a, b, c)
				if s.known(t, size) {
					continue
				}
				// Two steps that do not use each other come in one order only.
				// (The first step is fixed up to symmetry and is not ordered.)
				st := makeStep(op, tr)
				if k > 2 && tr.mask>>(size-1)&1 == 0 && st.compare(s.recipe.steps[k-2]) < 0 {
					continue
				}
				s.items[size] = t
				s.recipe.steps[k-1] = st
				s.extend(k+1, rest|1<<size)
			}
		}
	}
}

// stepTruth returns operation op of three functions: XOR, or MAJ with no or one
// operand complemented (all others are these, up to the complement of the
// result).
func stepTruth(op int, a, b, c truth) truth {
	switch op {
	case 0:
		return a ^ b ^ c
	case 1:
		return majority(a, b, c)
	case 2:
		return majority(^a, b, c)
	case 3:
		return majority(a, ^b, c)
	}
	return majority(a, b, ^c)
}

func makeStep(op int, tr triple) step {
	s := step{op == 0, [3]uint8{tr.a << 1, tr.b << 1, tr.c << 1}}
	if op >= 2 {
		s.op[op-2] |= 1
	}
	return s
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
		t := stepTruth(op, a, b, c)
		if s.cost[s.class[t]] >= uint8(s.goal) {
			s.recipe.steps[s.goal-1] = makeStep(op, tr)
			s.hit(t)
		}
	}
}

// hit enters the recipe in hand, which makes t.
func (s *search) hit(t truth) {
	rep := s.class[t]
	s.cost[rep] = s.recipe.n
	s.enter(rep, &s.recipe, t)
}

// enter enters a recipe of t as all the recipes of the representative that it
// is up to the symmetries.
func (s *search) enter(rep truth, r *recipe, t truth) {
	if len(s.found[rep]) >= maxFound {
		return
	}
	u := r.ordered()
	if _, ok := s.tried[u]; ok {
		return
	}
	s.tried[u] = struct{}{}
	for i := range transforms {
		x := &transforms[i]
		if x.of(t).normal() != rep {
			continue
		}
		v := r.renamed(x).ordered()
		if _, ok := s.seen[v]; !ok {
			s.seen[v] = struct{}{}
			s.found[rep] = append(s.found[rep], v)
		}
	}
}

// write writes the table.
func (s *search) write(w io.Writer, keep int) error {
	b := bufio.NewWriter(w)
	fmt.Fprint(b, tableHead)
	for rep, cost := range s.cost {
		if cost == unknown {
			if s.class[rep] == truth(rep) && s.steps == maxSteps {
				return fmt.Errorf("no XMG of %04x", rep)
			}
			continue
		}
		fmt.Fprintf(b, "%04x %d", rep, cost)
		switch truth(rep) {
		case 0:
			fmt.Fprint(b, " 0")
		case inputTruth[0]:
			fmt.Fprint(b, " a")
		}
		for _, r := range different(s.found[truth(rep)], keep) {
			fmt.Fprintf(b, " %s", r.String())
		}
		fmt.Fprintln(b)
	}
	return b.Flush()
}

const tableHead = `# Code generated by exact4; DO NOT EDIT.
#
# Minimum XMGs of the 222 NPN classes of functions of four inputs: the truth
# table of a class (bit i is the value for the pattern i, whose bit j is that of
# input j), the number of gates, and some structures. A gate is x (XOR) or m (MAJ)
# and three operands: 0 is the constant, a to d are the inputs, e and so on the
# gates before it; capitals are complements, 1 that of 0. The last gate or its
# complement is the function. (Without a gate, it is an operand.)
`
