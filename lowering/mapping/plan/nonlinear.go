package plan

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/bitsched/bitsched/lowering/mapping"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
)

// Pass is what a node does that is no sum of products, in arrays: requantising the sums of a
// layer, the larger of zero and each element, the largest of a window, a sum.
type Pass struct {
	Node    int
	Name    string
	Work    mapping.PointWork
	Cost    mapping.Cost
	Bound   mapping.Bound
	Checked int64 // elements that were executed and compared
	RowOps  int64 // instructions x bitlines
	point   *mapping.Pointwise
}

// nonlinear plans what arrays can do of the nodes that are no sums of products; what they
// cannot stays near memory. Layers run one after another, so that operands come from off-chip
// memory and results go there, but for sums that the buffer holds until they are requantised.
func (rep *Report) nonlinear(ctx context.Context) error {
	net := rep.Network
	rep.passOf = map[int]int{}
	folded := map[int]bool{} // into the requantisation before
	made := map[mapping.PointWork]*mapping.Pointwise{}
	layer := 0
	for i := range net.Nodes {
		n := &net.Nodes[i]
		w := mapping.PointWork{Sources: 1, Elements: dnn.Elements(n.Shape), In: net.Bits.Activation, Out: net.Bits.Activation}
		bytes := func(node int) int64 {
			return (dnn.Elements(net.Nodes[node].Shape)*int64(net.Bits.Activation.Bits) + 7) / 8
		}
		for _, in := range n.Inputs {
			w.Fetched += bytes(in)
		}
		w.Stored = bytes(i)
		switch n.Kind {
		case dnn.MAC:
			op := rep.Layers[layer].Op
			layer++
			w.Op = mapping.PointRequantise
			w.In = dnn.Type{Bits: op.AccBits(), Signed: op.Tensors[0].Type.Signed || op.Tensors[1].Type.Signed}
			// Results leave for off-chip memory with the layer; sums only where the buffer is too small.
			w.Fetched, w.Stored = 0, 0
			if b := rep.Platform.Buffer; b != nil {
				if all := (w.Elements*int64(w.In.Bits) + 7) / 8; all > b.Bytes {
					w.Fetched, w.Spilled = all, all
				}
			}
			if next := net.Users(i); len(next) == 1 && net.Nodes[next[0]].Kind == dnn.ReLU && net.Bits.Activation.Signed {
				w.Op = mapping.PointRequantiseReLU
				folded[next[0]] = true
			}
		case dnn.ReLU:
			if folded[i] || !w.In.Signed {
				rep.passOf[i] = -1 // nothing is left to do
				continue
			}
			w.Op = mapping.PointReLU
		case dnn.Add:
			if len(n.Inputs) != 2 {
				continue
			}
			w.Op, w.Sources = mapping.PointAdd, 2
		case dnn.MaxPool:
			w.Op = mapping.PointMax
			for _, e := range n.Window {
				w.Sources *= e
			}
		default:
			continue
		}
		if rep.Platform.OffChip == nil {
			w.Fetched, w.Stored, w.Spilled = 0, 0, 0
		}
		x, ok := made[w]
		if !ok {
			var err error
			if x, err = mapping.NewPointwise(ctx, rep.Platform, w); err != nil {
				return fmt.Errorf("node %s: %w", n.Name, err)
			}
			made[w] = x
		}
		p := Pass{Node: i, Name: n.Name, Work: w, Cost: x.Cost(), Bound: x.Bound(), point: x}
		clock, err := x.Clock(ctx)
		if err != nil {
			return err
		}
		if clock != p.Cost {
			return fmt.Errorf("%w: node %s: closed form %d cycles, clock %d", ErrCheck, n.Name, p.Cost.Cycles, clock.Cycles)
		}
		if p.Cost.Cycles < p.Bound.Cycles {
			return fmt.Errorf("%w: node %s: %d cycles, bound %d (%s)", ErrCheck, n.Name, p.Cost.Cycles, p.Bound.Cycles, p.Bound.Reason)
		}
		rep.passOf[i] = len(rep.Passes)
		rep.Passes = append(rep.Passes, p)
		rep.Cycles += p.Cost.Cycles
		rep.Bound += p.Bound.Cycles
		for k, c := range p.Cost.Parts {
			rep.Parts[k] += c
		}
		if rep.Baseline > 0 { // the template's layers are followed by the same
			rep.Baseline += p.Cost.Cycles
		}
	}
	return nil
}

