package onnx

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/mapping/dnn"
)

func attrInt1(name string, v int64) msg {
	var a msg
	a.str(1, name)
	a.int(3, v)
	a.int(20, 2)
	return a
}

func attrStr(name, v string) msg {
	var a msg
	a.str(1, name)
	a.str(4, v)
	a.int(20, 3)
	return a
}

func attrTensor(name string, t msg) msg {
	var a msg
	a.str(1, name)
	a.bytes(5, t)
	a.int(20, 4)
	return a
}

// initReal is an initializer of floats with values.
func initReal(name string, dims []int, v ...float32) msg {
	var t, raw msg
	for _, d := range dims {
		t.int(1, int64(d))
	}
	t.int(2, 1)
	t.str(8, name)
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	t.bytes(9, raw)
	return t
}

// TestOddModels reads what is legal and less common; products and shapes by hand.
func TestOddModels(t *testing.T) {
	in := func(f *file, name string, shape ...int) { f.graph.bytes(11, valueOf(name, shape)) }
	for _, c := range []struct {
		name    string
		make    func(f *file)
		macs    int64
		weights int64
		out     []int
		set     int64
	}{
		{"auto_pad SAME_UPPER with stride and dilation", func(f *file) {
			in(f, "x", 1, 4, 11, 12)
			f.graph.bytes(5, initRaw("w", 6, 2, 3, 3))
			f.node("Conv", "", []string{"x", "w"}, []string{"y"}, attrStr("auto_pad", "SAME_UPPER"), attrOf("strides", 2, 3), attrOf("dilations", 2, 1), attrOf("group", 2))
		}, 6 * 6 * 4 * 2 * 9, 6 * 2 * 9, []int{1, 6, 6, 4}, 11},
		{"valid, one dimension", func(f *file) {
			in(f, "x", 2, 4, 11)
			f.graph.bytes(5, initRaw("w", 6, 4, 5))
			f.node("Conv", "", []string{"x", "w"}, []string{"y"}, attrStr("auto_pad", "VALID"))
		}, 2 * 6 * 7 * 4 * 5, 6 * 4 * 5, []int{2, 6, 7}, 22},
		{"three dimensions, asymmetric pads", func(f *file) {
			in(f, "x", 1, 2, 4, 5, 6)
			f.graph.bytes(5, initRaw("w", 3, 2, 2, 3, 3))
			f.node("Conv", "", []string{"x", "w"}, []string{"y"}, attrOf("pads", 0, 1, 2, 1, 1, 0))
		}, 3 * 4 * 5 * 6 * 2 * 18, 3 * 2 * 18, []int{1, 3, 4, 5, 6}, 24},
		{"transposed, SAME_LOWER", func(f *file) {
			in(f, "x", 1, 4, 5, 5)
			f.graph.bytes(5, initRaw("w", 4, 3, 3, 3))
			f.node("ConvTranspose", "", []string{"x", "w"}, []string{"y"}, attrStr("auto_pad", "SAME_LOWER"), attrOf("strides", 2, 2), attrOf("group", 2))
		}, 6 * 10 * 10 * 2 * 9, 4 * 3 * 9, []int{1, 6, 10, 10}, 11},
		{"transposed, output_shape", func(f *file) {
			in(f, "x", 1, 2, 5)
			f.graph.bytes(5, initRaw("w", 2, 3, 4))
			f.node("ConvTranspose", "", []string{"x", "w"}, []string{"y"}, attrOf("output_shape", 9), attrOf("strides", 2))
		}, 3 * 9 * 2 * 4, 2 * 3 * 4, []int{1, 3, 9}, 13},
		{"weights by a constant node, transA and transB", func(f *file) {
			in(f, "x", 7, 5)
			f.node("Constant", "", nil, []string{"w"}, attrTensor("value", initRaw("", 3, 7)))
			f.node("Gemm", "", []string{"x", "w"}, []string{"y"}, attrInt1("transA", 1), attrInt1("transB", 1))
		}, 5 * 3 * 7, 21, []int{5, 3}, 9},
		{"quantised weights that are dequantised and turned", func(f *file) {
			in(f, "x", 4, 6)
			var w, zero, raw msg
			for _, d := range []int64{5, 6} {
				w.int(1, d)
			}
			w.int(2, 3)
			w.str(8, "w")
			raw = make([]byte, 30)
			w.bytes(9, raw)
			zero.int(2, 3)
			zero.str(8, "z")
			zero.bytes(9, msg{0})
			f.graph.bytes(5, w)
			f.graph.bytes(5, zero)
			f.graph.bytes(5, initReal("s", nil, 0.5))
			f.node("QuantizeLinear", "", []string{"x", "s", "z"}, []string{"xq"})
			f.node("DequantizeLinear", "", []string{"xq", "s", "z"}, []string{"xd"})
			f.node("DequantizeLinear", "", []string{"w", "s", "z"}, []string{"wd"})
			f.node("Transpose", "", []string{"wd"}, []string{"wt"})
			f.node("MatMul", "", []string{"xd", "wt"}, []string{"y"})
		}, 4 * 6 * 5, 30, []int{4, 5}, 13},
		{"batches that broadcast", func(f *file) {
			in(f, "a", 2, 1, 3, 4)
			in(f, "b", 5, 4, 6)
			f.node("MatMul", "", []string{"a", "b"}, []string{"y"})
		}, 2 * 5 * 3 * 4 * 6, 0, []int{2, 5, 3, 6}, 17},
		{"batches that cross", func(f *file) {
			in(f, "a", 2, 1, 3, 4)
			in(f, "b", 1, 2, 4, 6)
			f.node("MatMul", "", []string{"a", "b"}, []string{"y"})
		}, 2 * 2 * 3 * 4 * 6, 0, []int{2, 2, 3, 6}, 17},
		{"weights on the left", func(f *file) {
			in(f, "x", 3, 4, 6)
			f.graph.bytes(5, initRaw("w", 5, 4))
			f.node("MatMul", "", []string{"w", "x"}, []string{"y"})
		}, 3 * 5 * 4 * 6, 20, []int{3, 5, 6}, 17},
		{"Einsum of attention", func(f *file) {
			in(f, "q", 2, 5, 3, 4)
			in(f, "k", 2, 6, 3, 4)
			f.node("Einsum", "", []string{"q", "k"}, []string{"y"}, attrStr("equation", "bqhd,bkhd->bhqk"))
		}, 2 * 3 * 5 * 6 * 4, 0, []int{2, 3, 5, 6}, 12},
		{"Einsum with dots and no arrow", func(f *file) {
			in(f, "q", 2, 5, 3)
			in(f, "k", 3, 4)
			f.node("Einsum", "", []string{"q", "k"}, []string{"y"}, attrStr("equation", "...j,jk"))
		}, 2 * 5 * 3 * 4, 0, []int{2, 5, 4}, 12},
		{"pads, resizes, blocks, strided slices, means over channels, looked up", func(f *file) {
			in(f, "i", 1, 7)
			f.graph.bytes(5, initRaw("table", 30, 8))
			f.graph.bytes(5, initInt64("to", 0, 0, 0, 1, 0, 0, 0, 0))
			f.graph.bytes(5, initReal("up", []int{4}, 1, 1, 2, 1))
			f.graph.bytes(5, initInt64("first", 0))
			f.graph.bytes(5, initInt64("last", math.MaxInt64))
			f.graph.bytes(5, initInt64("third", 3))
			f.graph.bytes(5, initInt64("two", 2))
			f.graph.bytes(5, initInt64("shape", 0, 1, -1, 8))
			f.graph.bytes(5, initRaw("w", 4, 1, 1, 1))
			f.node("Gather", "", []string{"table", "i"}, []string{"e"})
			f.node("Reshape", "", []string{"e", "shape"}, []string{"p"})                                       // 1 1 7 8
			f.node("Pad", "", []string{"p", "to"}, []string{"q"})                                              // 1 1 7 9
			f.node("Resize", "", []string{"q", "", "up"}, []string{"r"})                                       // 1 1 14 9
			f.node("Slice", "", []string{"r", "first", "last", "third", "two"}, []string{"s"})                 // 1 1 14 5
			f.node("Conv", "", []string{"s", "w"}, []string{"c"})                                              // 1 4 14 5
			f.node("ReduceMean", "", []string{"c"}, []string{"m"}, attrOf("axes", 1), attrInt1("keepdims", 0)) // 1 14 5: axis is an int
			f.node("MatMul", "", []string{"m", "v"}, []string{"y"})
			f.graph.bytes(5, initRaw("v", 5, 2))
		}, 4*14*5 + 14*5*2, 4 + 10, []int{1, 14, 2}, 13},
	} {
		f := &file{}
		c.make(f)
		data := f.withOpset(c.set, "y")
		n, err := Read(data, "odd.onnx", Options{Bits: dnn.DefaultBits})
		require.NoError(t, err, c.name)
		require.Equal(t, c.macs, n.Totals().MACs, c.name)
		require.Equal(t, c.weights, n.Totals().Weights, c.name)
		require.Equal(t, c.out, n.Nodes[len(n.Nodes)-1].Shape, c.name)
		for i := range n.Nodes {
			x := &n.Nodes[i]
			if x.Kind == dnn.MAC || x.Kind == dnn.Input {
				continue
			}
			var values [][]int32
			for _, in := range x.Inputs {
				values = append(values, make([]int32, dnn.Elements(n.Nodes[in].Shape)))
			}
			_, err := n.Evaluate(i, values, 1)
			require.NoError(t, err, c.name)
		}
	}
}

