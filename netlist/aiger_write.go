package netlist

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
)

func writeAIGER(w *bufio.Writer, n *Network, binary bool) error {
	for i := range n.inputs {
		if err := checkAIGERName("input", i, n.InputName(i)); err != nil {
			return err
		}
	}
	for i, o := range n.outputs {
		if err := checkAIGERName("output", i, o.Name); err != nil {
			return err
		}
	}
	g := newAIG(n)
	if uint64(len(n.inputs)+len(g.ands)) > maxAIGERVar {
		return fmt.Errorf("%d inputs and AND gates, expected at most %d", len(n.inputs)+len(g.ands), maxAIGERVar)
	}
	var num []byte
	put := func(v uint32, end byte) {
		num = append(strconv.AppendUint(num[:0], uint64(v), 10), end)
		w.Write(num)
	}
	magic := "aag"
	if binary {
		magic = "aig"
	}
	fmt.Fprintf(w, "%s %d %d 0 %d %d\n", magic, len(n.inputs)+len(g.ands), len(n.inputs), len(n.outputs), len(g.ands))
	if !binary {
		for i := range n.inputs {
			put(uint32(2*(i+1)), '\n')
		}
	}
	for _, o := range n.outputs {
		put(uint32(g.lit(o.Lit)), '\n')
	}
	for i, a := range g.ands {
		lhs := uint32(2 * (len(n.inputs) + 1 + i))
		if !binary {
			put(lhs, ' ')
			put(uint32(a[0]), ' ')
			put(uint32(a[1]), '\n')
			continue
		}
		num = appendDelta(num[:0], lhs-uint32(a[0]))
		num = appendDelta(num, uint32(a[0]-a[1]))
		if _, err := w.Write(num); err != nil {
			return err
		}
	}
	for i := range n.inputs {
		if name := n.InputName(i); name != "" {
			fmt.Fprintf(w, "i%d %s\n", i, name)
		}
	}
	for i, o := range n.outputs {
		if o.Name != "" {
			fmt.Fprintf(w, "o%d %s\n", i, o.Name)
		}
	}
	if n.Name != "" {
		fmt.Fprintf(w, "c\n%s\n", n.Name)
	}
	return nil // the error of a bufio.Writer stays until Flush
}

func checkAIGERName(kind string, i int, name string) error {
	if strings.ContainsAny(name, "\n\r") {
		return fmt.Errorf("name %s of %s %d has a line break, expected names of one line", clip(name), kind, i)
	}
	return nil
}

// appendDelta appends a number in the variable-length code of binary AIGER.
func appendDelta(b []byte, x uint32) []byte {
	for ; x >= 0x80; x >>= 7 {
		b = append(b, byte(x)|0x80)
	}
	return append(b, byte(x))
}

// aig is a network as AND gates. Variables are numbered as in AIGER: 0 is the
// constant, then the inputs, then the gates.
//
// An AND of the network becomes one AND, whatever its fanins. Gates of other
// kinds become several, which are simplified and shared with every AND that
// there is: an XOR and a majority of the same signals have gates in common.
type aig struct {
	net    *Network
	inputs int
	ands   [][2]Lit // first fanin >= second
	of     []Lit    // by node; nil if every node is its own variable
	hash   []uint32 // open addressing: gate number + 1, or 0; nil if nothing is shared
}

func newAIG(n *Network) *aig {
	g := &aig{net: n, inputs: len(n.inputs), ands: make([][2]Lit, 0, n.NumGates())}
	same := true // inputs first, then nothing but ANDs
	for id := 1; id < len(n.nodes) && same; id++ {
		if id <= g.inputs {
			same = n.nodes[id].kind == Input
		} else {
			same = n.nodes[id].kind == And
		}
	}
	if same {
		for id := g.inputs + 1; id < len(n.nodes); id++ {
			f := &n.nodes[id].fanin
			g.ands = append(g.ands, [2]Lit{max(f[0], f[1]), min(f[0], f[1])})
		}
		return g
	}
	g.of = make([]Lit, len(n.nodes))
	g.hash = make([]uint32, 1024)
	input := 0
	for id := range n.nodes {
		nd := &n.nodes[id]
		a, b, c := g.lit(nd.fanin[0]), g.lit(nd.fanin[1]), g.lit(nd.fanin[2])
		var l Lit
		switch nd.kind {
		case Const:
		case Input:
			input++
			l = MakeLit(input, false)
		case And:
			l = g.append(a, b)
		case Xor:
			l = g.xor(a, b)
		case Xor3:
			l = g.xor(g.xor(a, b), c)
		case Maj:
			l = g.maj(a, b, c)
		case Mux:
			l = g.mux(a, b, c)
		case LUT:
			t := &n.tables[nd.fanin[0]]
			var in [MaxLUT]Lit
			for j := range t.n {
				in[j] = g.lit(t.fanin[j])
			}
			l = g.lut(t.bits, in[:t.n])
		}
		g.of[id] = l
	}
	return g
}

