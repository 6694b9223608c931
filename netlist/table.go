package netlist

import "math/bits"

// A truth table of k inputs is the low 2^k bits of a word: bit i is the value
// for the pattern i, whose bit j is the value of input j.

// inputTable holds the truth table of each input, over six inputs.
var inputTable = [MaxLUT]uint64{
	0xaaaaaaaaaaaaaaaa, 0xcccccccccccccccc, 0xf0f0f0f0f0f0f0f0,
	0xff00ff00ff00ff00, 0xffff0000ffff0000, 0xffffffff00000000,
}

// tableMask returns the bits that a table of k inputs has.
func tableMask(k int) uint64 { return ^uint64(0) >> (64 - uint(1)<<k) }

// flipInput returns the table with input j complemented.
func flipInput(t uint64, j int) uint64 {
	x, shift := inputTable[j], uint(1)<<j
	return t&x>>shift | t&^x<<shift
}

// fixInput returns the table over one input less in which input j, of k, has a
// constant value.
func fixInput(t uint64, k, j int, value bool) uint64 {
	var out uint64
	for i := range uint(1) << (k - 1) {
		low := i & (1<<j - 1)
		from := (i&^(1<<j-1))<<1 | low
		if value {
			from |= 1 << j
		}
		out |= t >> from & 1 << i
	}
	return out
}

// gateTable returns the truth table of a gate of a kind that has fixed fanins,
// and how many it has.
func gateTable(k Kind) (table uint64, inputs int) {
	switch k {
	case And:
		return 0x8, 2
	case Xor:
		return 0x6, 2
	case Xor3:
		return 0x96, 3
	case Maj:
		return 0xe8, 3
	case Mux:
		return 0xd8, 3 // input 0 selects input 1, else input 2
	}
	panic("netlist: gateTable of " + k.String())
}

// A shape says how to build a three-input table as one gate: fanin j of the
// gate is input from[j], complemented if flips has bit j; the output is
// complemented if out is set. The kind LUT means that no gate has this table.
type shape struct {
	kind  Kind
	from  [3]uint8
	flips uint8
	out   bool
}

// matcher builds tables as gates. It is made once for a file.
type matcher struct{ shapes [256]shape }

func newMatcher() *matcher {
	m := new(matcher)
	for i := range m.shapes {
		m.shapes[i].kind = LUT
	}
	orders := [...][3]uint8{{0, 1, 2}, {1, 0, 2}, {2, 0, 1}, {0, 2, 1}, {1, 2, 0}, {2, 1, 0}}
	for cost := 0; cost <= 4; cost++ { // the fewest complements win
		for _, kind := range []Kind{Xor3, Maj, Mux} {
			gate, _ := gateTable(kind)
			for _, from := range orders {
				for flips := range uint8(8) {
					for _, out := range []bool{false, true} {
						c := bits.OnesCount8(flips)
						if out {
							c++
						}
						if c != cost {
							continue
						}
						var t uint64
						for i := range uint(8) {
							row := uint(0)
							for j, f := range from {
								row |= (i>>f ^ uint(flips)>>j) & 1 << j
							}
							t |= gate >> row & 1 << i
						}
						if out {
							t ^= 0xff
						}
						if m.shapes[t].kind == LUT {
							m.shapes[t] = shape{kind, from, flips, out}
						}
					}
				}
			}
		}
	}
	return m
}

