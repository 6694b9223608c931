package gen

import (
	"context"
	"math/bits"
	"slices"
	"strconv"

	"github.com/bitsched/bitsched/netlist"
)

// lit is short for the literals that all circuits are made of.
type lit = netlist.Lit

// builder adds gates to a network and folds what is trivial on the way: a
// constant fanin, two equal fanins, two complementary ones. Complements of the
// fanins of an XOR go to its output. With and set, all gates are And nodes.
type builder struct {
	net *netlist.Network
	and bool

	// mux is the s, t and s & t of the last Mux made of ANDs: a shifter that
	// fills with one bit asks for many in a row.
	mux struct{ s, t, both lit }

	// known, if set, are the gates there are: none is built twice, and a Mux is
	// built of two gates, a Xor and a Maj.
	known map[gate]lit

	ctx      context.Context
	progress func(done, total int)
	total    int
	left     int // gates until the next look at ctx
}

// stop is what breathe panics with; Kind.Build recovers it.
type stop struct{ err error }

// breath is how many gates are built between two looks at the context: a few
// milliseconds.
const breath = 1 << 17

// breathe looks at the context and reports progress.
func (b *builder) breathe() {
	b.left = breath
	if err := b.ctx.Err(); err != nil {
		panic(stop{err})
	}
	if b.net.NumNodes() > MaxNodes {
		panic(stop{ErrTooLarge}) // size was not an upper bound
	}
	if b.progress != nil {
		b.progress(b.net.NumNodes(), max(b.total, b.net.NumNodes()))
	}
}

// tick counts a gate.
func (b *builder) tick() {
	if b.left--; b.left <= 0 {
		b.breathe()
	}
}

// input adds a word of inputs.
func (b *builder) input(name string, width int) []lit {
	word := make([]lit, width)
	for i := range word {
		b.tick()
		word[i] = b.net.AddInput(indexed(name, i))
	}
	return word
}

// output adds a word of outputs.
func (b *builder) output(name string, word []lit) {
	for i, l := range word {
		b.tick()
		b.net.AddOutput(indexed(name, i), l)
	}
}

// flag adds a single output.
func (b *builder) flag(name string, l lit) { b.net.AddOutput(name, l) }

func indexed(name string, i int) string {
	buf := make([]byte, 0, 24)
	buf = append(buf, name...)
	buf = append(buf, '[')
	buf = strconv.AppendInt(buf, int64(i), 10)
	return string(append(buf, ']'))
}

// gate is a gate as it is known: with its fanins in order, and no complements
// that could be at its output.
type gate struct {
	kind netlist.Kind
	f    [3]lit
}

// add adds a gate, or finds it. A kind of two fanins has False as the third.
func (b *builder) add(kind netlist.Kind, x, y, z lit) lit {
	flip := lit(0)
	g := gate{kind, [3]lit{x, y, z}}
	if b.known != nil {
		if kind == netlist.Maj && x&1+y&1+z&1 > 1 { // the complement of complements
			flip = 1
		}
		g.f[0], g.f[1] = min(x, y)^flip, max(x, y)^flip
		if kind != netlist.And && kind != netlist.Xor {
			g.f[2] ^= flip
			slices.Sort(g.f[:])
		}
		if l, ok := b.known[g]; ok {
			return l ^ flip
		}
	}
	b.tick()
	var l lit
	switch f := g.f; kind {
	case netlist.And:
		l = b.net.And(f[0], f[1])
	case netlist.Xor:
		l = b.net.Xor(f[0], f[1])
	case netlist.Xor3:
		l = b.net.Xor3(f[0], f[1], f[2])
	case netlist.Maj:
		l = b.net.Maj(f[0], f[1], f[2])
	}
	if b.known != nil {
		b.known[g] = l
	}
	return l ^ flip
}

// isKnown tells whether x ^ y is there.
func (b *builder) isKnown(x, y lit) bool {
	x, y = x&^1, y&^1
	_, ok := b.known[gate{netlist.Xor, [3]lit{min(x, y), max(x, y)}}]
	return ok
}

// And returns x & y.
func (b *builder) And(x, y lit) lit {
	switch {
	case x == netlist.False || y == netlist.False || x == y.Not():
		return netlist.False
	case x == netlist.True || x == y:
		return y
	case y == netlist.True:
		return x
	}
	return b.add(netlist.And, x, y, netlist.False)
}

// Or returns x | y.
func (b *builder) Or(x, y lit) lit { return b.And(x.Not(), y.Not()).Not() }

// Xor returns x ^ y.
func (b *builder) Xor(x, y lit) lit {
	s, _ := b.xor(x, y)
	return s
}

// xor returns x ^ y and, with and set and where nothing folds, the conjunction
// x & y that the three ANDs of an XOR contain; otherwise the second result is
// the False of "none": no gate is ever that literal.
func (b *builder) xor(x, y lit) (sum, both lit) {
	flip := (x ^ y) & 1
	u, v := x&^1, y&^1
	switch {
	case u == v:
		return flip, netlist.False
	case u == netlist.False:
		return v ^ flip, netlist.False
	case v == netlist.False:
		return u ^ flip, netlist.False
	}
	if b.and {
		both = b.And(x, y)
		return b.And(both.Not(), b.Or(x, y)), both
	}
	return b.add(netlist.Xor, u, v, netlist.False) ^ flip, netlist.False
}

