package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/figuretest"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tile"
)

const studied = `
#include "bitsched.h"
void blur(int N, int M, const int A[N][M], int B[N][M])
{
	inf_array(A, N, M);
	inf_array(B, N, M);
#pragma bitsched region
	for (int i = 1; i < N - 1; i++)
		for (int j = 0; j < M; j++)
			B[i][j] = A[i - 1][j] + A[i + 1][j];
}
`

func studiedProgram(t *testing.T) *tdfg.Program {
	p, err := cfront.Compile(context.Background(), "blur.c", studied, cfront.Options{})
	require.NoError(t, err)
	return p
}

// TestStudyTiles compares a study with a run for each shape, and with the shape that
// a run chooses.
func TestStudyTiles(t *testing.T) {
	ctx := context.Background()
	p, m, sizes := studiedProgram(t), tile.Default(), map[string]int64{"N": 200, "M": 176}
	reports := 0
	s, err := StudyTiles(ctx, p, sizes, m, 3, func(done, total int) {
		reports++
		require.Equal(t, reports, done)
		require.Equal(t, 9, total)
	})
	require.NoError(t, err)
	require.Equal(t, "blur", s.Kernel)
	require.Equal(t, "N=200 M=176", s.Sizes)
	require.Equal(t, 9, reports)
	require.Empty(t, s.Near)
	best := s.Tiles[0].Total
	for i, c := range s.Tiles {
		require.Equal(t, fmt.Sprintf("%dx%d", 1<<i, 256>>i), c.Tile)
		shape, err := lowering.ParseShape(c.Tile)
		require.NoError(t, err)
		r, err := system.Run(ctx, p, sizes, nil, system.Options{Machine: m, Tile: shape, TimingOnly: true})
		require.NoError(t, err)
		require.Equal(t, r.Cycles, c.Cycles)
		require.Equal(t, c.Total-c.DRAM, c.WithoutDRAM())
		best = min(best, c.Total)
	}
	require.Equal(t, best, s.Tiles[s.Best].Total)
	require.Equal(t, "256x1", s.Tiles[s.Plain].Tile)
	r, err := system.Run(ctx, p, sizes, nil, system.Options{Machine: m, TimingOnly: true})
	require.NoError(t, err)
	require.Equal(t, r.Tile, s.Tiles[s.Chosen].Tile)
	require.InDelta(t, float64(r.Cycles.Total)/float64(best)-1, s.Excess(), 1e-12)

	alone, err := StudyTiles(ctx, p, sizes, m, 1, nil)
	require.NoError(t, err)
	require.Equal(t, s, alone)
}

// TestStudyTilesErrors studies what has no choice, or is stopped.
// TestRunTiles has times of whole kernels from a function of the shape.
func TestRunTiles(t *testing.T) {
	ctx := context.Background()
	p, m, sizes := studiedProgram(t), tile.Default(), map[string]int64{"N": 200, "M": 176}
	s, err := RunTiles(ctx, p, sizes, m, func(shape lowering.Shape) (*TileTime, error) {
		return &TileTime{Cycles: system.Cycles{Total: 1000 - shape[0]}, Final: 8 * shape[0]}, nil
	})
	require.NoError(t, err)
	require.Len(t, s.Tiles, 9)
	require.Equal(t, "1x256", s.Tiles[s.Best].Tile)
	require.Equal(t, "256x1", s.Tiles[s.Plain].Tile)
	counted, err := StudyTiles(ctx, p, sizes, m, 3, nil)
	require.NoError(t, err)
	require.Equal(t, counted.Chosen, s.Chosen)
	require.InDelta(t, (1000.0+7*256)/float64(s.Tiles[s.Chosen].Time()), s.Speedup(), 1e-9)
	_, err = RunTiles(ctx, p, sizes, m, func(lowering.Shape) (*TileTime, error) { return nil, errors.New("no") })
	require.ErrorContains(t, err, "benchmarks: blur with tiles 1x256: no")
}

func TestStudyTilesErrors(t *testing.T) {
	p, m := studiedProgram(t), tile.Default()
	_, err := StudyTiles(context.Background(), p, map[string]int64{"N": 200, "M": 170}, m, 2, nil)
	require.ErrorIs(t, err, ErrNoTiles)
	require.ErrorContains(t, err, "innermost dimension does not align with cache lines")
	line, err := cfront.Compile(context.Background(), "line.c", `void line(int N, int A[N], int c) {
		inf_array(A, N);
		#pragma bitsched region
		for (int i = 0; i < N; i++) A[i] = c;
	}`, cfront.Options{})
	require.NoError(t, err)
	_, err = StudyTiles(context.Background(), line, map[string]int64{"N": 160}, m, 2, nil)
	require.ErrorIs(t, err, ErrNoTiles)
	require.ErrorContains(t, err, "one dimension")

	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("stop")
	_, err = StudyTiles(ctx, p, map[string]int64{"N": 200, "M": 176}, m, 2, func(int, int) { cancel(stop) })
	require.Error(t, err)
}

