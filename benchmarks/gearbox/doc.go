// Package gearbox sets what package sparse executes beside what Gearbox (ISCA 2022)
// publishes: an entry for each of its tables and figures.
//
// It is no model: figures are computed by package sparse, or from sizes by the
// arithmetic that a row states. What is published, modelled here and measured here
// never share a column, and nothing is fitted.
//
//	lab := gearbox.NewLab(gearbox.Options{Scale: 8, Layers: 1, Vaults: 4})
//	entries, err := lab.Paper(ctx, []string{"table3", "fig13"})
//
// Invariants: entries depend on the options only, not on threads; a row whose gate
// does not hold says so.
package gearbox
