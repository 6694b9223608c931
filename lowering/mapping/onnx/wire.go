package onnx

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/bitsched/bitsched/internal/position"
)

// Numbers of fields, from onnx.proto.

type model struct {
	opset     int64 // of the default domain
	domains   []string
	graph     *graph
	functions int
}

type graph struct {
	name         string
	nodes        []node
	initializers []tensor
	inputs       []valueInfo
	outputs      []valueInfo
	values       []valueInfo
	sparse       int
}

type node struct {
	name, op, domain string
	inputs, outputs  []string
	attributes       map[string]attribute
}

type attribute struct {
	i     int64
	f     float64
	s     string
	ints  []int64
	reals []float64
	t     *tensor
	graph bool
}

type tensor struct {
	name     string
	dims     []int64
	kind     int64
	raw      []byte
	int64s   []int64
	int32s   []int64
	reals    []float64
	external bool
	file     map[string]string // where external data lies: location, offset, length
}

type dim struct {
	value int64
	param string
}

type valueInfo struct {
	name  string
	kind  int64
	shape []dim
	known bool
}

// reader decodes messages of a file; base is the place of a message in it.
type reader struct{ file string }

// maxDepth bounds messages within messages.
const maxDepth = 16

func (r *reader) fail(at int, format string, args ...any) error {
	return &position.Error{File: r.file, Binary: true, Offset: int64(at), Msg: fmt.Sprintf(format, args...)}
}

// fields calls f with every field of a message: its number, its varint or bytes, and
// where they lie.
func (r *reader) fields(b []byte, at, depth int, f func(num protowire.Number, typ protowire.Type, v uint64, data []byte, at int) error) error {
	if depth > maxDepth {
		return r.fail(at, "messages nested deeper than %d, expected an ONNX model", maxDepth)
	}
	for pos := 0; pos < len(b); {
		num, typ, n := protowire.ConsumeTag(b[pos:])
		if n < 0 {
			return r.fail(at+pos, "no field of a message, expected an ONNX model")
		}
		start := pos
		pos += n
		var v uint64
		var data []byte
		switch typ {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b[pos:])
		case protowire.Fixed32Type:
			var x uint32
			x, n = protowire.ConsumeFixed32(b[pos:])
			v = uint64(x)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(b[pos:])
		case protowire.BytesType:
			data, n = protowire.ConsumeBytes(b[pos:])
		default:
			return r.fail(at+start, "field %d of wire type %d, expected an ONNX model", num, typ)
		}
		if n < 0 {
			return r.fail(at+pos, "field %d is cut off or longer than the file", num)
		}
		inner := at + pos + n - len(data)
		pos += n
		if err := f(num, typ, v, data, inner); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) model(b []byte) (*model, error) {
	m := &model{opset: -1}
	seen := false
	err := r.fields(b, 0, 0, func(num protowire.Number, typ protowire.Type, v uint64, data []byte, at int) error {
		switch {
		case num == 1 && typ == protowire.VarintType:
			seen = true
		case num == 7 && typ == protowire.BytesType:
			g, err := r.graph(data, at, 1)
			m.graph = g
			return err
		case num == 8 && typ == protowire.BytesType:
			domain, version := "", int64(0)
			err := r.fields(data, at, 1, func(num protowire.Number, _ protowire.Type, v uint64, data []byte, _ int) error {
				if num == 1 {
					domain = string(data)
				} else if num == 2 {
					version = int64(v)
				}
				return nil
			})
			if domain == "" || domain == "ai.onnx" {
				m.opset = version
			}
			m.domains = append(m.domains, domain)
			return err
		case num == 25:
			m.functions++
		}
		return nil
	})
	if err == nil && (m.graph == nil || !seen && m.opset < 0) {
		return nil, &position.Error{File: r.file, Msg: "no graph, expected an ONNX model"}
	}
	return m, err
}

func (r *reader) graph(b []byte, at, depth int) (*graph, error) {
	g := &graph{}
	return g, r.fields(b, at, depth, func(num protowire.Number, typ protowire.Type, v uint64, data []byte, at int) error {
		if typ != protowire.BytesType {
			return nil
		}
		switch num {
		case 1:
			n, err := r.node(data, at, depth+1)
			g.nodes = append(g.nodes, n)
			return err
		case 2:
			g.name = string(data)
		case 5:
			t, err := r.tensor(data, at, depth+1)
			g.initializers = append(g.initializers, t)
			return err
		case 11, 12, 13:
			x, err := r.value(data, at, depth+1)
			switch num {
			case 11:
				g.inputs = append(g.inputs, x)
			case 12:
				g.outputs = append(g.outputs, x)
			default:
				g.values = append(g.values, x)
			}
			return err
		case 15:
			g.sparse++
		}
		return nil
	})
}

