package system

import (
	"context"
	"errors"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// backend holds words of bitlines and executes commands on them: cells or elements.
// A tile is an array of cells, numbered as in the grid. Cells hold garbage before
// something is written to them.
//
// What is shifted between tiles arrives at the next Sync and not before, the latest
// that commands may rely on: one that reads it too early reads what was there.
type backend interface {
	// exec executes commands of a plan, none of them Near. Nothing may be under way after
	// the last one.
	exec(ctx context.Context, p *lowering.Plan, cmds []lowering.Command, in lowering.Inputs) error

	// readTile gets the words of a register on the bitlines of a tile that are in mask, and
	// writeTile sets them, bit b of word k being bitline 64k+b.
	readTile(r lowering.Register, tile int, dst []scalar.Value, mask []uint64) error
	writeTile(r lowering.Register, tile int, src []scalar.Value, mask []uint64)

	// read and write are for single bitlines.
	read(r lowering.Register, tile, bitline int) scalar.Value
	write(r lowering.Register, tile, bitline int, v scalar.Value)

	// save returns the words of a register on all bitlines of all tiles, garbage included,
	// and restore writes them to a register of the same width.
	save(r lowering.Register) saved
	restore(r lowering.Register, s saved)

	// err returns what went wrong in a call that returns no error.
	err() error

	// compared returns how many words were compared with bits.
	compared() int64
}

// saved are the words of a register: as the backend keeps them, and as cells beside it
// do.
type saved struct{ words, cells [][]scalar.Value }

// errUnderWay says that nothing waits for what was shifted between tiles.
var errUnderWay = errors.New("commands end while words are on the way between tiles: no barrier waits for them")

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
