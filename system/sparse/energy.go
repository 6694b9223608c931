package sparse

import "github.com/bitsched/bitsched/sram/cost"

// Energy is what a run took, by a table of package sram/cost.
type Energy struct {
	Table   string       `json:"table"`
	Lines   []EnergyLine `json:"lines"`
	Total   float64      `json:"joules"`   // of what is known
	LeftOut []string     `json:"left_out"` // what is not
	Watts   float64      `json:"watts"`    // the total over the time of the run

	Unconfirmed []string `json:"unconfirmed,omitempty"` // values of the table that are derived or quoted
}

// EnergyLine is a part of the energy.
type EnergyLine struct {
	Name   string   `json:"name"`
	Count  int64    `json:"count"`
	Joules *float64 `json:"joules"` // null = unknown
	Share  float64  `json:"share"`  // of the total
}

// bill adds up lines by a table.
type bill struct {
	*Energy
	table *cost.Table
}

func newBill(t *cost.Table) bill { return bill{&Energy{Table: t.Name}, t} }

// add prices a count by a quantity of the table in a unit; "" = no table has it.
func (b bill) add(name, what, unit string, count float64) {
	line := EnergyLine{Name: name, Count: int64(count)}
	if v := b.table.Get(what); what != "" && v != nil && v.Value != nil && v.Unit == unit {
		j := *v.Value * count * 1e-12 // of pJ, or of mW x ns
		line.Joules = &j
		b.Total += j
		if v.Confirmed == nil || !*v.Confirmed {
			b.Unconfirmed = append(b.Unconfirmed, what)
		}
	} else {
		b.LeftOut = append(b.LeftOut, name)
	}
	b.Lines = append(b.Lines, line)
}

// of is the energy of a run of some seconds.
func (b bill) of(seconds float64) *Energy {
	for i := range b.Lines {
		if j := b.Lines[i].Joules; j != nil && b.Total > 0 {
			b.Lines[i].Share = *j / b.Total
		}
	}
	if seconds > 0 {
		b.Watts = b.Total / seconds
	}
	return b.Energy
}

// Price counts the energy of a run by a table; what the table does not have is
// unknown, and what no table has is named.
func Price(res *Result, t *cost.Table) *Energy {
	c, b := res.Counters, newBill(t)
	b.add("row switches", "row.energy", "pJ", float64(c.Loads))
	b.add("operations of SPUs", "alu.energy", "pJ", float64(c.ALU))
	b.add("comparisons of SPUs", "logic.energy", "pJ", float64(c.Compare))
	b.add("lines", "line.energy", "pJ", float64(c.LineHops))
	b.add("rings", "ring.energy", "pJ", float64(c.RingHops))
	b.add("TSVs", "tsv.energy", "pJ", float64(c.TSVHops))
	b.add("shift-outs", "shift.energy", "pJ", float64(c.Shifts))
	b.add("cores and SRAM of the logic layer", "", "", float64(c.Reduced))
	b.add("refresh", "", "", 0)
	return b.of(res.Seconds)
}

// PriceChip counts the energy of a run on an SRAM chip by a table of its parts. A row
// switch is taken as a read of a row, an operation of an SPU as one near the memory; an
// H-tree carries a pair on its way out and on its way in.
func PriceChip(res *ChipResult, t *cost.Table) *Energy {
	c, p, b := res.Counters, res.Pairs, newBill(t)
	through := float64(p.Remote + p.Clean + p.Down + p.Reduced + p.Remote + p.Clean)
	b.add("row switches", "read.energy", "pJ", float64(c.Loads))
	b.add("operations and comparisons of SPUs", "near.energy", "pJ", float64(c.ALU+c.Compare))
	b.add("H-trees, rows of 256 bits", "htree.energy", "pJ", through*64/256)
	b.add("mesh, bytes x links", "noc.energy", "pJ", float64(res.FlitHops))
	b.add("DRAM, lines of 64 bytes", "dram.energy", "pJ", float64(res.DRAMBytes)/64*float64(len(res.Iterations)))
	b.add("leakage, arrays x ns", "leakage.power", "mW", float64(chipSPUArrays*res.SPUs)*res.Seconds*1e9)
	if res.ApplyBits > 0 && res.Apply == ApplyBits {
		b.add("step 6 in bitlines", "", "", 0)
	}
	b.add("cores and stream engines", "", "", float64(c.Reduced))
	return b.of(res.Seconds)
}
