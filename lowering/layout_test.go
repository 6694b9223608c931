package lowering_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tile"
)

func constraints(t testing.TB, elemBytes int) lowering.Constraints {
	c, err := lowering.ConstraintsOf(tile.Default(), elemBytes)
	require.NoError(t, err)
	return c
}

func TestConstraintsOf(t *testing.T) {
	require.Equal(t, lowering.Constraints{B: 256, W: 256, L: 16, N: 16384, Remote: 3}, constraints(t, 4))
	_, err := lowering.ConstraintsOf(tile.Default(), 3)
	require.EqualError(t, err, "lowering: elements of 3 bytes, expected a divisor of a cache line of 64")
}

// TestShapes holds the enumeration against all triples of sizes.
func TestShapes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "dims")
		c := lowering.Constraints{
			B: rapid.SampledFrom([]int64{4, 12, 16}).Draw(t, "B"),
			W: rapid.Int64Range(1, 6).Draw(t, "W"),
			L: rapid.SampledFrom([]int64{2, 4, 8}).Draw(t, "L"),
			N: rapid.Int64Range(1, 60).Draw(t, "N"),
		}
		size := []int64{c.L * rapid.Int64Range(1, 4).Draw(t, "lines"), 1, 1}
		for i := 1; i < n; i++ {
			size[i] = rapid.Int64Range(1, 9).Draw(t, "size")
		}
		var want []lowering.Shape
		for x := int64(1); x <= c.B; x++ {
			for y := int64(1); y <= c.B; y++ {
				for z := int64(1); z <= c.B; z++ {
					shape := lowering.Shape{x, y, z}
					if x*y*z != c.B || n < 3 && z > 1 || n < 2 && y > 1 || x*c.W%c.L != 0 {
						continue
					}
					// One bank for each line, and room for all: by definition.
					lines, tiles := true, 0
					bank := map[[3]int64]int{}
					for p, at := range places(size, shape) {
						tiles = max(tiles, p.tile+1)
						at[0] /= c.L
						if other, ok := bank[at]; ok && other != p.tile/int(c.W) {
							lines = false
							break
						}
						bank[at] = p.tile / int(c.W)
					}
					if lines && int64(tiles) <= c.N {
						want = append(want, shape[:n])
					}
				}
			}
		}
		got, err := lowering.Shapes(size[:n], c)
		if err != nil {
			require.Empty(t, got)
		}
		// What is valid keeps lines together; the check may refuse a shape whose lines
		// happen not to be split, where its rows of tiles do not begin at lines.
		for _, s := range got {
			require.Contains(t, want, s)
		}
		for _, s := range want {
			row := (size[0] + s[0] - 1) / s[0] * s[0]
			if row%c.L == 0 {
				require.Contains(t, got, s)
			}
		}
	})
}

func TestShapesOfMachine(t *testing.T) {
	shapes, err := lowering.Shapes([]int64{2048, 2048}, constraints(t, 4))
	require.NoError(t, err)
	require.Equal(t, []lowering.Shape{{1, 256}, {2, 128}, {4, 64}, {8, 32}, {16, 16}, {32, 8}, {64, 4}, {128, 2}, {256, 1}}, shapes)
	shapes, err = lowering.Shapes([]int64{512, 512, 16}, constraints(t, 4))
	require.NoError(t, err)
	require.Len(t, shapes, 45-10) // tiles deeper than 16 waste bitlines, so that the arrays do not suffice
	for size, want := range map[[2]int64]error{
		{2040, 2048}: lowering.ErrMisaligned,
		{4096, 2048}: lowering.ErrTooLarge,
	} {
		_, err := lowering.Shapes(size[:], constraints(t, 4))
		require.ErrorIs(t, err, want)
	}
	_, err = lowering.Shapes([]int64{16, 16}, lowering.Constraints{B: 3, W: 1, L: 16, N: 1000})
	require.ErrorIs(t, err, lowering.ErrNoShape)
	_, err = lowering.Shapes(nil, constraints(t, 4))
	require.EqualError(t, err, "lowering: 0 dimensions, expected 1 to 3")
	_, err = lowering.Shapes([]int64{16, 1, 1, 1}, constraints(t, 4))
	require.EqualError(t, err, "lowering: 4 dimensions, expected 1 to 3")
}

