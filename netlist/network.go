package netlist

import "fmt"

// Lit is an edge to a node, possibly complemented: node<<1 | complement.
type Lit uint32

// The two constant literals: node 0 is the constant false.
const (
	False Lit = 0
	True  Lit = 1
)

// MaxLUT is the largest number of inputs of a look-up table; its truth table
// then fits one 64-bit word.
const MaxLUT = 6

// MaxNodes is the largest number of nodes a Network may hold, so that every
// literal fits 32 bits.
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

// The kinds of node. Fanin counts are fixed by the kind, except for LUT.
const (
	Const Kind = iota // node 0, the constant false
	Input             // a primary input
	And               // f0 & f1
	Xor               // f0 ^ f1
	Xor3              // f0 ^ f1 ^ f2
	Maj               // f0 f1 | f0 f2 | f1 f2
	Mux               // f0 ? f1 : f2
	LUT               // a truth table of up to MaxLUT fanins
)

var kindNames = [...]string{"const", "input", "and", "xor", "xor3", "maj", "mux", "lut"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// node is 16 bytes. A LUT keeps the index of its table in fanin[0].
type node struct {
	fanin [3]Lit
	kind  Kind
	flip  bool // the node's name is that of its complement
}

// table is a look-up table: bit i of bits is the output for the input pattern
// i, whose bit j is the value of fanin j.
type table struct {
	bits  uint64
	fanin [MaxLUT]Lit
	n     uint8
}

// Output is a primary output: a name and what drives it.
type Output struct {
	Name string
	Lit  Lit
}

// Network is a combinational circuit. The zero value is not usable; call [New].
//
// It takes 16 bytes a gate (56 for a LUT), plus names where there are any.
type Network struct {
	Name string // module or model name, may be empty

	nodes   []node
	tables  []table
	inputs  []int32 // node id of each primary input, in file order
	outputs []Output
	names   []string // by node id; may be shorter than nodes: the rest are unnamed
}

// New returns an empty network.
func New(name string) *Network {
	return &Network{Name: name, nodes: make([]node, 1, 64)}
}

// Grow makes room for n more nodes.
func (n *Network) Grow(more int) {
	if need := len(n.nodes) + more; need > cap(n.nodes) {
		grown := make([]node, len(n.nodes), need)
		copy(grown, n.nodes)
		n.nodes = grown
	}
}

func (n *Network) add(k Kind, a, b, c Lit) Lit {
	id := len(n.nodes)
	if id >= MaxNodes {
		panic("netlist: more than 2^31 nodes")
	}
	n.nodes = append(n.nodes, node{fanin: [3]Lit{a, b, c}, kind: k})
	return Lit(id) << 1
}

// AddInput appends a primary input. An empty name means unnamed.
func (n *Network) AddInput(name string) Lit {
	l := n.add(Input, 0, 0, 0)
	n.inputs = append(n.inputs, int32(l.Node()))
	n.SetNodeName(l.Node(), name)
	return l
}

// AddOutput appends a primary output driven by l.
func (n *Network) AddOutput(name string, l Lit) {
	n.outputs = append(n.outputs, Output{name, l})
}

// And appends a gate that computes a & b. Like all gate builders it does not
// simplify: the network holds what it was told.
func (n *Network) And(a, b Lit) Lit { return n.add(And, a, b, 0) }

// Or appends a gate that computes a | b (an AND with its edges complemented).
func (n *Network) Or(a, b Lit) Lit { return n.add(And, a^1, b^1, 0) ^ 1 }

// Xor appends a gate that computes a ^ b.
func (n *Network) Xor(a, b Lit) Lit { return n.add(Xor, a, b, 0) }

// Xor3 appends a gate that computes a ^ b ^ c.
func (n *Network) Xor3(a, b, c Lit) Lit { return n.add(Xor3, a, b, c) }

// Maj appends a gate that computes the majority of a, b and c.
func (n *Network) Maj(a, b, c Lit) Lit { return n.add(Maj, a, b, c) }

// Mux appends a gate that computes s ? t : e.
func (n *Network) Mux(s, t, e Lit) Lit { return n.add(Mux, s, t, e) }

// LUT appends a look-up table of up to MaxLUT fanins. Bit i of bits is the
// output for the pattern i; bit j of i is the value of fanins[j]. Bits beyond
// 2^len(fanins) are ignored.
func (n *Network) LUT(fanins []Lit, bits uint64) Lit {
	if len(fanins) > MaxLUT {
		panic(fmt.Sprintf("netlist: LUT of %d inputs", len(fanins)))
	}
	if k := len(fanins); k < MaxLUT {
		bits &= 1<<(1<<k) - 1
	}
	t := table{bits: bits, n: uint8(len(fanins))}
	copy(t.fanin[:], fanins)
	n.tables = append(n.tables, t)
	return n.add(LUT, Lit(len(n.tables)-1), 0, 0)
}

// AndAll appends a balanced tree of AND gates; the conjunction of nothing is True.
func (n *Network) AndAll(ls []Lit) Lit { return balanced(ls, True, n.And) }

// OrAll appends a balanced tree of OR gates; the disjunction of nothing is False.
func (n *Network) OrAll(ls []Lit) Lit { return balanced(ls, False, n.Or) }

// XorAll appends a balanced tree of XOR gates; the parity of nothing is False.
func (n *Network) XorAll(ls []Lit) Lit { return balanced(ls, False, n.Xor) }

func balanced(ls []Lit, empty Lit, op func(a, b Lit) Lit) Lit {
	switch len(ls) {
	case 0:
		return empty
	case 1:
		return ls[0]
	}
	m := len(ls) / 2
	return op(balanced(ls[:m], empty, op), balanced(ls[m:], empty, op))
}

// NumNodes returns the number of nodes: the constant, the inputs and the gates.
// Valid ids are 0 to NumNodes()-1.
func (n *Network) NumNodes() int { return len(n.nodes) }

// NumInputs returns the number of primary inputs.
func (n *Network) NumInputs() int { return len(n.inputs) }

// NumOutputs returns the number of primary outputs.
func (n *Network) NumOutputs() int { return len(n.outputs) }

// NumGates returns the number of nodes that are neither the constant nor inputs.
func (n *Network) NumGates() int { return len(n.nodes) - 1 - len(n.inputs) }

// Kind returns what node id computes.
func (n *Network) Kind(id int) Kind { return n.nodes[id].kind }

// Input returns the node id of primary input i.
func (n *Network) Input(i int) int { return int(n.inputs[i]) }

// Output returns primary output i.
func (n *Network) Output(i int) Output { return n.outputs[i] }

// Outputs returns all primary outputs; the caller must not change them.
func (n *Network) Outputs() []Output { return n.outputs }

// InputName returns the name of primary input i, "" if it has none.
func (n *Network) InputName(i int) string { return n.NodeName(int(n.inputs[i])) }

// NodeName returns the name of a node, "" if it has none.
func (n *Network) NodeName(id int) string {
	if id < len(n.names) {
		return n.names[id]
	}
	return ""
}

// SetNodeName names a node; "" removes the name.
func (n *Network) SetNodeName(id int, name string) {
	n.nodes[id].flip = false
	if id >= len(n.names) {
		if name == "" {
			return
		}
		for len(n.names) <= id {
			n.names = append(n.names, "")
		}
	}
	n.names[id] = name
}

// SetLitName names the signal l. A file may name the complement of a node (the
// OR of a BLIF or Verilog file is an AND here): the writers then give the name
// back to the complement.
func (n *Network) SetLitName(l Lit, name string) {
	n.SetNodeName(l.Node(), name)
	n.nodes[l.Node()].flip = name != "" && l.Complemented()
}

// NameComplemented reports whether the name of a node belongs to its complement
// (see [Network.SetLitName]).
func (n *Network) NameComplemented(id int) bool { return n.nodes[id].flip }

// SetOutputName renames primary output i.
func (n *Network) SetOutputName(i int, name string) { n.outputs[i].Name = name }

// Fanins returns the fanins of a gate. The slice is valid until the network
// changes and must not be written.
func (n *Network) Fanins(id int) []Lit {
	nd := &n.nodes[id]
	switch nd.kind {
	case And, Xor:
		return nd.fanin[:2]
	case Xor3, Maj, Mux:
		return nd.fanin[:]
	case LUT:
		t := &n.tables[nd.fanin[0]]
		return t.fanin[:t.n]
	}
	return nil
}

// Table returns the truth table of a LUT node: bit i is its value for the
// pattern i, whose bit j is the value of fanin j.
func (n *Network) Table(id int) uint64 { return n.tables[n.nodes[id].fanin[0]].bits }

// Check reports the first broken invariant, or nil.
func (n *Network) Check() error {
	if len(n.nodes) == 0 || n.nodes[0].kind != Const {
		return fmt.Errorf("netlist: node 0 is not the constant")
	}
	next := 0
	for id := 1; id < len(n.nodes); id++ {
		switch k := n.nodes[id].kind; k {
		case Input:
			if next >= len(n.inputs) || int(n.inputs[next]) != id {
				return fmt.Errorf("netlist: node %d is an input, but not the next one", id)
			}
			next++
		case And, Xor, Xor3, Maj, Mux, LUT:
			for i, f := range n.Fanins(id) {
				if f.Node() >= id {
					return fmt.Errorf("netlist: node %d: fanin %d is node %d, expected a smaller one", id, i, f.Node())
				}
			}
		default:
			return fmt.Errorf("netlist: node %d is of kind %v", id, k)
		}
	}
	if next != len(n.inputs) {
		return fmt.Errorf("netlist: %d inputs listed, %d input nodes", len(n.inputs), next)
	}
	for i, o := range n.outputs {
		if o.Lit.Node() >= len(n.nodes) {
			return fmt.Errorf("netlist: output %d (%s) is driven by node %d of %d", i, o.Name, o.Lit.Node(), len(n.nodes))
		}
	}
	return nil
}
