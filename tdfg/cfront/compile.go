package cfront

import (
	"cmp"
	"context"
	"io/fs"
	"slices"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
)

// Options are what a compilation may choose.
type Options struct {
	// Defines gives sizes their values: integer parameters of the kernel, by name.
	// Sizes that it does not have stay symbols.
	Defines map[string]int64

	// Values are those that sizes will have while they stay symbols. They change nothing,
	// but one that the type of its parameter does not hold is an error, as in Defines.
	Values map[string]int64

	// Parts compiles a function of which regions are parts, its own or those of functions
	// that it calls: the program has them in their order, and nothing of the statements
	// between. [CompileWhole] has these too. A function without regions is an empty program.
	Parts bool

	// Files has what the source includes beside the header, nil for nothing.
	Files fs.FS

	// Notes gets the reasons why statements are not tensors in the form that they have
	// in the source, if it is not nil, in the order of the source.
	Notes *[]Note

	// Reassociates is set, if it is not nil, to whether the region lets sums of
	// floating-point numbers be of any order.
	Reassociates *bool
}

// Note says why a loop or an assignment did not become a nest of tensors: it became
// a loop of the host, was taken apart, or is a stream.
type Note struct {
	Pos    Pos
	What   string
	Remedy string // what to write instead, "" where nothing is known
}

// Compile returns the program of a kernel in C. file is its name in errors, which
// are of type *Error but for the context's.
func Compile(ctx context.Context, file, source string, opt Options) (p *tdfg.Program, err error) {
	defer caught(&err)
	u, err := parse(file, source, opt.Files)
	if err != nil {
		return nil, err
	}
	if opt.Parts && len(u.region) == 0 {
		return &tdfg.Program{}, nil
	}
	k := convertUnit(u, opt.Defines, opt.Values, opt.Parts)
	k.body = unroll(k, k.body, nil, 1)
	checkSize(k)
	narrowScopes(k)
	singleSteps(k, k.body)
	inlineConditions(k)
	markSymbols(k)
	checkBounds(k)
	c := &compiler{k: k, least: map[string]int64{}, refused: map[stmt]string{}, pieces: map[*loop][]stmt{}, mirrors: map[*loop]*loop{}, swapped: map[*loop]*loop{}, unblocked: map[*loop][]stmt{}}
	for range maxAttempts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := c.attempt(ctx)
		if p != nil && opt.Notes != nil {
			*opt.Notes = c.notes()
		}
		if p != nil || err != nil {
			return p, err
		}
	}
	return nil, errorAt(k.pos, "no plan was found in many attempts: expected simpler loops")
}

// markSymbols finds the sizes that subscripts and conditions on indices use, before
// there is a space of sizes: affine notes them.
func markSymbols(k *kernel) {
	walkStmts(k.body, nil, func(s stmt, loops []*loop) {
		a, ok := s.(*assign)
		if !ok {
			return
		}
		for _, x := range []*expr{a.target, a.value, a.guard} {
			x.walk(func(y *expr) {
				for _, i := range y.index {
					affine(i)
				}
				if y.kind == opExpr && y.op.Compares() {
					atomOf(y, loops)
				}
			})
		}
	})
}

// checkSize bounds the work: statements are compared in pairs.
func checkSize(k *kernel) {
	n := 0
	walkStmts(k.body, nil, func(s stmt, _ []*loop) {
		if n++; n > maxStatements {
			fail(placeOf(s), "more than %d statements after short loops were unrolled", maxStatements)
		}
	})
}

// maxAttempts bounds how often a plan is made: each refuses a statement more, or has
// a greater least size.
const maxAttempts = 1000

type compiler struct {
	k         *kernel
	least     map[string]int64 // values of sizes
	refused   map[stmt]string
	pieces    map[*loop][]stmt
	mirrors   map[*loop]*loop
	swapped   map[*loop]*loop
	unblocked map[*loop][]stmt
}

// notes lists why statements were refused, each once: unrolled loops have copies.
func (c *compiler) notes() []Note {
	var list []Note
	for s, why := range c.refused {
		list = append(list, Note{placeOf(s), why, remedy(s, why, c.k.reassociate)})
	}
	slices.SortFunc(list, func(a, b Note) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col), cmp.Compare(a.What, b.What))
	})
	return slices.Compact(list)
}

