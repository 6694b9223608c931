package xmg

import "math/bits"

// tableBuilder makes gates of look-up tables of up to six inputs. Functions of
// up to four inputs come from the library. Larger ones are split, the cheapest
// way:
//   - g(S) in the place of the inputs S, if there is such a g (Ashenhurst's
//     simple disjoint decomposition), else about one input x by
//   - Shannon, x ? f1 : f0 in two gates, or one gate MAJ(x, f0, f1) if f is
//     monotone in x (with a constant f0 or f1 this is AND and OR), or
//   - Davio, f0 ^ x (f0 ^ f1), in two gates, or one if f0 ^ f1 is constant.
//
// Costs are counted as if parts shared nothing; structural hashing makes them
// share.
type tableBuilder struct {
	g     *Graph
	lib   *library
	plans map[uint64]tablePlan
}

// tablePlan is how a function of five or six inputs is split.
type tablePlan struct {
	cost uint8
	how  split
	x    uint8 // the input, or the set S of inputs for splitBound
}

type split uint8

const (
	splitBound    split = iota // F(g(S), others)
	splitShannon               // x ? f1 : f0
	splitMaj                   // MAJ(x, f0, f1)
	splitMajNot                // MAJ(!x, f0, f1)
	splitDavio                 // f0 ^ x (f0 ^ f1)
	splitDavioNot              // f1 ^ !x (f0 ^ f1)
)

// maxPlans bounds the memory for plans (some 40 bytes each).
const maxPlans = 1 << 20

// tableInputs are the functions of six inputs that equal one of them. Functions
// of fewer inputs do not depend on the later ones.
var tableInputs = [6]uint64{
	0xaaaaaaaaaaaaaaaa, 0xcccccccccccccccc, 0xf0f0f0f0f0f0f0f0,
	0xff00ff00ff00ff00, 0xffff0000ffff0000, 0xffffffff00000000,
}

func newTableBuilder(g *Graph) *tableBuilder {
	return &tableBuilder{g: g, lib: fourInputs(), plans: make(map[uint64]tablePlan)}
}

// build adds the gates of a table: bit i of table is the output for the pattern
// i, whose bit j is the value of in[j].
func (b *tableBuilder) build(table uint64, in []Lit) Lit {
	var six [6]Lit
	copy(six[:], in)
	t := spreadTable(table, len(in))
	// Constants, and inputs that are one node, make the function simpler.
	for j, l := range in {
		if l>>1 == 0 {
			t = tableCofactor(t, j, l == True)
		}
		for i, k := range in[:j] {
			if k>>1 != l>>1 {
				continue
			}
			// j equals i or its complement: f is (i ? f_j=i : f_j=!i).
			same := k == l
			t = tableInputs[i]&tableCofactor(t, j, same) | ^tableInputs[i]&tableCofactor(t, j, !same)
			break
		}
	}
	return b.make(t, six)
}

// make builds a function of six inputs.
func (b *tableBuilder) make(t uint64, in [6]Lit) Lit {
	if f, vars, n, ok := fourOf(t); ok {
		var four [4]Lit
		for i, j := range vars[:n] {
			four[i] = in[j]
		}
		return b.lib.build(b.g, f, four)
	}
	if t&1 != 0 { // as in plan
		return b.make(^t, in) ^ 1
	}
	p := b.plan(t)
	if p.how == splitBound {
		g, f, _ := boundSplit(t, p.x)
		inner := b.make(g, in)
		in[bits.TrailingZeros8(p.x)] = inner
		return b.make(f, in)
	}
	x := in[p.x]
	t0, t1 := tableCofactor(t, int(p.x), false), tableCofactor(t, int(p.x), true)
	switch p.how {
	case splitMaj, splitMajNot:
		return b.g.Maj(x.NotIf(p.how == splitMajNot), b.make(t0, in), b.make(t1, in))
	case splitDavio:
		return b.g.Xor2(b.make(t0, in), b.g.And(x, b.make(t0^t1, in)))
	case splitDavioNot:
		return b.g.Xor2(b.make(t1, in), b.g.And(x^1, b.make(t0^t1, in)))
	}
	return b.g.Mux(x, b.make(t1, in), b.make(t0, in))
}

// cost returns the gates of a function of six inputs.
func (b *tableBuilder) cost(t uint64) uint8 {
	if f, _, _, ok := fourOf(t); ok {
		return b.lib.cost[f.normal()]
	}
	return b.plan(t).cost
}