func (r *reader) node(b []byte, at, depth int) (node, error) {
	n := node{attributes: map[string]attribute{}}
	err := r.fields(b, at, depth, func(num protowire.Number, typ protowire.Type, v uint64, data []byte, at int) error {
		if typ != protowire.BytesType {
			return nil
		}
		switch num {
		case 1:
			n.inputs = append(n.inputs, string(data))
		case 2:
			n.outputs = append(n.outputs, string(data))
		case 3:
			n.name = string(data)
		case 4:
			n.op = string(data)
		case 5:
			name, a, err := r.attribute(data, at, depth+1)
			n.attributes[name] = a
			return err
		case 7:
			n.domain = string(data)
		}
		return nil
	})
	return n, err
}

func (r *reader) attribute(b []byte, at, depth int) (name string, a attribute, err error) {
	err = r.fields(b, at, depth, func(num protowire.Number, typ protowire.Type, v uint64, data []byte, at int) error {
		switch num {
		case 1:
			name = string(data)
		case 2:
			a.f = float64(math.Float32frombits(uint32(v)))
		case 3:
			a.i = int64(v)
		case 4:
			a.s = string(data)
		case 5:
			t, err := r.tensor(data, at, depth+1)
			a.t = &t
			return err
		case 6, 11:
			a.graph = true
		case 7:
			return r.floats(&a.reals, typ, v, data, at)
		case 8:
			return r.ints(&a.ints, typ, v, data, at)
		}
		return nil
	})
	return name, a, err
}

// ints adds a repeated field of integers, packed or not.
func (r *reader) ints(to *[]int64, typ protowire.Type, v uint64, data []byte, at int) error {
	if typ == protowire.VarintType {
		*to = append(*to, int64(v))
		return nil
	}
	for pos := 0; pos < len(data); {
		x, n := protowire.ConsumeVarint(data[pos:])
		if n < 0 {
			return r.fail(at+pos, "integer is cut off")
		}
		*to = append(*to, int64(x))
		pos += n
	}
	return nil
}

// floats adds a repeated field of floats, packed or not.
func (r *reader) floats(to *[]float64, typ protowire.Type, v uint64, data []byte, at int) error {
	if typ == protowire.Fixed32Type {
		*to = append(*to, float64(math.Float32frombits(uint32(v))))
		return nil
	}
	if len(data)%4 != 0 {
		return r.fail(at, "%d bytes of floats, expected a multiple of 4", len(data))
	}
	for ; len(data) > 0; data = data[4:] {
		*to = append(*to, float64(math.Float32frombits(binary.LittleEndian.Uint32(data))))
	}
	return nil
}

// doubles reads floating-point numbers of 64 bits, one by one or packed.
func (r *reader) doubles(to *[]float64, typ protowire.Type, v uint64, data []byte, at int) error {
	if typ == protowire.Fixed64Type {
		*to = append(*to, math.Float64frombits(v))
		return nil
	}
	if len(data)%8 != 0 {
		return r.fail(at, "%d bytes of doubles, expected a multiple of 8", len(data))
	}
	for ; len(data) > 0; data = data[8:] {
		*to = append(*to, math.Float64frombits(binary.LittleEndian.Uint64(data)))
	}
	return nil
}

func (r *reader) tensor(b []byte, at, depth int) (tensor, error) {
	var t tensor
	err := r.fields(b, at, depth, func(num protowire.Number, typ protowire.Type, v uint64, data []byte, at int) error {
		switch num {
		case 10:
			return r.doubles(&t.reals, typ, v, data, at)
		case 11:
			return r.ints(&t.int64s, typ, v, data, at)
		case 1:
			return r.ints(&t.dims, typ, v, data, at)
		case 2:
			t.kind = int64(v)
		case 4:
			return r.floats(&t.reals, typ, v, data, at)
		case 5:
			return r.ints(&t.int32s, typ, v, data, at)
		case 7:
			return r.ints(&t.int64s, typ, v, data, at)
		case 8:
			t.name = string(data)
		case 9:
			t.raw = data
		case 13:
			t.external = true
			key, value := "", ""
			err := r.fields(data, at, depth+1, func(num protowire.Number, _ protowire.Type, _ uint64, data []byte, _ int) error {
				if num == 1 {
					key = string(data)
				} else if num == 2 {
					value = string(data)
				}
				return nil
			})
			if t.file == nil {
				t.file = map[string]string{}
			}
			t.file[key] = value
			return err
		case 14:
			t.external = t.external || v == 1
		}
		return nil
	})
	return t, err
}

