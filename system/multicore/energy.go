package multicore

import (
	"github.com/bitsched/bitsched/sram/cost"
	"github.com/bitsched/bitsched/tile"
)

// Energy returns what a run takes on a machine by a table of costs, by part. What the
// table has no value for is unknown; leakage, TLBs and predictors are left out.
func (t *Report) Energy(m *tile.Machine, table *cost.Table) *cost.ChipEnergy {
	c := cost.CoreCounts{MicroOps: float64(t.MicroOps), RowBytes: m.Array.Cols / 8, Lines: float64(t.Memory.Reads + t.Memory.Writes)}
	c.L1, c.L2 = float64(t.Levels[0].Accesses), float64(t.Levels[1].Accesses)
	// A bank reads a line for a request, and writes one that comes from memory or is
	// given back.
	c.L3 = float64(t.Levels[2].Accesses + t.Levels[2].Misses)
	if t.Streams != nil {
		c.Near = float64(t.Streams.Bank.Operations)
	}
	for _, x := range t.Traffic {
		c.ByteHops += float64(x.ByteHops)
		if x.Name == "writeback" {
			c.L3 += float64(x.Messages) / 2 // the other half acknowledges
		}
	}
	return table.Cores(c)
}
