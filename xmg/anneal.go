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
}

const (
	// A graph of up to wholeInputs inputs and wholeWords words of values is
	// searched as one window.
	wholeInputs = 14
	wholeWords  = 1 << 17
	// maxSegment is the most gates that are searched together: a change there
	// takes time in proportion to them.
	maxSegment = 4096
	// windowWork is the work for a gate of a window, and idleWork what a gate
	// may take without a gain.
	windowWork = 100_000
	idleWork   = 20_000
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
// found so far, and no error. It takes some 200 bytes a gate, and a few MB.
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
			a.windows(net, int64(float64(share)*float64(net.gates())/float64(gates)))
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
	given   resubWindow
}

func newAnnealer(ctx context.Context, opt AnnealOptions) *annealer {
	a := &annealer{opt: opt, rng: rand.New(rand.NewPCG(opt.Seed, 0x5851f42d4c957f2d))}
	a.grow.rng = a.rng
	a.local.rng = a.rng
	a.local.ctx = ctx
	a.local.progress = opt.Progress
	a.local.total = opt.Work
	return a
}

// windows searches the net in windows until the work is done.
func (a *annealer) windows(net *resubWindow, work int64) {
	var w, next resubWindow
	a.grow.reset(net)
	work += a.local.s.work
	for a.local.s.work < work && a.local.ctx.Err() == nil && net.gates() > 0 {
		pivot := net.first() + a.rng.IntN(net.gates())
		ok := a.grow.grow(pivot, 8+a.rng.IntN(5), 30+a.rng.IntN(170))
		a.local.s.work += int64(len(net.nodes) + 100*len(a.grow.members))
		if !ok {
			continue
		}
		a.grow.window(&w)
		gates := int64(w.gates())
		a.search(&w, min(windowWork*gates, work-a.local.s.work), idleWork*gates)
		a.grow.replace(&next, &a.rebuild, &w)
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

// run searches a window until some work is done, or some was done without a
// gain, or the context ends. The window is then the smallest found; of several
// the last.
func (a *localSearch) run(w *resubWindow, slack int, work, idle int64) {
	s := &a.s
	s.rng = a.rng
	a.best.copyFrom(w)
	work += s.work
	last := s.work
	for s.work < min(work, last+idle) && w.gates() > 0 {
		if s.work >= a.tick {
			a.tick = s.work + tickWork
			if a.progress != nil {
				a.progress(Progress{"annealing", int(min(s.work, a.total) / 1e6), int(a.total / 1e6)})
			}
			if a.ctx.Err() != nil {
				break
			}
		}
		node := w.first() + a.rng.IntN(w.gates())
		s.begin(w, node)
		s.stop = s.work + 20000
		p := &s.levels[0]
		s.one(p)
		if s.delta >= 0 && (s.freed > 1 || slack > 0 && a.rng.IntN(20) == 0) && s.freed < 5 {
			s.stop = s.work + 40000
			if s.freed <= 2 || a.rng.IntN(2) == 0 {
				s.deeper(p, 2, 3)
			} else {
				s.deeper(p, 3, 3)
			}
		}
		if s.delta == noChange || w.gates()+s.delta > a.best.gates()+slack {
			continue
		}
		a.rebuild.rebuild(&a.next, w, s.cone, s.found.steps[:s.found.n], []replaced{{node, s.found.out}})
		s.work += int64(len(w.nodes) * (4 + w.words/4))
		if a.next.gates() > a.best.gates()+slack {
			continue
		}
		*w, a.next = a.next, *w
		if w.gates() < a.best.gates() {
			a.best.copyFrom(w)
			last = s.work
		}
	}
	if w.gates() > a.best.gates() {
		w.copyFrom(&a.best)
	}
}
