// Package benchmarks compares schedulers: it runs each on each circuit, checks
// and executes every program, and sets the results beside each other and beside
// the figures that the MASIM paper published, as tables, CSV, JSON and SVG.
//
// The published figures ([Paper]) are for display. No scheduler sees them.
//
// The source is "MASIM: An Efficient Multi-Array Scheduler for In-Memory SIMD
// Computation"; table, figure and section numbers in comments refer to it.
package benchmarks
