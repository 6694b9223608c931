package netlist

import (
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/internal/bitrow"
)

// Simulator evaluates one network on many patterns at once, 2048 for each gate
// before it goes to the next. It is compiled once: values share rows (a row is free
// again after its last use), so that it takes 256 bytes for each value that is live
// at once, not for each node, and 24 bytes a gate. It is not safe for concurrent
// use; [Simulator.Clone] is for other goroutines.
//
// [Network.Simulate] does the same by definition.
type Simulator struct {
	net     *Network
	steps   []simStep
	inputs  []uint32 // row of each input
	outputs []Lit    // row<<1 | complement
	rows    []bitrow.Row
}

// simStep is a gate; operands are row<<1 | complement. That of a LUT is the number
// of its entry in luts.
type simStep struct {
	kind Kind
	dst  uint32
	in   [3]uint32
	lut  *simTable
}

type simTable struct {
	bits uint64
	in   []uint32
}

// NewSimulator compiles n. Only gates that an output depends on are evaluated. It
// takes time linear in n.
func NewSimulator(n *Network) *Simulator {
	s := &Simulator{net: n, inputs: make([]uint32, len(n.inputs))}
	fanins := func(id int) []Lit {
		nd := &n.nodes[id]
		switch nd.kind {
		case And, Xor:
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
		st := simStep{kind: nd.kind}
		operand := func(l Lit) uint32 { return row[l.Node()]<<1 | uint32(l&1) }
		if nd.kind == LUT {
			st.lut = &simTable{bits: n.tables[nd.fanin[0]].bits}
			for _, f := range list {
				st.lut.in = append(st.lut.in, operand(f))
			}
		} else {
			for j, f := range list {
				st.in[j] = operand(f)
			}
		}
		for j, f := range list { // a row that is read last may take the result
			if v := f.Node(); last[v] == int32(id) && v != 0 && !slices.ContainsFunc(list[:j], func(g Lit) bool { return g.Node() == v }) {
				free = append(free, row[v])
			}
		}
		row[id] = take()
		st.dst = row[id]
		s.steps = append(s.steps, st)
	}
	for _, o := range n.outputs {
		s.outputs = append(s.outputs, Lit(row[o.Lit.Node()]<<1|uint32(o.Lit&1)))
	}
	s.rows = make([]bitrow.Row, next)
	return s
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
	rows, f := s.rows, &bitrow.Fastest
	for i := range s.steps {
		st := &s.steps[i]
		a, b, c, d := &rows[st.in[0]>>1], &rows[st.in[1]>>1], &rows[st.in[2]>>1], &rows[st.dst]
		na, nb, nc := -uint64(st.in[0]&1), -uint64(st.in[1]&1), -uint64(st.in[2]&1)
		switch st.kind {
		case And:
			f.And(d, a, b, na, nb)
		case Xor:
			f.Xor(d, a, b, na, nb)
		case Xor3:
			f.Xor3(d, a, b, c, na, nb, nc)
		case Maj:
			f.Maj(d, a, b, c, na, nb, nc)
		case Mux:
			f.Mux(d, a, b, c, na, nb, nc)
		case LUT:
			var in [MaxLUT]uint64
			for k := range d {
				for j, x := range st.lut.in {
					in[j] = rows[x>>1][k] ^ -uint64(x&1)
				}
				d[k] = shannon(st.lut.bits, in[:len(st.lut.in)])
			}
		}
	}
}
