package xmg

import (
	"context"
	"math/rand/v2"
)

// AnnealOptions are how long [Anneal] searches. The zero value is a short search.
type AnnealOptions struct {
	// Seed chooses the random moves.
	Seed uint64
	// Work is what is spent, in words of 64 patterns looked at (some 5 ns each);
	// 0 means 1e9, some five seconds. The search ends soon after it.
	Work int64
	// Slack is how many gates more than the best found the search may accept on
	// its way; 0 means 1, and less than 0 means none.
	Slack int
	// Progress is called now and then from the calling goroutine; may be nil.
	// It counts the work in millions.
	Progress func(Progress)

	wide bool // the circuit is wide, see isWide
}

const (
	// A graph of up to wholeInputs inputs and wholeWords words of values is
	// searched as one window.
	wholeInputs = 14
	wholeWords  = 1 << 17
	// maxSegment is the most gates that are searched together: a change there
	// takes time in proportion to them.
	maxSegment = 4096
	// windowWork is the most work for a gate of a window with all patterns, and
	// windowIdle how much of it may go without a gain; guidedWork and guidedIdle
	// are that for guided windows. A graph of up to guidedGates gates is one.
	windowWork  = 50_000
	windowIdle  = 5_000
	guidedWork  = 1_000_000
	guidedIdle  = 200_000
	guidedGates = 1500
	// The work is done in slices, and one in otherTurn goes to the way of
	// searching that gained less.
	annealSlices = 32
	otherTurn    = 5
)

// Anneal makes the graph smaller by a random local search: it replaces gates by
// other ones that are equal wherever an output can tell, smaller or not, and
// accepts what is at most a little larger than the best graph so far (as in
// Dueck, "New optimization heuristics: the great deluge algorithm and the
// record-to-record travel", J. Comp. Phys. 104(1), 1993). A graph of few inputs
// is searched as a whole, with the values of all nodes for all input patterns;
// any other one window by window, at random pivots.
//
// The result is never larger than g and computes the same; it depends on g and
// the options only. When the context ends, Anneal returns the smallest graph
// found so far, and no error. It takes some 60 bytes a gate, and up to 50 MB.
func Anneal(ctx context.Context, g *Graph, opt AnnealOptions) (*Graph, error) {
	g = g.Sweep()
	if opt.Work <= 0 {
		opt.Work = 1e9
	}
	switch {
	case opt.Slack == 0:
		opt.Slack = 1
	case opt.Slack < 0:
		opt.Slack = 0
	}
	a := newAnnealer(ctx, opt)
	if g.NumInputs() <= wholeInputs && g.NumNodes()*patternWords(g.NumInputs()) <= wholeWords {
		w := wholeOf(g)
		w.fill()
		a.search(w, opt.Work, opt.Work)
		if w.gates() < g.NumGates() {
			return w.graph(g), nil
		}
		return g, nil
	}
	// Large graphs are searched segment by segment, twice, with other borders.
	passes := min(2, 1+g.NumGates()/maxSegment)
	smallest := g
	for pass := range passes {
		gates := int64(smallest.NumGates())
		share := opt.Work / int64(passes)
		out := eachSegment(smallest, maxSegment, pass*maxSegment/2, func(net *resubWindow, _ int) {
			a.segment(net, int64(float64(share)*float64(net.gates())/float64(gates)))
		})
		if out.NumGates() <= smallest.NumGates() {
			smallest = out
		}
	}
	if smallest.NumGates() >= g.NumGates() {
		return g, nil
	}
	return smallest, nil
}

// annealer searches a graph window by window.
type annealer struct {
	opt     AnnealOptions
	local   localSearch
	grow    grower
	rebuild windowRebuilder
	rng     *rand.Rand
	w       resubWindow // in hand
	given   resubWindow
	guided  guidedSearch
}

func newAnnealer(ctx context.Context, opt AnnealOptions) *annealer {
	a := &annealer{opt: opt, rng: rand.New(rand.NewPCG(opt.Seed, 0x5851f42d4c957f2d))}
	a.grow.rng = a.rng
	a.local.rng = a.rng
	a.local.ctx = ctx
	a.guided.annealer = a
	a.local.progress = opt.Progress
	a.local.total = opt.Work
	return a
}

// segment searches a net without values, some of the work in one way and some
// in another: mostly in that which gained more for its work the last time.
func (a *annealer) segment(net *resubWindow, work int64) {
	if net.gates() <= guidedGates {
		a.guided.reset(net.inputs)
		a.guided.run(net, a.opt.Slack, work, work)
		return
	}
	ways := [...]func(work int64){
		func(work int64) { a.exactWindows(net, work) },
		func(work int64) { a.guidedWindows(net, work) },
	}
	var rate [2]float64
	slice := max(work/annealSlices, 1)
	stop := a.local.s.work + work
	for turn := 0; a.local.s.work < stop && a.local.ctx.Err() == nil && net.gates() > 0; turn++ {
		way := 0
		if rate[1] > rate[0] {
			way = 1
		}
		switch {
		case turn < len(ways):
			way = turn
		case turn%otherTurn == 0:
			way = 1 - way
		}
		gates, before := net.gates(), a.local.s.work
		ways[way](min(slice, stop-before))
		spent := max(1, a.local.s.work-before)
		rate[way] = float64(gates-net.gates()) / float64(spent)
		a.local.s.work += int64(net.gates())
	}
}

