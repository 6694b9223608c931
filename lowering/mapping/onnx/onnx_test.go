package onnx

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/bitsched/bitsched/lowering/mapping/dnn"
)

// A writer of ONNX for the tests: a few lines that share nothing with the reader.

type msg []byte

func (m *msg) bytes(n protowire.Number, b []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, n, protowire.BytesType), b)
}
func (m *msg) str(n protowire.Number, s string) { m.bytes(n, []byte(s)) }
func (m *msg) int(n protowire.Number, v int64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, n, protowire.VarintType), uint64(v))
}

func attrOf(name string, ints ...int) msg {
	var a msg
	a.str(1, name)
	if len(ints) == 1 && (name == "group" || name == "axis" || name == "ceil_mode") {
		a.int(3, int64(ints[0]))
		a.int(20, 2)
		return a
	}
	for _, v := range ints {
		a.int(8, int64(v))
	}
	a.int(20, 7)
	return a
}

func valueOf(name string, shape []int, params ...string) msg {
	var s msg
	for i, e := range shape {
		var d msg
		if i < len(params) && params[i] != "" {
			d.str(2, params[i])
		} else {
			d.int(1, int64(e))
		}
		s.bytes(1, d)
	}
	var t, typ, v msg
	t.int(1, 1)
	t.bytes(2, s)
	typ.bytes(1, t)
	v.str(1, name)
	v.bytes(2, typ)
	return v
}

func initOf(name string, dims ...int) msg {
	var t msg
	for _, d := range dims {
		t.int(1, int64(d))
	}
	t.int(2, 1)
	t.str(8, name)
	t.int(14, 1) // external: shapes suffice
	return t
}

type file struct {
	nodes []msg
	graph msg
}

func (f *file) node(op, name string, in, out []string, attrs ...msg) {
	var n msg
	for _, s := range in {
		n.str(1, s)
	}
	for _, s := range out {
		n.str(2, s)
	}
	n.str(3, name)
	n.str(4, op)
	for _, a := range attrs {
		n.bytes(5, a)
	}
	f.nodes = append(f.nodes, n)
}

func (f *file) build(perm []int, out string) []byte {
	var g msg
	for _, i := range perm {
		g.bytes(1, f.nodes[i])
	}
	g = append(g, f.graph...)
	var v msg
	v.str(1, out)
	g.bytes(12, v)
	var m, op msg
	m.int(1, 8)
	m.bytes(7, g)
	op.int(2, 17)
	m.bytes(8, op)
	return m
}

// write turns a network of the zoo into a model, nodes in order or permuted.
func write(n *dnn.Network, shuffle uint64) []byte {
	f := &file{}
	f.graph.bytes(11, valueOf(n.Nodes[0].Name, n.Nodes[0].Shape))
	for i := range n.Nodes {
		x := &n.Nodes[i]
		var in []string
		for _, k := range x.Inputs {
			in = append(in, n.Nodes[k].Name)
		}
		out := []string{x.Name}
		initInts := func(name string, v []int) {
			var t msg
			t.int(1, int64(len(v)))
			t.int(2, 7)
			for _, e := range v {
				t.int(7, int64(e))
			}
			t.str(8, name)
			f.graph.bytes(5, t)
		}
		switch x.Kind {
		case dnn.MAC:
			o := x.Op
			e := func(name string) int {
				if l := o.Loop(name); l >= 0 {
					return o.Loops[l].Extent
				}
				return 1
			}
			if o.Kind == "gemm" {
				if o.Tensors[1].Role == dnn.Weight {
					f.graph.bytes(5, initOf(x.Name+".w", e("K"), e("N")))
					in = append(in, x.Name+".w")
				}
				f.node("MatMul", x.Name, in, out)
				continue
			}
			f.graph.bytes(5, initOf(x.Name+".w", e("K")*e("G"), e("C"), e("R"), e("S")))
			t := &o.Tensors[0]
			d := len(t.Access) - 2
			stride, pad := t.Access[d][o.Loop("H")], -t.Offset[d]
			f.node("Conv", x.Name, append(in, x.Name+".w"), out, attrOf("group", e("G")), attrOf("strides", stride, stride), attrOf("pads", pad, pad, pad, pad))
		case dnn.ReLU:
			f.node("Relu", x.Name, in, out)
		case dnn.Add:
			f.node("Add", x.Name, in, out)
		case dnn.MaxPool, dnn.AvgPool:
			op := map[dnn.Kind]string{dnn.MaxPool: "MaxPool", dnn.AvgPool: "AveragePool"}[x.Kind]
			s := n.Nodes[x.Inputs[0]].Shape
			ceil := 0
			if (s[2]+2*x.PadBefore[0]-x.Window[0])/x.Stride[0]+1 != x.Shape[2] {
				ceil = 1
			}
			f.node(op, x.Name, in, out, attrOf("kernel_shape", x.Window...), attrOf("strides", x.Stride...), attrOf("pads", x.PadBefore[0], x.PadBefore[1], x.PadBefore[0], x.PadBefore[1]), attrOf("ceil_mode", ceil))
		case dnn.Concat:
			f.node("Concat", x.Name, in, out, attrOf("axis", x.Axis))
		case dnn.Reshape:
			initInts(x.Name+".shape", x.Shape)
			f.node("Reshape", x.Name, append(in, x.Name+".shape"), out)
		case dnn.Transpose:
			f.node("Transpose", x.Name, in, out, attrOf("perm", x.Perm...))
		case dnn.Softmax:
			f.node("Softmax", x.Name, in, out, attrOf("axis", x.Axis))
		case dnn.Norm:
			f.node("LayerNormalization", x.Name, in, out)
		case dnn.Sigmoid:
			f.node("Gelu", x.Name, in, out)
		}
	}
	perm := rand.New(rand.NewPCG(shuffle, 1)).Perm(len(f.nodes))
	if shuffle == 0 {
		for i := range perm {
			perm[i] = i
		}
	}
	return f.build(perm, n.Nodes[len(n.Nodes)-1].Name)
}

