// Package lowering turns operations on tensors into commands for arrays (Infinity
// Stream, section 4): which element lies on which bitline, and which bitlines of
// which arrays each command acts on.
//
// A [Grid] cuts the global bounding box of the lattice space into tiles, one for
// each SRAM array. [Grid.Decompose] cuts a tensor along the boundaries of tiles
// (Algorithm 1), and [Grid.Move] lowers a move to shifts within and between tiles
// (Algorithm 2):
//
//	g, err := lowering.NewGrid([]int64{4, 4}, []int64{2, 2})
//	shifts := g.Move(nil, lattice.Box{{Lo: 0, Hi: 3}, {Lo: 0, Hi: 4}}, 0, 1)
//	fmt.Println(shifts[1]) // bitlines 1:2:2 of tiles 0:2:2 by +1 tiles, -1 bitlines
//
// A [Pattern] is the compact form of a set of bitlines or of tiles that commands
// carry. A [Shape] of tiles is valid under the constraints of section 4.1, see
// [Shapes], and [Choose] picks one by hints. A [LOT] is the layout override table:
// it maps physical addresses to bitlines and back.
//
// A [Plan] is a tensor dataflow graph in the order of its execution, with rows for
// its values; [Plan.Lower] makes commands of it for a grid. Values in registers have
// no meaning outside of their tensors, so that its moves need no decomposition
// ([Grid.MoveAround]); what is stored into arrays is cut exactly.
//
// Here a tile is the part of the lattice that one array holds, not the tile of a
// chip with its core and cache bank. Dimension 0 is the innermost one, contiguous
// in memory, and fastest among the bitlines of a tile and among tiles.
//
// The package knows nothing of time: how long a command takes is for package
// tile.
package lowering