// TestChoose has the cases that the paper describes in words.
func TestChoose(t *testing.T) {
	for _, c := range []struct {
		why  string
		size []int64
		h    lowering.Hints
		want string
	}{
		{"stencil2d: shifts along both dimensions, section 8 has 16x16", []int64{2048, 2048}, lowering.Hints{Shift: lowering.Dims(0, 1)}, "16x16"},
		{"stencil1d", []int64{4 << 20}, lowering.Hints{Shift: lowering.Dims(0)}, "256"},
		{"a shift along one dimension", []int64{2048, 2048}, lowering.Hints{Shift: lowering.Dims(1)}, "1x256"},
		{"stencil3d: as few elements leave tiles of 8x4x8, but in three dimensions", []int64{512, 512, 16}, lowering.Hints{Shift: lowering.Dims(0, 1, 2)}, "4x4x16"},
		{"kmeans/in: 128 dimensions reduced, section 8 tiles by 128", []int64{128, 32768}, lowering.Hints{Reduce: lowering.Dims(0), Shift: lowering.Dims(0, 1)}, "128x2"},
		{"reduction before shift", []int64{2048, 2048}, lowering.Hints{Reduce: lowering.Dims(0), Shift: lowering.Dims(0, 1)}, "256x1"},
		{"shifts along both dimensions, and rows and columns to broadcast, which are few bits", []int64{2048, 2048}, lowering.Hints{Shift: lowering.Dims(0, 1), Broadcast: lowering.Dims(0, 1)}, "16x16"},
		{"mm/out: rows are spread over as many banks as can be", []int64{2048, 2048}, lowering.Hints{Broadcast: lowering.Dims(0, 1)}, "1x256"},
		{"conv3d: broadcasts of whole planes, which lie in more banks the more planes a tile has", []int64{256, 256, 64}, lowering.Hints{Shift: lowering.Dims(0, 1), Broadcast: lowering.Dims(0, 1, 2)}, "8x4x8"},
		{"gather_mlp/out: no broadcast between tiles along dimension 0", []int64{128, 32768}, lowering.Hints{Broadcast: lowering.Dims(0, 1)}, "128x2"},
		{"no hints", []int64{2048, 2048}, lowering.Hints{}, "16x16"},
	} {
		got, err := lowering.Choose(c.size, constraints(t, 4), c.h)
		require.NoError(t, err, c.why)
		require.Equal(t, c.want, got.String(), c.why)
	}
	_, err := lowering.Choose([]int64{3}, constraints(t, 4), lowering.Hints{})
	require.EqualError(t, err, "lowering: innermost dimension does not align with cache lines: 3 elements, expected a multiple of 16")
}

// TestRoundCycles is the length of the program and a cycle for each bit that is shifted.
func TestRoundCycles(t *testing.T) {
	ctx := context.Background()
	p, err := arith.Build(ctx, arith.Spec{Op: "int16.add", Tech: "neural-cache"})
	require.NoError(t, err)
	n, err := lowering.RoundCycles(ctx, nil, "neural-cache", scalar.Add, scalar.Int16)
	require.NoError(t, err)
	require.EqualValues(t, p.Latency()+16, n)
	_, err = lowering.RoundCycles(ctx, nil, "nothing", scalar.Add, scalar.Int16)
	require.ErrorContains(t, err, `"nothing"`)
	// Fewer arrays than a bank may have are in one bank.
	got, err := lowering.Choose([]int64{64}, lowering.Constraints{B: 16, W: 8, L: 16, N: 4}, lowering.Hints{Reduce: lowering.Dims(0), Round: n})
	require.NoError(t, err)
	require.Equal(t, lowering.Shape{16}, got)
}

// TestChooseRounds has the shape with the fewest cycles of a reduction, counted one
// by one: rounds within tiles, and what is left near the memory.
func TestChooseRounds(t *testing.T) {
	c, err := lowering.ConstraintsOf(tile.Default(), 4)
	require.NoError(t, err)
	for _, round := range []int64{50, 400, 850, 3000} {
		size := []int64{2048, 2048}
		best, least := lowering.Shape(nil), int64(0)
		for x := int64(1); x <= 256; x *= 2 {
			cycles := int64(0)
			for n := x; n > 1; n /= 2 {
				cycles += round
			}
			cycles += (2048/x - 1) * 2048 / 64
			if best == nil || cycles < least {
				best, least = lowering.Shape{x, 256 / x}, cycles
			}
		}
		got, err := lowering.Choose(size, c, lowering.Hints{Reduce: lowering.Dims(0), Round: round})
		require.NoError(t, err)
		require.Equal(t, best, got, "%d cycles a round", round)
	}
}

// TestChooseLanes has the shape with the fewest cycles where each bank that has tiles reads words of
// what is left, and combines vectors of it.
func TestChooseLanes(t *testing.T) {
	c, err := lowering.ConstraintsOf(tile.Default(), 4)
	require.NoError(t, err)
	chosen := map[string]bool{}
	for _, size := range [][]int64{{2048, 2048}, {128, 4096}, {512, 256}, {512, 256, 96}} { // and how much of dimension 0 is reduced
		extent := size[0]
		if len(size) > 2 {
			size, extent = size[:2], size[2]
		}
		for _, round := range []int64{20, 150, 600} {
			best, least := lowering.Shape(nil), int64(0)
			for x := int64(1); x <= min(256, size[0]); x *= 2 {
				banks := map[int64]bool{}
				for i := range size[0] / x * (size[1] * x / 256) {
					banks[i/c.W] = true
				}
				cycles := int64(0)
				for n := x; n > 1; n /= 2 {
					cycles += round
				}
				left := int64(math.Ceil(float64(extent)/float64(x))-1) * size[1] / int64(len(banks))
				if cycles += left/16 + left/8; best == nil || cycles < least {
					best, least = lowering.Shape{x, 256 / x}, cycles
				}
			}
			got, err := lowering.Choose(size, c, lowering.Hints{Reduce: lowering.Dims(0), Round: round, Lanes: 16, Words: 8, Extent: [lowering.MaxDims]int64{extent % size[0]}})
			require.NoError(t, err)
			require.Equal(t, best, got, "%v, %d of them, %d cycles a round", size, extent, round)
			chosen[got.String()] = true
		}
	}
	require.Greater(t, len(chosen), 3)
}
