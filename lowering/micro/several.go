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

// several lets a decoupled loop have several instances at once (section V), where those of
// the loops around it are apart: what it writes nothing else accesses there, and each
// instance has rows of its own, or only adds atomically; what it reads nothing writes.
func (p *Program) several(near *nearLoop) {
	if !near.gone || slices.ContainsFunc(near.streams, func(x nearStream) bool { return x.kind == se.Reduce }) {
		return
	}
	mine := map[*stream.Stream]bool{}
	for _, i := range near.info.body {
		mine[p.streams[i].s] = true
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
				if m.Array != "" && p.together(m.Array, s.Array) && (s.Kind != stream.Load || m.Kind != stream.Load) {
					clash = true
				}
			}
		})
		for i := range near.streams {
			x := &near.streams[i]
			if x.kind != se.Load && !x.tm.s.Racy && !p.ownRows(x.tm.s, o, all[k:]) {
				clash = true
			}
		}
		if clash {
			return
		}
		near.region, near.several = o, true
	}
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

// place waits until there is a place for the streams of one more instance.
func (t *thread) place(l *nearLoop) {
	most := max(1, min(maxInstances, nearstream.MaxStreams/len(l.streams)))
	t.release(most - 1)
	for len(t.unfinished) > 0 && t.made-t.unfinished[0] >= maxInstances-1 {
		t.release(len(t.unfinished) - 1)
	}
}

// release waits until so many instances are left.
func (t *thread) release(left int) {
	for len(t.unfinished) > left {
		t.word(t.lately.streams[0].final, se.Final(t.unfinished[0], 0), 0)
		t.unfinished = t.unfinished[1:]
	}
}

// drain waits for all instances, when their region ends, and goes on.
func (t *thread) drain(then func(t *thread) error) error {
	l := t.lately
	for k, g := range t.unfinished {
		o := l.streams[0].final
		if l.racy && k == len(t.unfinished)-1 {
			o.Flags |= uop.Blocking | uop.Racy
		}
		t.word(o, se.Final(g, 0), 0)
	}
	t.unfinished = t.unfinished[:0]
	if !l.racy {
		t.out.Ops = append(t.out.Ops, l.fences[1])
		return goOn(t, then)
	}
	t.wait = func([]byte) error {
		t.out.Ops = append(t.out.Ops, l.fences[1])
		return goOn(t, then)
	}
	return nil
}
