package system

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tile"
)

// gate executes commands on the cells of the chip, bit by bit.
type gate struct {
	cells   *tile.Cells
	threads int
	masks   map[maskKey][]uint64 // of patterns of tiles and bitlines
}

type maskKey struct {
	pattern lowering.Pattern
	tiles   bool
}

func newGate(m *tile.Machine, arrays, threads int) (*gate, error) {
	cells, err := tile.NewCells(m, arrays)
	if err != nil {
		return nil, err
	}
	return &gate{cells: cells, threads: threads, masks: map[maskKey][]uint64{}}, nil
}

// maxMasks bounds the masks that are kept, of 16,384 arrays each at most: 128 MiB.
const maxMasks = 1 << 16

func (g *gate) mask(p lowering.Pattern, tiles bool) []uint64 {
	key := maskKey{p, tiles}
	if m, ok := g.masks[key]; ok {
		return m
	}
	n := g.cells.Cols()
	if tiles {
		n = g.cells.Arrays()
	}
	if len(g.masks) >= maxMasks {
		clear(g.masks)
	}
	m := patternMask(p, n)
	g.masks[key] = m
	return m
}

func (g *gate) exec(ctx context.Context, p *lowering.Plan, cmds []lowering.Command, in lowering.Inputs) error {
	ops := make([]tile.Op, 0, len(cmds))
	for i := range cmds {
		c := &cmds[i]
		if c.Kind == lowering.Sync {
			continue
		}
		on := tile.Enable{}
		if c.Tiles.Len() < g.cells.Arrays() {
			on.Arrays = g.mask(c.Tiles, true)
		}
		if !c.Whole {
			on.Bitlines = g.mask(c.Bitlines, false)
		}
		src, dst, rows := int(c.Src), int(c.Dst), int(c.Rows)
		switch c.Kind {
		case lowering.Compute:
			ops = append(ops, tile.Compute(p.Steps[c.Step].Code, on))
		case lowering.Copy:
			ops = append(ops, tile.Shift(src, dst, rows, 0, on))
		case lowering.ShiftIntra:
			ops = append(ops, tile.Shift(src, dst, rows, int(c.BitlineDist), on))
		case lowering.ShiftInter:
			ops = append(ops, tile.Transfer(src, dst, rows, int(c.BitlineDist), int(c.TileDist), int(c.Copies), int(c.TileStride), on))
		case lowering.Fill:
			v, err := fillValue(p, c, in)
			if err != nil {
				return err
			}
			ops = append(ops, tile.Fill(dst, rows, []uint64{v}, on))
		default:
			return fmt.Errorf("system: command %s, expected one of cells", c.Kind)
		}
	}
	if len(ops) == 0 {
		return nil
	}
	return g.cells.Run(ctx, g.threads, ops)
}

func (g *gate) readTile(r lowering.Register, t int, dst []scalar.Value) {
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
