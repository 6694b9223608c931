package lowering

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/tdfgtest"
	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// TestCheck makes plans and commands of random graphs, which are right, and changes one
// thing of each, which the checks must find: registers, the order of steps, barriers,
// tiles.
func TestCheck(t *testing.T) {
	ctx := context.Background()
	store := arith.NewStore("")
	changed := map[string]int{}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 41))
		g := tdfgtest.Graph(r, tdfgtest.Options{Type: scalar.Int8, Nodes: 16, Reuse: true, Open: true, Align: 8})
		wl, row := make([]int, len(g.Arrays)), 0
		for i, need := range Resident(g) {
			if wl[i] = -1; need {
				wl[i] = row
				row += 8
			}
		}
		make := func() *Plan {
			p, err := NewPlan(ctx, g, Target{Tech: "neural-cache", Rows: 256, Programs: store}, wl, nil)
			require.NoError(t, err)
			require.NoError(t, p.Check(), "seed %d\n%s", seed, g)
			return p
		}
		p := make()
		for i := range p.Steps {
			spoil := func(what string, change func(p *Plan, s *Step) bool) {
				q := make()
				if change(q, &q.Steps[i]) {
					require.Error(t, q.Check(), "seed %d, step %d, %s: %s\n%s", seed, i, p.Steps[i].Kind, what, g)
					changed[what]++
				}
			}
			spoil("operand", func(_ *Plan, s *Step) bool {
				for j := range s.Args {
					if o := &s.Args[j]; s.Kind == ComputeStep && !o.Const && o.Bits > 1 {
						o.Row++
						return true
					}
				}
				return false
			})
			spoil("source", func(_ *Plan, s *Step) bool {
				s.Src.Row++
				return slices.Contains([]StepKind{CopyStep, MoveStep, BroadcastStep, ReduceStep, FinalStep}, s.Kind)
			})
			spoil("outside", func(_ *Plan, s *Step) bool {
				s.Dst.Row = 250
				return s.Dst.Bits > 0 && s.Kind != FinalStep && s.Kind != ResultStep
			})
			spoil("left out", func(p *Plan, s *Step) bool {
				kind := s.Kind
				p.Steps = slices.Delete(p.Steps, i, i+1)
				return kind == MoveStep || kind == BroadcastStep || kind == CopyStep && i == len(p.Steps)
			})
		}
		bound := g.Dims
		size, tile := []int64{64, 64, 64}[:bound], Shape{64, 1, 1}[:bound]
		grid, err := NewGrid(size, tile)
		require.NoError(t, err)
		cmds, err := p.Lower(nil, grid, map[string]int64{})
		require.NoError(t, err)
		require.NoError(t, p.CheckCommands(grid, cmds), "seed %d\n%s", seed, g)
		for i := range cmds {
			spoil := func(what string, change func(c *Command) bool) {
				list := slices.Clone(cmds)
				if change(&list[i]) {
					require.Error(t, p.CheckCommands(grid, list), "seed %d, command %d, %s: %s", seed, i, &cmds[i], what)
					changed[what]++
				}
			}
			spoil("tile", func(c *Command) bool {
				c.Tiles = Pattern{start: int32(grid.Tiles())}
				return c.Kind != Sync && c.Kind != Near
			})
			spoil("row", func(c *Command) bool {
				c.Dst += 77
				return c.Kind != Sync && c.Kind != Near
			})
			spoil("copies", func(c *Command) bool {
				c.Copies = 0
				return c.Kind == ShiftInter
			})
		}
		if i := slices.IndexFunc(cmds, func(c Command) bool { return c.Kind == Sync }); i >= 0 {
			list := slices.DeleteFunc(slices.Clone(cmds), func(c Command) bool { return c.Kind == Sync })
			require.Error(t, p.CheckCommands(grid, list))
			changed["barriers"]++
		}
	}
	for _, what := range []string{"operand", "source", "outside", "left out", "tile", "row", "copies", "barriers"} {
		require.Greater(t, changed[what], 10, what)
	}
}

// TestStoreWhileLive has an array that is written as a whole while another output still
// needs what it had.
func TestStoreWhileLive(t *testing.T) {
	array := func(name string) *tdfg.Array {
		return &tdfg.Array{Name: name, Type: scalar.Int8, Size: []lattice.Expr{lattice.Const(64)}, Axes: []int{0}}
	}
	s := tdfg.Scope{Dims: 1, Space: lattice.NewSpace(), Arrays: []*tdfg.Array{array("A"), array("B")}}
	b := tdfg.NewBuilder("g", s)
	a := b.Tensor(0, s.ArrayRect(0))
	b.Store(b.Compute(scalar.Neg, a), 0)
	b.Store(b.Compute(scalar.Abs, a), 1)
	g, err := b.Finish()
	require.NoError(t, err)
	p, err := NewPlan(context.Background(), g, Target{Tech: "neural-cache", Rows: 256, Programs: arith.NewStore("")}, []int{0, 8}, nil)
	require.NoError(t, err)
	require.NoError(t, p.Check())
}
