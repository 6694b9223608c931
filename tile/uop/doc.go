// Package uop is what a core executes: micro-ops with their register dependences,
// addresses, branch outcomes and values, pulled from threads. It is the contract
// between programs (package lowering/micro makes micro-ops of a stream graph) and
// the cores of a machine (package tile/core, or whatever else has time), which know
// nothing of each other.
//
//	var b uop.Batch
//	for {
//		b.Reset()
//		status, err := thread.Next(&b, 64)
//		for i := range b.Ops { ... }       // rename, issue, perform, commit
//		switch status {
//		case uop.Done:
//			return
//		case uop.Wait:                      // the last micro-op must be performed first
//			err = thread.Resolve(old)       // the bytes that it found in memory
//		}
//	}
//
// # Values travel with time
//
// A thread runs ahead of its core: it executes the program on a memory of its own
// process, and so knows addresses and the ways of branches when it hands micro-ops
// out. What a Load is expected to return stands in the batch; the core compares it
// with the bytes of the copy that serves the load when it is performed. They differ
// only if the machine lost a message, served a stale line, or the program has a race
// that it did not declare: an internal error (exit code 70), never a replay. A load
// with the flag Racy is not compared.
//
// A micro-op with the flag Blocking is one whose result depends on when it is
// performed: an atomic operation, or a load that other threads synchronise with. It
// is the last one of its batch, Next returns Wait, and the thread goes on when
// Resolve has brought the bytes that were in memory before it. Barriers, locks and
// ends of dynamic schedules consist of these, so that threads come together in the
// time of the machine and nowhere else.
//
// # Registers
//
// Registers are names of values, as many as a program has ([NumRegs] at most), not
// those of a machine: a core renames them and stalls by the number of writes that
// are in flight. Register 0 is no register. A micro-op has at most three sources and
// one destination. Loop-carried values keep their name from iteration to iteration,
// so that a dependence is always that on the last micro-op in the order of the
// thread that wrote the register.
//
// # Memory
//
// Addresses are physical or virtual as the reader wants: a thread uses the placement
// that its program was made with. A micro-op accesses Size bytes from Addr on; a
// gather or a scatter has an address for each of its lanes, in the batch's data. An
// access may cross a line: the core splits it.
//
// Invariants ([Check]): the data of a micro-op lies in its batch; kinds that access
// memory have a size of 1 to 64 bytes, a power of two in each lane, and others have
// none; only the last micro-op of a batch is Blocking; a PC has one kind and set of
// registers throughout a program.
package uop