// The zoo written as ONNX, in order and with its nodes permuted, reads as the zoo.
func TestZooAsONNX(t *testing.T) {
	for _, name := range dnn.ZooNames() {
		want, err := dnn.Build(name, 1, dnn.DefaultBits)
		require.NoError(t, err)
		for _, shuffle := range []uint64{0, 7} {
			got, err := Read(write(want, shuffle), name+".onnx", Options{Bits: dnn.DefaultBits})
			require.NoError(t, err, name)
			require.Equal(t, want.Totals(), got.Totals(), name)
			for _, i := range want.MACs() {
				x := &want.Nodes[i]
				y := &got.Nodes[got.Find(x.Name)]
				require.Equal(t, x.Op.Signature(), y.Op.Signature(), x.Name)
				require.Equal(t, x.Shape, y.Shape)
			}
		}
	}
}

func small(params ...string) *file {
	f := &file{}
	f.graph.bytes(11, valueOf("x", []int{1, 3, 8, 8}, params...))
	f.graph.bytes(5, initOf("w", 4, 3, 3, 3))
	f.node("Conv", "c", []string{"x", "w"}, []string{"y"})
	return f
}

func TestReadRefuses(t *testing.T) {
	read := func(b []byte, o Options) error {
		o.Bits = dnn.DefaultBits
		_, err := Read(b, "m.onnx", o)
		return err
	}
	good := small().build([]int{0}, "y")
	require.NoError(t, read(good, Options{}))
	require.ErrorContains(t, read(nil, Options{}), "empty")
	require.ErrorContains(t, read([]byte("not a model"), Options{}), "m.onnx: byte")
	require.ErrorContains(t, read(good[:len(good)-9], Options{}), "cut off")
	require.ErrorContains(t, read(small("batch").build([]int{0}, "y"), Options{}), "--dim batch=NUMBER")
	require.NoError(t, read(small("batch").build([]int{0}, "y"), Options{Dims: map[string]int{"batch": 2}}))
	f := small()
	f.node("NoSuchOp", "strange", []string{"y"}, []string{"z"})
	require.ErrorContains(t, read(f.build([]int{0, 1}, "z"), Options{}), "strange (NoSuchOp)")
	require.ErrorContains(t, read(f.build([]int{0, 1}, "z"), Options{Skip: true}), "does not give the shape")
	f.graph.bytes(13, valueOf("z", []int{1, 4}))
	require.NoError(t, read(f.build([]int{0, 1}, "z"), Options{Skip: true}))
	f = small()
	f.node("Relu", "r", []string{"q"}, []string{"q2"})
	f.node("Relu", "s", []string{"q2"}, []string{"q"})
	require.ErrorContains(t, read(f.build([]int{0, 1, 2}, "y"), Options{}), "cycle")
	f = small()
	f.node("Relu", "r", []string{"nowhere"}, []string{"q"})
	require.ErrorContains(t, read(f.build([]int{0, 1}, "q"), Options{}), "which nothing makes")
	f = &file{}
	f.graph.bytes(11, valueOf("x", []int{1 << 29, 1 << 29, 8, 8}))
	f.node("Relu", "r", []string{"x"}, []string{"y"})
	require.ErrorContains(t, read(f.build([]int{0}, "y"), Options{}), "elements")
	var m msg
	m.int(1, 8)
	m.bytes(7, nil)
	var op msg
	op.int(2, 99)
	m.bytes(8, op)
	require.ErrorContains(t, read(m, Options{}), "operator set 99")
}

// Every prefix and single changed byte of a model is read or refused, never a panic.
func TestMutilated(t *testing.T) {
	good := small().build([]int{0}, "y")
	for i := range good {
		_, _ = Read(good[:i], "m.onnx", Options{Bits: dnn.DefaultBits})
		for _, v := range []byte{0, 1, 0x7f, 0xff} {
			bad := append([]byte(nil), good...)
			bad[i] = v
			_, _ = Read(bad, "m.onnx", Options{Bits: dnn.DefaultBits})
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(small().build([]int{0}, "y"))
	n, err := dnn.Build("mobilenet", 1, dnn.DefaultBits)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(write(n, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		net, err := Read(b, "f.onnx", Options{Bits: dnn.DefaultBits})
		if err == nil {
			if err := net.Check(); err != nil {
				t.Fatal(fmt.Errorf("a network that does not keep its own rules: %w", err))
			}
		}
	})
}
