package egraph

import (
	"cmp"
	"context"
	"slices"
)

// exact looks for the cheapest choice by branch and bound: it takes a class that is
// needed and has no node yet, tries each of its nodes, the cheapest first, and goes
// back where what is chosen and the cheapest node of each other class that is needed
// already cost as much as the best graph known. It reports whether it came to its
// end, so that there is no cheaper graph in the e-graph; it gives up after a number
// of steps.
type exact struct {
	*extraction
	ctx    context.Context
	steps  int
	low    []int64    // of classes: their cheapest node by itself
	sorted [][]nodeID // of classes: their nodes, the cheapest first
	needs  []int32    // of classes: nodes chosen that have them for an operand
	open   []classID  // needed, no node yet
	chosen []nodeID   // of classes
	taken  []classID
	best   int64
	found  []saved
}

func (x *extraction) exact(ctx context.Context, steps int) (complete bool) {
	e := &exact{extraction: x, ctx: ctx, steps: steps, best: x.total,
		low: make([]int64, len(x.classes)), sorted: make([][]nodeID, len(x.classes)), needs: make([]int32, len(x.classes)), chosen: make([]nodeID, len(x.classes))}
	var bound int64
	for _, c := range x.outputs {
		if e.need(c) {
			bound += e.low[c]
		}
	}
	complete = e.branch(bound)
	for _, s := range e.found {
		x.choice[s.class] = s.node
	}
	x.total = e.best
	return complete
}

// need counts a use of a class, and reports whether it is the first.
func (e *exact) need(c classID) bool {
	if e.needs[c]++; e.needs[c] > 1 {
		return false
	}
	if e.sorted[c] == nil {
		list := slices.Clone(e.each(c))
		slices.SortFunc(list, func(m, n nodeID) int { return cmp.Or(cmp.Compare(e.bySelf(m), e.bySelf(n)), cmp.Compare(m, n)) })
		e.sorted[c], e.low[c] = list, e.cost[list[0]]
		for _, n := range list {
			e.low[c] = min(e.low[c], e.cost[n])
		}
	}
	e.open = append(e.open, c)
	return true
}

// bySelf is what orders the nodes of a class by the cost of their trees.
func (e *exact) bySelf(n nodeID) int64 {
	sum := e.cost[n]
	for _, a := range e.argsOf(n) {
		sum += e.tree[e.find(a)]
	}
	return sum
}

// branch tries all that is open. bound is what the chosen nodes cost, with the
// cheapest ones of the open classes.
func (e *exact) branch(bound int64) bool {
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
	c := e.open[len(e.open)-1]
	e.open = e.open[:len(e.open)-1]
	e.taken = append(e.taken, c)
	level := len(e.open)
	complete := true
	for _, n := range e.sorted[c] {
		e.chosen[c] = n
		next := bound - e.low[c] + e.cost[n]
		for _, a := range e.argsOf(n) {
			if a = e.find(a); e.need(a) {
				next += e.low[a]
			}
		}
		complete = e.branch(next) && complete
		e.open = e.open[:level] // what lies below is as it was
		for _, a := range e.argsOf(n) {
			e.needs[e.find(a)]--
		}
		if !complete {
			break
		}
	}
	e.open = append(e.open, c)
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
