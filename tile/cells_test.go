package tile_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/tile"
)

// chip returns a machine of 4 banks of 2x3 arrays.
func chip(cols int, tech string) *tile.Machine {
	m := tile.Default()
	m.Name = "small"
	m.Mesh.Cols, m.Mesh.Rows, m.NoC.MemoryControllers = 2, 2, 1
	m.L3.ComputeWays, m.L3.ArraysPerWay = 2, 3
	m.Array.Rows, m.Array.Cols, m.Array.Technology = 24, cols, tech
	return m
}

// naive is the same cells as single bits.
type naive [][][]bool // array, row, bitline

// fill gives all cells random bits, and returns them.
func fill(c *tile.Cells, seed uint64) naive {
	r := rand.New(rand.NewPCG(seed, 1))
	n := make(naive, c.Arrays())
	for a := range n {
		n[a] = make([][]bool, c.Rows())
		for row := range n[a] {
			n[a][row] = make([]bool, c.Cols())
			words := c.Row(a, row)
			for k := range words {
				words[k] = r.Uint64()
			}
			for b := range n[a][row] {
				n[a][row][b] = words[b/64]>>(b%64)&1 == 1
			}
		}
	}
	return n
}

func requireCells(t require.TestingT, want naive, c *tile.Cells) {
	for a := range want {
		for row := range want[a] {
			for b, x := range want[a][row] {
				if x != c.Bit(a, row, b) {
					require.Equal(t, x, c.Bit(a, row, b), "array %d row %d bitline %d", a, row, b)
				}
			}
		}
	}
}

// drawEnable draws masks, at times all ones or none.
func drawEnable(t *rapid.T, c *tile.Cells) tile.Enable {
	words := func(n int, label string) []uint64 {
		if rapid.Bool().Draw(t, label+" all") {
			return nil
		}
		m := make([]uint64, n)
		for k := range m {
			m[k] = rapid.Uint64().Draw(t, label)
		}
		return m
	}
	return tile.Enable{Arrays: words((c.Arrays()+63)/64, "arrays"), Bitlines: words(c.Cols()/64, "bitlines")}
}

func on(mask []uint64, i int) bool { return mask == nil || mask[i/64]>>(i%64)&1 == 1 }

// eachBit calls f for every bitline that is enabled.
func eachBit(c *tile.Cells, e tile.Enable, f func(array, bitline int)) {
	for a := range c.Arrays() {
		for b := range c.Cols() {
			if on(e.Arrays, a) && on(e.Bitlines, b) {
				f(a, b)
			}
		}
	}
}

// kernel draws a kernel of logic for both technologies, and returns what it does
// on a bitline.
func kernel(t *rapid.T, tech *sram.Technology, rows int) (*sram.KernelCode, func(col []bool)) {
	type step struct{ dst, a, b int }
	k := &sram.Kernel{Tech: tech, Rows: rows + tech.Reserved, Inputs: []sram.Port{{Name: "x", Base: 0, Width: rows}}}
	var steps []step
	row := rapid.IntRange(0, rows-1)
	for range rapid.IntRange(1, 6).Draw(t, "steps") {
		s := step{row.Draw(t, "dst"), row.Draw(t, "a"), row.Draw(t, "b")}
		steps = append(steps, s)
		m := sram.Micro{Op: sram.NCXor, Dst: uint16(s.dst), Src: [3]sram.Operand{sram.Row(s.a, false), sram.Row(s.b, false)}}
		if tech == &sram.XMG {
			m.Op, m.Src[2] = sram.XMGXor, sram.Zero
		}
		k.Instrs = append(k.Instrs, m)
	}
	code, err := k.Compile()
	require.NoError(t, err)
	return code, func(col []bool) {
		for _, s := range steps {
			col[s.dst] = col[s.a] != col[s.b]
		}
	}
}

