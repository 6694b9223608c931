// Package masim schedules XOR-majority graphs onto compute arrays.
//
// A schedule computes every gate once, in an array that holds its fanins, and
// copies values between arrays where it must; the fewer copies the better. The
// package has the scheduler of the MASIM paper, its published rivals and ours,
// all behind one [Scheduler] type; each returns an [sram.Program]. [Check]
// replays any program against the graph by value identity and knows nothing of
// how it was made.
//
// The source is "MASIM: An Efficient Multi-Array Scheduler for In-Memory SIMD
// Computation"; section numbers in comments refer to it.
package masim
