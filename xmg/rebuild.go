package xmg

import "math"

// rebuilder holds a graph that is built anew from an old one, gate after gate
// in the old order, and counts which gates of the new one are in use.
type rebuilder struct {
	old   *Graph
	out   *Graph
	first int     // id of the first gate
	lit   []Lit   // by old node: its edge in the new graph
	pend  []int32 // by old node: uses, all by gates and outputs
	refs  []int32 // by new node: uses by live gates, and uses of old nodes that are not built yet
	log   []Lit   // references made by the candidate in hand
	stack []uint32
}

func newRebuilder(g *Graph) rebuilder {
	r := rebuilder{old: g, out: g.emptyCopy(g.NumGates()), first: g.FirstGate(), lit: make([]Lit, g.NumNodes()), pend: g.References()}
	r.refs = make([]int32, r.first, g.NumNodes()+g.NumGates()/8)
	for id := range r.first {
		r.lit[id] = Lit(id) << 1
		r.refs[id] = r.pend[id]
	}
	return r
}

// fanins returns the fanins of an old gate in the new graph.
func (r *rebuilder) fanins(f gate) (fanins [3]Lit) {
	for k, l := range f {
		fanins[k] = r.lit[l>>1] ^ l&1
	}
	return fanins
}

// built takes l for an old gate.
func (r *rebuilder) built(id int, l Lit, fanins [3]Lit) {
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

// finish adds the outputs and returns the new graph.
func (r *rebuilder) finish() *Graph {
	for _, o := range r.old.outputs {
		r.out.AddOutput(o.Name, r.lit[o.Lit>>1]^o.Lit&1)
	}
	return r.out.Sweep()
}

// undo takes back the uses that the log says were made, and returns the gates
// that would die as the old gate's fanins lose a use after that.
func (r *rebuilder) undo(fanins [3]Lit) (dead int) {
	made := len(r.log)
	for _, l := range fanins {
		dead += r.deref(l, exactBudget)
	}
	for _, l := range r.log[made:] {
		r.refs[l>>1]++
	}
	for _, l := range r.log[:made] {
		r.refs[l>>1]--
	}
	r.log = r.log[:0]
	return dead
}

// ref adds a use of an edge and returns the gates that come to life by it. The
// log gets every edge that was counted up.
func (r *rebuilder) ref(l Lit, budget int) int {
	first := Lit(r.first)
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
func (r *rebuilder) deref(l Lit, budget int) int {
	first := Lit(r.first)
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
