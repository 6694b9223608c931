package lowering_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/tdfgtest"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// span adds the rows of a register to a list.
func span(list []int, row, bits int) []int {
	for i := range bits {
		list = append(list, row+i)
	}
	return list
}

// uses returns the rows that a command reads or writes: those of the instructions of
// its program, and of the registers of its step.
func uses(p *lowering.Plan, c *lowering.Command) (rows []int) {
	s := &p.Steps[c.Step]
	switch c.Kind {
	case lowering.Compute:
		return s.Code.Kernel().UsedRows()
	case lowering.Near:
		for _, r := range append([]lowering.Register{s.Src, s.Dst, s.Tmp}, registers(s)...) {
			rows = span(rows, r.Row, r.Bits)
		}
		return rows
	case lowering.Copy, lowering.ShiftIntra, lowering.ShiftInter:
		rows = span(rows, int(c.Src), int(c.Rows))
	}
	return span(rows, int(c.Dst), int(c.Rows))
}

func registers(s *lowering.Step) (list []lowering.Register) {
	for _, a := range s.Args {
		if !a.Const {
			list = append(list, a.Register)
		}
	}
	return list
}

// checkSyncs holds commands to the rule of section 4.2: what was shifted between tiles
// may be under way until a Sync. None is missing before a command on the same rows,
// before streams, which read arrays by name, and at the end. Shifts of one step may
// follow each other, since they write different bitlines. It returns how many syncs
// there are that no command behind them asks for.
func checkSyncs(t *testing.T, p *lowering.Plan, cmds []lowering.Command) (idle int) {
	t.Helper()
	under := map[int]int32{} // rows that something is on its way to, and the step that sent it
	asked := true
	before := map[int]int32{} // before the last Sync
	for i := range cmds {
		c := &cmds[i]
		kind := p.Steps[c.Step].Kind
		if c.Kind == lowering.Sync {
			if !asked {
				idle++
			}
			asked = false
			before, under = under, map[int]int32{}
			continue
		}
		for _, row := range uses(p, c) {
			if from, ok := under[row]; ok && !(c.Kind != lowering.Compute && kind != lowering.BroadcastStep && from == c.Step) {
				// The two commands of a broadcast send the same cells to other tiles.
				if kind == lowering.BroadcastStep && c.Kind == lowering.ShiftInter && from == c.Step {
					continue
				}
				require.Fail(t, "no sync", "row %d of command %d, %v", row, i, c)
			}
			if _, ok := before[row]; ok {
				asked = true
			}
		}
		if kind == lowering.StreamStep || kind == lowering.ResultStep {
			require.Empty(t, under, "command %d", i)
			asked = true
		}
		if c.Kind == lowering.ShiftInter {
			for _, row := range span(nil, int(c.Dst), int(c.Rows)) {
				under[row] = c.Step
			}
		}
	}
	require.Empty(t, under, "under way at the end")
	if len(cmds) > 0 && cmds[len(cmds)-1].Kind == lowering.Sync {
		asked = true
	}
	if !asked {
		idle++
	}
	return idle
}

