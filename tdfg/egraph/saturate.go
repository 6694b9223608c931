package egraph

import (
	"context"
	"errors"
	"time"
)

// ruleState is how a rule is scheduled: with exponential backoff, as egg does
// (Willsey et al., 2021, section 5). One that matches too often in an iteration
// pauses for some, and may match twice as often after that.
type ruleState struct {
	last   int32 // the iteration of the last complete search, -1 before the first
	bans   int
	banned int32 // until this iteration
}

const (
	matchBudget = 4000 // matches of a rule in an iteration before it pauses
	banLength   = 2    // iterations of the first pause
)

// saturation applies rules to an e-graph until nothing new comes, or a limit stops
// it.
type saturation struct {
	search
	rules  []rule
	states []ruleState
	stats  *Stats
	limit  int // of nodes
	iters  int
}

// run saturates with the rules up to a phase. It returns what stopped it.
func (s *saturation) run(ctx context.Context, phase int) (Stop, error) {
	start, rebuilt := time.Now(), s.stats.RebuildTime
	defer func() {
		s.stats.SearchTime += time.Since(start) - (s.stats.RebuildTime - rebuilt)
		s.stats.Nodes, s.stats.Classes = s.count()
		s.stats.Added = len(s.nodes)
	}()
	for {
		if s.now >= int32(s.iters) {
			return IterationLimit, nil
		}
		s.now++
		s.stats.Iterations++
		clear(s.atoms)
		before := len(s.nodes)
		paused := false
		for i := range s.rules {
			if s.rules[i].phase > phase {
				continue
			}
			complete, err := s.try(ctx, i)
			if errors.Is(err, context.DeadlineExceeded) {
				s.merge()
				return TimeLimit, nil
			}
			if err != nil {
				return 0, err
			}
			paused = paused || !complete
		}
		merged := s.merge()
		switch {
		case len(s.nodes) >= s.limit:
			return NodeLimit, nil
		case !merged && !paused && len(s.nodes) == before:
			return Saturated, nil
		}
	}
}

// try searches for one rule. It reports whether it looked at all nodes.
func (s *saturation) try(ctx context.Context, i int) (complete bool, err error) {
	r, st := &s.rules[i], &s.states[i]
	if s.now < st.banned {
		return false, nil
	}
	s.stat = &s.stats.Rules[i]
	s.budget = matchBudget << st.bans
	for _, kind := range r.kinds {
		list := s.byKind[kind]
		for k, n := range list {
			if k%1024 == 0 {
				if err := ctx.Err(); err != nil {
					return false, err
				}
			}
			if s.skip(r, st, n) {
				continue
			}
			if len(s.nodes) >= s.limit {
				return false, nil
			}
			if r.find(&s.search, n); s.budget < 0 {
				s.stat.Pauses++
				st.banned = s.now + banLength<<st.bans
				st.bans++
				return false, nil
			}
		}
	}
	st.last = s.now - 1 // what this iteration changes is still to be looked at
	return true, nil
}

// skip reports whether a rule can find nothing new at a node.
func (s *saturation) skip(r *rule, st *ruleState, n nodeID) bool {
	x := &s.nodes[n]
	if x.dead || s.classes[s.find(x.class)].chain {
		return true
	}
	if r.deep || x.born > st.last || s.class(x.class).changed > st.last {
		return false
	}
	for _, a := range s.argsOf(n) {
		if s.class(a).changed > st.last {
			return false
		}
	}
	return true
}

// merge unites what rules found equal, and rebuilds. It reports whether there was
// anything new.
func (s *saturation) merge() bool {
	news := false
	for _, e := range s.equal {
		if s.union(e.a, e.b) {
			e.rule.Applied++
			news = true
		}
	}
	s.equal = s.equal[:0]
	start := time.Now()
	s.rebuild()
	s.stats.RebuildTime += time.Since(start)
	return news
}

// count returns the numbers of nodes and classes that are left.
func (g *graph) count() (nodes, classes int) {
	for i := range g.nodes {
		if !g.nodes[i].dead {
			nodes++
		}
	}
	for i := range g.up {
		if g.up[i] == classID(i) {
			classes++
		}
	}
	return nodes, classes
}
