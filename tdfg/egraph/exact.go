package egraph

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
)

// exact looks for the cheapest choice by branch and bound: it takes a class that is
// needed and has no node yet, tries each of its nodes, the cheapest first, and goes
// back where what is chosen and the cheapest node of each other class that is needed
// already cost as much as the best graph known. Needed are the operands of what is
// chosen, and all that these cannot do without. It reports whether it came to its
// end, so that there is no cheaper graph in the e-graph; it gives up after a number
// of steps.
type exact struct {
	*extraction
	ctx    context.Context
	steps  int
	low    []int64     // of classes: their cheapest node by itself
	sorted [][]nodeID  // of classes: the nodes worth a try, the cheapest first
	must   [][]classID // of classes: themselves, and what all their graphs have
	needs  []int32     // of classes: how often they are needed by what is chosen
	open   []classID   // needed, no node yet
	chosen []nodeID    // of classes
	taken  []classID
	best   int64
	found  []saved
}

// maxExact is the number of classes beyond which branch and bound is not tried.
const maxExact = 1024

func (x *extraction) exact(ctx context.Context, steps int) (complete bool) {
	e := &exact{extraction: x, ctx: ctx, steps: steps, best: x.total, low: make([]int64, len(x.classes)), sorted: make([][]nodeID, len(x.classes)),
		must: make([][]classID, len(x.classes)), needs: make([]int32, len(x.classes)), chosen: make([]nodeID, len(x.classes))}
	classes := e.reachable()
	if len(classes) > maxExact {
		return false
	}
	for _, c := range classes {
		e.sorted[c] = e.worth(c)
		e.low[c] = e.cost[e.sorted[c][0]]
		for _, n := range e.sorted[c] {
			e.low[c] = min(e.low[c], e.cost[n])
		}
	}
	if !e.findMust(classes) {
		return false
	}
	var bound int64
	for _, c := range x.outputs {
		bound += e.need(c)
	}
	complete = e.branch(bound)
	for _, s := range e.found {
		x.choice[s.class] = s.node
	}
	x.total = e.best
	return complete
}

// reachable lists the classes that the outputs may need, operands first where there
// is no circle.
func (e *exact) reachable() []classID {
	var list []classID
	seen := make([]bool, len(e.classes))
	var visit func(c classID)
	visit = func(c classID) {
		if seen[c] {
			return
		}
		seen[c] = true
		for _, n := range e.each(c) {
			for _, a := range e.argsOf(n) {
				visit(e.find(a))
			}
		}
		list = append(list, c)
	}
	for _, c := range e.outputs {
		visit(c)
	}
	return list
}

// worth returns the nodes of a class in the order of the costs of their trees, those
// left out that need what another one needs and do not cost less than it.
func (e *exact) worth(c classID) []nodeID {
	list := slices.Clone(e.each(c))
	slices.SortFunc(list, func(m, n nodeID) int { return cmp.Or(cmp.Compare(e.treeOf(m), e.treeOf(n)), cmp.Compare(m, n)) })
	kept := list[:0]
	for _, n := range list {
		if !slices.ContainsFunc(kept, func(m nodeID) bool { return e.cost[m] <= e.cost[n] && e.subset(m, n) }) {
			kept = append(kept, n)
		}
	}
	return kept
}

// subset reports whether all operands of m are operands of n.
func (e *exact) subset(m, n nodeID) bool {
	for _, a := range e.argsOf(m) {
		if !slices.ContainsFunc(e.argsOf(n), func(b classID) bool { return e.find(a) == e.find(b) }) {
			return false
		}
	}
	return true
}

func (e *exact) treeOf(n nodeID) int64 {
	sum := e.cost[n]
	for _, a := range e.argsOf(n) {
		sum += e.tree[e.find(a)]
	}
	return sum
}