// Xor3 returns x ^ y ^ z.
func (b *builder) Xor3(x, y, z lit) lit {
	flip := (x ^ y ^ z) & 1
	u, v, w := x&^1, y&^1, z&^1
	switch {
	case u == v:
		return w ^ flip
	case v == w:
		return u ^ flip
	case u == w:
		return v ^ flip
	case b.and || u == netlist.False || v == netlist.False || w == netlist.False:
		return b.Xor(b.Xor(x, y), z)
	}
	return b.add(netlist.Xor3, u, v, w) ^ flip
}

// Maj returns the majority of x, y and z.
func (b *builder) Maj(x, y, z lit) lit {
	switch {
	case x == y || x == z:
		return x
	case y == z:
		return y
	case x == y.Not():
		return z
	case x == z.Not():
		return y
	case y == z.Not():
		return x
	case x == netlist.False:
		return b.And(y, z)
	case x == netlist.True:
		return b.Or(y, z)
	case y == netlist.False:
		return b.And(x, z)
	case y == netlist.True:
		return b.Or(x, z)
	case z == netlist.False:
		return b.And(x, y)
	case z == netlist.True:
		return b.Or(x, y)
	}
	if b.and {
		return b.Or(b.And(x, y), b.And(z, b.Or(x, y)))
	}
	return b.add(netlist.Maj, x, y, z)
}

// Mux returns s ? t : e.
func (b *builder) Mux(s, t, e lit) lit {
	switch {
	case s == netlist.True || t == e:
		return t
	case s == netlist.False:
		return e
	case t == e.Not():
		return b.Xor(s, e)
	case t == netlist.False || t == s.Not():
		return b.And(s.Not(), e)
	case t == netlist.True || t == s:
		return b.Or(s, e)
	case e == netlist.False || e == s:
		return b.And(s, t)
	case e == netlist.True || e == s.Not():
		return b.Or(s.Not(), t)
	}
	if b.and {
		if b.mux.s != s || b.mux.t != t {
			b.mux.s, b.mux.t, b.mux.both = s, t, b.And(s, t)
		}
		return b.Or(b.mux.both, b.And(s.Not(), e))
	}
	if b.known != nil {
		// Where t and e differ, the majority of both and s ^ !t is what s
		// selects; and so is that of both and s ^ e. A shifter that asks for bit
		// after bit thus needs every other of these.
		if !b.isKnown(s, t) && b.isKnown(s, e) {
			return b.Maj(t, e, b.Xor(s, e))
		}
		return b.Maj(t, e, b.Xor(s, t.Not()))
	}
	b.tick()
	return b.net.Mux(s, t, e)
}

// FullAdd returns the sum and the carry of three bits: Xor3 and Maj, or seven
// ANDs. With a constant it is a half adder or less.
func (b *builder) FullAdd(x, y, z lit) (sum, carry lit) {
	switch {
	case x&^1 == netlist.False:
		return b.halfAdd(y, z, x)
	case y&^1 == netlist.False:
		return b.halfAdd(x, z, y)
	case z&^1 == netlist.False:
		return b.halfAdd(x, y, z)
	}
	if !b.and {
		return b.Xor3(x, y, z), b.Maj(x, y, z)
	}
	return b.addHalf(b.half(x, y), z)
}

// HalfAdd returns the sum and the carry of two bits.
func (b *builder) HalfAdd(x, y lit) (sum, carry lit) { return b.halfAdd(x, y, netlist.False) }

// halfAdd adds two bits and the constant c.
func (b *builder) halfAdd(x, y, c lit) (sum, carry lit) {
	// x + y + 1 has the complements of the sum and carry of ~x + ~y, since
	// 3 - (~x + ~y) = x + y + 1.
	x, y = x.NotIf(c == netlist.True), y.NotIf(c == netlist.True)
	sum, carry = b.xor(x, y)
	if carry == netlist.False {
		carry = b.And(x, y)
	}
	return sum.NotIf(c == netlist.True), carry.NotIf(c == netlist.True)
}

// half is a half adder whose outputs may serve several full adders.
type half struct{ sum, carry lit }

func (b *builder) half(x, y lit) half {
	s, c := b.HalfAdd(x, y)
	return half{s, c}
}

// addHalf completes a half adder to a full one with z.
func (b *builder) addHalf(h half, z lit) (sum, carry lit) {
	sum, both := b.HalfAdd(h.sum, z)
	return sum, b.Or(h.carry, both)
}

// tree folds ls with op as a balanced tree; the fold of nothing is empty.
func tree(ls []lit, empty lit, op func(x, y lit) lit) lit {
	switch len(ls) {
	case 0:
		return empty
	case 1:
		return ls[0]
	}
	m := len(ls) / 2
	return op(tree(ls[:m], empty, op), tree(ls[m:], empty, op))
}

// AndAll returns the conjunction of ls.
func (b *builder) AndAll(ls []lit) lit { return tree(ls, netlist.True, b.And) }

// OrAll returns the disjunction of ls.
func (b *builder) OrAll(ls []lit) lit { return tree(ls, netlist.False, b.Or) }

// at returns bit i of a word that is False beyond its ends.
func at(word []lit, i int) lit {
	if i < 0 || i >= len(word) {
		return netlist.False
	}
	return word[i]
}

// log2 is the number of bits that hold 0 to n-1.
func log2(n int) int { return bits.Len(uint(n - 1)) }
