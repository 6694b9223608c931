package xmg

import "fmt"

// Lit is an edge to a node, possibly complemented: node<<1 | complement.
type Lit uint32

// The two constant literals: node 0 is the constant false.
const (
	False Lit = 0
	True  Lit = 1
)

// MaxNodes is the largest number of nodes of a graph, so that every literal
// fits 32 bits.
const MaxNodes = 1 << 31

// MakeLit returns the literal of a node.
func MakeLit(node int, complement bool) Lit {
	l := Lit(node) << 1
	if complement {
		l |= 1
	}
	return l
}

// Node returns the id of the node that l points to.
func (l Lit) Node() int { return int(l >> 1) }

// Complemented reports whether l is the complement of its node.
func (l Lit) Complemented() bool { return l&1 != 0 }

// Not returns the complement of l.
func (l Lit) Not() Lit { return l ^ 1 }

// NotIf returns the complement of l if c is set, and l otherwise.
func (l Lit) NotIf(c bool) Lit {
	if c {
		return l ^ 1
	}
	return l
}

// Kind is what a node computes.
type Kind uint8

// The kinds of node.
const (
	Const Kind = iota // node 0, the constant false
	Input             // a primary input
	Maj               // the majority of three fanins
	Xor               // the parity of three fanins
)

func (k Kind) String() string {
	return [...]string{"const", "input", "maj", "xor"}[k&3]
}

// gate holds the three fanins of a node in an order that also tells its kind:
// ascending is MAJ, descending is XOR. (Fanins of a gate are distinct nodes, so
// the order is never ambiguous. mockturtle's XMG has the same convention.)
type gate [3]Lit

// Output is a primary output: a name and what drives it.
type Output struct {
	Name string
	Lit  Lit
}

// Graph is an XOR-majority graph. The zero value is not usable; call [New].
//
// It takes 12 bytes a node and 5 to 11 for the hash table.
type Graph struct {
	Name string

	nodes      []gate
	inputNames []string
	outputs    []Output
	hash       []uint32   // open addressing; 0 = empty; length a power of two
	landmarks  *landmarks // for proofs; nil = none
}

// New returns an empty graph.
func New(name string) *Graph {
	return &Graph{Name: name, nodes: make([]gate, 1, 64), hash: make([]uint32, 64)}
}

// Grow makes room for n more nodes.
func (g *Graph) Grow(n int) {
	need := len(g.nodes) + n
	if need > cap(g.nodes) {
		grown := make([]gate, len(g.nodes), need)
		copy(grown, g.nodes)
		g.nodes = grown
	}
	size := len(g.hash)
	for size*3 < need*4 {
		size *= 2
	}
	if size != len(g.hash) {
		g.rehash(size)
	}
}

// AddInput appends a primary input. All inputs come before the first gate.
func (g *Graph) AddInput(name string) Lit {
	if g.NumGates() > 0 {
		panic("xmg: AddInput after the first gate")
	}
	id := len(g.nodes)
	g.nodes = append(g.nodes, gate{})
	g.inputNames = append(g.inputNames, name)
	return Lit(id) << 1
}

// AddOutput appends a primary output driven by l.
func (g *Graph) AddOutput(name string, l Lit) {
	g.outputs = append(g.outputs, Output{name, l})
}

// Maj returns the majority of a, b and c: an existing or a new gate, or an
// edge where the function is trivial (two fanins equal or complementary).
// By self-duality at most one fanin of the gate is complemented.
func (g *Graph) Maj(a, b, c Lit) Lit {
	f, l, trivial := majGate(a, b, c)
	if trivial {
		return l
	}
	return g.lookup(f) ^ l
}

// Xor returns the parity of a, b and c: an existing or a new gate, or an edge
// where two fanins are equal or complementary. Complements go to the output.
func (g *Graph) Xor(a, b, c Lit) Lit {
	f, l, trivial := xorGate(a, b, c)
	if trivial {
		return l
	}
	return g.lookup(f) ^ l
}

// findMaj is Maj for a gate that may not be there: it adds nothing.
func (g *Graph) findMaj(a, b, c Lit) (Lit, bool) {
	f, l, trivial := majGate(a, b, c)
	if trivial {
		return l, true
	}
	id := g.find(f)
	return Lit(id)<<1 ^ l, id != 0
}

// findXor is Xor for a gate that may not be there: it adds nothing.
func (g *Graph) findXor(a, b, c Lit) (Lit, bool) {
	f, l, trivial := xorGate(a, b, c)
	if trivial {
		return l, true
	}
	id := g.find(f)
	return Lit(id)<<1 ^ l, id != 0
}

