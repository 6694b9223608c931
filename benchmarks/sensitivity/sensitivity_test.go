package sensitivity

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile"
)

func vecAdd(t *testing.T) Program {
	k, err := kernels.Get("vec_add")
	require.NoError(t, err)
	g, err := cfront.CompileWhole(context.Background(), k.File, k.Source, cfront.Options{})
	require.NoError(t, err)
	sizes := map[string]int64{"N": 16000}
	return Program{"vec_add", func() *multicore.Program {
		mem, list := k.Data(sizes, 1).Memory(), stream.Memory{}
		for _, a := range g.Arrays {
			list[a.Name] = mem.Arrays[a.Name].Elems
		}
		return &multicore.Program{Graph: g, Memory: list, Args: stream.Args{Symbols: sizes, Params: mem.Scalars}}
	}}
}

// TestStudy halves and doubles the clock of the memory, a latency and a switch: what
// makes memory slower takes longer where the kernel streams (of a few thousand elements what
// rows are open decides), and the result is the same with several workers.
func TestStudy(t *testing.T) {
	m, err := tile.LoadMachine("nsc-small")
	require.NoError(t, err)
	opt := Options{Threads: 2, Workers: 1, Only: []string{"dram.timing.clock_ns", "l3.latency_cycles", "dram.reading", "cores.ooo8.order"}}
	s, err := Run(context.Background(), m, []Program{vecAdd(t)}, opt)
	require.NoError(t, err)
	require.Len(t, s.Rows, 3, "an order of issue is no number and no reading")
	require.Zero(t, s.Left)
	rows := map[string]Row{}
	for _, r := range s.Rows {
		rows[r.Parameter] = r
	}
	require.Less(t, rows["dram.timing.clock_ns"].Half.Change[0], 0.0)
	require.Greater(t, rows["dram.timing.clock_ns"].Double.Change[0], 0.0)
	latency := rows["l3.latency_cycles"]
	require.Equal(t, "10", latency.Half.Value)
	require.Equal(t, "40", latency.Double.Value)
	require.Less(t, latency.Half.Change[0], 0.0)
	require.Greater(t, latency.Most(), 0.0)
	require.Equal(t, "total", rows["dram.reading"].Double.Value)
	require.Nil(t, rows["dram.reading"].Half)
	opt.Workers = 4
	again, err := Run(context.Background(), m, []Program{vecAdd(t)}, opt)
	require.NoError(t, err)
	require.Equal(t, s, again)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	stopped, err := Run(ctx, m, []Program{vecAdd(t)}, opt)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 6, stopped.Left)
	_, err = Run(context.Background(), m, []Program{vecAdd(t)}, Options{Threads: 2, Only: []string{"jit"}})
	require.ErrorContains(t, err, "no parameter of nsc-small that runs in time depend on: jit")
}
