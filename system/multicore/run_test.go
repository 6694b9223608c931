package multicore_test

import (
	"context"
	"maps"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile"
)

// program is a workload with its arguments, and a copy of them.
func program(t testing.TB, name string, sizes map[string]int64) (*multicore.Program, *kernels.Data) {
	k, err := kernels.Get(name)
	require.NoError(t, err)
	g, err := cfront.CompileWhole(context.Background(), k.File, k.Source, cfront.Options{})
	require.NoError(t, err)
	if sizes == nil {
		sizes = maps.Clone(k.Small)
	}
	d := k.Data(sizes, 3)
	return &multicore.Program{Graph: g, Memory: arrays(g, d), Args: stream.Args{Symbols: sizes, Params: d.Memory().Scalars}, Reassociate: k.Reassociate}, d
}

func arrays(g *stream.Graph, d *kernels.Data) stream.Memory {
	mem, m := d.Memory(), stream.Memory{}
	for _, a := range g.Arrays {
		m[a.Name] = mem.Arrays[a.Name].Elems
	}
	return m
}

func whole(t testing.TB, name, core string) *tile.Machine {
	m, err := tile.LoadMachine(name)
	require.NoError(t, err)
	m.Core = core
	return m
}

// machine is a machine, but nsc-small has 16 tiles, which are made faster and whose banks have
// more to do.
func machine(t testing.TB, name, core string) *tile.Machine {
	m := whole(t, name, core)
	if name == "nsc-small" {
		require.NoError(t, m.Set("mesh.rows", "4"))
		require.NoError(t, m.Set("mesh.cols", "4"))
	}
	return m
}

// TestKernels runs all workloads on all cores of both small machines (on two of the four in turn where
// invariants are not checked), and compares the
// memory with the sequential meaning and with the plain programs in Go: on 8 threads, or
// with BITSCHED_KERNELS64=1 on 64.
func TestKernels(t *testing.T) {
	for i, k := range kernels.All() {
		for j, on := range []struct{ machine, core string }{{"nsc-small", "io4"}, {"nsc-small", "ooo4"}, {"nsc-small", "ooo8"}, {"infinity-stream-small", "ooo8"}} {
			if !invariants.Enabled && (i+j)%2 != 0 {
				continue
			}
			p, d := program(t, k.Name, nil)
			before := arrays(p.Graph, d)
			opt := multicore.Options{Machine: whole(t, on.machine, on.core), Threads: 8}
			if k.Name == "vec_add" || os.Getenv("BITSCHED_KERNELS64") != "" {
				opt.Threads = 64
			}
			r, err := multicore.Run(context.Background(), p, opt)
			require.NoError(t, err, "%s on %v", k.Name, on)
			v, err := multicore.Check(context.Background(), p, before, opt)
			require.NoError(t, err, k.Name)
			require.Empty(t, v.First, k.Name)
			t.Logf("%-18s %s %s: %d cycles, IPC %.2f, %.0f kuops/s, nearest %v; equal %d of %d", k.Name, on.machine, on.core, r.Cycles, r.IPC, r.Host.MicroOpsRate/1e3, r.Nearest(), v.Equal, v.Elements)
			k.Reference(d)
			diff := ""
			want := arrays(p.Graph, d)
			for name, list := range want {
				for i, w := range list {
					if p.Memory[name][i] != w {
						diff = name
					}
				}
			}
			if v.Close == 0 && diff != "" {
				require.True(t, k.Reassociate, "%s: %s differs from the plain program", k.Name, diff)
			}
		}
	}
}
