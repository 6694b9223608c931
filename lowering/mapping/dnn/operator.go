package dnn

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
)

// MaxLoops is the number of loops that an operator may have.
const MaxLoops = 10

// maxExtent bounds the product of the extents of all loops, and maxElements the
// elements of a tensor that is executed.
const (
	maxProduct  = 1 << 62
	MaxElements = 1 << 31
)

// Type is that of the elements of a tensor: integers of a number of bits.
type Type struct {
	Bits   int
	Signed bool
}

func (t Type) String() string {
	if t.Signed {
		return fmt.Sprintf("int%d", t.Bits)
	}
	return fmt.Sprintf("uint%d", t.Bits)
}

// Range returns the least and the greatest value.
func (t Type) Range() (lo, hi int64) {
	if t.Signed {
		return -1 << (t.Bits - 1), 1<<(t.Bits-1) - 1
	}
	return 0, 1<<t.Bits - 1
}

// Role is what a tensor is to its operator.
type Role uint8

// The roles.
const (
	Activation Role = iota // changes with each inference
	Weight                 // static: loaded before the first inference
	Output
)

func (r Role) String() string { return [...]string{"activation", "weight", "output"}[r] }

// Loop is a loop of a nest. It is a reduction exactly if it does not index the
// output.
type Loop struct {
	Name   string
	Extent int
}

// Tensor is an operand or the result of a nest. In dimension d, the iteration i
// reads element (Access[d]·i + Offset[d]) / Insert[d]. Where that is no whole
// number or lies outside the extents, it reads zero: padding, and the zeros that a
// transposed convolution inserts, are iterations like the others.
type Tensor struct {
	Name    string
	Role    Role
	Type    Type
	Access  [][]int // dimensions x loops
	Offset  []int   // one for each dimension
	Insert  []int   // one for each dimension; nil: all 1
	Extents []int
}

// Elements returns the number of elements.
func (t *Tensor) Elements() int64 {
	n := int64(1)
	for _, e := range t.Extents {
		n *= int64(e)
	}
	return n
}

// Indexed reports whether a loop takes part in the index of the tensor.
func (t *Tensor) Indexed(loop int) bool {
	for _, row := range t.Access {
		if row[loop] != 0 {
			return true
		}
	}
	return false
}

// Operator is a nest of loops whose body multiplies an element of each operand and
// adds the product to an element of the output, the last of Tensors.
type Operator struct {
	Name    string
	Kind    string // conv1d, conv2d, conv3d, gemm, nest
	Loops   []Loop
	Tensors []Tensor
}

// Output returns the tensor that the nest makes.
func (o *Operator) Output() *Tensor { return &o.Tensors[len(o.Tensors)-1] }

// Operands returns the tensors that the nest reads.
func (o *Operator) Operands() []Tensor { return o.Tensors[:len(o.Tensors)-1] }

// Reduction reports whether a loop adds to one element of the output.
func (o *Operator) Reduction(loop int) bool { return !o.Output().Indexed(loop) }

// MACs returns the iterations of the nest, those in padding included.
func (o *Operator) MACs() int64 {
	n := int64(1)
	for _, l := range o.Loops {
		n *= int64(l.Extent)
	}
	return n
}

// Terms returns the products that are added to one element of the output.
func (o *Operator) Terms() int64 {
	n := int64(1)
	for i, l := range o.Loops {
		if o.Reduction(i) {
			n *= int64(l.Extent)
		}
	}
	return n
}

// Weights returns the elements of static operands.
func (o *Operator) Weights() int64 {
	n := int64(0)
	for i := range o.Tensors {
		if o.Tensors[i].Role == Weight {
			n += o.Tensors[i].Elements()
		}
	}
	return n
}

// Loop returns the number of the loop of that name, -1 if there is none.
func (o *Operator) Loop(name string) int {
	for i := range o.Loops {
		if o.Loops[i].Name == name {
			return i
		}
	}
	return -1
}

// Tensor returns the number of the tensor of that name, -1 if there is none.
func (o *Operator) Tensor(name string) int {
	for i := range o.Tensors {
		if o.Tensors[i].Name == name {
			return i
		}
	}
	return -1
}

// Mixed reports whether one operand is signed and another not.
func (o *Operator) Mixed() bool {
	ops := o.Operands()
	for i := range ops {
		if ops[i].Type.Signed != ops[0].Type.Signed {
			return true
		}
	}
	return false
}

// AccBits returns the bits of a signed or unsigned number that holds every sum of
// products of the nest.
func (o *Operator) AccBits() int {
	bits := 0
	for _, t := range o.Operands() {
		bits += t.Type.Bits
	}
	if o.Mixed() {
		bits++
	}
	return bits + Log2(o.Terms())
}

// Log2 returns the logarithm of n rounded up.
func Log2(n int64) int {
	b := 0
	for int64(1)<<b < n {
		b++
	}
	return b
}