// TestModelData takes the weights of a model: floats by a scale, integers as they are,
// dequantised and turned ones, those of a file beside it.
func TestModelData(t *testing.T) {
	dir := t.TempDir()
	f := &file{}
	f.graph.bytes(11, valueOf("x", []int{1, 2}))
	f.graph.bytes(5, initReal("w", []int{2, 2}, 0.5, -1, 0.25, 0))
	f.node("MatMul", "floats", []string{"x", "w"}, []string{"a"})
	var q, raw, e, zero msg
	q.int(1, 2)
	q.int(1, 2)
	q.int(2, 3)
	q.str(8, "q")
	q.bytes(9, msg{1, 0xfe, 3, 4})
	f.graph.bytes(5, q)
	f.graph.bytes(5, initReal("s", []int{2}, 1, 10))
	zero.int(1, 2)
	zero.int(2, 3)
	zero.str(8, "z")
	zero.bytes(9, msg{0, 1})
	f.graph.bytes(5, zero)
	f.node("DequantizeLinear", "", []string{"q", "s", "z"}, []string{"d"}, attrInt1("axis", 0))
	f.node("Transpose", "", []string{"d"}, []string{"dt"})
	f.node("MatMul", "turned", []string{"a", "dt"}, []string{"b"})
	for _, d := range []int64{1, 2} {
		e.int(1, d)
	}
	e.int(2, 1)
	e.str(8, "e")
	for _, kv := range [][2]string{{"location", "weights.bin"}, {"offset", "4"}, {"length", "8"}} {
		var p msg
		p.str(1, kv[0])
		p.str(2, kv[1])
		e.bytes(13, p)
	}
	e.int(14, 1)
	f.graph.bytes(5, e)
	f.node("Gemm", "beside", []string{"b", "e"}, []string{"y"}, attrInt1("transB", 1))
	data := f.withOpset(13, "y")
	file := filepath.Join(dir, "m.onnx")
	_, err := Read(data, file, Options{Bits: dnn.DefaultBits, Data: true})
	require.ErrorContains(t, err, "weights.bin")
	_, err = Read(data, file, Options{Bits: dnn.DefaultBits})
	require.NoError(t, err, "shapes suffice")
	for _, v := range []float32{9, -2, 1} {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "weights.bin"), raw, 0o644))
	n, err := Read(data, file, Options{Bits: dnn.DefaultBits, Data: true})
	require.NoError(t, err)
	require.Equal(t, map[string][]int32{"floats": {64, -127, 32, 0}, "turned": {1, 20, -2, 30}, "beside": {-2, 1}}, n.Data)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "weights.bin"), raw[:8], 0o644))
	_, err = Read(data, file, Options{Bits: dnn.DefaultBits, Data: true})
	require.ErrorContains(t, err, "unexpected EOF")
}

