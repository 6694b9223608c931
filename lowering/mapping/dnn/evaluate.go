package dnn

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// RequantiseShift returns by how many bits sums are shifted right so that the largest fits a
// type.
func RequantiseShift(v []int64, t Type) int {
	lo, hi := t.Range()
	least, most := int64(0), int64(0)
	for _, x := range v {
		least, most = min(least, x), max(most, x)
	}
	shift := 0
	for rounded(most, shift) > hi || t.Signed && rounded(least, shift) < lo {
		shift++
	}
	return shift
}

// rounded shifts right, rounding to nearest.
func rounded(x int64, shift int) int64 {
	if shift == 0 {
		return x
	}
	return (x + 1<<(shift-1)) >> shift
}

// Requantise shifts sums right, rounding to nearest, by as much as the largest needs to
// fit a type.
func Requantise(v []int64, t Type) []int32 {
	lo, hi := t.Range()
	shift := RequantiseShift(v, t)
	out := make([]int32, len(v))
	for i, x := range v {
		out[i] = int32(min(max(rounded(x, shift), lo), hi))
	}
	return out
}

// Narrow rounds values to the nearest of a type of fewer bits, whose steps are as much larger, and
// clips what does not fit. Of a type that is no narrower it only clips.
func Narrow(v []int32, from, to Type) []int32 {
	shift := max(0, from.Bits-to.Bits)
	lo, hi := to.Range()
	if shift == 0 && from.Signed == to.Signed {
		return v
	}
	out := make([]int32, len(v))
	for i, x := range v {
		n := int64(x)
		if shift > 0 {
			n = (n + 1<<(shift-1)) >> shift
		}
		out[i] = int32(min(max(n, lo), hi))
	}
	return out
}

// Evaluate computes a node that is no sum of products, at word level. Functions are of
// quantised values: softmax and normalisation scale their result to the range of the
// type, sigmoid and its like are tables.
func (n *Network) Evaluate(node int, in [][]int32, seed uint64) ([]int32, error) {
	x := &n.Nodes[node]
	t := n.Bits.Activation
	lo, hi := t.Range()
	clamp := func(v int64) int32 { return int32(min(max(v, lo), hi)) }
	out := make([]int32, Elements(x.Shape))
	shape := func(i int) []int { return n.Nodes[x.Inputs[i]].Shape }
	switch x.Kind {
	case ReLU:
		for i, v := range in[0] {
			out[i] = max(v, 0)
		}
	case Add, Mul:
		for i := range out {
			v := int64(broadcast(in[0], shape(0), x.Shape, i))
			if len(in) > 1 {
				w := int64(broadcast(in[1], shape(1), x.Shape, i))
				if x.Kind == Add {
					v += w
				} else {
					v = v * w >> (t.Bits - 1)
				}
			}
			out[i] = clamp(v)
		}
	case MaxPool, AvgPool:
		x.pool(out, in[0], shape(0), int32(lo))
	case Concat:
		concat(out, x, in, n)
	case Reshape:
		copy(out, in[0])
	case Transpose:
		permute(out, in[0], shape(0), x.Perm)
	case Slice:
		slice(out, in[0], shape(0), x)
	case Pad:
		each(out, in[0], x.Shape, shape(0), func(d, i int) int { return i - x.PadBefore[d] })
	case Resize:
		each(out, in[0], x.Shape, shape(0), func(d, i int) int { return i * shape(0)[d] / x.Shape[d] })
	case Gather:
		s := shape(0)
		size, inner := axis(s, x.Axis)
		for i := range out {
			o, rest := i/inner/len(in[1]), i/inner%len(in[1])
			k := (int(in[1][rest])%size + size) % size
			out[i] = in[0][(o*size+k)*inner+i%inner]
		}
	case Softmax:
		size, inner := axis(x.Shape, x.Axis)
		for i := range out {
			if i/inner%size != 0 {
				continue
			}
			most := int32(math.MinInt32)
			for k := range size {
				most = max(most, in[0][i+k*inner])
			}
			sum := 0.0
			for k := range size {
				sum += math.Exp(float64(in[0][i+k*inner]-most) / 16)
			}
			for k := range size {
				out[i+k*inner] = clamp(int64(math.Exp(float64(in[0][i+k*inner]-most)/16) / sum * float64(hi)))
			}
		}
	case Norm:
		size := x.Shape[len(x.Shape)-1]
		for i := 0; i < len(out); i += size {
			sum, square := 0.0, 0.0
			for _, v := range in[0][i : i+size] {
				sum += float64(v)
				square += float64(float64(v) * float64(v))
			}
			mean := sum / float64(size)
			dev := math.Sqrt(max(square/float64(size)-float64(mean*mean), 1))
			for k := range size {
				out[i+k] = clamp(int64(math.Round((float64(in[0][i+k]) - mean) / dev * float64(hi) / 4)))
			}
		}
	case Sigmoid:
		scale := float64(hi) / 4
		for i, v := range in[0] {
			f := float64(v) / scale
			switch x.Function {
			case "gelu":
				f = f / 2 * (1 + math.Erf(f/math.Sqrt2))
			case "tanh":
				f = math.Tanh(f)
			case "swish":
				f /= 1 + math.Exp(-f)
			case "clip":
				f = min(max(f, 0), 6)
			default:
				f = 1 / (1 + math.Exp(-f))
			}
			out[i] = clamp(int64(math.Round(f * scale)))
		}
	case Affine:
		r := rand.New(rand.NewPCG(seed, uint64(node)))
		inner := int(Elements(x.Shape[min(2, len(x.Shape)):]))
		channels := x.Shape[min(1, len(x.Shape)-1)]
		factor, term := make([]int64, channels), make([]int64, channels)
		for c := range channels {
			factor[c], term[c] = 64+r.Int64N(64), r.Int64N(9)-4
		}
		for i, v := range in[0] {
			c := i / inner % channels
			out[i] = clamp(int64(v)*factor[c]>>6 + term[c])
		}
	case Constant:
		r := rand.New(rand.NewPCG(seed, uint64(node)))
		for i := range out {
			out[i] = int32(lo + r.Int64N(hi-lo+1))
		}
	default:
		return nil, fmt.Errorf("%w: node %s: no evaluation of %s", ErrOperator, x.Name, x.Kind)
	}
	return out, nil
}