// majGate puts a majority into its one form: the gate, and whether its output
// is complemented (0 or 1); or, if trivial, the edge that it equals.
func majGate(a, b, c Lit) (f gate, l Lit, trivial bool) {
	if a > b {
		a, b = b, a
	}
	if b > c {
		b, c = c, b
	}
	if a > b {
		a, b = b, a
	}
	switch {
	case a == b:
		return f, a, true
	case b == c:
		return f, b, true
	case a^1 == b:
		return f, c, true
	case b^1 == c:
		return f, a, true
	}
	if (a&1)+(b&1)+(c&1) >= 2 {
		return gate{a ^ 1, b ^ 1, c ^ 1}, 1, false
	}
	return gate{a, b, c}, 0, false
}

// xorGate is majGate for the parity.
func xorGate(a, b, c Lit) (f gate, l Lit, trivial bool) {
	compl := (a ^ b ^ c) & 1
	a, b, c = a&^1, b&^1, c&^1
	if a < b {
		a, b = b, a
	}
	if b < c {
		b, c = c, b
	}
	if a < b {
		a, b = b, a
	}
	switch {
	case a == b:
		return f, c ^ compl, true
	case b == c:
		return f, a ^ compl, true
	}
	return gate{a, b, c}, compl, false
}

// And returns a & b, the majority of a, b and 0.
func (g *Graph) And(a, b Lit) Lit { return g.Maj(a, b, False) }

// Or returns a | b, the majority of a, b and 1.
func (g *Graph) Or(a, b Lit) Lit { return g.Maj(a, b, True) }

// Xor2 returns a ^ b.
func (g *Graph) Xor2(a, b Lit) Lit { return g.Xor(a, b, False) }

// Mux returns s ? t : e, in two gates or fewer: where t and e differ, the
// majority of t, e and s ^ !t is what s selects. It takes s ^ e instead of
// s ^ !t when that gate is already there.
func (g *Graph) Mux(s, t, e Lit) Lit {
	switch {
	case t == e:
		return t
	case t == e^1:
		return g.Xor2(s, e)
	case t.Node() == 0 || t.Node() == s.Node():
		// s ? 1 : e, s ? 0 : e, s ? s : e and s ? !s : e.
		if t == True || t == s {
			return g.Or(s, e)
		}
		return g.And(s^1, e)
	case e.Node() == 0 || e.Node() == s.Node():
		if e == True || e == s^1 {
			return g.Or(s^1, t)
		}
		return g.And(s, t)
	}
	if _, ok := g.findXor(s, t, True); !ok {
		if x, ok := g.findXor(s, e, False); ok {
			return g.Maj(t, e, x)
		}
	}
	return g.Maj(t, e, g.Xor(s, t, True))
}

func (g *Graph) lookup(f gate) Lit {
	if len(g.nodes)*4 >= len(g.hash)*3 {
		g.rehash(2 * len(g.hash))
	}
	mask := uint32(len(g.hash) - 1)
	for h := f.hash() & mask; ; h = (h + 1) & mask {
		id := g.hash[h]
		if id == 0 {
			id = uint32(len(g.nodes))
			if int(id) >= MaxNodes {
				panic("xmg: more than 2^31 nodes")
			}
			g.hash[h] = id
			g.nodes = append(g.nodes, f)
			return Lit(id) << 1
		}
		if g.nodes[id] == f {
			return Lit(id) << 1
		}
	}
}

// find returns the gate that is f, or 0 if there is none.
func (g *Graph) find(f gate) uint32 {
	mask := uint32(len(g.hash) - 1)
	for h := f.hash() & mask; ; h = (h + 1) & mask {
		id := g.hash[h]
		if id == 0 || g.nodes[id] == f {
			return id
		}
	}
}

func (f gate) hash() uint32 {
	h := uint64(f[0])*0x9E3779B97F4A7C15 + uint64(f[1])*0xC2B2AE3D27D4EB4F + uint64(f[2])*0x165667B19E3779F9
	h ^= h >> 29
	h *= 0xBF58476D1CE4E5B9
	return uint32(h >> 32)
}

func (g *Graph) rehash(size int) {
	g.hash = make([]uint32, size)
	mask := uint32(size - 1)
	for id := g.NumInputs() + 1; id < len(g.nodes); id++ {
		h := g.nodes[id].hash() & mask
		for g.hash[h] != 0 {
			h = (h + 1) & mask
		}
		g.hash[h] = uint32(id)
	}
}

// NumNodes returns the number of nodes: the constant, the inputs and the gates.
func (g *Graph) NumNodes() int { return len(g.nodes) }

