package masim

import "fmt"

// LowerBound returns a number of copies that no schedule of p can go below, and
// the reason in one sentence.
//
// The argument: n inputs on arrays of R rows fill the first n/R (rounded down)
// arrays completely. Rows of inputs are never written, so nothing is computed
// in a full array and nothing is copied to it. A gate with a fanin that lies in
// a full array is therefore computed elsewhere, and that input must have been
// copied at least once. A copy moves one value, so there are at least as many
// copies as inputs of full arrays that feed a gate. The argument holds with and
// without rematerialisation. Where no array is full the bound is 0.
func LowerBound(p Problem) (copies int, reason string) {
	g := p.Graph
	rows := p.Geometry.Rows
	if rows < 1 || g.NumGates() == 0 {
		return 0, "there is no gate to compute"
	}
	full := g.NumInputs() / rows
	if full == 0 {
		return 0, "the inputs fill no array"
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
