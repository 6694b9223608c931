package system

import (
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/sram/cost"
	"github.com/bitsched/bitsched/tile"
)

// instructions counts the instructions that arrays execute for a command, by what
// they do to rows, whatever bitlines are enabled: an array takes energy as a whole.
func (c *counter) instructions(p *lowering.Plan, k *lowering.Command) {
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
		c.report.WithinRows += tiles * rows
	case lowering.ShiftIntra: // a row is read and written in each of its cycles
		moves := tiles * int(c.timing.IntraShift(rows, int(k.BitlineDist)))
		n.Moves += moves
		c.report.WithinRows += moves
	case lowering.ShiftInter:
		n.LatchReads += tiles * rows
		n.Writes += tiles * rows * int(k.Copies)
		c.report.SentRows += tiles * rows
		c.report.ReceivedRows += tiles * rows * int(k.Copies)
	}
}

// kernel counts the instructions of a kernel, once for each.
func (c *counter) kernel(k *sram.Kernel) cost.Kinds {
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

// Energy returns what a run takes on a machine by a table of costs. Cores, messages of
// barriers, and requests of streams to transposed data are not counted; what is
// executed near the memory is, and no table has a figure for it. Leakage is that of
// the arrays that hold data, over the time of what is in memory.
func (r *Report) Energy(m *tile.Machine, t *cost.Table) *cost.ChipEnergy {
	programs := r.Instructions
	programs.Moves -= r.WithinRows
	programs.LatchReads -= r.SentRows
	programs.Writes -= r.ReceivedRows
	rows := func(bytes int64) int { return (int(bytes)*8 + m.Array.Cols - 1) / m.Array.Cols }
	return t.Chip(cost.ChipCounts{
		Programs: programs, Within: r.WithinRows, Sent: r.SentRows, Received: r.ReceivedRows,
		Tree: float64(r.InterBytes) * 8 / float64(m.Array.Cols), ByteHops: float64(r.ByteHops),
		Loaded: rows(r.MovedInBytes), Stored: rows(r.MovedBytes - r.MovedInBytes), Lines: float64(r.DRAMBytes) / cost.LineBytes,
		Near: float64(r.NearOps), Arrays: r.Arrays, Rows: m.Array.Rows, Cols: m.Array.Cols,
		Nanoseconds: float64(r.Cycles.Total) / m.ClockGHz,
	})
}
