package onnx

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/lowering/mapping/dnn"
)

// node converts one; false if its operator is not known.
func (c *converter) node(n *node) (bool, error) {
	for _, a := range n.attributes {
		if a.graph {
			return false, c.fail("node %s: %s has a graph of its own, expected no control flow", c.label(n), n.op)
		}
	}
	if len(n.outputs) == 0 || n.outputs[0] == "" {
		return true, nil
	}
	if done, err := c.fold(n); done || err != nil {
		return true, err
	}
	if n.op == "Constant" {
		return true, nil // of no integers: folded above
	}
	if c.allStatic(n) {
		return c.precompute(n)
	}
	return c.convertNode(n)
}

// allStatic reports whether a node reads nothing that changes with the input.
func (c *converter) allStatic(n *node) bool {
	for _, in := range n.inputs {
		if in != "" && !c.static(in) {
			return false
		}
	}
	return len(n.inputs) > 0
}

// precompute works the shapes of static results out, which are weights like any other:
// of quantised, transposed or reshaped initializers.
func (c *converter) precompute(n *node) (bool, error) {
	nodes, names := len(c.net.Nodes), maps.Clone(c.named)
	of := maps.Clone(c.nodeOf)
	known, err := c.convertNode(n)
	if !known || err != nil {
		return known, err
	}
	for _, out := range n.outputs {
		if k, ok := c.nodeOf[out]; ok && out != "" {
			c.shapes[out] = c.net.Nodes[k].Shape
			c.made[out] = n
		}
	}
	c.net.Nodes, c.named, c.nodeOf = c.net.Nodes[:nodes], names, of
	return true, nil
}

