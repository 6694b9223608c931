package onnx

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/mapping/dnn"
)

// initRaw is an initializer of floats as raw bytes, initFloats as packed floats, and
// initInt64 of numbers as raw bytes.
func initRaw(name string, dims ...int) msg {
	var t msg
	n := 1
	for _, d := range dims {
		t.int(1, int64(d))
		n *= d
	}
	t.int(2, 1)
	t.str(8, name)
	raw := make([]byte, 4*n)
	for i := range n {
		binary.LittleEndian.PutUint32(raw[4*i:], math.Float32bits(float32(i)))
	}
	t.bytes(9, raw)
	return t
}

func initFloats(name string, dims ...int) msg {
	var t, packed msg
	n := 1
	for _, d := range dims {
		t.int(1, int64(d))
		n *= d
	}
	t.int(2, 1)
	packed = make([]byte, 4*n)
	t.bytes(4, packed)
	t.str(8, name)
	return t
}

func initInt64(name string, v ...int64) msg {
	var t, raw msg
	t.int(1, int64(len(v)))
	t.int(2, 7)
	t.str(8, name)
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(x))
	}
	t.bytes(9, raw)
	return t
}

// withOpset is a model of one graph in a version of the operator set.
func (f *file) withOpset(set int64, outputs ...string) []byte {
	var g, m, op msg
	for _, n := range f.nodes {
		g.bytes(1, n)
	}
	g.str(2, "exported elsewhere")
	g = append(g, f.graph...)
	for _, out := range outputs {
		g.bytes(12, valueOf(out, nil))
	}
	m.int(1, 7)
	m.str(2, "another tool")
	m.bytes(7, g)
	op.int(2, set)
	m.bytes(8, op)
	return m
}

// Models as other tools write them: weights inline, batch dimensions by name, shapes
// computed by nodes, biases and normalisations that were not folded.
func TestForeignModels(t *testing.T) {
	var transB msg
	transB.str(1, "transB")
	transB.int(3, 1)
	transB.int(20, 2)
	for _, set := range []int64{7, 9, 11, 13, 17, 21} {
		f := &file{}
		f.graph.bytes(11, valueOf("image", []int{0, 3, 12, 10}, "batch"))
		f.graph.bytes(5, initRaw("w1", 8, 3, 3, 3))
		f.graph.bytes(5, initFloats("b1", 8))
		for _, n := range []string{"scale", "shift", "mean", "var"} {
			f.graph.bytes(5, initFloats(n, 8))
		}
		f.graph.bytes(5, initFloats("w2", 8, 1, 3, 3))
		f.graph.bytes(5, initRaw("fc", 10, 240))
		f.graph.bytes(5, initFloats("fcb", 10))
		f.graph.bytes(5, initInt64("zero", 0))
		f.graph.bytes(5, initInt64("rest", -1))
		f.node("Conv", "first", []string{"image", "w1", "b1"}, []string{"1"}, attrOf("pads", 1, 1, 1, 1), attrOf("strides", 2, 1), attrOf("kernel_shape", 3, 3))
		f.node("BatchNormalization", "", []string{"1", "scale", "shift", "mean", "var"}, []string{"2"})
		f.node("Clip", "", []string{"2"}, []string{"3"})
		f.node("Conv", "deep", []string{"3", "w2"}, []string{"4"}, attrOf("group", 8), attrOf("pads", 1, 1, 1, 1), attrOf("strides", 1, 2))
		f.node("Shape", "", []string{"4"}, []string{"s"})
		f.node("Gather", "", []string{"s", "zero"}, []string{"n"}, attrOf("axis", 0))
		f.node("Concat", "", []string{"n", "rest"}, []string{"to"}, attrOf("axis", 0))
		f.node("Reshape", "", []string{"4", "to"}, []string{"5"})
		f.node("Gemm", "head", []string{"5", "fc", "fcb"}, []string{"6"}, transB)
		data := f.withOpset(set, "6")
		_, err := Read(data, "foreign.onnx", Options{Bits: dnn.DefaultBits})
		require.ErrorContains(t, err, "--dim batch=NUMBER")
		n, err := Read(data, "foreign.onnx", Options{Bits: dnn.DefaultBits, Dims: map[string]int{"batch": 2}})
		require.NoError(t, err, "operator set %d", set)
		// By hand: 2x8x6x10 outputs of 27 products, 2x8x6x5 of 9, 2x10 of 240.
		require.Equal(t, dnn.Totals{Operators: 3, Distinct: 3, MACs: 2*8*6*10*27 + 2*8*6*5*9 + 2*10*240, Weights: 8*27 + 8*9 + 2400}, n.Totals())
		require.Equal(t, []int{2, 10}, n.Nodes[len(n.Nodes)-1].Shape)
	}
}