// TestSyncRule holds random graphs, with reductions and with few rows, to the rule of
// syncs, and finds no sync that nothing needs.
func TestSyncRule(t *testing.T) {
	ctx := context.Background()
	m := small()
	kinds := map[lowering.StepKind]int{}
	syncs, spilled := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 9))
		g := tdfgtest.Graph(r, tdfgtest.Options{Type: scalar.Int8, Nodes: 14, Reuse: true, Open: seed%2 == 0, Align: 8})
		var wl []int
		for i := range g.Arrays {
			wl = append(wl, 8*i)
		}
		rows := m.Array.Rows
		if seed%3 == 0 {
			rows = 8*len(wl) + 24 + 8*int(seed/3%3)
		}
		p, err := lowering.NewPlan(ctx, g, lowering.Target{Tech: m.Array.Technology, Rows: rows}, wl, nil)
		if err != nil {
			require.ErrorIs(t, err, lowering.ErrRegisters)
			continue
		}
		shapes := [][]int64{{8}, {2}}
		if g.Dims == 2 {
			shapes = [][]int64{{2, 8}, {8, 2}, {4, 4}}
		} else if g.Dims == 3 {
			shapes = [][]int64{{2, 8, 2}, {8, 2, 8}, {2, 2, 2}}
		}
		bound := make([]int64, g.Dims)
		for i := range g.Arrays {
			b, err := g.ArrayRect(i).Box(nil)
			require.NoError(t, err)
			for d := range b {
				bound[d] = max(bound[d], b[d].Hi)
			}
		}
		for _, shape := range shapes {
			grid, err := lowering.NewGrid(bound, shape)
			require.NoError(t, err)
			if p.Slots > 0 {
				spilled++
			}
			cmds, err := p.Lower(nil, grid, nil)
			if err != nil { // groups that do not divide tiles
				require.ErrorContains(t, err, "expected a divisor")
				continue
			}
			require.Zero(t, checkSyncs(t, p, cmds), "seed %d in tiles of %v\n%s\n%v", seed, shape, g, cmds)
			for i := range cmds {
				if cmds[i].Kind == lowering.Sync {
					syncs++
				} else if i > 0 && cmds[i-1].Kind == lowering.Sync {
					kinds[p.Steps[cmds[i].Step].Kind]++
				}
			}
		}
	}
	require.Greater(t, syncs, 500)
	require.Greater(t, spilled, 10)
	for _, k := range []lowering.StepKind{lowering.ComputeStep, lowering.CopyStep, lowering.MoveStep, lowering.BroadcastStep, lowering.ReduceStep, lowering.FinalStep} {
		require.Positive(t, kinds[k], "%v right after a sync", k)
	}
}

// TestSyncOfUnused moves a tensor to the next tile, and its only use is at no point for
// the size at hand. Its rows are free for others behind that use, here for what a
// reduction shifts, so that a sync must stand before.
func TestSyncOfUnused(t *testing.T) {
	space := lattice.NewSpace()
	require.NoError(t, space.Declare("N", lattice.Const(4), lattice.Const(12), true))
	s := tdfg.Scope{Dims: 1, Space: space}
	for _, name := range []string{"A", "O", "P"} {
		s.Arrays = append(s.Arrays, &tdfg.Array{Name: name, Type: scalar.Int8, Axes: []int{0}, Size: []lattice.Expr{lattice.Const(16)}})
	}
	b := tdfg.NewBuilder("unused", s)
	a := b.Tensor(0, s.ArrayRect(0))
	v := b.Compute(scalar.Neg, a)
	moved := b.Move(b.Shrink(a, 0, lattice.Upto(lattice.Const(12))), 0, lattice.Const(4))
	used := b.Shrink(v, 0, lattice.Interval{Lo: lattice.Const(4), Hi: lattice.Sym("N")})
	b.Store(b.Compute(scalar.Add, used, moved), 1)
	b.Store(b.Reduce(scalar.Add, v, 0, 4), 2)
	g, err := b.Finish()
	require.NoError(t, err)
	p, err := lowering.NewPlan(context.Background(), g, lowering.Target{Tech: "neural-cache", Rows: 256}, []int{0, 8, 16}, nil)
	require.NoError(t, err)
	var sent, tmp lowering.Register
	for _, s := range p.Steps {
		switch s.Kind {
		case lowering.MoveStep:
			sent = s.Dst
		case lowering.ReduceStep:
			tmp = s.Tmp
		}
	}
	require.Equal(t, sent, tmp)
	grid, err := lowering.NewGrid([]int64{16}, lowering.Shape{4})
	require.NoError(t, err)
	for _, n := range []int64{4, 8} {
		cmds, err := p.Lower(nil, grid, map[string]int64{"N": n})
		require.NoError(t, err)
		checkSyncs(t, p, cmds)
	}
}

