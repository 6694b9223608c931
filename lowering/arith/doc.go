// Package arith computes integers and floating-point numbers inside SRAM
// arrays: every operation is a program of one array, so that its latency is the
// length of that program and its bits can be compared with the processor's.
//
// [Operations] is the table of what there is. [Build] makes the program of an
// operation for a width and an array technology and verifies it against the
// operation's reference:
//
//	p, err := arith.Build(ctx, arith.Spec{Op: "int.add", Width: 32, Tech: "neural-cache"})
//	err = arith.Run(ctx, p, 1, sums, as, bs)
//
// Operands are words that lie transposed: bit i of a word is in the i-th of
// adjacent rows, and every bitline has a word of its own. For neural-cache an
// operation is microcode (files nc_*.go), for xmg a circuit that is scheduled
// on one array (files xmg_*.go), for ambit such a circuit as commands of DRAM
// (files ambit*.go). A [Store] keeps programs; [Program.Place] puts one on rows of
// the caller's choice.
//
// Where the operation of a processor is undefined or differs between
// processors, it is that of RISC-V: division by zero gives all ones and the
// dividend as remainder, the most negative number by -1 gives itself and 0.
package arith
