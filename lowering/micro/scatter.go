package micro

import (
	"slices"

	"github.com/bitsched/bitsched/lowering/nearstream"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/se"
)

// scattered makes a stream of a reduction over an indirect load, in parts that banks make: of
// integers, where no order changes the result, over an array that the loop does not write
// (unshared): nobody says when a bank has read it. nil if its operands are others.
func (p *Program) scattered(l *loopInfo, x *nearStream, plan *nearstream.Stream) *nearStream {
	tm := x.tm
	if p.opt.Streams.Rival != NoRival || !plan.Join.Associative(tm.typ) {
		return nil
	}
	zero, ok := plan.Join.Identity(tm.typ)
	if !ok {
		return nil
	}
	b := &termBuilder{p: p, l: l, of: tm, x: x, done: map[*stream.Expr]*term{}}
	x.kind, x.join, x.zero = se.Reduce, plan.Join, zero
	x.value = b.expr(tm.s.Value)
	if tm.s.If != nil {
		x.cond = b.expr(tm.s.If)
	}
	if b.failed {
		return nil
	}
	// The one indirect load comes first, behind it at most what its addresses follow from.
	k := slices.IndexFunc(x.inputs, func(in int) bool { return p.indirect(l, p.streams[in]) != nil })
	if k < 0 || len(x.inputs) > 2 || len(x.inputs) == 2 && x.inputs[1-k] != p.indirect(l, p.streams[x.inputs[k]]).index {
		return nil
	}
	x.over = x.inputs[k]
	x.ops, x.depth = b.ops, x.value.depth
	if x.cond != nil {
		x.depth = max(x.depth, x.cond.depth)
	}
	return x
}

// joins are the parts of a reduction over banks, or in strands: what they begin with, and what makes one of
// two.
func (s *nearStream) joins(x *se.Stream, op scalar.Op) {
	typ := s.tm.typ
	x.Zero = s.zero
	x.Join = func(a, b uint64) uint64 { return scalar.Eval(op, typ, a, b) }
}

// scatters reports whether a loop has reductions over banks.
func (l *nearLoop) scatters() bool {
	return slices.ContainsFunc(l.streams, func(x nearStream) bool { return x.join != scalar.NoOp })
}

// scatterShare is the elements for each bank that a reduction over banks has at least (section IV.C).
const scatterShare = 4
