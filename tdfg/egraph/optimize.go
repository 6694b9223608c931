package egraph

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/tdfg"
)

// Optimize returns a graph with the same outputs, of the same domains and types,
// that costs no more. The graph that is given stays as it is.
//
// Options limit the effort, so that the result is the same in every run. A deadline
// of the context ends the search with what was found until then; where it is
// canceled, its error is returned.
func Optimize(ctx context.Context, g *tdfg.Graph, opt Options) (*tdfg.Graph, Stats, error) {
	stats := Stats{Graph: g.Name}
	fail := func(err error) (*tdfg.Graph, Stats, error) {
		return nil, stats, fmt.Errorf("egraph: graph %s: %w", g.Name, err)
	}
	if err := opt.fill(); err != nil {
		return nil, stats, err
	}
	if err := g.Check(); err != nil {
		return fail(err)
	}
	meter, err := newMeter(&g.Scope, opt.Cost, opt.Sizes)
	if err != nil {
		return fail(err)
	}
	if stats.Before, err = meter.measure(g); err != nil {
		return fail(err)
	}
	s := newSaturation(g, opt, &stats)
	outputs, err := s.read(g)
	if err != nil {
		return fail(err)
	}
	best := g
	stats.After, stats.Kept = stats.Before, true
	for phase := range phases {
		if stats.Stop, err = s.run(ctx, phase); err != nil {
			return fail(err)
		}
		if stats.Stop == Saturated && phase == align {
			continue // nothing is brought together yet
		}
		start := time.Now()
		found, complete, err := s.extract(ctx, g, outputs, meter, opt.Effort)
		stats.ExtractTime += time.Since(start)
		if err != nil {
			return fail(err)
		}
		counts, err := meter.measure(found)
		if err != nil {
			return fail(err)
		}
		if counts.cheaper(stats.After) {
			best, stats.After, stats.Kept = found, counts, false
		}
		stats.Cheapest = complete && phase == phases-1
		if stats.Stop != Saturated {
			break
		}
	}
	if stats.Kept {
		if best, err = withoutDead(g); err != nil {
			return fail(err)
		}
	}
	if err := sameOutputs(g, best); err != nil {
		return fail(err)
	}
	return best, stats, nil
}

// cheaper compares costs, and numbers of nodes where these are the same.
func (c Counts) cheaper(d Counts) bool {
	return c.Cost < d.Cost || c.Cost == d.Cost && c.Nodes < d.Nodes
}

// withoutDead returns a graph without the nodes that no output needs.
func withoutDead(g *tdfg.Graph) (*tdfg.Graph, error) {
	b := tdfg.NewBuilder(g.Name, g.Scope)
	to := make([]tdfg.NodeID, len(g.Nodes))
	for i, need := range needed(g) {
		if !need {
			continue
		}
		n := g.Nodes[i]
		n.Args = make([]tdfg.NodeID, len(g.Nodes[i].Args))
		for k, a := range g.Nodes[i].Args {
			n.Args[k] = to[a]
		}
		to[i] = b.Add(n)
	}
	for _, o := range g.Outputs {
		if o.Array < 0 {
			b.Result(to[o.Node], o.Scalar)
		} else {
			b.Store(to[o.Node], o.Array)
		}
	}
	return b.Finish()
}

func newSaturation(g *tdfg.Graph, opt Options, stats *Stats) *saturation {
	s := &saturation{rules: rules(), stats: stats, limit: opt.Nodes, iters: opt.Iterations}
	s.search = search{graph: newGraph(&g.Scope), reassociate: opt.Reassociate, atoms: map[atomsKey][]classID{}, regrouped: map[atomsKey]uint64{}}
	s.ints, s.floats = newDistributive(opt.Reassociate)
	s.findHulls(g)
	s.states = make([]ruleState, len(s.rules))
	for i := range s.rules {
		s.states[i].last = -1
		stats.Rules = append(stats.Rules, RuleStats{Name: s.rules[i].name, Equation: s.rules[i].equation})
	}
	return s
}

// extract returns the cheapest graph that is found in the e-graph, and whether there
// is none cheaper in it.
func (s *saturation) extract(ctx context.Context, g *tdfg.Graph, outputs []classID, m *meter, effort int) (found *tdfg.Graph, complete bool, err error) {
	x, err := newExtraction(s.graph, outputs, m)
	if err != nil {
		return nil, false, err
	}
	x.begin()
	if complete = x.exact(ctx, effort); !complete {
		x.search(ctx, effort)
		complete = x.exact(ctx, exactSteps*effort)
	}
	if err := ctx.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, false, err
	}
	if found, err = s.write(g, outputs, x.choice); err != nil {
		return nil, false, err
	}
	if small, err := narrow(found); err == nil {
		found = small // else some bound is not decided, or not known to be in order
	}
	return found, complete, nil
}

// exactSteps is the number of steps of branch and bound for each one of annealing,
// which takes longer.
const exactSteps = 10

// sameOutputs returns an error if a graph does not write what another one does: that
// would be a mistake in this package.
func sameOutputs(g, h *tdfg.Graph) error {
	if len(g.Outputs) != len(h.Outputs) {
		return fmt.Errorf("%d outputs, expected %d", len(h.Outputs), len(g.Outputs))
	}
	for i, o := range g.Outputs {
		p := h.Outputs[i]
		a, b := &g.Nodes[o.Node], &h.Nodes[p.Node]
		if p.Array != o.Array || p.Scalar != o.Scalar || a.Type != b.Type || !a.Domain.Equal(b.Domain) {
			return fmt.Errorf("output %d: %s %s, expected %s %s", i, b.Type, b.Domain, a.Type, a.Domain)
		}
	}
	return nil
}

// OptimizeProgram returns a program with all regions optimised, and the stats of
// each in the order of tdfg.Program.Regions. Sums of floating-point numbers may get
// another order if the options or the program allow it.
func OptimizeProgram(ctx context.Context, p *tdfg.Program, opt Options) (*tdfg.Program, []Stats, error) {
	opt.Reassociate = opt.Reassociate || p.Reassociate
	var list []Stats
	q := *p
	var err error
	q.Body, err = optimizeBody(ctx, p.Body, opt, &list)
	if err != nil {
		return nil, list, err
	}
	if invariants.Enabled && p.Check() == nil {
		if err := q.Check(); err != nil {
			return nil, list, fmt.Errorf("egraph: %s optimised: %w", p.Name, err)
		}
	}
	return &q, list, nil
}

func optimizeBody(ctx context.Context, body []tdfg.Stmt, opt Options, list *[]Stats) ([]tdfg.Stmt, error) {
	out := make([]tdfg.Stmt, len(body))
	for i, st := range body {
		switch st := st.(type) {
		case *tdfg.Loop:
			loop := *st
			var err error
			if loop.Body, err = optimizeBody(ctx, st.Body, opt, list); err != nil {
				return nil, err
			}
			out[i] = &loop
		case *tdfg.Region:
			g, stats, err := Optimize(ctx, st.Graph, opt)
			if err != nil {
				return nil, err
			}
			*list = append(*list, stats)
			out[i] = &tdfg.Region{Graph: g}
		default:
			return nil, fmt.Errorf("egraph: statement %T, expected a loop or a region", st)
		}
	}
	return out, nil
}
