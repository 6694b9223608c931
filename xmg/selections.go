package xmg

import (
	"context"
	"slices"
)

// ShareSelections makes multiplexers share gates: that of s, t and e is the majority of
// t, e and either s ^ !t or s ^ e, and an XOR of s with a bit serves all multiplexers by s
// that the bit is an operand of. So of the operands as vertices and the multiplexers as
// edges, few vertices are chosen that are at all edges: in rotators, where each bit is
// operand of two multiplexers, half of them.
//
// The result is never larger; it is g itself if no smaller one was found. It takes under
// a us a gate. An error means that the context ended, and wraps its error.
func ShareSelections(ctx context.Context, g *Graph, opt Options) (*Graph, error) {
	g = g.Sweep()
	tick := ticker{ctx, opt.Progress, "sharing selections", g.NumNodes()}
	if err := tick.tick(0); err != nil {
		return nil, err
	}
	muxes := make([]selection, len(g.nodes))
	bySelect := map[uint32][]uint32{}
	var selects []uint32
	uses := g.References() // by XORs: those that are not multiplexers' own
	for id := g.FirstGate(); id < len(g.nodes); id++ {
		if m, ok := g.selection(id); ok {
			muxes[id] = m
			if bySelect[m.s] == nil {
				selects = append(selects, m.s)
			}
			bySelect[m.s] = append(bySelect[m.s], uint32(id))
			uses[m.by]--
		}
	}
	for _, s := range selects {
		g.coverOperands(s, muxes, bySelect[s], uses)
	}
	out := g.emptyCopy(g.NumGates())
	lit := make([]Lit, len(g.nodes))
	for id := range g.nodes {
		m := muxes[id]
		switch {
		case id < g.FirstGate():
			lit[id] = Lit(id) << 1
		case m.s == 0:
			lit[id] = out.copyGate(g.nodes[id], lit)
		default:
			s, t, e := lit[m.s], lit[m.t>>1]^m.t&1, lit[m.e>>1]^m.e&1
			if m.byElse {
				lit[id] = out.Maj(t, e, out.Xor(s, e, False))
			} else {
				lit[id] = out.Maj(t, e, out.Xor(s, t, True))
			}
		}
	}
	for _, o := range g.outputs {
		out.AddOutput(o.Name, lit[o.Lit>>1]^o.Lit&1)
	}
	if out = out.Sweep(); out.NumGates() >= g.NumGates() {
		return g, nil
	}
	return out, nil
}

// selection is a multiplexer s ? t : e; s is a node, or 0 if it is none.
type selection struct {
	s, by  uint32 // by is the XOR of s and an operand
	t, e   Lit
	byElse bool // it is to be made by s ^ e
}

// selection tells what multiplexer a gate is.
func (g *Graph) selection(id int) (m selection, ok bool) {
	f := g.nodes[id]
	if f[0] > f[1] || f[0]>>1 == 0 {
		return m, false
	}
	for k, x := range f {
		h := g.nodes[x>>1]
		if int(x>>1) < g.FirstGate() || h[0] < h[1] || h[2] != False {
			continue
		}
		for i := range 2 {
			a, b := f[(k+1+i)%3], f[(k+2-i)%3]
			for j := range 2 {
				s := h[1-j]
				if h[j]>>1 != a>>1 || s>>1 == b>>1 {
					continue
				}
				// x is s ^ a, or its complement: then it is a where s is 1.
				if (x^a)&1 == 0 {
					a, b = b, a
				}
				return selection{s: uint32(s >> 1), by: uint32(x >> 1), t: a, e: b}, true
			}
		}
	}
	return m, false
}

// coverOperands chooses for the multiplexers by one node which operand makes them. An
// operand whose XOR is there for others is taken first; then, one after the other, the
// neighbour of an operand of a single multiplexer, or the operand of the most.
func (g *Graph) coverOperands(s uint32, muxes []selection, own []uint32, uses []int32) {
	at := map[uint32][]uint32{} // by operand: its multiplexers that are not covered
	var operands []uint32
	for _, id := range own {
		for _, l := range [2]Lit{muxes[id].t, muxes[id].e} {
			v := uint32(l >> 1)
			if at[v] == nil {
				operands = append(operands, v)
			}
			at[v] = append(at[v], id)
		}
	}
	other := func(id, v uint32) uint32 {
		if t := uint32(muxes[id].t >> 1); t != v {
			return t
		}
		return uint32(muxes[id].e >> 1)
	}
	var single []uint32 // operands that may have a single multiplexer left
	take := func(v uint32) {
		for _, id := range at[v] {
			muxes[id].byElse = uint32(muxes[id].e>>1) == v
			w := other(id, v)
			if at[w] = slices.DeleteFunc(at[w], func(k uint32) bool { return k == id }); len(at[w]) == 1 {
				single = append(single, w)
			}
		}
		at[v] = nil
	}
	for _, v := range operands {
		if l, ok := g.findXor(Lit(s)<<1, Lit(v)<<1, False); ok && l>>1 != 0 && uses[l>>1] > 0 {
			take(v)
		}
	}
	for _, v := range operands {
		if len(at[v]) == 1 {
			single = append(single, v)
		}
	}
	slices.SortStableFunc(operands, func(v, w uint32) int { return len(at[w]) - len(at[v]) })
	for _, v := range operands {
		for len(single) > 0 {
			w := single[len(single)-1]
			single = single[:len(single)-1]
			if len(at[w]) == 1 {
				take(other(at[w][0], w))
			}
		}
		if len(at[v]) > 0 {
			take(v)
		}
	}
}
