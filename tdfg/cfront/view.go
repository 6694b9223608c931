package cfront

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// seat is where the elements that an expression is over the loops of a nest lie in the
// lattice: in an array itself, or in a view of it.
type seat struct {
	array *array
	at    []lattice.Expr // coordinates, as in C, outermost first
	along []*loop        // the loop along each dimension, nil for one coordinate
}

// generator is a dimension of a view in the making: a loop of the nest, a variable of a
// loop around it, or all of a dimension of the array.
type generator struct {
	loop *loop
	at   lattice.Expr // coordinate
	size lattice.Expr // coordinates
	step []int64      // in each dimension of the array, as in C
	of   int          // first dimension of the array that it is in
	by   int64        // step there
}

// seat returns where an element lies for a nest with these loops, or why no tensor has it.
// Where subscripts are loop variables with distances the array has a place itself. Else a
// view has the elements, with a dimension for each loop: at strides, as in A[2*i+1],
// backwards, or of an array that has fewer dimensions than there are loops.
func (p *planner) seat(x *expr, loops, hosts []*loop) (s seat, why string) {
	if x.kind == varExpr {
		return p.iota(x, loops, hosts)
	}
	index := subscripts(x)
	if index == nil {
		return s, x.array.name + " has a subscript that is not affine"
	}
	used := map[*loop]int{}  // dimensions that a loop is in
	shared := map[int]bool{} // dimensions with several loops, or with one of several dimensions
	direct := true
	s.along = make([]*loop, len(index))
	for d, e := range index {
		n := 0
		for _, l := range loops {
			if c := e.Coef(l.v.name); c != 0 {
				n++
				used[l]++
				s.along[d] = l
				direct = direct && c == 1 && n == 1 && used[l] == 1
			}
		}
		shared[d] = n > 1
	}
	if direct {
		s.array, s.at = x.array, index
		return s, ""
	}
	for d, e := range index {
		shared[d] = shared[d] || slices.ContainsFunc(loops, func(l *loop) bool { return e.Coef(l.v.name) != 0 && used[l] > 1 })
	}
	v := viewer{p: p, array: x.array, index: index, loops: loops, hosts: hosts, offset: make([]lattice.Expr, len(index))}
	for d := range index {
		if why := v.dimension(d, shared[d]); why != "" {
			return s, why
		}
	}
	if len(v.gens) > p.dims {
		return s, fmt.Sprintf("%s has subscripts of more loops than dimensions", x.array.name)
	}
	a, why := v.view()
	if why != "" {
		return s, why
	}
	s = seat{array: a}
	for _, g := range v.gens {
		s.at, s.along = append(s.at, g.at), append(s.along, g.loop)
	}
	return s, ""
}

// short reports whether a dimension has a few elements only: it is no innermost one of
// tiles, where there is another.
func (g *generator) short() bool {
	const line = 16 // elements of 32 bits
	n, ok := g.size.Const()
	return ok && n < line
}

// iota returns where the numbers of the iterations of a loop lie: in an array that has that
// of each of its elements.
func (p *planner) iota(x *expr, loops, hosts []*loop) (s seat, why string) {
	l := loops[slices.IndexFunc(loops, func(l *loop) bool { return l.v == x.v })]
	at := lattice.Sym(l.v.name)
	v := viewer{p: p, loops: loops, hosts: hosts}
	n, ok := v.most(at)
	low := l.lo
	for _, h := range slices.Backward(hosts) {
		if c := low.Coef(h.v.name); c > 0 {
			low = low.Subst(h.v.name, h.lo)
		} else if c < 0 {
			low = low.Subst(h.v.name, h.hi.Plus(-1))
		}
	}
	typ := x.typ
	if k, isConst := n.Const(); isConst {
		for _, t := range []scalar.Type{scalar.Int8, scalar.Int16, scalar.Int32} {
			if holds(t, 0, k-1) && t.Bits() < typ.Bits() {
				typ = t
				break
			}
		}
	}
	if !ok || !p.sizes.LessEqual(lattice.Const(0), low) || !x.typ.Int() {
		return s, fmt.Sprintf("index %s is used as a number, and may be negative", x.v.source())
	}
	if !p.sizes.LessEqual(lattice.Const(1), n) {
		if p.enlarge(n.Plus(-1)) {
			panic(retry{})
		}
		return s, fmt.Sprintf("index %s is used as a number in a loop that may have no iteration", x.v.source())
	}
	base := x.v.source() + ".index"
	if p.ownIota {
		base = x.v.name + ".index"
	}
	name := base
	for k := 2; ; k++ {
		i := slices.IndexFunc(p.views, func(a *array) bool { return a.name == name })
		if i < 0 && !p.k.taken[name] {
			break
		}
		if i >= 0 && p.views[i].typ == typ && p.views[i].view.Iota && p.views[i].size[0].Equal(n) && (!p.ownIota || p.views[i].pos == l.pos) {
			return seat{p.views[i], []lattice.Expr{at}, []*loop{l}}, ""
		}
		name = fmt.Sprintf("%s.%d", base, k)
	}
	t := &tdfg.Array{Name: name, Type: typ, Size: []lattice.Expr{n}, Iota: true}
	p.views = append(p.views, &array{name: name, typ: typ, pos: l.pos, size: t.Size, view: t, declared: true})
	return seat{p.views[len(p.views)-1], []lattice.Expr{at}, []*loop{l}}, ""
}

