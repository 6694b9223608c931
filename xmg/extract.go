package xmg

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/bitsched/bitsched/xmg/internal/bdd"
)

// extraction divides sums of products by what they have in common, in rounds: each
// collects the pairs of literals of products, and the pairs of products of a sum that
// differ in one or two literals each, and takes what saves most literals first. A
// divisor is a sum of its own and a literal of those that it divides.
type extraction struct {
	inputs uint32
	sums   []cubes // outputs, then divisors
	found  map[divisor]*divisorUse
}

type cubes []*cube

// cube is a product: a set of literals, ascending: a variable<<1, and 1 more for its complement.
// Variables are inputs, and then divisors.
type cube struct {
	literals []uint32
	gone     bool
}

// divisor is a product of the two literals of a, or the sum of that and of b. Where
// there is one literal only, noLiteral is the other.
type divisor struct{ a, b [2]uint32 }

const noLiteral = ^uint32(0)

type divisorUse struct {
	weight int // literals that it saves
	places []divisorPlace
}

type divisorPlace struct {
	sum  int
	p, q *cube // q is nil for a product of two literals
}

const (
	maxCubePairs    = 300  // next products that a product is compared with
	maxPairLiterals = 2000 // literals whose pairs are counted
	maxRounds       = 300
)

func newExtraction(sums [][][]bdd.Literal, inputs int) *extraction {
	x := &extraction{inputs: uint32(inputs)}
	for _, s := range sums {
		var own cubes
		for _, p := range s {
			literals := make([]uint32, len(p))
			for i, l := range p {
				literals[i] = uint32(l)
			}
			own = append(own, &cube{literals: literals})
		}
		x.sums = append(x.sums, own)
	}
	return x
}

// run divides until nothing is saved.
func (x *extraction) run(ctx context.Context, progress func(Progress)) error {
	for round := range maxRounds {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("xmg: collapsing: %w", err)
		}
		if progress != nil {
			progress(Progress{"collapsing, divisors", round, maxRounds})
		}
		if !x.round() {
			break
		}
	}
	return nil
}

// round collects divisors and divides by those that save most; it reports whether it
// did.
func (x *extraction) round() bool {
	x.found = map[divisor]*divisorUse{}
	for s, sum := range x.sums {
		for i, p := range sum {
			for _, q := range sum[i+1 : min(len(sum), i+1+maxCubePairs)] {
				if d, saved, ok := common(p, q); ok {
					x.enter(d, divisorPlace{s, p, q}, saved)
				}
			}
		}
	}
	x.pairsOfLiterals()
	most := 0
	for d, use := range x.found {
		if use.weight -= d.size(); use.weight <= 0 {
			delete(x.found, d)
		}
		most = max(most, use.weight)
	}
	maps.DeleteFunc(x.found, func(_ divisor, use *divisorUse) bool { return use.weight < most/2 })
	divided := false
	for _, d := range slices.SortedFunc(maps.Keys(x.found), func(d, e divisor) int {
		return cmp.Or(x.found[e].weight-x.found[d].weight, slices.Compare(d.a[:], e.a[:]), slices.Compare(d.b[:], e.b[:]))
	}) {
		divided = x.divide(d, x.found[d]) || divided
	}
	return divided
}

// size is how many literals a divisor has.
func (d divisor) size() int {
	n := 0
	for _, l := range [4]uint32{d.a[0], d.a[1], d.b[0], d.b[1]} {
		if l != noLiteral {
			n++
		}
	}
	return n
}

func (x *extraction) enter(d divisor, at divisorPlace, saved int) {
	use := x.found[d]
	if use == nil {
		use = &divisorUse{}
		x.found[d] = use
	}
	use.weight += saved
	use.places = append(use.places, at)
}

// pairsOfLiterals enters the pairs of literals of products, those of the most pairs.
func (x *extraction) pairsOfLiterals() {
	// The literals that are in two products at least, by number.
	times := map[uint32]int{}
	for _, sum := range x.sums {
		for _, p := range sum {
			for _, l := range p.literals {
				times[l]++
			}
		}
	}
	maps.DeleteFunc(times, func(_ uint32, n int) bool { return n < 2 })
	literals := slices.SortedFunc(maps.Keys(times), func(l, m uint32) int { return cmp.Or(times[m]-times[l], cmp.Compare(l, m)) })
	literals = literals[:min(len(literals), maxPairLiterals)]
	number := map[uint32]int{}
	for i, l := range literals {
		number[l] = i
	}
	n := len(literals)
	counts := make([]int32, n*n)
	products := make([][]divisorPlace, n) // by literal
	var own []int
	for s, sum := range x.sums {
		for _, p := range sum {
			own = own[:0]
			for _, l := range p.literals {
				if i, ok := number[l]; ok {
					own = append(own, i)
					products[i] = append(products[i], divisorPlace{s, p, nil})
				}
			}
			for k, i := range own {
				for _, j := range own[k+1:] {
					counts[i*n+j]++
				}
			}
		}
	}
	most := int32(0)
	for _, c := range counts {
		most = max(most, c)
	}
	for i := range n {
		for j := range n {
			// Those that save less than half of the most are not taken.
			if c := counts[i*n+j] - 2; c <= 0 || c < (most-2)/2 {
				continue
			}
			l, m := min(literals[i], literals[j]), max(literals[i], literals[j])
			d := divisor{[2]uint32{l, m}, [2]uint32{noLiteral, noLiteral}}
			for _, at := range products[i] {
				if at.p.holds(literals[j]) {
					x.enter(d, at, 1)
				}
			}
		}
	}
}

