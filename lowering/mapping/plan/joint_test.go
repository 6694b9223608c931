package plan

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
	"github.com/bitsched/bitsched/lowering/mapping/search"
)

// chain is three layers in a row.
func chain(t testing.TB) *dnn.Network {
	b := dnn.NewBuilder("chain", "three layers", dnn.DefaultBits, 1, 4, 8, 8)
	x := b.Conv("c1", 0, 6, 3, 1, 1, 1)
	b.Conv("c3", b.Conv("c2", x, 8, 1, 1, 0, 1), 4, 3, 2, 1, 1)
	n, err := b.Done()
	require.NoError(t, err)
	return n
}

// TestJoint plans and executes: what stays in the buffer is read from its bytes, what lies in
// another layout is transposed; planned together is never slower than layer by layer.
func TestJoint(t *testing.T) {
	ctx := context.Background()
	for _, net := range []*dnn.Network{chain(t), branching(t)} {
		for _, name := range []string{"logic-sram", "mvm-reram", "pnm-hbm"} {
			optimizer := "" // the default
			if net.Name == "branching" {
				optimizer = "random" // what plans are made of may be of any
			}
			rep, err := Map(ctx, ctx, net, load(t, name), Options{Optimizer: optimizer, Evals: 300, Seed: 2, Threads: 2, Execute: "gate", Joint: true})
			require.NoError(t, err, "%s on %s", net.Name, name)
			require.Equal(t, rep.All, rep.Outputs)
			require.True(t, rep.Exact)
			require.LessOrEqual(t, rep.Picos, rep.Greedy)
			require.GreaterOrEqual(t, rep.Cycles, rep.Bound)
			stays, parts := 0, int64(0)
			for i := range rep.Layers {
				if rep.Layers[i].Choice.Stays {
					stays++
				}
			}
			for _, c := range rep.Parts {
				parts += c
			}
			require.Equal(t, rep.Cycles, parts)
			if rep.Platform.Buffer != nil {
				require.Positive(t, stays, "activations of a few hundred bytes stay on %s", name)
			}
		}
	}
}

// TestJointPlaces: a layer goes where it is faster, transfers counted, whatever optimiser
// found its mappings.
func TestJointPlaces(t *testing.T) {
	ctx := context.Background()
	sram, lanes := load(t, "logic-sram"), load(t, "pnm-hbm")
	both, err := Map(ctx, ctx, branching(t), sram, Options{Optimizer: "random", Evals: 300, Seed: 2, Threads: 2, Execute: "gate", Joint: true, Platforms: []*platform.Platform{lanes}})
	require.NoError(t, err)
	require.Equal(t, both.All, both.Outputs)
	for _, p := range []*platform.Platform{sram, lanes} {
		one, err := Map(ctx, ctx, branching(t), p, Options{Optimizer: "random", Evals: 300, Seed: 2, Threads: 2, Execute: "none", Joint: true})
		require.NoError(t, err)
		require.LessOrEqual(t, both.Picos, one.Picos, p.Name)
	}
}

// plannedFirst is a plan before its options are searched.
type plannedFirst struct {
	*joint
	first []int
}

// smallPlan prepares the plan of a network on one platform, searched with few evaluations.
func smallPlan(t testing.TB, net *dnn.Network, p *platform.Platform, seed uint64) plannedFirst {
	rep := &Report{Network: net, Platform: p, Options: Options{Evals: 60, Seed: seed, Threads: 1}, ctx: context.Background()}
	seen := map[string]int{}
	var first []int
	x := &pipeliner{rep: rep, net: net, at: map[int]int{}}
	for _, n := range net.MACs() {
		op := net.Nodes[n].Op
		if _, ok := seen[op.Signature()]; !ok {
			seen[op.Signature()] = len(first)
			first = append(first, len(rep.Layers))
		}
		x.at[n] = len(rep.Layers)
		x.key, x.layers = append(x.key, seen[op.Signature()]), append(x.layers, n)
		rep.Layers = append(rep.Layers, Layer{Node: n, Name: net.Nodes[n].Name, Op: op, Same: -1})
	}
	j := &joint{rep: rep, chips: []*platform.Platform{p}, x: x}
	j.graph()
	return plannedFirst{j, first}
}

// TestSolveIsOptimal compares the dynamic program with all choices of options, on a chain
// and with a branch; a few options of each layer.
func TestSolveIsOptimal(t *testing.T) {
	ctx := context.Background()
	opt, err := search.Lookup("random")
	require.NoError(t, err)
	for _, net := range []*dnn.Network{chain(t), branching(t)} {
		j := smallPlan(t, net, load(t, "logic-sram", "buffer.bytes", 700.0), 4) // not all fits
		require.NoError(t, j.find(ctx, ctx, opt, j.first))
		for i := range j.options { // a few of each, some with activations in the buffer
			var few []option
			by := map[int]int{}
			for _, o := range j.options[i] {
				if by[o.variant]++; by[o.variant] <= 2 {
					few = append(few, o)
				}
			}
			j.options[i] = few
		}
		end, exact, err := j.solve(ctx)
		require.NoError(t, err)
		require.True(t, exact)
		best, tried := int64(-1), 0
		begin := &step{states: make([]stateOf, len(j.values)), held: make([]int64, 1)}
		for v := range j.values {
			begin.states[v] = stateOf{layout: max(0, j.values[v].fixed), chip: -1}
		}
		var walk func(s *step, i int)
		walk = func(s *step, i int) {
			if i == len(j.options) {
				tried++
				if best < 0 || s.time < best {
					best = s.time
				}
				return
			}
			for k := range j.options[i] {
				if n := j.take(s, i, &j.options[i][k]); n != nil {
					walk(n, i+1)
				}
			}
		}
		walk(begin, 0)
		require.Greater(t, tried, 10)
		require.Equal(t, best, end.time, net.Name)
	}
}

// TestBuffersSeeMistakes: what is left in another layout than is read, or given back too
// early, does not go unseen.
func TestBuffersSeeMistakes(t *testing.T) {
	net := chain(t)
	j := &joint{chips: []*platform.Platform{load(t, "logic-sram")}, values: []value{{node: 1, last: 1}}}
	x := make([]int32, dnn.Elements(net.Nodes[1].Shape))
	for i := range x {
		x[i] = int32(i%251) - 125
	}
	store := func(layout int) *buffers {
		b := newBuffers(net, j, []stateOf{{inBuffer: true, layout: layout}})
		require.NoError(t, b.store(1, [][]int32{nil, x}))
		return b
	}
	for layout := range 4 {
		b := store(layout)
		got, err := b.fetch(1, nil)
		require.NoError(t, err)
		require.Equal(t, x, got)
		for want := range 4 {
			turned := b.turn(1, x, &Choice{Turned: []bool{true}, Layouts: []int{want}}, 0)
			require.Equal(t, x, turned)
			if want%3 != layout%3 { // the first dimension has one element: as row-major, the last one fastest
				require.NotEqual(t, x, b.turn(1, x, &Choice{Turned: []bool{false}, Layouts: []int{want}}, 0), "a transposition was left out")
			}
		}
		b.release(2)
		_, err = b.fetch(1, nil)
		require.ErrorIs(t, err, ErrCheck)
	}
}
