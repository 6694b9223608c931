// Package system runs programs of tensor dataflow graphs on a whole machine: it
// lays arrays out in the cells of a chip, has graphs lowered to commands, executes
// these, and counts cycles, traffic and energy (Infinity Stream, sections 4 and 5).
//
// What computes is exchangeable, and what it costs is not: at gate fidelity every
// command runs its bit-serial program on every bitline, at word fidelity it computes
// elements, and some arrays are executed bit by bit beside it and compared. Commands,
// and so cycles, are the same.
//
//	m := memory.New() // arrays and scalars, as for the interpreter
//	report, err := system.Run(ctx, program, sizes, m, system.Options{Machine: tile.Default()})
//
// Only the part in memory is timed: commands, the network between banks, lowering
// and the transfer of arrays from and to DRAM. What streams and hosts do near the
// memory is executed and counted, but takes no time here.
package system
