package xmg

import "github.com/bitsched/bitsched/xmg/internal/sat"

// satProver decides by SAT whether two nodes of a growing graph are equal. One
// solver holds the gates of the cones asked for so far, so that what one query
// learns helps the next ones; from time to time it starts anew.
//
// It takes 5 bytes a node and what the solver takes for the gates in it, some
// 200 bytes each.
type satProver struct {
	g      *Graph
	solver *sat.Solver
	stop   func() bool
	vars   []int32  // by node: 1 + its variable; 0 = none
	gates  []bool   // by node: its clauses are in the solver
	nodes  []uint32 // by variable

	mark   []uint32 // by node: the last query whose cone it was in
	stamp  uint32
	queue  []uint32 // nodes of the cone that are not loaded yet
	decide []int32
}

// maxSolverVars is the number of variables beyond which a solver is left for a
// new one: the more it holds, the longer it takes to propagate what the cones
// asked for do not need.
const maxSolverVars = 30_000

// added notes the next node of the graph.
func (p *satProver) added() {
	p.vars = append(p.vars, 0)
	p.gates = append(p.gates, false)
	p.mark = append(p.mark, 0)
}

// work is the number of propagations so far.
func (p *satProver) work() int64 {
	if p.solver == nil {
		return 0
	}
	return p.solver.Propagations()
}

// differ asks for input values for which a and b differ: sat.Unsat means that
// they are equal. value then tells what a sat.Sat answer gives an input. At most
// some gates of the cones are looked at, those next to a and b; where these do
// not suffice for a proof, whole is false and sat.Sat means nothing.
func (p *satProver) differ(a, b Lit, conflicts int64, gates int) (st sat.Status, whole bool) {
	if p.solver == nil || p.solver.NumVars() > maxSolverVars {
		p.restart()
	}
	whole = p.load(a, b, gates)
	x, y := p.literal(a), p.literal(b)
	for _, q := range [2][2]sat.Lit{{x, y.Not()}, {x.Not(), y}} {
		if st := p.solver.Solve(q[:], p.decide, conflicts); st != sat.Unsat {
			return st, whole
		}
	}
	// Equal: that helps the next queries, too.
	p.solver.AddClause(x, y.Not())
	p.solver.AddClause(x.Not(), y)
	return sat.Unsat, whole
}

// value is the value of input i in the model, and whether it has one.
func (p *satProver) value(i int) (value, known bool) {
	n := i + 1
	if p.mark[n] != p.stamp || p.vars[n] == 0 {
		return false, false
	}
	return p.solver.Value(int(p.vars[n] - 1)), true
}

func (p *satProver) restart() {
	if p.solver == nil {
		p.solver = &sat.Solver{Stop: p.stop}
	} else {
		p.solver.Reset()
	}
	for _, n := range p.nodes {
		p.vars[n], p.gates[n] = 0, false
	}
	p.nodes = p.nodes[:0]
	p.solver.AddClause(p.literal(True))
}

// literal returns the literal of the solver, with a new variable if it must be.
func (p *satProver) literal(l Lit) sat.Lit {
	n := l >> 1
	if p.vars[n] == 0 {
		p.vars[n] = int32(p.solver.NewVar()) + 1
		p.nodes = append(p.nodes, uint32(n))
	}
	return sat.Lit(p.vars[n]-1)<<1 | sat.Lit(l&1)
}

// load sees that the cones of a and b are in the solver, up to a number of gates,
// and makes them what is decided, gates next to a and b first. It reports whether
// the cones are whole.
func (p *satProver) load(a, b Lit, gates int) bool {
	p.stamp++
	p.queue = p.queue[:0]
	p.decide = p.decide[:0]
	p.reach(a)
	p.reach(b)
	first := uint32(p.g.FirstGate())
	// From the highest number down, so that a gate comes before its fanins.
	for len(p.queue) > 0 {
		n := p.next()
		l := p.literal(Lit(n) << 1)
		p.decide = append(p.decide, int32(l>>1))
		if n < first {
			continue
		}
		if gates == 0 {
			return false
		}
		gates--
		if f := p.g.nodes[n]; !p.gates[n] {
			p.gates[n] = true
			p.addGate(l, f)
		}
		for _, f := range p.g.nodes[n] {
			p.reach(f)
		}
	}
	return true
}

// reach puts a node into the queue, a heap with the highest number on top, if it
// was not there.
func (p *satProver) reach(l Lit) {
	n := uint32(l >> 1)
	if n == 0 || p.mark[n] == p.stamp {
		return
	}
	p.mark[n] = p.stamp
	i := len(p.queue)
	p.queue = append(p.queue, n)
	for i > 0 && p.queue[(i-1)/2] < n {
		p.queue[i] = p.queue[(i-1)/2]
		i = (i - 1) / 2
	}
	p.queue[i] = n
}

// next takes the highest node out of the queue.
func (p *satProver) next() uint32 {
	top := p.queue[0]
	k := len(p.queue) - 1
	n := p.queue[k]
	p.queue = p.queue[:k]
	i := 0
	for 2*i+1 < k {
		child := 2*i + 1
		if child+1 < k && p.queue[child+1] > p.queue[child] {
			child++
		}
		if p.queue[child] <= n {
			break
		}
		p.queue[i] = p.queue[child]
		i = child
	}
	if k > 0 {
		p.queue[i] = n
	}
	return top
}

// addGate adds the clauses of a gate.
func (p *satProver) addGate(g sat.Lit, f gate) {
	a, b, c := p.literal(f[0]), p.literal(f[1]), p.literal(f[2])
	addGateClauses(p.solver, f[0] > f[1], g, a, b, c)
}

// addGateClauses says that g is the parity or the majority of a, b and c (Tseitin): six
// clauses for MAJ, eight for XOR; the solver drops what a constant fanin makes true.
func addGateClauses(s *sat.Solver, xor bool, g, a, b, c sat.Lit) {
	if !xor {
		for _, xy := range [...][2]sat.Lit{{a, b}, {a, c}, {b, c}} {
			s.AddClause(xy[0].Not(), xy[1].Not(), g)
			s.AddClause(xy[0], xy[1], g.Not())
		}
		return
	}
	for m := range sat.Lit(8) {
		x, y, z := m&1, m>>1&1, m>>2
		s.AddClause(a^x, b^y, c^z, g^1^x^y^z) // what makes the first three false
	}
}
