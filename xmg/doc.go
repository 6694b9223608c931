// Package xmg holds XOR-majority graphs: circuits of three-input XOR and
// majority gates with complemented edges, the operations that an XMG-GPPIC
// array performs in one cycle (MASIM, section II-B).
//
// A [Graph] is structurally hashed and simplified as it is built; [FromNetwork]
// makes one from any circuit, and [Graph.ToNetwork] gives it back to the
// writers. [Map] makes a graph smaller by the XOR and MAJ gates hidden in its
// logic. A [Simulator] evaluates one on many patterns. The package knows nothing
// of arrays or schedules.
//
// A full adder, two gates:
//
//	g := xmg.New("adder")
//	a, b, c := g.AddInput("a"), g.AddInput("b"), g.AddInput("c")
//	g.AddOutput("sum", g.Xor(a, b, c))
//	g.AddOutput("carry", g.Maj(a, b, c))
//
// Invariants (see [Graph.Check]): node 0 is the constant false, nodes 1 to
// NumInputs are the inputs, gates follow in topological order; no two gates are
// the same function of the same fanins; no gate is trivial; XOR gates have no
// complemented fanin and MAJ gates at most one.
package xmg