// TestWaits has a step of each kind after a move between tiles to rows 32 to 39, and
// asks for a sync between them if the step has one of these rows, and for none if not.
// What is near the memory waits for all that is under way: arrays stop there.
func TestWaits(t *testing.T) {
	s := tdfg.Scope{Dims: 1, Space: lattice.NewSpace(), Params: []tdfg.Param{{Name: "p", Type: scalar.Int8}},
		Arrays: []*tdfg.Array{{Name: "A", Type: scalar.Int8, Axes: []int{0}, Size: []lattice.Expr{lattice.Const(16)}}}}
	b := tdfg.NewBuilder("waits", s)
	all := b.Tensor(0, s.ArrayRect(0))
	nodes := map[lowering.StepKind]tdfg.NodeID{
		lowering.ComputeStep: b.Compute(scalar.Neg, all),
		lowering.FillStep:    b.Param("p"),
		lowering.CopyStep:    all,
		lowering.SpillStep:   all,
		lowering.ReloadStep:  all,
		lowering.MoveStep:    b.Move(all, 0, lattice.Const(1)),
	}
	far := b.Move(all, 0, lattice.Const(4))
	one := b.Shrink(all, 0, lattice.At(lattice.Const(5)))
	nodes[lowering.BroadcastStep] = b.Broadcast(one, 0, lattice.Const(-5), lattice.Const(16))
	nodes[lowering.FinalStep] = b.Reduce(scalar.Add, all, 0, 4)
	nodes[lowering.ReduceStep] = b.Node(nodes[lowering.FinalStep]).Args[0]
	b.Result(nodes[lowering.FinalStep], "sum")
	require.NoError(t, b.Err())
	g := &tdfg.Graph{Name: "waits", Scope: s}
	for id := range nodes[lowering.FinalStep] + 1 {
		g.Nodes = append(g.Nodes, b.Node(id))
	}
	grid, err := lowering.NewGrid([]int64{16}, lowering.Shape{4})
	require.NoError(t, err)
	const at = 32
	r := func(row int) lowering.Register { return lowering.Register{Row: row, Bits: 8} }
	for kind, node := range nodes {
		for _, c := range []struct {
			row  int
			want bool
		}{{at - 8, false}, {at - 7, true}, {at, true}, {at + 7, true}, {at + 8, false}} {
			for _, use := range []string{"src", "dst", "args"} {
				step := lowering.Step{Kind: kind, Node: node, Src: r(100), Dst: r(120), Tmp: r(140), Args: []lowering.Operand{{Register: r(120)}, {Register: r(140)}, {Register: r(120)}}}
				switch use {
				case "src":
					if kind == lowering.ComputeStep || kind == lowering.FillStep || kind == lowering.ReloadStep {
						continue
					}
					step.Src = r(c.row)
				case "dst":
					if kind == lowering.SpillStep {
						continue
					}
					step.Dst = r(c.row)
				case "args":
					if kind != lowering.ComputeStep {
						continue
					}
					step.Args[1].Register = r(c.row)
				}
				p := &lowering.Plan{Graph: g, Steps: []lowering.Step{{Kind: lowering.MoveStep, Node: far, Src: r(0), Dst: r(at)}, step}}
				cmds, err := p.Lower(nil, grid, nil)
				require.NoError(t, err)
				require.Equal(t, lowering.ShiftInter, cmds[0].Kind)
				require.Greater(t, len(cmds), 2)
				want := c.want || slices.Contains([]lowering.StepKind{lowering.SpillStep, lowering.ReloadStep, lowering.FinalStep}, kind)
				require.Equal(t, want, cmds[1].Kind == lowering.Sync, "%v with %s at row %d: %v", kind, use, c.row, cmds)
			}
		}
	}
	// Constants have no rows, whatever their registers say; streams wait for everything.
	step := lowering.Step{Kind: lowering.ComputeStep, Node: nodes[lowering.ComputeStep], Dst: r(120), Args: []lowering.Operand{{Register: r(at), Const: true}}}
	result := lowering.Step{Kind: lowering.ResultStep, Node: all, Src: r(200)}
	p := &lowering.Plan{Graph: g, Steps: []lowering.Step{{Kind: lowering.MoveStep, Node: far, Src: r(0), Dst: r(at)}, step, result}}
	cmds, err := p.Lower(nil, grid, nil)
	require.NoError(t, err)
	var kinds []lowering.CommandKind
	for _, c := range cmds {
		kinds = append(kinds, c.Kind)
	}
	require.Equal(t, []lowering.CommandKind{lowering.ShiftInter, lowering.Compute, lowering.Sync, lowering.Near}, kinds)
}
