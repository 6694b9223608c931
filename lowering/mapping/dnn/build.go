package dnn

import "fmt"

// Bits are the types of a layer: of activations and weights.
type Bits struct{ Activation, Weight Type }

// DefaultBits are signed numbers of 8 bits, as in the paper's evaluation (VI-A).
var DefaultBits = Bits{Type{8, true}, Type{8, true}}

// Conv describes a convolution in one to three dimensions. Sizes are of the output.
type Conv struct {
	N, K, C, G int   // batch, channels of output and of input over all groups, groups
	Out        []int // H, W, ...
	Kernel     []int // R, S, ...
	Stride     []int // nil: all 1
	Dilation   []int // nil: all 1
	PadBefore  []int // nil: (kernel-1)*dilation/2
	In         []int // nil: what output, stride and pads give
	Transposed bool  // gradient of a convolution: stride zeros are inserted between the inputs
}

var outNames = [][]string{1: {"W"}, 2: {"H", "W"}, 3: {"D", "H", "W"}}
var kernelNames = [][]string{1: {"S"}, 2: {"R", "S"}, 3: {"Q", "R", "S"}}

// NewConv returns the operator of a convolution: O[n,g,k,h,w] += F[n,g,c,h*stride+r*dilation-pad,..] * W[g,k,c,r,s].
// Loop G is there with groups only.
func NewConv(name string, c Conv, bits Bits) (*Operator, error) {
	dims := len(c.Out)
	if dims < 1 || dims > 3 || len(c.Kernel) != dims {
		return nil, fmt.Errorf("%w: operator %s: %d sizes and %d of the kernel, expected one to three of each", ErrOperator, name, dims, len(c.Kernel))
	}
	g := max(c.G, 1)
	if c.C%g != 0 || c.K%g != 0 {
		return nil, fmt.Errorf("%w: operator %s: C=%d and K=%d in %d groups, expected multiples", ErrOperator, name, c.C, c.K, g)
	}
	at := func(v []int, d, otherwise int) int {
		if v == nil {
			return otherwise
		}
		return v[d]
	}
	o := &Operator{Name: name, Kind: fmt.Sprintf("conv%dd", dims)}
	add := func(n string, e int) int { o.Loops = append(o.Loops, Loop{n, e}); return len(o.Loops) - 1 }
	ln := add("N", c.N)
	lg := -1
	if g > 1 {
		lg = add("G", g)
	}
	lk := add("K", c.K/g)
	lo, lr := make([]int, dims), make([]int, dims)
	for d := range dims {
		lo[d] = add(outNames[dims][d], c.Out[d])
	}
	lc := add("C", c.C/g)
	for d := range dims {
		lr[d] = add(kernelNames[dims][d], c.Kernel[d])
	}
	n := len(o.Loops)
	row := func(pairs ...int) []int {
		r := make([]int, n)
		for i := 0; i < len(pairs); i += 2 {
			r[pairs[i]] = pairs[i+1]
		}
		return r
	}
	f := Tensor{Name: "F", Role: Activation, Type: bits.Activation}
	w := Tensor{Name: "W", Role: Weight, Type: bits.Weight}
	out := Tensor{Name: "O", Role: Output}
	dim := func(t *Tensor, extent, offset int, access []int) {
		t.Access, t.Extents, t.Offset = append(t.Access, access), append(t.Extents, extent), append(t.Offset, offset)
	}
	dim(&f, c.N, 0, row(ln, 1))
	dim(&out, c.N, 0, row(ln, 1))
	if lg >= 0 {
		dim(&f, g, 0, row(lg, 1))
		dim(&w, g, 0, row(lg, 1))
		dim(&out, g, 0, row(lg, 1))
	}
	dim(&f, c.C/g, 0, row(lc, 1))
	dim(&w, c.K/g, 0, row(lk, 1))
	dim(&w, c.C/g, 0, row(lc, 1))
	dim(&out, c.K/g, 0, row(lk, 1))
	insert := make([]int, len(f.Extents), len(f.Extents)+dims)
	for i := range insert {
		insert[i] = 1
	}
	for d := range dims {
		stride, dil, k := at(c.Stride, d, 1), at(c.Dilation, d, 1), c.Kernel[d]
		pad := at(c.PadBefore, d, (k-1)*dil/2)
		if stride < 1 || dil < 1 || c.Out[d] < 1 || k < 1 {
			return nil, fmt.Errorf("%w: operator %s: output %d, kernel %d, stride %d, dilation %d, expected at least 1", ErrOperator, name, c.Out[d], k, stride, dil)
		}
		if c.Transposed {
			// Element i of the input lies at i*stride of the stretched one, which a kernel turned round
			// moves over; the kernel is stored as given, so that tap r reads from the other side.
			in := at(c.In, d, (c.Out[d]-1-(k-1)*dil+2*pad)/stride+1)
			dim(&f, in, pad, row(lo[d], 1, lr[d], -dil))
			insert = append(insert, stride)
		} else {
			in := at(c.In, d, max(1, (c.Out[d]-1)*stride+(k-1)*dil+1-2*pad))
			if c.In == nil && c.PadBefore == nil && stride > 1 && (k-1)*dil%2 == 0 {
				in = c.Out[d] * stride // an image of the usual even size
				if (in+2*pad-(k-1)*dil-1)/stride+1 != c.Out[d] {
					in = (c.Out[d]-1)*stride + (k-1)*dil + 1 - 2*pad
				}
			}
			dim(&f, max(in, 1), -pad, row(lo[d], stride, lr[d], dil))
			insert = append(insert, 1)
		}
		dim(&w, k, 0, row(lr[d], 1))
		dim(&out, c.Out[d], 0, row(lo[d], 1))
	}
	if c.Transposed {
		f.Insert = insert
	}
	o.Tensors = []Tensor{f, w, out}
	return o, o.Check()
}

