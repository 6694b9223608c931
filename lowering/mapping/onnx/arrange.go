package onnx

import (
	"slices"

	"github.com/bitsched/bitsched/lowering/mapping/dnn"
)

// turnedPads works out pads and output of a transposed convolution.
func (c *converter) turnedPads(n *node, in []int, cv *dnn.Conv) error {
	k := len(in)
	pads, extra := attrInts(n, "pads", 2*k, 0), attrInts(n, "output_padding", k, 0)
	shape := n.attributes["output_shape"].ints
	if len(shape) > k {
		shape = shape[len(shape)-k:]
	}
	auto := n.attributes["auto_pad"].s
	for d := range k {
		if cv.Stride[d] < 1 || cv.Dilation[d] < 1 || in[d] > 1<<30/cv.Stride[d] || cv.Kernel[d] > 1<<30/cv.Dilation[d] || extra[d] < 0 || extra[d] > 1<<20 || pads[d] < -1<<20 || pads[d+k] < -1<<20 {
			return c.fail("node %s: strides %v, dilations %v, pads %v, expected at least 1, and pads of at least 0", c.label(n), cv.Stride, cv.Dilation, pads)
		}
		full := (in[d]-1)*cv.Stride[d] + (cv.Kernel[d]-1)*cv.Dilation[d] + 1 + extra[d]
		out := full - pads[d] - pads[d+k]
		same := auto == "SAME_UPPER" || auto == "SAME_LOWER"
		switch {
		case len(shape) == k:
			out = int(shape[d])
		case same:
			out = in[d] * cv.Stride[d]
		case auto == "VALID":
			out = full
		}
		before := pads[d]
		if same || len(shape) == k {
			total := full - out
			before = total - total/2
			if auto == "SAME_UPPER" {
				before = total / 2
			}
		} else if auto == "VALID" {
			before = 0
		}
		if out < 1 || out > full+1<<20 {
			return c.fail("node %s: size %d of the output, expected at least 1", c.label(n), out)
		}
		cv.Out, cv.PadBefore = append(cv.Out, out), append(cv.PadBefore, before)
	}
	return nil
}

// axis is the axis that a node names, counted from the end where it is negative.
func (c *converter) axis(n *node, otherwise int64, rank int) (int, error) {
	a := attrInt(n, "axis", otherwise)
	if a < 0 {
		a += int64(rank)
	}
	if a < 0 || a >= int64(rank) {
		return 0, c.fail("node %s: axis %d of %d dimensions", c.label(n), a, rank)
	}
	return int(a), nil
}

// gather takes elements along an axis: one that is known is a slice, as of the tokens of a
// sequence; others are looked up, as in a table of embeddings.
func (c *converter) gather(n *node, x int) error {
	s := c.net.Nodes[x].Shape
	a, err := c.axis(n, 0, len(s))
	if err != nil {
		return err
	}
	by, ok := c.shapeOf(n.inputs[1])
	if !ok {
		return c.fail("node %s: shape of %q is not known", c.label(n), n.inputs[1])
	}
	shape := slices.Concat(s[:a], by, s[a+1:])
	if len(shape) == 0 {
		shape = []int{1}
	}
	index, known := c.consts[n.inputs[1]]
	if !known || len(index) != 1 {
		y, err := c.input(n, 1)
		if err != nil {
			return err
		}
		_, err = c.add(n.outputs[0], dnn.Node{Kind: dnn.Gather, Inputs: []int{x, y}, Shape: shape, Axis: a})
		return err
	}
	at := index[0]
	if at < 0 {
		at += int64(s[a])
	}
	if at < 0 || at >= int64(s[a]) {
		return c.fail("node %s: element %d of %d", c.label(n), at, s[a])
	}
	one := slices.Clone(s)
	one[a] = 1
	k, err := c.add(n.outputs[0]+".slice", dnn.Node{Kind: dnn.Slice, Inputs: []int{x}, Shape: one, Axis: a, Start: int(at)})
	if err != nil {
		return err
	}
	_, err = c.add(n.outputs[0], dnn.Node{Kind: dnn.Reshape, Inputs: []int{k}, Shape: shape})
	return err
}

