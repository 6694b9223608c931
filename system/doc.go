// Package system runs programs of tensor dataflow graphs on a whole machine: it
// lays arrays out in the cells of a chip, has graphs lowered to commands, executes
// these, and counts cycles, traffic and energy (Infinity Stream, sections 4 and 5).
//
// What computes is exchangeable, and what it costs is not: at gate fidelity every
// command runs its bit-serial program on every bitline, at word fidelity it computes
// elements, and some arrays are executed bit by bit beside it and compared. Commands,
// and so cycles, are the same. What is not in memory is executed near it, as streams.
// Where an array lies while it is on bitlines is known to its layout override table
// alone.
//
// Execution has no time: it gives [Work], which a [Clock] and the counters consume. The
// analytic clock has formulas; the event-driven one has components that wait for each
// other (package tile/tensor), and never fewer cycles.
//
//	m := memory.New() // arrays and scalars
//	report, err := system.Run(ctx, program, sizes, m, system.Options{Machine: tile.Default()})
//
// A check that fails is an [ErrInternal] and ends the run; only a [Reason] leads near the
// memory. Invariants: bits, counts and cycles depend neither on threads nor on the seed of
// what cells hold at first; bits and counts do not depend on the clock.
//
// Only the part in memory is timed: commands, the network between banks, lowering
// and the transfer of arrays from and to DRAM. What streams and hosts do near the
// memory is executed and counted, but takes no time here.
package system