func (r *reader) value(b []byte, at, depth int) (valueInfo, error) {
	var x valueInfo
	err := r.fields(b, at, depth, func(num protowire.Number, typ protowire.Type, v uint64, data []byte, at int) error {
		if num == 1 {
			x.name = string(data)
		}
		if num != 2 || typ != protowire.BytesType {
			return nil
		}
		return r.fields(data, at, depth+1, func(num protowire.Number, typ protowire.Type, v uint64, data []byte, at int) error {
			if num != 1 || typ != protowire.BytesType {
				return nil
			}
			return r.fields(data, at, depth+2, func(num protowire.Number, typ protowire.Type, v uint64, data []byte, at int) error {
				if num == 1 {
					x.kind = int64(v)
				}
				if num != 2 || typ != protowire.BytesType {
					return nil
				}
				x.known = true
				return r.fields(data, at, depth+3, func(num protowire.Number, typ protowire.Type, v uint64, data []byte, at int) error {
					if num != 1 || typ != protowire.BytesType {
						return nil
					}
					var d dim
					err := r.fields(data, at, depth+4, func(num protowire.Number, typ protowire.Type, v uint64, data []byte, _ int) error {
						if num == 1 && typ == protowire.VarintType {
							d.value = int64(v)
						} else if num == 2 {
							d.param = string(data)
						}
						return nil
					})
					x.shape = append(x.shape, d)
					return err
				})
			})
		})
	})
	return x, err
}

// small reports whether a tensor has few elements, and how many.
func (t *tensor) small() (int64, bool) {
	n := int64(1)
	for _, d := range t.dims {
		if d < 0 || d > 1<<16 || n > 1<<16 {
			return 0, false
		}
		n *= d
	}
	return n, true
}

// integers returns the values of a small tensor of integers.
func (t *tensor) integers() ([]int64, bool) {
	n, ok := t.small()
	if !ok || t.float() {
		return nil, false
	}
	words, ok := t.words(n)
	if !ok {
		return nil, n == 0
	}
	out := make([]int64, n)
	for i := range out {
		out[i] = t.integer(words(i))
	}
	return out, true
}

// float reports whether the elements are floating-point numbers.
func (t *tensor) float() bool {
	return t.kind == kindFloat || t.kind == kindHalf || t.kind == kindDouble || t.kind == kindBrain
}

// Types of elements, from onnx.proto.
const (
	kindFloat  = 1
	kindUint8  = 2
	kindInt8   = 3
	kindUint16 = 4
	kindInt16  = 5
	kindInt32  = 6
	kindInt64  = 7
	kindBool   = 9
	kindHalf   = 10
	kindDouble = 11
	kindUint32 = 12
	kindUint64 = 13
	kindBrain  = 16
)

// words returns the bits of the n elements, false where they are elsewhere, of a type that
// is not known, or not as many.
func (t *tensor) words(n int64) (func(i int) uint64, bool) {
	if listed := append(t.int64s, t.int32s...); len(listed) > 0 {
		return func(i int) uint64 { return uint64(listed[i]) }, int64(len(listed)) == n
	}
	size := map[int64]int{kindFloat: 4, kindUint8: 1, kindInt8: 1, kindUint16: 2, kindInt16: 2, kindInt32: 4, kindInt64: 8, kindBool: 1, kindHalf: 2, kindDouble: 8, kindUint32: 4, kindUint64: 8, kindBrain: 2}[t.kind]
	if size == 0 || int64(len(t.raw)) != int64(size)*n {
		return nil, false
	}
	return func(i int) uint64 {
		v := uint64(0)
		for k, b := range t.raw[i*size : (i+1)*size] {
			v |= uint64(b) << (8 * k)
		}
		return v
	}, true
}

// values returns the n elements as numbers.
func (t *tensor) values(n int64) (func(i int) float64, bool) {
	if len(t.reals) > 0 {
		return func(i int) float64 { return t.reals[i] }, int64(len(t.reals)) == n
	}
	at, ok := t.words(n)
	if !ok {
		return nil, false
	}
	switch t.kind {
	case kindFloat:
		return func(i int) float64 { return float64(math.Float32frombits(uint32(at(i)))) }, true
	case kindDouble:
		return func(i int) float64 { return math.Float64frombits(at(i)) }, true
	case kindBrain:
		return func(i int) float64 { return float64(math.Float32frombits(uint32(at(i)) << 16)) }, true
	case kindHalf:
		return func(i int) float64 { return half(uint16(at(i))) }, true
	}
	return func(i int) float64 { return float64(t.integer(at(i))) }, true
}

// integer is an element of an integer type from its bits.
func (t *tensor) integer(v uint64) int64 {
	switch t.kind {
	case kindUint8, kindBool:
		return int64(uint8(v))
	case kindInt8:
		return int64(int8(v))
	case kindUint16:
		return int64(uint16(v))
	case kindInt16:
		return int64(int16(v))
	case kindInt32:
		return int64(int32(v))
	case kindUint32:
		return int64(uint32(v))
	}
	return int64(v)
}

// half is a floating-point number of 16 bits (IEEE 754).
func half(v uint16) float64 {
	exp, frac := int(v>>10&31), float64(v&1023)
	x := 0.0
	switch exp {
	case 0:
		x = math.Ldexp(frac, -24)
	case 31:
		x = math.Inf(1)
		if frac > 0 {
			x = math.NaN()
		}
	default:
		x = math.Ldexp(1024+frac, exp-25)
	}
	if v>>15 == 1 {
		return -x
	}
	return x
}
