package system

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tile"
)

// TestBackends executes random commands that move words on cells, on elements, and on a
// table of words, each word for itself.
func TestBackends(t *testing.T) {
	const tiles, cols, bits = 130, 64, 8
	rows := []int{3, 11, 40}
	m := tile.Default()
	m.Mesh.Cols, m.Mesh.Rows = 2, 2
	m.L3.Ways, m.L3.ComputeWays, m.L3.ArraysPerWay = 10, 9, 4
	m.Array.Cols = cols
	m.L3.LineBytes, m.NoC.MemoryControllers = 8, 4
	r := rand.New(rand.NewPCG(5, 5))
	one, err := newGate(m, tiles, 2, 1)
	require.NoError(t, err)
	words, err := newWord(m, tiles, 3, 7, 1)
	require.NoError(t, err)
	backends := []backend{one, words}
	want := map[int][][]scalar.Value{}
	all := []uint64{^uint64(0)}
	for _, row := range rows {
		want[row] = make([][]scalar.Value, tiles)
		for i := range want[row] {
			want[row][i] = make([]scalar.Value, cols)
			for b := range want[row][i] {
				want[row][i][b] = r.Uint64N(1 << bits)
			}
			for _, x := range backends {
				x.writeTile(lowering.Register{Row: row, Bits: bits}, i, want[row][i], all)
			}
		}
	}
	ctx := context.Background()
	plan := &lowering.Plan{Graph: &tdfg.Graph{}, Steps: []lowering.Step{{}}}
	pick := func(lists ...string) lowering.Pattern { return pattern(t, lists[r.IntN(len(lists))]) }
	for range 300 {
		src, dst := rows[r.IntN(3)], rows[r.IntN(3)]
		c := lowering.Command{Rows: bits, Src: int32(src), Dst: int32(dst), Whole: r.IntN(3) == 0, Copies: 1, TileStride: 1,
			Bitlines: pick("0", "63", "5:1:20", "1:2:31", "0:1:64", "3:16:4", "0:1:3:16:4"),
			Tiles:    pick("0", "129", "0:1:130", "2:1:70", "1:3:40")}
		switch r.IntN(3) { // 0, anything, or one that moves bitlines to others that move too
		case 0:
			c.BitlineDist = int32(r.IntN(2*cols+1) - cols)
		case 1:
			c.BitlineDist = []int32{-16, -4, -2, -1, 1, 2, 4, 16}[r.IntN(8)]
		}
		switch c.Kind = []lowering.CommandKind{lowering.Copy, lowering.ShiftIntra, lowering.ShiftInter, lowering.Fill}[r.IntN(4)]; c.Kind {
		case lowering.Copy:
			c.BitlineDist = 0
		case lowering.ShiftInter:
			// Every third tile sends to the one or two behind it.
			c.Tiles = pick("0:3:43", "3:6:20", "126", "1:3:42")
			c.TileDist, c.Copies, c.TileStride = 1, int32(1+r.IntN(2)), 1
			if r.IntN(2) == 0 {
				c.TileDist, c.TileStride = 2, -1
			}
		case lowering.Fill:
			c.Immediate, c.Value = true, r.Uint64N(1<<bits)
		}
		before := map[int][][]scalar.Value{}
		for row, list := range want {
			for _, words := range list {
				before[row] = append(before[row], slices.Clone(words))
			}
		}
		for tl := range c.Tiles.All() {
			for b := range cols {
				to := b + int(c.BitlineDist)
				switch {
				case !c.Whole && !c.Bitlines.Has(b):
				case c.Kind == lowering.Fill:
					want[dst][tl][b] = c.Value
				case to < 0 || to >= cols: // lost
				case c.Kind == lowering.ShiftInter:
					for i := range c.Copies {
						want[dst][tl+int(c.TileDist+i*c.TileStride)][to] = before[src][tl][b]
					}
				default:
					want[dst][tl][to] = before[src][tl][b]
				}
			}
		}
		for i, x := range backends {
			require.NoError(t, x.exec(ctx, plan, []lowering.Command{c, {Kind: lowering.Sync}}, lowering.Inputs{}))
			got := make([]scalar.Value, cols)
			for _, row := range rows {
				reg := lowering.Register{Row: row, Bits: bits}
				for tl := range tiles {
					require.NoError(t, x.readTile(reg, tl, got, all))
					if !slices.Equal(want[row][tl], got) {
						require.Equal(t, want[row][tl], got, "backend %d, %v, row %d tile %d", i, c, row, tl)
					}
				}
				tl, b := r.IntN(tiles), r.IntN(cols)
				require.Equal(t, want[row][tl][b], x.read(reg, tl, b))
				require.Equal(t, want[row][tl][b]&3, x.read(lowering.Register{Row: row, Bits: 2}, tl, b))
			}
		}
		// Single words, and some of a tile.
		row, tl, b, v := rows[r.IntN(3)], r.IntN(tiles), r.IntN(cols), r.Uint64N(1<<bits)
		mask := []uint64{r.Uint64()}
		words := make([]scalar.Value, cols)
		want[row][tl][b] = v
		for i := range words {
			words[i] = r.Uint64N(1 << bits)
			if mask[0]>>i&1 == 1 {
				want[row][tl][i] = words[i]
			}
		}
		for _, x := range backends {
			x.write(lowering.Register{Row: row, Bits: bits}, tl, b, v)
			x.writeTile(lowering.Register{Row: row, Bits: bits}, tl, words, mask)
		}
	}
	for _, x := range backends {
		require.ErrorContains(t, x.exec(ctx, plan, []lowering.Command{{Kind: lowering.Near}}, lowering.Inputs{}), "system: command near, expected one of ")
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	for _, x := range backends {
		require.ErrorIs(t, x.exec(stopped, plan, []lowering.Command{{Kind: lowering.Fill, Whole: true, Immediate: true, Rows: 1, Tiles: pattern(t, "0")}}, lowering.Inputs{}), context.Canceled)
	}
}

// TestThreads adds vectors in 130 tiles, shared out among three threads, and compares
// with the plain program.
func TestThreads(t *testing.T) {
	ctx := context.Background()
	k, err := kernels.Get("vec_add")
	require.NoError(t, err)
	sizes := map[string]int64{"N": 130 * 256}
	p, err := cfront.Compile(ctx, k.File, k.Source, cfront.Options{Defines: sizes})
	require.NoError(t, err)
	d := k.Data(sizes, 1)
	m := d.Memory()
	_, err = Run(ctx, p, sizes, m, Options{Machine: tile.Default(), Fidelity: Word, Threads: 3})
	require.NoError(t, err)
	k.Reference(d)
	require.Empty(t, d.Diff(m))
}

// TestAssign gives arrays rows by hand: the lowest that no array has that a graph uses
// with it.
func TestAssign(t *testing.T) {
	names := map[string]*tdfg.Array{}
	var arrays []*tdfg.Array
	for _, a := range []tdfg.Array{{Name: "O", Type: scalar.Int8}, {Name: "P", Type: scalar.Int8}, {Name: "Q", Type: scalar.Int8},
		{Name: "X", Type: scalar.Int16}, {Name: "Y", Type: scalar.Int32}, {Name: "S", Type: scalar.Int32}, {Name: "Z", Type: scalar.Int16}} {
		names[a.Name] = &a
		arrays = append(arrays, &a)
	}
	graph := func(list string) *tdfg.Graph {
		g := &tdfg.Graph{}
		for i, c := range list {
			g.Arrays = append(g.Arrays, names[string(c)])
			if c != 'S' { // of streams
				g.Nodes = append(g.Nodes, tdfg.Node{Kind: tdfg.Tensor, Array: i})
			}
		}
		return g
	}
	// P is above O; Q shares the rows of O. X must pass Q first, then P. Y is with O alone
	// and shares rows with P and X. Z is with Y: below it.
	graphs := []*tdfg.Graph{graph("OP"), graph("QSX"), graph("XP"), graph("OY"), graph("YZ")}
	rows, used := rowsOf(arrays, graphs, nil, 0)
	require.Equal(t, map[string]int{"O": 0, "P": 8, "Q": 0, "X": 16, "Y": 8, "Z": 40}, rows)
	require.Equal(t, 56, used)
	require.Equal(t, []int{0, -1, 16}, wordlines(graphs[1], rows))
	require.Equal(t, []int{8, 40}, wordlines(graphs[4], rows))
}

// TestHints collects the dimensions of moves, broadcasts and reductions, and the slowest
// round of a reduction.
func TestHints(t *testing.T) {
	ctx := context.Background()
	node := func(k tdfg.Kind, dim int, op scalar.Op, typ scalar.Type) tdfg.Node {
		return tdfg.Node{Kind: k, Dim: dim, Op: op, Args: []tdfg.NodeID{0}, Facts: tdfg.Facts{Type: typ}}
	}
	short, err := lowering.RoundCycles(ctx, nil, "neural-cache", scalar.Add, scalar.Int8)
	require.NoError(t, err)
	long, err := lowering.RoundCycles(ctx, nil, "neural-cache", scalar.Add, scalar.Int32)
	require.NoError(t, err)
	require.Less(t, short, long)
	a := &tdfg.Graph{Nodes: []tdfg.Node{node(tdfg.Move, 0, 0, scalar.Int8), node(tdfg.Reduce, 2, scalar.Add, scalar.Int8)}}
	b := &tdfg.Graph{Nodes: []tdfg.Node{node(tdfg.Broadcast, 1, 0, scalar.Int8), node(tdfg.Reduce, 1, scalar.Add, scalar.Int32), node(tdfg.Move, 1, 0, scalar.Int8)}}
	sizes := map[string]int64{"K": 48}
	b.Nodes[0].Domain = lattice.Rect{{}, {Lo: lattice.Const(8), Hi: lattice.Sym("K")}, {}} // 40 in the dimension that is reduced
	want := lowering.Hints{Shift: lowering.Dims(0, 1), Broadcast: lowering.Dims(1), Reduce: lowering.Dims(1, 2), Round: long}
	want.Extent[1], want.Finals = 40, true
	opt := &Options{Machine: tile.Default(), Finals: true} // neural-cache
	require.Equal(t, want, hints(opt, []*tdfg.Graph{a, b}, sizes))
	require.Equal(t, want, hints(opt, []*tdfg.Graph{b, a}, sizes))
	opt.ByBank = true
	want.Lanes, want.Words = 16, 8*int64(opt.Machine.HTree.BandwidthBytes)/32 // of int32, whose vectors are shorter
	require.Equal(t, want, hints(opt, []*tdfg.Graph{a, b}, sizes))
	require.Equal(t, want, hints(opt, []*tdfg.Graph{b, a}, sizes))
}

// TestArraysOf has graphs of other dimensions, and arrays along others, that do not fit
// the first one.
func TestArraysOf(t *testing.T) {
	array := func(name string, axes ...int) *tdfg.Array { return &tdfg.Array{Name: name, Axes: axes} }
	graph := func(dims int, arrays ...*tdfg.Array) *tdfg.Graph {
		return &tdfg.Graph{Scope: tdfg.Scope{Dims: dims, Arrays: arrays}}
	}
	first := graph(2, array("A", 0, 1), array("B", 0))
	other := graph(1, array("C", 0))
	turned := graph(2, array("D", 0), array("B", 1))
	last := graph(2, array("E", 1), array("B", 0))
	arrays, dims, fit := arraysOf([]*tdfg.Graph{first, other, turned, last})
	require.Equal(t, 2, dims)
	require.Equal(t, []*tdfg.Graph{first, last}, fit)
	var got []string
	for _, a := range arrays {
		got = append(got, a.Name)
	}
	require.Equal(t, []string{"A", "B", "E"}, got)
}

// TestWordThreads broadcasts from few tiles to many, and shifts from many, on one and on
// three threads, and compares with the definition.
func TestWordThreads(t *testing.T) {
	const tiles, cols = 512, 64
	few, many, bitlines := pattern(t, "3:5:2"), pattern(t, "0:1:256"), pattern(t, "0:8:7")
	for _, c := range []lowering.Command{
		{Kind: lowering.ShiftInter, Tiles: few, Whole: true, Src: 0, Dst: 8, Rows: 8, TileDist: 10, Copies: 240, TileStride: 2, BitlineDist: 3},
		{Kind: lowering.ShiftInter, Tiles: few, Bitlines: bitlines, Src: 0, Dst: 8, Rows: 8, TileDist: 10, Copies: 99, TileStride: 2, BitlineDist: -1},
		{Kind: lowering.ShiftInter, Tiles: many, Bitlines: bitlines, Src: 0, Dst: 8, Rows: 8, TileDist: 256, Copies: 1, TileStride: 1},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		src, want := make([]scalar.Value, tiles*cols), make([]scalar.Value, tiles*cols)
		for i := range src {
			src[i], want[i] = r.Uint64N(256), r.Uint64N(256)
		}
		old := slices.Clone(want)
		lines := slices.Collect(bitlines.All())
		for from := range c.Tiles.All() {
			for i := range int(c.Copies) {
				for b := range cols {
					at := b + int(c.BitlineDist)
					if at >= 0 && at < cols && (c.Whole || slices.Contains(lines, b)) {
						want[(from+int(c.TileDist)+i*int(c.TileStride))*cols+at] = src[from*cols+b]
					}
				}
			}
		}
		for _, threads := range []int{1, 3} {
			m := tile.Default()
			m.Array.Cols = cols
			w, err := newWord(m, tiles, threads, 100, 1)
			require.NoError(t, err)
			copy(w.plane(0), src)
			copy(w.plane(8), old)
			require.NoError(t, w.exec(context.Background(), nil, []lowering.Command{c, {Kind: lowering.Sync}}, lowering.Inputs{}))
			require.Equal(t, want, w.plane(8), "%d threads", threads)
		}
	}
}

// TestEachTile collects the points of the parts: all of the box once, each part in one
// tile, and no tile in two parts, for any number of threads.
func TestEachTile(t *testing.T) {
	table, err := lowering.NewLOT(tile.Default(), []int64{70, 50, 3}, lowering.Shape{16, 8, 2})
	require.NoError(t, err)
	grid := table.Grid()
	for _, box := range []lattice.Box{
		{{Lo: 5, Hi: 66}, {Lo: 7, Hi: 41}, {Lo: 0, Hi: 3}}, // of many points
		{{Lo: 16, Hi: 32}, {Lo: 8, Hi: 9}, {Lo: 1, Hi: 3}},
		{{Lo: 69, Hi: 70}, {Lo: 0, Hi: 1}, {Lo: 2, Hi: 3}},
	} {
		for threads := range 6 {
			r := &runner{opt: Options{Threads: threads}, table: table}
			var mu sync.Mutex
			seen := map[[3]int64]int{}
			tiles := map[int]int{}
			r.eachTile(box, func(part lattice.Box) {
				mu.Lock()
				defer mu.Unlock()
				first, _ := grid.Locate(part.First())
				tiles[first]++
				for p, more := part.First(), !part.Empty(); more; more = part.Next(p) {
					seen[[3]int64(p)]++
					tl, _ := grid.Locate(p)
					require.Equal(t, first, tl)
				}
			})
			require.Len(t, seen, int(box.Size()))
			for p, n := range seen {
				require.Equal(t, 1, n)
				require.True(t, box.Has(p[:]))
			}
			for _, n := range tiles {
				require.Equal(t, 1, n)
			}
		}
	}
}