func axis(shape []int, a int) (size, inner int) {
	if a < 0 {
		a += len(shape)
	}
	return shape[a], int(Elements(shape[a+1:]))
}

// broadcast returns element i of the shape of a result from an operand whose dimensions
// may be 1 or missing in front.
func broadcast(v []int32, from, to []int, i int) int32 {
	if len(v) == int(Elements(to)) {
		return v[i]
	}
	at, stride := 0, 1
	for d := len(to) - 1; d >= 0; d-- {
		k := d - (len(to) - len(from))
		if k >= 0 {
			if from[k] > 1 {
				at += i % to[d] * stride
			}
			stride *= from[k]
		}
		i /= to[d]
	}
	return v[at]
}

// pool computes windows; lo is the least there is, which padding counts as.
func (x *Node) pool(out, in []int32, s []int, lo int32) {
	k := len(x.Window)
	outer := 1
	for _, e := range s[:len(s)-k] {
		outer *= e
	}
	inSize, outSize := int(Elements(s[len(s)-k:])), int(Elements(x.Shape[len(x.Shape)-k:]))
	window := 1
	for _, w := range x.Window {
		window *= w
	}
	for o := range outer {
		for p := range outSize {
			most, sum, taps := lo, int64(0), 0
			for w := range window {
				at, stride, inside := 0, 1, true
				a, b := p, w
				for d := k - 1; d >= 0; d-- {
					tap := b % x.Window[d]
					if x.Dilation != nil {
						tap *= x.Dilation[d]
					}
					pos := a%x.Shape[len(x.Shape)-k+d]*x.Stride[d] + tap - x.PadBefore[d]
					a, b = a/x.Shape[len(x.Shape)-k+d], b/x.Window[d]
					if e := s[len(s)-k+d]; pos < 0 || pos >= e {
						inside = false
					} else {
						at += pos * stride
						stride *= e
					}
				}
				if inside {
					v := in[o*inSize+at]
					most = max(most, v)
					sum += int64(v)
					taps++
				}
			}
			if !x.Inside {
				taps = window
			}
			if x.Kind == MaxPool {
				out[o*outSize+p] = most
			} else {
				out[o*outSize+p] = int32(math.Floor(float64(sum)/float64(max(taps, 1)) + 0.5))
			}
		}
	}
}

func concat(out []int32, x *Node, in [][]int32, n *Network) {
	size, inner := axis(x.Shape, x.Axis)
	outer := len(out) / size / inner
	at := 0
	for i, v := range in {
		part, _ := axis(n.Nodes[x.Inputs[i]].Shape, x.Axis)
		for o := range outer {
			copy(out[(o*size+at)*inner:(o*size+at+part)*inner], v[o*part*inner:(o+1)*part*inner])
		}
		at += part
	}
}

func permute(out, in []int32, s, perm []int) {
	stride := make([]int, len(s))
	n := 1
	for d := len(s) - 1; d >= 0; d-- {
		stride[d] = n
		n *= s[d]
	}
	for i := range out {
		at, rest := 0, i
		for d := len(perm) - 1; d >= 0; d-- {
			e := s[perm[d]]
			at += rest % e * stride[perm[d]]
			rest /= e
		}
		out[i] = in[at]
	}
}

func slice(out, in []int32, s []int, x *Node) {
	step := x.Step
	if step == 0 {
		step = 1
	}
	each(out, in, x.Shape, s, func(d, i int) int {
		if d == x.Axis {
			return x.Start + i*step
		}
		return i
	})
}

// each sets every element of out to that of in at the index that from gives for each
// dimension; beyond in it is zero.
func each(out, in []int32, to, s []int, from func(d, i int) int) {
	tables := make([][]int, len(to)) // by dimension and index: the offset in in, -1 beyond it
	stride := 1
	for d := len(to) - 1; d >= 0; d-- {
		for i := range to[d] {
			at := from(d, i)
			if at < 0 || at >= s[d] {
				at = -1
			} else {
				at *= stride
			}
			tables[d] = append(tables[d], at)
		}
		stride *= s[d]
	}
	for i := range out {
		at, rest := 0, i
		for d := len(to) - 1; d >= 0; d-- {
			k := tables[d][rest%to[d]]
			if k < 0 {
				at = -1
				break
			}
			at, rest = at+k, rest/to[d]
		}
		if at >= 0 {
			out[i] = in[at]
		}
	}
}