// What cannot be mapped is named: nodes, opsets, control flow.
func TestForeignModelsRefused(t *testing.T) {
	read := func(f *file, set int64, out string) error {
		_, err := Read(f.withOpset(set, out), "foreign.onnx", Options{Bits: dnn.DefaultBits})
		return err
	}
	require.ErrorContains(t, read(small(), 3, "y"), "operator set 3, expected 7 to")
	f := small()
	f.node("LSTM", "memory", []string{"y"}, []string{"z"})
	f.node("If", "branch", []string{"z"}, []string{"q"})
	err := read(f, 17, "q")
	require.ErrorContains(t, err, "memory (LSTM)")
	require.ErrorContains(t, err, "branch (If)")
	require.NotContains(t, err.Error(), "\n")
	f = small()
	f.graph.bytes(5, initRaw("w9", 4, 5, 3, 3)) // 5 channels on 4
	f.node("Conv", "wrong", []string{"y", "w9"}, []string{"z"})
	require.ErrorContains(t, read(f, 17, "z"), "wrong")
	f = small()
	f.node("MaxPool", "hollow", []string{"y"}, []string{"z"}, attrOf("kernel_shape", 2, 2), attrOf("pads", 2, 0, 0, 0))
	require.ErrorContains(t, read(f, 17, "z"), "node hollow: pads along dimension 0 hold whole windows of span 2")
}

// typed is an initializer of zeros of another type.
func typed(name string, kind int64, bytes int, dims ...int) msg {
	var t msg
	n := 1
	for _, d := range dims {
		t.int(1, int64(d))
		n *= d
	}
	t.int(2, kind)
	t.str(8, name)
	t.bytes(9, make([]byte, n*bytes))
	return t
}

