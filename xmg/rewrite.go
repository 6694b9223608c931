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
	m     *mapper // the old graph and its cuts
	out   *Graph
	lit   []Lit   // by old node: its edge in the new graph
	pend  []int32 // by old node: uses, all by gates and outputs
	refs  []int32 // by new node: uses by live gates, and uses of old nodes that are not built yet
	log   []Lit   // references made by the candidate in hand
	stack []uint32
	ties  bool // take a recipe also if the gate itself is as cheap
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
	r := &rewriter{m: m, pend: m.refs, out: g.emptyCopy(g.NumGates()), lit: make([]Lit, g.NumNodes()), ties: ties}
	r.refs = make([]int32, m.first, g.NumNodes()+g.NumGates()/8)
	for id := range m.first {
		r.lit[id] = Lit(id) << 1
		r.refs[id] = r.pend[id]
	}
	m.tick.phase = "rewriting"
	for id := m.first; id < len(g.nodes); id++ {
		if err := m.tick.tick(id); err != nil {
			return nil, err
		}
		r.gate(id)
	}
	for _, o := range g.outputs {
		r.out.AddOutput(o.Name, r.lit[o.Lit>>1]^o.Lit&1)
	}
	return r.out.Sweep(), nil
}

// gate builds one gate of the old graph.
func (r *rewriter) gate(id int) {
	m := r.m
	f := m.g.nodes[id]
	var fanins [3]Lit
	for k, l := range f {
		fanins[k] = r.lit[l>>1] ^ l&1
	}
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
	for len(r.refs) < len(r.out.nodes) {
		r.refs = append(r.refs, 0)
	}
	r.lit[id] = l
	r.ref(l, math.MaxInt)
	r.refs[l>>1] += r.pend[id] - 1
	r.log = r.log[:0]
	for _, l := range fanins {
		r.deref(l, math.MaxInt)
	}
	r.log = r.log[:0]
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
	made := len(r.log)
	for _, l := range fanins {
		added -= r.deref(l, exactBudget)
	}
	for _, l := range r.log[made:] {
		r.refs[l>>1]++
	}
	for _, l := range r.log[:made] {
		r.refs[l>>1]--
	}
	r.log = r.log[:0]
	return added
}

// ref adds a use of an edge and returns the gates that come to life by it. The
// log gets every edge that was counted up.
func (r *rewriter) ref(l Lit, budget int) int {
	first := Lit(r.m.first)
	alive := 0
	r.refs[l>>1]++
	r.log = append(r.log, l)
	if r.refs[l>>1] > 1 || l>>1 < first {
		return 0
	}
	r.stack = append(r.stack[:0], uint32(l>>1))
	for k := 0; k >= 0; k = len(r.stack) - 1 {
		n := r.stack[k]
		r.stack = r.stack[:k]
		alive++
		if budget--; budget < 0 {
			continue
		}
		for _, l := range r.out.nodes[n] {
			r.refs[l>>1]++
			r.log = append(r.log, l)
			if r.refs[l>>1] == 1 && l>>1 >= first {
				r.stack = append(r.stack, uint32(l>>1))
			}
		}
	}
	return alive
}

// deref removes a use of an edge and returns the gates that die by it. The log
// gets every edge that was counted down.
func (r *rewriter) deref(l Lit, budget int) int {
	first := Lit(r.m.first)
	dead := 0
	r.refs[l>>1]--
	r.log = append(r.log, l)
	if r.refs[l>>1] > 0 || l>>1 < first {
		return 0
	}
	r.stack = append(r.stack[:0], uint32(l>>1))
	for k := 0; k >= 0; k = len(r.stack) - 1 {
		n := r.stack[k]
		r.stack = r.stack[:k]
		dead++
		if budget--; budget < 0 {
			continue
		}
		for _, l := range r.out.nodes[n] {
			r.refs[l>>1]--
			r.log = append(r.log, l)
			if r.refs[l>>1] == 0 && l>>1 >= first {
				r.stack = append(r.stack, uint32(l>>1))
			}
		}
	}
	return dead
}
