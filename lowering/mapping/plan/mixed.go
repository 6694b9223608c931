package plan

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/bitsched/bitsched/lowering/mapping"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/search"
)

// Precision is how many bits a layer of a network of mixed precision has, and what that does to
// its results. Errors are shares of the largest sum that the layer's weights allow; they follow
// from the weights and the types alone, whatever the inputs are.
type Precision struct {
	Bits     int
	Error    float64 // no result is further off
	Measured float64 // the largest that was executed
	bound    int64   // in units of the layer's sums
	full     int64
}

// leastBits are the fewest bits that a layer may have.
const leastBits = 2

// narrowed is an operator whose operands have at most a number of bits.
func narrowed(op *dnn.Operator, bits int) *dnn.Operator {
	o := *op
	o.Tensors = append([]dnn.Tensor(nil), op.Tensors...)
	for t := range o.Operands() {
		o.Tensors[t].Type.Bits = min(o.Tensors[t].Type.Bits, bits)
	}
	return &o
}

// widest is the number of bits of an operator's widest operand.
func widest(op *dnn.Operator) int {
	n := 0
	for _, t := range op.Operands() {
		n = max(n, t.Type.Bits)
	}
	return n
}

// magnitude is the largest absolute value of a type, and off how far rounding to fewer bits
// moves a value at most.
func magnitude(t dnn.Type) int64 {
	lo, hi := t.Range()
	return max(-lo, hi)
}

func off(from, to dnn.Type) int64 { return 1<<(from.Bits-to.Bits) - 1 }

// errorOf bounds how far any result of a layer is off with fewer bits, in units of its sums,
// and returns the largest sum there can be. Weights are known where the operand is static.
func errorOf(op, narrow *dnn.Operator, weights []int32) (bound, full int64) {
	a, b := &op.Tensors[0], &op.Tensors[1]
	na, nb := &narrow.Tensors[0], &narrow.Tensors[1]
	w, nw, x, nx := b, nb, a, na
	if a.Role == dnn.Weight {
		w, nw, x, nx = a, na, b, nb
	}
	terms := op.Terms()
	if weights == nil {
		m, n := magnitude(x.Type), magnitude(w.Type)
		dx, dw := off(x.Type, nx.Type), off(w.Type, nw.Type)
		return terms * (m*dw + (n+dw)*dx), terms * m * n
	}
	// Sums over the weights of each result: loops that index weights and the output tell them apart.
	small := dnn.Narrow(weights, w.Type, nw.Type)
	shift := w.Type.Bits - nw.Type.Bits
	each := terms // results add each of their weights so often
	var loops []int
	for l := range op.Loops {
		if w.Indexed(l) {
			loops = append(loops, l)
			if op.Reduction(l) {
				each /= int64(op.Loops[l].Extent)
			}
		}
	}
	type sums struct{ moved, kept, all int64 }
	of := map[int]*sums{}
	index := append([]int(nil), w.Offset...)
	var walk func(k, result int)
	walk = func(k, result int) {
		if k == len(loops) {
			at := 0
			for d, i := range index {
				if i < 0 || i >= w.Extents[d] {
					return
				}
				at = at*w.Extents[d] + i
			}
			s := of[result]
			if s == nil {
				s = &sums{}
				of[result] = s
			}
			v, n := int64(weights[at]), int64(small[at])<<shift
			s.moved += max(v-n, n-v)
			s.kept += max(n, -n)
			s.all += max(v, -v)
			return
		}
		l := loops[k]
		for range op.Loops[l].Extent {
			walk(k+1, result)
			for d := range index {
				index[d] += w.Access[d][l]
			}
			if !op.Reduction(l) {
				result += stride(op, loops[:k])
			}
		}
		for d := range index {
			index[d] -= w.Access[d][l] * op.Loops[l].Extent
		}
	}
	walk(0, 0)
	m, dx := magnitude(x.Type), off(x.Type, nx.Type)
	for _, s := range of {
		bound = max(bound, each*(m*s.moved+dx*s.kept))
		full = max(full, each*m*s.all)
	}
	return bound, full
}

// stride numbers results: the product of the parallel loops before one.
func stride(op *dnn.Operator, before []int) int {
	n := 1
	for _, l := range before {
		if !op.Reduction(l) {
			n *= op.Loops[l].Extent
		}
	}
	return n
}

// steps is how finely errors are told apart when they are shared out; each is rounded up.
const steps = 4096