// Integer operators, halves, attention by Split, things that nobody uses; products by hand.
func TestForeignOperators(t *testing.T) {
	in := func(f *file, name string, shape ...int) { f.graph.bytes(11, valueOf(name, shape)) }
	for _, c := range []struct {
		name          string
		make          func(f *file)
		macs, weights int64
		out           []int
	}{
		{"ConvInteger", func(f *file) {
			in(f, "x", 1, 3, 8, 8)
			f.graph.bytes(5, typed("w", 3, 1, 4, 3, 3, 3))
			f.graph.bytes(5, typed("xz", 2, 1))
			f.node("ConvInteger", "", []string{"x", "w", "xz"}, []string{"a"}, attrOf("pads", 1, 1, 1, 1))
			f.node("Cast", "", []string{"a"}, []string{"y"}, attrInt1("to", 1))
		}, 4 * 64 * 27, 108, []int{1, 4, 8, 8}},
		{"QLinearConv and QLinearMatMul", func(f *file) {
			in(f, "x", 1, 3, 8, 8)
			f.graph.bytes(5, typed("w", 3, 1, 4, 3, 3, 3))
			f.graph.bytes(5, typed("v", 3, 1, 8, 5))
			f.graph.bytes(5, initReal("s", nil, 0.5))
			f.graph.bytes(5, typed("z", 3, 1))
			f.node("QLinearConv", "", []string{"x", "s", "z", "w", "s", "z", "s", "z"}, []string{"a"}, attrOf("pads", 1, 1, 1, 1))
			f.node("QLinearMatMul", "", []string{"a", "s", "z", "v", "s", "z", "s", "z"}, []string{"y"})
		}, 4*64*27 + 4*8*8*5, 108 + 40, []int{1, 4, 8, 5}},
		{"dynamic quantisation", func(f *file) {
			in(f, "x", 2, 6)
			f.graph.bytes(5, typed("w", 3, 1, 6, 5))
			f.node("DynamicQuantizeLinear", "", []string{"x"}, []string{"q", "s", "z"})
			f.node("MatMulInteger", "", []string{"q", "w", "z"}, []string{"y"})
		}, 60, 30, []int{2, 5}},
		{"halves, an initializer that is an input too, one that nobody uses", func(f *file) {
			in(f, "x", 1, 2, 6)
			in(f, "w", 4, 2, 3)
			f.graph.bytes(5, typed("w", 10, 2, 4, 2, 3))
			f.graph.bytes(5, typed("nobody", 16, 2, 7, 7))
			f.node("Conv", "", []string{"x", "w"}, []string{"y"}, attrStr("auto_pad", "NOTSET"))
		}, 4 * 4 * 6, 24, []int{1, 4, 4}},
		{"attention by Split", func(f *file) {
			in(f, "x", 1, 5, 8)
			f.graph.bytes(5, initRaw("w", 8, 24))
			f.graph.bytes(5, initInt64("heads", 1, 5, 2, 4))
			f.graph.bytes(5, initInt64("flat", 1, 5, 8))
			f.node("MatMul", "", []string{"x", "w"}, []string{"qkv"})
			f.node("Split", "", []string{"qkv"}, []string{"q", "k", "v"}, attrInt1("axis", -1), attrInt1("num_outputs", 3))
			for _, s := range []string{"q", "k", "v"} {
				f.node("Reshape", "", []string{s, "heads"}, []string{s + "r"})
			}
			f.node("Transpose", "", []string{"qr"}, []string{"qt"}, attrOf("perm", 0, 2, 1, 3))
			f.node("Transpose", "", []string{"kr"}, []string{"kt"}, attrOf("perm", 0, 2, 3, 1))
			f.node("Transpose", "", []string{"vr"}, []string{"vt"}, attrOf("perm", 0, 2, 1, 3))
			f.node("MatMul", "", []string{"qt", "kt"}, []string{"s"})
			f.node("Softmax", "", []string{"s"}, []string{"p"}, attrInt1("axis", -1))
			f.node("MatMul", "", []string{"p", "vt"}, []string{"o"})
			f.node("Transpose", "", []string{"o"}, []string{"ot"}, attrOf("perm", 0, 2, 1, 3))
			f.node("Reshape", "", []string{"ot", "flat"}, []string{"y"})
		}, 5*8*24 + 2*2*5*5*4, 192, []int{1, 5, 8}},
	} {
		f := &file{}
		c.make(f)
		n, err := Read(f.withOpset(18, "y"), "foreign.onnx", Options{Bits: dnn.DefaultBits})
		require.NoError(t, err, c.name)
		require.Equal(t, c.macs, n.Totals().MACs, c.name)
		require.Equal(t, c.weights, n.Totals().Weights, c.name)
		require.Equal(t, c.out, n.Nodes[len(n.Nodes)-1].Shape, c.name)
	}
	for _, op := range []string{"GRU", "RNN", "Loop", "Scan", "TopK", "NonMaxSuppression", "GridSample", "RoiAlign", "Attention", "ScatterND", "CumSum", "Tile", "StringNormalizer"} {
		f := small()
		f.node(op, "odd", []string{"y", "y", "y"}, []string{"z"})
		_, err := Read(f.withOpset(24, "z"), "foreign.onnx", Options{Bits: dnn.DefaultBits})
		require.ErrorContains(t, err, "odd", op)
		require.NotContains(t, err.Error(), "\n")
	}
}
