// Package micro makes micro-ops (package tile/uop) of a stream graph: what threads of
// an ordinary multicore execute, with the values that they have.
//
//	g, err := cfront.CompileWhole(ctx, file, source, cfront.Options{})
//	p, err := micro.New(g, memory, args, micro.Options{Threads: 64, Vector: 64})
//	for _, t := range p.Threads() { ... }   // a core pulls from each
//
// A cursor of package stream steps through the program for each thread; templates,
// made once for each stream, say which micro-ops a step is. Innermost loops whose
// iterations do not depend on each other, or only reduce, are executed by SIMD
// micro-ops of Vector bytes: as many iterations at once as the widest element allows,
// and the rest one by one. Elements that do not lie side by side are gathered. What is
// the same in all iterations of such a loop is loaded once, in front of it.
//
// Parallel loops are shared out among the threads: static parts, or in order of demand
// by an atomic counter. Thread 0 executes what is between them. It starts the others, and
// they meet at the end, over a counter and words that all share, or over the words of a
// tree (barrier.go). Each thread reduces for itself and leaves its value in a line of its
// own; thread 0 adds up the values in the order of the threads, or each thread of the tree
// those of its children. All of that is loads, stores and atomic operations on memory that
// threads share ([uop.Program.Segments] has it as "sync"), so that it takes the time that
// the machine takes for it.
//
// Scalar code follows the way that the program takes (node.go): a comparison is made once
// in an iteration, where its outcome is first needed, and conditions that follow from it
// are free; simple choices are conditional moves; what is only needed under a condition
// is computed under it. Atomic updates that x86 does not have are a load and a
// compare-and-swap, and a relaxed load waits for nobody.
//
// Counts are within 20 % of those of gcc -O3 for all workloads but one; TestGccCounts has
// all, and why that one is further away.
//
// What is not counted: calls and returns (there are none: functions are in the place of
// their calls), spills to the stack, and address arithmetic beyond what x86 has in its
// addressing modes.
//
// Invariants: the values of loads and stores are those of a sequential execution where
// the program has no races; batches pass [uop.Batch.Check].
package micro
