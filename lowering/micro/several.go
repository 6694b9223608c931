package micro

import (
	"slices"

	"github.com/bitsched/bitsched/lowering/nearstream"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/se"
	"github.com/bitsched/bitsched/tile/uop"
)

// maxInstances is how many instances of decoupled loops a core has at once: its engine keeps
// one more than that.
const maxInstances = 7

// several lets a loop have several instances at once (section V for those that vanish), where
// those of the loops around it are apart: what it writes nothing else accesses there, and each
// instance has rows of its own, or only adds atomically; what it reads nothing writes. Loops that
// do not vanish are configured as soon as the core has their parameters, ahead of its
// iterations; those whose updates the core takes old values of even ahead of the iterations of
// instances before ([foresight]).
func (p *Program) several(near *nearLoop) {
	early := p.opt.Streams.Level == Compute && p.opt.Streams.Rival == NoRival && near.report.Offloaded > 0 && len(near.ahead) == 0 && !slices.ContainsFunc(near.streams, func(x nearStream) bool { return len(x.hoisted) > 0 })
	olds := early && len(near.atomics) > 0
	early = early && (olds && !near.reducing() && len(near.info.rowsInside) == 0 && len(near.streams) <= nearstream.MaxStreams/2 || near.info.inner && !olds)
	if !near.gone && !early || near.reducing() && !early || near.scatters() {
		return
	}
	mine := map[*stream.Stream]bool{}
	for _, i := range near.info.body {
		if s := p.streams[i].s; !olds {
			mine[s] = true
		} else if _, part := near.atomics[s]; part || slices.ContainsFunc(near.streams, func(x nearStream) bool { return x.tm.s == s }) {
			mine[s] = true // the core has iterations of its own
		}
	}
	all := p.graph.Loops(p.streams[near.info.body[0]].s)
	for k := len(all) - 2; k >= 0 && all[k+1].Parallel == nil; k-- {
		o := all[k]
		clash := false
		p.graph.Walk(func(in []*stream.Loop, s *stream.Stream) {
			if !slices.Contains(in, o) || mine[s] || s.Array == "" {
				return
			}
			for _, i := range near.info.body {
				m := p.streams[i].s
				if !mine[m] {
					continue
				}
				if m.Array != "" && p.together(m.Array, s.Array) && (s.Kind != stream.Load || m.Kind != stream.Load) && !p.disjoint(m, s) {
					clash = true
				}
			}
		})
		for i := range near.streams {
			x := &near.streams[i]
			if x.kind == se.Load || x.kind == se.Reduce {
				continue
			}
			if !x.tm.s.Racy && !p.ownRows(x.tm.s, o, all[k:]) {
				clash = true
			}
			for j := range near.streams { // of another row
				y := &near.streams[j]
				if y.kind == se.Load && p.together(x.tm.s.Array, y.tm.s.Array) && p.opt.Streams.Plan.Of(x.tm.s) != p.opt.Streams.Plan.Of(y.tm.s) {
					clash = true
				}
			}
		}
		if clash {
			return
		}
		if olds {
			if near.sight = p.foresee(near, o); near.sight == nil {
				return
			}
		}
		if near.region, near.several, near.early = o, true, !near.gone || near.reducing(); olds {
			return // what instances follow from is known in the loop around, and not farther
		}
	}
}

// reducing reports whether instances leave the core values that follow from all iterations: it
// takes them in order, while later instances are under way.
func (l *nearLoop) reducing() bool {
	return slices.ContainsFunc(l.streams, func(x nearStream) bool { return x.kind == se.Reduce })
}

