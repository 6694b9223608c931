package lowering_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/tdfgtest"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tile"
)

// late executes commands on cells where what moves between tiles arrives as late as
// it may: at the next sync.
type late struct {
	cells  *tile.Cells
	flying []flight
}

// flight is the change of a word of a row that is on its way.
type flight struct {
	to          *uint64
	bits, value uint64
}

func (x *late) run(t *testing.T, op tile.Op, inter bool, dst, rows int) {
	each := func(f func(word *uint64)) {
		for a := range x.cells.Arrays() {
			for r := range rows {
				row := x.cells.Row(a, dst+r)
				for k := range row {
					f(&row[k])
				}
			}
		}
	}
	var before []uint64
	if inter {
		each(func(w *uint64) { before = append(before, *w) })
	}
	require.NoError(t, x.cells.Run(context.Background(), 1, []tile.Op{op}))
	if inter {
		i := 0
		each(func(w *uint64) {
			if *w != before[i] {
				x.flying = append(x.flying, flight{w, *w ^ before[i], *w})
				*w = before[i]
			}
			i++
		})
	}
}

func (x *late) sync() {
	for _, f := range x.flying {
		*f.to ^= (*f.to ^ f.value) & f.bits
	}
	x.flying = nil
}

// TestSyncs executes lowered graphs where moves between tiles arrive late, and holds
// all arrays against the interpreter: no sync is missing (Infinity Stream, section
// 4.2, synchronization).
func TestSyncs(t *testing.T) {
	m := small()
	ctx := context.Background()
	moved := 0
	for seed := range uint64(250) {
		r := rand.New(rand.NewPCG(seed, 7))
		g := tdfgtest.Graph(r, tdfgtest.Options{Type: scalar.Int8, Nodes: 12, Align: 8})
		var wl []int
		for i := range g.Arrays {
			wl = append(wl, 8*i)
		}
		p, err := lowering.NewPlan(ctx, g, lowering.Target{Tech: m.Array.Technology, Rows: m.Array.Rows}, wl, nil)
		require.NoError(t, err)
		bound := []int64{1, 1, 1}
		for i := range g.Arrays {
			b, err := g.ArrayRect(i).Box(nil)
			require.NoError(t, err)
			for d := range b {
				bound[d] = max(bound[d], b[d].Hi)
			}
		}
		shapes := []lowering.Shape{{8, 4, 2}, {1, 8, 8}, {16, 2, 2}}
		if g.Dims == 2 {
			shapes = []lowering.Shape{{2, 32}, {8, 8}, {32, 2}}
		} else if g.Dims == 1 {
			shapes = []lowering.Shape{{64}}
		}
		in := lowering.Inputs{Scalars: map[string]scalar.Value{"p": 3}}
		before := memory.New()
		require.NoError(t, before.Allocate(g.Arrays, nil))
		before.Scalars["p"] = 3
		for _, a := range g.Arrays {
			for i := range before.Arrays[a.Name].Elems {
				before.Arrays[a.Name].Elems[i] = r.Uint64N(256)
			}
		}
		want := before.Clone()
		require.NoError(t, interp.RunGraph(ctx, g, nil, want, interp.Options{}))
		for _, shape := range shapes {
			grid, err := lowering.NewGrid(bound[:g.Dims], shape)
			require.NoError(t, err)
			cmds, err := p.Lower(nil, grid, nil)
			require.NoError(t, err)
			cells, err := tile.NewCells(m, grid.Tiles())
			require.NoError(t, err)
			x := &late{cells: cells}
			got := before.Clone()
			eachElement(t, grid, p, got, cells, true)
			for _, c := range cmds {
				on := tile.Enable{Arrays: make([]uint64, (cells.Arrays()+63)/64)}
				c.Tiles.Mask(on.Arrays)
				if !c.Whole {
					on.Bitlines = make([]uint64, cells.Cols()/64)
					c.Bitlines.Mask(on.Bitlines)
				}
				src, dst, rows := int(c.Src), int(c.Dst), int(c.Rows)
				switch c.Kind {
				case lowering.Sync:
					x.sync()
				case lowering.Compute:
					x.run(t, tile.Compute(p.Steps[c.Step].Code, on), false, dst, rows)
				case lowering.Copy, lowering.ShiftIntra:
					x.run(t, tile.Shift(src, dst, rows, int(c.BitlineDist), on), false, dst, rows)
				case lowering.ShiftInter:
					moved++
					x.run(t, tile.Transfer(src, dst, rows, int(c.BitlineDist), int(c.TileDist), int(c.Copies), int(c.TileStride), on), true, dst, rows)
				case lowering.Fill:
					v := c.Value
					if !c.Immediate {
						v, err = lowering.Uniform(g, p.Steps[c.Step].Node, in)
						require.NoError(t, err)
					}
					x.run(t, tile.Fill(dst, rows, []uint64{v}, on), false, dst, rows)
				default:
					require.Fail(t, "command near the memory", c.String())
				}
			}
			require.Empty(t, x.flying, "something is under way after the last command")
			eachElement(t, grid, p, got, cells, false)
			require.Empty(t, want.Diff(got), "seed %d in tiles of %v\n%s", seed, shape, g)
		}
	}
	require.Greater(t, moved, 200)
}

// eachElement loads all arrays of a plan to bitlines, or stores them back.
func eachElement(t *testing.T, grid *lowering.Grid, p *lowering.Plan, m *memory.Memory, c *tile.Cells, load bool) {
	at, mask := make([]int64, c.Cols()), make([]uint64, c.Cols()/64)
	for i, a := range p.Graph.Arrays {
		box, err := p.Graph.ArrayRect(i).Box(nil)
		require.NoError(t, err)
		size, step := make([]int64, len(box)), make([]int64, len(box))
		for d := range box {
			size[d] = box[d].Hi
		}
		n := int64(1)
		for _, d := range a.Axes {
			step[d] = n
			n *= size[d]
		}
		elems := m.Arrays[a.Name].Elems
		e := lowering.NewElements(grid, 0, size, step)
		for tl := range grid.Tiles() {
			if !e.Tile(tl, at, mask) {
				continue
			}
			for b, x := range at {
				if mask[b/64]>>(b%64)&1 == 0 {
					continue
				}
				line := []byte{byte(elems[x])}
				if load {
					require.NoError(t, c.LoadLine(tl, b, p.Arrays[i].Row, 1, line))
				} else {
					require.NoError(t, c.StoreLine(tl, b, p.Arrays[i].Row, 1, line))
					elems[x] = uint64(line[0])
				}
			}
		}
	}
}
