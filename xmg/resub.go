package xmg

import (
	"context"
	"fmt"
	"math/rand/v2"
)

// ResubOptions are how far [Resubstitute] looks. The zero value is the default.
type ResubOptions struct {
	// MaxInputs is the most inputs of a window, 3 to 14; 0 means 10. The time
	// doubles with each from 6 on.
	MaxInputs int
	// MaxGates is the most gates of a window; 0 means 60. The time is in
	// proportion to its square at worst.
	MaxGates int
	// Seed chooses among windows and replacements that are equally good.
	Seed uint64
	// Progress is called now and then from the calling goroutine; may be nil.
	Progress func(Progress)
}

// segmentGates are the gates that are taken out of a large graph and worked on
// together. Replacing a window takes time in proportion to them.
const segmentGates = 4096

// coreShare is the part of a window, of the gates that were taken first, that
// need not be in another one.
const coreShare = 4

// Resubstitute makes the graph smaller: it cuts it into windows of a few inputs,
// and replaces gates in them by one to three gates over others, wherever these
// are equal in all that an output of the window can tell (don't cares of
// observability, and of satisfiability as far as the window reaches). This is
// one pass, each gate being in one window at least; another one finds more.
//
// The result is never larger than g and computes the same; it depends on g and
// the options only. Time is linear in the gates: 0.01 to 0.3 ms a gate by
// default. It takes some 30 bytes a gate and a few MB. When the context ends,
// Resubstitute returns what it has found so far, and no error.
func Resubstitute(ctx context.Context, g *Graph, opt ResubOptions) (*Graph, error) {
	if opt.MaxInputs == 0 {
		opt.MaxInputs = 10
	}
	if opt.MaxInputs < 3 || opt.MaxInputs > wholeInputs {
		return nil, fmt.Errorf("xmg: resubstitution: windows of %d inputs, expected 3 to %d", opt.MaxInputs, wholeInputs)
	}
	if opt.MaxGates <= 0 {
		opt.MaxGates = 60
	}
	g = g.Sweep()
	r := &resubstituter{ctx: ctx, opt: opt, rng: rand.New(rand.NewPCG(opt.Seed, 0x9e3779b97f4a7c15))}
	r.grow.rng, r.s.rng = r.rng, r.rng
	out := eachSegment(g, segmentGates, 0, func(net *resubWindow, done int) {
		r.net(net, done, g.NumGates())
	})
	if out.NumGates() >= g.NumGates() {
		return g, nil
	}
	return out, nil
}

// resubstituter does one pass.
type resubstituter struct {
	ctx     context.Context
	opt     ResubOptions
	rng     *rand.Rand
	grow    grower
	s       resubSearch
	rebuild windowRebuilder

	w, spare, next resubWindow
	seen, moved    []bool // by node of the net: was in a window
}

// net goes over the gates of a segment; done gates come before it, of total.
func (r *resubstituter) net(net *resubWindow, done, total int) {
	r.grow.reset(net)
	r.seen = resize(r.seen, len(net.nodes))
	clear(r.seen)
	for id := net.first(); id < len(net.nodes); {
		if r.seen[id] {
			id++
			continue
		}
		if r.opt.Progress != nil {
			r.opt.Progress(Progress{"resubstitution", done + id - net.first(), total})
		}
		if r.ctx.Err() != nil {
			return
		}
		r.seen[id] = true
		if !r.grow.grow(id, r.opt.MaxInputs, r.opt.MaxGates) {
			continue
		}
		// Of a gate near its border the window shows little: the others will be
		// in another one.
		for _, m := range r.grow.members[:(len(r.grow.members)+coreShare-1)/coreShare] {
			r.seen[m] = true
		}
		r.grow.window(&r.w, patternWords(len(r.grow.leaves)))
		if !r.window() {
			continue
		}
		r.grow.replace(&r.next, &r.rebuild, &r.w)
		if r.next.gates() >= net.gates() {
			continue
		}
		// What was seen has moved; new gates count as seen.
		r.moved = resize(r.moved, len(r.next.nodes))
		for i := range r.moved {
			r.moved[i] = true
		}
		for old := net.first(); old < len(net.nodes); old++ {
			if l := r.rebuild.now(old); l != noLit && !r.seen[old] {
				r.moved[l>>1] = false
			}
		}
		r.seen, r.moved = r.moved, r.seen
		*net, r.next = r.next, *net
		r.grow.reset(net)
		id = net.first()
	}
}

