package plan

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/mapping"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// branching is a small network with a skip connection, a pool, groups and a dense layer.
func branching(t testing.TB) *dnn.Network {
	b := dnn.NewBuilder("branching", "a skip connection", dnn.DefaultBits, 1, 4, 6, 6)
	x := b.Unary("r1", dnn.ReLU, b.Conv("c1", 0, 8, 3, 1, 1, 1))
	y := b.Unary("r2", dnn.ReLU, b.Conv("c2", x, 8, 3, 1, 1, 2))
	z := b.Add2("add", x, b.Conv("c3", y, 8, 1, 1, 0, 1))
	p := b.Pool("pool", dnn.MaxPool, z, 2, 2, 0, false)
	b.FC("fc", b.Flat("flat", b.Conv("c4", p, 8, 3, 1, 1, 1)), 5)
	n, err := b.Done()
	require.NoError(t, err)
	return n
}

func load(t testing.TB, name string, fields ...any) *platform.Platform {
	p, err := platform.Load(name)
	require.NoError(t, err)
	for i := 0; i < len(fields); i += 2 {
		p, err = p.With(fields[i].(string), fields[i+1].(float64))
		require.NoError(t, err)
	}
	return p
}

// TestMap executes a network with every output compared, the same for any number of
// threads.
func TestMap(t *testing.T) {
	ctx := context.Background()
	net := branching(t)
	all := int64(0)
	for _, i := range net.MACs() {
		all += net.Nodes[i].Op.Output().Elements()
	}
	for _, name := range []string{"logic-sram", "mvm-reram", "pnm-hbm"} {
		var first *Report
		for _, threads := range []int{1, 3} {
			rep, err := Map(ctx, ctx, net, load(t, name), Options{Evals: 200, Seed: 3, Threads: threads, Execute: "gate", Cold: true})
			require.NoError(t, err, name)
			require.Equal(t, all, rep.Outputs)
			require.Equal(t, all, rep.All)
			require.Zero(t, rep.Unclocked)
			if first == nil {
				first = rep
				continue
			}
			for i := range rep.Layers {
				require.Equal(t, first.Layers[i].Mapping, rep.Layers[i].Mapping)
			}
			require.Equal(t, first.Cycles, rep.Cycles)
		}
	}
}

// TestMapStopped: what is stopped before it begins still gives mappings that are checked.
func TestMapStopped(t *testing.T) {
	stopped, stop := context.WithCancel(context.Background())
	stop()
	for _, name := range platform.Names()[:4] {
		rep, err := Map(stopped, context.Background(), branching(t), load(t, name), Options{Seed: 1, Threads: 2, Execute: "gate", Cold: true})
		require.NoError(t, err, name)
		require.True(t, rep.Stopped)
		require.Positive(t, rep.Outputs, name)
	}
}

// Platforms that no code knows: functions of other shapes on each executor.
var unseen = []string{`
name: dots
executor: array
clock_ghz: 0.5
functions:
  - name: dot # no words beside each other in a bitline, and two parallel dimensions
    op: MAC
    dims: [{name: p, kind: parallel}, {name: q, kind: parallel}, {name: r, kind: reduction, max: 8}]
    operands:
      - {name: X, index: [p, r], place: cells, layout: {row: {b: "1"}, column: {p: "1", r: p}}}
      - {name: Y, index: [q, r], place: cells, layout: {row: {b: "1"}, column: {q: "1", r: q}}}
      - {name: Z, index: [p, q], place: cells, layout: {row: {b: "1"}, column: {p: "1", q: p}}}
levels: [{name: mat, fan_out: 3, bytes_per_cycle: 5}, {name: bank, fan_out: 2, bytes_per_cycle: 2, latency_cycles: 3, transpose: true}]
array: {rows: 128, cols: 64, technology: xmg, row_write_cycles: 2, row_read_cycles: 3, shift_cycles: 2, shift_steps: power_of_two}
`, `
name: ternary
executor: crossbar
clock_ghz: 2
functions:
  - name: outer # sums over two dimensions of wordlines
    op: MAC
    dims: [{name: o, kind: parallel}, {name: i, kind: reduction}, {name: j, kind: reduction}]
    operands:
      - {name: W, index: [o, i, j], place: cells, layout: {row: {i: "1", j: i}, column: {o: B, b: "1"}}}
      - {name: V, index: [i, j], place: wordlines, layout: {row: {i: "1", j: i}}}
      - {name: S, index: [o], place: columns, layout: {column: {o: B}}}
levels: [{name: xb, fan_out: 7, bytes_per_cycle: 3, multicast: true}]
buffer: {bytes: 3000}
off_chip: {bytes_per_cycle: 1.5, latency_cycles: 11}
crossbar: {rows: 20, cols: 30, cell_bits: 3, dac_bits: 2, adc_bits: 12, stage_cycles: 5, pipeline_depth: 2, program_cycles: 77, register_bytes: 64}
`, `
name: wide
executor: simd
clock_ghz: 1
functions:
  - name: pair
    op: MAC
    dims: [{name: x, kind: parallel}, {name: y, kind: parallel}, {name: z, kind: reduction}]
    operands:
      - {name: A, index: [x, y, z], place: bank, layout: {row: {z: x}, column: {x: B, y: x, b: "1"}}}
      - {name: B, index: [z], place: register, layout: {row: {z: x}}}
      - {name: C, index: [x, y], place: register, layout: {column: {x: "1", y: x}}}
levels: [{name: lane, fan_out: 5, bytes_per_cycle: 4, no_reduction: true}]
simd: {lanes: 16, mac_cycles: 2, column_bytes: 16, row_bytes: 64, row_miss_cycles: 9, registers: 24, accumulator_bits: 40, register_write_cycles: 1, register_read_cycles: 1, bank_bytes: 65536}
`}

