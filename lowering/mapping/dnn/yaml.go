package dnn

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/internal/strictyaml"
)

// The form of a network in YAML or JSON. An operator is a line as Parse reads it, or
// a nest with an access matrix for each tensor.
type fileNetwork struct {
	Name  string     `yaml:"name"`
	Title string     `yaml:"title"`
	Bits  fileBits   `yaml:"bits"`
	Nodes []fileNode `yaml:"nodes"`
}

type fileBits struct {
	Activation string `yaml:"activation"`
	Weight     string `yaml:"weight"`
}

type fileNode struct {
	Name     string    `yaml:"name"`
	Kind     string    `yaml:"kind"`
	Inputs   []string  `yaml:"inputs"`
	Shape    []int     `yaml:"shape"`
	Operator string    `yaml:"operator"`
	Nest     *fileNest `yaml:"nest"`
	Window   []int     `yaml:"window"`
	Stride   []int     `yaml:"stride"`
	Pad      []int     `yaml:"pad"`
	Axis     int       `yaml:"axis"`
	Perm     []int     `yaml:"perm"`
	Dilation []int     `yaml:"dilation"`
	Inside   bool      `yaml:"inside"`
	Start    int       `yaml:"start"`
	Step     int       `yaml:"step"`
	Function string    `yaml:"function"`
	Shared   string    `yaml:"shared_weights"`
}

type fileNest struct {
	Kind    string       `yaml:"kind"`
	Loops   []fileLoop   `yaml:"loops"`
	Tensors []fileTensor `yaml:"tensors"`
}

type fileLoop struct {
	Name   string `yaml:"name"`
	Extent int    `yaml:"extent"`
}

type fileTensor struct {
	Name    string  `yaml:"name"`
	Role    string  `yaml:"role"`
	Type    string  `yaml:"type"`
	Access  [][]int `yaml:"access"`
	Offset  []int   `yaml:"offset"`
	Insert  []int   `yaml:"insert"`
	Extents []int   `yaml:"extents"`
}

// parseType reads int8, uint4 and the like.
func parseType(s string) (Type, bool) {
	var t Type
	text, signed := strings.CutPrefix(s, "int")
	if !signed {
		var ok bool
		if text, ok = strings.CutPrefix(s, "uint"); !ok {
			return t, false
		}
	}
	if n, err := fmt.Sscanf(text, "%d", &t.Bits); n != 1 || err != nil || fmt.Sprint(t.Bits) != text {
		return t, false
	}
	t.Signed = signed
	return t, t.Bits >= 1 && t.Bits <= 16
}

var kinds = []Kind{Input, MAC, ReLU, MaxPool, AvgPool, Add, Mul, Concat, Reshape, Transpose, Softmax, Norm, Sigmoid, Affine, Slice, Pad, Resize, Gather, Constant}