// window goes over the gates of the window once and tells whether it has become
// smaller.
func (r *resubstituter) window() bool {
	const oneWork, deeperWork = 4000, 8000
	s, w := &r.s, &r.w
	before := w.gates()
	for id := w.first(); id < len(w.nodes); id++ {
		s.begin(w, id)
		s.stop = s.work + oneWork
		p := &s.levels[0]
		s.one(p)
		if s.delta >= 0 && s.freed > 2 {
			s.stop = s.work + deeperWork
			s.deeper(p, 2, 4)
			if s.freed > 3 {
				s.deeper(p, 3, 2)
			}
		}
		if s.delta >= 0 {
			continue
		}
		r.rebuild.rebuild(&r.spare, w, s.cone, s.found.steps[:s.found.n], []replaced{{id, s.found.out}})
		if r.spare.gates() < w.gates() {
			*w, r.spare = r.spare, *w
		}
	}
	return w.gates() < before
}

// eachSegment has f make the parts of a graph smaller: each is some number of
// gates that follow each other (the first one fewer by offset), as a window
// without values whose inputs are the nodes before it, and whose outputs are
// what the rest of the graph uses of it. Parts stay in their order, so whatever
// f does inside them, no cycle comes of it.
func eachSegment(g *Graph, size, offset int, f func(net *resubWindow, done int)) *Graph {
	out := g.emptyCopy(g.NumGates())
	lit := make([]Lit, g.NumNodes())
	for id := range g.FirstGate() {
		lit[id] = Lit(id) << 1
	}
	refs := g.References()
	at := make([]Lit, g.NumNodes()) // by node: its edge in the segment's window
	var net resubWindow
	var inputs []int
	var used []int
	var local []Lit
	for from := g.FirstGate(); from < g.NumNodes(); {
		to := min(g.NumNodes(), from+size-offset)
		offset = 0
		inputs, used = inputs[:0], used[:0]
		for id := from; id < to; id++ {
			for _, l := range g.nodes[id] {
				if n := int(l >> 1); n != 0 && n < from && at[n] == 0 {
					at[n] = 1
					inputs = append(inputs, n)
				}
			}
		}
		net.reset(len(inputs), 0)
		for i, n := range inputs {
			at[n] = Lit(i+1) << 1
		}
		for id := from; id < to; id++ {
			f := g.nodes[id]
			a, b, c := at[f[0]>>1]^f[0]&1, at[f[1]>>1]^f[1]&1, at[f[2]>>1]^f[2]&1
			var h gate
			if f[0] > f[1] {
				h, _, _ = xorGate(a, b, c)
			} else {
				h, _, _ = majGate(a, b, c)
			}
			at[id] = Lit(len(net.nodes)) << 1
			net.nodes = append(net.nodes, h)
		}
		net.countRefs()
		for id := from; id < to; id++ {
			if net.refs[at[id]>>1] < refs[id] {
				net.outs = append(net.outs, at[id])
				used = append(used, id)
			}
		}
		net.countRefs()
		f(&net, from-g.FirstGate())
		local = resize(local, len(net.nodes))
		local[0] = 0
		for i, n := range inputs {
			local[i+1] = lit[n]
			at[n] = 0
		}
		for id := net.first(); id < len(net.nodes); id++ {
			local[id] = out.copyGate(net.nodes[id], local)
		}
		for i, id := range used {
			l := net.outs[i]
			lit[id] = local[l>>1] ^ l&1
		}
		for id := from; id < to; id++ {
			at[id] = 0
		}
		from = to
	}
	for _, o := range g.outputs {
		out.AddOutput(o.Name, lit[o.Lit>>1]^o.Lit&1)
	}
	return out.Sweep()
}