// NewGEMM returns the operator C[b,m,n] += A[b,m,k] * B[b,k,n]; loop B is there with
// a batch only. Static says that B is a weight.
func NewGEMM(name string, batch, m, n, k int, static bool, bits Bits) (*Operator, error) {
	o := &Operator{Name: name, Kind: "gemm"}
	if batch > 1 {
		o.Loops = append(o.Loops, Loop{"B", batch})
	}
	first := len(o.Loops)
	o.Loops = append(o.Loops, Loop{"M", m}, Loop{"N", n}, Loop{"K", k})
	lm, ln, lk := first, first+1, first+2
	role, typ := Activation, bits.Activation
	if static {
		role, typ = Weight, bits.Weight
	}
	tensor := func(name string, role Role, typ Type, loops ...int) Tensor {
		t := Tensor{Name: name, Role: role, Type: typ, Offset: make([]int, len(loops))}
		for _, l := range loops {
			row := make([]int, len(o.Loops))
			row[l] = 1
			t.Access, t.Extents = append(t.Access, row), append(t.Extents, o.Loops[l].Extent)
		}
		return t
	}
	if batch > 1 {
		o.Tensors = []Tensor{tensor("A", Activation, bits.Activation, 0, lm, lk), tensor("B", role, typ, 0, lk, ln), tensor("C", Output, Type{}, 0, lm, ln)}
	} else {
		o.Tensors = []Tensor{tensor("A", Activation, bits.Activation, lm, lk), tensor("B", role, typ, lk, ln), tensor("C", Output, Type{}, lm, ln)}
	}
	return o, o.Check()
}

// NewEinsum returns the operator of a sum of products in Einstein's notation: a letter for
// each dimension of the operands and of the result is a loop, a dot a dimension of one element. A
// letter may be there twice in an operand: its diagonal.
func NewEinsum(name string, terms [3]string, a, b []int, bits Bits) (*Operator, error) {
	o := &Operator{Name: name, Kind: "nest"}
	fail := func(format string, args ...any) (*Operator, error) {
		return nil, fmt.Errorf("%w: operator %s: %s", ErrOperator, name, fmt.Sprintf(format, args...))
	}
	loop := func(l rune) int {
		for i := range o.Loops {
			if o.Loops[i].Name == string(l) {
				return i
			}
		}
		return -1
	}
	for t, shape := range [][]int{a, b} {
		if len(terms[t]) != len(shape) {
			return fail("%q of shape %v", terms[t], shape)
		}
		for d, l := range terms[t] {
			if l == '.' {
				continue
			}
			if k := loop(l); k < 0 {
				o.Loops = append(o.Loops, Loop{string(l), shape[d]})
			} else if o.Loops[k].Extent != shape[d] {
				return fail("%c is %d and %d", l, o.Loops[k].Extent, shape[d])
			}
		}
	}
	shapes := [][]int{a, b, nil}
	seen := map[rune]bool{}
	for _, l := range terms[2] {
		k := loop(l)
		if k < 0 || seen[l] {
			return fail("%q in the result, expected letters of the operands, each once", l)
		}
		seen[l] = true
		shapes[2] = append(shapes[2], o.Loops[k].Extent)
	}
	for t, role := range []Role{Activation, Activation, Output} {
		x := Tensor{Name: []string{"A", "B", "C"}[t], Role: role, Extents: shapes[t], Offset: make([]int, len(shapes[t]))}
		if role == Activation {
			x.Type = bits.Activation
		}
		for _, l := range terms[t] {
			row := make([]int, len(o.Loops))
			if l != '.' {
				row[loop(l)] = 1
			}
			x.Access = append(x.Access, row)
		}
		if len(x.Extents) == 0 { // a single element
			x.Access, x.Extents, x.Offset = [][]int{make([]int, len(o.Loops))}, []int{1}, []int{0}
		}
		o.Tensors = append(o.Tensors, x)
	}
	return o, o.Check()
}
