package system

import (
	"context"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg"
)

// Prepared is what is known of a program on a machine before it runs.
type Prepared struct {
	Grid   *lowering.Grid // nil if no array is laid out in memory
	Hints  lowering.Hints // that chose the tiles
	Limits lowering.Constraints

	Arrays []*tdfg.Array // in the order in which they get rows

	Rows  map[string]lowering.Register // of arrays, while they are on bitlines
	Used  int                          // rows that arrays take
	Plans map[*tdfg.Graph]*lowering.Plan
	Near  map[*tdfg.Graph]*Reason // why a graph has no plan and is executed near the memory
}

// Prepare makes the layout and the plans with which [Run] executes a program with the same
// options. An error says that the tiles asked for are not possible, or that sizes are missing.
func Prepare(ctx context.Context, p *tdfg.Program, sizes map[string]int64, opt Options) (*Prepared, error) {
	opt.TimingOnly = true
	m := opt.Machine
	r := newRunner(p, sizes, nil, opt)
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	out := &Prepared{Grid: r.grid(), Arrays: r.arrays, Plans: r.plans, Near: r.near}
	if r.table == nil {
		return out, nil
	}
	var graphs []*tdfg.Graph
	for _, region := range p.Regions() {
		graphs = append(graphs, region.Graph)
	}
	_, _, fit := arraysOf(graphs)
	out.Rows, out.Used = map[string]lowering.Register{}, r.used
	for _, a := range r.arrays {
		if row, ok := r.rows[a.Name]; ok {
			out.Rows[a.Name] = lowering.Register{Row: row, Bits: a.Type.Bits()}
		}
	}
	out.Hints = hints(&r.opt, fit, sizes)
	widest := 1
	for _, a := range r.arrays {
		widest = max(widest, a.Type.Bytes())
	}
	var err error
	out.Limits, err = lowering.ConstraintsOf(m, widest)
	return out, err
}