// TestDeadNodes: what no output depends on is left out, known or not, and is named; weights that two
// nodes share are there once; sizes of dimensions that the model does not have are refused.
func TestDeadNodes(t *testing.T) {
	f := &file{}
	f.graph.bytes(11, valueOf("x", []int{0, 3, 8, 8}, "batch"))
	f.graph.bytes(5, initRaw("w", 3, 3, 3, 3))
	f.node("Conv", "one", []string{"x", "w"}, []string{"a"}, attrOf("pads", 1, 1, 1, 1))
	f.node("Conv", "two", []string{"a", "w"}, []string{"y"}, attrOf("pads", 1, 1, 1, 1))
	f.node("NonZero", "odd", []string{"a"}, []string{"z"})
	f.node("Conv", "dead", []string{"a", "w"}, []string{"q"})
	dims := map[string]int{"batch": 2}
	n, err := Read(f.withOpset(13, "y"), "dead.onnx", Options{Bits: dnn.DefaultBits, Dims: dims})
	require.NoError(t, err)
	require.Equal(t, dnn.Totals{Operators: 2, Distinct: 1, MACs: 2 * 2 * 64 * 3 * 27, Weights: 81}, n.Totals())
	require.Contains(t, strings.Join(n.Notes, "\n"), "2 nodes lead to no output and are left out: odd (NonZero), dead (Conv)")
	_, err = Read(f.withOpset(13, "y"), "dead.onnx", Options{Bits: dnn.DefaultBits, Dims: map[string]int{"batch": 2, "bach": 3}})
	require.ErrorContains(t, err, "--dim bach=3: no dimension has this name")
	_, err = Read(f.withOpset(13, "z"), "dead.onnx", Options{Bits: dnn.DefaultBits, Dims: dims})
	require.ErrorContains(t, err, "odd (NonZero)")
	// The network as YAML counts alike.
	var text strings.Builder
	require.NoError(t, n.WriteYAML(&text))
	again, err := dnn.ReadYAML(strings.NewReader(text.String()), "dead.yaml", dnn.DefaultBits)
	require.NoError(t, err)
	require.Equal(t, n.Totals(), again.Totals())
}

