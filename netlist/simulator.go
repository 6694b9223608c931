package netlist

import (
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/internal/bitrow"
)

// Simulator evaluates one network on many patterns at once, 2048 for each gate
// before it goes to the next. It is compiled once: values share rows (a row is free
// again after its last use), so that it takes 256 bytes for each value that is live
// at once, not for each node, and 20 bytes a gate. It is not safe for concurrent
// use; [Simulator.Clone] is for other goroutines.
//
// [Network.Simulate] does the same by definition.
type Simulator struct {
	net     *Network
	steps   []bitrow.Step
	luts    []simTable
	inputs  []uint32 // row of each input
	outputs []Lit    // row<<1 | complement
	rows    []bitrow.Row
}

// simTable is a LUT, which is evaluated before a step.
type simTable struct {
	before int
	bits   uint64
	dst    uint32
	in     []uint32 // row<<1 | complement
}

// simOps are the operations of kinds of gates.
var simOps = map[Kind]bitrow.Op{And: bitrow.And, Xor: bitrow.Xor, Xor3: bitrow.Xor3, Maj: bitrow.Maj, Mux: bitrow.Mux}

// NewSimulator compiles n. Only gates that an output depends on are evaluated. It
// takes time linear in n.
func NewSimulator(n *Network) *Simulator {
	s := &Simulator{net: n, inputs: make([]uint32, len(n.inputs))}
	joined := n.joinedAnds()
	fanins := func(id int) []Lit {
		nd := &n.nodes[id]
		switch nd.kind {
		case And:
			if k := joined[id]; k > 0 {
				f := n.nodes[nd.fanin[k-1].Node()].fanin
				return []Lit{f[0], f[1], nd.fanin[2-k]}
			}
			return nd.fanin[:2]
		case Xor:
			return nd.fanin[:2]
		case Xor3, Maj, Mux:
			return nd.fanin[:3]
		case LUT:
			t := &n.tables[nd.fanin[0]]
			return t.fanin[:t.n]
		}
		return nil
	}
	// The last gate that reads each node; outputs are read after it.
	const never = -1
	last := make([]int32, len(n.nodes))
	for i := range last {
		last[i] = never
	}
	for _, o := range n.outputs {
		last[o.Lit.Node()] = int32(len(n.nodes))
	}
	for id := len(n.nodes) - 1; id > 0; id-- {
		if last[id] != never {
			for _, f := range fanins(id) {
				last[f.Node()] = max(last[f.Node()], int32(id))
			}
		}
	}
	row := make([]uint32, len(n.nodes)) // row 0 is the constant 0
	next := uint32(1)
	var free []uint32
	take := func() uint32 {
		if k := len(free); k > 0 {
			r := free[k-1]
			free = free[:k-1]
			return r
		}
		next++
		return next - 1
	}
	for i, id := range n.inputs {
		row[id] = take()
		s.inputs[i] = row[id]
	}
	for id := range n.nodes {
		list := fanins(id)
		if last[id] == never || list == nil {
			continue
		}
		nd := &n.nodes[id]
		operands := make([]uint32, len(list))
		for j, f := range list {
			operands[j] = row[f.Node()]<<1 | uint32(f&1)
		}
		for j, f := range list { // a row that is read last may take the result
			if v := f.Node(); last[v] == int32(id) && v != 0 && !slices.ContainsFunc(list[:j], func(g Lit) bool { return g.Node() == v }) {
				free = append(free, row[v])
			}
		}
		row[id] = take()
		if nd.kind == LUT {
			s.luts = append(s.luts, simTable{len(s.steps), n.tables[nd.fanin[0]].bits, row[id], operands})
			continue
		}
		st := bitrow.Step{Op: simOps[nd.kind], Dst: row[id]}
		copy(st.In[:], operands)
		switch k := joined[id]; {
		case k > 0 && nd.fanin[k-1]&1 != 0:
			st.Op = bitrow.AndNot
		case k > 0:
			st.Op = bitrow.And3
		case nd.kind == And: // the same operation in all steps is guessed right
			st.Op, st.In[2] = bitrow.And3, 1
		}
		s.steps = append(s.steps, st)
	}
	for _, o := range n.outputs {
		s.outputs = append(s.outputs, Lit(row[o.Lit.Node()]<<1|uint32(o.Lit&1)))
	}
	s.rows = make([]bitrow.Row, next)
	return s
}

// joinedAnds says which conjunctions are computed in one step with one of their fanins, a
// conjunction that nothing else reads: 1 or 2 for the first or second, else 0.
func (n *Network) joinedAnds() []uint8 {
	uses := make([]uint8, len(n.nodes)) // 0, 1 or more
	use := func(f Lit) { uses[f.Node()] = min(uses[f.Node()]+1, 2) }
	for id := range n.nodes {
		nd := &n.nodes[id]
		switch nd.kind {
		case And, Xor:
			use(nd.fanin[0])
			use(nd.fanin[1])
		case Xor3, Maj, Mux:
			for _, f := range nd.fanin {
				use(f)
			}
		case LUT:
			for _, f := range n.tables[nd.fanin[0]].fanin[:n.tables[nd.fanin[0]].n] {
				use(f)
			}
		}
	}
	for _, o := range n.outputs {
		use(o.Lit)
	}
	joined := make([]uint8, len(n.nodes))
	within := make([]bool, len(n.nodes))
	for id := len(n.nodes) - 1; id > 0; id-- {
		if n.nodes[id].kind != And || within[id] {
			continue
		}
		for k, f := range n.nodes[id].fanin[:2] {
			if v := f.Node(); n.nodes[v].kind == And && uses[v] == 1 {
				joined[id], within[v] = uint8(k+1), true
				break
			}
		}
	}
	return joined
}

// Clone returns a simulator that shares nothing that runs change.
func (s *Simulator) Clone() *Simulator {
	c := *s
	c.rows = make([]bitrow.Row, len(s.rows))
	return &c
}

// Bytes returns the memory that a clone takes.
func (s *Simulator) Bytes() int { return len(s.rows) * 8 * bitrow.Words }

// Run evaluates the network on 64 x w patterns, in the layout of
// [Network.Simulate]: inputs has w words for each input, and out gets w words for
// each output.
func (s *Simulator) Run(out, inputs []uint64, w int) {
	if len(inputs) != len(s.inputs)*w || len(out) != len(s.outputs)*w {
		panic(fmt.Sprintf("netlist: Simulator.Run with %d and %d words, expected %d inputs and %d outputs x %d", len(inputs), len(out), len(s.inputs), len(s.outputs), w))
	}
	for first := 0; first < w; first += bitrow.Words {
		n := min(bitrow.Words, w-first)
		for i, r := range s.inputs {
			copy(s.rows[r][:n], inputs[i*w+first:i*w+first+n])
		}
		s.step()
		for i, o := range s.outputs {
			from, m := &s.rows[o.Node()], -uint64(o&1)
			to := out[i*w+first : i*w+first+n]
			for k := range to {
				to[k] = from[k] ^ m
			}
		}
	}
}

func (s *Simulator) step() {
	done := 0
	for i := range s.luts {
		t := &s.luts[i]
		bitrow.Run(s.rows, s.steps[done:t.before])
		done = t.before
		d := &s.rows[t.dst]
		var in [MaxLUT]uint64
		for k := range d {
			for j, x := range t.in {
				in[j] = s.rows[x>>1][k] ^ -uint64(x&1)
			}
			d[k] = shannon(t.bits, in[:len(t.in)])
		}
	}
	bitrow.Run(s.rows, s.steps[done:])
}
