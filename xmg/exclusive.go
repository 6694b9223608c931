package xmg

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
)

// Exclusive makes ORs of terms that are never true together into XORs: of
// three such terms the OR takes two gates, the XOR one. Decoded tables (ORs of
// minterms) and the selected multiples of a Booth multiplier are of this kind.
//
// ORs of ORs are taken apart as far as no one else uses them, and their terms
// put into groups whose terms exclude each other in pairs. An AND is an OR of
// complements. That two terms exclude each other is first asked of random
// patterns and then proved: from complementary factors, or by the truth tables
// of both over a common cut. A term that implies another one is dropped.
//
// It is best run between two runs of [Map]: covering brings out the ANDs and
// ORs, and joins the XORs with those around them.
//
// The result is never larger; it is g itself if no smaller one was found. The
// time is linear in the gates but for large ORs, which take up to
// exclusiveTerms comparisons a term. It takes about 100 bytes a gate. An error
// means that the context ended, and wraps its error.
func Exclusive(ctx context.Context, g *Graph, opt Options) (*Graph, error) {
	g = g.Sweep()
	e := &exclusion{
		g:     g,
		sig:   make([]uint64, g.NumNodes()*sigWords),
		memo:  make([]answer, 1<<16),
		tick:  ticker{ctx, opt.Progress, "exclusive terms", g.NumNodes()},
		refs:  g.References(),
		index: make([]int32, g.NumNodes()),
		size:  make([]uint8, g.NumNodes()),
		inner: make([]bool, g.NumNodes()),
		toXor: make([]bool, g.NumNodes()),
	}
	for i := range e.index {
		e.index[i] = -1
	}
	e.simulate()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("xmg: exclusive terms: %w", err)
	}
	e.findORs()
	out := g.emptyCopy(g.NumGates())
	lit := make([]Lit, g.NumNodes())
	for id := range g.FirstGate() {
		lit[id] = Lit(id) << 1
	}
	for id := g.FirstGate(); id < g.NumNodes(); id++ {
		if err := e.tick.tick(id); err != nil {
			return nil, err
		}
		// The gates inside ORs that are taken apart die in the end.
		if f := g.nodes[id]; e.size[id] < 2 || e.inner[id] {
			lit[id] = out.copyGate(f, lit)
		} else {
			lit[id] = e.or(out, lit, id)
		}
	}
	for _, o := range g.outputs {
		out.AddOutput(o.Name, lit[o.Lit>>1]^o.Lit&1)
	}
	if out = out.Sweep(); out.NumGates() >= g.NumGates() {
		return g, nil
	}
	return out, nil
}

const (
	sigWords = 8
	// exclusiveTerms is the largest OR that is taken apart as a whole.
	exclusiveTerms = 128
	// exclusiveBudget bounds the pairs of factors looked at for one question.
	exclusiveBudget = 256
	// A proof by truth tables takes cuts of at most windowLeaves leaves, and at
	// most windowNodes nodes.
	windowLeaves = 10
	windowNodes  = 64
	windowWords  = 1 << (windowLeaves - 6)
)

// exclusion tells which nodes are never true together.
type exclusion struct {
	g    *Graph
	tick ticker
	refs []int32
	// By node: the terms of an AND or an OR as far as it is taken apart, 0 for
	// other nodes; whether its only user takes it apart; whether its only user
	// is an XOR with a free operand.
	size         []uint8
	inner, toXor []bool

	sig  []uint64 // by node: its values on random patterns
	memo []answer // at the hash of the pair

	work  int
	terms []Lit

	index  []int32 // by node: its place in the window, or -1
	leaves []uint32
	inside []uint32
	tables [][windowWords]uint64
}

// answer is whether two literals exclude each other.
type answer struct {
	pair uint64
	ok   bool
}

func (e *exclusion) simulate() {
	g := e.g
	r := rand.New(rand.NewPCG(0x5eed, 0xc1a55))
	for i := sigWords; i < g.FirstGate()*sigWords; i++ {
		e.sig[i] = r.Uint64()
	}
	for id := g.FirstGate(); id < g.NumNodes(); id++ {
		f := g.nodes[id]
		to := e.sig[id*sigWords:][:sigWords]
		a, b, c := e.sig[f[0]>>1*sigWords:][:sigWords], e.sig[f[1]>>1*sigWords:][:sigWords], e.sig[f[2]>>1*sigWords:][:sigWords]
		na, nb, nc := -uint64(f[0]&1), -uint64(f[1]&1), -uint64(f[2]&1)
		for w := range to {
			x, y, z := a[w]^na, b[w]^nb, c[w]^nc
			if f[0] > f[1] {
				to[w] = x ^ y ^ z
			} else {
				to[w] = x&y | (x|y)&z
			}
		}
	}
}