// TestRun executes random commands on cells and on single bits, on one and on three
// threads.
func TestRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := chip(rapid.SampledFrom([]int{64, 128, 256}).Draw(t, "cols"), rapid.SampledFrom([]string{"neural-cache", "xmg"}).Draw(t, "tech"))
		arrays := rapid.IntRange(1, m.Arrays()).Draw(t, "arrays")
		if m.Array.Cols == 256 && rapid.Bool().Draw(t, "aligned") {
			arrays = 16 // transfers from a whole group to the other one
		}
		c, err := tile.NewCells(m, arrays)
		require.NoError(t, err)
		twin, err := tile.NewCells(m, arrays)
		require.NoError(t, err)
		want := fill(c, 7)
		fill(twin, 7)
		var ops []tile.Op
		for range rapid.IntRange(1, 5).Draw(t, "ops") {
			e := drawEnable(t, c)
			n := rapid.IntRange(1, 5).Draw(t, "n")
			src, dst := rapid.IntRange(0, 10-n).Draw(t, "src"), rapid.IntRange(10, c.Rows()-n).Draw(t, "dst")
			if rapid.Bool().Draw(t, "back") {
				src, dst = dst, src
			}
			dist := rapid.IntRange(-c.Cols()-3, c.Cols()+3).Draw(t, "dist")
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				code, f := kernel(t, m.Technology(), c.Rows())
				ops = append(ops, tile.Compute(code, e))
				eachBit(c, e, func(a, b int) {
					col := make([]bool, c.Rows())
					for r := range col {
						col[r] = want[a][r][b]
					}
					f(col)
					for r := range col {
						want[a][r][b] = col[r]
					}
				})
			case 1:
				if rapid.Bool().Draw(t, "same") {
					dst = src
				}
				ops = append(ops, tile.Shift(src, dst, n, dist, e))
				want = moved(c, want, e, src, dst, n, dist, 0)
			case 2:
				v := rapid.Uint64().Draw(t, "value")
				ops = append(ops, tile.Fill(dst, n, []uint64{v}, e))
				eachBit(c, e, func(a, b int) {
					for r := range n {
						want[a][dst+r][b] = v>>r&1 == 1
					}
				})
			case 3:
				// From some arrays of the first half to as many further on, or one to many.
				half := arrays / 2
				if half == 0 {
					continue
				}
				from := make([]uint64, (arrays+63)/64)
				copies, stride := 1, rapid.IntRange(1, 3).Draw(t, "stride")
				if rapid.Bool().Draw(t, "broadcast") {
					from[0] = 1
					copies = (half-1)/stride + 1
				} else {
					whole := rapid.Bool().Draw(t, "whole")
					for a := range half {
						if whole || rapid.Bool().Draw(t, "from") {
							from[a/64] |= 1 << (a % 64)
						}
					}
				}
				e.Arrays = from
				ops = append(ops, tile.Transfer(src, dst, n, dist, half, copies, stride, e))
				was := want
				for i := range copies {
					want = merged(c, was, want, e, src, dst, n, dist, half+i*stride)
				}
			}
		}
		require.NoError(t, c.Run(context.Background(), 1, ops))
		requireCells(t, want, c)
		require.NoError(t, twin.Run(context.Background(), 3, ops))
		requireCells(t, want, twin)
	})
}

// moved is the cells after a shift by single bits.
func moved(c *tile.Cells, old naive, e tile.Enable, src, dst, n, dist, arrays int) naive {
	return merged(c, old, old, e, src, dst, n, dist, arrays)
}

// merged writes what a transfer moves of the cells old over a copy of those in to.
func merged(c *tile.Cells, old, to naive, e tile.Enable, src, dst, n, dist, arrays int) naive {
	result := make(naive, len(to))
	for a := range to {
		result[a] = make([][]bool, len(to[a]))
		for r := range to[a] {
			result[a][r] = append([]bool(nil), to[a][r]...)
		}
	}
	eachBit(c, e, func(a, b int) {
		if b+dist >= 0 && b+dist < c.Cols() {
			for r := range n {
				result[a+arrays][dst+r][b+dist] = old[a][src+r][b]
			}
		}
	})
	return result
}

