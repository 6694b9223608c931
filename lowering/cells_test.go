package lowering_test

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tile"
)

// TestLoadStore holds the transposition of whole arrays against the mapping of
// addresses, bit by bit.
func TestLoadStore(t *testing.T) {
	ctx := context.Background()
	m := small()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "dims")
		bytes := rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "bytes")
		bound := []int64{64, 5, 3}[:n]
		c, err := lowering.ConstraintsOf(m, bytes)
		require.NoError(t, err)
		shapes, err := lowering.Shapes(bound, c)
		require.NoError(t, err)
		lot, err := lowering.NewLOT(m, bound, rapid.SampledFrom(shapes).Draw(t, "shape"))
		require.NoError(t, err)
		size := []int64{c.L, 1, 1}[:n]
		for d := 1; d < n; d++ {
			size[d] = rapid.Int64Range(1, bound[d]).Draw(t, "size")
		}
		region, err := lot.Add(lowering.Lie{Base: 128, Bytes: bytes, Size: size, Axes: along(size)}, 5)
		require.NoError(t, err)
		cells, err := tile.NewCells(m, lot.Grid().Tiles())
		require.NoError(t, err)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		data := make([]byte, lot.Entries()[region].End-128)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		require.NoError(t, lot.Load(ctx, cells, 2, region, data))
		ones := 0
		for i, x := range data {
			for bit := range 8 {
				p, ok := lot.Locate(128+uint64(i), bit)
				require.True(t, ok)
				array := (p.Bank*2+p.Way)*4 + p.Array
				require.Equal(t, x>>bit&1 == 1, cells.Bit(array, p.Wordline, p.Bitline))
				ones += int(x >> bit & 1)
			}
		}
		for a := range cells.Arrays() {
			for row := range cells.Rows() {
				for b := range cells.Cols() {
					if cells.Bit(a, row, b) {
						ones--
					}
				}
			}
		}
		require.Zero(t, ones, "cells outside of the region were written")
		back := make([]byte, len(data))
		require.NoError(t, lot.Store(ctx, cells, 1, region, back))
		require.Equal(t, data, back)
	})
}

// execute runs shifts on cells, w bits from wordline src to dst.
func execute(t require.TestingT, c *tile.Cells, shifts []lowering.Shift, src, dst, w int) {
	var ops []tile.Op
	for _, s := range shifts {
		on := tile.Enable{Arrays: make([]uint64, (c.Arrays()+63)/64), Bitlines: make([]uint64, c.Cols()/64)}
		s.Tiles.Mask(on.Arrays)
		s.Bitlines.Mask(on.Bitlines)
		if s.Intra() {
			ops = append(ops, tile.Shift(src, dst, w, s.BitlineDist, on))
		} else {
			ops = append(ops, tile.Transfer(src, dst, w, s.BitlineDist, s.TileDist, 1, 0, on))
		}
	}
	require.NoError(t, c.Run(context.Background(), 2, ops))
}

// TestMoveOnCells executes lowered moves on the cells of a chip and compares every
// element with the move of the array, for every tile shape.
func TestMoveOnCells(t *testing.T) {
	ctx := context.Background()
	m := small()
	c, err := lowering.ConstraintsOf(m, 2)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "dims")
		size := []int64{c.L * rapid.Int64Range(1, 2).Draw(t, "lines"), 1, 1}[:n]
		for d := 1; d < n; d++ {
			size[d] = rapid.Int64Range(1, 5).Draw(t, "size")
		}
		a := drawBox(t, size)
		dim := rapid.IntRange(0, n-1).Draw(t, "dim")
		dist := rapid.Int64Range(1, size[dim]).Draw(t, "dist")
		if rapid.Bool().Draw(t, "back") {
			dist = -dist
		}
		shapes, err := lowering.Shapes(size, c)
		require.NoError(t, err)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		bound := make(lattice.Box, n)
		for d := range bound {
			bound[d].Hi = size[d]
		}
		from, to := make([]byte, 2*bound.Size()), make([]byte, 2*bound.Size())
		for i := range from {
			from[i], to[i] = byte(r.Uint32()), byte(r.Uint32())
		}
		want := append([]byte(nil), to...)
		for p, more := bound.First(), true; more; more = bound.Next(p) {
			q := append([]int64(nil), p...)
			q[dim] -= dist
			if a.Has(q) && bound.Has(q) {
				copy(want[2*bound.Index(p):][:2], from[2*bound.Index(q):])
			}
		}
		for _, shape := range shapes {
			lot, err := lowering.NewLOT(m, size, shape)
			require.NoError(t, err)
			_, err = lot.Add(lowering.Lie{Base: 0, Bytes: 2, Size: size, Axes: along(size)}, 0)
			require.NoError(t, err)
			_, err = lot.Add(lowering.Lie{Base: 1 << 20, Bytes: 2, Size: size, Axes: along(size)}, 40)
			require.NoError(t, err)
			cells, err := tile.NewCells(m, lot.Grid().Tiles())
			require.NoError(t, err)
			require.NoError(t, lot.Load(ctx, cells, 1, 0, from))
			require.NoError(t, lot.Load(ctx, cells, 1, 1, to))
			execute(t, cells, lot.Grid().Move(nil, a, dim, dist), 0, 40, 16)
			got := make([]byte, len(to))
			require.NoError(t, lot.Store(ctx, cells, 1, 1, got))
			require.Equal(t, want, got, "tiles of %v", shape)
			require.NoError(t, lot.Store(ctx, cells, 1, 0, got))
			require.Equal(t, from, got, "tiles of %v", shape)
		}
	})
}

