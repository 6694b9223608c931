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
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tile"
)

// small is a machine whose arrays have few bitlines, so that small tensors lie in
// many tiles and banks.
func small(t testing.TB) *tile.Machine {
	m := tile.Default()
	m.Mesh.Cols, m.Mesh.Rows = 2, 2
	m.L3.Ways, m.L3.ComputeWays, m.L3.ArraysPerWay = 8, 8, 8
	m.Array.Cols = 64
	m.L3.LineBytes, m.NoC.MemoryControllers = 8, 4
	m.L3.InterleaveBytes = 1024
	require.NoError(t, m.Check())
	return m
}

// fill gives all arrays random elements.
func fill(r *rand.Rand, m *memory.Memory, arrays []*tdfg.Array) {
	for _, a := range arrays {
		data := m.Arrays[a.Name]
		for i := range data.Elems {
			if a.Type.Float() {
				data.Elems[i] = scalar.FromFloat(a.Type, float64(r.IntN(2000)-1000)/16)
			} else {
				data.Elems[i] = r.Uint64() & a.Type.Mask()
			}
		}
	}
}

// shapes are tiles of 64 bitlines by the number of dimensions.
var shapes = map[int][]lowering.Shape{
	1: {{64}},
	2: {{8, 8}, {64, 1}, {16, 4}, {4, 16}},
	3: {{4, 4, 4}, {64, 1, 1}, {8, 8, 1}, {8, 2, 4}},
}

// TestRandomGraphs runs random graphs at both fidelities, in tiles of all shapes,
// and compares every element with the interpreter's, and the cycles of the fidelities
// with each other.
func TestRandomGraphs(t *testing.T) {
	machine := small(t)
	ctx := context.Background()
	ran := 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 3))
		typ := []scalar.Type{scalar.Int8, scalar.Int16, scalar.FP16, scalar.Int32}[seed%4]
		g := tdfgtest.Graph(r, tdfgtest.Options{Type: typ, Nodes: 10, Reuse: true, Open: true, Align: 8})
		p := &tdfg.Program{Name: "random", Arrays: g.Arrays, Scalars: []tdfg.Scalar{{Param: g.Params[0], Input: true}}, Body: []tdfg.Stmt{&tdfg.Region{Graph: g}}}
		before := memory.New()
		require.NoError(t, before.Allocate(g.Arrays, nil))
		fill(r, before, g.Arrays)
		before.Scalars["p"] = scalar.FromInt(typ, 3)
		for _, shape := range shapes[g.Dims] {
			var reports [2]*system.Report
			for _, f := range []system.Fidelity{system.Gate, system.Word} {
				got := before.Clone()
				rep, err := system.Run(ctx, p, nil, got, system.Options{Machine: machine, Fidelity: f, Tile: shape, Threads: 2, Check: 1})
				require.NoError(t, err, "seed %d %v\n%s", seed, shape, g)
				reports[f] = rep
				want := before.Clone()
				opt := interp.Options{Group: func(dim int) int { return int(shape[dim]) }}
				require.NoError(t, interp.Run(ctx, p, nil, want, opt))
				require.Empty(t, want.Diff(got), "seed %d %v %v\n%s", seed, shape, f, g)
			}
			require.Equal(t, reports[0].Cycles, reports[1].Cycles)
			if reports[0].NearRegions == 0 {
				ran++
			} else {
				t.Log(seed, shape, reports[0].Reasons)
			}
		}
	}
	require.Greater(t, ran, 200)
}

