package xmg

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// value evaluates a cut for an assignment of its leaves.
func (c *cut) value(leaf func(uint32) bool) bool {
	p := 0
	for i, l := range c.leaves() {
		if leaf(l) {
			p |= 1 << i
		}
	}
	return c.fn>>p&1 == 1
}

func randomCut(r *rand.Rand) cut {
	c := cut{n: uint8(r.IntN(5))}
	leaves := map[uint32]bool{}
	for len(leaves) < int(c.n) {
		leaves[uint32(1+r.IntN(7))+uint32(r.IntN(2))*32] = true // equal bits in sig, too
	}
	i := 0
	for l := range leaves {
		c.leaf[i] = l
		c.sig |= 1 << (l % 32)
		i++
	}
	slices.Sort(c.leaf[:c.n])
	c.fn = truth(r.Uint32())
	for k := r.IntN(4); k > 0; k-- { // often independent of some
		c.fn &^= inputTruth[k]
		c.fn |= c.fn << (1 << k)
	}
	for j := int(c.n); j < 4; j++ { // no dependence on inputs that are not there
		c.fn &^= inputTruth[j]
		c.fn |= c.fn << (1 << j)
	}
	return c
}

func TestCuts(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	joined, within, shrunk := 0, 0, 0
	for range 20000 {
		a, b := randomCut(r), randomCut(r)
		union := append(slices.Clone(a.leaves()), b.leaves()...)
		slices.Sort(union)
		union = slices.Compact(union)
		if got, want := a.within(&b), len(union) == int(b.n); got != want {
			t.Fatalf("%v within %v: %v", a.leaves(), b.leaves(), got)
		} else if got {
			within++
		}
		var c cut
		if ok := c.join(&a, &b); ok != (len(union) <= 4) {
			t.Fatalf("join of %v and %v: %v", a.leaves(), b.leaves(), ok)
		} else if !ok {
			continue
		}
		joined++
		if !slices.Equal(c.leaves(), union) {
			t.Fatalf("join of %v and %v: %v", a.leaves(), b.leaves(), c.leaves())
		}
		c.fn = a.over(&c)
		bits := r.Uint64()
		leaf := func(l uint32) bool { return bits>>l&1 == 1 }
		if a.value(leaf) != c.value(leaf) {
			t.Fatalf("function %04x of %v over %v is wrong", a.fn, a.leaves(), c.leaves())
		}
		before := c
		c.shrink()
		if before.value(leaf) != c.value(leaf) {
			t.Fatalf("function %04x of %v without what it does not need is wrong", before.fn, before.leaves())
		}
		for i := range int(c.n) {
			if !c.fn.dependsOn(i) {
				t.Fatalf("function %04x of %v keeps leaf %d", before.fn, before.leaves(), i)
			}
		}
		if c.n < before.n {
			shrunk++
		}
	}
	if joined < 1000 || within < 1000 || shrunk < 1000 {
		t.Errorf("only %d joined, %d within, %d shrunk", joined, within, shrunk)
	}
}
