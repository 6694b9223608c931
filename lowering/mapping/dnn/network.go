package dnn

import (
	"fmt"
	"slices"
)

// Kind is what a node of a network does. Only nodes of kind MAC are mapped; the
// others are executed at word level near memory and counted.
type Kind string

// The kinds.
const (
	Input     Kind = "input"
	MAC       Kind = "mac"
	ReLU      Kind = "relu"
	MaxPool   Kind = "maxpool"
	AvgPool   Kind = "avgpool"
	Add       Kind = "add"
	Mul       Kind = "mul"
	Concat    Kind = "concat"
	Reshape   Kind = "reshape"
	Transpose Kind = "transpose"
	Softmax   Kind = "softmax"
	Norm      Kind = "norm"    // of the last dimension: layer normalisation
	Sigmoid   Kind = "sigmoid" // and functions like it, by table
	Affine    Kind = "affine"  // a factor and a term for each channel: batch normalisation that was not folded
	Slice     Kind = "slice"
	Pad       Kind = "pad"    // zeros around the input
	Resize    Kind = "resize" // to the nearest element
	Gather    Kind = "gather" // elements along an axis by the values of a second input
	Constant  Kind = "constant"
)

// Node is an operation of a network; its result has type Network.Bits.Activation.
type Node struct {
	Name   string
	Kind   Kind
	Inputs []int     // nodes
	Shape  []int     // of the result
	Op     *Operator // of a MAC; what it makes is requantised to activations

	Window, Stride, PadBefore []int // of a pool; PadBefore of a pad too, negative where it cuts
	Dilation                  []int // of a pool; nil: all 1
	Inside                    bool  // of an average: what is in padding does not count
	Axis                      int   // of a concat, softmax, slice, gather
	Perm                      []int // of a transpose
	Start, Step               int   // of a slice along Axis; Step 0 is 1
	Function                  string
	Shared                    string // of a MAC: the weights that it shares with others of the same; "": none
}

// Network is a graph of nodes, each after its inputs.
type Network struct {
	Name, Title string
	Bits        Bits
	Nodes       []Node
	Notes       []string           // what was assumed when it was read
	Unmapped    []string           // nodes that were skipped: name and reason
	Data        map[string][]int32 // values of weights by node, where they were read
}

// MACs returns the nodes that are mapped.
func (n *Network) MACs() []int {
	var out []int
	for i := range n.Nodes {
		if n.Nodes[i].Kind == MAC {
			out = append(out, i)
		}
	}
	return out
}

// Totals are the figures of a network.
type Totals struct {
	Operators int   `json:"operators"`
	Distinct  int   `json:"distinct"`
	MACs      int64 `json:"macs"`
	Weights   int64 `json:"weights"`
}

// Totals counts operators, distinct ones, iterations and static weights.
func (n *Network) Totals() Totals {
	var t Totals
	seen, shared := map[string]bool{}, map[string]bool{}
	for _, i := range n.MACs() {
		o := n.Nodes[i].Op
		t.Operators++
		t.MACs += o.MACs()
		if s := n.Nodes[i].Shared; s == "" || !shared[s] { // what several share is there once
			t.Weights += o.Weights()
			shared[s] = true
		}
		seen[o.Signature()] = true
	}
	t.Distinct = len(seen)
	return t
}

// Users returns the nodes that read the result of one.
func (n *Network) Users(node int) []int {
	var out []int
	for i := range n.Nodes {
		if slices.Contains(n.Nodes[i].Inputs, node) {
			out = append(out, i)
		}
	}
	return out
}

// Find returns the node of that name, -1 if there is none.
func (n *Network) Find(name string) int {
	return slices.IndexFunc(n.Nodes, func(x Node) bool { return x.Name == name })
}

// Check reports the first node that is not after its inputs, has another shape than
// its operator, or a name twice.
func (n *Network) Check() error {
	seen := map[string]bool{}
	for i := range n.Nodes {
		x := &n.Nodes[i]
		fail := func(format string, args ...any) error {
			return fmt.Errorf("%w: network %s: node %s: %s", ErrOperator, n.Name, x.Name, fmt.Sprintf(format, args...))
		}
		if seen[x.Name] {
			return fail("there are two of that name")
		}
		seen[x.Name] = true
		for _, in := range x.Inputs {
			if in < 0 || in >= i {
				return fail("input %d is not before it", in)
			}
		}
		if x.Kind != MAC {
			continue
		}
		if x.Op == nil {
			return fail("has no operator")
		}
		if err := x.Op.Check(); err != nil {
			return err
		}
		if got, want := Elements(x.Shape), x.Op.Output().Elements(); got != want {
			return fail("has %d elements, expected the %d of its operator", got, want)
		}
		dynamic := 0
		for t, op := range x.Op.Operands() {
			if op.Role != Activation {
				continue
			}
			if dynamic < len(x.Inputs) {
				if got, want := Elements(n.Nodes[x.Inputs[dynamic]].Shape), op.Elements(); got != want {
					return fail("input %d has %d elements, expected %d of operand %s", dynamic, got, want, x.Op.Tensors[t].Name)
				}
			}
			dynamic++
		}
		if dynamic != len(x.Inputs) && len(x.Inputs) > 0 {
			return fail("%d inputs, expected %d", len(x.Inputs), dynamic)
		}
	}
	return nil
}

// Elements returns the product of a shape.
func Elements(shape []int) int64 {
	n := int64(1)
	for _, e := range shape {
		n *= int64(e)
	}
	return n
}

