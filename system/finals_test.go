package system_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/tdfgtest"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tile"
)

// TestFinalsOfRandomGraphs runs random graphs with the last steps of reductions in
// memory, and compares every element with the interpreter's, which combines groups in
// the same order.
func TestFinalsOfRandomGraphs(t *testing.T) {
	machine := small(t)
	ctx := context.Background()
	inside := 0
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 12))
		typ := []scalar.Type{scalar.Int8, scalar.Int16, scalar.FP16, scalar.Int32}[seed%4]
		g := tdfgtest.Graph(r, tdfgtest.Options{Type: typ, Nodes: 10, Reuse: true, Open: true, Align: 8})
		p := &tdfg.Program{Name: "random", Arrays: g.Arrays, Scalars: []tdfg.Scalar{{Param: g.Params[0], Input: true}}, Body: []tdfg.Stmt{&tdfg.Region{Graph: g}}}
		before := memory.New()
		require.NoError(t, before.Allocate(g.Arrays, nil))
		fill(r, before, g.Arrays)
		before.Scalars["p"] = scalar.FromInt(typ, 3)
		for _, shape := range shapes[g.Dims] {
			want := before.Clone()
			require.NoError(t, interp.Run(ctx, p, nil, want, interp.Options{Group: func(dim int) int { return int(shape[dim]) }}))
			var reports [2]*system.Report
			opt := system.Options{Machine: machine, Tile: shape, Threads: 2, Check: 1, Finals: true}
			for _, opt.Fidelity = range []system.Fidelity{system.Gate, system.Word} {
				got := before.Clone()
				rep, err := system.Run(ctx, p, nil, got, opt)
				require.NoError(t, err, "seed %d %v\n%s", seed, shape, g)
				require.Empty(t, want.Diff(got), "seed %d %v %v\n%s", seed, shape, opt.Fidelity, g)
				reports[opt.Fidelity] = rep
			}
			require.Equal(t, reports[0].Cycles, reports[1].Cycles)
			opt.Finals, opt.TimingOnly = false, true
			near, err := system.Run(ctx, p, nil, nil, opt)
			require.NoError(t, err)
			require.LessOrEqual(t, reports[0].FinalOps, near.FinalOps)
			require.Equal(t, near.Reasons, reports[0].Reasons, "they take no more rows")
			if reports[0].FinalOps < near.FinalOps {
				inside++
			}
		}
	}
	require.Greater(t, inside, 20)
}

// TestFinals has the last steps of sums in memory: of all elements of a tensor that
// begins at the first point of a tile, or not, and of rows and columns.
func TestFinals(t *testing.T) {
	ctx := context.Background()
	sum := func(lo, n int64, finals bool) *system.Report {
		p, err := cfront.Compile(ctx, "sum.c", `void sum(int L, int N, const int A[N], int out[N]) {
			inf_array(A, N);
			inf_array(out, N);
			#pragma bitsched region
			{ int s = 0;
			for (int i = L; i < N; i++) s += A[i];
			out[0] = s; } }`, cfront.Options{Defines: map[string]int64{"L": lo, "N": n}})
		require.NoError(t, err)
		m := memory.New()
		require.NoError(t, m.Allocate(p.Arrays, nil))
		want := int32(0)
		for i := range m.Arrays["A"].Elems {
			v := int32(i*i*7919 - 1e6)
			m.Arrays["A"].Elems[i] = scalar.FromInt(scalar.Int32, int64(v))
			if int64(i) >= lo {
				want += v
			}
		}
		rep, err := system.Run(ctx, p, nil, m, system.Options{Machine: tile.Default(), Fidelity: system.Gate, Finals: finals})
		require.NoError(t, err)
		require.Empty(t, rep.Reasons)
		require.Equal(t, want, int32(scalar.ToInt(scalar.Int32, m.Arrays["out"].Elems[0])))
		return rep
	}
	add := int64(0)
	for _, c := range []struct{ lo, n, tiles int64 }{
		{0, 1024, 4}, {256, 1024, 3}, {300, 1024, 3}, {511, 1008, 3}, {5, 240, 1}, {0, 65 * 256, 65},
	} {
		near, inside := sum(c.lo, c.n, false), sum(c.lo, c.n, true)
		require.Equal(t, c.tiles-1, near.FinalOps)
		require.Zero(t, inside.FinalOps, c)
		// One addition more for each further tile, and all wait for each twice.
		more := inside.Cycles.Compute - near.Cycles.Compute
		if c.tiles == 4 {
			add = more / 3
			require.Positive(t, add)
		}
		require.Equal(t, add*(c.tiles-1), more, c)
		require.Equal(t, 2*(c.tiles-1), inside.Syncs-near.Syncs, c)
	}
	// Beyond 64 further tiles streams do it.
	require.EqualValues(t, 65, sum(0, 66*256, true).FinalOps)
}

// TestFinalsOnThreads sums many rows over three tiles each, near the memory, on one and
// on three threads.
func TestFinalsOnThreads(t *testing.T) {
	ctx := context.Background()
	p, err := cfront.Compile(ctx, "rows.c", `void rows(int N, int M, const int A[N][M], int out[N]) {
		inf_array(A, N, M);
		inf_array(out, N);
		#pragma bitsched region
		for (int j = 0; j < N; j++) {
			int s = 0;
			for (int i = 0; i < M; i++) s += A[j][i];
			out[j] = s;
		} }`, cfront.Options{})
	require.NoError(t, err)
	const rows, cols = 2000, 48
	sizes := map[string]int64{"N": rows, "M": cols}
	m := memory.New()
	require.NoError(t, m.Allocate(p.Arrays, sizes))
	var want [rows]int32
	r := rand.New(rand.NewPCG(3, 1))
	for i := range m.Arrays["A"].Elems {
		v := int32(r.Uint32())
		m.Arrays["A"].Elems[i] = scalar.FromInt(scalar.Int32, int64(v))
		want[i/cols] += v
	}
	for _, opt := range []system.Options{{Fidelity: system.Gate, Threads: 1}, {Fidelity: system.Gate, Threads: 3}, {Fidelity: system.Word, Threads: 3}} {
		opt.Machine, opt.Tile = tile.Default(), lowering.Shape{16, 16}
		got := m.Clone()
		rep, err := system.Run(ctx, p, sizes, got, opt)
		require.NoError(t, err)
		require.Empty(t, rep.Reasons)
		require.EqualValues(t, 2*rows, rep.FinalOps)
		require.EqualValues(t, 2*rows, rep.NearOps)
		for j := range rows {
			require.Equal(t, want[j], int32(scalar.ToInt(scalar.Int32, got.Arrays["out"].Elems[j])), "row %d, %v", j, opt.Fidelity)
		}
	}
}