// findORs finds the ANDs and ORs that are taken apart. (An AND is an OR of
// complements, complemented.)
func (e *exclusion) findORs() {
	g := e.g
	for id := g.FirstGate(); id < g.NumNodes(); id++ {
		f := g.nodes[id]
		if f[0] > f[1] {
			if f[2] == False {
				e.toXor[f[0]>>1] = e.refs[f[0]>>1] == 1
				e.toXor[f[1]>>1] = e.refs[f[1]>>1] == 1
			}
			continue
		}
		if f[0] > True {
			continue
		}
		e.size[id] = 2
		for _, l := range f[1:] {
			n := l >> 1
			or := l ^ f[0] ^ 1 // as a term of an OR
			if s := e.size[n]; s > 0 && e.refs[n] == 1 && g.nodes[n][0] == True^or&1 && e.size[id]+s <= exclusiveTerms {
				e.inner[n] = true
				e.size[id] += s - 1
			}
		}
	}
}

// or builds gate id, an AND or an OR, anew. The terms that exclude each other
// become XORs; so does the last operation if an XOR can take it in.
func (e *exclusion) or(out *Graph, lit []Lit, id int) Lit {
	f := e.g.nodes[id]
	compl := f[0] ^ 1 // of the gate against the OR
	e.terms = e.terms[:0]
	e.takeApart(f[1] ^ compl)
	e.takeApart(f[2] ^ compl)
	n := len(e.terms)
	e.absorb()
	// Groups of terms that exclude each other: group[i] is that of term i.
	var group, members [exclusiveTerms]uint8
	groups := uint8(0)
	for i, l := range e.terms {
		to := uint8(0)
		for to < groups && !e.excludeGroup(l, group[:i], to) {
			to++
		}
		group[i] = to
		members[to]++
		groups = max(groups, to+1)
	}
	xor := groups == 1 && e.toXor[id]
	if most := slices.Max(members[:groups]); most < 3 && !xor && len(e.terms) == n {
		return out.copyGate(f, lit)
	}
	result := False
	for to := range groups {
		x, open := False, False // open: a term that waits for a second
		for i, l := range e.terms {
			if group[i] != to {
				continue
			}
			l = lit[l>>1] ^ l&1
			switch {
			case x == False:
				x = l
			case open == False:
				open = l
			default:
				x, open = out.Xor(x, open, l), False
			}
		}
		if xor {
			x = out.Xor2(x, open)
		} else {
			x = out.Or(x, open)
		}
		result = out.Or(result, x)
	}
	return result ^ compl
}

// absorb removes the terms that imply another one.
func (e *exclusion) absorb() {
	kept := e.terms[:0]
	for i, l := range e.terms {
		implies := func(m Lit) bool { return e.exclude(l, m^1) }
		if !slices.ContainsFunc(kept, implies) && !slices.ContainsFunc(e.terms[i+1:], implies) {
			kept = append(kept, l)
		}
	}
	e.terms = kept
}

// excludeGroup tells whether l excludes all earlier terms of a group.
func (e *exclusion) excludeGroup(l Lit, group []uint8, to uint8) bool {
	for j, of := range group {
		if of == to && !e.exclude(l, e.terms[j]) {
			return false
		}
	}
	return true
}

// takeApart appends the terms of l, which is a term of an OR.
func (e *exclusion) takeApart(l Lit) {
	if !e.inner[l>>1] {
		e.terms = append(e.terms, l)
		return
	}
	f := e.g.nodes[l>>1]
	e.takeApart(f[1] ^ l&1)
	e.takeApart(f[2] ^ l&1)
}

// exclude tells whether a and b are never true together; if in doubt, it says
// no.
func (e *exclusion) exclude(a, b Lit) bool {
	e.work = exclusiveBudget
	return e.prove(a, b)
}

func (e *exclusion) disjointSig(a, b Lit) bool {
	na, nb := -uint64(a&1), -uint64(b&1)
	sa, sb := e.sig[a>>1*sigWords:][:sigWords], e.sig[b>>1*sigWords:][:sigWords]
	for w, s := range sa {
		if (s^na)&(sb[w]^nb) != 0 {
			return false
		}
	}
	return true
}

