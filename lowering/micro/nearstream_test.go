package micro_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/lowering/micro"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/uop"
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

// BenchmarkNearStream pulls from one thread.
func BenchmarkNearStream(b *testing.B) {
	sizes := map[string]map[string]int64{
		"hotspot": {"N": 64, "M": 1024, "T": 2}, "histogram": {"N": 1 << 17, "Q": 4}, "bfs_push": {"V": 1 << 13, "E": 100_000, "source": 1},
		"pr_pull": {"V": 1 << 13, "E": 100_000, "T": 1}, "bin_tree": {"N": 1 << 13, "Q": 10_000},
	}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		k, err := kernels.Get(name)
		require.NoError(b, err)
		g, err := cfront.CompileWhole(context.Background(), k.File, k.Source, cfront.Options{})
		require.NoError(b, err)
		before, err := k.Arguments(context.Background(), sizes[name], 1)
		require.NoError(b, err)
		b.Run(name, func(b *testing.B) {
			ops := 0
			for b.Loop() {
				b.StopTimer()
				mem := arraysOf(before.Clone())
				p, err := micro.New(g, mem, stream.Args{Symbols: sizes[name], Params: before.Scalars}, micro.Options{Threads: 1, Vector: 64})
				require.NoError(b, err)
				m := newMachine(p)
				b.StartTimer()
				var batch uop.Batch
				for status := uop.More; status != uop.Done; {
					batch.Reset()
					status, err = p.Threads()[0].Next(&batch, 256)
					require.NoError(b, err)
					ops += len(batch.Ops)
					if status == uop.Wait {
						o := &batch.Ops[len(batch.Ops)-1]
						old := slices.Clone(m.read(o.Addr, int(o.Size)))
						for i := range batch.Ops { // what atomic operations find
							if batch.Ops[i].Kind == uop.Store || batch.Ops[i].Kind == uop.Atomic {
								_, err := m.perform(&batch, &batch.Ops[i])
								require.NoError(b, err)
							}
						}
						require.NoError(b, p.Threads()[0].Resolve(old))
					} else {
						for i := range batch.Ops {
							if batch.Ops[i].Kind == uop.Store && name == "bfs_push" {
								m.write(batch.Ops[i].Addr, batch.Bytes(&batch.Ops[i]))
							}
						}
					}
				}
			}
			b.ReportMetric(float64(ops)/b.Elapsed().Seconds()/1e6, "Muops/s")
		})
	}
}
