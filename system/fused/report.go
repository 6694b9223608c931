package fused

import (
	"github.com/bitsched/bitsched/sram/cost"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/tc"
)

// Report is what a run took. The cycles of its cores are those of the kernel.
type Report struct {
	Report    *multicore.Report `json:"-"` // of the cores
	Config    string            `json:"configuration"`
	Decide    bool              `json:"decide"`
	Latencies string            `json:"latencies,omitempty"`

	Regions   []RegionReport    `json:"regions"`
	Cycles    Cycles            `json:"breakdown"`
	WriteBack int64             `json:"write_back"`      // cycles behind the kernel, until all arrays were back
	Flushed   int64             `json:"flushed_lines"`   // of reserved ways
	Parts     int64             `json:"parts"`           // that regions larger than the arrays were executed in
	Refetched int64             `json:"refetched_lines"` // of arrays on bitlines that cores had asked for
	Releases  []Release         `json:"releases"`
	Lowered   Lowered           `json:"lowered"`
	Arrays    *system.Report    `json:"arrays"` // nil where nothing was laid out
	Tensor    tc.Counters       `json:"tensor"`
	Messages  []multicore.Class `json:"tensor_messages"`

	// Of auto: what was expected of each part, and the bytes that lie in a bank together; and the runs
	// that it was chosen from.
	Choices    []*Choice  `json:"choices,omitempty"`
	Interleave int        `json:"interleave_bytes,omitempty"`
	Rehearsed  *Rehearsed `json:"rehearsed,omitempty"`

	steps   []step            // parts in the order in which thread 0 came to them, the first ones
	choices []bool            // whether a unit was in memory, each time that one was reached
	layouts []*system.Session // of units
	banks   bool              // reduce what they have for themselves first
}

// RegionReport is a unit of the function: one region, or several that threads could not
// be told between.
type RegionReport struct {
	Name     string          `json:"name"`
	Reached  int64           `json:"reached"`
	InMemory int64           `json:"in_memory"`
	Against  int64           `json:"decided_against"`
	Near     int64           `json:"needs_streams"` // times that it needed streams near the memory, which the configuration has not
	Cycles   int64           `json:"cycles"`
	OnCores  int64           `json:"cycles_on_cores"`    // of thread 0, the times that threads executed it
	Why      string          `json:"why,omitempty"`      // it cannot be in memory
	Decision system.Decision `json:"decision,omitempty"` // Eq. 2 of the last time
}

// Lowered is what lowering took, summed up over all regions that were lowered: what
// [tile.JIT] has cycles for.
type Lowered struct {
	Regions  int64 `json:"regions"`
	Steps    int64 `json:"steps"`
	Commands int64 `json:"commands"`
	Banks    int64 `json:"banks"` // that commands were matched with on cores
	Patched  int64 `json:"patched"`
	Numbers  int64 `json:"numbers"` // of commands that were patched
}

// Counts are all of them, in order.
func (l *Lowered) Counts() []int64 {
	return []int64{l.Regions, l.Steps, l.Commands, l.Banks, l.Patched, l.Numbers}
}

func (l *Lowered) add(w *tile.JITWork) {
	l.Regions++
	l.Steps += int64(w.Steps)
	l.Commands += int64(w.Commands)
	l.Banks += int64(w.Banks)
	if w.Patching {
		l.Patched++
		l.Numbers += int64(w.Numbers)
	}
}

// Release is when all arrays went back, and why.
type Release struct {
	At  int64  `json:"at"`
	Why string `json:"why"`
}

// Cycles are where those of regions went. Core is the rest of the kernel.
type Cycles struct {
	Regions int64 `json:"regions"`
	Core    int64 `json:"core"`
	Drain   int64 `json:"drain"`        // until no request of a core was under way
	Flush   int64 `json:"flush"`        // of reserved ways
	DRAM    int64 `json:"dram"`         // arrays to bitlines
	Spill   int64 `json:"spill"`        // words to idle arrays or DRAM and back, for which bitlines have no rows
	Return  int64 `json:"return"`       // arrays to their homes, since others needed rows
	Behind  int64 `json:"released"`     // the same, after their delayed release: threads go on meanwhile, unless they need a region
	JIT     int64 `json:"jit"`          // lowering that arrays wait for
	Hidden  int64 `json:"jit_hidden"`   // and lowering that they do not
	Compute int64 `json:"compute"`      // in arrays
	Move    int64 `json:"move"`         // within tiles
	Between int64 `json:"between"`      // tiles
	Sync    int64 `json:"sync"`         // barriers, and what waited for commands, packets and H-trees
	Final   int64 `json:"final_reduce"` // last steps of reductions
	Near    int64 `json:"near"`         // streams of regions
}

// part names a part of the cycles, for a trace.
func (r *Report) part(p *int64) string {
	c := &r.Cycles
	switch p {
	case &c.Drain:
		return "drain"
	case &c.Flush:
		return "flush ways"
	case &c.DRAM:
		return "load"
	case &c.Spill:
		return "spill"
	case &c.JIT:
		return "JIT"
	case &c.Final:
		return "reduce"
	case &c.Near:
		return "streams"
	case &c.Return, &c.Behind, &r.WriteBack:
		return "write back"
	}
	return ""
}

// finish completes the report.
func (x *run) finish() {
	r := x.report
	r.Cycles.Core = r.Report.Cycles - r.Cycles.Regions
	for u, v := range x.units {
		if r.Regions[u].InMemory == 0 {
			continue
		}
		for i, s := range x.code.Stages() {
			if i < len(r.Report.Stages) && s.Has(v.stmts[0]) {
				r.Report.Stages[i].Place = multicore.InArrays
			}
		}
	}
	if x.session != nil {
		r.Arrays, r.layouts, r.banks = x.session.Report(), x.layouts, x.config.streams
	}
	if x.tensor == nil {
		return
	}
	r.Tensor = x.tensor.Counters
	t := &x.tensor.Traffic
	for k := range tc.NumMessages {
		if t.Messages[k] > 0 {
			r.Messages = append(r.Messages, multicore.Class{Name: k.String(), Messages: t.Messages[k], Bytes: t.Bytes[k], ByteHops: t.ByteHops[k]})
		}
	}
}

// Energy returns what arrays take by a table of costs, beside that of the report of the
// cores, which has the network, DRAM and leakage of both. nil where nothing was laid out.
func (r *Report) Energy(m *tile.Machine, t *cost.Table) *cost.ChipEnergy {
	if r.Arrays == nil {
		return nil
	}
	a := *r.Arrays
	a.ByteHops, a.DRAMBytes, a.Arrays = 0, 0, 0
	return a.Energy(m, t)
}
