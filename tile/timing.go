package tile

import "github.com/bitsched/bitsched/sram"

// Timing has the cycles of commands on a machine. Each follows from lengths of
// programs and from the bandwidths and levels in the description of the machine;
// what neither the paper nor these give is a parameter there.
//
// Commands of one bank run one after another; a transfer is done when its last
// packet is injected, and a sync waits for the packets to arrive (Infinity Stream,
// section 4.2, synchronization).
type Timing struct{ m *Machine }

// NewTiming returns the timing of a machine.
func NewTiming(m *Machine) Timing { return Timing{m} }

// Compute returns the cycles of a kernel: its length, since all arrays execute an
// instruction a cycle.
func (t Timing) Compute(k *sram.Kernel) int64 { return int64(k.Cycles()) }

// Constant returns the cycles of writing a constant of a number of bits to all
// bitlines: the rows are written one after another (PUMEngine: "one cycle to read 1
// bit of constant value").
func (t Timing) Constant(bits int) int64 { return int64(bits) }

// IntraShift returns the cycles of moving elements of a number of bits by dist
// bitlines within arrays. A row is read and written in a cycle, as by a copy, and
// goes array.shift_bitlines at a time if that is not 0. By default the distance
// does not matter: the paper has shifts in the array (section 5.2) and no figure
// for them; PUMEngine of its simulator charged one cycle for each wordline, and since
// then one for each wordline and bitline of the distance (a reading).
func (t Timing) IntraShift(bits, dist int) int64 {
	steps := 1
	if s := t.m.Array.ShiftBitlines; s > 0 {
		steps = ceil(max(dist, -dist), s)
	}
	return int64(bits) * int64(max(1, steps))
}

// HTree returns the cycles of moving elements of a number of bits on so many
// bitlines, of all arrays together, through the H-tree of a bank: wordline by
// wordline, at the bandwidth of the tree, and the levels of the tree until the last
// bit is there, since the tree is buffered (Table 2; section 5.2).
func (t Timing) HTree(bits, bitlines int) int64 {
	return int64(bits)*int64(ceil(bitlines, 8*t.m.HTree.BandwidthBytes)) + int64(t.m.HTree.Levels)
}

// Packets returns the packets that elements of a number of bits on so many bitlines
// take to another bank.
func (t Timing) Packets(bits, bitlines int) int {
	return ceil(bits*bitlines, 8*t.m.NoC.PacketBytes)
}

// Flits returns the flits of a packet with data and its header: three on the links of
// Table 2.
func (t Timing) Flits() int { return ceil(t.m.NoC.HeaderBytes+t.m.NoC.PacketBytes, t.m.NoC.LinkBytes) }

// ControlFlits returns the flits of a packet without data: one on the links of Table 2.
func (t Timing) ControlFlits() int { return ceil(t.m.NoC.ControlBytes, t.m.NoC.LinkBytes) }

// RemoteCost returns what a bit costs that goes to another bank, beside one that
// stays: the cycles of the flits of its packet by those of the H-tree for the data.
func (t Timing) RemoteCost() int {
	return max(1, ceil(t.Flits()*t.m.HTree.BandwidthBytes, t.m.NoC.PacketBytes))
}

// Inject returns the cycles until so many packets with data have entered the
// network, which takes a flit a cycle. What makes them wait there
// is for the model of the network.
func (t Timing) Inject(packets int) int64 {
	return int64(packets) * int64(t.Flits())
}

// InterTile returns the cycles of a shift between tiles at one bank whose elements, of
// a number of bits, take so many cycles of the H-tree, and are on so many bitlines that
// leave the bank. Packets enter the network as they come out of the tree, so that the
// slower of the two counts. A shift to several tiles takes no longer: the H-tree copies
// at its forks and the network multicasts (section 5.2; Table 2), so that each bit is
// read and sent once.
func (t Timing) InterTile(tree int64, bits, remote int) int64 {
	return max(tree, int64(t.m.HTree.Levels)+t.Inject(t.Packets(bits, remote)))
}

// Diameter returns the hops between the tiles that are farthest apart.
func (t Timing) Diameter() int { return t.m.Mesh.Cols + t.m.Mesh.Rows - 2 }

// Latency returns the cycles from the injection of a packet to the arrival of its
// last flit over a number of hops in an idle network: the link from the bank, the
// stages of each router, the last of which is the link behind it, and a cycle of a
// link for each flit that follows the first. Package tile/noc has the same latency
// without load, and the one under load.
func (t Timing) Latency(hops, flits int) int64 {
	n := &t.m.NoC
	return int64(1+n.LinkCycles) + int64(hops+1)*int64(n.RouterStages-1+n.LinkCycles) + int64(flits-1)
}

// Sync returns the cycles of a barrier over a number of banks from the arrival of
// the last packet on, in an idle network: each bank reports to the core with a
// packet of control, the core takes one at a time, and clears the barrier by a
// multicast (section 5.2, synchronization). The core may be in a corner.
func (t Timing) Sync(banks int) int64 {
	return 2*t.Latency(t.Diameter(), t.ControlFlits()) + int64(max(0, banks-1))
}

func ceil(a, b int) int { return (a + b - 1) / b }
