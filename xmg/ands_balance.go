package xmg

import (
	"context"
	"slices"
)

// BalanceAnds makes all gates ANDs and the trees of ANDs that serve one gate only as
// low as they can be, of equally low ones those whose gates are there already. What
// was written as chains of another order each then has gates in common, or gates that
// [ResubstituteAnds] finds to be nearly in common.
//
// It takes some us a gate. An error means that the context ended, and wraps its error.
func BalanceAnds(ctx context.Context, g *Graph, opt Options) (*Graph, error) {
	g = g.ands()
	b := &andBalancer{g: g, out: g.emptyCopy(g.NumGates()), lit: make([]Lit, len(g.nodes)), refs: g.References(), level: make([]int32, g.FirstGate())}
	tick := ticker{ctx, opt.Progress, "balancing", g.NumNodes()}
	for id := range g.nodes {
		if err := tick.tick(id); err != nil {
			return nil, err
		}
		if id < g.FirstGate() {
			b.lit[id] = Lit(id) << 1
		} else if b.root(id) {
			b.gate(id)
		}
	}
	for _, o := range g.outputs {
		b.out.AddOutput(o.Name, b.lit[o.Lit>>1]^o.Lit&1)
	}
	return b.out.Sweep(), nil
}

type andBalancer struct {
	g, out  *Graph
	lit     []Lit // by node of g that is the root of a tree
	refs    []int32
	inside  []bool  // by node of g: it is part of the tree of its only user
	level   []int32 // by node of out
	factors []Lit
	stack   []Lit
}

// root reports whether a gate is not inside the tree of another one: all gates but
// those that are used once, uncomplemented, as a factor.
func (b *andBalancer) root(id int) bool {
	if b.inside == nil {
		b.inside = make([]bool, len(b.g.nodes))
		for id := b.g.FirstGate(); id < len(b.g.nodes); id++ {
			flip := factorsFlipped(b.g.nodes[id])
			for _, l := range b.g.nodes[id][1:] {
				l ^= flip
				n := int(l >> 1)
				b.inside[n] = b.g.IsGate(n) && b.refs[n] == 1 && l&1 == factorsFlipped(b.g.nodes[n])
			}
		}
	}
	return !b.inside[id]
}

// factorsFlipped is 1 if a gate is an OR, which is the complement of an AND of the
// complements of its fanins, and 0 if it is an AND.
func factorsFlipped(f gate) Lit { return f[0] & 1 }

// gate builds the tree of a root.
func (b *andBalancer) gate(id int) {
	flip := factorsFlipped(b.g.nodes[id])
	b.factors, b.stack = b.factors[:0], append(b.stack[:0], MakeLit(id, flip != 0))
	for len(b.stack) > 0 {
		l := b.stack[len(b.stack)-1]
		b.stack = b.stack[:len(b.stack)-1]
		n := int(l >> 1)
		if n != id && !b.inside[n] {
			b.factors = append(b.factors, b.lit[n]^l&1)
			continue
		}
		f := b.g.nodes[n]
		b.stack = append(b.stack, f[2]^factorsFlipped(f), f[1]^factorsFlipped(f))
	}
	slices.SortFunc(b.factors, b.byLevel) // the lowest last
	for len(b.factors) > maxFactors {
		k := len(b.factors) - maxFactors
		b.insert(k, b.and(slices.Clone(b.factors[k:])))
	}
	b.lit[id] = b.and(b.factors) ^ flip
}

// maxFactors is how many factors, in ascending order, are looked at together.
const maxFactors = 1 << 10

// byLevel orders factors from the highest to the lowest.
func (b *andBalancer) byLevel(x, y Lit) int {
	if d := b.level[y>>1] - b.level[x>>1]; d != 0 {
		return int(d)
	}
	return int(y>>1) - int(x>>1)
}

// insert puts a factor in the place of those from k on.
func (b *andBalancer) insert(k int, l Lit) {
	b.factors = b.factors[:k]
	i, _ := slices.BinarySearchFunc(b.factors, l, b.byLevel)
	b.factors = slices.Insert(b.factors, i, l)
}

// and returns the AND of factors, the lowest of which come last.
func (b *andBalancer) and(factors []Lit) Lit {
	for len(factors) > 1 {
		k := len(factors) - 1
		// Of the factors as low as the second one, one whose AND is there.
		pick, least := k-1, b.level[factors[k-1]>>1]
		for j := k - 1; j >= max(0, k-maxPairs) && b.level[factors[j]>>1] == least; j-- {
			if _, ok := b.out.findMaj(factors[k], factors[j], False); ok {
				pick = j
				break
			}
		}
		made := b.out.And(factors[k], factors[pick])
		for len(b.level) < len(b.out.nodes) {
			b.level = append(b.level, max(b.level[factors[k]>>1], least)+1)
		}
		factors = slices.Delete(factors[:k], pick, pick+1)
		i, _ := slices.BinarySearchFunc(factors, made, b.byLevel)
		factors = slices.Insert(factors, i, made)
	}
	return factors[0]
}

// maxPairs bounds the pairs of equally low factors that are looked for.
const maxPairs = 32
