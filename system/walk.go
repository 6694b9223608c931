package system

import (
	"context"
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/tc"
)

// visit is what a walk does at a bank: elements of so many bitlines go through the H-tree, and
// operations.
type visit struct {
	bank        int
	bits, lines int64 // of words, and bitlines that have them
	ops, chain  int64 // SIMD operations, and how many of them one after another
}

// walks are those of streams near the memory, those with the same stops together.
type walks struct {
	visits [][]visit
	bytes  []int64
	index  map[string]int
}

// add adds a walk. Visits of one bank that follow each other are one.
func (w *walks) add(visits []visit, bytes int64) {
	joined := visits[:0]
	for _, s := range visits {
		if n := len(joined); n > 0 && joined[n-1].bank == s.bank {
			joined[n-1].ops += s.ops
			joined[n-1].lines += s.lines
			joined[n-1].chain += s.chain
			continue
		}
		joined = append(joined, s)
	}
	var key []int
	for _, s := range joined {
		key = append(key, s.bank)
	}
	if w.index == nil {
		w.index = map[string]int{}
	}
	name := fmt.Sprint(key)
	i, ok := w.index[name]
	if !ok {
		w.index[name] = len(w.visits)
		w.visits, w.bytes = append(w.visits, slices.Clone(joined)), append(w.bytes, bytes)
		return
	}
	for k, s := range joined {
		at := &w.visits[i][k]
		at.ops += s.ops
		at.lines += s.lines
		at.chain = max(at.chain, s.chain)
	}
	w.bytes[i] += bytes
}

// list returns the walks with their cycles.
func (w *walks) list(t tile.Timing) (list []tc.Walk) {
	for i, visits := range w.visits {
		x := tc.Walk{Bytes: int(w.bytes[i])}
		for _, s := range visits {
			stop := tc.Stop{Bank: s.bank, Ops: s.ops, Chain: s.chain}
			if s.lines > 0 {
				stop.Tree = t.HTree(int(s.bits), int(s.lines))
			}
			x.Stops = append(x.Stops, stop)
		}
		list = append(list, x)
	}
	return list
}

// lanes is how many elements of a size the SIMD units beside a bank compute at once.
func (r *runner) lanes(bytes int) int64 {
	return int64(max(1, r.opt.Machine.CoreVariant().SIMDBits/(8*bytes)))
}

func vectors(n, lanes int64) int64 { return (n + lanes - 1) / lanes }

// parts calls f for the parts of a box in single tiles.
func (r *runner) parts(box lattice.Box, f func(part lattice.Box)) {
	if box.Empty() {
		return
	}
	shape := r.grid().Tile()
	part := box.Clone()
	var walk func(d int)
	walk = func(d int) {
		if d < 0 {
			f(part)
			return
		}
		for at := box[d].Lo / shape[d] * shape[d]; at < box[d].Hi; at += shape[d] {
			part[d] = box[d].Intersect(lattice.Range{Lo: at, Hi: at + shape[d]})
			walk(d - 1)
		}
	}
	walk(len(box) - 1)
}

// bankOf returns the bank of the tile of a point.
func (r *runner) bankOf(point []int64) int {
	t, _ := r.grid().Locate(point)
	return t / r.opt.Machine.ArraysPerBank()
}

// finalWalks returns the walks of the last step of a reduction. First each bank reduces what it
// has, by halves if banks reduce for themselves; then a stream goes from bank to bank with
// what they have come to, and to the tile of the result.
func (r *runner) finalWalks(s *lowering.Step, n *tdfg.Node, box lattice.Box, group int64) (inside, between []tc.Walk) {
	d := n.Dim
	lo, hi := box[d].Lo, box[d].Hi
	var first, then walks
	lanes := r.lanes(n.Type.Bytes())
	r.parts(box.With(d, lattice.Range{Lo: lo, Hi: lo + 1}), func(part lattice.Box) {
		q := slices.Clone(part.First())
		size := part.Size()
		var stops []visit
		for _, b := range r.banksAlong(q, d, lo/group*group, hi, group) {
			count := int64(len(b.points))
			v := visit{bank: b.bank, bits: int64(s.Src.Bits), lines: count * size}
			for half := int64(1); half < count; half *= 2 {
				v.ops += vectors(size*min(half, count-half), lanes)
				v.chain++
			}
			first.add([]visit{v}, 0)
			stop := visit{bank: b.bank}
			if len(stops) > 0 {
				stop.ops, stop.chain = vectors(size, lanes), 1
			}
			stops = append(stops, stop)
		}
		q[d] = lo
		stops = append(stops, visit{bank: r.bankOf(q), bits: int64(s.Dst.Bits), lines: size})
		then.add(stops, size*int64(n.Type.Bytes()))
	})
	t := tile.NewTiming(r.opt.Machine)
	return first.list(t), then.list(t)
}

