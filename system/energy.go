package system

import (
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/sram/cost"
	"github.com/bitsched/bitsched/tile"
)

// instructions counts the instructions that arrays execute for a command, by what
// they do to rows, whatever bitlines are enabled: an array takes energy as a whole.
func (c *clock) instructions(p *lowering.Plan, k *lowering.Command) {
	n := &c.report.Instructions
	tiles, rows := k.Tiles.Len(), int(k.Rows)
	switch k.Kind {
	case lowering.Compute:
		one := c.kernel(p.Steps[k.Step].Code.Kernel())
		n.Computes += tiles * one.Computes
		n.Moves += tiles * one.Moves
		n.Writes += tiles * one.Writes
		n.LatchReads += tiles * one.LatchReads
		n.Latches += tiles * one.Latches
		n.LatchOnly += tiles * one.LatchOnly
	case lowering.Fill:
		n.Writes += tiles * rows
	case lowering.Copy:
		n.Moves += tiles * rows
	case lowering.ShiftIntra: // a row is read and written in each of its cycles
		n.Moves += tiles * int(c.timing.IntraShift(rows, int(k.BitlineDist)))
	case lowering.ShiftInter:
		n.LatchReads += tiles * rows
		n.Writes += tiles * rows * int(k.Copies)
	}
}

// kernel counts the instructions of a kernel, once for each.
func (c *clock) kernel(k *sram.Kernel) cost.Kinds {
	if n, ok := c.kernels[k]; ok {
		return n
	}
	n := cost.Kinds{Computes: k.Cycles()}
	if kinds := cost.OfKernel(k, c.m.Array.Cols).Kinds; kinds != nil {
		n = *kinds
	}
	c.kernels[k] = n
	return n
}

// Energy returns what the arrays of a machine take for a run by a table of costs:
// that of instructions and nothing else. Transposition, H-trees, the network, DRAM and
// leakage are left out, since no table has figures for all of them.
func (r *Report) Energy(m *tile.Machine, t *cost.Table) *cost.Breakdown {
	n := r.Instructions
	return t.Breakdown(cost.Counts{
		Computes: n.Computes + n.Moves + n.Writes + n.LatchReads + n.Latches + n.LatchOnly,
		Arrays:   r.Arrays, Rows: m.Array.Rows, Cols: m.Array.Cols, Kinds: &n,
	})
}