// attempt returns a program, or nil if it has to be tried again.
func (c *compiler) attempt(ctx context.Context) (p *tdfg.Program, err error) {
	defer func() {
		if x := recover(); x != nil {
			switch x := x.(type) {
			case retry:
				p, err = nil, nil
			case canceled:
				p, err = nil, x.error
			default:
				panic(x)
			}
		}
	}()
	k := c.k
	p = &tdfg.Program{Name: k.name, Reassociate: k.reassociate}
	pl := &planner{ctx: ctx, k: k, dims: 1, refused: c.refused, pieces: c.pieces, mirrors: c.mirrors, swapped: c.swapped, unblocked: c.unblocked, sizes: lattice.NewSpace()}
	for _, v := range k.vars {
		if v.kind != paramVar || !v.symbol || v.bound != nil {
			continue
		}
		lo := int64(0)
		if v.inSize {
			lo = 1
		}
		lo = max(lo, c.least[v.name])
		p.Sizes = append(p.Sizes, lattice.Symbol{Name: v.name, Lo: lattice.Const(lo)})
		if err := pl.sizes.Declare(v.name, lattice.Const(lo), lattice.Expr{}, false); err != nil {
			return nil, errorAt(v.pos, "%v", err)
		}
	}
	for _, a := range k.arrays {
		if a.declared {
			pl.dims = max(pl.dims, len(a.size))
		}
	}
	pl.dims = max(pl.dims, dimensions(k))
	pl.enlarge = func(x lattice.Expr) bool { return c.enlarge(pl.sizes, x) }
	e := &emitter{planner: pl, program: p, arrays: map[*array]int{}}
	items := pl.plan(k.body, nil)
	views := pl.viewsOf(pl.nests)
	if e.layout = solve(pl.placed(pl.nests), pl.dims, pl.nests); e.layout == nil {
		return nil, errorAt(k.pos, "no place in the lattice for all arrays")
	}
	for _, a := range k.arrays {
		if !a.declared {
			continue
		}
		size := slices.Clone(a.size)
		slices.Reverse(size)
		for i, x := range size {
			size[i] = bind(k, x)
			if !pl.sizes.LessEqual(lattice.Const(1), size[i]) {
				if c.enlarge(pl.sizes, size[i].Plus(-1)) {
					return nil, nil
				}
				return nil, errorAt(a.pos, "size %s of %s may be less than 1", size[i], a.name)
			}
		}
		e.arrays[a] = len(p.Arrays)
		b := &tdfg.Array{Name: a.name, Type: a.typ, Size: size, Axes: e.layout.axes[a]}
		if slices.ContainsFunc(views, func(v *array) bool { return v.of == a }) && !needsPlace(a, items) {
			b.Axes = nil
		}
		p.Arrays = append(p.Arrays, b)
	}
	e.inGraphs = slices.Clip(p.Arrays)
	for _, v := range views {
		c := *v.view
		c.Axes = e.layout.axes[v]
		e.arrays[v] = len(e.inGraphs)
		e.inGraphs = append(e.inGraphs, &c)
	}
	for _, v := range k.vars {
		if v.kind == localVar && v.alias == nil || v.kind == paramVar && !v.symbol && v.bound == nil {
			e.params = append(e.params, tdfg.Param{Name: v.name, Type: v.typ})
			p.Scalars = append(p.Scalars, tdfg.Scalar{Param: tdfg.Param{Name: v.name, Type: v.typ}, Input: v.kind == paramVar})
		}
	}
	p.Body = e.emit(items, nil)
	// What follows cannot fail, if this package is right.
	if err := e.finish(); err != nil {
		return nil, errorAt(k.pos, "no program: %v", err)
	}
	dropUnused(p)
	if err := p.Check(); err != nil {
		return nil, errorAt(k.pos, "no program: %v", err)
	}
	return p, nil
}

// needsPlace reports whether an array has a place in the lattice beside its views: tensors
// are of it, or streams give it.
func needsPlace(a *array, items []item) bool {
	return slices.ContainsFunc(items, func(it item) bool {
		n := it.nest
		if n == nil {
			return needsPlace(a, it.body)
		}
		found := slices.Contains(n.arrays, a)
		if n.stream {
			walkStmts([]stmt{n.stmt}, nil, func(s stmt, _ []*loop) {
				if x, ok := s.(*assign); ok {
					found = found || x.target.kind == elemExpr && x.target.array == a
				}
			})
		}
		return found
	})
}

// bind replaces sizes that have values.
func bind(k *kernel, x lattice.Expr) lattice.Expr {
	for _, v := range k.vars {
		if v.bound != nil {
			x = x.Subst(v.name, lattice.Const(*v.bound))
		}
	}
	return x
}

