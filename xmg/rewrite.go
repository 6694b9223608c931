package xmg

import (
	"context"
	"math"
)

// rewriter builds a graph anew, gate after gate in the old order. For each gate
// it takes, from the gate itself and the library's recipes for its cuts, what
// adds the fewest gates to the new graph, gates already there (in whatever
// structure) being free, and less those that lose their last use by it.
//
// (The idea of Mishchenko, Chatterjee, Brayton, "DAG-aware AIG rewriting", DAC
// 2006. Since the new graph only grows, a gate never depends on a later one and
// nothing has to be replaced in place.)
type rewriter struct {
	rebuilder
	m    *mapper // the old graph and its cuts
	ties bool    // take a recipe also if the gate itself is as cheap
}

// rewrite does one rewriting pass over g.
func rewrite(ctx context.Context, g *Graph, progress func(Progress), cuts *cutStore, ties bool) (*Graph, error) {
	m, err := newMapper(ctx, g, progress, cuts)
	if err != nil {
		return nil, err
	}
	m.tick.phase = "rewriting: cuts"
	if err := m.enumerate(); err != nil {
		return nil, err
	}
	r := &rewriter{m: m, rebuilder: newRebuilder(g), ties: ties}
	m.tick.phase = "rewriting"
	for id := m.first; id < len(g.nodes); id++ {
		if err := m.tick.tick(id); err != nil {
			return nil, err
		}
		r.gate(id)
	}
	return r.finish(), nil
}

// gate builds one gate of the old graph.
func (r *rewriter) gate(id int) {
	m := r.m
	f := m.g.nodes[id]
	fanins := r.fanins(f)
	// The gate itself.
	self := recipe{n: 1, out: 5 << 1}
	self.steps[0] = makeStep(f[0] > f[1], 1<<1, 2<<1, 3<<1)
	least := r.gain(&self, [4]Lit{fanins[0], fanins[1], fanins[2]}, fanins)
	var pick *cut
	list := m.cuts.span(m.start[id-m.first], int(m.count[id-m.first]))
	for i := range list {
		c := &list[i]
		added := r.gain(&m.lib.recipes[c.fn.normal()], r.inputs(c), fanins)
		if added < least || r.ties && added == least {
			least, pick = added, c
		}
	}
	var l Lit
	switch {
	case pick != nil:
		l = m.lib.build(r.out, pick.fn, r.inputs(pick))
	case f[0] > f[1]:
		l = r.out.Xor(fanins[0], fanins[1], fanins[2])
	default:
		l = r.out.Maj(fanins[0], fanins[1], fanins[2])
	}
	r.built(id, l, fanins)
}

func (r *rewriter) inputs(c *cut) (in [4]Lit) {
	for i, l := range c.leaf[:c.n] {
		in[i] = r.lit[l]
	}
	return in
}

// gain returns the gates that a recipe would add to the new graph, less those
// that would die as the old gate's fanins lose a use.
func (r *rewriter) gain(rec *recipe, in [4]Lit, fanins [3]Lit) int {
	const virtual = Lit(math.MaxUint32 - 63) // and above: a step that is no gate yet
	var items [5 + maxSteps]Lit
	copy(items[1:], in[:])
	at := func(op uint8) Lit { return items[op>>1] ^ Lit(op&1) }
	for i, s := range rec.steps[:rec.n] {
		a, b, c := at(s.operand(0)), at(s.operand(1)), at(s.operand(2))
		items[5+i] = virtual + Lit(i)<<1
		if a >= virtual || b >= virtual || c >= virtual {
			continue
		}
		var l Lit
		var ok bool
		if s&stepXor != 0 {
			l, ok = r.out.findXor(a, b, c)
		} else {
			l, ok = r.out.findMaj(a, b, c)
		}
		if ok {
			items[5+i] = l
		}
	}
	// From the result down, only what is needed.
	added := 0
	var need [maxSteps]bool
	use := func(op uint8) {
		if l := items[op>>1]; l >= virtual {
			need[op>>1-5] = true
		} else {
			added += r.ref(l, exactBudget)
		}
	}
	use(rec.out)
	for i := int(rec.n) - 1; i >= 0; i-- {
		if need[i] {
			added++
			for k := range 3 {
				use(rec.steps[i].operand(k))
			}
		}
	}
	return added - r.undo(fanins)
}
