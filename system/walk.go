package system

import (
	"context"
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/tc"
)

// walks are those of streams near the memory, those with the same stops together.
type walks struct {
	list  []tc.Walk
	index map[string]int
}

// add adds a walk. Stops at one bank that follow each other are one.
func (w *walks) add(stops []tc.Stop, bytes int64) {
	joined := stops[:0]
	for _, s := range stops {
		if n := len(joined); n > 0 && joined[n-1].Bank == s.Bank {
			joined[n-1].Ops += s.Ops
			joined[n-1].Rows += s.Rows
			continue
		}
		joined = append(joined, s)
	}
	var key []int
	for _, s := range joined {
		key = append(key, s.Bank)
	}
	if w.index == nil {
		w.index = map[string]int{}
	}
	name := fmt.Sprint(key)
	i, ok := w.index[name]
	if !ok {
		w.index[name] = len(w.list)
		w.list = append(w.list, tc.Walk{Stops: slices.Clone(joined), Bytes: int(bytes)})
		return
	}
	for k, s := range joined {
		w.list[i].Stops[k].Ops += s.Ops
		w.list[i].Stops[k].Rows += s.Rows
	}
	w.list[i].Bytes += int(bytes)
}

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

// finalWalks returns the walks of the last step of a reduction: from tile to tile in the
// order of the operands, with what they have come to, and to the tile of the result.
func (r *runner) finalWalks(s *lowering.Step, n *tdfg.Node, box lattice.Box, group int64) []tc.Walk {
	d := n.Dim
	lo, hi := box[d].Lo, box[d].Hi
	var w walks
	r.parts(box.With(d, lattice.Range{Lo: lo, Hi: lo + 1}), func(part lattice.Box) {
		q := slices.Clone(part.First())
		size := part.Size()
		var stops []tc.Stop
		for q[d] = lo / group * group; q[d] < hi; q[d] += group {
			stop := tc.Stop{Bank: r.bankOf(q), Rows: int64(s.Src.Bits), Ops: size}
			if len(stops) == 0 {
				stop.Ops = 0 // the first operand is where it begins
			}
			stops = append(stops, stop)
		}
		q[d] = lo
		stops = append(stops, tc.Stop{Bank: r.bankOf(q), Rows: int64(s.Dst.Bits)})
		w.add(stops, size*int64(n.Type.Bytes()))
	})
	return w.list
}

// streamWalks returns the walks of streams of a region that do so many operations: one at
// each bank with elements of transposed arrays that they touch, in turn where an iteration
// needs what others did. nil where no array is transposed.
func (r *runner) streamWalks(p *lowering.Plan, g *stream.Graph, values map[string]int64, ops int64) []tc.Walk {
	type share struct{ elems, tiles, bits int64 }
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
			s.tiles++
			s.bits += int64(reg.Bits)
			total += part.Size()
		})
	}
	if total == 0 {
		return nil
	}
	var stops []tc.Stop
	for b, s := range shares {
		if s.elems > 0 {
			stops = append(stops, tc.Stop{Bank: b, Rows: s.bits, Ops: (ops*s.elems + total - 1) / total})
		}
	}
	if inTurn(g) {
		return []tc.Walk{{Stops: stops, Bytes: 8}}
	}
	var list []tc.Walk
	for _, s := range stops {
		list = append(list, tc.Walk{Stops: []tc.Stop{s}, Bytes: 8})
	}
	return list
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
		if err := r.host.Borrow(ctx, name, position(all, a.Axes, box.First()), position(all, a.Axes, last)+1); err != nil {
			return err
		}
	}
	return nil
}
