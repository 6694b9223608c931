// Package netlist holds combinational circuits as they are read and written.
//
// A [Network] is a list of gates in topological order: AND, XOR, three-input
// XOR, majority, multiplexer and look-up tables of up to six inputs, joined by
// literals that may be complemented. It is what a file says, gate by gate, and
// nothing more: no structural hashing, no simplification, no notion of arrays
// or of XOR-majority graphs (package xmg builds those from a Network).
//
// Readers and writers exist for AIGER (ASCII and binary), BLIF, structural
// Verilog and BENCH; [Read] tells them apart by content.
//
// Invariants (see [Network.Check]): node 0 is the constant false; a gate's
// fanins have smaller ids than the gate; inputs and outputs keep the order and
// the names of the file they came from.
package netlist
