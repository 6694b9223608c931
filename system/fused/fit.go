package fused

import (
	"context"
	"slices"

	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg"
)

// noRoom is why a unit is on cores that could be in memory by itself.
const noRoom = "the lattice of all regions is larger than the arrays; others, with more operations, are in memory"

// fit returns the program of the units that are in memory: all, or, where the lattice of all is
// larger than the arrays, those that fit together, the ones with most operations first.
func (x *run) fit(ctx context.Context, opt system.Options) (*tdfg.Program, error) {
	all := x.p.Tensors
	if len(x.units) < 2 {
		return all, nil
	}
	made, err := system.Prepare(ctx, all, x.p.Sizes, opt)
	if err != nil || slices.ContainsFunc(x.units, func(u *unit) bool { return planless(made, u) == nil }) {
		return all, err
	}
	type candidate struct {
		unit       *unit
		at         int
		operations int64
	}
	var list []candidate
	whys := map[int]string{}
	for i, u := range x.units {
		one := only(all, []*unit{u})
		made, err := system.Prepare(ctx, one, x.p.Sizes, opt)
		if err != nil {
			return nil, err
		}
		if g := planless(made, u); g != nil {
			whys[i] = made.Near[g].Text()
			continue
		}
		c := candidate{unit: u, at: i}
		if err := one.Each(ctx, x.p.Sizes, func(g *tdfg.Graph, values map[string]int64) error {
			for k := range g.Nodes {
				if b, err := g.Nodes[k].Domain.Box(values); err == nil && g.Nodes[k].Kind == tdfg.Compute {
					c.operations += b.Size()
				}
			}
			return nil
		}); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	if x.opt.Parts && len(list) == 0 { // as a whole none fits
		return all, nil
	}
	for i, why := range whys {
		if x.report.Regions[i].Why == "" {
			x.report.Regions[i].Why = why
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return int(min(1, max(-1, b.operations-a.operations))) })
	var chosen []*unit
	program := all
	for _, c := range list {
		more := append(slices.Clip(chosen), c.unit)
		slices.SortFunc(more, func(a, b *unit) int { return slices.Index(x.units, a) - slices.Index(x.units, b) })
		p := only(all, more)
		made, err := system.Prepare(ctx, p, x.p.Sizes, opt)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(more, func(u *unit) bool { return planless(made, u) != nil }) {
			x.report.Regions[c.at].Why = noRoom
			continue
		}
		chosen, program = more, p
	}
	return program, nil
}

// only is a program with some of its units.
func only(p *tdfg.Program, units []*unit) *tdfg.Program {
	q := *p
	q.Body = nil
	for _, u := range units {
		q.Body = append(q.Body, u.graphs...)
	}
	return &q
}

// planless returns a graph of a unit that has no plan, nil if all have one.
func planless(made *system.Prepared, u *unit) *tdfg.Graph {
	i := slices.IndexFunc(u.regions, func(g *tdfg.Graph) bool { return made.Plans[g] == nil })
	if i < 0 {
		return nil
	}
	return u.regions[i]
}
