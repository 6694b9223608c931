package xmg

import "context"

// ExactRewrite makes the graph smaller by minimum XMGs. Where a gate is a
// function of at most four others, it tries several minimum XMGs of the function
// and counts the gates that are there already. Where it is one of five, by more
// gates than the function needs, and these serve nothing else, a minimum XMG is
// searched by SAT, once for each class of functions, as far as [ExactOptions]
// allow. A graph of one output and at most six inputs is minimised as a whole.
//
// The result is never larger. It takes some 80 us and 700 bytes a gate, and what
// the searches take, which is bounded. When the context ends, the gates that are
// left stay as they are; that is no error.
func ExactRewrite(ctx context.Context, g *Graph, opt ExactOptions) (*Graph, error) {
	g = g.Sweep()
	if g.NumInputs() <= 6 && g.NumOutputs() == 1 {
		g = exactWhole(ctx, g, opt)
	}
	if opt.Conflicts == 0 {
		opt.Conflicts = exactRewriteConflicts
	}
	if opt.Work == 0 {
		opt.Work = exactRewriteWork
	}
	lib := newLibrary6(opt.Seed)
	r := &exactRewriter{
		rewriter6: rewriter6{rebuilder: newRebuilder(g), lib: lib, cuts: newCuts6(g, lib, exactLeaves, cutsPerNode6), seed: opt.Seed},
		db:        newExactLibrary(opt.Conflicts, opt.Work),
	}
	r.db.stop = func() bool { return ctx.Err() != nil }
	tick := ticker{ctx, opt.Progress, "exact rewriting", g.NumNodes()}
	stopped := false
	for id := r.first; id < len(g.nodes); id++ {
		stopped = stopped || tick.tick(id) != nil || r.db.work <= 0 || r.db.stop()
		f := g.nodes[id]
		if stopped {
			r.built(id, r.out.copyGate(f, r.lit), r.fanins(f))
			continue
		}
		r.cuts.gate(id)
		r.gate(id)
	}
	out := r.finish()
	if out.NumGates() >= g.NumGates() {
		return g, nil
	}
	return out, nil
}

const exactLeaves = 5

type exactRewriter struct {
	rewriter6
	db *exactLibrary
}

// gate builds one gate of the old graph.
func (r *exactRewriter) gate(id int) {
	f := r.old.nodes[id]
	fanins := r.fanins(f)
	var self recipe6
	self.out, _ = self.gate(f[0] > f[1], 1<<1, 2<<1, 3<<1)
	best, bestIn := self, [6]Lit{fanins[0], fanins[1], fanins[2]}
	least := r.gain6(&self, &bestIn, fanins)
	for i := range r.cuts.lists[id] {
		c := &r.cuts.lists[id][i]
		var in [6]Lit
		for i, l := range c.leaves() {
			in[i] = r.lit[l]
		}
		if c.n < exactLeaves {
			rs, p := r.lib.four.recipesFor(truth(c.fn))
			four := p.inputs([4]Lit(in[:4]))
			placed := [6]Lit{four[0], four[1], four[2], four[3]}
			for k := range rs {
				rec := rs[k].six()
				rec.out ^= uint8(p >> 12)
				if added := r.gain6(&rec, &placed, fanins); added < least {
					least, best, bestIn = added, rec, placed
				}
			}
			continue
		}
		for _, l := range in[:c.n] {
			r.ref(l, exactBudget)
		}
		free := r.undo(fanins)
		rec, ok, _ := r.db.find(c.fn, free+least-1)
		if !ok {
			continue
		}
		if added := r.gain6(&rec, &in, fanins); added < least {
			least, best, bestIn = added, rec, in
		}
	}
	r.built(id, buildRecipe6(r.out, &best, &bestIn), fanins)
}

// exactWhole minimises a graph of one output.
func exactWhole(ctx context.Context, g *Graph, opt ExactOptions) *Graph {
	e, _, err := Exact(ctx, g.Simulate(tableInputs[:g.NumInputs()], 1)[0], g.NumInputs(), opt)
	if err != nil || e.NumGates() >= g.NumGates() {
		return g
	}
	out := g.emptyCopy(e.NumGates())
	lit := make([]Lit, e.NumNodes())
	for id := range lit {
		if l := Lit(id) << 1; e.IsGate(id) {
			lit[id] = out.copyGate(e.nodes[id], lit)
		} else {
			lit[id] = l
		}
	}
	o := e.Output(0).Lit
	out.AddOutput(g.Output(0).Name, lit[o>>1]^o&1)
	return out
}

// six returns the recipe as one of six inputs.
func (r *recipe) six() (six recipe6) {
	var items [5 + maxSteps]uint8
	for i := range uint8(4) {
		items[1+i] = (1 + i) << 1
	}
	at := func(op uint8) uint8 { return items[op>>1] ^ op&1 }
	for i, s := range r.steps[:r.n] {
		items[5+i], _ = six.gate(s&stepXor != 0, at(s.operand(0)), at(s.operand(1)), at(s.operand(2)))
	}
	six.out = at(r.out)
	return six
}