// pad puts zeros around a value, or cuts it; other modes take as many elements.
func (c *converter) pad(n *node, x int) error {
	s := c.net.Nodes[x].Shape
	pads := n.attributes["pads"].ints
	if len(n.inputs) > 1 && n.inputs[1] != "" {
		pads = c.consts[n.inputs[1]]
	}
	axes := []int64(nil)
	if len(n.inputs) > 3 && n.inputs[3] != "" {
		axes = c.consts[n.inputs[3]]
	} else {
		for d := range s {
			axes = append(axes, int64(d))
		}
	}
	if len(pads) != 2*len(axes) {
		return c.fail("node %s: pads %v, expected constants, two for each of %d dimensions", c.label(n), pads, len(axes))
	}
	before, shape := make([]int, len(s)), slices.Clone(s)
	for i, a := range axes {
		if a < 0 {
			a += int64(len(s))
		}
		lo, hi := pads[i], pads[i+len(axes)]
		if a < 0 || a >= int64(len(s)) || max(lo, -lo, hi, -hi) > 1<<20 || int64(s[a])+lo+hi < 1 {
			return c.fail("node %s: pads %v of shape %v", c.label(n), pads, s)
		}
		before[a], shape[a] = int(lo), s[a]+int(lo+hi)
	}
	_, err := c.add(n.outputs[0], dnn.Node{Kind: dnn.Pad, Inputs: []int{x}, Shape: shape, PadBefore: before})
	return err
}

// resize knows sizes and scales that are constants.
func (c *converter) resize(n *node, x int) error {
	s := c.net.Nodes[x].Shape
	at := map[bool]int{true: 1, false: 2}[n.op == "Upsample" || c.opset < 11]
	scales := n.attributes["scales"].reals
	if len(n.inputs) > at && n.inputs[at] != "" {
		scales = c.reals[n.inputs[at]]
	}
	var sizes []int64
	if len(n.inputs) > 3 && n.inputs[3] != "" {
		sizes = c.consts[n.inputs[3]]
	}
	axes := n.attributes["axes"].ints
	if len(axes) == 0 {
		for d := range s {
			axes = append(axes, int64(d))
		}
	}
	if len(scales) != len(axes) && len(sizes) != len(axes) {
		return c.fail("node %s: %s by scales %v and sizes %v, expected constants, one for each of %d dimensions", c.label(n), n.op, scales, sizes, len(axes))
	}
	shape := slices.Clone(s)
	for i, a := range axes {
		if a < 0 {
			a += int64(len(s))
		}
		if a < 0 || a >= int64(len(s)) {
			return c.fail("node %s: axis %d of %d dimensions", c.label(n), a, len(s))
		}
		if len(sizes) == len(axes) {
			shape[a] = int(min(sizes[i], 1<<31))
		} else if f := float64(s[a]) * scales[i]; f >= 1 && f < 1<<31 {
			shape[a] = int(f)
		} else {
			return c.fail("node %s: scale %v of %d elements", c.label(n), scales[i], s[a])
		}
	}
	_, err := c.add(n.outputs[0], dnn.Node{Kind: dnn.Resize, Inputs: []int{x}, Shape: shape})
	return err
}

// blocks moves blocks of the picture into channels, or channels into blocks.
func (c *converter) blocks(n *node, x int) error {
	s := c.net.Nodes[x].Shape
	b := int(attrInt(n, "blocksize", 0))
	if len(s) != 4 || b < 1 || b > 1<<15 || n.op == "DepthToSpace" && s[1]%(b*b) != 0 || n.op == "SpaceToDepth" && (s[2]%b != 0 || s[3]%b != 0) {
		return c.fail("node %s: %s of shape %v by blocks of %d", c.label(n), n.op, s, b)
	}
	apart, perm := []int{s[0], s[1], s[2] / b, b, s[3] / b, b}, []int{0, 3, 5, 1, 2, 4}
	shape := []int{s[0], s[1] * b * b, s[2] / b, s[3] / b}
	if n.op == "DepthToSpace" {
		apart, perm = []int{s[0], b, b, s[1] / b / b, s[2], s[3]}, []int{0, 3, 4, 1, 5, 2}
		if n.attributes["mode"].s == "CRD" {
			apart, perm = []int{s[0], s[1] / b / b, b, b, s[2], s[3]}, []int{0, 1, 4, 2, 5, 3}
		}
		shape = []int{s[0], s[1] / b / b, s[2] * b, s[3] * b}
	}
	turned := make([]int, len(perm))
	for i, d := range perm {
		turned[i] = apart[d]
	}
	out := n.outputs[0]
	y, err := c.add(out+".apart", dnn.Node{Kind: dnn.Reshape, Inputs: []int{x}, Shape: apart})
	if err != nil {
		return err
	}
	if y, err = c.add(out+".turned", dnn.Node{Kind: dnn.Transpose, Inputs: []int{y}, Shape: turned, Perm: perm}); err != nil {
		return err
	}
	_, err = c.add(out, dnn.Node{Kind: dnn.Reshape, Inputs: []int{y}, Shape: shape})
	return err
}