// convertNode makes the nodes of one whose operator is known.
func (c *converter) convertNode(n *node) (bool, error) {
	out := n.outputs[0]
	arity := map[string]int{"Conv": 2, "ConvTranspose": 2, "ConvInteger": 2, "QLinearConv": 8, "MatMul": 2, "MatMulInteger": 2, "QLinearMatMul": 8, "Gemm": 2, "QGemm": 2,
		"Add": 2, "Sub": 2, "Mul": 2, "Div": 2, "Gather": 2, "Einsum": 2, "Max": 1, "Min": 1, "Sum": 1, "Concat": 1, "Reshape": 2, "ConstantOfShape": 1}
	need, ok := arity[n.op]
	if !ok {
		need = 1
	}
	if len(n.inputs) < need {
		return true, c.fail("node %s: %s with %d inputs, expected at least %d", c.label(n), n.op, len(n.inputs), need)
	}
	for i := range min(need, len(n.inputs)) {
		if n.inputs[i] == "" {
			return true, c.fail("node %s: %s without input %d", c.label(n), n.op, i)
		}
	}
	switch n.op {
	case "Conv", "ConvInteger", "ConvTranspose":
		return true, c.conv(n, n.inputs[0], n.inputs[1], len(n.inputs) > 2 && n.inputs[2] != "" && n.op != "ConvInteger")
	case "QLinearConv":
		return true, c.conv(n, n.inputs[0], n.inputs[3], len(n.inputs) > 8)
	case "MatMul", "MatMulInteger":
		return true, c.matmul(n, n.inputs[0], n.inputs[1])
	case "QLinearMatMul":
		return true, c.matmul(n, n.inputs[0], n.inputs[3])
	case "Gemm":
		return true, c.gemm(n)
	case "Einsum":
		return true, c.einsum(n)
	}
	x, err := c.input(n, 0)
	if err != nil {
		return true, err
	}
	s := c.net.Nodes[x].Shape
	add := func(node dnn.Node) (bool, error) {
		if node.Inputs == nil {
			node.Inputs = []int{x}
		}
		_, err := c.add(out, node)
		return true, err
	}
	if f, ok := tables[n.op]; ok {
		return add(dnn.Node{Kind: dnn.Sigmoid, Shape: s, Function: f})
	}
	if slices.Contains(passing, n.op) {
		c.nodeOf[out] = x
		return true, nil
	}
	switch n.op {
	case "DynamicQuantizeLinear":
		c.nodeOf[out] = x
		for _, o := range n.outputs[1:] {
			c.shapes[o] = []int{}
		}
		return true, nil
	case "Relu":
		return add(dnn.Node{Kind: dnn.ReLU, Shape: s})
	case "Softmax", "LogSoftmax":
		otherwise := int64(-1)
		if c.opset < 13 {
			otherwise = 1
		}
		a, err := c.axis(n, otherwise, len(s))
		if err != nil {
			return true, err
		}
		if c.opset < 13 { // over all dimensions from the axis on
			flat, err := c.add(out+".flat", dnn.Node{Kind: dnn.Reshape, Inputs: []int{x}, Shape: []int{int(dnn.Elements(s[:a])), int(dnn.Elements(s[a:]))}})
			if err != nil {
				return true, err
			}
			soft, err := c.add(out+".softmax", dnn.Node{Kind: dnn.Softmax, Inputs: []int{flat}, Shape: c.net.Nodes[flat].Shape, Axis: 1})
			if err != nil {
				return true, err
			}
			return add(dnn.Node{Kind: dnn.Reshape, Inputs: []int{soft}, Shape: s})
		}
		return add(dnn.Node{Kind: dnn.Softmax, Shape: s, Axis: a})
	case "BatchNormalization", "InstanceNormalization":
		return add(dnn.Node{Kind: dnn.Affine, Shape: s})
	case "LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization", "GroupNormalization", "LpNormalization":
		return add(dnn.Node{Kind: dnn.Norm, Shape: s})
	case "Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Where", "And", "Or":
		kind := dnn.Add
		if n.op == "Mul" || n.op == "Div" {
			kind = dnn.Mul
		}
		at := x
		for i := 1; i < len(n.inputs); i++ {
			y, err := c.input(n, i)
			if err != nil {
				return true, err
			}
			shape, ok := broadcastShape(c.net.Nodes[at].Shape, c.net.Nodes[y].Shape)
			if !ok {
				return true, c.fail("node %s: shapes %v and %v do not broadcast", c.label(n), c.net.Nodes[at].Shape, c.net.Nodes[y].Shape)
			}
			value := out
			if i < len(n.inputs)-1 {
				value = fmt.Sprintf("%s.part%d", out, i)
			}
			if at, err = c.add(value, dnn.Node{Kind: kind, Inputs: []int{at, y}, Shape: shape}); err != nil {
				return true, err
			}
		}
		c.nodeOf[out] = at
		return true, nil
	case "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LpPool":
		return true, c.pool(n, x)
	case "ReduceMean", "ReduceMax", "ReduceSum", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceProd", "ReduceLogSumExp":
		return true, c.reduce(n, x)
	case "Concat":
		a, err := c.axis(n, 1, len(s))
		if err != nil {
			return true, err
		}
		shape := slices.Clone(s)
		ins := []int{x}
		for i := 1; i < len(n.inputs); i++ {
			y, err := c.input(n, i)
			if err != nil {
				return true, err
			}
			t := c.net.Nodes[y].Shape
			if len(t) != len(s) {
				return true, c.fail("node %s: shapes %v and %v are not concatenated", c.label(n), s, t)
			}
			for d := range t {
				if d != a && t[d] != s[d] {
					return true, c.fail("node %s: shapes %v and %v are not concatenated along %d", c.label(n), s, t, a)
				}
			}
			shape[a] += t[a]
			ins = append(ins, y)
		}
		return add(dnn.Node{Kind: dnn.Concat, Inputs: ins, Shape: shape, Axis: a})
	case "Flatten":
		a := attrInt(n, "axis", 1)
		if a < 0 {
			a += int64(len(s))
		}
		if a < 0 || a > int64(len(s)) {
			return true, c.fail("node %s: axis %d of %d dimensions", c.label(n), a, len(s))
		}
		return add(dnn.Node{Kind: dnn.Reshape, Shape: []int{int(dnn.Elements(s[:a])), int(dnn.Elements(s[a:]))}})
	case "Reshape", "Squeeze", "Unsqueeze", "Expand":
		return true, c.reshape(n, x)
	case "Transpose":
		perm := attrInts(n, "perm", len(s), 0)
		if _, ok := n.attributes["perm"]; !ok {
			for d := range perm {
				perm[d] = len(s) - 1 - d
			}
		}
		shape := make([]int, len(s))
		seen := map[int]bool{}
		for d, p := range perm {
			if p < 0 || p >= len(s) || seen[p] {
				return true, c.fail("node %s: permutation %v of %d dimensions", c.label(n), perm, len(s))
			}
			seen[p] = true
			shape[d] = s[p]
		}
		return add(dnn.Node{Kind: dnn.Transpose, Shape: shape, Perm: perm})
	case "Split":
		return true, c.split(n, x)
	case "Slice":
		return true, c.slice(n, x)
	case "Gather":
		return true, c.gather(n, x)
	case "Pad":
		return true, c.pad(n, x)
	case "Resize", "Upsample":
		return true, c.resize(n, x)
	case "DepthToSpace", "SpaceToDepth":
		return true, c.blocks(n, x)
	}
	return false, nil
}

func broadcastShape(a, b []int) ([]int, bool) {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	for i := range b {
		d := len(a) - len(b) + i
		switch {
		case b[i] == out[d] || b[i] == 1:
		case out[d] == 1:
			out[d] = b[i]
		default:
			return nil, false
		}
	}
	return out, true
}