// Single is a network of one operator, whose activations are inputs.
func Single(o *Operator) *Network {
	n := &Network{Name: o.Name, Title: o.String(), Bits: Bits{Activation: o.Tensors[0].Type, Weight: o.Tensors[1].Type}}
	var in []int
	for _, t := range o.Operands() {
		if t.Role == Activation {
			n.Nodes = append(n.Nodes, Node{Name: "input." + t.Name, Kind: Input, Shape: t.Extents})
			in = append(in, len(n.Nodes)-1)
		}
	}
	n.Nodes = append(n.Nodes, Node{Name: o.Name, Kind: MAC, Inputs: in, Shape: o.Output().Extents, Op: o})
	return n
}

// Builder makes networks node by node; the first error stays.
type Builder struct {
	Net *Network
	Err error
}

// NewBuilder returns a builder whose node 0 is the input.
func NewBuilder(name, title string, bits Bits, input ...int) *Builder {
	b := &Builder{Net: &Network{Name: name, Title: title, Bits: bits}}
	b.Add(Node{Name: "input", Kind: Input, Shape: input})
	return b
}

// Add adds a node and returns its number.
func (b *Builder) Add(n Node) int {
	b.Net.Nodes = append(b.Net.Nodes, n)
	return len(b.Net.Nodes) - 1
}

// Shape returns the shape of a node's result.
func (b *Builder) Shape(x int) []int { return b.Net.Nodes[x].Shape }

// Conv adds a square convolution of x with k channels of output.
func (b *Builder) Conv(name string, x, k, r, stride, pad, groups int) int {
	s := b.Shape(x)
	out := func(in int) int { return (in+2*pad-r)/stride + 1 }
	c := Conv{N: s[0], K: k, C: s[1], G: groups, Out: []int{out(s[2]), out(s[3])}, Kernel: []int{r, r}, Stride: []int{stride, stride}, PadBefore: []int{pad, pad}, In: []int{s[2], s[3]}}
	o, err := NewConv(name, c, b.Net.Bits)
	if err != nil && b.Err == nil {
		b.Err = err
	}
	return b.Add(Node{Name: name, Kind: MAC, Inputs: []int{x}, Shape: []int{s[0], k, c.Out[0], c.Out[1]}, Op: o})
}

// FC adds a fully connected layer: the GEMM of all rows of x with n columns.
func (b *Builder) FC(name string, x, n int) int {
	s := b.Shape(x)
	k := s[len(s)-1]
	m := int(Elements(s)) / k
	o, err := NewGEMM(name, 1, m, n, k, true, b.Net.Bits)
	if err != nil && b.Err == nil {
		b.Err = err
	}
	shape := append(slices.Clone(s[:len(s)-1]), n)
	return b.Add(Node{Name: name, Kind: MAC, Inputs: []int{x}, Shape: shape, Op: o})
}

// MatMul adds a GEMM of two activations, batched over the first dimension.
func (b *Builder) MatMul(name string, x, y int) int {
	s, t := b.Shape(x), b.Shape(y)
	o, err := NewGEMM(name, s[0], s[1], t[2], s[2], false, b.Net.Bits)
	if err != nil && b.Err == nil {
		b.Err = err
	}
	return b.Add(Node{Name: name, Kind: MAC, Inputs: []int{x, y}, Shape: []int{s[0], s[1], t[2]}, Op: o})
}

// Unary adds a node of the shape of x.
func (b *Builder) Unary(name string, kind Kind, x int) int {
	return b.Add(Node{Name: name, Kind: kind, Inputs: []int{x}, Shape: b.Shape(x)})
}

// Add2 adds the sum of two nodes.
func (b *Builder) Add2(name string, x, y int) int {
	return b.Add(Node{Name: name, Kind: Add, Inputs: []int{x, y}, Shape: b.Shape(x)})
}

// Pool adds a square pool; ceil rounds the size of the result up.
func (b *Builder) Pool(name string, kind Kind, x, r, stride, pad int, ceil bool) int {
	s := b.Shape(x)
	out := func(in int) int {
		n := in + 2*pad - r
		if ceil {
			n += stride - 1
		}
		return n/stride + 1
	}
	return b.Add(Node{Name: name, Kind: kind, Inputs: []int{x}, Shape: []int{s[0], s[1], out(s[2]), out(s[3])},
		Window: []int{r, r}, Stride: []int{stride, stride}, PadBefore: []int{pad, pad}})
}

// Flat adds the view [N, everything else].
func (b *Builder) Flat(name string, x int) int { return b.View(name, x, b.Shape(x)[0], -1) }

// View adds a view of x with another shape; -1 stands for what is left.
func (b *Builder) View(name string, x int, shape ...int) int {
	rest, at := Elements(b.Shape(x)), -1
	for i, e := range shape {
		if e < 0 {
			at = i
		} else {
			rest /= int64(e)
		}
	}
	if at >= 0 {
		shape[at] = int(rest)
	}
	return b.Add(Node{Name: name, Kind: Reshape, Inputs: []int{x}, Shape: shape})
}

// Permute adds x with its dimensions in another order.
func (b *Builder) Permute(name string, x int, perm ...int) int {
	s := b.Shape(x)
	shape := make([]int, len(s))
	for i, p := range perm {
		shape[i] = s[p]
	}
	return b.Add(Node{Name: name, Kind: Transpose, Inputs: []int{x}, Shape: shape, Perm: perm})
}

// Cat adds several nodes behind each other along the channels.
func (b *Builder) Cat(name string, xs ...int) int {
	shape := slices.Clone(b.Shape(xs[0]))
	for _, x := range xs[1:] {
		shape[1] += b.Shape(x)[1]
	}
	return b.Add(Node{Name: name, Kind: Concat, Inputs: xs, Shape: shape, Axis: 1})
}

// Done returns the network, checked.
func (b *Builder) Done() (*Network, error) {
	if b.Err != nil {
		return nil, b.Err
	}
	return b.Net, b.Net.Check()
}
