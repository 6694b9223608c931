package tile

import "github.com/bitsched/bitsched/tile/noc"

// NoCConfig returns the network between the tiles. Its buffers hold a packet with
// data at least, so that such a packet can be a multicast.
func (m *Machine) NoCConfig() noc.Config {
	n := &m.NoC
	return noc.Config{
		Width: m.Mesh.Cols, Height: m.Mesh.Rows, VCs: n.VCs, Depth: max(n.BufferFlits, NewTiming(m).Flits()),
		RouterCycles: n.RouterStages - 1, LinkCycles: n.LinkCycles, CreditCycles: n.CreditCycles, LinkBytes: n.LinkBytes,
		YX: n.Routing == "yx",
	}
}

// CoreNames returns the names of the cores that descriptions have.
func CoreNames() []string { return []string{"io4", "ooo4", "ooo8"} }

// CoreVariant returns the core that a tile has.
func (m *Machine) CoreVariant() *Core {
	switch m.Core {
	case "io4":
		return &m.Cores.IO4
	case "ooo4":
		return &m.Cores.OOO4
	}
	return &m.Cores.OOO8
}

// FPSIMDUnit returns the units for vectors of floating-point numbers by the reading
// of a core.
func (c *Core) FPSIMDUnit() Unit {
	switch c.FPSIMD {
	case "4-pipelined": // Infinity Stream, Table 2
		return Unit{c.Units.FPSIMD, 4, true}
	case "2-unpipelined": // its simulator, GemForgeFUPool.py
		return Unit{c.Units.FPSIMD, 2, false}
	}
	return Unit{1, 1, true} // Eq. 1: a vector a cycle
}

// PeakOps returns the operations a cycle of all cores at their peak on words of a
// number of bits: TP_core of Eq. 2, by the reading of the units for vectors
// (Infinity Stream, sections 2.2 and 4.3).
func (m *Machine) PeakOps(bits int) float64 {
	c := m.CoreVariant()
	u := c.FPSIMDUnit()
	vectors := float64(u.Count)
	if !u.Pipelined {
		vectors /= float64(u.Cycles)
	}
	return float64(m.Banks()) * min(vectors, float64(c.Width)) * float64(c.SIMDBits/bits)
}

// DRAMBytesPerCycle returns the bandwidth of all memory controllers together, by the
// reading of what the figure of the bandwidth is of.
func (m *Machine) DRAMBytesPerCycle() float64 {
	controllers := m.NoC.MemoryControllers
	if m.DRAM.Reading == "total" {
		controllers = 1
	}
	return m.DRAM.BandwidthGBs / m.ClockGHz * float64(controllers)
}

// StreamCycles returns the cycles that the streams of all banks take for a number of
// operations, shared evenly: none where streams take no time, at 0 operations a cycle.
func (m *Machine) StreamCycles(ops int64) int64 {
	rate := int64(m.Streams.L3.OpsPerCycle) * int64(m.Banks())
	if rate <= 0 {
		return 0
	}
	return (ops + rate - 1) / rate
}

// JITWork is the lowering of a region.
type JITWork struct {
	Steps, Commands int  // of its plan, and what these gave, in so far as they were lowered anew
	Banks           int  // that commands are matched with, summed up
	FirstOfRegion   bool // the region was not lowered before
	FirstOfProgram  bool // nothing was
	Patching        bool // the commands of the last time were patched
	Numbers         int  // of commands that were patched
}

// JITCycles returns the cycles that a core takes for the lowering of a region, by
// the reading.
func (m *Machine) JITCycles(w JITWork) int64 {
	j := &m.JIT
	switch j.Reading {
	case "command-once":
		if w.FirstOfRegion {
			return int64(w.Commands) * int64(j.OnceCycles)
		}
		return 0
	case "paper-mean":
		if w.FirstOfProgram {
			return int64(j.MeanUs * 1000 * m.ClockGHz)
		}
		return 0
	}
	n := int64(w.Steps)*int64(j.NodeCycles) + int64(w.Commands)*int64(j.CommandCycles) + int64(w.Banks)*int64(j.BankCycles)
	if w.Patching {
		n += int64(j.CheckCycles) + int64(w.Numbers)*int64(j.PatchCycles)
	}
	return n
}

// Controller returns the tile of a memory controller.
func (m *Machine) Controller(i int) int {
	cols, rows, n := m.Mesh.Cols, m.Mesh.Rows, m.NoC.MemoryControllers
	switch m.NoC.Controllers {
	case "corners": // the corners in order of their tiles, and around again
		corners := [4]int{0, cols - 1, cols * (rows - 1), cols*rows - 1}
		return corners[i%4]
	case "edges": // the first column and the last one, evenly
		half := (n + 1) / 2
		if cols == 1 {
			half = n
		}
		if i < half {
			return i * rows / half * cols
		}
		return (i-half)*rows/max(n-half, 1)*cols + cols - 1
	}
	// Tiled: the most square grid of n over the mesh, shifted by one in every other
	// column (gem-forge, MeshDir_XY.py, dir_tile4x4: row 2i + j mod 2, column 2j + i mod 2).
	across := 1
	for w := 1; w*w <= n; w++ {
		if n%w == 0 {
			across = w
		}
	}
	down := n / across
	if cols > rows {
		across, down = down, across
	}
	if across > cols || down > rows { // no such grid: in order
		return i
	}
	r, c := i/across, i%across
	row, col := r*rows/down, c*cols/across
	if rows/down > 1 {
		row += c % 2
	}
	if cols/across > 1 {
		col += r % 2
	}
	return row*cols + col
}