// NumInputs returns the number of primary inputs; they are nodes 1 to NumInputs.
func (g *Graph) NumInputs() int { return len(g.inputNames) }

// NumGates returns the number of gates; they are the nodes from FirstGate on.
func (g *Graph) NumGates() int { return len(g.nodes) - 1 - len(g.inputNames) }

// FirstGate returns the id of the first gate, or NumNodes if there is none.
func (g *Graph) FirstGate() int { return 1 + len(g.inputNames) }

// NumOutputs returns the number of primary outputs.
func (g *Graph) NumOutputs() int { return len(g.outputs) }

// Kind returns what node id computes.
func (g *Graph) Kind(id int) Kind {
	switch {
	case id >= g.FirstGate():
		if g.nodes[id][0] < g.nodes[id][1] {
			return Maj
		}
		return Xor
	case id == 0:
		return Const
	}
	return Input
}

// IsGate reports whether node id is a MAJ or XOR gate.
func (g *Graph) IsGate(id int) bool { return id >= g.FirstGate() }

// Fanins returns the three fanins of a gate: in ascending order for MAJ, in
// descending order for XOR. A constant fanin is the literal False or True.
func (g *Graph) Fanins(id int) [3]Lit { return g.nodes[id] }

// InputName returns the name of primary input i (node i+1).
func (g *Graph) InputName(i int) string { return g.inputNames[i] }

// Output returns primary output i.
func (g *Graph) Output(i int) Output { return g.outputs[i] }

// Outputs returns all primary outputs; the caller must not change them.
func (g *Graph) Outputs() []Output { return g.outputs }

// Counts returns the number of MAJ and of XOR gates.
func (g *Graph) Counts() (maj, xor int) {
	for id := g.FirstGate(); id < len(g.nodes); id++ {
		if g.Kind(id) == Maj {
			maj++
		}
	}
	return maj, g.NumGates() - maj
}

// CountAnd returns how many of the MAJ gates have a constant fanin: ANDs and ORs.
func (g *Graph) CountAnd() (and int) {
	for _, f := range g.nodes[g.FirstGate():] {
		if f[0] < f[1] && f[0]>>1 == 0 {
			and++
		}
	}
	return and
}

// Check reports the first broken invariant, or nil. It takes no memory: the
// hash table tells whether a gate is there twice.
func (g *Graph) Check() error {
	if len(g.nodes) < 1+len(g.inputNames) {
		return fmt.Errorf("xmg: %d nodes, expected the constant and %d inputs at least", len(g.nodes), len(g.inputNames))
	}
	if len(g.nodes) > len(g.hash) {
		return fmt.Errorf("xmg: hash table of %d slots for %d nodes", len(g.hash), len(g.nodes))
	}
	for id := range g.FirstGate() {
		if g.nodes[id] != (gate{}) {
			return fmt.Errorf("xmg: node %d is the constant or an input, but has fanins %v", id, g.nodes[id])
		}
	}
	for id := g.FirstGate(); id < len(g.nodes); id++ {
		f := g.nodes[id]
		if f[0].Node() == f[1].Node() || f[1].Node() == f[2].Node() || f[0].Node() == f[2].Node() {
			return fmt.Errorf("xmg: gate %d has two fanins from one node: %v", id, f)
		}
		compl := 0
		for i, l := range f {
			if l.Node() >= id {
				return fmt.Errorf("xmg: gate %d: fanin %d is node %d, expected a smaller one", id, i, l.Node())
			}
			compl += int(l & 1)
		}
		switch g.Kind(id) {
		case Maj:
			if f[0] > f[1] || f[1] > f[2] {
				return fmt.Errorf("xmg: MAJ gate %d has fanins out of order: %v", id, f)
			}
			if compl > 1 {
				return fmt.Errorf("xmg: MAJ gate %d has %d complemented fanins, expected at most 1", id, compl)
			}
		case Xor:
			if f[0] < f[1] || f[1] < f[2] {
				return fmt.Errorf("xmg: XOR gate %d has fanins out of order: %v", id, f)
			}
			if compl > 0 {
				return fmt.Errorf("xmg: XOR gate %d has %d complemented fanins, expected none", id, compl)
			}
		}
		switch other := int(g.find(f)); {
		case other == 0:
			return fmt.Errorf("xmg: gate %d is not in the hash table", id)
		case other != id:
			return fmt.Errorf("xmg: gates %d and %d are the same", other, id)
		}
	}
	for i, o := range g.outputs {
		if o.Lit.Node() >= len(g.nodes) {
			return fmt.Errorf("xmg: output %d (%s) is driven by node %d of %d", i, o.Name, o.Lit.Node(), len(g.nodes))
		}
	}
	return nil
}