// fold evaluates nodes on shapes and small constants of integers.
func (c *converter) fold(n *node) (bool, error) {
	out := n.outputs[0]
	set := func(v []int64, scalar bool) (bool, error) {
		c.consts[out] = v
		if scalar {
			c.shapes[out] = []int{}
		} else {
			c.shapes[out] = []int{len(v)}
		}
		return true, nil
	}
	if n.op == "Constant" {
		if a, ok := n.attributes["value"]; ok && a.t != nil {
			shape, err := c.dims(out, a.t.dims)
			if err != nil {
				return true, err
			}
			c.shapes[out], c.made[out] = shape, n
			c.note(out, a.t)
			return true, nil
		}
		if a, ok := n.attributes["value_ints"]; ok {
			return set(a.ints, false)
		}
		if a, ok := n.attributes["value_int"]; ok {
			return set([]int64{a.i}, true)
		}
		if a, ok := n.attributes["value_floats"]; ok {
			c.shapes[out], c.reals[out] = []int{len(a.reals)}, a.reals
			return true, nil
		}
		if a, ok := n.attributes["value_float"]; ok {
			c.reals[out] = []float64{a.f}
		}
		c.shapes[out] = []int{}
		return true, nil
	}
	if n.op == "Shape" && len(n.inputs) > 0 {
		s, ok := c.shapeOf(n.inputs[0])
		if !ok {
			return false, nil
		}
		rank := int64(len(s))
		clamp := func(i int64) int64 {
			if i < 0 {
				i += rank
			}
			return min(max(i, 0), rank)
		}
		from, to := clamp(attrInt(n, "start", 0)), clamp(attrInt(n, "end", rank))
		var v []int64
		for _, e := range s[from:max(from, to)] {
			v = append(v, int64(e))
		}
		return set(v, false)
	}
	if n.op == "Size" && len(n.inputs) > 0 {
		s, ok := c.shapeOf(n.inputs[0])
		if !ok {
			return false, nil
		}
		return set([]int64{dnn.Elements(s)}, true)
	}
	if n.op == "Cast" && c.static(n.inputs[0]) && len(c.reals[n.inputs[0]]) > 0 {
		if to := attrInt(n, "to", 0); to == kindInt64 || to == kindInt32 {
			var v []int64
			for _, x := range c.reals[n.inputs[0]] {
				v = append(v, int64(x))
			}
			return set(v, len(c.shapes[n.inputs[0]]) == 0)
		}
	}
	var in [][]int64
	for _, name := range n.inputs {
		if name == "" {
			in = append(in, nil)
			continue
		}
		v, ok := c.consts[name]
		if !ok || !c.static(name) {
			return false, nil
		}
		in = append(in, v)
	}
	if len(in) == 0 {
		return false, nil
	}
	scalar := len(c.shapes[n.inputs[0]]) == 0
	switch n.op {
	case "Identity", "Cast", "Squeeze", "Unsqueeze", "Reshape":
		one := n.op == "Squeeze" && len(in[0]) == 1 || n.op != "Unsqueeze" && scalar
		return set(in[0], one)
	case "Gather":
		if len(in) < 2 {
			return false, nil
		}
		var v []int64
		for _, i := range in[1] {
			if i < 0 {
				i += int64(len(in[0]))
			}
			if i < 0 || i >= int64(len(in[0])) {
				return true, c.fail("node %s: element %d of %d", c.label(n), i, len(in[0]))
			}
			v = append(v, in[0][i])
		}
		return set(v, len(c.shapes[n.inputs[1]]) == 0)
	case "Concat":
		return set(slices.Concat(in...), false)
	case "Slice":
		starts, ends, steps := n.attributes["starts"].ints, n.attributes["ends"].ints, []int64(nil)
		if len(in) > 2 {
			starts, ends = in[1], in[2]
		}
		if len(in) > 4 {
			steps = in[4]
		}
		if len(starts) != 1 || len(ends) != 1 || len(steps) > 1 || len(c.shapes[n.inputs[0]]) != 1 {
			return false, nil
		}
		lo, count, step := sliced(starts[0], ends[0], append(steps, 1)[0], int64(len(in[0])))
		v := []int64{}
		for i := range count {
			v = append(v, in[0][lo+i*step])
		}
		return set(v, false)
	case "ConstantOfShape":
		total := int64(1)
		for _, e := range in[0] {
			if e < 0 || e > 1<<16 || total > 1<<16 {
				return false, nil
			}
			total *= e
		}
		fill := int64(0)
		if a, ok := n.attributes["value"]; ok && a.t != nil {
			v, ok := a.t.integers()
			if !ok || len(v) != 1 {
				return false, nil
			}
			fill = v[0]
		} else {
			return false, nil // of floating-point numbers
		}
		shape, err := c.dims(out, in[0])
		if err != nil {
			return true, err
		}
		c.consts[out], c.shapes[out] = slices.Repeat([]int64{fill}, int(total)), shape
		return true, nil
	case "Range":
		if len(in) < 3 || len(in[0]) != 1 || len(in[1]) != 1 || len(in[2]) != 1 || in[2][0] == 0 || (in[1][0]-in[0][0])/in[2][0] > 1<<16 {
			return false, nil
		}
		v := []int64{}
		for i := in[0][0]; in[2][0] > 0 && i < in[1][0] || in[2][0] < 0 && i > in[1][0]; i += in[2][0] {
			v = append(v, i)
		}
		return set(v, false)
	case "ReduceProd":
		p := int64(1)
		for _, v := range in[0] {
			p *= v
		}
		return set([]int64{p}, attrInt(n, "keepdims", 1) == 0)
	case "Equal", "Where":
		size := 0
		for _, v := range in {
			size = max(size, len(v))
		}
		if len(in) < 2 || n.op == "Where" && len(in) < 3 {
			return false, nil
		}
		var v []int64
		for i := range size {
			at := func(k int) int64 { return in[k][i%len(in[k])] }
			switch {
			case slices.ContainsFunc(in, func(x []int64) bool { return len(x) == 0 || size%len(x) != 0 }):
				return false, nil
			case n.op == "Equal":
				v = append(v, map[bool]int64{true: 1}[at(0) == at(1)])
			case at(0) != 0:
				v = append(v, at(1))
			default:
				v = append(v, at(2))
			}
		}
		return set(v, false)
	case "Add", "Sub", "Mul", "Div", "Min", "Max", "Mod":
		if len(in) != 2 || len(in[0]) == 0 || len(in[1]) == 0 {
			return false, nil
		}
		var v []int64
		for i := range max(len(in[0]), len(in[1])) {
			a, b := in[0][i%len(in[0])], in[1][i%len(in[1])]
			switch n.op {
			case "Add":
				a += b
			case "Sub":
				a -= b
			case "Mul":
				a *= b
			case "Min":
				a = min(a, b)
			case "Max":
				a = max(a, b)
			default:
				if b == 0 {
					return true, c.fail("node %s: division by zero", c.label(n))
				}
				if n.op == "Mod" {
					a %= b
					if a != 0 && a < 0 != (b < 0) && attrInt(n, "fmod", 0) == 0 {
						a += b
					}
				} else {
					a /= b
				}
			}
			v = append(v, a)
		}
		return set(v, scalar && len(c.shapes[n.inputs[1]]) == 0)
	}
	return false, nil
}

