// Package xmg holds XOR-majority graphs: circuits of three-input XOR and
// majority gates with complemented edges, the operations that an XMG-GPPIC
// array performs in one cycle (MASIM, section II-B).
//
// A [Graph] is structurally hashed and simplified as it is built; [FromNetwork]
// makes one from any circuit. The package knows nothing of arrays or schedules.
//
// Invariants (see [Graph.Check]): node 0 is the constant false, nodes 1 to
// NumInputs are the inputs, gates follow in topological order; no two gates are
// the same function of the same fanins; no gate is trivial; XOR gates have no
// complemented fanin and MAJ gates at most one.
package xmg
