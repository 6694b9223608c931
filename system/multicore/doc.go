// Package multicore runs a C function on an ordinary multicore in time: the
// configuration base of Near-Stream Computing (section VI) and Infinity Stream
// (section 7), in which threads execute on cores with caches and prefetchers, and
// nothing is offloaded.
//
//	g, err := cfront.CompileWhole(ctx, file, source, cfront.Options{})
//	p := &multicore.Program{Graph: g, Memory: arrays, Args: args}
//	report, err := multicore.Run(ctx, p, multicore.Options{Machine: m, Threads: 64})
//
// It joins what other packages have: lowering/micro makes micro-ops of the graph,
// system/machine builds cores, caches, mesh and DRAM from the description of a
// machine, and the micro-ops run there with their values. The region of interest is
// the call of the function: arrays lie in memory when it begins ([Options.Warm]: in the
// L3), and it ends when the last micro-op of the last thread has been committed.
//
// A [Report] has the cycles, where they went, what each level of memory did, and the
// bounds that the machine sets: the cycles that the busiest part needs at the least
// for what it had to do.
//
// # What is checked
//
// Loads are compared with what the program expects when they commit (package
// tile/core). After the run, the bytes of all arrays, wherever their newest copies
// lie, are compared with what the threads computed: a difference in either is an
// [ErrInternal]. [Check] then compares with the sequential meaning of the graph, bit by
// bit, and with stated bounds where threads bring sums of floats together or the order
// of atomic operations is open.
//
// Invariants: a run depends on the program and the options only; it executes on one
// goroutine. Parts know each other through system/machine: no workload is known here.
package multicore