// vecAdd has two arrays of fp32 on a machine, and the program that adds them.
type vecAdd struct {
	cells *tile.Cells
	lot   *lowering.LOT
	data  [3][]byte
	code  *sram.KernelCode
}

func newVecAdd(t testing.TB, m *tile.Machine, n int64) *vecAdd {
	v := &vecAdd{}
	c, err := lowering.ConstraintsOf(m, 4)
	require.NoError(t, err)
	shape, err := lowering.Choose([]int64{n}, c, lowering.Hints{})
	require.NoError(t, err)
	v.lot, err = lowering.NewLOT(m, []int64{n}, shape)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range v.data {
		_, err := v.lot.Add(lowering.Lie{Base: uint64(i) << 30, Bytes: 4, Size: []int64{n}, Axes: along([]int64{n})}, 32*i)
		require.NoError(t, err)
		v.data[i] = make([]byte, 4*n)
		for j := range n {
			binary.LittleEndian.PutUint32(v.data[i][4*j:], math.Float32bits(float32(r.NormFloat64()*1000)))
		}
	}
	v.cells, err = tile.NewCells(m, v.lot.Grid().Tiles())
	require.NoError(t, err)
	p, err := arith.Build(context.Background(), arith.Spec{Op: "fp32.add", Tech: m.Array.Technology, Rows: m.Array.Rows})
	require.NoError(t, err)
	v.code, err = p.Kernel.Compile()
	require.NoError(t, err)
	return v
}

// run loads the operands, adds them and stores the sums, on threads.
func (v *vecAdd) run(t testing.TB, threads int) {
	ctx := context.Background()
	for i := range 2 {
		require.NoError(t, v.lot.Load(ctx, v.cells, threads, i, v.data[i]))
	}
	require.NoError(t, v.cells.Run(ctx, threads, []tile.Op{tile.Compute(v.code, tile.Enable{})}))
	require.NoError(t, v.lot.Store(ctx, v.cells, threads, 2, v.data[2]))
}

// TestVecAdd adds 4M numbers on all bitlines of the chip of the paper, each bit of
// each step, and compares every sum with the processor's.
func TestVecAdd(t *testing.T) {
	n := int64(4 << 20)
	if testing.Short() {
		n = 1 << 14
	}
	v := newVecAdd(t, tile.Default(), n)
	if n == 4<<20 {
		require.Equal(t, tile.Default().Arrays(), v.cells.Arrays())
	}
	v.run(t, runtime.GOMAXPROCS(0))
	at := func(i int, j int64) float32 {
		return math.Float32frombits(binary.LittleEndian.Uint32(v.data[i][4*j:]))
	}
	for j := range n {
		if at(0, j)+at(1, j) != at(2, j) {
			require.Equal(t, at(0, j)+at(1, j), at(2, j), "element %d", j)
		}
	}
}

// BenchmarkVecAdd is the addition of 4M fp32 numbers on the whole chip: all of it,
// and apart the program alone, whose rate is to be compared with that of the
// executor on one group of arrays without a chip.
func BenchmarkVecAdd(b *testing.B) {
	m := tile.Default()
	v := newVecAdd(b, m, int64(m.Bitlines()))
	rate := func(b *testing.B) {
		ops := float64(b.N) * float64(v.code.Kernel().Cycles()) * float64(m.Bitlines())
		b.ReportMetric(ops/b.Elapsed().Seconds(), "rowop-bitlines/s")
	}
	for _, threads := range []int{1, 2} {
		name := map[int]string{1: "1thread", 2: "2threads"}[threads]
		b.Run("all/"+name, func(b *testing.B) {
			for b.Loop() {
				v.run(b, threads)
			}
			rate(b)
		})
		b.Run("compute/"+name, func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, v.cells.Run(context.Background(), threads, []tile.Op{tile.Compute(v.code, tile.Enable{})}))
			}
			rate(b)
		})
	}
	b.Run("masked", func(b *testing.B) {
		mask := []uint64{1<<63 - 1, 0, ^uint64(0), 12345}
		for b.Loop() {
			require.NoError(b, v.cells.Run(context.Background(), 1, []tile.Op{tile.Compute(v.code, tile.Enable{Bitlines: mask})}))
		}
		rate(b)
	})
	b.Run("executor", func(b *testing.B) {
		s := v.code.NewState()
		for b.Loop() {
			for range m.Bitlines() / sram.GroupCols {
				s.Run()
			}
		}
		rate(b)
	})
}
