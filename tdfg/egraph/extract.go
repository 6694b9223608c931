package egraph

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/bitsched/bitsched/tdfg"
)

// extraction looks for the cheapest graph in an e-graph: one node for each class
// that is needed, without circles. A class counts once however often it is used, so
// the best nodes of classes by themselves are not the best graph; finding that is
// NP-hard. The search starts with the least tree for each class, in which shared
// classes count as often as they are used, and goes on by simulated annealing:
// it puts another node in the place of one, takes for what becomes needed the
// nodes that cost least beside what is there, and counts the whole graph.
type extraction struct {
	*graph
	outputs []classID
	cost    []int64   // of nodes
	tree    []int64   // of classes: the cost of their least trees
	choice  []nodeID  // of classes
	reached []classID // by the outputs, operands first
	total   int64

	mark    []int32 // of classes: the evaluation that saw it last, opened or closed
	inside  []int32 // of classes: the accepted evaluation that had it
	eval    int32
	current int32
	undo    []saved
	order   []classID
	rng     *rand.Rand
}

type saved struct {
	class classID
	node  nodeID
}

// unit is the number of steps of a unit of cost: sums of integers are the same in
// any order.
const unit = 1 << 10

// maxCost is the most that a node may cost: a thousand of these still have a sum.
const maxCost = 1 << 42

const unreachable = math.MaxInt64 / 4

func newExtraction(g *graph, outputs []classID, m *meter) (*extraction, error) {
	x := &extraction{graph: g, cost: make([]int64, len(g.nodes)), tree: make([]int64, len(g.classes)),
		choice: make([]nodeID, len(g.classes)), mark: make([]int32, len(g.classes)), inside: make([]int32, len(g.classes)),
		rng: rand.New(rand.NewPCG(1, 1))}
	for _, c := range outputs {
		x.outputs = append(x.outputs, g.find(c))
	}
	type key struct {
		head         headID
		result, last factsID
	}
	known := map[key]int64{}
	for i := range g.nodes {
		n := nodeID(i)
		if g.nodes[n].dead {
			continue
		}
		k := key{g.nodes[n].head, g.class(g.nodes[n].class).facts, none}
		if count := int(g.nodes[n].count); count > 0 {
			k.last = g.class(g.arg(n, count-1)).facts
		}
		c, ok := known[k]
		if !ok {
			y := g.node(k.head)
			y.Facts = g.tdfgFacts(k.result)
			var last tdfg.Facts
			if k.last != none {
				last = g.tdfgFacts(k.last)
			}
			f, err := m.cost1(&y, last)
			if err != nil {
				return nil, err
			}
			if !(f >= 0 && f <= maxCost) {
				return nil, fmt.Errorf("cost %v of a %s, expected 0 to %v", f, y.Kind, float64(maxCost))
			}
			// One more for what is free, so that there is no circle of free nodes.
			c = int64(math.Round(f*unit)) + 1
			known[k] = c
		}
		x.cost[n] = c
	}
	x.trees()
	for _, c := range x.outputs {
		if x.tree[c] >= unreachable {
			panic("egraph: a class has no finite tree")
		}
	}
	return x, nil
}

// tdfgFacts returns facts as tdfg has them.
func (t *geometry) tdfgFacts(id factsID) tdfg.Facts {
	f := t.facts[id]
	return tdfg.Facts{Type: f.typ, Domain: t.rects[f.domain], Partial: f.partial}
}

// trees finds the least tree of each class, by relaxation in the order of nodes.
func (x *extraction) trees() {
	for c := range x.tree {
		x.tree[c], x.choice[c] = unreachable, none
	}
	for changed := true; changed; {
		changed = false
		for i := range x.nodes {
			n := nodeID(i)
			if x.nodes[n].dead {
				continue
			}
			sum := x.cost[n]
			for _, a := range x.argsOf(n) {
				sum = min(sum+x.tree[x.find(a)], unreachable)
			}
			if c := x.classOf(n); sum < x.tree[c] {
				x.tree[c], x.choice[c] = sum, n
				changed = true
			}
		}
	}
}

// evaluate counts the graph of the choices, into order. With renew, classes that
// are not in the accepted graph get the nodes that cost least beside it. ok is
// false where the choices have a circle.
func (x *extraction) evaluate(renew bool) (total int64, ok bool) {
	x.eval += 2 // open is odd, closed is even
	x.order = x.order[:0]
	for _, c := range x.outputs {
		sum, fine := x.visit(c, renew)
		if !fine {
			return 0, false
		}
		total += sum
	}
	return total, true
}

