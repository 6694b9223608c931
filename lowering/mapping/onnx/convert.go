package onnx

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/bitsched/bitsched/internal/position"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
)

// Options say how a model is read.
type Options struct {
	Bits dnn.Bits
	Dims map[string]int // values of named dimensions
	Skip bool           // skip nodes that are not known, if their shape is given
	Data bool           // take the values of weights from the model, quantised
}

// The versions of the operator set that were tested.
const (
	minOpset = 7
	maxOpset = 24
)

// MaxSize is how many bytes a model may have.
const MaxSize = 1<<31 - 1

// Read reads a model. Errors are of type [*position.Error].
func Read(data []byte, file string, o Options) (*dnn.Network, error) {
	fail := func(format string, args ...any) error {
		return &position.Error{File: file, Msg: fmt.Sprintf(format, args...)}
	}
	if len(data) > MaxSize {
		return nil, fail("%d bytes, expected at most %d", len(data), MaxSize)
	}
	if len(data) == 0 {
		return nil, fail("empty, expected an ONNX model")
	}
	r := &reader{file}
	m, err := r.model(data)
	if err != nil {
		return nil, err
	}
	if m.functions > 0 {
		return nil, fail("%d functions of its own, expected operators of ONNX only", m.functions)
	}
	if m.opset < minOpset || m.opset > maxOpset {
		return nil, fail("operator set %d, expected %d to %d", m.opset, minOpset, maxOpset)
	}
	if m.graph.sparse > 0 {
		return nil, fail("%d sparse initializers, expected dense ones", m.graph.sparse)
	}
	base := filepath.Base(file)
	c := &converter{
		g: m.graph, o: o, fail: fail, opset: m.opset,
		net:   &dnn.Network{Name: strings.TrimSuffix(base, filepath.Ext(base)), Title: m.graph.name, Bits: o.Bits},
		inits: map[string]*tensor{}, nodeOf: map[string]int{}, consts: map[string][]int64{}, reals: map[string][]float64{}, shapes: map[string][]int{}, given: map[string][]dim{}, named: map[string]bool{}, made: map[string]*node{}, readers: map[string]int{}, used: map[string]bool{}, file: file,
	}
	if err := c.convert(); err != nil {
		return nil, err
	}
	return c.net, nil
}

// converter makes nodes in the order of the graph.
type converter struct {
	g       *graph
	o       Options
	fail    func(format string, args ...any) error
	opset   int64
	net     *dnn.Network
	inits   map[string]*tensor
	nodeOf  map[string]int     // of a value
	consts  map[string][]int64 // small values of integers
	reals   map[string][]float64
	shapes  map[string][]int // of values that are not nodes
	given   map[string][]dim
	named   map[string]bool
	made    map[string]*node // static values by the node that makes them
	live    []bool           // nodes that an output depends on
	readers map[string]int   // of a value, among them
	used    map[string]bool  // of the dimensions that options give
	file    string
	float   bool
	bias    int
}

// passing are nodes that change nothing here.
var passing = []string{"Identity", "Dropout", "Cast", "QuantizeLinear", "DequantizeLinear", "CastLike", "LRN"}

// tables are functions of one value.
var tables = map[string]string{"Sigmoid": "sigmoid", "Tanh": "tanh", "Gelu": "gelu", "Erf": "tanh", "HardSigmoid": "sigmoid", "HardSwish": "swish", "Mish": "swish",
	"Softplus": "swish", "Elu": "swish", "Selu": "swish", "LeakyRelu": "swish", "PRelu": "swish", "Clip": "clip", "Sqrt": "sigmoid", "Exp": "sigmoid", "Log": "sigmoid",
	"Reciprocal": "sigmoid", "Neg": "sigmoid", "Abs": "sigmoid", "Pow": "sigmoid", "Floor": "sigmoid", "Ceil": "sigmoid", "Round": "sigmoid", "Sin": "sigmoid", "Cos": "sigmoid", "QuickGelu": "gelu", "Swish": "swish"}