// ReadYAML reads a network, or a single operator, in YAML or JSON; bits are the types
// where the text says none. It is strict; errors are of type [*position.Error].
func ReadYAML(r io.Reader, file string, bits Bits) (*Network, error) {
	doc, err := strictyaml.Read(r, file, "a network")
	if err != nil {
		return nil, err
	}
	var f fileNetwork
	if err := doc.Decode(&f); err != nil {
		return nil, err
	}
	base := filepath.Base(file)
	n := &Network{Name: cmp.Or(f.Name, strings.TrimSuffix(base, filepath.Ext(base))), Title: f.Title, Bits: bits}
	for _, t := range []struct {
		field, text string
		to          *Type
	}{{"bits.activation", f.Bits.Activation, &n.Bits.Activation}, {"bits.weight", f.Bits.Weight, &n.Bits.Weight}} {
		if t.text != "" {
			ok := false
			if *t.to, ok = parseType(t.text); !ok {
				return nil, doc.Errorf(t.field, "type %q, expected int2 to int16 or uint1 to uint16", t.text)
			}
		}
	}
	if len(f.Nodes) == 0 {
		return nil, doc.Errorf("nodes", "no nodes, expected at least one")
	}
	if len(f.Nodes) > 1<<16 {
		return nil, doc.Errorf("nodes", "%d nodes, expected at most %d", len(f.Nodes), 1<<16)
	}
	for i := range f.Nodes {
		x := &f.Nodes[i]
		at := fmt.Sprintf("nodes[%d]", i)
		node := Node{Name: x.Name, Kind: Kind(cmp.Or(x.Kind, string(MAC))), Shape: x.Shape, Window: x.Window, Stride: x.Stride, PadBefore: x.Pad, Axis: x.Axis, Perm: x.Perm, Start: x.Start, Step: x.Step, Dilation: x.Dilation, Inside: x.Inside, Function: x.Function, Shared: x.Shared}
		if x.Name == "" {
			return nil, doc.Errorf(at, "node without a name")
		}
		if !slices.Contains(kinds, node.Kind) {
			return nil, doc.Errorf(at+".kind", "kind %q, expected one of %v", x.Kind, kinds)
		}
		for _, in := range x.Inputs {
			k := n.Find(in)
			if k < 0 {
				return nil, doc.Errorf(at+".inputs", "input %q of %s is no node before it", in, x.Name)
			}
			node.Inputs = append(node.Inputs, k)
		}
		if node.Kind == MAC {
			switch {
			case (x.Operator == "") == (x.Nest == nil):
				return nil, doc.Errorf(at, "node %s has an operator and a nest, or neither, expected one", x.Name)
			case x.Operator != "":
				o, err := Parse(x.Operator, n.Bits)
				if err != nil {
					return nil, doc.Errorf(at+".operator", "%s", strings.TrimPrefix(err.Error(), "dnn: "))
				}
				o.Name = x.Name
				node.Op = o
			default:
				o, field, msg := x.Nest.operator(x.Name, n.Bits)
				if msg != "" {
					return nil, doc.Errorf(at+".nest"+field, "%s", msg)
				}
				node.Op = o
			}
			if node.Shape == nil {
				node.Shape = node.Op.Output().Extents
			}
			if len(node.Inputs) == 0 {
				for _, t := range node.Op.Operands() {
					if t.Role == Activation {
						n.Nodes = append(n.Nodes, Node{Name: x.Name + ".input." + t.Name, Kind: Input, Shape: t.Extents})
						node.Inputs = append(node.Inputs, len(n.Nodes)-1)
					}
				}
			}
		}
		if msg := n.checkNode(&node); msg != "" {
			return nil, doc.Errorf(at, "node %s: %s", x.Name, msg)
		}
		n.Nodes = append(n.Nodes, node)
	}
	if err := n.Check(); err != nil {
		return nil, doc.Errorf("", "%s", strings.TrimPrefix(err.Error(), "dnn: "))
	}
	return n, nil
}

