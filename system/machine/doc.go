// Package machine wires cores, private caches, banks of the L3 and memory
// controllers to a machine, on a mesh or without one, and runs threads on it.
//
//	m, err := machine.New(&spec)
//	m.Write(addr, data)
//	err = m.Run(ctx, threads...) // one a core
//	m.Read(addr, data)
//
// A [Spec] is the sum of the specifications of the parts. It knows no workloads: a
// thread hands out micro-ops (package uop), and what these mean is the caller's.
//
// Invariants: a run depends on the spec and the threads only; when it has ended, all
// stores are performed, and Read finds them wherever the newest copy is; a machine
// in which nothing can happen any more before that is an error that says who waits
// for what ([ErrDeadlock]).
package machine