// build appends the gate with a truth table: a constant or a literal where that
// is all it is, an AND, XOR, XOR3, MAJ or MUX where the table is exactly that up
// to complements, and a LUT otherwise. Inputs that do not matter stay.
func (m *matcher) build(n *Network, in []Lit, t uint64) Lit {
	k := len(in)
	all := tableMask(k)
	switch t &= all; {
	case t == 0:
		return False
	case t == all:
		return True
	}
	switch k {
	case 1:
		return in[0].NotIf(t == 1)
	case 2:
		switch {
		case t == 0x6 || t == 0x9:
			return n.Xor(in[0], in[1]).NotIf(t == 0x9)
		case bits.OnesCount64(t) == 1:
			row := bits.TrailingZeros64(t)
			return n.And(in[0].NotIf(row&1 == 0), in[1].NotIf(row&2 == 0))
		case bits.OnesCount64(t) == 3:
			row := bits.TrailingZeros64(t ^ 0xf)
			return n.And(in[0].NotIf(row&1 == 0), in[1].NotIf(row&2 == 0)) ^ 1
		}
	case 3:
		s := &m.shapes[t]
		if s.kind != LUT {
			var f [3]Lit
			for j, from := range s.from {
				f[j] = in[from].NotIf(s.flips>>j&1 != 0)
			}
			return n.add(s.kind, f[0], f[1], f[2]).NotIf(s.out)
		}
	}
	return n.LUT(in, t)
}

// localTable returns what node id computes as a table over its fanins' nodes:
// complements are folded into the table, and so are constant fanins. The fanins
// it leaves are appended to in, uncomplemented.
func (n *Network) localTable(id int, in []Lit) ([]Lit, uint64) {
	var t uint64
	if k := n.nodes[id].kind; k == LUT {
		t = n.Table(id)
	} else {
		t, _ = gateTable(k)
	}
	fanins := n.Fanins(id)
	k := len(fanins)
	at := 0
	for _, l := range fanins {
		if l.Node() == 0 {
			t = fixInput(t, k, at, l == True)
			k--
			continue
		}
		if l.Complemented() {
			t = flipInput(t, at) & tableMask(k)
		}
		in = append(in, l&^1)
		at++
	}
	return in, t
}

// cube is a product of literals: input j occurs if bit j of mask is set, and is
// then complemented unless bit j of value is.
type cube struct{ mask, value uint8 }

// isop appends an irredundant sum of products of a table of k inputs to cubes:
// Minato and Morreale's procedure (S. Minato, "Fast generation of irredundant
// sum-of-products forms from binary decision diagrams", SASIMI 1992).
func isop(t uint64, k int, cubes []cube) []cube {
	for j := k; j < MaxLUT; j++ {
		t = t&tableMask(j) | t&tableMask(j)<<(uint(1)<<j)
	}
	cubes, _ = isopBetween(t, t, k, cube{}, cubes)
	return cubes
}

// isopBetween covers at least lower and at most upper, both over six inputs of
// which the first k matter. It returns the table that it covers.
func isopBetween(lower, upper uint64, k int, at cube, cubes []cube) ([]cube, uint64) {
	if lower == 0 {
		return cubes, 0
	}
	if upper == ^uint64(0) {
		return append(cubes, at), ^uint64(0)
	}
	j := k - 1
	l0, l1 := cofactors(lower, j)
	u0, u1 := cofactors(upper, j)
	for l0 == l1 && u0 == u1 {
		j--
		l0, l1 = cofactors(lower, j)
		u0, u1 = cofactors(upper, j)
	}
	bit := uint8(1) << j
	neg, pos := cube{at.mask | bit, at.value}, cube{at.mask | bit, at.value | bit}
	var f0, f1, f uint64
	cubes, f0 = isopBetween(l0&^u1, u0, j, neg, cubes)
	cubes, f1 = isopBetween(l1&^u0, u1, j, pos, cubes)
	cubes, f = isopBetween(l0&^f0|l1&^f1, u0&u1, j, at, cubes)
	x := inputTable[j]
	return cubes, f | f0&^x | f1&x
}

// cofactors returns the table with input j false and true, as tables in which
// input j does not matter.
func cofactors(t uint64, j int) (zero, one uint64) {
	x, shift := inputTable[j], uint(1)<<j
	zero, one = t&^x, t&x
	return zero | zero<<shift, one | one>>shift
}
