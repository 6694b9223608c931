package dnn

import (
	"context"
	"sync"
	"sync/atomic"
)

// Run is the plain loop nest: it returns the output for the values of the operands,
// in row-major order. It is the oracle of every mapping and shares nothing with
// them. The outermost loop is shared out among threads where it writes other
// outputs each time.
func (o *Operator) Run(ctx context.Context, threads int, operands ...[]int32) ([]int64, error) {
	return o.RunOn(ctx, threads, nil, operands...)
}

// RunOn is Run for those elements of the output that are asked for; nil is all. What
// stands in the others is undefined.
func (o *Operator) RunOn(ctx context.Context, threads int, which []bool, operands ...[]int32) ([]int64, error) {
	out := make([]int64, o.Output().Elements())
	outer := 0 // the widest loop that indexes the output: iterations do not share elements
	found := false
	for l := range o.Loops {
		if !o.Reduction(l) && (!found || o.Loops[l].Extent > o.Loops[outer].Extent) {
			outer, found = l, true
		}
	}
	if !found {
		threads = 1
	}
	var next atomic.Int64
	work := func() {
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= o.Loops[outer].Extent {
				return
			}
			newWalker(o, operands, out, outer, i, which).nest(0)
		}
	}
	var wg sync.WaitGroup
	for range min(max(threads, 1), o.Loops[outer].Extent) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	return out, ctx.Err()
}

// walker walks the nest, one loop fixed and the longest of the others innermost.
type walker struct {
	o        *Operator
	operands [][]int32
	out      []int64
	order    []int            // loops but for the fixed one
	index    [3][MaxLoops]int // of each tensor, before division
	which    []bool           // elements of the output that are asked for; nil: all
	decided  int              // loops after which the element is known
}

func newWalker(o *Operator, operands [][]int32, out []int64, outer, fixed int, which []bool) *walker {
	w := &walker{o: o, operands: operands, out: out, which: which, decided: -1}
	longest := -1
	for l := range o.Loops {
		if l != outer && (longest < 0 || o.Loops[l].Extent >= o.Loops[longest].Extent) {
			longest = l
		}
	}
	if which == nil {
		for l := range o.Loops {
			if l != outer && l != longest {
				w.order = append(w.order, l)
			}
		}
		if longest >= 0 {
			w.order = append(w.order, longest)
		}
	} else {
		for _, reduction := range []bool{false, true} {
			for l := range o.Loops {
				if l != outer && o.Reduction(l) == reduction {
					w.order = append(w.order, l)
				}
			}
			if !reduction {
				w.decided = len(w.order)
			}
		}
	}
	for t := range o.Tensors {
		for d, off := range o.Tensors[t].Offset {
			w.index[t][d] = off + o.Tensors[t].Access[d][outer]*fixed
		}
	}
	return w
}

func (w *walker) nest(at int) {
	if at == w.decided {
		if e, ok := w.o.Output().at(w.index[len(w.operands)][:]); !ok || !w.which[e] {
			return
		}
	}
	if at == len(w.order) {
		w.body()
		return
	}
	l := w.order[at]
	if at == len(w.order)-1 && at >= w.decided && w.inner(l) {
		return
	}
	saved := w.index
	for i := range w.o.Loops[l].Extent {
		if i > 0 {
			for t := range w.o.Tensors {
				for d := range w.o.Tensors[t].Offset {
					w.index[t][d] += w.o.Tensors[t].Access[d][l]
				}
			}
		}
		w.nest(at + 1)
	}
	w.index = saved
}

// inner runs the last loop with strides, over the iterations for which no index
// leaves its tensor. It returns false for tensors with inserted zeros.
func (w *walker) inner(l int) bool {
	from, to := 0, w.o.Loops[l].Extent
	var base, stride [3]int
	for t := range w.o.Tensors {
		x := &w.o.Tensors[t]
		for d, e := range x.Extents {
			i, a := w.index[t][d], x.Access[d][l]
			switch {
			case x.Insert != nil && x.Insert[d] > 1:
				return false
			case a == 0 && (i < 0 || i >= e):
				return true
			case a > 0:
				if i < 0 {
					from = max(from, (-i+a-1)/a)
				}
				to = min(to, (e-i+a-1)/a)
			case a < 0:
				if i >= e {
					from = max(from, (i-e)/-a+1)
				}
				to = min(to, i/-a+1)
				if i < 0 {
					return true
				}
			}
			base[t], stride[t] = base[t]*e+i, stride[t]*e+a
		}
	}
	a, b, c := w.operands[0], w.operands[1], w.out
	x, y, z := base[0]+from*stride[0], base[1]+from*stride[1], base[2]+from*stride[2]
	if stride[2] == 0 {
		sum := int64(0)
		for range to - from {
			sum += int64(a[x]) * int64(b[y])
			x, y = x+stride[0], y+stride[1]
		}
		if to > from {
			c[z] += sum
		}
		return true
	}
	for range to - from {
		c[z] += int64(a[x]) * int64(b[y])
		x, y, z = x+stride[0], y+stride[1], z+stride[2]
	}
	return true
}

func (w *walker) body() {
	p := int64(1)
	for t := range w.operands {
		at, ok := w.o.Tensors[t].at(w.index[t][:])
		if !ok {
			return
		}
		p *= int64(w.operands[t][at])
	}
	at, _ := w.o.Output().at(w.index[len(w.operands)][:])
	w.out[at] += p
}

// at returns the element at an index, false where it is a zero that is not stored.
func (t *Tensor) at(index []int) (int, bool) {
	at := 0
	for d, e := range t.Extents {
		i := index[d]
		if t.Insert != nil {
			if i < 0 || i%t.Insert[d] != 0 {
				return 0, false
			}
			i /= t.Insert[d]
		}
		if i < 0 || i >= e {
			return 0, false
		}
		at = at*e + i
	}
	return at, true
}
