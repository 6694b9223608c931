package masim

import (
	"context"
	"fmt"
	"math"

	"github.com/bitsched/bitsched/sram"
)

// Bound is a number of copies that no schedule goes below, and why.
type Bound struct {
	Copies int
	Reason string // in one sentence

	// Partial is set where a search for more was cut off, by the limit of its work or
	// by the context. What was proved by then holds.
	Partial bool
}

// EnergyBound is an energy that no schedule goes below, as [Bound] is of copies.
type EnergyBound struct {
	Energy  float64
	Reason  string
	Partial bool
}

// LowerBound returns a number of copies that no schedule of p without
// rematerialisation can go below. It takes a second or two, a few at most: every
// search counts its work, whose limit does not depend on the machine, and stops
// within some milliseconds when ctx ends. Above 50,000 gates only the first of the
// arguments below is tried, in linear time.
//
// It is the copies of inputs of full arrays, and the greatest number of further
// ones that one of the other arguments gives:
//
//   - Inputs of full arrays. n inputs on arrays of R rows fill the first n/R
//     (rounded down) arrays completely. Rows of inputs are never written, so
//     nothing is computed in a full array and nothing is copied to it. A gate
//     with a fanin that lies in a full array is therefore computed elsewhere, and
//     that input must have been copied at least once.
//   - Live values. At some moment more values are needed later than there are
//     rows beside the inputs of the next array, and what is computed elsewhere
//     must be cut from these inputs by copies: see [cutBound].
//   - Outputs. The same at the end, exact where it is found: see [outputsBound].
//   - Spreading. Parts of the graph that do not fit into one array are computed in
//     several, and copies carry what each needs of the others: see [spreadBound].
func LowerBound(ctx context.Context, p Problem) Bound {
	n, reason, partial := lowerBound(ctx, p, 1, 1, true)
	return Bound{int(n), reason, partial}
}

// LowerBoundRematerialized is [LowerBound] for schedules that may compute gates
// again. Of the arguments, those about the end, inputs and spreading remain.
func LowerBoundRematerialized(ctx context.Context, p Problem) Bound {
	n, reason, partial := lowerBound(ctx, p, 1, 0, false)
	return Bound{int(n), reason, partial}
}

// LowerBoundEnergy returns an energy that no schedule of p can go below, gates
// being computed again or not: that of computing all gates once and of what more
// the arguments of [LowerBoundRematerialized] give, a gate computed again having
// its price.
func LowerBoundEnergy(ctx context.Context, p Problem, e sram.Energy) EnergyBound {
	b := EnergyBound{Energy: float64(p.Graph.NumGates()) * e.Compute}
	if e.Copy <= 0 {
		b.Reason = "every gate is computed, and copies cost nothing"
		return b
	}
	more, reason, partial := lowerBound(ctx, p, e.Copy, e.Compute, false)
	return EnergyBound{b.Energy + more, reason, partial}
}

// lowerBound returns the least cost of copies and of gates computed again, which
// none is where once is set.
func lowerBound(ctx context.Context, p Problem, copyCost, again float64, once bool) (cost float64, reason string, partial bool) {
	rows := p.Geometry.Rows
	if rows < 1 || p.Graph.NumGates() == 0 {
		return 0, "there is no gate to compute", false
	}
	copies, reason := inputsBound(p)
	cost = float64(copies) * copyCost
	inputs := p.Graph.NumInputs()
	if inputs > p.Geometry.Arrays*rows || p.Graph.NumGates() > cutLargest {
		return cost, reason, p.Graph.NumGates() > cutLargest
	}
	in := newInstance(p, p.Geometry.Arrays)
	cut := newCutBound(ctx, in, once)
	cut.search()
	spread := newSpreadBound(ctx, in)
	spread.search()
	known := float64(max(cut.best, spread.best)) * copyCost
	outputs := newOutputsBound(ctx, in, copyCost, again)
	least := outputs.least(known)
	partial = !cut.complete() || !spread.work.more() || !outputs.work.more()
	if least == 0 {
		return cost, reason, partial
	}
	more := fmt.Sprintf("the outputs do not fit the %d rows beside the inputs, and producing the others elsewhere takes ", cut.room)
	switch {
	case least > known:
	case spread.best >= cut.best:
		more = fmt.Sprintf("parts of the graph do not fit fewer than %d arrays, and those in each of these need %d values of the others or more: ", spread.arrays, spread.cross)
	case cut.moment.gate >= 0:
		more = fmt.Sprintf("before %v at least %d values are live, beside the inputs there are %d rows, and producing the others elsewhere takes ",
			cut.moment, cut.moment.live, cut.room)
	}
	n := least / copyCost
	if math.Abs(n-math.Round(n)) < costEpsilon {
		more += fmt.Sprintf("%.0f copies", n)
	} else {
		more += fmt.Sprintf("as much energy as %.4g copies", n)
	}
	if copies > 0 {
		more = reason + "; " + more
	}
	return cost + least, more, partial
}

// meter is the work that a search may still do. It ends with the context too.
type meter struct {
	ctx  context.Context
	left int64
	poll int64 // look at the context when less is left
}

// pollWork is the work between two looks at a context: some milliseconds.
const pollWork = 1 << 20

func newMeter(ctx context.Context, work int64) *meter { return &meter{ctx, work, work} }

// spend notes work that was done.
func (m *meter) spend(n int64) {
	m.left -= n
	if m.left < m.poll {
		m.poll = m.left - pollWork
		if m.ctx.Err() != nil {
			m.left = 0
		}
	}
}

// more reports whether there is work left.
func (m *meter) more() bool { return m.left > 0 }

// inputsBound counts the inputs of full arrays that feed a gate.
func inputsBound(p Problem) (copies int, reason string) {
	g := p.Graph
	rows := p.Geometry.Rows
	full := g.NumInputs() / rows
	if full == 0 {
		return 0, "the inputs fill no array, and the values that are live at any time may fit beside them"
	}
	last := full * rows // inputs are nodes 1 to NumInputs
	seen := make([]bool, last+1)
	for id := g.FirstGate(); id < g.NumNodes(); id++ {
		for _, f := range g.Fanins(id) {
			if n := f.Node(); n >= 1 && n <= last && !seen[n] {
				seen[n] = true
				copies++
			}
		}
	}
	if copies == 0 {
		return 0, "no gate reads an input of an array that inputs fill"
	}
	arrays := "1 array"
	if full > 1 {
		arrays = fmt.Sprintf("%d arrays", full)
	}
	return copies, fmt.Sprintf("inputs fill %s, where nothing can be computed; each of the %d that feed a gate must be copied out", arrays, copies)
}
