package xmg

import (
	"context"
	"fmt"
	"math"
)

// Rewrite6 makes the graph smaller as the rewriting of [Map] does, but with
// cuts of up to six leaves, whose functions are taken apart as they come up.
// What is no larger than the gates that are there is taken, too, so that the
// next run finds other structures; the seed says which of equally good recipes
// those are. Run it again and again, with other seeds: it turns carries in groups
// (generate and propagate, select, skip) into ripple carries and finds much in
// dividers, most of it in the first ten runs. [Reduce] after some thirty runs
// finds gates that have become equal.
//
// The result is never larger; it may be another graph of the same size. A run
// takes 10 to 30 us a gate. It takes about 90 bytes a gate, 480 for each one whose
// last user is still to come, and a table of the functions found, of 100 MB at
// most. An error means that the context ended, and wraps its error.
func Rewrite6(ctx context.Context, g *Graph, seed uint64, opt Options) (*Graph, error) {
	return rewrite6(ctx, g.Sweep(), newLibrary6(seed), opt)
}

func rewrite6(ctx context.Context, g *Graph, lib *library6, opt Options) (*Graph, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("xmg: rewriting: %w", err)
	}
	seed := lib.seed
	r := &rewriter6{
		rebuilder: newRebuilder(g), lib: lib, cuts: newCuts6(g, lib, 6, cutsPerNode6), seed: seed,
	}
	tick := ticker{ctx, opt.Progress, "rewriting", g.NumNodes()}
	for id := r.first; id < len(g.nodes); id++ {
		if err := tick.tick(id); err != nil {
			return nil, err
		}
		lib.forget()
		r.cuts.gate(id)
		r.gate(id)
	}
	out := r.finish()
	if out.NumGates() > g.NumGates() {
		return g, nil
	}
	return out, nil
}

const cutsPerNode6 = 10

type rewriter6 struct {
	rebuilder
	lib  *library6
	cuts *cuts6
	seed uint64
}

// gate builds one gate of the old graph.
func (r *rewriter6) gate(id int) {
	f := r.old.nodes[id]
	fanins := r.fanins(f)
	var self recipe6
	var ok bool
	if self.out, ok = self.gate(f[0] > f[1], 1<<1, 2<<1, 3<<1); !ok {
		panic("xmg: no recipe of one gate")
	}
	in := [6]Lit{fanins[0], fanins[1], fanins[2]}
	best, bestIn, compl := &self, in, False
	least := r.gain6(&self, &in, fanins)
	ties := uint64(1)
	for i := range r.cuts.lists[id] {
		c := &r.cuts.lists[id][i]
		if c.cost >= unknown6 || c.n <= 1 {
			continue
		}
		for i, l := range c.leaves() {
			in[i] = r.lit[l]
		}
		k := r.lib.find(c.fn^-(c.fn&1), int(c.n))
		for ; ; k++ {
			added := r.gain6(&r.lib.recipes[k], &in, fanins)
			if added < least {
				ties = 0
			}
			if added <= least {
				if ties++; mix(r.seed+uint64(id)*64+uint64(k))%ties == 0 {
					least, best, bestIn, compl = added, &r.lib.recipes[k], in, Lit(c.fn&1)
				}
			}
			if r.lib.last[k] {
				break
			}
		}
	}
	r.built(id, buildRecipe6(r.out, best, &bestIn)^compl, fanins)
}

func buildRecipe6(g *Graph, r *recipe6, in *[6]Lit) Lit {
	var items [firstStep6 + maxSteps6]Lit
	copy(items[1:], in[:])
	at := func(op uint8) Lit { return items[op>>1] ^ Lit(op&1) }
	for i, s := range r.steps[:r.n] {
		if s&stepXor6 != 0 {
			items[firstStep6+i] = g.Xor(at(s.operand(0)), at(s.operand(1)), at(s.operand(2)))
		} else {
			items[firstStep6+i] = g.Maj(at(s.operand(0)), at(s.operand(1)), at(s.operand(2)))
		}
	}
	return at(r.out)
}

// gain6 returns the gates that a recipe would add to the new graph, less those
// that would die as the old gate's fanins lose a use.
func (r *rewriter6) gain6(rec *recipe6, in *[6]Lit, fanins [3]Lit) int {
	const virtual = Lit(math.MaxUint32 - 63) // and above: a step that is no gate yet
	var items [firstStep6 + maxSteps6]Lit
	copy(items[1:], in[:])
	at := func(op uint8) Lit { return items[op>>1] ^ Lit(op&1) }
	for i, s := range rec.steps[:rec.n] {
		a, b, c := at(s.operand(0)), at(s.operand(1)), at(s.operand(2))
		items[firstStep6+i] = virtual + Lit(i)<<1
		if a >= virtual || b >= virtual || c >= virtual {
			continue
		}
		var l Lit
		var ok bool
		if s&stepXor6 != 0 {
			l, ok = r.out.findXor(a, b, c)
		} else {
			l, ok = r.out.findMaj(a, b, c)
		}
		if ok {
			items[firstStep6+i] = l
		}
	}
	// From the result down, only what is needed.
	added := 0
	var need [maxSteps6]bool
	use := func(op uint8) {
		if l := items[op>>1]; l >= virtual {
			need[op>>1-firstStep6] = true
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
