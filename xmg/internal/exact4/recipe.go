package main

import (
	"slices"
	"strings"
)

// recipe makes a function by steps; item 0 is the constant false, items 1 to 4
// are the inputs, and items 5 on the steps. The last one, or its complement, is
// the function.
type recipe struct {
	steps [maxSteps]step
	n     uint8
}

// step is a gate over earlier items.
type step struct {
	xor bool
	op  [3]uint8 // item<<1 | complement
}

func (s step) compare(t step) int {
	if s.xor != t.xor {
		if s.xor {
			return -1
		}
		return 1
	}
	return slices.Compare(s.op[:], t.op[:])
}

// truths returns the functions of all items.
func (r *recipe) truths() (values [5 + maxSteps]truth) {
	copy(values[1:], inputTruth[:])
	for i, s := range r.steps[:r.n] {
		var v [3]truth
		for k, op := range s.op {
			v[k] = values[op>>1] ^ -truth(op&1)
		}
		if s.xor {
			values[5+i] = v[0] ^ v[1] ^ v[2]
		} else {
			values[5+i] = majority(v[0], v[1], v[2])
		}
	}
	return values
}

// renamed returns the recipe of the transformed function.
func (r *recipe) renamed(x *transform) *recipe {
	v := *r
	for i := range v.steps[:v.n] {
		for k, op := range v.steps[i].op {
			if item := op >> 1; item >= 1 && item <= 4 {
				j := x.order[item-1]
				v.steps[i].op[k] = (j+1)<<1 | (op^x.neg>>j)&1
			}
		}
	}
	return &v
}

// ordered returns the recipe in its one form: XOR steps without complements, MAJ
// steps with at most one, operands ascending, and of the steps that can come next
// always the smallest.
func (r *recipe) ordered() recipe {
	steps := r.steps
	var flip uint8 // items that are now complements
	for i := range steps[:r.n] {
		s := &steps[i]
		ones := uint8(0)
		for k := range s.op {
			if item := s.op[k] >> 1; item >= 5 {
				s.op[k] ^= flip >> (item - 5) & 1
			}
			ones += s.op[k] & 1
		}
		switch {
		case s.xor:
			for k := range s.op {
				s.op[k] &^= 1
			}
			flip |= ones & 1 << i
		case ones >= 2:
			for k := range s.op {
				s.op[k] ^= 1
			}
			flip |= 1 << i
		}
	}
	v := recipe{n: r.n}
	var name [5 + maxSteps]uint8 // the new item; 0 = none yet
	for i := range uint8(5) {
		name[i] = i
	}
	for k := range r.n {
		best := -1
		for i, s := range steps[:r.n] {
			if name[5+i] != 0 {
				continue
			}
			ready := true
			for j, op := range s.op {
				ready = ready && (op>>1 < 5 || name[op>>1] != 0)
				s.op[j] = name[op>>1]<<1 | op&1
			}
			slices.Sort(s.op[:])
			if ready && (best < 0 || s.compare(v.steps[k]) < 0) {
				best, v.steps[k] = i, s
			}
		}
		name[5+best] = 5 + k
	}
	return v
}

// String is the form of the table.
func (r *recipe) String() string {
	var b strings.Builder
	for i, s := range r.steps[:r.n] {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteByte("mx"[map[bool]int{false: 0, true: 1}[s.xor]])
		for _, op := range s.op {
			b.WriteByte("01aAbBcCdDeEfFgGhHiIjJ"[op])
		}
	}
	return b.String()
}

// different picks some recipes with many different functions inside: the first
// one, and always the one that has the most functions which none before it
// has.
func different(all []recipe, most int) []recipe {
	var have [1 << 16]bool
	var picked []recipe
	for len(picked) < min(most, len(all)) {
		best, gain := -1, 0
		for i := range all {
			news := 0
			for _, t := range all[i].inner() {
				if !have[t.normal()] {
					news++
				}
			}
			if news > gain || best < 0 && len(picked) == 0 {
				best, gain = i, news
			}
		}
		if best < 0 {
			break
		}
		for _, t := range all[best].inner() {
			have[t.normal()] = true
		}
		picked = append(picked, all[best])
	}
	return picked
}

// inner returns the functions of all steps but the last.
func (r *recipe) inner() []truth {
	values := r.truths()
	return values[5:max(5, 4+int(r.n))]
}
