// Package netlist holds combinational circuits as they are read and written.
//
// A [Network] is a list of gates in topological order: AND, XOR, three-input
// XOR, majority, multiplexer and look-up tables of up to six inputs, joined by
// literals that may be complemented. It is what a file says, gate by gate, and
// nothing more: no structural hashing, no simplification, no notion of arrays
// or of XOR-majority graphs (package xmg builds those from a Network).
//
// Readers and writers exist for AIGER 1.9 (ASCII and binary), BLIF, structural
// Verilog and BENCH. [Read] and [ReadFile] tell them apart by content, and
// [Write] writes any of them. They stream: no file is held as a whole, and no
// header makes them allocate what the data does not justify. A malformed file
// is a [SyntaxError] with its place; what a file may say but a combinational
// network cannot hold is one that wraps [ErrUnsupported].
//
//	n, err := netlist.ReadFile("mult.aig")
//	if err != nil {
//		return err // mult.aig:1:9: 3 latches: sequential circuits are not supported, ...
//	}
//	err = netlist.Write(w, n, netlist.Verilog)
//
// A gate of a file is a node here wherever a node can say it. In Verilog a chain
// a ^ b ^ c is one Xor3, (a & b) | (a & c) | (b & c) one Maj, s ? t : e one Mux;
// in BLIF and BENCH a table that is exactly an AND, XOR, XOR3, MAJ or MUX up to
// complements is that, and any other of up to six inputs a LUT. Buffers,
// inverters and constants are literals. The vector ports of Verilog are their
// bits, a[0] first.
//
// Invariants (see [Network.Check]): node 0 is the constant false; a gate's
// fanins have smaller ids than the gate; inputs and outputs keep the order and
// the names of the file they came from.
package netlist