// Signature is what is the same for operators that are mapped alike: everything but
// the name. Two operators of one signature have the same mappings.
func (o *Operator) Signature() string {
	var b strings.Builder
	b.WriteString(o.Kind)
	for _, l := range o.Loops {
		fmt.Fprintf(&b, " %s=%d", l.Name, l.Extent)
	}
	for i := range o.Tensors {
		t := &o.Tensors[i]
		fmt.Fprintf(&b, "; %s %s %s %v %v %v %v", t.Name, t.Role, t.Type, t.Access, t.Offset, t.Insert, t.Extents)
	}
	return b.String()
}

// Hash is a digest of the signature, for mapping files.
func (o *Operator) Hash() string {
	h := fnv.New64a()
	h.Write([]byte(o.Signature()))
	return fmt.Sprintf("%016x", h.Sum64())
}

// String is the operator on one line.
func (o *Operator) String() string {
	var b strings.Builder
	b.WriteString(o.Kind)
	for _, l := range o.Loops {
		fmt.Fprintf(&b, " %s=%d", l.Name, l.Extent)
	}
	return b.String()
}

// ErrOperator is wrapped by the errors of operators that make no sense.
var ErrOperator = errors.New("dnn")

// Check reports the first thing that is wrong with the operator, or nil.
func (o *Operator) Check() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%w: operator %s: %s", ErrOperator, o.Name, fmt.Sprintf(format, args...))
	}
	if len(o.Loops) < 1 || len(o.Loops) > MaxLoops {
		return fail("%d loops, expected 1 to %d", len(o.Loops), MaxLoops)
	}
	product := int64(1)
	for i, l := range o.Loops {
		if l.Name == "" {
			return fail("loop %d has no name", i)
		}
		if o.Loop(l.Name) != i {
			return fail("two loops %s", l.Name)
		}
		if l.Extent < 1 || l.Extent > 1<<30 {
			return fail("extent %d of loop %s, expected 1 to %d", l.Extent, l.Name, 1<<30)
		}
		if product > maxProduct/int64(l.Extent) {
			return fail("more than 2^62 iterations")
		}
		product *= int64(l.Extent)
	}
	if len(o.Tensors) != 3 {
		return fail("%d tensors, expected two operands and an output", len(o.Tensors))
	}
	for i := range o.Tensors {
		t := &o.Tensors[i]
		switch {
		case t.Name == "":
			return fail("tensor %d has no name", i)
		case o.Tensor(t.Name) != i:
			return fail("two tensors %s", t.Name)
		case (t.Role == Output) != (i == len(o.Tensors)-1):
			return fail("tensor %s is an %s, expected the output last and nowhere else", t.Name, t.Role)
		case t.Role != Output && (t.Type.Bits < 1 || t.Type.Bits > 16):
			return fail("tensor %s of %d bits, expected 1 to 16", t.Name, t.Type.Bits)
		case t.Role != Output && t.Type.Signed && t.Type.Bits < 2:
			return fail("tensor %s of 1 bit is signed, expected at least 2 bits", t.Name)
		case len(t.Access) != len(t.Extents) || len(t.Offset) != len(t.Extents) || t.Insert != nil && len(t.Insert) != len(t.Extents):
			return fail("access matrix of tensor %s has %d rows and %d offsets, expected %d, one for each dimension", t.Name, len(t.Access), len(t.Offset), len(t.Extents))
		}
		if len(t.Extents) > MaxLoops {
			return fail("tensor %s of %d dimensions, expected at most %d", t.Name, len(t.Extents), MaxLoops)
		}
		n := int64(1)
		for d, row := range t.Access {
			if len(row) != len(o.Loops) {
				return fail("row %d of the access matrix of tensor %s has %d columns, expected %d, one for each loop", d, t.Name, len(row), len(o.Loops))
			}
			e := t.Extents[d]
			if e < 1 || e > 1<<30 || n > math.MaxInt64/int64(e)/64 {
				return fail("extent %d of dimension %d of tensor %s, expected 1 to %d", e, d, t.Name, 1<<30)
			}
			n *= int64(e)
			if t.Insert != nil && t.Insert[d] < 1 {
				return fail("insert %d in dimension %d of tensor %s, expected at least 1", t.Insert[d], d, t.Name)
			}
			lo, hi := int64(t.Offset[d]), int64(t.Offset[d])
			for l, a := range row {
				if a < -1<<20 || a > 1<<20 {
					return fail("coefficient %d of tensor %s, expected at most %d", a, t.Name, 1<<20)
				}
				v := int64(a) * int64(o.Loops[l].Extent-1)
				lo, hi = lo+min(v, 0), hi+max(v, 0)
			}
			if t.Role == Output && (lo < 0 || hi >= int64(e) || t.Insert != nil && t.Insert[d] != 1) {
				return fail("output %s is written at %d to %d in dimension %d, expected 0 to %d", t.Name, lo, hi, d, e-1)
			}
		}
	}
	return o.checkOutput(fail)
}

// checkOutput makes sure that parallel loops write different elements: each loop
// that indexes the output does so alone and in one dimension.
func (o *Operator) checkOutput(fail func(string, ...any) error) error {
	out := o.Output()
	for d, row := range out.Access {
		n := 0
		for _, a := range row {
			if a != 0 {
				n++
			}
		}
		if n > 1 {
			return fail("dimension %d of output %s depends on %d loops, expected at most one", d, out.Name, n)
		}
	}
	return nil
}
