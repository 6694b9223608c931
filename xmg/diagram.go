package xmg

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/xmg/internal/bdd"
)

// asDiagram builds the graph anew as one decision diagram of all outputs, a multiplexer
// for each node. The order of the inputs is the best of three: as they are, those that
// most gates read first, and those of a gate near each other. With those first that
// select, rotators, shifters and decoders are what they should be, however they were
// made.
//
// The result may be larger than g. The work is bounded. The error is errNotThis where
// the diagram is too large to be of use; or the context ended, and it wraps its error.
func asDiagram(ctx context.Context, g *Graph, opt Options) (*Graph, error) {
	g = g.Sweep()
	if opt.Progress != nil {
		opt.Progress(Progress{"making a decision diagram", 0, g.NumGates()})
	}
	asGiven := make([]int, g.NumInputs())
	for i := range asGiven {
		asGiven[i] = i
	}
	readers := g.FanoutCounts()
	mostRead := slices.Clone(asGiven)
	slices.SortStableFunc(mostRead, func(i, j int) int { return cmp.Compare(readers[j+1], readers[i+1]) })
	var best *bdd.Manager
	var functions []bdd.Edge
	var order []int
	size := max(maxDiagramShare*g.NumGates(), 1<<10)
	for _, o := range [][]int{asGiven, mostRead, diagramOrder(g)} {
		m := bdd.New(maxDiagrams/8, func() bool { return ctx.Err() != nil })
		f, err := diagrams(m, g, o)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("xmg: decision diagram: %w", ctx.Err())
		}
		if err == nil && m.Size(f...) < size {
			best, functions, order, size = m, f, o, m.Size(f...)
		}
	}
	if best == nil {
		return nil, errNotThis
	}
	out := g.emptyCopy(size)
	made := map[bdd.Edge]Lit{bdd.True: True}
	var build func(e bdd.Edge) Lit
	build = func(e bdd.Edge) Lit {
		l, ok := made[e&^1]
		if !ok {
			level := best.Level(e)
			then, els := best.Branches(e&^1, level)
			t := build(then)
			l = out.Mux(Lit(order[level]+1)<<1, t, build(els))
			made[e&^1] = l
		}
		return l ^ Lit(e&1)
	}
	for i, f := range functions {
		out.AddOutput(g.outputs[i].Name, build(f))
	}
	return out.Sweep(), nil
}

// maxDiagramShare is how many nodes for a gate a diagram may have to be of use.
const maxDiagramShare = 2