// checkNode looks at what evaluation needs: shapes of the kinds that are no MAC.
func (n *Network) checkNode(x *Node) string {
	if len(x.Shape) == 0 || len(x.Shape) > 8 {
		return fmt.Sprintf("shape of %d dimensions, expected 1 to 8", len(x.Shape))
	}
	total := int64(1)
	for _, e := range x.Shape {
		if e < 1 || total > MaxElements*64/int64(e) {
			return fmt.Sprintf("shape %v, expected sizes of at least 1 and at most %d elements", x.Shape, int64(MaxElements)*64)
		}
		total *= int64(e)
	}
	in := func(i int) []int { return n.Nodes[x.Inputs[i]].Shape }
	want := map[Kind]int{ReLU: 1, MaxPool: 1, AvgPool: 1, Reshape: 1, Transpose: 1, Softmax: 1, Norm: 1, Sigmoid: 1, Affine: 1, Slice: 1, Pad: 1, Resize: 1, Gather: 2, Input: 0, Constant: 0}
	if k, ok := want[x.Kind]; ok && len(x.Inputs) != k {
		return fmt.Sprintf("%d inputs, expected %d for %s", len(x.Inputs), k, x.Kind)
	}
	switch x.Kind {
	case ReLU, Softmax, Norm, Sigmoid, Affine, Reshape:
		if Elements(in(0)) != total {
			return fmt.Sprintf("shape %v, its input has %v", x.Shape, in(0))
		}
		if x.Kind == Softmax && (x.Axis < -len(x.Shape) || x.Axis >= len(x.Shape)) {
			return fmt.Sprintf("axis %d of %d dimensions", x.Axis, len(x.Shape))
		}
	case MaxPool, AvgPool:
		k := len(x.Window)
		if k < 1 || k >= len(x.Shape) || len(x.Stride) != k || len(x.PadBefore) != k || len(in(0)) != len(x.Shape) {
			return "window, stride and pad, expected one for each size behind the channels"
		}
		for d := range k {
			span := x.Window[d]
			if x.Dilation != nil {
				if len(x.Dilation) != k || x.Dilation[d] < 1 {
					return fmt.Sprintf("dilation %v, expected one of at least 1 for each of %d sizes", x.Dilation, k)
				}
				span = (span-1)*x.Dilation[d] + 1
			}
			if x.Window[d] < 1 || x.Stride[d] < 1 || x.PadBefore[d] < 0 || x.PadBefore[d] >= span {
				return fmt.Sprintf("window %d, stride %d, pad %d", x.Window[d], x.Stride[d], x.PadBefore[d])
			}
			if pos := (x.Shape[len(x.Shape)-k+d]-1)*x.Stride[d] - x.PadBefore[d]; pos >= in(0)[len(x.Shape)-k+d] {
				return fmt.Sprintf("size %d of the result reaches beyond the input's %d", x.Shape[len(x.Shape)-k+d], in(0)[len(x.Shape)-k+d])
			}
		}
		if Elements(x.Shape[:len(x.Shape)-k]) != Elements(in(0)[:len(x.Shape)-k]) {
			return fmt.Sprintf("shape %v, its input has %v", x.Shape, in(0))
		}
	case Transpose:
		if len(x.Perm) != len(in(0)) || len(x.Shape) != len(x.Perm) {
			return fmt.Sprintf("permutation %v of %d dimensions", x.Perm, len(in(0)))
		}
		seen := map[int]bool{}
		for d, p := range x.Perm {
			if p < 0 || p >= len(x.Perm) || seen[p] || x.Shape[d] != in(0)[p] {
				return fmt.Sprintf("permutation %v of shape %v", x.Perm, in(0))
			}
			seen[p] = true
		}
	case Concat:
		if len(x.Inputs) == 0 || x.Axis < 0 || x.Axis >= len(x.Shape) {
			return "expected inputs and an axis"
		}
		sum := 0
		for i := range x.Inputs {
			s := in(i)
			if len(s) != len(x.Shape) {
				return fmt.Sprintf("shape %v of an input, expected %d dimensions", s, len(x.Shape))
			}
			for d := range s {
				if d != x.Axis && s[d] != x.Shape[d] {
					return fmt.Sprintf("shape %v of an input, expected that of %v but for axis %d", s, x.Shape, x.Axis)
				}
			}
			sum += s[x.Axis]
		}
		if sum != x.Shape[x.Axis] {
			return fmt.Sprintf("size %d along axis %d, its inputs have %d", x.Shape[x.Axis], x.Axis, sum)
		}
	case Add, Mul:
		if len(x.Inputs) < 1 || len(x.Inputs) > 2 {
			return fmt.Sprintf("%d inputs, expected 1 or 2", len(x.Inputs))
		}
		for i := range x.Inputs {
			s := in(i)
			if len(s) > len(x.Shape) {
				return fmt.Sprintf("shape %v of an input, expected that of %v", s, x.Shape)
			}
			for d := range s {
				if e := x.Shape[len(x.Shape)-len(s)+d]; s[d] != e && s[d] != 1 {
					return fmt.Sprintf("shape %v of an input does not broadcast to %v", s, x.Shape)
				}
			}
		}
	case Slice:
		s := in(0)
		step := x.Step
		if step == 0 {
			step = 1
		}
		if len(s) != len(x.Shape) || x.Axis < 0 || x.Axis >= len(s) {
			return fmt.Sprintf("slice of %v along axis %d to %v", s, x.Axis, x.Shape)
		}
		if last := x.Start + (x.Shape[x.Axis]-1)*step; x.Start < 0 || x.Start >= s[x.Axis] || last < 0 || last >= s[x.Axis] {
			return fmt.Sprintf("slice of %v from %d to %d along axis %d", s, x.Start, last, x.Axis)
		}
	case Pad:
		if len(in(0)) != len(x.Shape) || len(x.PadBefore) != len(x.Shape) {
			return fmt.Sprintf("pads %v from shape %v to %v, expected one before each dimension", x.PadBefore, in(0), x.Shape)
		}
	case Resize:
		if len(in(0)) != len(x.Shape) {
			return fmt.Sprintf("shape %v, its input has %v", x.Shape, in(0))
		}
	case Gather:
		s := in(0)
		if x.Axis < 0 || x.Axis >= len(s) {
			return fmt.Sprintf("axis %d of %d dimensions", x.Axis, len(s))
		}
		if want := Elements(s) / int64(s[x.Axis]) * Elements(in(1)); total != want {
			return fmt.Sprintf("%d elements, expected %d: those of %v along axis %d by %v", total, want, s, x.Axis, in(1))
		}
	}
	return ""
}

