package multicore

import (
	"github.com/bitsched/bitsched/sram/cost"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/uop"
)

// arrayBytes is what the caches are taken to be made of: arrays of the table.
func arrayBytes(m *tile.Machine, table *cost.Table) float64 {
	if a := table.Array; a != nil {
		return float64(a.Rows * a.Cols / 8)
	}
	return float64(m.Array.Rows * m.Array.Cols / 8)
}

// Energy returns what a run takes on a machine by a table of costs, by part, leakage of all
// tiles included. What the table has no value for is unknown; TLBs and predictors are left
// out. Counts of a run in samples are those of the windows, times what there is of micro-ops
// beside them.
func (t *Report) Energy(m *tile.Machine, table *cost.Table) *cost.ChipEnergy {
	c := cost.CoreCounts{RowBytes: m.Array.Cols / 8, Lines: float64(t.Memory.Reads + t.Memory.Writes)}
	c.L1, c.L2 = float64(t.Levels[0].Accesses), float64(t.Levels[1].Accesses)
	lanes := float64(m.CoreVariant().SIMDBits / 32) // at most: elements may be wider
	for k, n := range t.simd {
		switch kind := uop.Kind(k); {
		case kind == uop.Load || kind == uop.Store:
			c.L1 += float64(n) * float64(m.CoreVariant().SIMDBits/64-1)
		case kind == uop.FPMul || kind == uop.IntMul || kind == uop.FPDiv || kind == uop.IntDiv:
			c.Products += lanes * float64(n)
		case kind == uop.FPFMA:
			c.Adds += lanes * float64(n)
			c.Products += lanes * float64(n)
		case kind == uop.IntALU || kind == uop.FPAdd || kind == uop.Shuffle:
			c.Adds += lanes * float64(n)
		}
	}
	// A bank reads a line for a request, and writes one that comes from memory or is
	// given back.
	c.L3 = float64(t.Levels[2].Accesses + t.Levels[2].Misses - t.Direct)
	if t.Streams != nil {
		c.Near = float64(t.Streams.Bank.Operations)
	}
	for _, x := range t.Traffic {
		c.ByteHops += float64(x.ByteHops)
		if x.Name == "writeback" {
			c.L3 += float64(x.Messages) / 2 // the other half acknowledges
		}
	}
	scale := 1.0
	if t.Sample != nil {
		scale = t.Sample.Scale(t.MicroOps)
	}
	for _, n := range []*float64{&c.Adds, &c.Products, &c.L1, &c.L2, &c.L3, &c.ByteHops, &c.Lines, &c.Near} {
		*n *= scale
	}
	c.MicroOps = float64(t.MicroOps)
	array := arrayBytes(m, table)
	c.Cores = m.Banks()
	c.Private = float64(m.Banks()*(m.L1I.Bytes+m.L1D.Bytes+m.L2.Bytes)) / array
	c.Banks = float64(m.Banks()*m.L3.BankBytes(m)) / array
	c.Nanoseconds = float64(t.Cycles) / m.ClockGHz
	return table.Cores(c)
}
