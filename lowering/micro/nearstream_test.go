package micro_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/lowering/micro"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// result returns the memory of the machine as arrays.
func (m *machine) result(p *micro.Program, g *stream.Graph, before *memory.Memory) *memory.Memory {
	after := before.Clone()
	for name, a := range after.Arrays {
		if g.Array(name) == nil {
			continue
		}
		for i := range a.Elems {
			var got scalar.Value
			for j, x := range m.read(p.Address(name, int64(i)), a.Type.Bytes()) {
				got |= scalar.Value(x) << (8 * j)
			}
			a.Elems[i] = got
		}
	}
	return after
}

func arraysOf(m *memory.Memory) stream.Memory {
	mem := stream.Memory{}
	for name, a := range m.Arrays {
		mem[name] = a.Elems
	}
	return mem
}

// TestNearStream executes the workloads of Near-Stream Computing on 1 to 7 threads in
// random orders, and compares with their definitions.
func TestNearStream(t *testing.T) {
	for _, k := range kernels.NearStream() {
		g, err := cfront.CompileWhole(context.Background(), k.File, k.Source, cfront.Options{})
		require.NoError(t, err)
		for seed, threads := range []int{1, 2, 3, 7} {
			before, err := k.Arguments(context.Background(), k.Small, uint64(seed))
			require.NoError(t, err)
			p, err := micro.New(g, arraysOf(before.Clone()), stream.Args{Symbols: k.Small, Params: before.Scalars}, micro.Options{Threads: threads, Vector: 64 * (seed & 1)})
			require.NoError(t, err, k.Name)
			m := newMachine(p)
			m.run(t, p, uint64(seed))
			require.NoError(t, k.Check(k.Small, before, m.result(p, g, before)), "%s on %d threads", k.Name, threads)
			if threads == 1 {
				t.Logf("%s: %d micro-ops %q", k.Name, m.ops, p.Why())
			}
		}
	}
}
