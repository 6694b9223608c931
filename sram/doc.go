// Package sram is the array model: geometry, instruction set, programs and
// their bit-accurate execution.
//
// A machine has A arrays of R rows (wordlines) and C columns (bitlines). One
// instruction acts on all bitlines of an array at once: MAJ or XOR of three
// rows, each possibly negated or constant, or a copy of a row to another array.
// A [Program] is a list of such instructions with the places of its inputs and
// outputs; a [Machine] executes it on packed bits. The package does not know
// where programs come from.
//
// A [Kernel] is a program of micro-instructions on one array of any [Technology],
// whose operands are words that lie transposed.
//
// The instruction set of a Program is that of XMG-GPPIC as MASIM uses it (MASIM, section
// II-B); the rules of a valid program are those of the scheduling specification
// summarised in docs/architecture.md.
package sram
