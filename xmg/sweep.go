package xmg

// Sweep returns the graph without the gates that no output needs, in the same
// order: g itself if all gates are needed. O(nodes).
func (g *Graph) Sweep() *Graph {
	live := g.liveGates()
	gates := 0
	for _, l := range live {
		if l {
			gates++
		}
	}
	if gates == g.NumGates() {
		return g
	}
	out := g.emptyCopy(gates)
	lit := make([]Lit, len(g.nodes))
	for id := range g.FirstGate() {
		lit[id] = Lit(id) << 1
	}
	for id := g.FirstGate(); id < len(g.nodes); id++ {
		if live[id-g.FirstGate()] {
			lit[id] = out.copyGate(g.nodes[id], lit)
		}
	}
	for _, o := range g.outputs {
		out.AddOutput(o.Name, lit[o.Lit>>1]^o.Lit&1)
	}
	return out
}

// liveGates tells, by id minus FirstGate, which gates an output depends on.
func (g *Graph) liveGates() []bool {
	first := Lit(g.FirstGate())
	live := make([]bool, g.NumGates())
	mark := func(l Lit) {
		if l>>1 >= first {
			live[l>>1-first] = true
		}
	}
	for _, o := range g.outputs {
		mark(o.Lit)
	}
	for i := len(live) - 1; i >= 0; i-- {
		if live[i] {
			f := g.nodes[int(first)+i]
			mark(f[0])
			mark(f[1])
			mark(f[2])
		}
	}
	return live
}

// liveBefore returns how many nodes there are before one when those that no output depends
// on are gone.
func (g *Graph) liveBefore(id int) int {
	n := min(id, g.FirstGate())
	for _, live := range g.liveGates()[:max(0, id-g.FirstGate())] {
		n += btoi(live)
	}
	return n
}

// emptyCopy returns a graph with the name and the inputs of g, no gates and no
// outputs, and room for some gates.
func (g *Graph) emptyCopy(gates int) *Graph {
	out := New(g.Name)
	out.Grow(g.FirstGate() + gates)
	for _, name := range g.inputNames {
		out.AddInput(name)
	}
	out.outputs = make([]Output, 0, len(g.outputs))
	return out
}

// copyGate adds a gate of another graph, whose node i is lit[i] in g.
func (g *Graph) copyGate(f gate, lit []Lit) Lit {
	a, b, c := lit[f[0]>>1]^f[0]&1, lit[f[1]>>1]^f[1]&1, lit[f[2]>>1]^f[2]&1
	if f[0] < f[1] {
		return g.Maj(a, b, c)
	}
	return g.Xor(a, b, c)
}