// holds reports whether a type has all numbers from one to another.
func holds(t scalar.Type, lo, hi int64) bool {
	if !t.Int() {
		return false
	}
	if !t.Signed() {
		return lo >= 0 && (t.Bits() == 64 || hi < 1<<t.Bits())
	}
	return t.Bits() == 64 || lo >= -1<<(t.Bits()-1) && hi < 1<<(t.Bits()-1)
}

// viewer makes a view for an element.
type viewer struct {
	p            *planner
	array        *array
	index        []lattice.Expr
	loops, hosts []*loop
	gens         []*generator
	offset       []lattice.Expr
}

// dimension finds what moves the subscript of a dimension of the array.
func (v *viewer) dimension(d int, shared bool) string {
	e := v.index[d]
	size := bind(v.p.k, v.array.size[d])
	var l *loop
	rest := e
	for _, x := range v.loops {
		if c := e.Coef(x.v.name); c != 0 {
			l = x
			rest = rest.Sub(lattice.Sym(x.v.name).Scale(c))
		}
	}
	if l == nil { // all of the dimension, of which the nest has a place
		v.add(&generator{at: e, size: size}, d, 1)
		return ""
	}
	if c := e.Coef(l.v.name); !shared {
		switch {
		case c == 1:
			v.add(&generator{loop: l, at: e, size: size}, d, 1)
			return ""
		case c == -1:
			v.offset[d] = size.Plus(-1)
			v.add(&generator{loop: l, at: size.Plus(-1).Sub(e), size: size}, d, -1)
			return ""
		case c > 1:
			if first, q, ok := v.phase(rest, c); ok {
				at := lattice.Sym(l.v.name).Add(q)
				n, ok := quotient(size.Plus(c-1-first), c)
				if !ok {
					if n, ok = v.most(at); !ok {
						return v.varies(l)
					}
				}
				v.offset[d] = lattice.Const(first)
				v.add(&generator{loop: l, at: at, size: n}, d, c)
				return ""
			}
		}
	}
	v.offset[d] = rest
	for _, x := range v.loops {
		c := e.Coef(x.v.name)
		if c == 0 {
			continue
		}
		at := lattice.Sym(x.v.name)
		n, ok := v.most(at)
		if !ok {
			return v.varies(x)
		}
		v.add(&generator{loop: x, at: at, size: n}, d, c)
	}
	for _, h := range v.hosts {
		c := rest.Coef(h.v.name)
		if c == 0 {
			continue
		}
		at := lattice.Sym(h.v.name)
		n, ok := v.most(at)
		if !ok {
			return v.varies(h)
		}
		v.offset[d] = v.offset[d].Sub(at.Scale(c))
		v.add(&generator{at: at, size: n}, d, c)
	}
	return ""
}

func (v *viewer) varies(l *loop) string {
	return fmt.Sprintf("%s is taken at strides in loop %s, whose bounds vary", v.array.name, l.v.source())
}

// add adds a dimension to the view, or another subscript to one.
func (v *viewer) add(g *generator, d int, step int64) {
	for _, h := range v.gens {
		if h.loop == g.loop && h.at.Equal(g.at) && (g.loop != nil || h.of == d) {
			h.step[d] += step
			return
		}
	}
	g.step, g.of, g.by = make([]int64, len(v.index)), d, step
	g.step[d] = step
	v.gens = append(v.gens, g)
}

// phase takes the part of a subscript apart that no loop of the nest is in: a number
// below the stride, and a multiple of it.
func (v *viewer) phase(rest lattice.Expr, stride int64) (first int64, q lattice.Expr, ok bool) {
	k := rest.Offset()
	first = k - floorDiv(k, stride)*stride
	q, ok = quotient(rest.Plus(-first), stride)
	return first, q, ok
}

// quotient returns an expression divided by a number, if that is one for all values of
// its symbols; what is left of the constant is dropped.
func quotient(e lattice.Expr, by int64) (q lattice.Expr, ok bool) {
	q = lattice.Const(floorDiv(e.Offset(), by))
	for _, name := range e.Symbols() {
		c := e.Coef(name)
		if c%by != 0 {
			return q, false
		}
		q = q.Add(lattice.Sym(name).Scale(c / by))
	}
	return q, true
}

// most returns how many coordinates from 0 on an expression may be, in terms of sizes.
func (v *viewer) most(e lattice.Expr) (lattice.Expr, bool) {
	around := slices.Concat(v.hosts, v.loops)
	for _, l := range slices.Backward(around) {
		if c := e.Coef(l.v.name); c > 0 {
			e = e.Subst(l.v.name, l.hi.Plus(-1))
		} else if c < 0 {
			e = e.Subst(l.v.name, l.lo)
		}
	}
	return e.Plus(1), v.p.sizes.Knows(e) == nil
}