func (c *converter) conv(n *node, x, w string, bias bool) error {
	out := n.outputs[0]
	s, ok1 := c.shapeOf(x)
	t, ok2 := c.shapeOf(w)
	if !ok1 || !ok2 || len(s) < 3 || len(s) > 5 || len(t) != len(s) {
		return c.fail("node %s: convolution of shapes %v and %v, expected batch, channels and one to three sizes", c.label(n), s, t)
	}
	if bias {
		c.bias++
	}
	k := len(s) - 2
	groups := int(attrInt(n, "group", 1))
	if groups < 1 || s[1]%groups != 0 {
		return c.fail("node %s: %d channels in %d groups, expected a multiple", c.label(n), s[1], groups)
	}
	kernel := t[2:]
	if ks, ok := n.attributes["kernel_shape"]; ok {
		for d := range min(k, len(ks.ints)) {
			if int(ks.ints[d]) != kernel[d] {
				return c.fail("node %s: kernel_shape %v, weights of shape %v", c.label(n), ks.ints, t)
			}
		}
	}
	stride, dil := attrInts(n, "strides", k, 1), attrInts(n, "dilations", k, 1)
	cv := dnn.Conv{N: s[0], C: s[1], G: groups, Kernel: kernel, Stride: stride, Dilation: dil, In: s[2:]}
	if n.op == "ConvTranspose" {
		if t[0] != s[1] {
			return c.fail("node %s: weights of shape %v for %d channels", c.label(n), t, s[1])
		}
		cv.K, cv.Transposed = t[1]*groups, true
		if err := c.turnedPads(n, s[2:], &cv); err != nil {
			return err
		}
	} else {
		if t[1]*groups != s[1] || t[0]%groups != 0 {
			return c.fail("node %s: weights of shape %v for %d channels in %d groups", c.label(n), t, s[1], groups)
		}
		cv.K = t[0]
		var err error
		if cv.PadBefore, cv.Out, err = c.pads(n, s[2:], kernel, stride, dil); err != nil {
			return err
		}
	}
	op, err := dnn.NewConv(c.label(n), cv, c.o.Bits)
	if err != nil {
		return c.fail("node %s: %s", c.label(n), strings.TrimPrefix(err.Error(), "dnn: "))
	}
	return c.mac(n, out, op, append([]int{s[0], cv.K}, cv.Out...), x, w)
}

