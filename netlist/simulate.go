package netlist

import "fmt"

// Simulate evaluates the network on 64 x w input patterns at once.
//
// inputs holds w words for each primary input, input after input: bit b of
// inputs[i*w+k] is the value of input i in pattern 64*k+b. The result holds w
// words for each primary output in the same layout. It takes O(gates x w) time
// and 8 x w bytes a node; callers with many patterns go in blocks.
func (n *Network) Simulate(inputs []uint64, w int) []uint64 {
	if len(inputs) != len(n.inputs)*w {
		panic(fmt.Sprintf("netlist: Simulate with %d words, expected %d inputs x %d", len(inputs), len(n.inputs), w))
	}
	val := make([]uint64, len(n.nodes)*w)
	for i, id := range n.inputs {
		copy(val[int(id)*w:], inputs[i*w:(i+1)*w])
	}
	word := func(l Lit, k int) uint64 { return val[l.Node()*w+k] ^ -uint64(l&1) }
	for id := range n.nodes {
		nd := &n.nodes[id]
		f := &nd.fanin
		dst := val[id*w : (id+1)*w]
		switch nd.kind {
		case And:
			for k := range dst {
				dst[k] = word(f[0], k) & word(f[1], k)
			}
		case Xor:
			for k := range dst {
				dst[k] = word(f[0], k) ^ word(f[1], k)
			}
		case Xor3:
			for k := range dst {
				dst[k] = word(f[0], k) ^ word(f[1], k) ^ word(f[2], k)
			}
		case Maj:
			for k := range dst {
				a, b, c := word(f[0], k), word(f[1], k), word(f[2], k)
				dst[k] = a&b | a&c | b&c
			}
		case Mux:
			for k := range dst {
				s := word(f[0], k)
				dst[k] = s&word(f[1], k) | ^s&word(f[2], k)
			}
		case LUT:
			t := &n.tables[f[0]]
			for k := range dst {
				var in [MaxLUT]uint64
				for j := range t.n {
					in[j] = word(t.fanin[j], k)
				}
				dst[k] = shannon(t.bits, in[:t.n])
			}
		}
	}
	out := make([]uint64, len(n.outputs)*w)
	for i, o := range n.outputs {
		for k := range w {
			out[i*w+k] = word(o.Lit, k)
		}
	}
	return out
}

// shannon evaluates a truth table on bit-parallel inputs by expansion about the
// last input.
func shannon(bits uint64, in []uint64) uint64 {
	if len(in) == 0 {
		return -(bits & 1)
	}
	last := len(in) - 1
	half := uint(1) << last
	lo, hi := bits&(1<<half-1), bits>>half&(1<<half-1)
	if lo == hi {
		return shannon(lo, in[:last])
	}
	x := in[last]
	return x&shannon(hi, in[:last]) | ^x&shannon(lo, in[:last])
}