// Doubles and unsigned numbers of 64 bits in fields of their own.
func TestWideFields(t *testing.T) {
	f := &file{}
	f.graph.bytes(11, valueOf("x", []int{1, 2}))
	var w, to, packed, list msg
	w.int(1, 2)
	w.int(1, 2)
	w.int(2, 11)
	w.str(8, "w")
	for _, v := range []float64{0.5, -1, 0.25, 0} {
		packed = binary.LittleEndian.AppendUint64(packed, math.Float64bits(v))
	}
	w.bytes(10, packed)
	f.graph.bytes(5, w)
	to.int(1, 2)
	to.int(2, 13)
	to.str(8, "to")
	list = append(list, 2, 1)
	to.bytes(11, list)
	f.graph.bytes(5, to)
	f.node("MatMul", "doubles", []string{"x", "w"}, []string{"a"})
	f.node("Reshape", "", []string{"a", "to"}, []string{"y"})
	n, err := Read(f.withOpset(13, "y"), "wide.onnx", Options{Bits: dnn.DefaultBits, Data: true})
	require.NoError(t, err)
	require.Equal(t, []int32{64, -127, 32, 0}, n.Data["doubles"])
	require.Equal(t, []int{2, 1}, n.Nodes[len(n.Nodes)-1].Shape)
}
