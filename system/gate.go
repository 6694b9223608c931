package system

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tile"
)

// gate executes commands on the cells of the chip, bit by bit.
type gate struct {
	cells    *tile.Cells
	threads  int
	masks    *lru[[]uint64] // of patterns of tiles and bitlines
	underway []*tile.Flight
}

type maskKey struct {
	pattern lowering.Pattern
	tiles   bool
}

func newGate(m *tile.Machine, arrays, threads int, seed uint64) (*gate, error) {
	cells, err := tile.NewCells(m, arrays)
	if err != nil {
		return nil, err
	}
	cells.Randomize(seed + uint64(invariants.Pick(1<<30, 0)))
	return &gate{cells: cells, threads: threads, masks: newLRU[[]uint64](1 + invariants.Pick(4, maxMasks-1))}, nil
}

// maxMasks bounds the masks that are kept, of 16,384 arrays each at most: 128 MiB.
const maxMasks = 1 << 16

func (g *gate) mask(p lowering.Pattern, tiles bool) []uint64 {
	key := maskKey{p, tiles}
	if m, ok := g.masks.get(key); ok {
		return m
	}
	n := g.cells.Cols()
	if tiles {
		n = g.cells.Arrays()
	}
	m := patternMask(p, n)
	g.masks.put(key, m)
	return m
}

// enable returns the arrays and bitlines that a command acts on.
func (g *gate) enable(c *lowering.Command) tile.Enable {
	on := tile.Enable{}
	if c.Tiles.Len() < g.cells.Arrays() {
		on.Arrays = g.mask(c.Tiles, true)
	}
	if !c.Whole {
		on.Bitlines = g.mask(c.Bitlines, false)
	}
	return on
}

func (g *gate) exec(ctx context.Context, p *lowering.Plan, cmds []lowering.Command, in lowering.Inputs) error {
	ops := make([]tile.Op, 0, len(cmds))
	run := func() error { // what stays within arrays, up to here
		if len(ops) == 0 {
			return nil
		}
		err := g.cells.Run(ctx, g.threads, ops)
		ops = ops[:0]
		return err
	}
	for i := range cmds {
		c := &cmds[i]
		switch c.Kind {
		case lowering.Sync:
			if len(g.underway) == 0 {
				continue
			}
			if err := run(); err != nil {
				return err
			}
			for _, f := range g.underway {
				if err := g.cells.Land(ctx, g.threads, f); err != nil {
					return err
				}
			}
			g.underway = g.underway[:0]
		case lowering.ShiftInter:
			if err := run(); err != nil {
				return err
			}
			f, err := g.cells.Send(ctx, g.threads, tile.Transfer(int(c.Src), int(c.Dst), int(c.Rows), int(c.BitlineDist), int(c.TileDist), int(c.Copies), int(c.TileStride), g.enable(c)))
			if err != nil {
				return err
			}
			g.underway = append(g.underway, f)
		default:
			op, err := localOp(p, c, g.enable(c), in)
			if err != nil {
				return err
			}
			ops = append(ops, op)
		}
	}
	if err := run(); err != nil {
		return err
	}
	if len(g.underway) > 0 {
		return internal(errUnderWay)
	}
	return nil
}

// localOp returns what cells do for a command that stays within arrays.
func localOp(p *lowering.Plan, c *lowering.Command, on tile.Enable, in lowering.Inputs) (tile.Op, error) {
	src, dst, rows := int(c.Src), int(c.Dst), int(c.Rows)
	switch c.Kind {
	case lowering.Compute:
		return tile.Compute(p.Steps[c.Step].Code, on), nil
	case lowering.Copy:
		return tile.Shift(src, dst, rows, 0, on), nil
	case lowering.ShiftIntra:
		return tile.Shift(src, dst, rows, int(c.BitlineDist), on), nil
	case lowering.Fill:
		v, err := fillValue(p, c, in)
		return tile.Fill(dst, rows, []uint64{v}, on), err
	}
	return tile.Op{}, fmt.Errorf("system: command %s, expected one of cells", c.Kind)
}

func (g *gate) err() error      { return nil }
func (g *gate) compared() int64 { return 0 }

func (g *gate) save(r lowering.Register) saved {
	var s saved
	for t := range g.cells.Arrays() {
		words := make([]scalar.Value, g.cells.Cols())
		g.tile(r, t, words)
		s.words = append(s.words, words)
	}
	return s
}

func (g *gate) restore(r lowering.Register, s saved) {
	all := allBitlines(g.cells.Cols())
	for t, words := range s.words {
		g.writeTile(r, t, words, all)
	}
}

// allBitlines returns the mask of all bitlines.
func allBitlines(n int) []uint64 {
	mask := make([]uint64, n/64)
	for k := range mask {
		mask[k] = ^uint64(0)
	}
	return mask
}

func (g *gate) readTile(r lowering.Register, t int, dst []scalar.Value, _ []uint64) error {
	g.tile(r, t, dst)
	return nil
}

// tile gets the words of a register on all bitlines of a tile.
func (g *gate) tile(r lowering.Register, t int, dst []scalar.Value) {
	for k := 0; k*64 < len(dst); k++ {
		g.cells.StoreWord(t, k, r.Row, r.Bits, (*[64]uint64)(dst[64*k:]))
	}
}

func (g *gate) writeTile(r lowering.Register, t int, src []scalar.Value, mask []uint64) {
	var elems [64]uint64
	for k := range mask {
		if mask[k] != 0 {
			copy(elems[:], src[64*k:])
			g.cells.LoadWord(t, k, r.Row, r.Bits, &elems, mask[k])
		}
	}
}

func (g *gate) read(r lowering.Register, t, bitline int) scalar.Value {
	var v scalar.Value
	for i := range r.Bits {
		v |= g.cells.Row(t, r.Row+i)[bitline/64] >> (bitline % 64) & 1 << i
	}
	return v
}

func (g *gate) write(r lowering.Register, t, bitline int, v scalar.Value) {
	for i := range r.Bits {
		w := &g.cells.Row(t, r.Row+i)[bitline/64]
		*w = *w&^(1<<(bitline%64)) | v>>i&1<<(bitline%64)
	}
}