func TestRunErrors(t *testing.T) {
	m := chip(64, "neural-cache")
	c, err := tile.NewCells(m, 10)
	require.NoError(t, err)
	before := fill(c, 3)
	k := &sram.Kernel{Tech: &sram.XMG, Rows: 2, Inputs: []sram.Port{{Name: "a", Base: 0, Width: 1}},
		Instrs: []sram.Micro{{Op: sram.XMGXor, Dst: 1, Src: [3]sram.Operand{sram.Row(0, false), sram.Zero, sram.One}}}}
	xmg, err := k.Compile()
	require.NoError(t, err)
	k = &sram.Kernel{Tech: &sram.NeuralCache, Rows: 256, Inputs: []sram.Port{{Name: "a", Base: 40, Width: 1}}}
	large, err := k.Compile()
	require.NoError(t, err)
	all := tile.Enable{}
	for _, e := range []struct {
		op   tile.Op
		want string
	}{
		{tile.Compute(xmg, all), "kernel of xmg, expected one of neural-cache"},
		{tile.Compute(large, all), "kernel of 41 rows, expected at most 22"},
		{tile.Shift(0, 20, 3, 1, all), "3 rows from 0 to 20, expected rows below 22"},
		{tile.Shift(0, 2, 3, 1, all), "3 rows from 0 to 2 overlap, expected the same or others"},
		{tile.Shift(0, 4, 0, 1, all), "0 rows from 0 to 4, expected rows below 22"},
		{tile.Shift(20, 0, 3, 1, all), "3 rows from 20 to 0, expected rows below 22"},
		{tile.Shift(-1, 4, 3, 1, all), "3 rows from -1 to 4, expected rows below 22"},
		{tile.Shift(4, -1, 3, 1, all), "3 rows from 4 to -1, expected rows below 22"},
		{tile.Transfer(20, 4, 3, 1, 1, 1, 1, all), "3 rows from 20 to 4, expected rows below 22"},
		{tile.Transfer(0, 4, 3, 1, -1, 1, 1, all), "transfer from array 0 to -1, expected 0 to 9"},
		{tile.Transfer(0, 4, 3, 1, -2, 1, 1, tile.Enable{Arrays: []uint64{2}}), "transfer from array 1 to -1, expected 0 to 9"},
		{tile.Transfer(0, 4, 3, 1, 1, 1, 1, tile.Enable{Arrays: []uint64{1 << 9}}), "transfer from array 9 to 10, expected 0 to 9"},
		{tile.Fill(-1, 3, nil, all), "3 rows from 0 to -1, expected rows below 22"},
		{tile.Transfer(0, 0, 3, 1, 1, 1, 1, all), "transfer from array 0 to the same rows of array 1, which sends them too"},
		{tile.Transfer(0, 2, 3, 1, 1, 1, 1, all), "3 rows from 0 to 2 overlap, expected the same or others"},
		{tile.Transfer(0, 4, 3, 1, 1, 1, 1, all), "transfer from array 9 to 10, expected 0 to 9"},
		{tile.Transfer(0, 4, 3, 1, 0, 2, 1, tile.Enable{Arrays: []uint64{3}}), "two transfers to array 1"},
		{tile.Transfer(0, 4, 3, 1, 0, 0, 1, all), "0 copies, expected at least 1"},
		{tile.Fill(0, 1, nil, tile.Enable{Bitlines: []uint64{1, 2}}), "mask of 2 words for bitlines, expected 1"},
		{tile.Fill(0, 1, nil, tile.Enable{Arrays: []uint64{}}), "mask of 0 words for arrays, expected 1"},
	} {
		err := c.Run(context.Background(), 1, []tile.Op{tile.Fill(0, 4, nil, all), e.op})
		require.EqualError(t, err, "tile: command 1: "+e.want)
		requireCells(t, before, c) // nothing is executed
	}
	// The last rows, and arrays beyond the first word of a mask.
	for _, op := range []tile.Op{tile.Shift(19, 0, 3, 1, all), tile.Shift(0, 19, 3, 1, all), tile.Shift(0, 3, 3, 1, all), tile.Shift(3, 0, 3, 1, all), tile.Fill(19, 3, nil, all)} {
		require.NoError(t, c.Run(context.Background(), 1, []tile.Op{op}))
	}
	many := tile.Default()
	wide, err := tile.NewCells(many, 130)
	require.NoError(t, err)
	on := tile.Enable{Arrays: []uint64{1 << 63, 1, 0}}
	require.EqualError(t, wide.Run(context.Background(), 1, []tile.Op{tile.Transfer(0, 4, 3, 0, 0, 2, 1, on)}), "tile: command 0: two transfers to array 64")
	require.EqualError(t, wide.Run(context.Background(), 1, []tile.Op{tile.Transfer(4, 4, 3, 0, 1, 1, 1, on)}), "tile: command 0: transfer from array 63 to the same rows of array 64, which sends them too")
	require.NoError(t, wide.Run(context.Background(), 1, []tile.Op{tile.Transfer(0, 4, 3, 0, 1, 1, 1, on)}))
	for _, n := range []int{0, 25} {
		_, err = tile.NewCells(m, n)
		require.ErrorContains(t, err, "of machine small, expected 1 to 24")
	}
	m.Array.Cols = 100
	_, err = tile.NewCells(m, 1)
	require.EqualError(t, err, "tile: machine small: array.cols is 100, expected a power of two")
}

func TestRunStops(t *testing.T) {
	c, err := tile.NewCells(chip(64, "neural-cache"), 10)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, c.Run(ctx, 2, []tile.Op{tile.Fill(0, 1, nil, tile.Enable{})}), context.Canceled)
}