// mac adds a node whose operands are values; static ones are weights.
func (c *converter) mac(n *node, out string, op *dnn.Operator, shape []int, values ...string) error {
	var ins []int
	for i, v := range values {
		t := &op.Tensors[i]
		if c.static(v) {
			t.Role, t.Type = dnn.Weight, c.o.Bits.Weight
			continue
		}
		t.Role, t.Type = dnn.Activation, c.o.Bits.Activation
		ins = append(ins, c.nodeOf[v])
	}
	if len(ins) == 0 { // computed before the first inference: no product of the network
		_, err := c.add(out, dnn.Node{Kind: dnn.Constant, Shape: shape})
		return err
	}
	weights := ""
	for _, v := range values {
		if c.static(v) && c.readers[v] > 1 {
			weights = v
		}
	}
	at, err := c.add(out, dnn.Node{Name: c.label(n), Kind: dnn.MAC, Inputs: ins, Shape: shape, Op: op, Shared: weights})
	if err != nil || !c.o.Data {
		return err
	}
	for i, v := range values {
		if c.static(v) {
			return c.weights(n, c.net.Nodes[at].Name, op, i, v)
		}
	}
	return nil
}

func (c *converter) matmul(n *node, a, b string) error {
	s, ok1 := c.shapeOf(a)
	t, ok2 := c.shapeOf(b)
	if !ok1 || !ok2 || len(s) < 1 || len(t) < 1 {
		return c.fail("node %s: product of shapes %v and %v, expected matrices", c.label(n), s, t)
	}
	s1, t1 := slices.Clone(s), slices.Clone(t)
	if len(s1) == 1 {
		s1 = []int{1, s1[0]}
	}
	if len(t1) == 1 {
		t1 = []int{t1[0], 1}
	}
	k := s1[len(s1)-1]
	if t1[len(t1)-2] != k {
		return c.fail("node %s: product of shapes %v and %v", c.label(n), s, t)
	}
	m, cols := s1[len(s1)-2], t1[len(t1)-1]
	leadA, leadB := s1[:len(s1)-2], t1[:len(t1)-2]
	lead, ok := broadcastShape(leadA, leadB)
	if !ok {
		return c.fail("node %s: product of shapes %v and %v", c.label(n), s, t)
	}
	shape := append(slices.Clone(lead), m, cols)
	switch {
	case len(s) == 1 && len(t) == 1:
		shape = []int{1}
	case len(s) == 1:
		shape = append(slices.Clone(lead), cols)
	case len(t) == 1:
		shape = append(slices.Clone(lead), m)
	}
	var op *dnn.Operator
	var err error
	batchA, batchB, batch := dnn.Elements(leadA), dnn.Elements(leadB), dnn.Elements(lead)
	switch {
	case batchB == 1: // one matrix for all rows
		op, err = dnn.NewGEMM(c.label(n), 1, int(batchA)*m, cols, k, true, c.o.Bits)
	case batchA == batch && batchB == batch:
		op, err = dnn.NewGEMM(c.label(n), int(batch), m, cols, k, false, c.o.Bits)
	default:
		op, err = c.batched(c.label(n), leadA, leadB, lead, m, cols, k)
	}
	if err != nil {
		return c.fail("node %s: %s", c.label(n), strings.TrimPrefix(err.Error(), "dnn: "))
	}
	return c.mac(n, n.outputs[0], op, shape, a, b)
}

// batched is a product of matrices some of whose leading dimensions are there in one
// operand only.
func (c *converter) batched(name string, leadA, leadB, lead []int, m, cols, k int) (*dnn.Operator, error) {
	letters := func(own []int) (s string, extents []int) {
		for d, e := range own {
			if e == lead[len(lead)-len(own)+d] {
				s += string(rune('a' + len(lead) - len(own) + d))
			} else {
				s += "." // of one element
			}
		}
		return s, slices.Clone(own)
	}
	a, ea := letters(leadA)
	b, eb := letters(leadB)
	out, _ := letters(lead)
	return dnn.NewEinsum(name, [3]string{a + "xz", b + "zy", out + "xy"}, append(ea, m, k), append(eb, k, cols), c.o.Bits)
}

