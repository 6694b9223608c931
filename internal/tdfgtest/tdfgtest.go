// Package tdfgtest makes tensor dataflow graphs at random, for tests.
package tdfgtest

import (
	"fmt"
	"math/rand/v2"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// Options are what a graph is made of.
type Options struct {
	Type  scalar.Type
	Nodes int         // about so many
	Reuse bool        // reductions as well
	Open  bool        // reductions in groups that the execution chooses
	Align int64       // what the sizes of the lattice in dimension 0 are a multiple of; 0 means 1
	Views bool        // some arrays are views, of which several may be of one array in memory, or iota
	Scope *tdfg.Scope // that of another graph, nil for a new one
}

// Program returns a program of graphs with the same scope, executed one after another a
// few times.
func Program(times int64, graphs ...*tdfg.Graph) *tdfg.Program {
	p := &tdfg.Program{Name: "random", Scalars: []tdfg.Scalar{{Param: graphs[0].Params[0], Input: true}}}
	for _, a := range graphs[0].Arrays {
		if a.Own() {
			p.Arrays = append(p.Arrays, a)
		}
	}
	l := &tdfg.Loop{Var: "t", Hi: lattice.Const(times), Step: 1}
	for _, g := range graphs {
		l.Body = append(l.Body, &tdfg.Region{Graph: g})
	}
	p.Body = []tdfg.Stmt{l}
	return p
}

// Graph returns a graph over arrays of 3 to 8 elements in each dimension, whose
// sizes are numbers, and with one output into an array of its own for each of a few
// nodes. The same generator state gives the same graph.
func Graph(r *rand.Rand, opt Options) *tdfg.Graph {
	if opt.Scope != nil {
		inputs := opt.Scope.ArrayIndex("O0")
		size := make([]int64, opt.Scope.Dims)
		for d, n := range opt.Scope.Arrays[inputs].Size {
			size[d], _ = n.Const()
		}
		return nodes(r, opt, *opt.Scope, size, inputs)
	}
	dims := 1 + r.IntN(3)
	s := tdfg.Scope{Dims: dims, Space: lattice.NewSpace(), Params: []tdfg.Param{{Name: "p", Type: opt.Type}}}
	size := make([]int64, dims)
	for d := range size {
		size[d] = 3 + r.Int64N(6)
	}
	if opt.Align > 0 {
		size[0] = opt.Align * (1 + r.Int64N(2))
	}
	array := func(name string) {
		a := &tdfg.Array{Name: name, Type: opt.Type}
		for _, d := range r.Perm(dims)[:1+r.IntN(dims)] {
			a.Axes = append(a.Axes, d)
			a.Size = append(a.Size, lattice.Const(3+r.Int64N(size[d]-2)))
		}
		s.Arrays = append(s.Arrays, a)
	}
	for i := range 2 + r.IntN(2) {
		array(fmt.Sprintf("A%d", i))
	}
	inputs := len(s.Arrays)
	full := &tdfg.Array{Name: "O0", Type: opt.Type}
	for d := range dims {
		full.Axes = append(full.Axes, d)
		full.Size = append(full.Size, lattice.Const(size[d]))
	}
	s.Arrays = append(s.Arrays, full)
	for i := 1; i < 3; i++ {
		c := *full
		c.Name = fmt.Sprintf("O%d", i)
		s.Arrays = append(s.Arrays, &c)
	}
	if opt.Views {
		makeViews(r, &s, inputs)
	}
	return nodes(r, opt, s, size, inputs)
}

// nodes makes a graph of a scope; the arrays from inputs on are outputs.
func nodes(r *rand.Rand, opt Options, s tdfg.Scope, size []int64, inputs int) *tdfg.Graph {
	dims := s.Dims
	b := tdfg.NewBuilder("random", s)
	sub := func(i lattice.Interval) lattice.Interval {
		lo, _ := i.Lo.Const()
		hi, _ := i.Hi.Const()
		if hi-lo < 2 || r.IntN(3) == 0 {
			return i
		}
		a := lo + r.Int64N(2)
		return lattice.Interval{Lo: lattice.Const(a), Hi: lattice.Const(hi - r.Int64N(2))}
	}
	var pool []tdfg.NodeID
	tensor := func() tdfg.NodeID {
		i := r.IntN(inputs)
		rect := append(lattice.Rect(nil), s.ArrayRect(i)...)
		for d := range rect {
			rect[d] = sub(rect[d])
		}
		return b.Tensor(i, rect)
	}
	pick := func() tdfg.NodeID {
		if len(pool) == 0 || r.IntN(4) == 0 {
			return tensor()
		}
		return pool[max(0, len(pool)-1-r.IntN(6))]
	}
	var binary []scalar.Op
	for _, o := range scalar.Ops() {
		if o.Arity() == 2 && o.Supports(opt.Type) && !o.Compares() {
			binary = append(binary, o)
		}
	}
	size2 := func(id tdfg.NodeID) int64 {
		box, _ := b.Node(id).Domain.Box(nil)
		return box.Size()
	}
	for range opt.Nodes {
		a := pick()
		d := r.IntN(dims)
		var id tdfg.NodeID
		switch k := r.IntN(12); {
		case k < 4:
			c := pick()
			if r.IntN(4) == 0 {
				c = b.Const(opt.Type, scalar.FromInt(opt.Type, r.Int64N(7)-3))
			}
			id = b.Compute(binary[r.IntN(len(binary))], a, c)
		case k == 4:
			id = b.Compute(scalar.Neg, a)
		case k == 5:
			id = b.Compute(scalar.Select, b.Compute(scalar.Lt, a, b.Param("p")), a, pick())
		case k < 9:
			id = b.Move(a, d, lattice.Const(r.Int64N(5)-2))
		case k == 9:
			lo, _ := b.Node(a).Domain[d].Lo.Const()
			hi, _ := b.Node(a).Domain[d].Hi.Const()
			if hi <= lo {
				continue
			}
			at := lo + r.Int64N(hi-lo)
			one := b.Shrink(a, d, lattice.At(lattice.Const(at)))
			id = b.Broadcast(one, d, lattice.Const(r.Int64N(3)-at), lattice.Const(r.Int64N(size[d]+1)))
		case k == 10:
			id = b.Shrink(a, d, sub(b.Node(a).Domain[d]))
		case opt.Reuse && size2(a) > 0:
			group := 1 << r.IntN(4)
			if opt.Open {
				group = 0
			}
			id = b.Reduce([]scalar.Op{scalar.Add, scalar.Min}[r.IntN(2)], a, d, group)
		default:
			id = tensor()
		}
		if size2(id) > 0 {
			pool = append(pool, id)
		}
	}
	for i := range 3 {
		id := pick()
		box, _ := b.Node(id).Domain.Box(nil)
		all, _ := s.ArrayRect(inputs + i).Box(nil)
		if all.Contains(box) {
			b.Store(id, inputs+i)
		}
	}
	g, err := b.Finish()
	if err != nil {
		panic(err)
	}
	return g
}

// makeViews makes views of some of the arrays, outputs among them from a position on, and
// adds what they are of: in one dimension, with all of them in it, or in as many as the
// view has. Outputs have no elements in common with each other.
func makeViews(r *rand.Rand, s *tdfg.Scope, outputs int) {
	bases := []*tdfg.Array{nil, nil}
	ends := make([][]int64, len(bases)) // elements that views need in each dimension
	var written [2]int64                // of them, those of outputs in the first one
	for i, a := range s.Arrays {
		if r.IntN(3) == 0 || i >= outputs && r.IntN(2) == 0 {
			continue
		}
		if i < outputs && len(a.Size) == 1 && a.Type.Int() && r.IntN(2) == 0 {
			c := *a
			c.Iota = true
			s.Arrays[i] = &c
			continue
		}
		k := r.IntN(len(bases))
		if bases[k] == nil {
			dims := 1
			if r.IntN(2) == 0 {
				dims = len(a.Size)
			}
			bases[k] = &tdfg.Array{Name: fmt.Sprintf("M%d", k), Type: a.Type, Size: make([]lattice.Expr, dims)}
			ends[k] = make([]int64, dims)
		}
		dims := len(bases[k].Size)
		if dims > 1 && dims != len(a.Size) {
			continue
		}
		v := &tdfg.View{Of: bases[k].Name, Index: make([]lattice.Expr, dims)}
		high := make([]int64, dims)
		next := int64(1) // least stride at which elements are different ones
		for n, j := range r.Perm(len(a.Size)) {
			size, _ := a.Size[j].Const()
			d := 0
			if dims > 1 {
				d, next = n, 1
			}
			step := next + r.Int64N(3)
			if i < outputs && r.IntN(5) == 0 {
				step = 1 + r.Int64N(2) // perhaps the same elements at several points
			}
			x := lattice.Sym(tdfg.Coord(j)).Scale(step)
			if r.IntN(4) == 0 {
				x = lattice.Const(step * (size - 1)).Sub(x)
			}
			v.Index[d] = v.Index[d].Add(x)
			high[d] += step * (size - 1)
			next = high[d] + 1
		}
		first := make([]int64, dims)
		for d := range first {
			first[d] = r.Int64N(4)
		}
		if i >= outputs {
			first[0] += written[k]
			written[k] = first[0] + high[0] + 1
		}
		for d := range first {
			v.Index[d] = v.Index[d].Plus(first[d])
			ends[k][d] = max(ends[k][d], first[d]+high[d]+1)
		}
		c := *a
		c.View = v
		s.Arrays[i] = &c
	}
	for k, base := range bases {
		if base == nil {
			continue
		}
		for d, n := range ends[k] {
			base.Size[d] = lattice.Const(n + r.Int64N(2))
		}
		s.Arrays = append(s.Arrays, base)
	}
}
