// Package tile is the hardware of a chip that computes in its last-level cache
// (Infinity Stream, sections 2.2 and 5): a mesh of tiles, each with a core and a
// cache bank; banks of ways; ways of SRAM arrays.
//
// A [Machine] is the description of a chip, read from YAML. [Default] is the one
// of the paper's Table 2. [Cells] are the bits of all arrays that compute, up to
// the 128 MB of the whole chip; kernels of package sram run on them, and commands
// shift, transfer and broadcast rows and transpose cache lines. [Timing] has the
// cycles of commands.
//
//	m := tile.Default()
//	c, err := tile.NewCells(m, m.Arrays())
//	err = c.Run(ctx, threads, []tile.Op{tile.Compute(code, tile.Enable{})})
//
// Arrays are numbered through the chip: bank by bank, way by way. An array holds
// one tile of a tensor; which, and what a bitline stands for, is for package
// lowering. The package knows no workloads.
package tile
