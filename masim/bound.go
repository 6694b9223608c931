package masim

import (
	"fmt"
	"math"

	"github.com/bitsched/bitsched/sram"
)

// LowerBound returns a number of copies that no schedule of p without
// rematerialisation can go below, and the reason in one sentence. It takes about
// a second, a few at most: searches are cut off by their work, so the result does
// not depend on the machine. Above 50,000 gates only the first of the arguments
// below is tried, in linear time.
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
func LowerBound(p Problem) (copies int, reason string) {
	n, reason := lowerBound(p, 1, 1, true)
	return int(n), reason
}

// LowerBoundRematerialized is [LowerBound] for schedules that may compute gates
// again. Of the arguments, those about the end, inputs and spreading remain.
func LowerBoundRematerialized(p Problem) (copies int, reason string) {
	n, reason := lowerBound(p, 1, 0, false)
	return int(n), reason
}

// LowerBoundEnergy returns an energy that no schedule of p can go below, gates
// being computed again or not, and the reason in one sentence: that of
// computing all gates once and of what more the arguments of
// [LowerBoundRematerialized] give, a gate computed again having its price.
func LowerBoundEnergy(p Problem, e sram.Energy) (energy float64, reason string) {
	energy = float64(p.Graph.NumGates()) * e.Compute
	if e.Copy <= 0 {
		return energy, "every gate is computed, and copies cost nothing"
	}
	more, reason := lowerBound(p, e.Copy, e.Compute, false)
	return energy + more, reason
}

// lowerBound returns the least cost of copies and of gates computed again, which
// none is where once is set.
func lowerBound(p Problem, copyCost, again float64, once bool) (float64, string) {
	rows := p.Geometry.Rows
	if rows < 1 || p.Graph.NumGates() == 0 {
		return 0, "there is no gate to compute"
	}
	copies, reason := inputsBound(p)
	cost := float64(copies) * copyCost
	inputs := p.Graph.NumInputs()
	if inputs > p.Geometry.Arrays*rows || p.Graph.NumGates() > cutLargest {
		return cost, reason
	}
	in := newInstance(p, p.Geometry.Arrays)
	cut := newCutBound(in, once)
	cut.search()
	spread := newSpreadBound(in)
	spread.search()
	known := float64(max(cut.best, spread.best)) * copyCost
	least := newOutputsBound(in, copyCost, again).least(known)
	if least == 0 {
		return cost, reason
	}
	more := fmt.Sprintf("the outputs do not fit the %d rows beside the inputs, and producing the others elsewhere takes ", cut.room)
	switch {
	case least > known:
	case spread.best >= cut.best:
		more = fmt.Sprintf("parts of the graph do not fit fewer than %d arrays, and those in each of these need %d values of the others or more: ", spread.arrays, spread.cross)
	case cut.moment.gate >= 0:
		more = fmt.Sprintf("before gate %d at least %d values are live, beside the inputs there are %d rows, and producing the others elsewhere takes ",
			cut.moment.gate, cut.moment.live, cut.room)
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
	return cost + least, more
}

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
