package tdfg

import (
	"maps"
	"slices"

	"github.com/bitsched/bitsched/tdfg/stream"
)

// Indices says what must not have any value because streams would leave their arrays:
// from lists the arrays whose elements become subscripts, or bounds of loops, and into
// those that are accessed so. all says that this cannot be told of single arrays,
// since what becomes a subscript was computed before.
func (p *Program) Indices() (from, into []string, all bool) {
	sources, accessed, written := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, r := range p.Regions() {
		g := r.Graph
		for _, o := range g.Outputs {
			if o.Array >= 0 {
				written[g.Arrays[o.Array].Name] = true
			} else {
				written[o.Scalar] = true
			}
		}
		for i := range g.Nodes {
			st := g.Nodes[i].Stream
			if st == nil {
				continue
			}
			for _, name := range st.Args {
				written[name] = true
			}
			for _, s := range st.Graph.Streams() {
				if s.Kind == stream.Store || s.Kind == stream.RMW {
					written[s.Array] = true
				}
			}
			streamIndices(st.Graph, sources, accessed)
		}
	}
	for name := range sources {
		all = all || written[name]
	}
	return slices.Sorted(maps.Keys(sources)), slices.Sorted(maps.Keys(accessed)), all
}

// StreamIndices is Indices for the graph of a whole function.
func StreamIndices(g *stream.Graph) (from, into []string) {
	sources, accessed := map[string]bool{}, map[string]bool{}
	streamIndices(g, sources, accessed)
	return slices.Sorted(maps.Keys(sources)), slices.Sorted(maps.Keys(accessed))
}

// streamIndices adds the arrays and parameters of a stream graph whose values become
// subscripts or bounds, and the arrays that are accessed so.
func streamIndices(g *stream.Graph, sources, accessed map[string]bool) {
	deps := g.Deps()
	needed := map[*stream.Stream]bool{} // its value is part of a subscript or a bound
	for _, d := range deps {
		if d.Kind != stream.AddressDep && d.Kind != stream.LoopDep {
			continue
		}
		needed[d.From] = true
		if s, ok := d.To.(*stream.Stream); ok {
			accessed[s.Array] = true
			continue
		}
		g.Walk(func(loops []*stream.Loop, s *stream.Stream) {
			if s.Array != "" && slices.Contains(loops, d.To.(*stream.Loop)) {
				accessed[s.Array] = true
			}
		})
	}
	for changed := true; changed; {
		changed = false
		for _, d := range deps {
			if s, ok := d.To.(*stream.Stream); ok && needed[s] && !needed[d.From] {
				needed[d.From], changed = true, true
			}
		}
	}
	for s := range needed {
		if s.Array != "" {
			sources[s.Array] = true
		}
		for _, x := range []*stream.Expr{s.Value, s.Init} {
			x.Walk(func(y *stream.Expr) {
				if y.Kind == stream.RefExpr && g.Param(y.Name) != nil {
					sources[y.Name] = true
				}
			})
		}
	}
}
