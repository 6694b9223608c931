package xmg

import "context"

// RewriteAnds makes the graph smaller as AND/INV logic: gates of three operands
// become ANDs, and cuts of up to six leaves are rewritten with ANDs only, again and
// again with other choices among equals (Mishchenko, Chatterjee, Brayton, "DAG-aware
// AIG rewriting", DAC 2006). ANDs that are few and well shared are a better start for
// [Map] than what a generator of circuits wrote: an XOR is three ANDs, so that what
// hides one costs most here.
//
// The result has ANDs only, and may thus have more gates than g. A run takes some 20
// us a gate. An error means that the context ended, and wraps its error.
func RewriteAnds(ctx context.Context, g *Graph, seed uint64, opt Options) (*Graph, error) {
	return rewrite6(ctx, g.ands(), newAndLibrary6(seed), opt)
}

// ands returns the graph with ANDs in the place of all other gates.
func (g *Graph) ands() *Graph {
	if g.CountAnd() == g.NumGates() {
		return g.Sweep()
	}
	out := g.emptyCopy(g.NumGates())
	lit := make([]Lit, len(g.nodes))
	for id := range g.nodes {
		if id < g.FirstGate() {
			lit[id] = Lit(id) << 1
			continue
		}
		f := g.nodes[id]
		a, b, c := lit[f[0]>>1]^f[0]&1, lit[f[1]>>1]^f[1]&1, lit[f[2]>>1]^f[2]&1
		if g.Kind(id) == Maj {
			if f[0]>>1 == 0 {
				lit[id] = out.Maj(a, b, c)
			} else {
				lit[id] = out.Or(out.And(a, b), out.And(out.Or(a, b), c))
			}
			continue
		}
		lit[id] = out.xorOfAnds(out.xorOfAnds(a, b), c)
	}
	for _, o := range g.outputs {
		out.AddOutput(o.Name, lit[o.Lit>>1]^o.Lit&1)
	}
	return out.Sweep()
}

// xorOfAnds returns a ^ b in three ANDs.
func (g *Graph) xorOfAnds(a, b Lit) Lit {
	return g.Or(g.And(a, b^1), g.And(a^1, b))
}
