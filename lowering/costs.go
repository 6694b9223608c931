package lowering

import (
	"context"
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/egraph"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tile"
)

// Costs returns what the nodes of a program cost on a machine by the lengths of the programs that
// arrays execute for them, in cycles: those of its operations, and of the other ones on
// its types that the optimiser may bring in. A move reads and writes a row for each
// bit, as in [egraph.DefaultCost]. What no program computes keeps the weight that it has
// there, for each element, since it is computed near the memory, one after the other.
func Costs(ctx context.Context, p *tdfg.Program, programs *arith.Store, m *tile.Machine) (*egraph.Cost, error) {
	used := map[scalar.Op]bool{}
	var types []scalar.Type
	for _, r := range p.Regions() {
		for i := range r.Graph.Nodes {
			n := &r.Graph.Nodes[i]
			used[n.Op] = true
			if !slices.Contains(types, n.Type) {
				types = append(types, n.Type)
			}
		}
	}
	c := egraph.DefaultCost(int64(m.Bitlines()))
	length := func(list []micro) (float64, error) {
		cycles := 0.0
		for _, x := range list {
			q, err := programs.Build(ctx, arith.Spec{Op: x.op, Tech: m.Array.Technology, Rows: m.UsableRows()})
			if err != nil {
				return 0, err
			}
			cycles += float64(q.Latency())
		}
		return cycles, nil
	}
	for _, t := range types {
		for _, op := range scalar.Ops() {
			if !op.Supports(t) || !used[op] && long[op] {
				continue
			}
			if list, err := choose(op, t); err == nil {
				if cycles, err := length(list); err == nil {
					c.Compute[egraph.Operation{Op: op, Type: t}] = cycles
				}
			}
		}
		for _, u := range types {
			if list, err := convert(t, u); err == nil {
				if cycles, err := length(list); err == nil {
					c.Convert[egraph.Conversion{From: t, To: u}] = cycles
				}
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("lowering: costs: %w", err)
	}
	return c, nil
}

// long are operations whose programs take long to make, and that no rule brings in.
var long = map[scalar.Op]bool{scalar.Div: true, scalar.Rem: true, scalar.Sqrt: true, scalar.FMA: true}
