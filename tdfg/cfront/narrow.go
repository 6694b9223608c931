package cfront

import (
	"slices"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// bounds is the least and the greatest number that an expression of indices is.
type bounds struct{ lo, hi int64 }

// indexBounds returns the bounds of an expression of constants, sizes and indices of the
// nest, if they are known and no part of it wraps in its type: then it can be computed in
// any type that holds what it is, since sums and products of low bits are low bits.
func (e *emitter) indexBounds(x *expr) (b bounds, ok bool) {
	whole := func(lo, hi int64) (bounds, bool) {
		const far = 1 << 40 // products do not wrap here
		return bounds{lo, hi}, lo > -far && hi < far && holds(x.typ, lo, hi)
	}
	switch x.kind {
	case constExpr:
		if !x.typ.Int() || x.typ == scalar.UInt64 {
			return b, false
		}
		v := scalar.ToInt(x.typ, x.value)
		return whole(v, v)
	case varExpr:
		if i, isAffine := affine(x); isAffine {
			s := e.space(append(slices.Clip(e.nest.hosts), e.nest.loops...))
			lo, known := s.AtLeast(i)
			if hi, also := s.AtLeast(i.Scale(-1)); known && also && -hi >= lo {
				return whole(lo, -hi)
			}
		}
		return b, false
	case convertExpr:
		b, ok = e.indexBounds(x.args[0])
		return b, ok && holds(x.typ, b.lo, b.hi)
	}
	if x.kind != opExpr || !x.typ.Int() {
		return b, false
	}
	var args [2]bounds
	if len(x.args) > len(args) {
		return b, false
	}
	for i, a := range x.args {
		if args[i], ok = e.indexBounds(a); !ok {
			return b, false
		}
	}
	p, q := args[0], args[1]
	switch x.op {
	case scalar.Add:
		b, ok = whole(p.lo+q.lo, p.hi+q.hi)
	case scalar.Sub:
		b, ok = whole(p.lo-q.hi, p.hi-q.lo)
	case scalar.Mul:
		if max(p.hi, -p.lo, q.hi, -q.lo) >= 1<<20 {
			return b, false
		}
		all := []int64{p.lo * q.lo, p.lo * q.hi, p.hi * q.lo, p.hi * q.hi}
		b, ok = whole(slices.Min(all), slices.Max(all))
	default:
		return b, false
	}
	return b, ok
}

// narrow emits what is made of indices in the narrowest type that holds it, or, of a
// comparison, both sides, which takes fewer rows and cycles. ok is false where that is not known, or nothing less.
func (e *emitter) narrow(x *expr, r *region) (v value, ok bool) {
	if !mentions(x, e.nest.loops) {
		return v, false
	}
	list := []*expr{x}
	compares := x.kind == opExpr && x.op.Compares()
	if compares {
		list = x.args
	}
	least, most := int64(0), int64(0)
	for _, y := range list {
		b, known := e.indexBounds(y)
		if !known {
			return v, false
		}
		least, most = min(least, b.lo), max(most, b.hi)
	}
	of := list[len(list)-1].typ
	t := of
	for _, n := range []scalar.Type{scalar.Int8, scalar.Int16, scalar.Int32} {
		if holds(n, least, most) {
			t = n
			break
		}
	}
	if t.Bits() >= of.Bits() {
		return v, false
	}
	if compares {
		return r.compute(x.op, e.index(x.args[0], t, r), e.index(x.args[1], t, r)), true
	}
	v = e.index(x, t, r)
	return r.convert(v, x.typ), true
}

// index emits an expression of indices in a type that holds what it is.
func (e *emitter) index(x *expr, t scalar.Type, r *region) value {
	switch x.kind {
	case constExpr:
		return r.constant(t, scalar.FromInt(t, scalar.ToInt(x.typ, x.value)))
	case convertExpr:
		return e.index(x.args[0], t, r)
	case opExpr:
		args := make([]value, len(x.args))
		for i, a := range x.args {
			args[i] = e.index(a, t, r)
		}
		return r.compute(x.op, args...)
	}
	if slices.ContainsFunc(e.nest.loops, func(l *loop) bool { return l.v == x.v }) {
		return r.convert(e.element(x, r), t)
	}
	i, _ := affine(x)
	i = bind(e.k, i)
	if k, isConst := i.Const(); isConst {
		return r.constant(t, scalar.FromInt(t, k))
	}
	return value{id: r.add(tdfg.Node{Kind: tdfg.Const, Index: &i, Facts: tdfg.Facts{Type: t}})}
}

// convert returns a value as another type.
func (r *region) convert(v value, t scalar.Type) value {
	if r.nodes[v.id].Type != t {
		v.id = r.add(tdfg.Node{Kind: tdfg.Convert, Args: []tdfg.NodeID{v.id}, Facts: tdfg.Facts{Type: t}})
	}
	return v
}