// lit translates a literal of the network. A fanin slot that is not one (the
// index of a table, an unused slot) may give anything.
func (g *aig) lit(l Lit) Lit {
	if g.of == nil {
		return l
	}
	if id := l.Node(); id < len(g.of) {
		return g.of[id] ^ l&1
	}
	return False
}

// append appends an AND of a and b as it is, and makes it known for sharing.
func (g *aig) append(a, b Lit) Lit {
	if a < b {
		a, b = b, a
	}
	l := MakeLit(g.inputs+1+len(g.ands), false)
	g.ands = append(g.ands, [2]Lit{a, b})
	if len(g.ands)*2 > len(g.hash) {
		g.hash = make([]uint32, 2*len(g.hash))
		for i, f := range g.ands[:len(g.ands)-1] {
			if p := g.find(f[0], f[1]); *p == 0 {
				*p = uint32(i + 1)
			}
		}
	}
	if p := g.find(a, b); *p == 0 {
		*p = uint32(len(g.ands))
	}
	return l
}

// find returns the slot of the hash table where a & b is or belongs.
func (g *aig) find(a, b Lit) *uint32 {
	h := (uint64(a)<<32 | uint64(b)) * 0x9e3779b97f4a7c15
	mask := uint64(len(g.hash) - 1)
	for i := h >> 32 & mask; ; i = (i + 1) & mask {
		p := &g.hash[i]
		if *p == 0 || g.ands[*p-1] == [2]Lit{a, b} {
			return p
		}
	}
}

// and returns a & b, simplified and shared.
func (g *aig) and(a, b Lit) Lit {
	if a < b {
		a, b = b, a
	}
	switch {
	case b == False || a^1 == b:
		return False
	case b == True || a == b:
		return a
	}
	if p := g.find(a, b); *p != 0 {
		return MakeLit(g.inputs+int(*p), false)
	}
	return g.append(a, b)
}

func (g *aig) or(a, b Lit) Lit { return g.and(a^1, b^1) ^ 1 }

func (g *aig) xor(a, b Lit) Lit {
	c := a&1 ^ b&1
	a, b = a&^1, b&^1
	return g.and(g.and(a, b)^1, g.and(a^1, b^1)^1) ^ c
}

func (g *aig) maj(a, b, c Lit) Lit { return g.or(g.and(a, b), g.and(c, g.or(a, b))) }

func (g *aig) mux(s, t, e Lit) Lit {
	switch {
	case t == e:
		return t
	case t == e^1:
		return g.xor(s, e)
	}
	return g.or(g.and(s, t), g.and(s^1, e))
}

// lut expands a truth table about its last input, with the shapes that need no
// multiplexer told apart. Equal cofactors become equal gates by sharing.
func (g *aig) lut(bits uint64, in []Lit) Lit {
	all := tableMask(len(in))
	switch bits &= all; bits {
	case 0:
		return False
	case all:
		return True
	}
	last := len(in) - 1
	x, in := in[last], in[:last]
	half := uint(1) << last
	low := tableMask(last)
	lo, hi := bits&low, bits>>half&low
	switch {
	case lo == hi:
		return g.lut(lo, in)
	case lo == 0:
		return g.and(x, g.lut(hi, in))
	case hi == 0:
		return g.and(x^1, g.lut(lo, in))
	case lo == low:
		return g.or(x^1, g.lut(hi, in))
	case hi == low:
		return g.or(x, g.lut(lo, in))
	case lo == hi^low:
		return g.xor(x, g.lut(lo, in))
	}
	return g.mux(x, g.lut(hi, in), g.lut(lo, in))
}
