package system

import (
	"context"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/sram/cost"
	"github.com/bitsched/bitsched/tile"
)

// counter counts what work does, whenever that is: commands, operations, rows and bytes.
type counter struct {
	m       *tile.Machine
	timing  tile.Timing
	report  *Report
	kernels map[*sram.Kernel]cost.Kinds // instructions of each
}

func newCounter(m *tile.Machine, r *Report) *counter {
	return &counter{m: m, timing: tile.NewTiming(m), report: r, kernels: map[*sram.Kernel]cost.Kinds{}}
}

// Consume counts a piece of work.
func (c *counter) Consume(_ context.Context, w *Work) error {
	r := c.report
	switch w.Kind {
	case Transferred:
		r.DRAMBytes += w.Bytes
		r.MovedBytes += w.Moved
		if w.Load {
			r.LoadBytes += w.Bytes
			r.MovedInBytes += w.Moved
		}
	case Executed:
		for i := range w.Commands {
			c.command(w.Plan, &w.Commands[i])
		}
	}
	return nil
}

func (c *counter) command(p *lowering.Plan, k *lowering.Command) {
	r := c.report
	r.Commands++
	c.instructions(p, k)
	lanes := int64(c.m.Array.Cols)
	if !k.Whole {
		lanes = int64(k.Bitlines.Len())
	}
	lanes *= int64(k.Tiles.Len())
	switch k.Kind {
	case lowering.Sync:
		r.Syncs++
		return
	case lowering.ShiftInter:
		r.InterBytes += lanes * int64(k.Rows) / 8
		return
	case lowering.ShiftIntra:
		r.IntraBytes += lanes * int64(k.Rows) / 8
	case lowering.Compute:
		r.Operations += lanes
	}
	n, _ := localCycles(c.timing, p, k)
	r.RowOps += n * int64(k.Tiles.Len())
}

// localCycles returns the cycles of a command that stays within arrays, and the part of
// the cycles that they belong to.
func localCycles(t tile.Timing, p *lowering.Plan, k *lowering.Command) (int64, func(*Cycles) *int64) {
	compute, move := func(c *Cycles) *int64 { return &c.Compute }, func(c *Cycles) *int64 { return &c.Move }
	switch k.Kind {
	case lowering.Compute:
		return t.Compute(p.Steps[k.Step].Code.Kernel()), compute
	case lowering.Fill:
		return t.Constant(int(k.Rows)), compute
	case lowering.Copy:
		return t.IntraShift(int(k.Rows), 0), move
	}
	return t.IntraShift(int(k.Rows), int(k.BitlineDist)), move
}
