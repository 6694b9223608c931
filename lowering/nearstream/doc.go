// Package nearstream is the compiler of Near-Stream Computing (section III.B): it finds
// the streams of a whole function, assigns computations to them, and says which of them
// may leave the core, which not, and why.
//
//	g, err := cfront.CompileWhole(ctx, file, source, cfront.Options{})
//	plan, err := nearstream.Analyze(g)
//	for _, s := range plan.Streams {
//		fmt.Println(s.Name, s.Address, s.Kind, s.Place, s.Why)
//	}
//
// It takes the graph of any function and knows no workload.
//
//   - value.go makes a graph of values of the body of each loop: each expression once,
//     variables of an iteration in the place of their uses, and what uses each.
//   - address.go finds address patterns: affine in up to three loops, indirect by the value
//     of one stream, pointer chasing, or none.
//   - assign.go gives computations to streams: closures that shrink what a load sends, what
//     a store or an update writes, reductions. Loads of one element of the same array, and
//     of members of one structure, are one stream; a load and the store to the same element
//     are an update.
//   - nest.go says which inner loops are configured by streams of outer ones, and which
//     vanish when streams need no order (section V).
//   - config.go has the fields and sizes of table IV.
//
// Invariants: each stream of the graph that accesses an array in a loop belongs to exactly
// one [Stream]; each operation is computed by at most one; what is computed near the L3
// depends on streams, constants and values that do not change in the loop, and on nothing
// else that the core has.
//
// It is not: the decision at run time, which looks at footprints and misses (section IV.B),
// and nothing here has time.
package nearstream
