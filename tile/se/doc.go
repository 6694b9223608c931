// Package se is the stream engines of Near-Stream Computing (HPCA 2022) in time: that of a
// core ([Core], SE_core, sections III.C and IV.B) and that of a bank of the L3 ([Bank],
// SE_L3, section IV), with the values of all that streams read, send, compute and write.
//
//	c := se.NewCore(engine, &spec, 0, net, bankOf, core, fail) // between a core and its caches
//	b := se.NewBank(engine, &spec, 0, coherent, net, bankOf, fail)
//
// A program configures the streams of a loop as a [Group]; the micro-op that ends the
// configuration, those that step and the loads of what streams have are the program's.
// Streams of a group either fetch lines into the FIFO of the core's engine, or are at the
// L3: each is sent to the bank of its first element, is credited ranges of iterations, reads
// lines there, forwards elements to the banks of the streams that take them, and goes on
// to the next bank. What a store or an update computes waits in the buffer of its bank
// until the core has committed the range; then it is written, and its bank says so. A
// reduction goes along with the data. Nothing of the core's micro-ops has the data: a
// lost message is a wrong element or a loop that never ends.
//
// The state stays precise (section IV.B). Ranges of affine streams are made in the core's
// engine when they are credited; it compares them with each other and with what the core
// accesses, as intervals of bytes, when that commits (alias.go). After an alias, a fault, a
// switch of the context or a timeout the core takes back what is not committed, banks write
// what is, and forget the streams; then the thread makes the rest of the loop without
// streams (restore.go). Where a program has promised that there are no aliases, streams only
// stop where they have come to, and go on from there. [Inject] makes all of that happen.
//
// Invariants: an element of a stream is written once, after the core has committed its
// iteration; a stream is at one bank at a time; nothing of a loop that has ended is written; a bank keeps no copies of lines (agent.go).
package se
