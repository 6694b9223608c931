package sparse

import "github.com/bitsched/bitsched/sram/cost"

// Energy is what a run took, by a table of package sram/cost.
type Energy struct {
	Table   string       `json:"table"`
	Lines   []EnergyLine `json:"lines"`
	Total   float64      `json:"joules"`   // of what is known
	LeftOut []string     `json:"left_out"` // what is not
	Watts   float64      `json:"watts"`    // the total over the time of the run
}

// EnergyLine is a part of the energy.
type EnergyLine struct {
	Name   string   `json:"name"`
	Count  int64    `json:"count"`
	Joules *float64 `json:"joules"` // null = unknown
	Share  float64  `json:"share"`  // of the total
}

// Price counts the energy of a run by a table; what the table does not have is
// unknown, and what no table has is named.
func Price(res *Result, t *cost.Table) *Energy {
	c := res.Counters
	e := &Energy{Table: t.Name}
	add := func(name, what string, count int64) {
		line := EnergyLine{Name: name, Count: count}
		if v := t.Get(what); what != "" && v != nil && v.Value != nil && v.Unit == "pJ" {
			j := *v.Value * float64(count) * 1e-12
			line.Joules = &j
			e.Total += j
		} else {
			e.LeftOut = append(e.LeftOut, name)
		}
		e.Lines = append(e.Lines, line)
	}
	add("row switches", "row.energy", c.Loads)
	add("operations of SPUs", "alu.energy", c.ALU)
	add("comparisons of SPUs", "logic.energy", c.Compare)
	add("lines", "line.energy", c.LineHops)
	add("rings", "ring.energy", c.RingHops)
	add("TSVs", "tsv.energy", c.TSVHops)
	add("shift-outs", "shift.energy", c.Shifts)
	add("cores and SRAM of the logic layer", "", c.Reduced)
	add("refresh", "", 0)
	for i := range e.Lines {
		if j := e.Lines[i].Joules; j != nil && e.Total > 0 {
			e.Lines[i].Share = *j / e.Total
		}
	}
	if res.Seconds > 0 {
		e.Watts = e.Total / res.Seconds
	}
	return e
}
