package onnx

import (
	"fmt"
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
	out := n.outputs[0]
	if done, err := c.fold(n); done || err != nil {
		return true, err
	}
	if n.op == "Constant" {
		return true, nil // of no integers: folded above
	}
	arity := map[string]int{"Conv": 2, "ConvTranspose": 2, "ConvInteger": 2, "QLinearConv": 8, "MatMul": 2, "MatMulInteger": 2, "QLinearMatMul": 8, "Gemm": 2, "QGemm": 2,
		"Add": 2, "Sub": 2, "Mul": 2, "Div": 2, "Max": 1, "Min": 1, "Sum": 1, "Concat": 1, "Reshape": 2, "ConstantOfShape": 1}
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
	axis := func(a int64, rank int) (int, error) {
		if a < 0 {
			a += int64(rank)
		}
		if a < 0 || a >= int64(rank) {
			return 0, c.fail("node %s: axis %d of %d dimensions", c.label(n), a, rank)
		}
		return int(a), nil
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
		a, err := axis(attrInt(n, "axis", -1), len(s))
		if err != nil {
			return true, err
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
	case "ReduceMean", "ReduceMax", "ReduceSum":
		return true, c.reduce(n, x)
	case "Concat":
		a, err := axis(attrInt(n, "axis", 1), len(s))
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
		// One element along an axis, as of the tokens of a sequence.
		index, ok := c.consts[n.inputs[min(1, len(n.inputs)-1)]]
		if !ok || len(index) != 1 {
			return false, nil
		}
		a, err := axis(attrInt(n, "axis", 0), len(s))
		if err != nil {
			return true, err
		}
		at := index[0]
		if at < 0 {
			at += int64(s[a])
		}
		if at < 0 || at >= int64(s[a]) {
			return true, c.fail("node %s: element %d of %d", c.label(n), at, s[a])
		}
		shape := slices.Clone(s)
		shape[a] = 1
		k, err := c.add(out+".slice", dnn.Node{Kind: dnn.Slice, Inputs: []int{x}, Shape: shape, Axis: a, Start: int(at)})
		if err != nil {
			return true, err
		}
		if t, _ := c.shapeOf(n.inputs[1]); len(t) > 0 {
			c.nodeOf[out] = k
			return true, nil
		}
		rest := slices.Delete(slices.Clone(shape), a, a+1)
		if len(rest) == 0 {
			rest = []int{1}
		}
		return add(dnn.Node{Kind: dnn.Reshape, Inputs: []int{k}, Shape: rest})
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
			c.shapes[out] = shape
			if v, ok := a.t.integers(); ok {
				c.consts[out] = v
			}
			return true, nil
		}
		if a, ok := n.attributes["value_ints"]; ok {
			return set(a.ints, false)
		}
		if a, ok := n.attributes["value_int"]; ok {
			return set([]int64{a.i}, true)
		}
		c.shapes[out] = []int{}
		return true, nil
	}
	if n.op == "Shape" && len(n.inputs) > 0 {
		s, ok := c.shapeOf(n.inputs[0])
		if !ok {
			return false, nil
		}
		var v []int64
		for _, e := range s {
			v = append(v, int64(e))
		}
		return set(v, false)
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
		if len(in) < 3 || len(in[1]) != 1 || len(in[2]) != 1 {
			return false, nil
		}
		lo, hi := in[1][0], in[2][0]
		size := int64(len(in[0]))
		if lo < 0 {
			lo += size
		}
		if hi < 0 {
			hi += size
		}
		lo, hi = min(max(lo, 0), size), min(max(hi, 0), size)
		return set(in[0][lo:max(lo, hi)], false)
	case "Add", "Sub", "Mul", "Div":
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
			default:
				if b == 0 {
					return true, c.fail("node %s: division by zero", c.label(n))
				}
				a /= b
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
		pads, extra := attrInts(n, "pads", 2*k, 0), attrInts(n, "output_padding", k, 0)
		for d := range k {
			o := (s[2+d]-1)*stride[d] + (kernel[d]-1)*dil[d] + 1 - pads[d] - pads[d+k] + extra[d]
			if shape, ok := n.attributes["output_shape"]; ok && d < len(shape.ints) {
				o = int(shape.ints[d])
			}
			if o < 1 {
				return c.fail("node %s: size %d of the output, expected at least 1", c.label(n), o)
			}
			cv.Out, cv.PadBefore = append(cv.Out, o), append(cv.PadBefore, pads[d])
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
	if len(ins) == 0 {
		return c.fail("node %s: both operands are static", c.label(n))
	}
	_, err := c.add(out, dnn.Node{Name: c.label(n), Kind: dnn.MAC, Inputs: ins, Shape: shape, Op: op})
	return err
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
	batchA, batchB := dnn.Elements(s1[:len(s1)-2]), dnn.Elements(t1[:len(t1)-2])
	lead, ok := broadcastShape(s1[:len(s1)-2], t1[:len(t1)-2])
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
	switch {
	case batchB == 1: // one matrix for all rows
		op, err = dnn.NewGEMM(c.label(n), 1, int(batchA)*m, cols, k, true, c.o.Bits)
	case batchA == batchB:
		op, err = dnn.NewGEMM(c.label(n), int(batchA), m, cols, k, false, c.o.Bits)
	default:
		return c.fail("node %s: product of shapes %v and %v broadcasts in a batch, expected equal batches or one matrix", c.label(n), s, t)
	}
	if err != nil {
		return c.fail("node %s: %s", c.label(n), strings.TrimPrefix(err.Error(), "dnn: "))
	}
	return c.mac(n, n.outputs[0], op, shape, a, b)
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
		before, out, err := c.pads(n, s[2:], y.Window, y.Stride, attrInts(n, "dilations", k, 1))
		if err != nil {
			return err
		}
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
	// The axes must be the last ones: a window over them.
	k := len(in)
	if k == 0 {
		k = len(s)
	}
	for d := len(s) - k; d < len(s); d++ {
		if len(in) > 0 && !in[d] {
			return c.fail("node %s: %s over axes %v of %v, expected the last ones", c.label(n), n.op, axes, s)
		}
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
	value := n.outputs[0]
	if !keep {
		value += ".kept"
	}
	at, err := c.add(value, y)
	if err != nil || keep {
		return err
	}
	shape := slices.Clone(s[:len(s)-k])
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
	a := attrInt(n, "axis", 0)
	if a < 0 {
		a += int64(len(s))
	}
	if a < 0 || a >= int64(len(s)) {
		return c.fail("node %s: axis %d of %d dimensions", c.label(n), a, len(s))
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
			if _, err := c.add(out, dnn.Node{Kind: dnn.Slice, Inputs: []int{x}, Shape: shape, Axis: int(a), Start: start}); err != nil {
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
		if a < 0 || a >= int64(len(s)) || i < len(steps) && steps[i] != 1 {
			return c.fail("node %s: axis %d of %d dimensions, steps %v, expected steps of 1", c.label(n), a, len(s), steps)
		}
		size := int64(s[a])
		lo, hi := starts[i], ends[i]
		if lo < 0 {
			lo += size
		}
		if hi < 0 {
			hi += size
		}
		lo, hi = min(max(lo, 0), size), min(max(hi, 0), size)
		if hi <= lo {
			return c.fail("node %s: slice from %d to %d of %d", c.label(n), starts[i], ends[i], size)
		}
		shape := slices.Clone(s)
		shape[a] = int(hi - lo)
		value := n.outputs[0]
		if i < len(starts)-1 {
			value = fmt.Sprintf("%s.axis%d", value, a)
		}
		var err error
		if at, err = c.add(value, dnn.Node{Kind: dnn.Slice, Inputs: []int{at}, Shape: shape, Axis: int(a), Start: int(lo)}); err != nil {
			return err
		}
	}
	return nil
}
