package fused

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg"
)

// noRoom is why a unit is on cores that could be in memory by itself.
const noRoom = "the lattice of all regions is larger than the arrays; others of the same loop, with more operations, are in memory"

// layOut lays the arrays of units out: all together, or, where the lattice of all is larger than the
// arrays, those together that fit, the ones with most operations first, then the others. Arrays go
// home between units of different layouts; no loop has such units, where they would do so in each
// iteration. What does not fit by itself has a layout of its own, for parts of it.
func (x *run) layOut(ctx context.Context, opt system.Options) error {
	groups, err := x.groups(ctx, opt)
	if err != nil {
		return err
	}
	x.layouts = make([]*system.Session, len(x.units))
	for _, g := range groups {
		var session *system.Session
		if program := x.program(g); x.session == nil {
			session, err = system.NewSession(ctx, program, x.p.Sizes, x.mem, opt, x)
			x.session = session
		} else {
			session, err = x.session.Beside(ctx, program)
		}
		if err != nil {
			return err
		}
		for _, u := range g {
			x.layouts[slices.Index(x.units, u)] = session
		}
	}
	for i, l := range x.layouts {
		if l == nil { // stays on cores
			x.layouts[i] = x.session
		}
	}
	return nil
}

// groups returns the units of each layout.
func (x *run) groups(ctx context.Context, opt system.Options) (groups [][]*unit, err error) {
	if len(x.units) < 2 {
		return [][]*unit{x.units}, nil
	}
	made, err := system.Prepare(ctx, x.p.Tensors, x.p.Sizes, opt)
	if err != nil || slices.ContainsFunc(x.units, func(u *unit) bool { return planless(made, u) == nil }) {
		return [][]*unit{x.units}, err
	}
	type candidate struct {
		unit       *unit
		operations int64
	}
	var list []candidate
	var large []*unit
	for i, u := range x.units {
		one := x.program([]*unit{u})
		made, err := system.Prepare(ctx, one, x.p.Sizes, opt)
		if err != nil {
			return nil, err
		}
		if g := planless(made, u); g != nil {
			if x.opt.Parts && errors.Is(made.Near[g].Err, lowering.ErrTooLarge) {
				large = append(large, u)
			} else if x.report.Regions[i].Why == "" {
				x.report.Regions[i].Why = made.Near[g].Text()
			}
			continue
		}
		c := candidate{unit: u}
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
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.operations, a.operations) })
	for len(list) > 0 {
		var group []*unit
		var rest []candidate
		for _, c := range list {
			more := append(slices.Clip(group), c.unit)
			slices.SortFunc(more, func(a, b *unit) int { return slices.Index(x.units, a) - slices.Index(x.units, b) })
			made, err := system.Prepare(ctx, x.program(more), x.p.Sizes, opt)
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(more, func(u *unit) bool { return planless(made, u) != nil }) {
				rest = append(rest, c)
			} else {
				group = more
			}
		}
		groups = append(groups, group)
		list = rest[:0]
		for _, c := range rest {
			if x.share != nil || slices.ContainsFunc(group, func(u *unit) bool { return x.together(u, c.unit) }) {
				x.report.Regions[slices.Index(x.units, c.unit)].Why = noRoom
			} else {
				list = append(list, c)
			}
		}
	}
	for i, u := range x.units {
		if why := &x.report.Regions[i].Why; *why == "" && slices.Contains(large, u) && slices.ContainsFunc(x.units, func(v *unit) bool { return !slices.Contains(large, v) && x.together(u, v) }) {
			*why = noRoom
		}
	}
	switch {
	case len(large) > 0:
		groups = append(groups, large)
	case len(groups) == 0: // the session knows why
		groups = [][]*unit{x.units}
	}
	return groups, nil
}

// together reports whether a loop is around both units that may have more than one iteration.
func (x *run) together(u, v *unit) bool {
	a, b := around(x.p.Graph, u.stmts[0]), around(x.p.Graph, v.stmts[0])
	for i := 0; i < min(len(a), len(b)) && a[i] == b[i]; i++ {
		if !once(a[i]) {
			return true
		}
	}
	return false
}

// program is what the function computes in tensors, of some units.
func (x *run) program(units []*unit) *tdfg.Program {
	if len(units) == len(x.units) {
		return x.p.Tensors
	}
	q := *x.p.Tensors
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
