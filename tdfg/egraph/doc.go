// Package egraph makes tensor dataflow graphs cheaper by equality saturation
// (Infinity Stream, section 3.2 and appendix A).
//
// [Optimize] puts a graph into an e-graph: classes of nodes with the same value at
// the same points. Rules, the equations 3a to 9 of the appendix and some more, add
// nodes to classes and unite classes, until nothing new comes or a limit stops
// them. Then one node of each class that is needed is chosen, so that the graph of
// these costs least; what is shared counts once. The result has the outputs of the
// graph that was given, with their domains, types and bits, and costs no more.
//
//	g, stats, err := egraph.Optimize(ctx, g, egraph.Options{})
//	fmt.Println(stats.Stop, stats.Before.Cost, stats.After.Cost)
//
// What is moved outside the bounding hyperrectangle is discarded, so the equations
// do not hold everywhere: both sides have the same values where they have points,
// but may have different points. A rule applies where tdfg.Scope.Infer gives both
// sides the same domain, for all sizes, and nowhere else. All nodes of a class have
// the same type and domain; a mistake that would merge others stops the program.
//
// Sums and products of floating-point numbers keep their order unless
// [Options.Reassociate] allows another. Streams and reductions are taken as they
// are; equal ones become one.
//
// The package knows nothing of hardware. What things cost is in a table, [Cost]:
// [DefaultCost] has relative weights by the width of elements, and whoever knows
// latencies passes these.
//
// The e-graph follows egg (Willsey et al., 2021): hash-consing, union-find,
// deferred rebuilding, rules with backoff. rules.go is the table of rules.
package egraph