// plan chooses how to split a function that depends on five or six inputs, or
// its complement: the one that is 0 for the pattern 0.
func (b *tableBuilder) plan(t uint64) tablePlan {
	if t&1 != 0 {
		t = ^t
	}
	if p, ok := b.plans[t]; ok {
		return p
	}
	best := tablePlan{cost: unknownCost}
	support := tableSupport(t)
	for set := uint8(3); set < support; set++ {
		if set&^support != 0 || set&(set-1) == 0 {
			continue
		}
		if g, f, ok := boundSplit(t, set); ok {
			if c := b.cost(g) + b.cost(f); c < best.cost {
				best = tablePlan{c, splitBound, set}
			}
		}
	}
	bound := best.cost != unknownCost
	for x := uint8(0); x < 6 && !bound; x++ {
		if support>>x&1 == 0 {
			continue
		}
		t0, t1 := tableCofactor(t, int(x), false), tableCofactor(t, int(x), true)
		c0, c1, cd := b.cost(t0), b.cost(t1), b.cost(t0^t1)
		and := uint8(1) // the gate of x (f0 ^ f1)
		if t0 == ^t1 {
			and = 0
		}
		for _, p := range [...]struct {
			tablePlan
			ok bool
		}{
			{tablePlan{1 + c0 + c1, splitMaj, x}, t0&^t1 == 0},
			{tablePlan{1 + c0 + c1, splitMajNot, x}, t1&^t0 == 0},
			{tablePlan{1 + and + c0 + cd, splitDavio, x}, true},
			{tablePlan{1 + and + c1 + cd, splitDavioNot, x}, true},
			{tablePlan{2 + c0 + c1, splitShannon, x}, true},
		} {
			if p.ok && p.cost < best.cost {
				best = p.tablePlan
			}
		}
	}
	if len(b.plans) >= maxPlans {
		clear(b.plans)
	}
	b.plans[t] = best
	return best
}

// spreadTable makes a table of some inputs one of six that depends on no other.
func spreadTable(table uint64, inputs int) uint64 {
	for k := inputs; k < 6; k++ {
		half := uint(1) << k
		table &= 1<<half - 1
		table |= table << half
	}
	return table
}

// tableCofactor returns the function with input j fixed.
func tableCofactor(t uint64, j int, value bool) uint64 {
	if value {
		t &= tableInputs[j]
		return t | t>>(1<<j)
	}
	t &^= tableInputs[j]
	return t | t<<(1<<j)
}

// tableSupport returns the set of inputs that the function depends on.
func tableSupport(t uint64) uint8 {
	set := uint8(0)
	for j, x := range tableInputs {
		if (t^t>>(1<<j))&^x != 0 {
			set |= 1 << j
		}
	}
	return set
}

// fourOf returns a function that depends on at most four inputs as a function
// of these.
func fourOf(t uint64) (f truth, vars [4]uint8, n int, ok bool) {
	support := tableSupport(t)
	if bits.OnesCount8(support) > 4 {
		return 0, vars, 0, false
	}
	for ; support != 0; support &= support - 1 {
		j := bits.TrailingZeros8(support)
		vars[n] = uint8(j)
		if n != j {
			m, s := tableInputs[n]&^tableInputs[j], 1<<j-1<<n
			t = t&^(m|m<<s) | t&m<<s | t>>s&m
		}
		n++
	}
	return truth(t), vars, n, true
}

// boundSplit writes t as F(g(S), others) if it can. In F, g stands in the place
// of the first input of S.
func boundSplit(t uint64, set uint8) (g, f uint64, ok bool) {
	s := columns{first: t}
	for r := set; r != 0; r &= r - 1 {
		s.first = tableCofactor(s.first, bits.TrailingZeros8(r), false)
	}
	if !s.walk(t, set, ^uint64(0)) {
		return 0, 0, false
	}
	x := tableInputs[bits.TrailingZeros8(set)]
	return s.g, s.first&^x | s.other&x, true
}

// columns are what a function can be when some of its inputs are fixed.
type columns struct {
	first, other uint64
	found        bool   // whether there is another one than the first
	g            uint64 // the patterns of the inputs that give it
}

// walk fixes the inputs of a set in all ways; it fails at a third function.
func (s *columns) walk(t uint64, set uint8, at uint64) bool {
	if set == 0 {
		switch {
		case t == s.first:
			return true
		case !s.found:
			s.found, s.other = true, t
		case t != s.other:
			return false
		}
		s.g |= at
		return true
	}
	j := bits.TrailingZeros8(set)
	set &= set - 1
	return s.walk(tableCofactor(t, j, false), set, at&^tableInputs[j]) &&
		s.walk(tableCofactor(t, j, true), set, at&tableInputs[j])
}

// tableKind tells whether a table is at most one XMG gate, and then whether it
// is a gate that is not an AND.
func tableKind(table uint64, inputs int) (notAnd, ok bool) {
	f, _, n, ok := fourOf(spreadTable(table, inputs))
	if !ok || fourInputs().cost[f.normal()] > 1 {
		return false, false
	}
	xor := n == 2 && bits.OnesCount16(uint16(f)) == 8
	return n == 3 || xor, true
}