// streamWalks returns the walks of streams of a region that do so many operations: one at
// each bank with elements of transposed arrays that they touch, in turn where an iteration
// needs what others did. nil where no array is transposed.
func (r *runner) streamWalks(p *lowering.Plan, g *stream.Graph, values map[string]int64, ops int64) []tc.Walk {
	type share struct{ elems, bits int64 }
	shares := make([]share, r.opt.Machine.Banks())
	total := int64(0)
	for i := range g.Arrays {
		name := g.Arrays[i].Name
		if !r.resident(p, name) {
			continue
		}
		_, reg, all := r.array(name)
		r.parts(r.touched(g, name, values, false).Intersect(all), func(part lattice.Box) {
			s := &shares[r.bankOf(part.First())]
			s.elems += part.Size()
			s.bits = max(s.bits, int64(reg.Bits))
			total += part.Size()
		})
	}
	if total == 0 {
		return nil
	}
	var all walks
	var stops []visit
	for b, s := range shares {
		if s.elems > 0 {
			stops = append(stops, visit{bank: b, bits: s.bits, lines: s.elems, ops: vectors(ops*s.elems, total)})
		}
	}
	if inTurn(g) {
		all.add(stops, 8)
	} else {
		for _, s := range stops {
			all.add([]visit{s}, 8)
		}
	}
	return all.list(tile.NewTiming(r.opt.Machine))
}

// simdOps returns how many operations streams did that engines execute.
func (r *runner) simdOps(g *stream.Graph, run *stream.Result) (ops int64) {
	lanes := r.vectorised(g)
	for _, c := range run.Streams {
		ops += vectors(max(c.Ops, c.Executed), lanes[c.Stream])
	}
	return ops
}

// vectorised returns how many iterations of an innermost loop an operation of a stream is for: as
// many as there are lanes where these are neighbours in all that the stream accesses, else one. A
// reduction is one for each iteration unless its operands may come in any order.
func (r *runner) vectorised(g *stream.Graph) map[*stream.Stream]int64 {
	lanes := map[*stream.Stream]int64{}
	g.Walk(func(loops []*stream.Loop, s *stream.Stream) {
		lanes[s] = 1
		if len(loops) == 0 {
			return
		}
		l := loops[len(loops)-1]
		if l.While != nil || l.Open || l.Stride() != 1 || s.Kind == stream.Reduce && !s.Reassociate {
			return
		}
		varies := map[string]bool{l.Var: true}
		bytes := 1
		for _, st := range l.Body {
			if x, ok := st.(*stream.Stream); ok {
				varies[x.Name] = x.Kind != stream.Load || slices.ContainsFunc(x.Index, func(e lattice.Expr) bool {
					return slices.ContainsFunc(e.Symbols(), func(sym string) bool { return varies[sym] })
				})
				if a := g.Array(x.Array); a != nil {
					bytes = max(bytes, a.Type.Bytes())
				}
			}
		}
		for d, x := range s.Index {
			for _, sym := range x.Symbols() {
				if varies[sym] && (sym != l.Var || d > 0 || x.Coef(sym) != 1) {
					return
				}
			}
		}
		if s.Kind == stream.RMW && s.Array != "" && (len(s.Index) == 0 || s.Index[0].Coef(l.Var) == 0) {
			return // all iterations change one element
		}
		lanes[s] = r.lanes(bytes)
	})
	return lanes
}

// inTurn reports whether an iteration of streams may need what others did.
func inTurn(g *stream.Graph) bool {
	written := map[string]bool{}
	turn := false
	g.Walk(func(_ []*stream.Loop, s *stream.Stream) {
		turn = turn || s.Kind == stream.RMW || s.Kind == stream.Reduce
		if s.Kind == stream.Store {
			written[s.Array] = true
		}
	})
	g.Walk(func(_ []*stream.Loop, s *stream.Stream) {
		turn = turn || s.Kind == stream.Load && written[s.Array]
	})
	return turn
}

// writesAll reports whether streams write each element between the first and the last one that they
// access of an array, and read none: a store to other elements in each iteration of loops whose
// lengths are known.
func writesAll(g *stream.Graph, array string, values map[string]int64) bool {
	stores := 0
	all := true
	g.Walk(func(loops []*stream.Loop, s *stream.Stream) {
		if s.Array != array {
			return
		}
		stores++
		all = all && s.Kind == stream.Store && s.If == nil
		index := map[string]bool{} // variables that subscripts have
		for _, x := range s.Index {
			x = x.Bind(values)
			for _, name := range x.Symbols() {
				c := x.Coef(name)
				all = all && len(x.Symbols()) == 1 && (c == 1 || c == -1) && !index[name]
				index[name] = true
			}
		}
		for _, l := range loops {
			lo, hi := l.Range.Lo.Bind(values), l.Range.Hi.Bind(values)
			all = all && !l.Open && l.While == nil && (l.Stride() == 1 || l.Stride() == -1) && len(lo.Symbols())+len(hi.Symbols()) == 0 && lo.Offset() < hi.Offset()
			delete(index, l.Var)
		}
		all = all && len(index) == 0
	})
	return all && stores == 1
}

// borrow asks the host of a session for the elements that streams touch of arrays in
// memory.
func (r *runner) borrow(ctx context.Context, p *lowering.Plan, g *stream.Graph, values map[string]int64) error {
	if r.host == nil {
		return nil
	}
	for i := range g.Arrays {
		name := g.Arrays[i].Name
		if r.resident(p, name) {
			continue
		}
		a, _, all := r.array(name)
		box := r.touched(g, name, values, false).Intersect(all)
		if box.Empty() {
			continue
		}
		last := slices.Clone(box.First())
		for d, x := range box {
			last[d] = x.Hi - 1
		}
		from, end := position(all, a.Axes, box.First()), position(all, a.Axes, last)+1
		use := Reads
		switch {
		case end-from == box.Size() && writesAll(g, name, values):
			use = WritesAll
		case !r.touched(g, name, values, true).Empty():
			use = Writes
		}
		if err := r.host.Borrow(ctx, name, from, end, use); err != nil {
			return err
		}
	}
	return nil
}