// TestStudyTilesFinal sums rows of 512 with tiles of 1 to 256 along them: what is left
// of a row is added near the memory, at so many elements a bank and cycle.
func TestStudyTilesFinal(t *testing.T) {
	p, err := cfront.Compile(context.Background(), "rows.c", `void rows(int N, const float A[N][512], float S[N]) {
		inf_array(A, N, 512);
		inf_array(S, N);
		#pragma bitsched region reassociate
		for (int i = 0; i < N; i++) {
			float s = 0;
			for (int j = 0; j < 512; j++) s += A[i][j];
			S[i] = s;
		}
	}`, cfront.Options{})
	require.NoError(t, err)
	m := tile.Default()
	for _, rate := range []int{0, 1, 3} {
		m.Streams.L3.OpsPerCycle = rate
		s, err := StudyTiles(context.Background(), p, map[string]int64{"N": 256}, m, 2, nil)
		require.NoError(t, err)
		for i, c := range s.Tiles {
			ops := int64(256 * (512>>i - 1))
			require.Equal(t, ops, c.FinalOps, c.Tile)
			cycles := int64(0)
			if rate > 0 {
				cycles = int64(math.Ceil(float64(ops) / float64(64*rate)))
			}
			require.Equal(t, cycles, c.Final)
			require.Equal(t, c.Total+cycles, c.Time())
			require.LessOrEqual(t, s.Tiles[s.Best].Time(), c.Time())
		}
	}
}

// TestTileMeans takes studies whose means are known.
func TestTileMeans(t *testing.T) {
	study := func(best, chosen, plain int64) *TileStudy {
		s := &TileStudy{Kernel: "k", Dims: 2, Best: 0, Chosen: 1, Plain: 2}
		for i, n := range []int64{best, chosen, plain} {
			s.Tiles = append(s.Tiles, TileTime{Tile: fmt.Sprintf("%dx1", i+1), Cycles: system.Cycles{Total: n, DRAM: 40, Compute: n - 40}})
		}
		return s
	}
	a, b := study(100, 121, 242), study(100, 100, 800)
	require.InDelta(t, 0.21, a.Excess(), 1e-12)
	require.InDelta(t, 21.0/60, a.ExcessWithoutDRAM(), 1e-12)
	excess, speedup := TileMeans([]*TileStudy{a, b})
	require.InDelta(t, 0.1, excess, 1e-12) // sqrt(1.21)
	require.InDelta(t, 4, speedup, 1e-12)  // sqrt(2*8)

	// The figure is well-formed, marks the best shape and the chosen one, and has the
	// cycles of each part.
	svg := TileFigure("Cycles", []*TileStudy{a, b})
	all := figuretest.Read(t, svg)
	text := string(svg)
	require.Equal(t, 2, strings.Count(text, ">* 1x1</text>"))
	require.Regexp(t, `font-weight="600"[^>]*>2x1</text>`, text)
	require.Contains(t, text, "k of 2x1: compute 81 of 121 cycles")
	require.NotContains(t, text, "lowering 0 of")
	require.Nil(t, TileFigure("Cycles", nil))

	// Bars stand for cycles, in units of the best: 121 of 100, a third of it DRAM.
	dram, compute := figuretest.Hinted(t, all, "k of 2x1: DRAM 40 of 121 cycles"), figuretest.Hinted(t, all, "k of 2x1: compute 81 of 121 cycles")
	best := figuretest.Hinted(t, all, "k of 1x1: DRAM 40 of 100 cycles").Num(t, "height") + figuretest.Hinted(t, all, "k of 1x1: compute 60 of 100 cycles").Num(t, "height")
	require.InDelta(t, 1.21, (dram.Num(t, "height")+compute.Num(t, "height"))/best, 0.001)
	require.InDelta(t, 40.0/121, dram.Num(t, "height")/(dram.Num(t, "height")+compute.Num(t, "height")), 0.001)
	require.InDelta(t, dram.Num(t, "y"), compute.Num(t, "y")+compute.Num(t, "height"), 0.011, "stacked")

	// Panels of all widths, with names that are longer than they are.
	var many []*TileStudy
	for i := range 12 {
		s := study(100, 121, 242)
		s.Kernel, s.Sizes, s.Dims = "gather_mlp_inner", "M=32768 N=128 K=128 R=32768", 2+i%2
		for j := range 5 * i {
			s.Tiles = append(s.Tiles, TileTime{Tile: fmt.Sprintf("%dx%dx256", 1<<(j%9), j), Cycles: system.Cycles{Total: int64(100 + j*i*300), Sync: 1}})
		}
		many = append(many, s)
	}
	require.NotEmpty(t, figuretest.Read(t, TileFigure("Cycles", many)))

	// Narrow panels fill lines as far as their names let them, and no further than a
	// page.
	many = many[:0]
	for range 9 {
		s := study(100, 121, 242)
		s.Kernel, s.Sizes = "gather_mlp_inner", "M=32768 N=128 K=128 R=32768"
		many = append(many, s)
	}
	all = figuretest.Read(t, TileFigure("Cycles", many))
	require.Less(t, all[0].Num(t, "width"), 1050.0)
	require.Greater(t, all[0].Num(t, "width"), 700.0)
}