func (x *extraction) visit(c classID, renew bool) (total int64, ok bool) {
	switch x.mark[c] {
	case x.eval:
		return 0, true
	case x.eval - 1:
		return 0, false
	}
	x.mark[c] = x.eval - 1
	if renew && x.inside[c] != x.current {
		x.choose(c, x.least(c))
	}
	n := x.choice[c]
	total = x.cost[n]
	for _, a := range x.argsOf(n) {
		sum, fine := x.visit(x.find(a), renew)
		if !fine {
			return 0, false
		}
		total += sum
	}
	x.mark[c] = x.eval
	x.order = append(x.order, c)
	return total, true
}

// least returns the node of a class that costs least, where what is in the graph
// already is free and the rest counts as trees.
func (x *extraction) least(c classID) nodeID {
	best, at := int64(math.MaxInt64), x.choice[c]
	for _, n := range x.each(c) {
		sum := x.cost[n]
		for _, a := range x.argsOf(n) {
			a = x.find(a)
			if x.inside[a] != x.current && x.mark[a] != x.eval {
				sum += x.tree[a]
			}
		}
		if sum < best {
			best, at = sum, n
		}
	}
	return at
}

func (x *extraction) choose(c classID, n nodeID) {
	if x.choice[c] != n {
		x.undo = append(x.undo, saved{c, x.choice[c]})
		x.choice[c] = n
	}
}

// accept takes what was evaluated last.
func (x *extraction) accept(total int64) {
	x.total = total
	x.reached = append(x.reached[:0], x.order...)
	x.current = x.eval
	for _, c := range x.reached {
		x.inside[c] = x.current
	}
	x.undo = x.undo[:0]
}

func (x *extraction) reject() {
	for i := len(x.undo) - 1; i >= 0; i-- {
		x.choice[x.undo[i].class] = x.undo[i].node
	}
	x.undo = x.undo[:0]
}

// try puts a node in the place of the one of its class, and reports whether the
// graph got cheaper than a bound.
func (x *extraction) try(c classID, n nodeID, renew bool, bound int64) bool {
	x.choose(c, n)
	total, ok := x.evaluate(renew)
	if !ok || total >= bound {
		x.reject()
		return false
	}
	x.accept(total)
	return true
}

// begin takes the choices as they are.
func (x *extraction) begin() {
	total, ok := x.evaluate(false)
	if !ok {
		panic("egraph: the choices have a circle")
	}
	x.accept(total)
}

// search looks for a cheap graph in a number of steps. After the deadline of the
// context it ends with what it has.
func (x *extraction) search(ctx context.Context, effort int) {
	x.begin()
	best, bestChoice := x.total, append([]nodeID(nil), x.choice...)
	keep := func() {
		if x.total < best {
			best = x.total
			copy(bestChoice, x.choice)
		}
	}
	for start := range restarts {
		x.anneal(ctx, effort/restarts, hot[start%len(hot)])
		x.descend(ctx, effort)
		keep()
	}
	copy(x.choice, bestChoice)
	x.total = best
}

// restarts is the number of times that annealing starts, from what it has.
const restarts = 8

// hot are the temperatures at which annealing begins in turn, and cold is the one at
// which it ends, as parts of the cost of the graph. A high one gets out of what has
// to change in several places at once, a low one keeps what is good.
var hot = [...]float64{0.1, 0.03}

const cold = 0.0002

func (x *extraction) anneal(ctx context.Context, steps int, hot float64) {
	scale := float64(x.total)
	for i := range steps {
		if len(x.reached) == 0 || i%256 == 0 && ctx.Err() != nil {
			return // there may be no outputs
		}
		c := x.reached[x.rng.IntN(len(x.reached))]
		list := x.each(c)
		if len(list) == 1 {
			continue
		}
		n := list[x.rng.IntN(len(list))]
		if n == x.choice[c] {
			continue
		}
		t := scale * hot * math.Pow(cold/hot, float64(i)/float64(steps))
		bound := x.total + 1 + int64(-t*math.Log(1-x.rng.Float64()))
		x.try(c, n, x.rng.IntN(4) > 0, bound)
	}
}

// descend tries every other node of every class until none makes the graph
// cheaper.
func (x *extraction) descend(ctx context.Context, steps int) {
	for again := true; again; {
		again = false
		for _, c := range append([]classID(nil), x.reached...) {
			for _, n := range x.each(c) {
				if steps--; steps < 0 || steps%256 == 0 && ctx.Err() != nil {
					return
				}
				if x.inside[c] == x.current && n != x.choice[c] && x.try(c, n, true, x.total) {
					again = true
				}
			}
		}
	}
}
