package xmg

// Stats are figures of a graph.
type Stats struct {
	Inputs, Outputs int

	Gates    int
	Maj, Xor int // gates of each kind
	And      int // MAJ gates with a constant fanin: AND and OR
	Xor2     int // XOR gates with a constant fanin
	Levels   int // gates on the longest path to an output; see [Graph.Depth]

	Complemented        int // fanins of gates that are complements, constants left out
	ComplementedOutputs int // outputs that are complements, constants left out

	// Uses by gates and outputs, of inputs and gates.
	MaxFanout  int
	MeanFanout float64

	// Values of gates that are still to be used, or drive an output, counted
	// after each gate of the graph's order. A single array can compute the graph in
	// this order if it has a row for each input and for each of PeakLive values.
	PeakLive int
	MeanLive float64
	// LiveProfile has the most live values within each tenth of the order.
	LiveProfile [10]int
}

// Stats counts. O(nodes), 12 bytes a node.
func (g *Graph) Stats() Stats {
	s := Stats{Inputs: g.NumInputs(), Outputs: g.NumOutputs(), Gates: g.NumGates(), Levels: g.Depth()}
	s.Maj, s.Xor = g.Counts()
	s.And = g.CountAnd()
	for id := g.FirstGate(); id < len(g.nodes); id++ {
		f := g.nodes[id]
		if f[0] > f[1] && f[2]>>1 == 0 {
			s.Xor2++
		}
		for _, l := range f {
			if l.Complemented() && l != True {
				s.Complemented++
			}
		}
	}
	for _, o := range g.outputs {
		if o.Lit.Complemented() && o.Lit != True {
			s.ComplementedOutputs++
		}
	}
	s.countFanout(g)
	s.countLive(g)
	return s
}

func (s *Stats) countFanout(g *Graph) {
	sum := 0
	refs := g.References()[1:]
	for _, n := range refs {
		s.MaxFanout = max(s.MaxFanout, int(n))
		sum += int(n)
	}
	if len(refs) > 0 {
		s.MeanFanout = float64(sum) / float64(len(refs))
	}
}

func (s *Stats) countLive(g *Graph) {
	if s.Gates == 0 {
		return
	}
	first := g.FirstGate()
	const toTheEnd = 1<<32 - 1
	last := make([]uint32, s.Gates) // by gate: its last use
	for i := range last {
		last[i] = uint32(first + i)
		for _, l := range g.nodes[first+i] {
			if k := int(l>>1) - first; k >= 0 {
				last[k] = uint32(first + i)
			}
		}
	}
	for _, o := range g.outputs {
		if k := int(o.Lit>>1) - first; k >= 0 {
			last[k] = toTheEnd
		}
	}
	live, sum := 0, 0
	for i := range last {
		id := uint32(first + i)
		f := g.nodes[id]
		for _, l := range f { // distinct nodes
			if k := int(l>>1) - first; k >= 0 && last[k] == id {
				live--
			}
		}
		if last[i] > id {
			live++
		}
		// A gate that nothing uses takes a row, too, if only now.
		now := live
		if last[i] == id {
			now++
		}
		sum += now
		s.PeakLive = max(s.PeakLive, now)
		for b := i * 10 / s.Gates; b <= ((i+1)*10-1)/s.Gates; b++ { // more than one if there are few gates
			s.LiveProfile[b] = max(s.LiveProfile[b], now)
		}
	}
	s.MeanLive = float64(sum) / float64(s.Gates)
}
