// Package gen builds the circuits that the project ships instead of files:
// adders, multipliers, dividers and the like, each of any width, as
// [netlist.Network].
//
// [Kinds] is the table of what there is, [Lookup] finds a kind by its name or
// alias, and [Build] builds one:
//
//	n, err := gen.Build(ctx, "multiplier", gen.Options{Width: 16})
//
// Conventions. All numbers are unsigned unless the kind says otherwise. A word
// is a run of inputs or outputs named a[0], a[1] and so on, least significant
// bit first, in that order; a single bit such as valid has a plain name. Words
// come one after the other: all of a, then all of b.
//
// Structure. A circuit is made of the node kinds that are natural for it: a
// full adder is one Xor3 and one Maj, a selection is one Mux. With
// [Options.AndInverter] it is made of And nodes only, with the usual sharing
// inside an adder cell (seven ANDs a full adder), as a file in AIGER form would
// have it. Constants are folded while building, and no gate is built that
// drives nothing. There is no structural hashing, package xmg does that, but in
// the circuits of a word or two of at most 64 bits: arithmetic in floating point
// and what a processor does with integers. They are built for few XOR and MAJ
// gates: a selection is one of each, and so shared where it can be.
//
// Floating-point words are those of IEEE 754: fraction, exponent, sign from the
// lowest bit up. Any lengths will do; float.go says how they round.
//
// Same kind and options give the same network, node by node.
//
// The file testdata/mult.aig of the repository is the kind multiplier at width
// 16: 16 x 16 bits to 32.
package gen