// common returns what two products are a sum of, without what they share, and the
// literals saved if that is a literal; ok is false if these are too many or none.
func common(p, q *cube) (d divisor, saved int, ok bool) {
	a, b := [2]uint32{noLiteral, noLiteral}, [2]uint32{noLiteral, noLiteral}
	na, nb := 0, 0
	for i, j := 0, 0; i < len(p.literals) || j < len(q.literals); {
		switch {
		case j == len(q.literals) || i < len(p.literals) && p.literals[i] < q.literals[j]:
			if na == 2 {
				return d, 0, false
			}
			a[na] = p.literals[i]
			na++
			i++
		case i == len(p.literals) || q.literals[j] < p.literals[i]:
			if nb == 2 {
				return d, 0, false
			}
			b[nb] = q.literals[j]
			nb++
			j++
		default:
			i++
			j++
		}
	}
	if na == 0 || nb == 0 {
		return d, 0, false // one holds the other
	}
	if slices.Compare(a[:], b[:]) > 0 {
		a, b = b, a
	}
	return divisor{a, b}, len(p.literals) + nb - 1, true
}

// divide divides by a divisor wherever that is still there, if that is half of what it
// was worth.
func (x *extraction) divide(d divisor, use *divisorUse) bool {
	worth := -d.size()
	var places []divisorPlace
	taken := map[*cube]bool{}
	for _, at := range use.places {
		if taken[at.p] || at.q != nil && taken[at.q] || at.p.gone || at.q != nil && at.q.gone {
			continue
		}
		if at.q == nil {
			if !at.p.holds(d.a[0]) || !at.p.holds(d.a[1]) {
				continue
			}
			worth++
		} else {
			still, saved, ok := common(at.p, at.q)
			if !ok || still != d {
				continue
			}
			taken[at.q] = true
			worth += saved
		}
		taken[at.p] = true
		places = append(places, at)
	}
	if worth <= 0 || 2*worth < use.weight {
		return false
	}
	literal := (x.inputs + uint32(len(x.sums))) << 1
	for _, at := range places {
		two := d.a
		if at.q != nil && !(at.p.holds(d.a[0]) && (d.a[1] == noLiteral || at.p.holds(d.a[1]))) {
			two = d.b
		}
		at.p.literals = append(at.p.without(two), literal)
		if at.q != nil {
			at.q.gone = true
			x.sums[at.sum] = slices.DeleteFunc(x.sums[at.sum], func(p *cube) bool { return p.gone })
		}
	}
	var own cubes
	for _, half := range [2][2]uint32{d.a, d.b} {
		p := &cube{}
		for _, l := range half {
			if l != noLiteral {
				p.literals = append(p.literals, l)
			}
		}
		if len(p.literals) > 0 {
			own = append(own, p)
		}
	}
	x.sums = append(x.sums, own)
	return true
}

// holds reports whether a product has a literal.
func (p *cube) holds(l uint32) bool {
	_, ok := slices.BinarySearch(p.literals, l)
	return ok
}

// without returns the literals of a product but for two.
func (p *cube) without(two [2]uint32) []uint32 {
	var rest []uint32
	for _, l := range p.literals {
		if l != two[0] && l != two[1] {
			rest = append(rest, l)
		}
	}
	return rest
}

// build adds the gates of all sums to a graph, whose inputs are some literals, and
// returns those of the first sums.
func (x *extraction) build(g *Graph, inputs []Lit, outputs int) []Lit {
	made := make([]Lit, len(x.sums))
	done := make([]bool, len(x.sums))
	var sum func(s int) Lit
	sum = func(s int) Lit {
		if done[s] {
			return made[s]
		}
		var terms []Lit
		for _, p := range x.sums[s] {
			var factors []Lit
			for _, l := range p.literals {
				if v := l >> 1; v < x.inputs {
					factors = append(factors, inputs[v]^Lit(l&1))
				} else {
					factors = append(factors, sum(int(v-x.inputs))^Lit(l&1))
				}
			}
			terms = append(terms, g.andTree(factors)^1)
		}
		made[s], done[s] = g.andTree(terms)^1, true
		return made[s]
	}
	for s := range outputs {
		sum(s)
	}
	return made[:outputs]
}

// andTree returns the AND of some literals as a tree that is as low as it can be.
func (g *Graph) andTree(factors []Lit) Lit {
	if len(factors) == 0 {
		return True
	}
	for ; len(factors) > 1; factors = factors[2:] {
		factors = append(factors, g.And(factors[0], factors[1]))
	}
	return factors[0]
}
