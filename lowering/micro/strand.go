package micro

import (
	"math"
	"slices"

	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/se"
)

// parted says how the strands of a reduction are joined, if their order does not matter: of
// integers, and of minima and maxima. What sums of floats come to is the order's.
func (p *Program) parted(x *nearStream) {
	tm := x.tm
	zero, ok := tm.op.Identity(tm.typ)
	if !ok || !tm.reduces || !tm.op.Associative(tm.typ) {
		return
	}
	switch { // comparisons of C are false for the identity, which is a NaN
	case tm.typ.Float() && tm.op == scalar.Min:
		zero = scalar.FromFloat(tm.typ, math.Inf(1))
	case tm.typ.Float() && tm.op == scalar.Max:
		zero = scalar.FromFloat(tm.typ, math.Inf(-1))
	}
	x.parts, x.zero = tm.op, zero
}

// split makes strands of a loop's streams, if nobody has to put their iterations in order: all are
// affine, nothing is left for the core, and each reduction can be taken in parts. Where elements
// of the first stream that is written, or else read, lie in the same bank, they are of one strand.
func (p *Program) split(l *nearLoop, g *se.Group) {
	o := p.opt.Streams
	if o.Strands == 0 || !g.SyncFree || !g.Decoupled || g.Fine || len(g.Ahead) > 0 {
		return
	}
	home := -1
	for sid := range g.Streams {
		s := &g.Streams[sid]
		switch {
		case s.Indirect || s.Row > 0 || s.Walk != nil || s.ToCore || s.Kind == se.Load && s.Func != nil || s.Kind == se.Reduce && s.Join == nil:
			return
		case s.Kind == se.Store || s.Kind == se.Update:
			if home < 0 || g.Streams[home].Kind == se.Load {
				home = sid
			}
		case s.Kind == se.Load && home < 0:
			home = sid
		}
	}
	if home < 0 || g.Streams[home].Stride == 0 {
		return
	}
	s := &g.Streams[home]
	element, each, bytes, rows := s.Stride, g.Range, s.Bytes, false
	if g.Row > 0 && (g.Row%g.Range != 0 || s.RowStride != g.Row*s.Stride) { // whole rows: each begins a range
		if s.RowStride == 0 {
			return
		}
		element, each, bytes, rows = s.RowStride, g.Row, int(max(s.Stride, -s.Stride)*(g.Row-1))+s.Bytes, true
		if s.Stride < 0 {
			bytes = s.Bytes
		}
	}
	unit, step := uint64(o.Interleave), uint64(max(element, -element))
	parts := func(elements uint64) int64 {
		if rows {
			return int64(elements)
		}
		return int64(elements) / each
	}
	g.Block = max(1, parts(unit/step)) * each
	first := unit - s.Base%unit // bytes of the first unit
	if element < 0 {
		first = s.Base%unit + uint64(bytes)
	}
	g.Shift = max(0, g.Block-max(1, parts((first+step-1)/step))*each)
	blocks := (g.N + g.Shift + g.Block - 1) / g.Block
	g.Strands = int(min(int64(o.Strands), blocks))
	g.Alone = p.opt.Threads == 1 || !slices.ContainsFunc(p.graph.Loops(p.streams[l.info.body[0]].s), func(o *stream.Loop) bool { return o.Parallel != nil })
}