// exactWindows searches the net in windows of so few inputs that all patterns
// can be looked at.
func (a *annealer) exactWindows(net *resubWindow, work int64) {
	a.windows(net, work, func() (inputs, gates int) {
		return 8 + a.rng.IntN(4), 20 + a.rng.IntN(80)
	}, func(left int64) {
		a.grow.window(&a.w, patternWords(len(a.grow.leaves)))
		n := int64(a.w.gates())
		a.search(&a.w, min(windowWork*n, left), windowIdle*n)
	})
}

// guidedWindows searches the net in larger windows, guided.
func (a *annealer) guidedWindows(net *resubWindow, work int64) {
	a.windows(net, work, func() (inputs, gates int) {
		return 20 + a.rng.IntN(60), 100 + a.rng.IntN(300)
	}, func(left int64) {
		a.grow.window(&a.w, 0)
		n := int64(a.w.gates())
		a.guided.reset(a.w.inputs)
		a.guided.run(&a.w, a.opt.Slack, min(guidedWork*n, left), guidedIdle*n)
	})
}

// windows searches the net in windows of some size at random pivots until the
// work is done.
func (a *annealer) windows(net *resubWindow, work int64, size func() (inputs, gates int), search func(left int64)) {
	var next resubWindow
	a.grow.reset(net)
	stop := a.local.s.work + work
	for a.local.s.work < stop && a.local.ctx.Err() == nil && net.gates() > 0 {
		pivot := net.first() + a.rng.IntN(net.gates())
		inputs, gates := size()
		ok := a.grow.grow(pivot, inputs, gates)
		a.local.s.work += int64(len(net.nodes) + 100*len(a.grow.members))
		if !ok {
			continue
		}
		search(stop - a.local.s.work)
		a.grow.replace(&next, &a.rebuild, &a.w)
		a.local.s.work += int64(4 * len(net.nodes))
		if next.gates() > net.gates() {
			continue
		}
		*net, next = next, *net
		a.grow.reset(net)
	}
}

// search runs the local search on a window and checks its result.
func (a *annealer) search(w *resubWindow, work, idle int64) {
	a.given.copyFrom(w)
	a.local.run(w, a.opt.Slack, work, idle)
	if !w.sameOutputs(&a.given) {
		panic("xmg: annealing: the function of a window has changed")
	}
}

// localSearch changes a window node by node.
type localSearch struct {
	ctx      context.Context
	progress func(Progress)
	total    int64
	tick     int64
	rng      *rand.Rand

	next, best resubWindow
	rebuild    windowRebuilder
	s          resubSearch
}

// tickWork is the work after which the context is looked at.
const tickWork = 1 << 20

// ended reports progress and tells whether the context has ended.
func (a *localSearch) ended() bool {
	if a.s.work < a.tick {
		return false
	}
	a.tick = a.s.work + tickWork
	if a.progress != nil {
		a.progress(Progress{"annealing", int(min(a.s.work, a.total) / 1e6), int(a.total / 1e6)})
	}
	return a.ctx.Err() != nil
}

// run searches a window until some work is done, or some was done without a
// gain, or the context ends. The window is then the smallest found; of several
// the last.
func (a *localSearch) run(w *resubWindow, slack int, work, idle int64) {
	s := &a.s
	a.best.copyFrom(w)
	work += s.work
	last := s.work
	for s.work < min(work, last+idle) && w.gates() > 0 && !a.ended() {
		if a.step(w, a.best.gates()+slack) && w.gates() < a.best.gates() {
			a.best.copyFrom(w)
			last = s.work
		}
	}
	if w.gates() > a.best.gates() {
		w.copyFrom(&a.best)
	}
}

// step looks for a replacement of a random gate, and makes it if the window has
// at most so many gates then. It tells whether it did.
func (a *localSearch) step(w *resubWindow, most int) bool {
	s := &a.s
	s.rng = a.rng
	node := w.first() + a.rng.IntN(w.gates())
	s.begin(w, node)
	s.stop = s.work + 20000
	p := &s.levels[0]
	s.one(p)
	if s.delta >= 0 && (s.freed > 1 || most > w.gates() && a.rng.IntN(20) == 0) && s.freed < 5 {
		s.stop = s.work + 40000
		if s.freed <= 2 || a.rng.IntN(2) == 0 {
			s.deeper(p, 2, 3)
		} else {
			s.deeper(p, 3, 3)
		}
	}
	if s.delta == noChange || w.gates()+s.delta > most {
		return false
	}
	a.rebuild.rebuild(&a.next, w, s.cone, s.found.steps[:s.found.n], []replaced{{node, s.found.out}})
	s.work += int64(len(w.nodes) * (4 + w.words/4))
	if a.next.gates() > most {
		return false
	}
	*w, a.next = a.next, *w
	return true
}
