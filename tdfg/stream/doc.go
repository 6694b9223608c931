// Package stream has stream dataflow graphs (sDFG): the accesses of a loop nest
// decoupled into streams, each with an address pattern and the computation that
// belongs to it. It follows Near-Stream Computing (sections II and III, Table II)
// and Infinity Stream (sections 3.1 and 3.3).
//
// A [Graph] is a tree of loops with streams in them, in program order. A [Stream]
// loads, stores, updates in place or reduces. Its subscripts are affine in the
// symbols of the graph, the variables of the loops around it, and the values of
// other streams: A[i-1] is an affine pattern, A[b] with a stream b an indirect
// one, and next[p] with p the stream itself is pointer-chasing. The computation
// is an expression, [Expr], of the same names and of the stream's own element.
//
//	graph saxpy
//	symbol N in [1,inf)
//	array X fp32[N]
//	array Y fp32[N]
//	param a fp32
//	for i in [0,N) {
//		load x: X[i]
//		rmw y: Y[i] = add(@, mul(a, x))
//	}
//
// [Parse] reads this text and [Graph.String] writes it; text is in the order of C,
// outermost subscript first, and the fields of Array and Stream are in that of
// package lattice, innermost first.
//
// [Compile] gives a [Program] that executes the graph in program order, one
// element after the other: the reference for whatever executes streams
// elsewhere. The package knows nothing of tensors, of caches or of time.
//
// Invariants of a graph that [Graph.Check] accepts: every name is declared once
// (variables of loops that do not enclose each other may be the same), every value
// that is used was computed before, in the same iteration of the loops that both
// are in, and every operation has operands of the type that it needs. What can be
// wrong after that depends on data only: a subscript out of bounds, which is an
// error of the run.
package stream