// TestLines transposes lines to bitlines and back: every bit lies where it should,
// and nothing else changes.
func TestLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, err := tile.NewCells(chip(128, "xmg"), 7)
		require.NoError(t, err)
		want := fill(c, 5)
		bytes := rapid.IntRange(1, 2).Draw(t, "bytes")
		n := rapid.IntRange(1, 100).Draw(t, "elements")
		array := rapid.IntRange(0, 6).Draw(t, "array")
		bitline := rapid.IntRange(0, 128-n).Draw(t, "bitline")
		wl := rapid.IntRange(0, c.Rows()-8*bytes).Draw(t, "wl")
		line := make([]byte, n*bytes)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		for i := range line {
			line[i] = byte(r.Uint32())
		}
		require.NoError(t, c.LoadLine(array, bitline, wl, bytes, line))
		for e := range n {
			var v uint64
			if bytes == 1 {
				v = uint64(line[e])
			} else {
				v = uint64(binary.LittleEndian.Uint16(line[2*e:]))
			}
			for i := range 8 * bytes {
				want[array][wl+i][bitline+e] = v>>i&1 == 1
			}
		}
		requireCells(t, want, c)
		back := make([]byte, len(line))
		require.NoError(t, c.StoreLine(array, bitline, wl, bytes, back))
		require.Equal(t, line, back)
		requireCells(t, want, c)
	})
}

func TestLineErrors(t *testing.T) {
	c, err := tile.NewCells(chip(64, "xmg"), 4)
	require.NoError(t, err)
	for _, e := range []struct {
		array, bitline, wl, bytes, n int
		want                         string
	}{
		{0, 0, 0, 2, 3, "tile: line of 3 bytes of elements of 2, expected a whole number of elements of 1 to 8 bytes"},
		{0, 0, 0, 0, 3, "tile: line of 3 bytes of elements of 0, expected a whole number of elements of 1 to 8 bytes"},
		{4, 0, 0, 1, 3, "tile: line for array 4, expected 0 to 3"},
		{0, 63, 0, 1, 2, "tile: line of 2 elements for bitline 63 on, expected bitlines below 64"},
		{0, 0, 17, 1, 2, "tile: line for rows 17 to 24, expected rows below 24"},
	} {
		require.EqualError(t, c.LoadLine(e.array, e.bitline, e.wl, e.bytes, make([]byte, e.n)), e.want)
		require.EqualError(t, c.StoreLine(e.array, e.bitline, e.wl, e.bytes, make([]byte, e.n)), e.want)
	}
}

// TestTransferGroups moves whole groups of arrays, which go all at once if it is to the
// same lanes of another group.
func TestTransferGroups(t *testing.T) {
	for i, dist := range []int{0, 5, -70, 3, 0} {
		far := []int{8, 8, 8, 1, 7}[i]
		for _, e := range []tile.Enable{{}, {Bitlines: []uint64{0x5555555555555555, 7 << 40, 0, 1 << 63}}} {
			c, err := tile.NewCells(chip(256, "xmg"), 24)
			require.NoError(t, err)
			want := fill(c, 11)
			e.Arrays = []uint64{0xff}
			require.NoError(t, c.Run(context.Background(), 1, []tile.Op{tile.Transfer(0, 10, 3, dist, far, 2, 8, e)}))
			was := want
			want = merged(c, was, want, e, 0, 10, 3, dist, far)
			requireCells(t, merged(c, was, want, e, 0, 10, 3, dist, far+8), c)
		}
	}
}

// TestWords transposes 64 words of each width to a part of a row and back, bit by bit.
func TestWords(t *testing.T) {
	m := chip(128, "xmg")
	m.Array.Rows = 80
	c, err := tile.NewCells(m, 20)
	require.NoError(t, err)
	want := fill(c, 9)
	r := rand.New(rand.NewPCG(9, 9))
	for width := 1; width <= 64; width++ {
		array, k, wl, mask := r.IntN(20), r.IntN(2), r.IntN(80-width+1), r.Uint64()
		var elems, back, held [64]uint64
		for b := range elems {
			elems[b] = r.Uint64() & (1<<width - 1)
			for i := range width {
				bit := &want[array][wl+i][64*k+b]
				if mask>>b&1 == 1 {
					*bit = elems[b]>>i&1 == 1
				}
				if *bit {
					held[b] |= 1 << i
				}
			}
		}
		c.LoadWord(array, k, wl, width, &elems, mask)
		c.StoreWord(array, k, wl, width, &back)
		require.Equal(t, held, back, "width %d", width)
	}
	requireCells(t, want, c)
}
