package plan

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/crillab/gophersat/solver"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
	"github.com/bitsched/bitsched/lowering/mapping/search"
)

// tensorOf is an activation between layers, written down by hand: which layers read it, which
// layer makes the last of it, whose layout it has, from when to when it is needed, and whether it
// may stay in the buffer.
type tensorOf struct {
	bytes       int64
	born, last  int
	layoutOf    int // layer; -1: the last of its dimensions
	lastDim     int
	mayStay     bool
	readers     []int
	makesResult []int // layers whose result goes there and nowhere else
}

// planWithin is a pseudo-Boolean program of the whole choice: one option for each layer, a place
// for each tensor, room at every layer, a transposition wherever layouts differ. It shares no code
// with the dynamic program but the options. It reports whether there is a plan of at most so many
// picoseconds.
func planWithin(t *testing.T, p *platform.Platform, options [][]option, tensors []tensorOf, most int64) bool {
	var constrs []solver.PBConstr
	vars := 0
	fresh := func() int { vars++; return vars }
	x := make([][]int, len(options))
	var lits, weights []int
	for i := range options {
		var pick, ones []int
		for k := range options[i] {
			v := fresh()
			x[i] = append(x[i], v)
			pick, ones = append(pick, v), append(ones, 1)
			lits, weights = append(lits, v), append(weights, int(options[i][k].picos))
		}
		constrs = append(constrs, solver.GtEq(append([]int(nil), pick...), append([]int(nil), ones...), 1), solver.LtEq(pick, ones, 1))
	}
	stays := make([]int, len(tensors))
	reads := make([][]int, len(options)) // tensors, in order
	for v, x := range tensors {
		stays[v] = fresh()
		if !x.mayStay {
			constrs = append(constrs, solver.PropClause(-stays[v]))
		}
		for _, r := range x.readers {
			reads[r] = append(reads[r], v)
		}
	}
	made := make([][]int, len(options))
	for v, ten := range tensors {
		for _, i := range ten.makesResult {
			made[i] = append(made[i], v)
		}
	}
	link := p.Levels[len(p.Levels)-1]
	for i := range options {
		for k, o := range options[i] {
			same := func(bit bool, v int) { // the option and the place of a tensor go together
				if bit {
					constrs = append(constrs, solver.PropClause(-x[i][k], stays[v]))
				} else {
					constrs = append(constrs, solver.PropClause(-x[i][k], -stays[v]))
				}
			}
			for b, v := range reads[i] {
				same(o.variant&(1<<b) != 0, v)
			}
			leaves := o.variant&(1<<len(reads[i])) == 0
			if len(made[i]) == 0 && !leaves {
				constrs = append(constrs, solver.PropClause(-x[i][k]))
			}
			for _, v := range made[i] {
				same(!leaves, v)
			}
		}
		// Room for what is in the buffer at this layer, and for its tiles.
		var in, bytes []int
		for v, ten := range tensors {
			if ten.born <= i && i <= ten.last {
				in, bytes = append(in, stays[v]), append(bytes, int((ten.bytes+63)/64*64))
			}
		}
		for k, o := range options[i] {
			in, bytes = append(in, x[i][k]), append(bytes, int(o.kept))
		}
		constrs = append(constrs, solver.LtEq(in, bytes, int(p.Buffer.Bytes)))
	}
	for v, ten := range tensors {
		layout := map[int]int{}
		for k := range 4 {
			layout[k] = fresh()
		}
		if ten.layoutOf < 0 {
			constrs = append(constrs, solver.PropClause(layout[ten.lastDim]))
		} else {
			for k, o := range options[ten.layoutOf] {
				constrs = append(constrs, solver.PropClause(-x[ten.layoutOf][k], layout[o.out]))
			}
		}
		for _, r := range ten.readers {
			turned := fresh()
			cycles := math.Ceil(2*float64(ten.bytes)/link.BytesPerCycle) + float64(link.LatencyCycles)
			lits, weights = append(lits, turned), append(weights, int(math.Round(cycles*1000/p.ClockGHz)))
			at := 0
			for b, u := range reads[r] {
				if u == v {
					at = b
				}
			}
			for k, o := range options[r] {
				for l, is := range layout {
					if l != o.in[at] {
						constrs = append(constrs, solver.PropClause(-x[r][k], -is, turned))
					}
				}
			}
		}
	}
	unit := weights[0] // all times are multiples of some of a cycle
	for _, w := range weights {
		for b := w; b > 0; {
			unit, b = b, unit%b
		}
	}
	for i := range weights {
		weights[i] /= unit
	}
	constrs = append(constrs, solver.LtEq(lits, weights, int(most)/unit))
	// One fresh decision, of constraints that the solver may take for its own. The model is looked at
	// again: with weights of a thousand millions there were some that broke the last constraint.
	given := make([]solver.PBConstr, len(constrs))
	for i, c := range constrs {
		given[i] = solver.PBConstr{Lits: slices.Clone(c.Lits), Weights: slices.Clone(c.Weights), AtLeast: c.AtLeast}
	}
	pb := solver.ParsePBConstrs(given)
	if pb.Status == solver.Unsat {
		return false
	}
	s := solver.New(pb)
	if s.Solve() != solver.Sat {
		return false
	}
	model := s.Model()
	for _, c := range constrs {
		n := 0
		for i, l := range c.Lits {
			w := 1
			if len(c.Weights) > 0 {
				w = c.Weights[i]
			}
			if l > 0 == model[max(l, -l)-1] {
				n += w
			}
		}
		require.GreaterOrEqual(t, n, c.AtLeast, "the model breaks a constraint: the solver is wrong")
	}
	return true
}