// einsum knows sums of products of two operands.
func (c *converter) einsum(n *node) error {
	equation := strings.ReplaceAll(n.attributes["equation"].s, " ", "")
	left, out, explicit := strings.Cut(equation, "->")
	terms := strings.Split(left, ",")
	if len(terms) != 2 || len(n.inputs) != 2 {
		return c.fail("node %s: Einsum %q of %d operands, expected two", c.label(n), equation, len(n.inputs))
	}
	var shapes [2][]int
	for i := range 2 {
		s, ok := c.shapeOf(n.inputs[i])
		if !ok {
			return c.fail("node %s: shape of %q is not known", c.label(n), n.inputs[i])
		}
		shapes[i] = s
	}
	// What the dots stand for gets digits, counted from the last dimension.
	rank := 0
	for i, t := range terms {
		if before, after, ok := strings.Cut(t, "..."); ok {
			more := len(shapes[i]) - len(before) - len(after)
			if more < 0 || more > 9 {
				return c.fail("node %s: Einsum %q on shape %v", c.label(n), equation, shapes[i])
			}
			rank = max(rank, more)
			terms[i] = before + "9876543210"[10-more:] + after
		}
	}
	if !explicit { // the dots, then letters that are there once, in order
		out = "..."
		for _, l := range slices.Sorted(slices.Values([]rune(strings.Join(terms, "")))) {
			if strings.Count(terms[0]+terms[1], string(l)) == 1 && (l < '0' || l > '9') {
				out += string(l)
			}
		}
	}
	out = strings.Replace(out, "...", "9876543210"[10-rank:], 1)
	size := map[rune]int{}
	for i, t := range terms {
		if len(t) != len(shapes[i]) {
			return c.fail("node %s: Einsum %q on shape %v", c.label(n), equation, shapes[i])
		}
		for d, l := range t {
			size[l] = max(size[l], shapes[i][d])
		}
	}
	for i, t := range terms { // of one element where the other has more
		b := []byte(t)
		for d, l := range t {
			if shapes[i][d] == 1 && size[l] > 1 {
				b[d] = '.'
			}
		}
		terms[i] = string(b)
	}
	var shape []int
	for _, l := range out {
		if size[l] == 0 {
			return c.fail("node %s: Einsum %q: %q is in no operand", c.label(n), equation, l)
		}
		shape = append(shape, size[l])
	}
	if shape == nil {
		shape = []int{1}
	}
	op, err := dnn.NewEinsum(c.label(n), [3]string{terms[0], terms[1], out}, shapes[0], shapes[1], c.o.Bits)
	if err != nil {
		return c.fail("node %s: Einsum %q: %s", c.label(n), equation, strings.TrimPrefix(err.Error(), "dnn: "))
	}
	return c.mac(n, n.outputs[0], op, shape, n.inputs...)
}

func (c *converter) gemm(n *node) error {
	s, ok1 := c.shapeOf(n.inputs[0])
	t, ok2 := c.shapeOf(n.inputs[1])
	if !ok1 || !ok2 || len(s) != 2 || len(t) != 2 {
		return c.fail("node %s: Gemm of shapes %v and %v, expected matrices", c.label(n), s, t)
	}
	if len(n.inputs) > 2 && n.inputs[2] != "" {
		c.bias++
	}
	turn := func(i int, attr string, shape []int) (string, []int, error) {
		name := n.inputs[i]
		if attrInt(n, attr, 0) == 0 {
			return name, shape, nil
		}
		turned := []int{shape[1], shape[0]}
		if c.static(name) {
			return name, turned, nil // the order in which weights lie does not matter here
		}
		value := fmt.Sprintf("%s.%s", n.outputs[0], attr)
		_, err := c.add(value, dnn.Node{Kind: dnn.Transpose, Inputs: []int{c.nodeOf[name]}, Shape: turned, Perm: []int{1, 0}})
		return value, turned, err
	}
	a, s, err := turn(0, "transA", s)
	if err != nil {
		return err
	}
	b, t, err := turn(1, "transB", t)
	if err != nil {
		return err
	}
	if s[1] != t[0] {
		return c.fail("node %s: Gemm of shapes %v and %v", c.label(n), s, t)
	}
	op, err := dnn.NewGEMM(c.label(n), 1, s[0], t[1], s[1], true, c.o.Bits)
	if err != nil {
		return c.fail("node %s: %s", c.label(n), strings.TrimPrefix(err.Error(), "dnn: "))
	}
	return c.mac(n, n.outputs[0], op, []int{s[0], t[1]}, a, b)
}

func (c *converter) pool(n *node, x int) error {
	s := c.net.Nodes[x].Shape
	k := len(s) - 2
	if k < 1 {
		return c.fail("node %s: pool of shape %v", c.label(n), s)
	}
	kind := dnn.MaxPool
	if strings.Contains(n.op, "Average") {
		kind = dnn.AvgPool
	}
	y := dnn.Node{Kind: kind, Inputs: []int{x}}
	if strings.HasPrefix(n.op, "Global") {
		y.Window, y.Stride, y.PadBefore = slices.Clone(s[2:]), make([]int, k), make([]int, k)
		y.Shape = slices.Clone(s[:2])
		for d := range k {
			y.Stride[d] = 1
			y.Shape = append(y.Shape, 1)
		}
	} else {
		if a, ok := n.attributes["kernel_shape"]; !ok || len(a.ints) != k {
			return c.fail("node %s: pool without a window of %d sizes", c.label(n), k)
		}
		y.Window, y.Stride = attrInts(n, "kernel_shape", k, 1), attrInts(n, "strides", k, 1)
		dil := attrInts(n, "dilations", k, 1)
		before, out, err := c.pads(n, s[2:], y.Window, y.Stride, dil)
		if err != nil {
			return err
		}
		for d := range k {
			if span := (y.Window[d]-1)*dil[d] + 1; before[d] >= span || (out[d]-1)*y.Stride[d]-before[d] >= s[2+d] {
				return c.fail("node %s: pads along dimension %d hold whole windows of span %d, expected less", c.label(n), d, span)
			}
		}
		if slices.Max(dil) > 1 {
			y.Dilation = dil
		}
		y.Inside = kind == dnn.AvgPool && attrInt(n, "count_include_pad", 0) == 0 && slices.Max(append(slices.Clone(before), 0)) > 0
		y.PadBefore, y.Shape = before, append(slices.Clone(s[:2]), out...)
	}
	_, err := c.add(n.outputs[0], y)
	return err
}