func (c *converter) convert() error {
	for i := range c.g.initializers {
		t := &c.g.initializers[i]
		if _, ok := c.inits[t.name]; ok {
			return c.fail("two initializers %q", t.name)
		}
		c.inits[t.name] = t
		c.float = c.float || t.float()
		c.note(t.name, t)
		shape, err := c.dims(t.name, t.dims)
		if err != nil {
			return err
		}
		c.shapes[t.name] = shape
	}
	for _, v := range slices.Concat(c.g.values, c.g.outputs) {
		if v.known {
			c.given[v.name] = v.shape
		}
	}
	for i := range c.g.inputs {
		v := &c.g.inputs[i]
		if _, ok := c.inits[v.name]; ok {
			continue
		}
		if !v.known {
			return c.fail("input %q has no shape", v.name)
		}
		shape, err := c.resolve(v.name, v.shape)
		if err != nil {
			return err
		}
		if _, err := c.add(v.name, dnn.Node{Kind: dnn.Input, Shape: shape}); err != nil {
			return err
		}
	}
	order, err := c.order()
	if err != nil {
		return err
	}
	var unknown, dead []string
	for _, i := range order {
		n := &c.g.nodes[i]
		if !c.live[i] {
			dead = append(dead, fmt.Sprintf("%s (%s)", c.label(n), n.op))
			continue
		}
		if n.domain != "" && n.domain != "ai.onnx" && n.op != "QuickGelu" {
			unknown = append(unknown, fmt.Sprintf("%s (%s of domain %s)", c.label(n), n.op, n.domain))
			if err := c.skip(n); err != nil {
				return err
			}
			continue
		}
		known, err := c.node(n)
		if err != nil {
			return err
		}
		if !known {
			unknown = append(unknown, fmt.Sprintf("%s (%s)", c.label(n), n.op))
			if err := c.skip(n); err != nil {
				return err
			}
		}
	}
	if len(unknown) > 0 {
		if !c.o.Skip {
			return c.fail("%d nodes are not known: %s; --skip-unmapped leaves them out where the model gives their shapes", len(unknown), strings.Join(unknown[:min(len(unknown), 8)], ", "))
		}
		c.net.Unmapped = unknown
	}
	if err := c.checkDims(); err != nil {
		return err
	}
	if len(dead) > 0 {
		c.net.Notes = append(c.net.Notes, fmt.Sprintf("%d nodes lead to no output and are left out: %s", len(dead), strings.Join(dead[:min(len(dead), 8)], ", ")))
	}
	for _, out := range c.g.outputs {
		if _, ok := c.nodeOf[out.name]; !ok {
			if _, ok := c.shapes[out.name]; !ok {
				return c.fail("output %q comes from no node", out.name)
			}
		}
	}
	if len(c.net.MACs()) == 0 {
		return c.fail("no convolution and no matrix product, expected at least one")
	}
	weights := "weights random by seed"
	if c.o.Data {
		weights = "weights those of the model, rounded to the nearest of " + c.o.Bits.Weight.String() + " by a scale for each tensor"
	}
	if c.float {
		c.net.Notes = append(c.net.Notes, fmt.Sprintf("a model of floating-point numbers: its shapes are used, values are integers of %s and %s, %s; other nodes are approximated at word level", c.o.Bits.Activation, c.o.Bits.Weight, weights))
	} else {
		c.net.Notes = append(c.net.Notes, "shapes are used, "+weights)
	}
	if c.bias > 0 {
		c.net.Notes = append(c.net.Notes, fmt.Sprintf("%d biases are added near memory and not counted", c.bias))
	}
	if err := c.net.Check(); err != nil {
		return c.fail("%s", strings.TrimPrefix(err.Error(), "dnn: "))
	}
	return nil
}

// note keeps the values of small tensors, which shapes are computed from.
func (c *converter) note(name string, t *tensor) {
	if v, ok := t.integers(); ok {
		c.consts[name] = v
	} else if n, ok := t.small(); ok && n <= 16 {
		if at, ok := t.values(n); ok {
			for i := range n {
				c.reals[name] = append(c.reals[name], at(int(i)))
			}
		}
	}
}

