package system

import (
	"context"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// backend holds words of bitlines and executes commands on them: cells or elements.
// A tile is an array of cells, numbered as in the grid.
type backend interface {
	// exec executes commands of a plan, none of them Near.
	exec(ctx context.Context, p *lowering.Plan, cmds []lowering.Command, in lowering.Inputs) error

	// readTile gets the words of a register on all bitlines of a tile, and writeTile
	// sets those of the bitlines in mask, bit b of word k being bitline 64k+b.
	readTile(r lowering.Register, tile int, dst []scalar.Value)
	writeTile(r lowering.Register, tile int, src []scalar.Value, mask []uint64)

	// read and write are for single bitlines.
	read(r lowering.Register, tile, bitline int) scalar.Value
	write(r lowering.Register, tile, bitline int, v scalar.Value)
}

// patternMask returns patterns of bitlines as a mask.
func patternMask(p lowering.Pattern, n int) []uint64 {
	mask := make([]uint64, (n+63)/64)
	for x := range p.All() {
		mask[x/64] |= 1 << (x % 64)
	}
	return mask
}

// fillValue returns what a Fill writes.
func fillValue(p *lowering.Plan, c *lowering.Command, in lowering.Inputs) (scalar.Value, error) {
	if c.Immediate {
		return c.Value, nil
	}
	return lowering.Uniform(p.Graph, p.Steps[c.Step].Node, in)
}