// reduce knows means over the sizes behind the channels; others are skipped.
func (c *converter) reduce(n *node, x int) error {
	s := c.net.Nodes[x].Shape
	axes := n.attributes["axes"].ints
	if len(n.inputs) > 1 && n.inputs[1] != "" {
		axes = c.consts[n.inputs[1]]
	}
	keep := attrInt(n, "keepdims", 1) != 0
	in := map[int]bool{}
	for _, a := range axes {
		if a < 0 {
			a += int64(len(s))
		}
		if a < 0 || a >= int64(len(s)) {
			return c.fail("node %s: axis %d of %d dimensions", c.label(n), a, len(s))
		}
		in[int(a)] = true
	}
	// The axes become the last ones: a window over them.
	k := len(in)
	if k == 0 {
		if attrInt(n, "noop_with_empty_axes", 0) != 0 {
			c.nodeOf[n.outputs[0]] = x
			return nil
		}
		k = len(s)
	}
	shape := slices.Clone(s) // of the result, with ones
	var perm, last []int
	for d := range s {
		if in[d] || len(in) == 0 {
			last = append(last, d)
			shape[d] = 1
		} else {
			perm = append(perm, d)
		}
	}
	perm = append(perm, last...)
	if !slices.IsSorted(perm) {
		turned := make([]int, len(s))
		for i, d := range perm {
			turned[i] = s[d]
		}
		y, err := c.add(n.outputs[0]+".turned", dnn.Node{Kind: dnn.Transpose, Inputs: []int{x}, Shape: turned, Perm: perm})
		if err != nil {
			return err
		}
		x, s = y, turned
	}
	from := x
	if k == len(s) { // a window needs something around it
		y, err := c.add(n.outputs[0]+".flat", dnn.Node{Kind: dnn.Reshape, Inputs: []int{x}, Shape: append([]int{1}, s...)})
		if err != nil {
			return err
		}
		from, s = y, append([]int{1}, s...)
	}
	kind := dnn.AvgPool
	if n.op == "ReduceMax" {
		kind = dnn.MaxPool
	}
	y := dnn.Node{Kind: kind, Inputs: []int{from}, Window: slices.Clone(s[len(s)-k:]), Stride: make([]int, k), PadBefore: make([]int, k), Shape: slices.Clone(s)}
	for d := range k {
		y.Stride[d], y.Shape[len(s)-k+d] = 1, 1
	}
	at, err := c.add(n.outputs[0]+".mean", y)
	if err != nil {
		return err
	}
	if !keep {
		shape = slices.Clone(s[:len(s)-k])
	}
	if len(shape) == 0 {
		shape = []int{1}
	}
	_, err = c.add(n.outputs[0], dnn.Node{Kind: dnn.Reshape, Inputs: []int{at}, Shape: shape})
	return err
}

func (c *converter) reshape(n *node, x int) error {
	s := c.net.Nodes[x].Shape
	var shape []int
	var arg []int64
	known := false
	if len(n.inputs) > 1 && n.inputs[1] != "" {
		arg, known = c.consts[n.inputs[1]]
		if !known {
			return c.fail("node %s: %s to what is computed, expected a constant", c.label(n), n.op)
		}
	} else if a, ok := n.attributes["axes"]; ok {
		arg, known = a.ints, true
	}
	switch n.op {
	case "Reshape":
		rest := -1
		total := int64(1)
		for i, v := range arg {
			switch {
			case v == 0 && i < len(s) && attrInt(n, "allowzero", 0) == 0:
				v = int64(s[i])
			case v == -1 && rest < 0:
				rest = i
				shape = append(shape, 1)
				continue
			case v < 1 || v > 1<<40:
				return c.fail("node %s: shape %v", c.label(n), arg)
			}
			if total > 1<<40/v {
				return c.fail("node %s: shape %v", c.label(n), arg)
			}
			total *= v
			shape = append(shape, int(v))
		}
		if rest >= 0 {
			if dnn.Elements(s)%total != 0 {
				return c.fail("node %s: shape %v of %v", c.label(n), arg, s)
			}
			shape[rest] = int(dnn.Elements(s) / total)
		}
	case "Squeeze", "Unsqueeze":
		rank := len(s)
		if n.op == "Unsqueeze" {
			rank += len(arg)
		}
		at := map[int]bool{}
		for _, a := range arg {
			if a < 0 {
				a += int64(rank)
			}
			if a < 0 || a >= int64(rank) {
				return c.fail("node %s: axis %d of %d dimensions", c.label(n), a, rank)
			}
			at[int(a)] = true
		}
		if n.op == "Unsqueeze" {
			k := 0
			for d := range rank {
				if at[d] {
					shape = append(shape, 1)
				} else if k < len(s) {
					shape = append(shape, s[k])
					k++
				}
			}
		} else {
			for d, e := range s {
				if at[d] && e == 1 || !known && e == 1 {
					continue
				}
				shape = append(shape, e)
			}
		}
	case "Expand":
		var want []int
		for _, v := range arg {
			if v < 1 || v > 1<<30 {
				return c.fail("node %s: shape %v", c.label(n), arg)
			}
			want = append(want, int(v))
		}
		out, ok := broadcastShape(s, want)
		if !ok {
			return c.fail("node %s: shape %v does not broadcast to %v", c.label(n), s, want)
		}
		_, err := c.add(n.outputs[0], dnn.Node{Kind: dnn.Add, Inputs: []int{x}, Shape: out})
		return err
	}
	if len(shape) == 0 {
		shape = []int{1}
	}
	if dnn.Elements(shape) != dnn.Elements(s) {
		return c.fail("node %s: %s of %v to %v", c.label(n), n.op, s, shape)
	}
	_, err := c.add(n.outputs[0], dnn.Node{Kind: dnn.Reshape, Inputs: []int{x}, Shape: shape})
	return err
}

