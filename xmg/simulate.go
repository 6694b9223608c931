package xmg

import (
	"fmt"

	"github.com/bitsched/bitsched/internal/bitrow"
)

// A Simulator evaluates one graph on many input patterns. It is compiled once:
// values share slots (a slot is free again after its last use), so that it
// takes 256 bytes for each value that is live at once, not for each node, plus
// 20 bytes a gate. It computes 2048 patterns of one gate before it goes to the next,
// by the vector instructions of the processor. A Simulator is not safe for concurrent use; take a
// [Simulator.Clone] for each goroutine.
type Simulator struct {
	code      []bitrow.Step
	outputs   []uint32 // slot<<1 | complement
	inputs    []uint32 // slot of each input; 0 = not used
	slots     []bitrow.Row
	numInputs int
}

// NewSimulator compiles g. Only gates that an output depends on are evaluated.
func NewSimulator(g *Graph) *Simulator {
	live := g.liveGates()
	first := g.FirstGate()
	s := &Simulator{numInputs: g.NumInputs(), inputs: make([]uint32, g.NumInputs())}

	// The last gate that reads each node; outputs read after the last gate.
	last := make([]uint32, len(g.nodes))
	gates := 0
	for i, l := range live {
		if !l {
			continue
		}
		gates++
		for _, f := range g.nodes[first+i] {
			last[f>>1] = uint32(first + i)
		}
	}
	for _, o := range g.outputs {
		last[o.Lit>>1] = uint32(len(g.nodes))
	}
	// Slot 0 is the constant false and is never written.
	slot := make([]uint32, len(g.nodes))
	next := uint32(1)
	var free []uint32
	for i := range s.inputs {
		if last[i+1] != 0 {
			slot[i+1] = next
			s.inputs[i] = next
			next++
		}
	}
	s.code = make([]bitrow.Step, 0, gates)
	for i, l := range live {
		if !l {
			continue
		}
		id := first + i
		f := g.nodes[id]
		var in [3]uint32
		for k, l := range f {
			in[k] = slot[l>>1]<<1 | uint32(l&1)
		}
		st := bitrow.Step{Op: bitrow.Maj, In: in}
		switch {
		case f[0] > f[1] && f[2] == 0:
			st.Op = bitrow.Xor
		case f[0] > f[1]:
			st.Op = bitrow.Xor3
		case f[0] == False:
			st.Op, st.In = bitrow.And, [3]uint32{in[1], in[2]}
		}
		for _, l := range f {
			if n := l >> 1; n != 0 && last[n] == uint32(id) {
				free = append(free, slot[n])
			}
		}
		var to uint32
		if k := len(free); k > 0 {
			to, free = free[k-1], free[:k-1]
		} else {
			to = next
			next++
		}
		slot[id] = to
		st.Dst = to
		s.code = append(s.code, st)
	}
	for _, o := range g.outputs {
		s.outputs = append(s.outputs, slot[o.Lit>>1]<<1|uint32(o.Lit&1))
	}
	s.slots = make([]bitrow.Row, next)
	return s
}

// Clone returns a simulator of the same graph for use by another goroutine.
func (s *Simulator) Clone() *Simulator {
	c := *s
	c.slots = make([]bitrow.Row, len(s.slots))
	return &c
}

// Run evaluates 64 x w patterns. inputs holds w words for each input, input
// after input: bit b of inputs[i*w+k] is the value of input i in pattern
// 64*k+b. outputs receives w words for each output in the same layout. It
// allocates nothing, whatever w is.
func (s *Simulator) Run(outputs, inputs []uint64, w int) {
	if len(inputs) != s.numInputs*w || len(outputs) != len(s.outputs)*w {
		panic(fmt.Sprintf("xmg: Run with %d input and %d output words, expected %d x %d and %d x %d",
			len(inputs), len(outputs), s.numInputs, w, len(s.outputs), w))
	}
	for from := 0; from < w; from += bitrow.Words {
		n := min(bitrow.Words, w-from)
		for i, slot := range s.inputs {
			if slot != 0 {
				copy(s.slots[slot][:], inputs[i*w+from:][:n])
			}
		}
		bitrow.Run(s.slots, s.code)
		for i, l := range s.outputs {
			dst := outputs[i*w+from:][:n]
			src, m := &s.slots[l>>1], -uint64(l&1)
			for k := range dst {
				dst[k] = src[k] ^ m
			}
		}
	}
}

// Simulate evaluates the graph on 64 x w input patterns at once, in the layout
// of [Simulator.Run], which is the better choice for repeated use.
func (g *Graph) Simulate(inputs []uint64, w int) []uint64 {
	out := make([]uint64, len(g.outputs)*w)
	NewSimulator(g).Run(out, inputs, w)
	return out
}

// SimulateNodes is Simulate for the values of all nodes: w words for each node,
// node after node. It takes 8 x w bytes a node.
func (g *Graph) SimulateNodes(inputs []uint64, w int) []uint64 {
	if len(inputs) != g.NumInputs()*w {
		panic(fmt.Sprintf("xmg: SimulateNodes with %d words, expected %d inputs x %d", len(inputs), g.NumInputs(), w))
	}
	val := make([]uint64, len(g.nodes)*w)
	copy(val[w:], inputs)
	for id := g.FirstGate(); id < len(g.nodes); id++ {
		f := g.nodes[id]
		a, b, c := val[int(f[0]>>1)*w:][:w], val[int(f[1]>>1)*w:][:w], val[int(f[2]>>1)*w:][:w]
		dst := val[id*w:][:w]
		if f[0] > f[1] {
			for k := range dst {
				dst[k] = a[k] ^ b[k] ^ c[k]
			}
			continue
		}
		ma, mb, mc := -uint64(f[0]&1), -uint64(f[1]&1), -uint64(f[2]&1)
		for k := range dst {
			x, y, z := a[k]^ma, b[k]^mb, c[k]^mc
			dst[k] = x&y | (x|y)&z
		}
	}
	return val
}