// ownRows reports whether a subscript of a stream is a loop's variable and nothing else that
// changes in that loop, so that no two of its iterations have an element in common.
func (p *Program) ownRows(s *stream.Stream, o *stream.Loop, inside []*stream.Loop) bool {
	for _, x := range s.Index {
		if x.Coef(o.Var) == 0 {
			continue
		}
		if !slices.ContainsFunc(x.Symbols(), func(name string) bool {
			if name == o.Var {
				return false
			}
			t := p.graph.Stream(name)
			return t != nil && slices.Contains(p.graph.Loops(t), o) || slices.ContainsFunc(inside, func(l *stream.Loop) bool { return l.Var == name })
		}) {
			return true
		}
	}
	return false
}

// begins configures a loop of which the core has iterations, before it comes to them: a load
// stands for it, which waits for the values that streams follow from, and for the fence in
// front: a fence holds no load back, and what this one begins is not taken back with its line.
func (t *thread) begins(l *nearLoop, register func(slot int32) uop.Reg) {
	names := append(l.info.src.Range.Lo.Symbols(), l.info.src.Range.Hi.Symbols()...)
	for k := range l.streams {
		for _, x := range l.streams[k].tm.s.Index {
			names = append(names, x.Symbols()...)
		}
	}
	for k := range l.streams { // where it begins, how long it is, and what does not change in it
		o := l.input
		o.Src[1] = o.Dst
		if k < len(names) {
			o.Src[0] = register(t.p.names[names[k]])
		}
		if s := &l.streams[k]; s.kind == se.Reduce { // what it begins with
			o.Src[2] = t.cur[s.index]
		}
		t.marked(extra, nil, nil)
		t.out.Ops = append(t.out.Ops, o)
		t.marked(extra, nil, nil)
		t.out.Ops = append(t.out.Ops, o)
	}
	o := l.sync
	o.PC, o.Src = l.begin, [3]uop.Reg{l.input.Dst, l.fences[0].Dst}
	t.marked(extra, nil, nil)
	t.word(o, se.Begin(t.near.group), 0)
}

// logged forgets that stores in front of a region were performed if there is no log any more of what
// came since: what a loop begins ahead of it might have to take back.
func (t *thread) logged(l *nearLoop) {
	if !l.free && t.log == nil {
		delete(t.clean, l.region)
	}
}

// place waits until there is a place for the streams of one more instance.
func (t *thread) place(l *nearLoop) {
	most := max(1, min(maxInstances, nearstream.MaxStreams/len(l.streams)))
	t.release(most - 1)
	for len(t.unfinished) > 0 && t.made-t.unfinished[0] >= maxInstances-1 {
		t.release(len(t.unfinished) - 1)
	}
}

// recent forgets instances of loops that are configured early which ended long before: later
// ones could not have begun.
func (t *thread) recent() {
	if t.lately.early {
		t.unfinished = slices.DeleteFunc(t.unfinished, func(g uint32) bool { return g+maxInstances < t.made })
	}
}

// release waits until so many instances are left.
func (t *thread) release(left int) {
	if len(t.unfinished) > left {
		t.recent()
	}
	for len(t.unfinished) > left {
		t.word(t.lately.streams[0].final, se.Final(t.unfinished[0], 0), 0)
		t.unfinished = t.unfinished[1:]
	}
}

// drain waits for all instances, when their region ends, and goes on. Where the order of updates
// is the machine's the thread itself waits for each.
func (t *thread) drain(then func(t *thread) error) error {
	l := t.lately
	t.recent()
	if !l.racy {
		t.release(0)
	}
	if len(t.unfinished) == 0 {
		t.out.Ops = append(t.out.Ops, l.fences[1])
		if t.log != nil && len(t.planned) == 0 {
			t.log.until = t.handed + uint64(len(t.out.Ops)-t.done)
		}
		return goOn(t, then)
	}
	g := t.unfinished[0]
	t.unfinished = t.unfinished[1:]
	o := l.streams[0].final
	o.Flags |= uop.Blocking | uop.Racy
	t.word(o, se.Final(g, 0), 0)
	next := func() error { return t.drain(then) }
	t.wait = func([]byte) error { return next() }
	if l.early && !l.free {
		t.instead, t.insteadOf = next, g
	}
	return nil
}