// findMust finds the classes that each class cannot do without: itself, and what
// all its nodes need by one operand or another. It starts with all and takes away,
// until nothing changes. ok is false after the deadline of the context.
func (e *exact) findMust(classes []classID) (ok bool) {
	words := (len(classes) + 63) / 64
	at := make([]int, len(e.classes))
	sets := make([]uint64, words*len(classes))
	for i, c := range classes {
		at[c] = i
	}
	set := func(i int) []uint64 { return sets[i*words : (i+1)*words] }
	for i := range sets {
		sets[i] = ^uint64(0)
	}
	meet, join := make([]uint64, words), make([]uint64, words)
	for changed := true; changed; {
		changed = false
		for i, c := range classes {
			if i%256 == 0 && e.ctx.Err() != nil {
				return false
			}
			for w := range meet {
				meet[w] = ^uint64(0)
			}
			for _, n := range e.sorted[c] {
				clear(join)
				for _, a := range e.argsOf(n) {
					for w, v := range set(at[e.find(a)]) {
						join[w] |= v
					}
				}
				for w := range meet {
					meet[w] &= join[w]
				}
			}
			meet[i/64] |= 1 << (i % 64)
			if s := set(i); !slices.Equal(s, meet) {
				copy(s, meet)
				changed = true
			}
		}
	}
	for i, c := range classes {
		for w, v := range set(i) {
			for ; v != 0; v &= v - 1 {
				if k := w*64 + bits.TrailingZeros64(v); k < len(classes) {
					e.must[c] = append(e.must[c], classes[k])
				}
			}
		}
	}
	return true
}

// need counts a use of a class, and of what it cannot do without. It returns what
// those cost at least that nothing needed before.
func (e *exact) need(c classID) (low int64) {
	for _, d := range e.must[c] {
		if e.needs[d]++; e.needs[d] == 1 {
			e.open = append(e.open, d)
			low += e.low[d]
		}
	}
	return low
}

// branch tries all that is open. bound is what the chosen nodes cost, with the
// cheapest ones of the open classes. It leaves open as it was.
func (e *exact) branch(bound int64) (complete bool) {
	if bound >= e.best {
		return true
	}
	if e.steps--; e.steps < 0 || e.steps%1024 == 0 && e.ctx.Err() != nil {
		e.steps = 0
		return false
	}
	if len(e.open) == 0 {
		if !e.circle() {
			e.best = bound
			e.found = e.found[:0]
			for _, c := range e.taken {
				e.found = append(e.found, saved{c, e.chosen[c]})
			}
		}
		return true
	}
	// The class with the fewest nodes is next, the last one of these.
	level := len(e.open) - 1
	at := level
	for i := level; i >= 0 && len(e.sorted[e.open[at]]) > 1; i-- {
		if len(e.sorted[e.open[i]]) < len(e.sorted[e.open[at]]) {
			at = i
		}
	}
	c := e.open[at]
	e.open[at] = e.open[level]
	e.open = e.open[:level]
	e.taken = append(e.taken, c)
	complete = true
	for _, n := range e.sorted[c] {
		e.chosen[c] = n
		next := bound - e.low[c] + e.cost[n]
		for _, a := range e.argsOf(n) {
			next += e.need(e.find(a))
		}
		complete = e.branch(next)
		e.open = e.open[:level]
		for _, a := range e.argsOf(n) {
			for _, d := range e.must[e.find(a)] {
				e.needs[d]--
			}
		}
		if !complete {
			break
		}
	}
	e.open = append(e.open, c)
	e.open[at], e.open[level] = c, e.open[at]
	e.taken = e.taken[:len(e.taken)-1]
	return complete
}

// circle reports whether the chosen nodes depend on themselves.
func (e *exact) circle() bool {
	state := make(map[classID]bool, len(e.taken)) // true when done
	var visit func(c classID) bool
	visit = func(c classID) bool {
		if done, seen := state[c]; seen {
			return !done
		}
		state[c] = false
		for _, a := range e.argsOf(e.chosen[c]) {
			if visit(e.find(a)) {
				return true
			}
		}
		state[c] = true
		return false
	}
	return slices.ContainsFunc(e.outputs, visit)
}
