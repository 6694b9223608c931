package egraph

import (
	"errors"
	"fmt"
	"time"
)

// Options of the optimiser. All but Cost may be zero, which is good for most graphs.
type Options struct {
	// Reassociate allows 3a and 3c for sums and products of floating-point numbers,
	// which round differently in another order.
	Reassociate bool

	Cost *Cost // of the machine: there is no default

	// Sizes has values of symbols for costs that depend on them. Symbols without one
	// count with the middle of their range, 1024 if it has no end. The result is
	// right for all sizes.
	Sizes map[string]int64

	Nodes      int // the most nodes of the e-graph; 0 is DefaultNodes
	Iterations int // the most iterations; 0 is DefaultIterations
	Effort     int // steps of the search for the cheapest graph; 0 is DefaultEffort
}

// The limits that Options has by default: an optimisation takes a second or two.
const (
	DefaultNodes      = 40000
	DefaultIterations = 500
	DefaultEffort     = 40000
)

func (o *Options) fill() error {
	for _, l := range []struct {
		name  string
		value int
	}{{"nodes", o.Nodes}, {"iterations", o.Iterations}, {"steps", o.Effort}} {
		if l.value < 0 {
			return fmt.Errorf("egraph: limit of %d %s, expected at least 0", l.value, l.name)
		}
	}
	if o.Nodes == 0 {
		o.Nodes = DefaultNodes
	}
	if o.Iterations == 0 {
		o.Iterations = DefaultIterations
	}
	if o.Effort == 0 {
		o.Effort = DefaultEffort
	}
	if o.Cost == nil {
		return errors.New("egraph: no table of costs")
	}
	return nil
}

// Stop is what ended saturation.
type Stop uint8

// What may end saturation.
const (
	Saturated      Stop = iota + 1 // no rule gives anything new
	NodeLimit                      // Options.Nodes
	IterationLimit                 // Options.Iterations
	TimeLimit                      // the deadline of the context
)

func (s Stop) String() string {
	switch s {
	case Saturated:
		return "saturated"
	case NodeLimit:
		return "node limit"
	case IterationLimit:
		return "iteration limit"
	case TimeLimit:
		return "time limit"
	}
	return fmt.Sprintf("Stop(%d)", uint8(s))
}

// Stats are what an optimisation did.
type Stats struct {
	Graph      string // its name
	Stop       Stop   // what ended saturation
	Iterations int
	Nodes      int // of the e-graph, those apart that became equal
	Classes    int
	Added      int // nodes of the e-graph, with those that became equal
	Rules      []RuleStats

	// Cheapest says that the choice was proved: no other graph of nodes of the e-graph
	// costs less. That is so for small graphs only.
	Cheapest bool

	Before, After Counts
	Kept          bool // nothing cheaper was found: the result is the graph as it was, without dead nodes

	// Times of the wall clock: no two runs have the same.
	SearchTime  time.Duration // of matching, and of adding what was found
	RebuildTime time.Duration
	ExtractTime time.Duration
}

// RuleStats are what a rule did.
type RuleStats struct {
	Name     string
	Equation string // of the appendix of Infinity Stream, empty if it is not there
	Matches  int    // left sides found
	Applied  int    // of those, equations that were new
	Refused  int    // right sides that are not defined, or not at the same points
	Pauses   int    // for too many matches
}