// TestSpills runs random graphs on arrays of so few rows that words are spilled, or moved again, and
// compares every element with the interpreter's.
func TestSpills(t *testing.T) {
	ctx := context.Background()
	spilled, again, arrays, stashed := 0, 0, 0, 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 4))
		typ := []scalar.Type{scalar.Int8, scalar.Int16}[seed%2]
		machine := small(t)
		g := tdfgtest.Graph(r, tdfgtest.Options{Type: typ, Nodes: 24, Open: true, Align: 8})
		machine.Array.Rows = (len(g.Arrays)+2)*typ.Bits() + []int{0, 8, 16, 24}[seed%4] // two words beside the arrays, and scratch
		p := &tdfg.Program{Name: "random", Arrays: g.Arrays, Scalars: []tdfg.Scalar{{Param: g.Params[0], Input: true}}, Body: []tdfg.Stmt{&tdfg.Region{Graph: g}}}
		before := memory.New()
		require.NoError(t, before.Allocate(g.Arrays, nil))
		fill(r, before, g.Arrays)
		before.Scalars["p"] = 3
		prepared, err := system.Prepare(ctx, p, nil, system.Options{Machine: machine, Tile: shapes[g.Dims][0]})
		require.NoError(t, err)
		plan := prepared.Plans[g]
		if plan == nil {
			continue
		}
		moves, twice := map[tdfg.NodeID]bool{}, false
		for _, s := range plan.Steps {
			if s.Kind == lowering.MoveStep || s.Kind == lowering.BroadcastStep {
				twice = twice || moves[s.Node]
				moves[s.Node] = true
			}
		}
		if plan.Slots == 0 && !twice {
			continue
		}
		if twice {
			again++
		}
		if plan.Slots > 0 {
			spilled++
		}
		want := before.Clone()
		require.NoError(t, interp.Run(ctx, p, nil, want, interp.Options{}))
		for _, f := range []system.Fidelity{system.Gate, system.Word} {
			got := before.Clone()
			rep, err := system.Run(ctx, p, nil, got, system.Options{Machine: machine, Fidelity: f, Tile: shapes[g.Dims][0], Check: 1})
			require.NoError(t, err)
			// Spills go to arrays that are idle, slot after slot as long as there is room, but for those of
			// arrays of fewer dimensions, else through DRAM, all bitlines of all arrays; what the plan has rows for is loaded, and stored again.
			idle := map[int]bool{}
			free, row := machine.Arrays()-rep.Arrays, 0
			for _, s := range plan.Steps {
				if s.Kind == lowering.SpillStep && !(s.Array > 0 && len(g.Arrays[s.Array-1].Axes) < g.Dims) {
					if row += s.Src.Bits; row > machine.UsableRows() {
						free, row = free-rep.Arrays, s.Src.Bits
					}
					if free < rep.Arrays {
						break
					}
					idle[s.Slot] = true
				}
			}
			bytes, loaded, steps, between := int64(0), int64(0), int64(0), int64(0)
			for i, a := range plan.Arrays {
				box, err := g.ArrayRect(i).Box(nil)
				require.NoError(t, err)
				if a.Bits > 0 {
					bytes += 2 * box.Size() * int64(typ.Bytes())
					loaded += box.Size() * int64(typ.Bytes())
				}
			}
			for _, s := range plan.Steps {
				if s.Kind == lowering.SpillStep || s.Kind == lowering.ReloadStep {
					steps++
					if idle[s.Slot] {
						if s.Array > 0 {
							arrays++
						}
						between += int64(rep.Arrays * 64 * (s.Src.Bits + s.Dst.Bits) / 8)
						stashed++
						continue
					}
					elems := int64(rep.Arrays * 64)
					if s.Array > 0 {
						box, err := g.ArrayRect(s.Array - 1).Box(nil)
						require.NoError(t, err)
						elems = box.Size()
						arrays++
					}
					bytes += elems * int64((s.Src.Bits+s.Dst.Bits)/8)
					loaded += elems * int64(s.Dst.Bits/8) // a spill has no destination
				}
			}
			require.Equal(t, steps, rep.NearSteps)
			require.Equal(t, bytes, rep.DRAMBytes)
			require.Equal(t, loaded, rep.LoadBytes)
			require.GreaterOrEqual(t, rep.InterBytes, between)
			require.Empty(t, want.Diff(got), "seed %d %v\n%s", seed, f, g)
		}
	}
	t.Log(spilled, again, arrays, stashed)
	require.Greater(t, spilled, 5)
	require.Positive(t, again)
	require.Greater(t, arrays, 5)
	require.Greater(t, stashed, 5)
}