// enlarge raises the least value of a size so that an expression of it is not
// negative. It reports false if there is none.
func (c *compiler) enlarge(space *lattice.Space, x lattice.Expr) bool {
	syms := x.Symbols()
	if len(syms) != 1 {
		return false
	}
	name := syms[0]
	coef, k := x.Coef(name), x.Offset()
	if coef <= 0 || k >= 0 || !isSize(c.k, name) {
		return false
	}
	lo := (-k + coef - 1) / coef
	if lo <= c.least[name] || lo > maxLeast {
		return false
	}
	c.least[name] = lo
	return true
}

// maxLeast is the most that a size is required to be without being asked for.
const maxLeast = 64

func isSize(k *kernel, name string) bool {
	return slices.ContainsFunc(k.vars, func(v *variable) bool { return v.name == name && v.kind == paramVar })
}

// dropUnused removes scalars that no graph uses, inputs excepted.
func dropUnused(p *tdfg.Program) {
	used := map[string]bool{}
	for _, r := range p.Regions() {
		for _, n := range r.Graph.Nodes {
			used[n.Param] = true
			if n.Stream != nil {
				for _, name := range streamScalars(n.Stream) {
					used[name] = true
				}
			}
		}
		for _, o := range r.Graph.Outputs {
			used[o.Scalar] = true
		}
	}
	p.Scalars = slices.DeleteFunc(p.Scalars, func(s tdfg.Scalar) bool { return !s.Input && !used[s.Name] })
	for _, r := range p.Regions() {
		r.Graph.Params = slices.DeleteFunc(slices.Clone(r.Graph.Params), func(s tdfg.Param) bool { return p.Scalar(s.Name) == nil })
	}
}

// checkBounds refuses subscripts that are outside of their array for certain: the
// least and the greatest that a subscript becomes, where the loops have iterations.
func checkBounds(k *kernel) {
	walkStmts(k.body, nil, func(s stmt, loops []*loop) {
		a, ok := s.(*assign)
		if !ok || a.guard != nil {
			return
		}
		space := lattice.NewSpace()
		for _, v := range k.vars {
			if v.kind == paramVar && v.symbol && v.bound == nil {
				_ = space.Declare(v.name, lattice.Const(1), lattice.Expr{}, false)
			}
		}
		var check func(x *expr)
		check = func(x *expr) {
			if x.kind == elemExpr {
				for d, i := range x.index {
					if e, ok := affine(i); ok {
						checkSubscript(space, x, i, e, d, loops)
					}
				}
			}
			for _, i := range x.index {
				check(i)
			}
			for i, y := range x.args {
				if i == 0 || !x.conditional() {
					check(y)
				}
			}
		}
		check(a.target)
		check(a.value)
	})
}

func checkSubscript(space *lattice.Space, x, sub *expr, e lattice.Expr, d int, loops []*loop) {
	low, high := e, e
	for i := len(loops) - 1; i >= 0; i-- {
		l := loops[i]
		last := l.hi.Plus(-1)
		if c := low.Coef(l.v.name); l.step == 1 || l.step == -1 {
			if c > 0 {
				low = low.Subst(l.v.name, l.lo)
			} else if c < 0 {
				low = low.Subst(l.v.name, last)
			}
			if c := high.Coef(l.v.name); c > 0 {
				high = high.Subst(l.v.name, last)
			} else if c < 0 {
				high = high.Subst(l.v.name, l.lo)
			}
			if (low.Coef(l.v.name) != 0 || high.Coef(l.v.name) != 0) || !space.LessEqual(l.lo.Plus(1), l.hi) && (e.Coef(l.v.name) != 0) {
				return
			}
		} else if c != 0 || high.Coef(l.v.name) != 0 {
			return
		}
	}
	size := x.array.size[d]
	known := func(y lattice.Expr) bool { return space.Knows(y) == nil }
	if !known(low) || !known(high) || !known(size) {
		return
	}
	if _, isConst := e.Const(); isConst && (space.LessEqual(low, lattice.Const(-1)) || space.LessEqual(size, high)) {
		fail(sub.pos, "subscript %s of %s is out of bounds, expected at least 0 and less than %s", e, x.array.name, size)
	}
	if space.LessEqual(low, lattice.Const(-1)) {
		fail(sub.pos, "subscript %s of %s is out of bounds: it is %s at its least, expected at least 0", e, x.array.name, low)
	}
	if space.LessEqual(size, high) {
		fail(sub.pos, "subscript %s of %s is out of bounds: it is %s at its greatest, expected less than %s", e, x.array.name, high, size)
	}
}
