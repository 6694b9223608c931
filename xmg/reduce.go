package xmg

import (
	"context"
	"math"
)

// ReduceOptions say how hard [Reduce] tries. The zero value is the default.
type ReduceOptions struct {
	// Conflicts is the most that one SAT query may run into; 0 means
	// DefaultReduceConflicts.
	Conflicts int64
	// Work is the most that is done in all, in values of gates computed (some 2 to
	// 20 ns each); 0 means no bound. What is not looked at stays as it is.
	Work int64
	// Progress is called now and then from the calling goroutine; may be nil.
	Progress func(Progress)
}

// DefaultReduceConflicts is the bound on a SAT query when none is given.
const DefaultReduceConflicts = 100

// Reduce merges gates that are equal up to complement, and replaces those that
// are constant or equal to an input (functional reduction; see [Equivalent] for
// how that is proved). The result is never larger, and equal to g for all inputs;
// it is g itself (swept) if nothing was merged. It has the inputs, outputs and
// names of g and keeps the order of its gates: of equal ones, the first stays.
//
// The effort for each gate is bounded: at most two candidates, cones of up to
// 3000 gates in graphs beyond 100,000, and Conflicts. So the time is nearly
// linear, 5 to 200 us a gate and more where many gates look alike without being
// equal; it takes some 120 bytes a gate. When ctx ends, the rest is left as it
// is, and the error is nil: what has been merged is proved.
func Reduce(ctx context.Context, g *Graph, opt ReduceOptions) (*Graph, error) {
	g = g.Sweep()
	effort := defaultEffort
	effort.candidates = 2
	effort.conflicts = opt.Conflicts
	if effort.conflicts == 0 {
		effort.conflicts = DefaultReduceConflicts
	}
	effort.cones = []int{300, math.MaxInt}
	if len(g.nodes) > largeGraph {
		effort.cones = []int{300, 3000}
	}
	return reduce(ctx, g, opt, effort)
}

func reduce(ctx context.Context, g *Graph, opt ReduceOptions, effort sweepEffort) (*Graph, error) {
	s := newFraig(ctx, g, effort)
	s.progress, s.maxWork, s.rest = opt.Progress, opt.Work, true
	if err := s.simulateFirst(); err != nil {
		return g, nil // stopped before there were candidates
	}
	if err := s.run(); err != nil {
		return nil, err
	}
	if out := s.out.Sweep(); out.NumGates() < g.NumGates() {
		return out, nil
	}
	return g, nil
}
