package potential

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/lowering/nearstream"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// Least returns bytes times links that the program takes at the least where elements lie in
// banks as s says and streams are where the compiler's plan has them (section III-B of
// Near-Stream Computing):
//
//   - What a stream near the L3 writes or reads with a subscript is at the bank of the element. Of the
//     elements that its value follows from, at least the farthest comes there, be it in what
//     others computed from it on the way: as many bytes as the narrowest type between.
//   - An element that goes to several banks takes a tree: at least as many links as its farthest
//     bank is away, and as there are banks.
//   - A bank keeps what it has got until the element is written.
//   - What a core loads from the L3 comes to it once.
//
// Nothing else moves: no headers, requests, order, results of reductions or stores of cores, and
// values come out of others that are computed only where they are computed.
func Least(ctx context.Context, p *Program, s System) (int64, error) {
	if n := s.Mesh.Nodes(); n > 64 {
		return 0, fmt.Errorf("potential: a mesh of %d nodes, expected at most 64", n)
	}
	plan, err := nearstream.Analyze(p.Graph)
	if err != nil {
		return 0, err
	}
	var t Traffic
	m := newMover(p.Graph, p.Args.Symbols, &s, &t)
	l := &least{mover: m, trees: map[int64]*tree{}, cores: map[int64]uint64{}, of: map[*place]*leaf{}}
	l.places(p.Graph, plan)
	m.visit = l.step
	err = m.run(ctx, p)
	return l.moved, err
}

type least struct {
	*mover
	of    map[*place]*leaf
	trees map[int64]*tree  // by address
	cores map[int64]uint64 // that have loaded an element
	moved int64
}

// leaf is a stream with what it takes.
type leaf struct {
	near   bool
	toCore int64 // bytes of an element that come to the core, 0: none
	from   []source
	addr   int64
	has    bool // the last step was not skipped
}

// source is an element that the value of a stream follows from, and the bytes that have to come.
type source struct {
	*leaf
	bytes int64
}

// tree is where an element has gone.
type tree struct {
	nodes    uint64
	far, has int64
}

// places finds out what streams take, through those without an element in the same loop.
func (l *least) places(g *stream.Graph, plan *nearstream.Plan) {
	loops := map[*stream.Stream]*stream.Loop{}
	g.Walk(func(around []*stream.Loop, s *stream.Stream) {
		if len(around) > 0 {
			loops[s] = around[len(around)-1]
		}
	})
	private := map[string]bool{}
	for i := range g.Arrays {
		private[g.Arrays[i].Name] = g.Arrays[i].Scope != stream.Argument
	}
	for _, p := range l.streams {
		x := &leaf{}
		l.of[p] = x
		if !p.self {
			continue
		}
		s := plan.Of(p.s)
		x.near = s != nil && s.Place == nearstream.Near
		switch {
		case private[p.s.Array]:
			x.near = false
		case !x.near && p.s.Kind != stream.Store:
			x.toCore = l.arrays[p.s.Array].bytes
			if s != nil && s.Place == nearstream.AddressNear {
				x.toCore = min(x.toCore, width(p, x.toCore))
			}
		case x.near && s.Kind == stream.Load && s.Result != scalar.Invalid:
			x.toCore = min(int64(s.Result.Bytes()), width(p, l.arrays[p.s.Array].bytes))
		}
	}
	for _, p := range l.streams {
		if x := l.of[p]; x.near {
			l.sources(p, p, 1<<30, loops, &x.from)
		}
	}
}

// sources adds what a stream takes, or one without an element between.
func (l *least) sources(to, p *place, bytes int64, loops map[*stream.Stream]*stream.Loop, list *[]source) {
	for _, o := range p.operands {
		b := min(bytes, o.bytes)
		if !o.address || p != to {
			b = min(b, width(p, b))
		}
		switch {
		case o.self && l.of[o.place].near:
			*list = append(*list, source{l.of[o.place], b})
		case !o.self && o.s.Kind == stream.Load && loops[o.s] == loops[to.s]:
			l.sources(to, o.place, b, loops, list)
		}
	}
}

// width is the least that a value which a stream takes may be made to on the way, in bytes.
func width(p *place, bytes int64) int64 {
	least := min(bytes, p.bytes)
	var walk func(e *stream.Expr)
	walk = func(e *stream.Expr) {
		switch {
		case e == nil:
			return
		case e.Kind == stream.ApplyExpr && (e.Op >= scalar.Eq || e.Op == scalar.Not):
			least = 1
		case e.Kind == stream.ConvertExpr:
			least = min(least, max(1, int64(e.Type.Bytes())))
		}
		for _, a := range e.Args {
			walk(a)
		}
	}
	walk(p.s.Value)
	if p.s.If != nil {
		least = 1
	}
	return least
}

// step counts what a stream takes for an element.
func (l *least) step(p *place, e *stream.Event) {
	x := l.of[p]
	if x.has = !e.Skipped && p.self; !x.has {
		return
	}
	a := l.arrays[p.s.Array]
	x.addr = a.address(e.Elem)
	bank := l.home(x.addr)
	if x.toCore > 0 && l.cores[x.addr]>>l.core&1 == 0 {
		l.cores[x.addr] |= 1 << l.core
		l.moved += x.toCore * l.hops(bank, l.core)
	}
	most := int64(0)
	for _, o := range x.from {
		if o.has {
			most = max(most, o.bytes*l.grow(o.addr, bank))
		}
	}
	l.moved += most
	if p.s.Kind == stream.Store || p.s.Kind == stream.RMW {
		delete(l.trees, x.addr)
	}
}

func (l *least) home(addr int64) int {
	return int(addr / int64(l.s.LineBytes) % int64(l.s.Mesh.Nodes()))
}

// grow lets an element go to a bank, and returns how many links that takes more at the least.
func (l *least) grow(addr int64, bank int) int64 {
	home := l.home(addr)
	if bank == home {
		return 0
	}
	t := l.trees[addr]
	if t == nil {
		t = &tree{}
		l.trees[addr] = t
	}
	if t.nodes>>bank&1 != 0 {
		return 0
	}
	before := max(t.far, t.has)
	t.nodes |= 1 << bank
	t.has++
	t.far = max(t.far, l.hops(home, bank))
	return max(t.far, t.has) - before
}