// view returns the view with the dimensions found, one that there is already if it is the
// same.
func (v *viewer) view() (*array, string) {
	slices.SortStableFunc(v.gens, func(a, b *generator) int {
		if len(v.gens) > len(v.index) && a.short() != b.short() {
			if a.short() {
				return -1
			}
			return 1
		}
		if a.of != b.of {
			return a.of - b.of
		}
		return int(max(b.by, -b.by) - max(a.by, -a.by))
	})
	p := v.p
	of := &tdfg.Array{Name: v.array.name, Type: v.array.typ}
	for _, n := range slices.Backward(v.array.size) {
		of.Size = append(of.Size, bind(p.k, n))
	}
	// Dimensions are numbered from the contiguous one on.
	t := &tdfg.Array{Type: v.array.typ, View: &tdfg.View{Of: of.Name}}
	var name, strides []string
	plain := true
	for i, g := range slices.Backward(v.gens) {
		t.Axes = append(t.Axes, len(v.gens)-1-i)
		t.Size = append(t.Size, g.size)
		plain = plain && len(v.gens) == len(v.index) && g.step[i] == g.by && g.by > 0
	}
	for d, first := range v.offset {
		low, high, x := first, first, first
		for i, g := range v.gens {
			far := g.size.Plus(-1).Scale(g.step[d])
			if g.step[d] > 0 {
				high = high.Add(far)
			} else {
				low = low.Add(far)
			}
			x = x.Add(lattice.Sym(tdfg.Coord(len(v.gens) - 1 - i)).Scale(g.step[d]))
		}
		inside := func(y lattice.Expr) bool {
			if p.sizes.LessEqual(lattice.Const(0), y) {
				return true
			}
			if p.enlarge(y) {
				panic(retry{})
			}
			return false
		}
		if p.sizes.Knows(first) != nil || !inside(low) || !inside(bind(p.k, v.array.size[d]).Plus(-1).Sub(high)) {
			return nil, fmt.Sprintf("%s is taken at strides, from %s to %s, which may be outside", v.array.name, low, high)
		}
		t.View.Index = append([]lattice.Expr{x}, t.View.Index...)
		k, isConst := first.Const()
		plain = plain && isConst
		if plain {
			name, strides = append(name, strconv.FormatInt(k, 10)), append(strides, strconv.FormatInt(v.gens[d].by, 10))
		}
	}
	for _, n := range t.Size {
		if !p.sizes.LessEqual(lattice.Const(1), n) {
			if p.enlarge(n.Plus(-1)) {
				panic(retry{})
			}
			return nil, fmt.Sprintf("%s is taken at strides in a loop that may have no iteration", v.array.name)
		}
	}
	for _, a := range p.views {
		if a.of != nil && a.of == v.array && slices.EqualFunc(a.view.Size, t.Size, lattice.Expr.Equal) && slices.EqualFunc(a.view.View.Index, t.View.Index, lattice.Expr.Equal) {
			return a, ""
		}
	}
	base := v.array.name + ".view"
	if plain {
		base = v.array.name + ".at" + strings.Join(name, "x") + "by" + strings.Join(strides, "x")
	}
	t.Name = base
	for n := 2; p.k.taken[t.Name] || slices.ContainsFunc(p.views, func(a *array) bool { return a.name == t.Name }); n++ {
		t.Name = fmt.Sprintf("%s.%d", base, n)
	}
	a := &array{name: t.Name, typ: t.Type, pos: v.array.pos, of: v.array, view: t, declared: true}
	for _, n := range slices.Backward(t.Size) {
		a.size = append(a.size, n)
	}
	s := tdfg.Scope{Dims: tdfg.MaxDims, Space: p.sizes, Arrays: []*tdfg.Array{of, t}}
	a.distinct = s.Check() == nil && s.Single(1)
	p.views = append(p.views, a)
	return a, ""
}

// viewsOf returns the views that nests need.
func (p *planner) viewsOf(nests []*nest) []*array {
	var list []*array
	for _, a := range p.views {
		if slices.ContainsFunc(nests, func(n *nest) bool { return slices.Contains(n.arrays, a) }) {
			list = append(list, a)
		}
	}
	return list
}

// dimensions returns the dimensions that views of the kernel may have: an array whose
// subscripts have more loops than it has dimensions needs one for each.
func dimensions(k *kernel) int {
	dims := 1
	walkStmts(k.body, nil, func(s stmt, loops []*loop) {
		a, ok := s.(*assign)
		if !ok {
			return
		}
		for _, x := range []*expr{a.target, a.value, a.guard} {
			x.walk(func(y *expr) {
				if y.kind != elemExpr {
					return
				}
				used := map[*loop]bool{}
				for _, e := range subscripts(y) {
					for _, l := range loops {
						if e.Coef(l.v.name) != 0 {
							used[l] = true
						}
					}
				}
				if len(used) > len(y.array.size) {
					dims = max(dims, len(used))
				}
			})
		}
	})
	return min(dims, tdfg.MaxDims)
}