// operator makes the operator of a nest; an error is a field and what is wrong.
func (f *fileNest) operator(name string, bits Bits) (o *Operator, field, msg string) {
	o = &Operator{Name: name, Kind: cmp.Or(f.Kind, "nest")}
	for _, l := range f.Loops {
		o.Loops = append(o.Loops, Loop(l))
	}
	for i, t := range f.Tensors {
		at := fmt.Sprintf(".tensors[%d]", i)
		x := Tensor{Name: t.Name, Access: t.Access, Offset: t.Offset, Insert: t.Insert, Extents: t.Extents}
		switch cmp.Or(t.Role, "activation") {
		case "activation":
			x.Role, x.Type = Activation, bits.Activation
		case "weight":
			x.Role, x.Type = Weight, bits.Weight
		case "output":
			x.Role = Output
		default:
			return nil, at + ".role", fmt.Sprintf("role %q, expected activation, weight or output", t.Role)
		}
		if t.Type != "" && x.Role != Output {
			ok := false
			if x.Type, ok = parseType(t.Type); !ok {
				return nil, at + ".type", fmt.Sprintf("type %q, expected int2 to int16 or uint1 to uint16", t.Type)
			}
		}
		if x.Offset == nil {
			x.Offset = make([]int, len(x.Extents))
		}
		o.Tensors = append(o.Tensors, x)
	}
	if err := o.Check(); err != nil {
		return nil, "", strings.TrimPrefix(err.Error(), "dnn: ")
	}
	return o, "", ""
}

// WriteYAML writes a network in the form that ReadYAML reads. Values of weights are not
// part of it.
func (n *Network) WriteYAML(w io.Writer) error {
	var b bytes.Buffer
	list := func(v []int) string { return strings.ReplaceAll(fmt.Sprint(v), " ", ", ") }
	matrix := func(v [][]int) string {
		var rows []string
		for _, r := range v {
			rows = append(rows, list(r))
		}
		return "[" + strings.Join(rows, ", ") + "]"
	}
	fmt.Fprintf(&b, "name: %q\ntitle: %q\nbits: {activation: %s, weight: %s}\nnodes:\n", n.Name, n.Title, n.Bits.Activation, n.Bits.Weight)
	for i := range n.Nodes {
		x := &n.Nodes[i]
		fmt.Fprintf(&b, "  - name: %q\n    kind: %s\n", x.Name, x.Kind)
		if len(x.Inputs) > 0 {
			var in []string
			for _, k := range x.Inputs {
				in = append(in, fmt.Sprintf("%q", n.Nodes[k].Name))
			}
			fmt.Fprintf(&b, "    inputs: [%s]\n", strings.Join(in, ", "))
		}
		fmt.Fprintf(&b, "    shape: %s\n", list(x.Shape))
		for _, f := range []struct {
			name string
			v    []int
		}{{"window", x.Window}, {"stride", x.Stride}, {"pad", x.PadBefore}, {"perm", x.Perm}, {"dilation", x.Dilation}} {
			if f.v != nil {
				fmt.Fprintf(&b, "    %s: %s\n", f.name, list(f.v))
			}
		}
		if x.Axis != 0 {
			fmt.Fprintf(&b, "    axis: %d\n", x.Axis)
		}
		if x.Start != 0 {
			fmt.Fprintf(&b, "    start: %d\n", x.Start)
		}
		if x.Step != 0 {
			fmt.Fprintf(&b, "    step: %d\n", x.Step)
		}
		if x.Inside {
			b.WriteString("    inside: true\n")
		}
		if x.Shared != "" {
			fmt.Fprintf(&b, "    shared_weights: %q\n", x.Shared)
		}
		if x.Function != "" {
			fmt.Fprintf(&b, "    function: %s\n", x.Function)
		}
		if x.Op == nil {
			continue
		}
		fmt.Fprintf(&b, "    nest:\n      kind: %s\n      loops: [", x.Op.Kind)
		for k, l := range x.Op.Loops {
			if k > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "{name: %q, extent: %d}", l.Name, l.Extent)
		}
		b.WriteString("]\n      tensors:\n")
		for k := range x.Op.Tensors {
			t := &x.Op.Tensors[k]
			fmt.Fprintf(&b, "        - {name: %q, role: %s, ", t.Name, t.Role)
			if t.Role != Output {
				fmt.Fprintf(&b, "type: %s, ", t.Type)
			}
			fmt.Fprintf(&b, "extents: %s, access: %s, offset: %s", list(t.Extents), matrix(t.Access), list(t.Offset))
			if t.Insert != nil {
				fmt.Fprintf(&b, ", insert: %s", list(t.Insert))
			}
			b.WriteString("}\n")
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}