// TestUnseenPlatformsAndOperators maps operators that no zoo has onto them, an affine nest
// among them.
func TestUnseenPlatformsAndOperators(t *testing.T) {
	ctx := context.Background()
	works := []string{"conv:N=1,K=3,D=2,H=3,W=4,C=2,Q=2,R=1,S=2,dilation=2", "gemm:M=5,K=11,N=3,batch=2,dynamic=1", "conv:N=2,K=4,W=7,C=6,S=3,groups=2"}
	for _, text := range unseen {
		p, err := platform.Parse(strings.NewReader(text), "unseen.yaml")
		require.NoError(t, err)
		var nets []*dnn.Network
		for _, w := range works {
			o, err := dnn.Parse(w, dnn.Bits{Activation: dnn.Type{Bits: 6}, Weight: dnn.Type{Bits: 5, Signed: true}})
			require.NoError(t, err)
			nets = append(nets, dnn.Single(o))
		}
		nets = append(nets, dnn.Single(&dnn.Operator{Name: "nest", Kind: "nest", Loops: []dnn.Loop{{Name: "i", Extent: 6}, {Name: "j", Extent: 5}, {Name: "k", Extent: 3}}, Tensors: []dnn.Tensor{
			{Name: "A", Role: dnn.Activation, Type: dnn.Type{Bits: 7, Signed: true}, Access: [][]int{{1, 0, 0}, {0, 1, 2}}, Offset: []int{0, -1}, Extents: []int{6, 8}},
			{Name: "B", Role: dnn.Weight, Type: dnn.Type{Bits: 3}, Access: [][]int{{0, 0, 1}, {1, 0, 0}}, Offset: []int{0, 0}, Extents: []int{3, 6}},
			{Name: "C", Role: dnn.Output, Access: [][]int{{1, 0, 0}, {0, 1, 0}}, Offset: []int{0, 0}, Extents: []int{6, 5}},
		}}))
		for _, net := range nets {
			for _, opt := range []string{"bitsched", "ares"} {
				rep, err := Map(ctx, ctx, net, p, Options{Optimizer: opt, Evals: 300, Seed: 2, Threads: 2, Execute: "gate"})
				require.NoError(t, err, "%s on %s", net.Name, p.Name)
				require.Equal(t, rep.All, rep.Outputs)
				require.GreaterOrEqual(t, rep.Cycles, rep.Bound)
			}
		}
	}
}

// TestWrongMappingIsRefused: what does not cover its extents is an error.
func TestWrongMappingIsRefused(t *testing.T) {
	ctx := context.Background()
	o, err := dnn.Parse("gemm:M=3,K=4,N=5", dnn.DefaultBits)
	require.NoError(t, err)
	net := dnn.Single(o)
	m := mapping.Unit() // all factors 1: the extents are not covered
	_, err = Map(ctx, ctx, net, load(t, "logic-sram"), Options{Execute: "gate", Mappings: map[int]*mapping.Mapping{net.MACs()[0]: &m}})
	var ill *mapping.IllegalError
	require.ErrorAs(t, err, &ill)
	require.Contains(t, err.Error(), "multiply to 1")
}

// TestTooLargeToExecute: what does not fit is refused before it is drawn, and mapped if it need
// not be executed.
func TestTooLargeToExecute(t *testing.T) {
	ctx := context.Background()
	o, err := dnn.Parse("gemm:M=1,K=131072,N=131072", dnn.DefaultBits)
	require.NoError(t, err)
	_, err = Map(ctx, ctx, dnn.Single(o), load(t, "mvm-reram"), Options{Evals: 10, Seed: 1, Execute: "gate"})
	require.ErrorContains(t, err, "B has 17179869184 elements, at most 2147483648 are executed")
	_, err = Map(ctx, ctx, dnn.Single(o), load(t, "mvm-reram"), Options{Evals: 10, Seed: 1, Execute: "none"})
	require.NoError(t, err)
}