func (c *converter) split(n *node, x int) error {
	s := c.net.Nodes[x].Shape
	a, err := c.axis(n, 0, len(s))
	if err != nil {
		return err
	}
	sizes := n.attributes["split"].ints
	if len(n.inputs) > 1 && n.inputs[1] != "" {
		sizes = c.consts[n.inputs[1]]
	}
	if sizes == nil {
		each := (s[a] + len(n.outputs) - 1) / len(n.outputs)
		for left := s[a]; left > 0; left -= each {
			sizes = append(sizes, int64(min(each, left)))
		}
	}
	if len(sizes) != len(n.outputs) {
		return c.fail("node %s: %d parts for %d outputs", c.label(n), len(sizes), len(n.outputs))
	}
	start := 0
	for i, out := range n.outputs {
		if sizes[i] < 1 || start+int(sizes[i]) > s[a] {
			return c.fail("node %s: parts %v of %d", c.label(n), sizes, s[a])
		}
		shape := slices.Clone(s)
		shape[a] = int(sizes[i])
		if out != "" {
			if _, err := c.add(out, dnn.Node{Kind: dnn.Slice, Inputs: []int{x}, Shape: shape, Axis: a, Start: start}); err != nil {
				return err
			}
		}
		start += int(sizes[i])
	}
	return nil
}

func (c *converter) slice(n *node, x int) error {
	arg := func(i int, attr string) []int64 {
		if a, ok := n.attributes[attr]; ok {
			return a.ints
		}
		if i < len(n.inputs) {
			return c.consts[n.inputs[i]]
		}
		return nil
	}
	starts, ends, axes, steps := arg(1, "starts"), arg(2, "ends"), arg(3, "axes"), arg(4, "steps")
	if len(starts) == 0 || len(starts) != len(ends) {
		return c.fail("node %s: Slice by what is computed, expected constants", c.label(n))
	}
	at := x
	for i := range starts {
		s := c.net.Nodes[at].Shape
		a := int64(i)
		if i < len(axes) {
			a = axes[i]
		}
		if a < 0 {
			a += int64(len(s))
		}
		step := int64(1)
		if i < len(steps) {
			step = steps[i]
		}
		if a < 0 || a >= int64(len(s)) || step == 0 {
			return c.fail("node %s: axis %d of %d dimensions, steps %v", c.label(n), a, len(s), steps)
		}
		lo, count, step := sliced(starts[i], ends[i], step, int64(s[a]))
		if count < 1 {
			return c.fail("node %s: slice from %d to %d of %d", c.label(n), starts[i], ends[i], s[a])
		}
		shape := slices.Clone(s)
		shape[a] = int(count)
		value := n.outputs[0]
		if i < len(starts)-1 {
			value = fmt.Sprintf("%s.axis%d", value, a)
		}
		y := dnn.Node{Kind: dnn.Slice, Inputs: []int{at}, Shape: shape, Axis: int(a), Start: int(lo)}
		if step != 1 {
			y.Step = int(step)
		}
		var err error
		if at, err = c.add(value, y); err != nil {
			return err
		}
	}
	return nil
}

// sliced is the first element of a slice of size elements, how many there are, and the
// step, at most size either way.
func sliced(start, end, step, size int64) (first, count, by int64) {
	step = min(max(step, -size), size)
	if start < 0 {
		start += size
	}
	if end < 0 {
		end = max(end+size, -1)
	}
	if step > 0 {
		start, end = min(max(start, 0), size), min(max(end, 0), size)
		return start, max(0, (end-start+step-1)/step), step
	}
	start, end = min(max(start, 0), size-1), min(max(end, -1), size-1)
	return start, max(0, (start-end-step-1)/-step), step
}
