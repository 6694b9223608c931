package xmg

import (
	_ "embed"
	"math/bits"
	"strings"
	"sync"
)

// npn4 holds minimum XMGs of the 222 NPN classes of four inputs (classes up to
// order and negation of the inputs and negation of the output), several for a
// class where there are several. Its head describes the form. An exhaustive
// search makes it; TestLibraryIsMinimal proves it again in another way. No class
// needs more than five gates.
//
// (Haaswijk, Soeken, Amarù, Gaillardon, De Micheli, "A novel basis for logic
// rewriting", ASP-DAC 2017, have such a table.)
//
//go:generate go run ./internal/exact4 -o npn4.txt
//go:embed npn4.txt
var npn4 string

// A library holds the smallest recipes of XMG gates for every function of four
// inputs.
type library struct {
	cost       [1 << 15]uint8     // gates, by normal function
	class      [1 << 15]uint8     // NPN class, by normal function
	place      [1 << 15]placement // how a normal function is its class
	first      [223]uint16        // by class: its first structure; then the end
	structures []recipe
	recipes    [1 << 15]recipe // the first structure, by normal function
}

// fourInputs reads the library on first use (in some 1 ms); it is never
// written afterwards.
var fourInputs = sync.OnceValue(newLibrary)

// maxSteps is the largest number of gates of a recipe.
const maxSteps = 5

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

// flip negates input j.
func (t truth) flip(j int) truth {
	return t&inputTruth[j]>>(1<<j) | t&^inputTruth[j]<<(1<<j)
}

// placement is how a function follows from another one: three bits for each
// input of that one, an input of the function <<1 | complement, and bit 12 for
// the complement of the result.
type placement uint16

func makePlacement(order [4]uint8, neg uint8, complement bool) placement {
	p := placement(0)
	for j, k := range order {
		p |= placement(k<<1|neg>>k&1) << (3 * j)
	}
	if complement {
		p |= 1 << 12
	}
	return p
}

// inputs gives the other function's inputs, of those of the function.
func (p placement) inputs(in [4]Lit) [4]Lit {
	return [4]Lit{
		in[p>>1&3] ^ Lit(p&1), in[p>>4&3] ^ Lit(p>>3&1), in[p>>7&3] ^ Lit(p>>6&1), in[p>>10&3] ^ Lit(p>>9&1),
	}
}

// output gives the function, of what the other one is.
func (p placement) output(l Lit) Lit { return l ^ Lit(p>>12&1) }

// recipesFor returns the smallest recipes of t, with different gates inside: they
// take the inputs p.inputs(in) and make p.output of t. There is at least one.
func (lib *library) recipesFor(t truth) (rs []recipe, p placement) {
	i := t.normal()
	class := int(lib.class[i])
	return lib.structures[lib.first[class]:lib.first[class+1]], lib.place[i] ^ placement(t&1)<<12
}

// build adds the gates of t over some inputs.
func (lib *library) build(g *Graph, t truth, in [4]Lit) Lit {
	rs, p := lib.recipesFor(t)
	return p.output(rs[0].build(g, p.inputs(in)))
}

// build adds the gates of a recipe over some inputs.
func (r *recipe) build(g *Graph, in [4]Lit) Lit {
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
	return at(r.out)
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

const unknownCost = 255

func newLibrary() *library {
	lib := &library{}
	class := 0
	for line := range strings.Lines(npn4) {
		if line[0] == '#' {
			continue
		}
		fields := strings.Fields(line) // function, gates, structures
		for _, f := range fields[2:] {
			lib.structures = append(lib.structures, parseRecipe(f))
		}
		lib.learn(class)
		class++
		lib.first[class] = uint16(len(lib.structures))
	}
	return lib
}

// parseRecipe reads a recipe of the table. Its result is a normal function.
func parseRecipe(s string) recipe {
	var r recipe
	for step := range strings.SplitSeq(s, ".") {
		if len(step) == 1 { // no gate
			r.out = parseOperand(step[0])
			break
		}
		r.steps[r.n] = makeStep(step[0] == 'x', parseOperand(step[1]), parseOperand(step[2]), parseOperand(step[3]))
		r.out = (5 + r.n) << 1
		r.n++
	}
	r.out ^= uint8(r.truth(inputTruth) & 1)
	return r
}

func parseOperand(c byte) uint8 {
	switch {
	case c >= 'a':
		return (c - 'a' + 1) << 1
	case c >= 'A':
		return (c-'A'+1)<<1 | 1
	}
	return c - '0'
}

// learn enters a class for all its functions.
func (lib *library) learn(class int) {
	r := &lib.structures[lib.first[class]]
	t := r.truth(inputTruth)
	order := [4]uint8{0, 1, 2, 3}
	neg := uint8(0)
	swap := func(i, j int) {
		if i != j {
			t = t.swap(i, j)
			// The operands that are one are now the other.
			for k, o := range order {
				switch int(o) {
				case i:
					order[k] = uint8(j)
				case j:
					order[k] = uint8(i)
				}
			}
		}
	}
	for a := range 4 {
		swap(0, a)
		for b := 1; b < 4; b++ {
			swap(1, b)
			for c := 2; c < 4; c++ {
				swap(2, c)
				for k := range 16 {
					if i := t.normal(); lib.place[i] == 0 { // no placement is 0
						lib.cost[i], lib.class[i] = r.n, uint8(class)
						lib.place[i] = makePlacement(order, neg, t&1 != 0)
						lib.recipes[i] = r.placed(lib.place[i])
					}
					j := bits.TrailingZeros8(uint8(k+1) | 8) // Gray code
					t = t.flip(j)
					neg ^= 1 << j
				}
				swap(2, c)
			}
			swap(1, b)
		}
		swap(0, a)
	}
}

// placed returns the recipe for other inputs and output.
func (r *recipe) placed(p placement) recipe {
	rename := func(op uint8) uint8 {
		if item := op >> 1; item >= 1 && item <= 4 {
			return (uint8(p>>(3*(item-1)))&7 + 2) ^ op&1
		}
		return op
	}
	v := *r
	for i, s := range r.steps[:r.n] {
		v.steps[i] = makeStep(s&stepXor != 0, rename(s.operand(0)), rename(s.operand(1)), rename(s.operand(2)))
	}
	v.out = rename(r.out) ^ uint8(p>>12)
	return v
}
