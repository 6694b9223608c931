package fused

import (
	"slices"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// unit is a part of a function, as it is executed by threads and as graphs.
type unit struct {
	stmts   []stream.Stmt
	graphs  []tdfg.Stmt
	regions []*tdfg.Graph // of them
	streams []*stream.Stream
}

// Units finds the parts that a function and its graphs have in common.
func align(p *tdfg.Program, g *stream.Graph) []*unit {
	at := map[string][]int{} // regions by the places of their elements
	for i, r := range p.Regions() {
		for _, place := range r.At {
			at[place] = append(at[place], i)
		}
	}
	a := &aligner{at: at, number: map[*tdfg.Region]int{}}
	for i, r := range p.Regions() {
		a.number[r] = i
	}
	a.bodies(p.Body, g.Body)
	return a.units
}

type aligner struct {
	at     map[string][]int
	number map[*tdfg.Region]int
	units  []*unit
}

// span is a range of the regions of a program, or of statements of a body.
type span struct{ from, to int }

func (s span) empty() bool { return s.from >= s.to }

func (s span) join(t span) span {
	switch {
	case s.empty():
		return t
	case t.empty():
		return s
	}
	return span{min(s.from, t.from), max(s.to, t.to)}
}

func (s span) meets(t span) bool { return !s.empty() && !t.empty() && s.from < t.to && t.from < s.to }

// graphs returns the regions of a statement of the host.
func (a *aligner) graphs(st tdfg.Stmt) span {
	switch st := st.(type) {
	case *tdfg.Region:
		n := a.number[st]
		return span{n, n + 1}
	case *tdfg.Loop:
		s := span{}
		for _, x := range st.Body {
			s = s.join(a.graphs(x))
		}
		return s
	}
	return span{}
}

// streams returns the regions that a statement of the function is in.
func (a *aligner) streams(st stream.Stmt) span {
	s := span{}
	switch st := st.(type) {
	case *stream.Stream:
		for _, n := range a.at[st.At] {
			s = s.join(span{n, n + 1})
		}
	case *stream.Loop:
		for _, x := range st.Body {
			s = s.join(a.streams(x))
		}
	}
	return s
}

// bodies aligns a body of the host with one of the function.
func (a *aligner) bodies(host []tdfg.Stmt, body []stream.Stmt) {
	if len(host) == 0 {
		return
	}
	if len(body) == 1 {
		l, ok := body[0].(*stream.Loop)
		if ok && once(l) && !(len(host) == 1 && same(host[0], l)) {
			a.bodies(host, l.Body)
			return
		}
	}
	type group struct{ regions, stmts, graphs span }
	var groups []group
	all := span{}
	for i, st := range host {
		r := a.graphs(st)
		all = all.join(r)
		groups = append(groups, group{regions: r, graphs: span{i, i + 1}})
	}
	for i, st := range body {
		r := a.streams(st)
		if r.empty() {
			continue
		}
		if r.from < all.from || r.to > all.to {
			return // parts of other bodies: all stays with threads
		}
		joined := group{r, span{i, i + 1}, span{}}
		rest := groups[:0:0]
		for _, g := range groups {
			if g.regions.meets(joined.regions) {
				joined = group{joined.regions.join(g.regions), joined.stmts.join(g.stmts), joined.graphs.join(g.graphs)}
			} else {
				rest = append(rest, g)
			}
		}
		groups = append(rest, joined)
	}
	// Groups whose statements lie among those of others belong to these.
	for again := true; again; {
		again = false
		for i := range groups {
			for j := range groups[:i] {
				x, y := &groups[i], &groups[j]
				if !x.stmts.meets(y.stmts) && !x.graphs.meets(y.graphs) {
					continue
				}
				*y = group{x.regions.join(y.regions), x.stmts.join(y.stmts), x.graphs.join(y.graphs)}
				groups = slices.Delete(groups, i, i+1)
				again = true
				break
			}
			if again {
				break
			}
		}
	}
	slices.SortFunc(groups, func(x, y group) int { return x.graphs.from - y.graphs.from })
	last := 0
	for _, g := range groups {
		switch {
		case g.stmts.empty():
			return // regions that no statement has: others may need what they do
		case g.stmts.from < last:
			return // another order
		}
		last = g.stmts.to
	}
	for _, g := range groups {
		a.unit(host[g.graphs.from:g.graphs.to], body[g.stmts.from:g.stmts.to])
	}
}

// once reports whether a loop has one iteration.
func once(l *stream.Loop) bool {
	lo, ok := l.Range.Lo.Const()
	hi, ok2 := l.Range.Hi.Const()
	return ok && ok2 && hi == lo+1 && l.While == nil && !l.Open && l.Parallel == nil
}

// same reports whether a loop of the host is one of the function, which thread 0 executes.
func same(host tdfg.Stmt, l *stream.Loop) bool {
	h, ok := host.(*tdfg.Loop)
	return ok && l.Parallel == nil && l.While == nil && !l.Open && h.Var == l.Var && h.Step == l.Stride() && h.Lo.Equal(l.Range.Lo) && h.Hi.Equal(l.Range.Hi)
}

// unit adds a unit, or those inside of a loop that both have.
func (a *aligner) unit(host []tdfg.Stmt, body []stream.Stmt) {
	if len(host) == 1 && len(body) == 1 {
		if l, ok := body[0].(*stream.Loop); ok && same(host[0], l) {
			n := len(a.units)
			a.bodies(host[0].(*tdfg.Loop).Body, l.Body)
			if len(a.units) > n {
				return
			}
		}
	}
	u := &unit{stmts: body, graphs: host}
	p := tdfg.Program{Body: host}
	for _, r := range p.Regions() {
		u.regions = append(u.regions, r.Graph)
	}
	loops := 0
	for _, st := range body {
		if l, ok := st.(*stream.Loop); ok {
			loops++
			g := stream.Graph{Body: []stream.Stmt{l}}
			u.streams = append(u.streams, g.Streams()...)
			continue
		}
		s := st.(*stream.Stream)
		if s.Racy || s.If != nil {
			return
		}
		for _, x := range s.Index {
			if len(x.Symbols()) > 0 {
				return // it could depend on what others do
			}
		}
		u.streams = append(u.streams, s)
	}
	if loops > 0 {
		a.units = append(a.units, u)
	}
}
