package onnx

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/bitsched/bitsched/lowering/mapping/dnn"
)

// weights keeps the values of a static operand, in the order of the operator's tensor.
func (c *converter) weights(n *node, name string, op *dnn.Operator, operand int, value string) error {
	v, err := c.valuesOf(n, value)
	if err != nil {
		return err
	}
	switch {
	case n.op == "ConvTranspose": // channels of the input first, in groups
		s := c.shapes[value]
		groups := int(attrInt(n, "group", 1))
		v = v.permute([]int{groups, s[0] / groups, s[1], int(dnn.Elements(s[2:]))}, []int{0, 2, 1, 3})
	case n.op == "Gemm" && attrInt(n, []string{"transA", "transB"}[operand], 0) != 0:
		v = v.permute(c.shapes[value], []int{1, 0})
	}
	t := &op.Tensors[operand]
	out, ok := v.quantise(t)
	if !ok {
		return c.fail("node %s: %q has %d values of %s, expected %d finite ones for signed integers", c.label(n), value, v.n, t.Type, t.Elements())
	}
	if c.net.Data == nil {
		c.net.Data = map[string][]int32{}
	}
	c.net.Data[name] = out
	return nil
}

// reals are numbers by their place.
type reals struct {
	n  int
	at func(i int) float64
}

// permute has the dimensions in another order.
func (v reals) permute(shape, perm []int) reals {
	stride := make([]int, len(shape))
	for d, s := len(shape)-1, 1; d >= 0; d-- {
		stride[d] = s
		s *= shape[d]
	}
	return reals{v.n, func(i int) float64 {
		from := 0
		for d := len(perm) - 1; d >= 0; d-- {
			from += i % shape[perm[d]] * stride[perm[d]]
			i /= shape[perm[d]]
		}
		return v.at(from)
	}}
}

// quantise rounds to integers of a type: as they are where all are integers that fit, else
// with the largest at the end of the range.
func (v reals) quantise(t *dnn.Tensor) ([]int32, bool) {
	if int64(v.n) != t.Elements() {
		return nil, false
	}
	lo, hi := t.Type.Range()
	most, fits := 0.0, true
	for i := range v.n {
		x := v.at(i)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, false
		}
		most = max(most, math.Abs(x))
		fits = fits && x == math.Trunc(x) && x >= float64(lo) && x <= float64(hi)
	}
	if !fits && !t.Type.Signed {
		return nil, false
	}
	scale := 1.0
	if !fits {
		scale = float64(hi) / most
	}
	out := make([]int32, v.n)
	for i := range out {
		out[i] = int32(math.Round(v.at(i) * scale))
	}
	return out, true
}

// valuesOf returns the elements of a static value: an initializer, a constant, or what follows
// from one by moving or scaling its elements.
func (c *converter) valuesOf(n *node, value string) (reals, error) {
	if t, ok := c.inits[value]; ok {
		return c.elements(n, value, t)
	}
	m, ok := c.made[value]
	if !ok {
		return reals{}, c.fail("node %s: values of %q are not in the model", c.label(n), value)
	}
	if m.op == "Constant" {
		return c.elements(n, value, m.attributes["value"].t)
	}
	v, err := c.valuesOf(n, m.inputs[0])
	if err != nil {
		return v, err
	}
	s := c.shapes[m.inputs[0]]
	switch m.op {
	case "Identity", "Cast", "Dropout", "Reshape", "Squeeze", "Unsqueeze", "Flatten":
		return v, nil
	case "Transpose":
		perm := attrInts(m, "perm", len(s), 0)
		if _, ok := m.attributes["perm"]; !ok {
			for d := range perm {
				perm[d] = len(s) - 1 - d
			}
		}
		return v.permute(s, perm), nil
	case "DequantizeLinear":
		if len(m.inputs) < 2 {
			break
		}
		scale, err := c.valuesOf(n, m.inputs[1])
		if err != nil {
			return v, err
		}
		zero := reals{1, func(int) float64 { return 0 }}
		if len(m.inputs) > 2 && m.inputs[2] != "" {
			if zero, err = c.valuesOf(n, m.inputs[2]); err != nil {
				return v, err
			}
		}
		axis := int(attrInt(m, "axis", 1))
		if axis < 0 {
			axis += len(s)
		}
		inner := 1
		if scale.n > 1 && axis >= 0 && axis < len(s) && s[axis] == scale.n {
			inner = int(dnn.Elements(s[axis+1:]))
		} else if scale.n != 1 {
			break
		}
		return reals{v.n, func(i int) float64 {
			k := i / inner
			return (v.at(i) - zero.at(k%zero.n)) * scale.at(k%scale.n)
		}}, nil
	}
	return v, c.fail("node %s: values of %q are computed by %s, expected an initializer, or one that is moved or dequantised", c.label(n), value, m.op)
}

// elements returns those of a tensor, wherever they lie.
func (c *converter) elements(n *node, value string, t *tensor) (reals, error) {
	if t == nil {
		return reals{}, c.fail("node %s: values of %q are not in the model", c.label(n), value)
	}
	total := int64(1)
	for _, d := range t.dims {
		total *= d // looked at before
	}
	if total > dnn.MaxElements {
		return reals{}, c.fail("node %s: %q has %d elements, expected at most %d", c.label(n), value, total, int64(dnn.MaxElements))
	}
	x := *t
	if t.external {
		raw, err := c.external(t)
		if err != nil {
			return reals{}, c.fail("node %s: values of %q lie in another file: %v", c.label(n), value, err)
		}
		x.raw = raw
	}
	at, ok := x.values(total)
	if !ok {
		return reals{}, c.fail("node %s: %q has other values than the %d of its shape, or of a type that is not known", c.label(n), value, total)
	}
	return reals{int(total), at}, nil
}

// external reads the data of a tensor from the file beside the model that it names.
func (c *converter) external(t *tensor) ([]byte, error) {
	location := t.file["location"]
	if !filepath.IsLocal(location) {
		return nil, &os.PathError{Op: "open", Path: location, Err: os.ErrInvalid}
	}
	f, err := os.Open(filepath.Join(filepath.Dir(c.file), location))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	offset, _ := strconv.ParseInt(t.file["offset"], 10, 64) // none: from the beginning
	length := info.Size() - offset
	if s, ok := t.file["length"]; ok {
		if length, err = strconv.ParseInt(s, 10, 64); err != nil {
			return nil, err
		}
	}
	if offset < 0 || length < 0 || length > info.Size()-offset {
		return nil, io.ErrUnexpectedEOF
	}
	raw := make([]byte, length)
	_, err = f.ReadAt(raw, offset)
	return slices.Clip(raw), err
}
