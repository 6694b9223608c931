// Package tdfg has the tensor dataflow graph of Infinity Stream (sections 3.2 and
// 3.3, figure 5): what a kernel computes, with the position of every element in a
// global lattice space, and nothing of the hardware that will do it.
//
// A [Program] is a kernel: arrays, parameters, and host code, loops around
// regions. A region is a [Graph]: nodes in static single assignment form, each a
// tensor, that is a value at every lattice point of a hyperrectangle:
//
//	tensor     elements of an array
//	const      one value at every point of the lattice
//	cmp        an operation at every point that all operands have
//	convert    a change of type, likewise
//	mv         a tensor moved along a dimension
//	bc         a tensor of one coordinate in a dimension, copied to many
//	shrink     a tensor without some of its points (appendix)
//	reduce     groups of neighbours reduced to their first, in the memory
//	final      the rest of a reduction, near the memory
//	strm       what a stream reads, computes or writes near the memory
//
// Operands of a computation must lie at the same point: mv and bc bring them there.
// What is moved outside the bounding hyperrectangle, the least one that contains
// all arrays, is discarded. Every array has its origin at that of the lattice.
//
// A graph is built with a [Builder], which infers domains and types and refuses
// what is wrong; [Graph.Check] looks at all of it again. The bounds may be symbolic
// (package lattice); [Graph.Bind] gives the sizes values.
//
// The package knows nothing of arrays of cells, tiles or latencies; package
// tdfg/interp executes graphs as they are defined, tdfg/egraph makes them cheaper,
// and tdfg/cfront makes them of C.
package tdfg