// order sorts nodes so that each comes after those it reads, the first listed first.
func (c *converter) order() ([]int, error) {
	producer := map[string]int{}
	for i := range c.g.nodes {
		for _, out := range c.g.nodes[i].outputs {
			if out == "" {
				continue
			}
			_, isInput := c.nodeOf[out]
			if _, twice := producer[out]; twice || isInput || c.inits[out] != nil {
				return nil, c.fail("value %q is made twice", out)
			}
			producer[out] = i
		}
	}
	waits := make([]int, len(c.g.nodes))
	users := make([][]int, len(c.g.nodes))
	for i := range c.g.nodes {
		for _, in := range c.g.nodes[i].inputs {
			if in == "" {
				continue
			}
			p, ok := producer[in]
			if !ok {
				_, isInput := c.nodeOf[in]
				if !isInput && c.inits[in] == nil {
					return nil, c.fail("node %s reads %q, which nothing makes", c.label(&c.g.nodes[i]), in)
				}
				continue
			}
			waits[i]++
			users[p] = append(users[p], i)
		}
	}
	var ready, out []int
	for i, w := range waits {
		if w == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		out = append(out, i)
		for _, u := range users[i] {
			if waits[u]--; waits[u] == 0 {
				at := sort.SearchInts(ready, u)
				ready = slices.Insert(ready, at, u)
			}
		}
	}
	// What no output depends on is not computed; without outputs all is.
	c.live = make([]bool, len(c.g.nodes))
	var walk []string
	for _, o := range c.g.outputs {
		walk = append(walk, o.name)
	}
	for len(walk) > 0 {
		p, ok := producer[walk[len(walk)-1]]
		if walk = walk[:len(walk)-1]; ok && !c.live[p] {
			c.live[p] = true
			walk = append(walk, c.g.nodes[p].inputs...)
		}
	}
	for i := range c.g.nodes {
		if c.live[i] = c.live[i] || len(c.g.outputs) == 0; c.live[i] {
			for _, in := range c.g.nodes[i].inputs {
				c.readers[in]++
			}
		}
	}
	if len(out) < len(c.g.nodes) {
		for i, w := range waits {
			if w > 0 {
				return nil, c.fail("node %s reads what it makes itself, by a cycle", c.label(&c.g.nodes[i]))
			}
		}
	}
	return out, nil
}

func (c *converter) label(n *node) string {
	if n.name != "" {
		return n.name
	}
	if len(n.outputs) > 0 {
		return n.op + ":" + n.outputs[0]
	}
	return n.op
}

func (c *converter) dims(name string, dims []int64) ([]int, error) {
	shape := []int{}
	total := int64(1)
	for _, d := range dims {
		if d < 0 || d > 1<<30 || d > 0 && total > 1<<40/d {
			return nil, c.fail("tensor %q of shape %v, expected at most 2^40 elements", name, dims)
		}
		total *= max(d, 1)
		shape = append(shape, int(d))
	}
	return shape, nil
}

// resolve gives named dimensions their values.
func (c *converter) resolve(name string, dims []dim) ([]int, error) {
	var values []int64
	for i, d := range dims {
		v := d.value
		if v <= 0 {
			key := d.param
			if key == "" { // open and without a name: by its place
				key = fmt.Sprintf("%s[%d]", name, i)
			}
			x, ok := c.o.Dims[key]
			if c.used[key] = true; !ok {
				return nil, c.fail("dimension %d of %q is open (%s), expected its value by --dim %s=NUMBER", i, name, key, key)
			}
			v = int64(x)
		}
		values = append(values, v)
	}
	return c.dims(name, values)
}

// checkDims refuses sizes of dimensions that the model does not have.
func (c *converter) checkDims() error {
	for _, v := range slices.Concat(c.g.inputs, c.g.values, c.g.outputs) {
		for _, d := range v.shape {
			c.used[d.param] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.o.Dims)) {
		if !c.used[name] {
			return c.fail("--dim %s=%d: no dimension has this name", name, c.o.Dims[name])
		}
	}
	return nil
}

// add adds the node of a value.
func (c *converter) add(value string, n dnn.Node) (int, error) {
	total := int64(1)
	for _, e := range n.Shape {
		if e < 1 || int64(e) > 1<<40/total {
			return 0, c.fail("value %q has shape %v, expected sizes of at least 1 and at most 2^40 elements", value, n.Shape)
		}
		total *= int64(e)
	}
	if n.Name == "" {
		n.Name = value
	}
	for k := 2; c.named[n.Name]; k++ {
		n.Name = fmt.Sprintf("%s.%d", value, k)
	}
	c.named[n.Name] = true
	c.net.Nodes = append(c.net.Nodes, n)
	c.nodeOf[value] = len(c.net.Nodes) - 1
	return len(c.net.Nodes) - 1, nil
}