// TestTransitionsAreOptimal compares the plan of a whole network with a pseudo-Boolean program:
// there is one as fast, and none faster.
func TestTransitionsAreOptimal(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
	ctx := context.Background()
	opt, err := search.Lookup("random")
	require.NoError(t, err)
	for _, c := range []struct {
		net     *dnn.Network
		tensors []tensorOf
	}{
		{chain(t), []tensorOf{
			{bytes: 256, born: 0, last: 0, layoutOf: -1, lastDim: 3, readers: []int{0}},
			{bytes: 384, born: 0, last: 1, layoutOf: 0, mayStay: true, readers: []int{1}, makesResult: []int{0}},
			{bytes: 512, born: 1, last: 2, layoutOf: 1, mayStay: true, readers: []int{2}, makesResult: []int{1}},
		}},
		// r1 is added to what c3 makes of r2, which c4 reads after a pool: as laid out as r1.
		{branching(t), []tensorOf{
			{bytes: 144, born: 0, last: 0, layoutOf: -1, lastDim: 3, readers: []int{0}},
			{bytes: 288, born: 0, last: 3, layoutOf: 0, mayStay: true, readers: []int{1}, makesResult: []int{0}},
			{bytes: 288, born: 1, last: 2, layoutOf: 1, mayStay: true, readers: []int{2}, makesResult: []int{1}},
			{bytes: 72, born: 2, last: 3, layoutOf: 0, mayStay: true, readers: []int{3}, makesResult: []int{2}},
			{bytes: 72, born: 3, last: 4, layoutOf: -1, lastDim: 1, mayStay: true, readers: []int{4}, makesResult: []int{3}},
		}},
	} {
		stayed, turned := 0, 0
		for _, room := range []float64{300, 700, 2000} { // not all fits in the first
			for _, seed := range []uint64{4, 5, 6} {
				small := load(t, "logic-sram", "buffer.bytes", room)
				j := smallPlan(t, c.net, small, seed)
				require.NoError(t, j.find(ctx, ctx, opt, j.first))
				for i := range j.options { // a few of each kind, at random
					var few []option
					by := map[int]int{}
					for _, o := range j.options[i] {
						if by[o.variant]++; by[o.variant] <= 3 {
							few = append(few, o)
						}
					}
					j.options[i] = few
				}
				end, exact, err := j.solve(ctx)
				require.NoError(t, err)
				require.True(t, exact)
				for s := end; s.from != nil; s = s.from {
					for _, is := range s.turns {
						if is {
							turned++
						}
					}
					if s.option.variant > 0 {
						stayed++
					}
				}
				require.True(t, planWithin(t, small, j.options, c.tensors, end.time), "%s, %v bytes: the plan of %d ps is not one by the program", c.net.Name, room, end.time)
				require.False(t, planWithin(t, small, j.options, c.tensors, end.time-1), "%s, %v bytes: there is a plan of less than %d ps", c.net.Name, room, end.time)
			}
		}
		require.Positive(t, stayed)
		require.Positive(t, turned)
	}
}
