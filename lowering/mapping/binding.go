package mapping

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// ErrInfeasible is wrapped by the errors of what cannot be mapped at all.
var ErrInfeasible = errors.New("mapping: infeasible")

// legalLoops returns the loops that may be bound to a dimension: of its class (B1),
// and reused by every tensor whose operand the dimension does not index (B2, Eq. 5).
func (q *Problem) legalLoops(f *platform.Function, d int, swap bool) uint16 {
	mask := uint16(0)
	for l := range q.loops {
		if q.bindRule(f, d, l, swap) == "" {
			mask |= 1 << l
		}
	}
	return mask
}

// bindRule returns the rule that forbids to bind a loop to a dimension, "" if none.
func (q *Problem) bindRule(f *platform.Function, d, l int, swap bool) string {
	if f.Reduction(d) != (q.reduction>>l&1 == 1) {
		return "B1"
	}
	for o := range f.Operands {
		if !f.Indexed(o, d) && q.tensors[operand(o, swap)].indexed>>l&1 == 1 {
			return "B2"
		}
	}
	return ""
}

// Binding is which loops are bound to which dimensions, as masks.
type Binding struct {
	Function int
	Swap     bool
	Loops    [3]uint16
}

// BindingOptions say which bindings are counted.
type BindingOptions struct {
	Empty [3]bool // dimensions that may be left without a loop
}

// Bindings calls f with every binding of the paper's space: B1 to B4. It stops when f
// returns false.
func (q *Problem) Bindings(function int, o BindingOptions, f func(Binding) bool) {
	info := &q.functions[function]
	for swap := range 2 {
		// Sources that are indexed alike take the same loops either way: one binding.
		if !info.ok[swap] || swap == 1 && info.indexes[Src1] == info.indexes[Src2] {
			continue
		}
		var legal [3]uint16
		for d := range info.dims {
			legal[d] = info.legal[swap][SlotDim+d]
		}
		b := Binding{Function: function, Swap: swap == 1}
		if !q.bindLoop(info, &legal, o, 0, &b, f) {
			return
		}
	}
}

func (q *Problem) bindLoop(info *functionInfo, legal *[3]uint16, o BindingOptions, l int, b *Binding, f func(Binding) bool) bool {
	if l == q.loops {
		for d := range info.dims {
			if b.Loops[d] == 0 && !o.Empty[d] {
				return true
			}
		}
		return f(*b)
	}
	if !q.bindLoop(info, legal, o, l+1, b, f) {
		return false
	}
	for d := range info.dims {
		if legal[d]>>l&1 == 1 {
			b.Loops[d] |= 1 << l
			ok := q.bindLoop(info, legal, o, l+1, b, f)
			b.Loops[d] &^= 1 << l
			if !ok {
				return false
			}
		}
	}
	return true
}

// CountBindings counts them, those with the operands in order and those swapped.
func (q *Problem) CountBindings(function int, o BindingOptions) (inOrder, swapped int64) {
	q.Bindings(function, o, func(b Binding) bool {
		if b.Swap {
			swapped++
		} else {
			inOrder++
		}
		return true
	})
	return inOrder, swapped
}

// CountSized counts sizes of dimensions of one unit that divide the extents and fit
// its rows and columns, all ones included, by order of the operands.
func (q *Problem) CountSized(function int) (inOrder, swapped int64, err error) {
	c := q.Platform.Crossbar
	if c == nil {
		return 0, 0, fmt.Errorf("mapping: sizes are counted on crossbars, platform %s has none", q.Platform.Name)
	}
	info := &q.functions[function]
	for swap := range 2 {
		if !info.ok[swap] {
			continue
		}
		cell := q.cells(q.tensors[operand(Src1, swap == 1)].bits)
		var walk func(l int, rows, cols int64) int64
		walk = func(l int, rows, cols int64) int64 {
			if l == q.loops {
				return 1
			}
			n := int64(0)
			for x := int64(1); x <= int64(q.extent[l]); x++ {
				if int64(q.extent[l])%x != 0 {
					continue
				}
				r, k, bound := rows, cols, x == 1
				for d := range info.dims {
					if info.legal[swap][SlotDim+d]>>l&1 == 1 && x > 1 {
						bound = true
						if info.rowDims[d] && info.Reduction(d) {
							r *= x
						} else {
							k *= x
						}
					}
				}
				if bound && r <= int64(c.Rows) && k*cell <= int64(c.Cols) {
					n += walk(l+1, r, k)
				}
			}
			return n
		}
		n := walk(0, 1, 1)
		if swap == 0 {
			inOrder = n
		} else {
			swapped = n
		}
	}
	return inOrder, swapped, nil
}

// Refusal says why a loop may not be bound to a dimension: the rule, and for B2 two
// iterations that need different data in one place.
type Refusal struct {
	Rule, Loop, Dim, Tensor, Operand string
	First, Second                    []int // elements of the tensor
}

func (r *Refusal) Error() string {
	if r.Rule == "B1" {
		return fmt.Sprintf("B1: loop %s cannot be bound to dimension %s: one is parallel, the other a reduction", r.Loop, r.Dim)
	}
	return fmt.Sprintf("B2: loop %s cannot be bound to dimension %s: operand %s is the same along %s, and tensor %s on it is not along %s: %s%s against %s%s in one place",
		r.Loop, r.Dim, r.Operand, r.Dim, r.Tensor, r.Loop, r.Tensor, index(r.First), r.Tensor, index(r.Second))
}

func index(x []int) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, v := range x {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, v)
	}
	b.WriteByte(']')
	return b.String()
}

// Refuse returns why a loop may not be bound to a dimension, nil if it may.
func (q *Problem) Refuse(function, d, l int, swap bool) *Refusal {
	f := q.functions[function].Function
	rule := q.bindRule(f, d, l, swap)
	if rule == "" {
		return nil
	}
	r := &Refusal{Rule: rule, Loop: q.Op.Loops[l].Name, Dim: f.Dims[d].Name}
	if rule == "B1" {
		return r
	}
	for o := range f.Operands {
		t := operand(o, swap)
		if f.Indexed(o, d) || q.tensors[t].indexed>>l&1 == 0 {
			continue
		}
		x := &q.Op.Tensors[t]
		r.Tensor, r.Operand = x.Name, f.Operands[o].Name
		// The second step of the loop; the others stand where both elements exist.
		for dim, row := range x.Access {
			first := 0
			if lo := x.Offset[dim]; lo < 0 { // begin behind the padding
				first = 0
			}
			r.First = append(r.First, first)
			r.Second = append(r.Second, first+row[l])
		}
		break
	}
	return r
}

// String names the loops of each dimension.
func (q *Problem) BindingString(b Binding) string {
	f := q.functions[b.Function].Function
	var s strings.Builder
	src := [2]string{q.Op.Tensors[operand(0, b.Swap)].Name, q.Op.Tensors[operand(1, b.Swap)].Name}
	fmt.Fprintf(&s, "%s: %s on %s, %s on %s", f.Name, src[0], f.Operands[0].Name, src[1], f.Operands[1].Name)
	for d := range f.Dims {
		fmt.Fprintf(&s, "; %s <- {", f.Dims[d].Name)
		for i, m := 0, b.Loops[d]; m != 0; i, m = i+1, m&(m-1) {
			if i > 0 {
				s.WriteString(", ")
			}
			s.WriteString(q.Op.Loops[bits.TrailingZeros16(m)].Name)
		}
		s.WriteByte('}')
	}
	return s.String()
}