// apportion chooses a number of bits for each layer so that cycles are least and errors sum to at
// most a budget: exactly, but for the rounding of errors. Cycles below 0 cannot be had. It
// returns the choices, nil if even the most bits do not keep the budget.
func apportion(cycles [][]int64, errs [][]float64, budget float64) []int {
	const never = math.MaxInt64 / 2
	best := make([]int64, steps+1) // by errors spent
	from := make([][]int, len(cycles))
	for i := range cycles {
		next := make([]int64, steps+1)
		from[i] = make([]int, steps+1)
		for e := range next {
			next[e], from[i][e] = never, -1
			for c, n := range cycles[i] {
				cost := 0
				if errs[i][c] > 0 {
					if budget <= 0 || errs[i][c] > budget {
						continue
					}
					cost = int(math.Ceil(errs[i][c] / budget * steps))
				}
				if n >= 0 && cost <= e && best[e-cost] < never && best[e-cost]+n < next[e] {
					next[e], from[i][e] = best[e-cost]+n, c
				}
			}
		}
		best = next
	}
	if best[steps] >= never {
		return nil
	}
	out := make([]int, len(cycles))
	e := steps
	for i := len(cycles) - 1; i >= 0; i-- {
		c := from[i][e]
		out[i] = c
		if errs[i][c] > 0 {
			e -= int(math.Ceil(errs[i][c] / budget * steps))
		}
	}
	return out
}

// mix searches every different operator with every number of bits and chooses those of each
// layer.
func (rep *Report) mix(ctx, run context.Context, opt search.Optimizer, first []int) error {
	type job struct{ layer, bits int }
	var jobs []job
	for _, i := range first {
		for b := leastBits; b <= widest(rep.Layers[i].Op); b++ {
			jobs = append(jobs, job{i, b})
		}
	}
	found := make([]*Layer, len(jobs))
	err := rep.each(len(jobs), "searching", func(k int) error {
		l := rep.Layers[jobs[k].layer]
		l.Op = narrowed(l.Op, jobs[k].bits)
		switch err := rep.searchOne(ctx, run, opt, &l, 1, nil); {
		case err == nil:
			found[k] = &l
		case !errors.Is(err, mapping.ErrInfeasible):
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	cycles, errs := make([][]int64, len(rep.Layers)), make([][]float64, len(rep.Layers))
	at := make([][]int, len(rep.Layers)) // jobs
	precisions := make([][]Precision, len(rep.Layers))
	for i := range rep.Layers {
		l := &rep.Layers[i]
		searched := i
		if l.Same >= 0 {
			searched = l.Same
		}
		n := &rep.Network.Nodes[l.Node]
		var weights []int32
		for _, t := range l.Op.Operands() {
			if t.Role == dnn.Weight {
				weights = given(rep.Network, n, &t, rep.Options.Seed)
			}
		}
		for k, j := range jobs {
			if j.layer != searched || found[k] == nil {
				continue
			}
			p := Precision{Bits: j.bits}
			p.bound, p.full = errorOf(l.Op, narrowed(l.Op, j.bits), weights)
			p.Error = float64(p.bound) / float64(max(p.full, 1))
			rep.Uniform[j.bits] += found[k].Cost.Cycles
			cycles[i], errs[i], at[i] = append(cycles[i], found[k].Cost.Cycles), append(errs[i], p.Error), append(at[i], k)
			precisions[i] = append(precisions[i], p)
		}
	}
	chosen := apportion(cycles, errs, rep.Options.Mixed)
	if chosen == nil {
		return fmt.Errorf("%w: no choice of bits keeps errors within %g %%", mapping.ErrInfeasible, 100*rep.Options.Mixed)
	}
	seen := map[string]int{}
	for i, c := range chosen {
		l := &rep.Layers[i]
		f := found[at[i][c]]
		node, name := l.Node, l.Name
		*l = *f
		l.Node, l.Name, l.Same = node, name, -1
		p := precisions[i][c]
		l.Precision = &p
		key := l.Op.Signature()
		if k, ok := seen[key]; ok {
			l.Same = k
		} else {
			seen[key] = i
		}
	}
	return nil
}

// looksAt compares the results of a layer of fewer bits with those of all bits, on the same
// inputs, and keeps the largest share that one is off by.
func (l *Layer) looksAt(narrow, wide []int64, shift int) error {
	p := l.Precision
	for i, v := range wide {
		d := v - narrow[i]<<shift
		d = max(d, -d)
		if d > p.bound {
			return fmt.Errorf("%w: layer %s: output %d of %d bits is off by %d, the bound is %d", ErrCheck, l.Name, i, p.Bits, d, p.bound)
		}
		p.Measured = max(p.Measured, float64(d)/float64(max(p.full, 1)))
	}
	return nil
}