func (e *exclusion) prove(a, b Lit) bool {
	if a == b^1 || a == False || b == False {
		return true
	}
	if e.work--; e.work < 0 || !e.disjointSig(a, b) {
		return false
	}
	if a < b {
		a, b = b, a
	}
	pair := uint64(a)<<32 | uint64(b)
	slot := &e.memo[pair*0x9E3779B97F4A7C15>>48]
	if slot.pair == pair {
		return slot.ok
	}
	ok := e.proveParts(a, b) || e.proveParts(b, a) || e.proveWindow(a, b)
	if ok || e.work >= 0 {
		*slot = answer{pair, ok}
	}
	return ok
}

// proveParts takes a apart: a factor of it excludes b, or all its terms do.
func (e *exclusion) proveParts(a, b Lit) bool {
	id := int(a >> 1)
	if !e.g.IsGate(id) {
		return false
	}
	f := e.g.nodes[id]
	if f[0] > f[1] || f[0] > True {
		return false
	}
	x, y := f[1]^a&1, f[2]^a&1
	if f[0]^a&1 == False {
		return e.prove(x, b) || e.prove(y, b)
	}
	return e.prove(x, b) && e.prove(y, b)
}

// proveWindow compares the truth tables over a common cut. The cut grows from
// the two nodes where that adds the fewest leaves.
func (e *exclusion) proveWindow(a, b Lit) bool {
	g := e.g
	e.leaves = append(e.leaves[:0], uint32(a>>1), uint32(b>>1))
	e.inside = e.inside[:0]
	mark := func(n uint32) { e.index[n] = 0 }
	mark(uint32(a >> 1))
	mark(uint32(b >> 1))
	for len(e.inside) < windowNodes {
		pick, least := -1, 4
		for i, l := range e.leaves {
			if !g.IsGate(int(l)) {
				continue
			}
			added := -1
			for _, f := range g.nodes[l] {
				if f > True && e.index[f>>1] < 0 {
					added++
				}
			}
			if added < least || added == least && l > e.leaves[pick] {
				pick, least = i, added
			}
		}
		if pick < 0 || len(e.leaves)+least > windowLeaves {
			break
		}
		l := e.leaves[pick]
		e.leaves[pick] = e.leaves[len(e.leaves)-1]
		e.leaves = e.leaves[:len(e.leaves)-1]
		e.inside = append(e.inside, l)
		for _, f := range g.nodes[l] {
			if f > True && e.index[f>>1] < 0 {
				mark(uint32(f >> 1))
				e.leaves = append(e.leaves, uint32(f>>1))
			}
		}
	}
	ok := len(e.inside) > 0 && e.disjointTables(a, b)
	for _, n := range e.leaves {
		e.index[n] = -1
	}
	for _, n := range e.inside {
		e.index[n] = -1
	}
	return ok
}

func (e *exclusion) disjointTables(a, b Lit) bool {
	g := e.g
	words := 1 << max(0, len(e.leaves)-6)
	e.tables = e.tables[:0]
	for i, n := range e.leaves {
		e.index[n] = int32(len(e.tables))
		e.tables = append(e.tables, variable(i))
	}
	// Fanins first.
	slices.Sort(e.inside)
	for _, n := range e.inside {
		f := g.nodes[n]
		var in [3][windowWords]uint64
		for k, l := range f {
			if l > True {
				in[k] = e.tables[e.index[l>>1]]
			}
			if l&1 != 0 {
				for w := range words {
					in[k][w] = ^in[k][w]
				}
			}
		}
		var t [windowWords]uint64
		for w := range words {
			x, y, z := in[0][w], in[1][w], in[2][w]
			if f[0] > f[1] {
				t[w] = x ^ y ^ z
			} else {
				t[w] = x&y | (x|y)&z
			}
		}
		e.index[n] = int32(len(e.tables))
		e.tables = append(e.tables, t)
	}
	mask := ^uint64(0)
	if len(e.leaves) < 6 {
		mask = 1<<(1<<len(e.leaves)) - 1
	}
	ta, tb := &e.tables[e.index[a>>1]], &e.tables[e.index[b>>1]]
	na, nb := -uint64(a&1), -uint64(b&1)
	for w := range words {
		if (ta[w]^na)&(tb[w]^nb)&mask != 0 {
			return false
		}
	}
	return true
}

// variable returns the truth table of input i.
func variable(i int) (t [windowWords]uint64) {
	for w := range t {
		switch {
		case i < 6:
			t[w] = sixInputs[i]
		case w>>(i-6)&1 != 0:
			t[w] = ^uint64(0)
		}
	}
	return t
}

var sixInputs = [6]uint64{
	0xaaaaaaaaaaaaaaaa, 0xcccccccccccccccc, 0xf0f0f0f0f0f0f0f0,
	0xff00ff00ff00ff00, 0xffff0000ffff0000, 0xffffffff00000000,
}