// inArrays executes a node in arrays, if it was planned so, and compares every element with
// what the word level has.
func (rep *Report) inArrays(ctx context.Context, node int, sums []int64, in [][]int32, want []int32) ([]int32, bool, error) {
	at, ok := rep.passOf[node]
	if !ok {
		return want, false, nil
	}
	if at < 0 {
		return want, true, nil
	}
	p, n := &rep.Passes[at], &rep.Network.Nodes[node]
	shift := 0
	source := func(s int, i int64) int64 { return int64(in[s][i]) }
	switch p.Work.Op {
	case mapping.PointRequantise, mapping.PointRequantiseReLU:
		shift = dnn.RequantiseShift(sums, rep.Network.Bits.Activation)
		source = func(_ int, i int64) int64 { return sums[i] }
	case mapping.PointMax:
		lo, _ := p.Work.In.Range()
		taps := windowTaps(n, rep.Network.Nodes[n.Inputs[0]].Shape)
		source = func(s int, i int64) int64 {
			if e := taps(s, i); e >= 0 {
				return int64(in[0][e])
			}
			return lo // the least there is: padding
		}
	case mapping.PointAdd:
		var from [2]func(i int64) int64
		for s := range from {
			from[s] = spreadOver(rep.Network.Nodes[n.Inputs[s]].Shape, n.Shape)
		}
		source = func(s int, i int64) int64 { return int64(in[s][from[s](i)]) }
	}
	got := make([]int32, p.Work.Elements)
	var differs atomic.Int64
	differs.Store(-1)
	ops, err := p.point.Execute(ctx, rep.Options.Threads, shift, source, func(i, v int64) {
		expect := int64(want[i])
		if p.Work.Op == mapping.PointRequantiseReLU {
			expect = max(expect, 0)
		}
		got[i] = int32(v)
		if v != expect {
			differs.CompareAndSwap(-1, i)
		}
	})
	if err != nil {
		return nil, true, fmt.Errorf("node %s: %w", n.Name, err)
	}
	if i := differs.Load(); i >= 0 {
		return nil, true, fmt.Errorf("%w: node %s: %s of element %d is %d in arrays, the word level has %d", ErrCheck, n.Name, p.Work.Op, i, got[i], want[i])
	}
	p.RowOps, p.Checked = ops, p.Work.Elements
	return got, true, nil
}

// windowTaps gives the element of the input that is tap s of the window of element i of a pool,
// -1 for padding.
func windowTaps(n *dnn.Node, shape []int) func(s int, i int64) int64 {
	k := len(n.Window)
	outer := len(shape) - k
	offset := make([][]int64, k) // by dimension and tap: from the place of the window
	for d := range k {
		step := 1
		if n.Dilation != nil {
			step = n.Dilation[d]
		}
		for t := range n.Window[d] {
			offset[d] = append(offset[d], int64(t*step-n.PadBefore[d]))
		}
	}
	return func(s int, i int64) int64 {
		var place [8]int64 // of the tap
		for d := k - 1; d >= 0; d-- {
			e := int64(n.Shape[outer+d])
			place[d] = i%e*int64(n.Stride[d]) + offset[d][s%n.Window[d]]
			i, s = i/e, s/n.Window[d]
			if place[d] < 0 || place[d] >= int64(shape[outer+d]) {
				return -1
			}
		}
		for d := range k {
			i = i*int64(shape[outer+d]) + place[d]
		}
		return i
	}
}

// spreadOver gives the element of an operand for one of the result, whose dimensions the operand
// may lack in front, or have once.
func spreadOver(from, to []int) func(i int64) int64 {
	if dnn.Elements(from) == dnn.Elements(to) {
		return func(i int64) int64 { return i }
	}
	from = append(slices.Repeat([]int{1}, len(to)-len(from)), from...)
	return func(i int64) int64 {
		at, stride := int64(0), int64(1)
		for d := len(to) - 1; d >= 0; d-- {
			if from[d] > 1 {
				at += i % int64(to[d]) * stride
				stride *= int64(from[d])
			}
			i /= int64(to[d])
		}
		return at
	}
}
