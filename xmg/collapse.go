package xmg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/xmg/internal/bdd"
)

// collapse builds the graph anew from what its outputs are as functions of the inputs:
// decision diagrams of all outputs are made sums of products, and these are divided by
// the divisors that they have in common (Rajski and Vasudevamurthy, "The testability-
// preserving concurrent decomposition and factorization of Boolean expressions", 1992).
// It forgets whatever structure there was, which is a gain where that is bad, and a
// loss elsewhere.
//
// The result has ANDs only, and may be larger than g. The work is bounded. The error is
// errNotThis where an output has no small diagram or no short sum; or the context ended,
// and it wraps its error.
func collapse(ctx context.Context, g *Graph, opt Options) (*Graph, error) {
	g = g.Sweep()
	if opt.Progress != nil {
		opt.Progress(Progress{"collapsing", 0, g.NumGates()})
	}
	order := diagramOrder(g)
	m := bdd.New(maxDiagrams, func() bool { return ctx.Err() != nil })
	functions, err := diagrams(m, g, order)
	sums := make([][][]bdd.Literal, len(functions))
	flipped := make([]bool, len(functions))
	literals := 0
	for i, f := range functions {
		if err != nil {
			break
		}
		var short int
		sums[i], flipped[i], short, err = shortestSum(m, f, maxSumLiterals-literals)
		literals += short
	}
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("xmg: collapsing: %w", ctx.Err())
	case errors.Is(err, bdd.ErrSize):
		return nil, errNotThis
	case err != nil:
		return nil, err
	}
	x := newExtraction(sums, len(order))
	if err := x.run(ctx, opt.Progress); err != nil {
		return nil, err
	}
	out := g.emptyCopy(literals / 8)
	inputs := make([]Lit, len(order))
	for level, input := range order {
		inputs[level] = Lit(input+1) << 1
	}
	for i, l := range x.build(out, inputs, len(sums)) {
		out.AddOutput(g.outputs[i].Name, l.NotIf(flipped[i]))
	}
	return out.Sweep(), nil
}

// shortestSum returns a sum of products of a function or of its complement, whichever is
// shorter, and its length: literals and products.
func shortestSum(m *bdd.Manager, f bdd.Edge, most int) (sum [][]bdd.Literal, flipped bool, length int, err error) {
	for _, flip := range [2]bool{false, true} {
		// In a manager of its own: it makes many nodes that are of no use later.
		own := bdd.New(maxDiagrams/16, nil)
		other, failed := own.Copy(m, f)
		var s [][]bdd.Literal
		if failed == nil {
			if flip {
				other = other.Not()
			}
			s, failed = own.Products(other, most)
		}
		switch {
		case failed != nil && !flip:
			err = failed
		case failed == nil:
			n := len(s)
			for _, p := range s {
				n += len(p)
			}
			if !flip || err != nil || n < length {
				sum, flipped, length, err = s, flip, n, nil
			}
			most = min(most, n)
		}
	}
	return sum, flipped, length, err
}

const (
	maxDiagrams    = 1 << 21
	maxSumLiterals = 3 << 19
)

// diagrams returns the functions of all outputs.
func diagrams(m *bdd.Manager, g *Graph, order []int) ([]bdd.Edge, error) {
	value := make([]bdd.Edge, len(g.nodes))
	value[0] = bdd.False
	for level, input := range order {
		v, err := m.Var(uint32(level))
		if err != nil {
			return nil, err
		}
		value[input+1] = v
	}
	at := func(l Lit) bdd.Edge { return value[l>>1] ^ bdd.Edge(l&1) }
	for id := g.FirstGate(); id < len(g.nodes); id++ {
		f := g.nodes[id]
		a, b, c := at(f[0]), at(f[1]), at(f[2])
		var err error
		if g.Kind(id) == Maj {
			switch f[0] {
			case False:
				value[id], err = m.And(b, c)
			case True:
				value[id], err = m.Or(b, c)
			default:
				value[id], err = m.Maj(a, b, c)
			}
		} else if value[id], err = m.Xor(a, b); err == nil {
			value[id], err = m.Xor(value[id], c)
		}
		if err != nil {
			return nil, err
		}
	}
	functions := make([]bdd.Edge, len(g.outputs))
	for i, o := range g.outputs {
		functions[i] = at(o.Lit)
	}
	return functions, nil
}

// forceRounds are the rounds of forces that order inputs.
const forceRounds = 60

// diagramOrder returns the inputs in an order in which those of a gate are near each
// other (Aloul, Markov, Sakallah, "FORCE: a fast and easy-to-implement variable-ordering
// heuristic", 2003).
func diagramOrder(g *Graph) []int {
	// From the outputs down, as they first come.
	place := make([]float64, len(g.nodes))
	seen := make([]bool, len(g.nodes))
	next := 0.0
	var stack []int
	for _, o := range g.outputs {
		stack = append(stack[:0], o.Lit.Node())
		for len(stack) > 0 {
			n := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[n] || n == 0 {
				continue
			}
			seen[n] = true
			place[n] = next
			next++
			if g.IsGate(n) {
				for _, l := range g.nodes[n] {
					stack = append(stack, l.Node())
				}
			}
		}
	}
	sum, count := make([]float64, len(g.nodes)), make([]float64, len(g.nodes))
	nodes := make([]int, 0, len(g.nodes)-1)
	for id := 1; id < len(g.nodes); id++ {
		nodes = append(nodes, id)
	}
	for range forceRounds {
		clear(sum)
		clear(count)
		for id := g.FirstGate(); id < len(g.nodes); id++ {
			centre, pins := place[id], 1.0
			for _, l := range g.nodes[id] {
				if l>>1 != 0 {
					centre += place[l>>1]
					pins++
				}
			}
			centre /= pins
			sum[id] += centre
			count[id]++
			for _, l := range g.nodes[id] {
				sum[l>>1] += centre
				count[l>>1]++
			}
		}
		for _, n := range nodes {
			if count[n] > 0 {
				sum[n] /= count[n]
			} else {
				sum[n] = place[n]
			}
		}
		slices.SortStableFunc(nodes, func(x, y int) int { return cmp.Compare(sum[x], sum[y]) })
		for i, n := range nodes {
			place[n] = float64(i)
		}
	}
	order := make([]int, g.NumInputs())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(place[x+1], place[y+1]) })
	return order
}