// input returns the node of an operand; a static one becomes a constant.
func (c *converter) input(n *node, i int) (int, error) {
	name := n.inputs[i]
	if k, ok := c.nodeOf[name]; ok {
		return k, nil
	}
	shape, ok := c.shapes[name]
	if !ok {
		return 0, c.fail("node %s: shape of %q is not known", c.label(n), name)
	}
	if len(shape) == 0 {
		shape = []int{1}
	}
	return c.add(name, dnn.Node{Kind: dnn.Constant, Shape: shape})
}

func (c *converter) static(name string) bool {
	_, ok := c.nodeOf[name]
	return !ok
}

func (c *converter) shapeOf(name string) ([]int, bool) {
	if k, ok := c.nodeOf[name]; ok {
		return c.net.Nodes[k].Shape, true
	}
	s, ok := c.shapes[name]
	return s, ok
}

// skip stands a constant of the given shape in the place of a node.
func (c *converter) skip(n *node) error {
	if !c.o.Skip {
		for _, out := range n.outputs {
			c.nodeOf[out] = 0 // an error follows; those behind shall not hide it
		}
		return nil
	}
	for _, out := range n.outputs {
		if out == "" {
			continue
		}
		dims, ok := c.given[out]
		if !ok {
			return c.fail("node %s (%s) is not known, and the model does not give the shape of %q", c.label(n), n.op, out)
		}
		shape, err := c.resolve(out, dims)
		if err != nil {
			return err
		}
		if _, err := c.add(out, dnn.Node{Kind: dnn.Constant, Shape: shape}); err != nil {
			return err
		}
	}
	return nil
}

func attrInts(n *node, name string, count int, otherwise int) []int {
	a, ok := n.attributes[name]
	var out []int
	for i := range count {
		v := otherwise
		if ok && i < len(a.ints) {
			v = int(a.ints[i])
		}
		out = append(out, v)
	}
	return out
}

func attrInt(n *node, name string, otherwise int64) int64 {
	if a, ok := n.attributes[name]; ok {
		return a.i
	}
	return otherwise
}

// pads returns the pads before, and the sizes of the result, of a window.
func (c *converter) pads(n *node, in, kernel, stride, dil []int) (before, out []int, err error) {
	k := len(in)
	before, out = make([]int, k), make([]int, k)
	p := attrInts(n, "pads", 2*k, 0)
	auto := n.attributes["auto_pad"].s
	ceil := attrInt(n, "ceil_mode", 0) != 0
	for d := range k {
		if stride[d] < 1 || dil[d] < 1 || kernel[d] < 1 || kernel[d] > 1<<20 || stride[d] > 1<<20 || dil[d] > 1<<20 {
			return nil, nil, c.fail("node %s: kernel %d, stride %d, dilation %d, expected at least 1", c.label(n), kernel[d], stride[d], dil[d])
		}
		span := (kernel[d]-1)*dil[d] + 1
		switch auto {
		case "SAME_UPPER", "SAME_LOWER":
			out[d] = (in[d] + stride[d] - 1) / stride[d]
			total := max(0, (out[d]-1)*stride[d]+span-in[d])
			before[d] = total / 2
			if auto == "SAME_LOWER" {
				before[d] = (total + 1) / 2
			}
			continue
		case "VALID":
			p[d], p[d+k] = 0, 0
		}
		if p[d] < 0 || p[d+k] < 0 || p[d] > 1<<20 || p[d+k] > 1<<20 {
			return nil, nil, c.fail("node %s: pads %v, expected 0 or more", c.label(n), p)
		}
		rest := in[d] + p[d] + p[d+k] - span
		if rest < 0 {
			return nil, nil, c.fail("node %s: kernel of span %d on %d elements with pads", c.label(n), span, in[d]+p[d]+p[d+k])
		}
		if ceil {
			rest += stride[d] - 1
		}
		before[d], out[d] = p[d], rest/stride[d]+1
		if ceil && (out[d]-1)*stride[d] >= in[d]+p[d] {
			out[d]-- // the last window must begin inside
		}
	}
	return before, out, nil
}
