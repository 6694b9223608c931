package timing

import (
	"context"
	"maps"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/system/machine"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/scalar"
	graph "github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/uop"
)

// BenchmarkWaiting simulates sssp, whose threads mostly wait for each other, with cycles of loops
// that wait executed one by one (plain), and hollow.
func BenchmarkWaiting(b *testing.B) {
	k, err := kernels.Get("sssp")
	require.NoError(b, err)
	g, err := cfront.CompileWhole(context.Background(), k.File, k.Source, cfront.Options{})
	require.NoError(b, err)
	sizes := map[string]int64{"V": 1024, "E": 14000, "D": 64, "source": 1}
	for _, plain := range []bool{false, true} {
		b.Run(map[bool]string{false: "hollow", true: "plain"}[plain], func(b *testing.B) {
			ops, used := uint64(0), time.Duration(0)
			for b.Loop() {
				r, cpu := simulate(b, k, g, sizes, "nsc-small", plain)
				ops, used = ops+r.MicroOps, used+cpu
			}
			b.ReportMetric(float64(ops)/used.Seconds(), "uops/cpu-s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// simulate runs a workload in base on 64 threads of a machine, and tells what that took.
func simulate(b *testing.B, k *kernels.Kernel, g *graph.Graph, sizes map[string]int64, name string, plain bool) (*multicore.Report, time.Duration) {
	m, err := tile.LoadMachine(name)
	require.NoError(b, err)
	args, err := k.Arguments(context.Background(), sizes, 1)
	require.NoError(b, err)
	mem := graph.Memory{}
	for name, a := range args.Arrays {
		mem[name] = a.Elems
	}
	p := &multicore.Program{Graph: g, Memory: mem, Args: graph.Args{Symbols: sizes, Params: args.Scalars}, Reassociate: k.Reassociate}
	start := cpuTime()
	r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 64, Config: "base", Warm: true, Plain: plain})
	require.NoError(b, err)
	return r, cpuTime() - start
}

// BenchmarkSpeed simulates the configuration base of nsc: additions of vectors that stay
// in the L2, that stream from the L3, and from DRAM; chases; barriers. What comes before
// the caches are warm does not count. uops/cpu-s is committed micro-ops a second of all
// threads of the process, uops/s those of the clock on the wall, which other processes
// slow down.
func BenchmarkSpeed(b *testing.B) {
	for _, c := range []struct {
		name    string
		threads func(n int, bytes uint64) []uop.Thread
		cores   int
		bytes   uint64
		warm    uint64 // micro-ops of each core
	}{
		{"L2/64", streamThreads(40), 64, 64 * 96 << 10, 512 * 9 / 2},
		{"L3/64", streamThreads(3), 64, 24 << 20, 2048 * 9 / 2},
		{"DRAM/64", streamThreads(1), 64, 24 << 20, 100},
		{"chase-L2/64", chaseThreads, 64, 64 * 96 << 10, 1536},
		{"barrier/64", barrierThreads, 64, 1 << 20, 1},
		{"L2/1", streamThreads(100), 1, 96 << 10, 512 * 9 / 2},
		{"L3/1", streamThreads(3), 1, 3 << 20, 16384 * 9 / 2},
		{"DRAM/1", streamThreads(1), 1, 12 << 20, 100},
	} {
		b.Run(c.name, func(b *testing.B) {
			spec := described(b, "nsc", "ooo8")
			var ops uint64
			var cpu, wall time.Duration
			for b.Loop() {
				m, err := machine.New(spec)
				require.NoError(b, err)
				committed := func() (n uint64) {
					for _, x := range m.Cores {
						n += x.Counters.Committed
					}
					return n
				}
				var used time.Duration
				var start time.Time
				runtime.GC()
				m.Cores[0].After(c.warm, func(event.Time) {
					used, start = cpuTime(), time.Now()
					ops -= committed()
				})
				require.NoError(b, m.Run(context.Background(), c.threads(c.cores, c.bytes)...))
				ops += committed()
				cpu, wall = cpu+cpuTime()-used, wall+time.Since(start)
			}
			b.ReportMetric(float64(ops)/cpu.Seconds(), "uops/cpu-s")
			b.ReportMetric(float64(ops)/wall.Seconds(), "uops/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// cpuTime is what all threads of the process have used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkStreamSpeed simulates an addition of vectors from a warm L3 in base and in
// configurations with streams. accesses/cpu-s is lines that loads and stores of cores access in the L1, and
// that streams read and write at the L3, a second of all threads of the process.
func BenchmarkStreamSpeed(b *testing.B) {
	const n = 1 << 20
	k, err := kernels.Get("vec_add")
	require.NoError(b, err)
	g, err := cfront.CompileWhole(context.Background(), k.File, k.Source, cfront.Options{})
	require.NoError(b, err)
	for _, config := range []string{"base", "ns-no-comp", "ns", "ns-decouple"} {
		b.Run(config, func(b *testing.B) {
			accesses, used := uint64(0), time.Duration(0)
			for b.Loop() {
				m, err := tile.LoadMachine("nsc")
				require.NoError(b, err)
				mem := graph.Memory{}
				for _, a := range g.Arrays {
					mem[a.Name] = make([]scalar.Value, n)
				}
				start := cpuTime()
				r, err := multicore.Run(context.Background(), &multicore.Program{Graph: g, Memory: mem, Args: graph.Args{Symbols: map[string]int64{"N": n}}}, multicore.Options{Machine: m, Threads: 64, Config: config, Warm: true})
				require.NoError(b, err)
				used += cpuTime() - start
				accesses += r.Levels[0].Accesses + r.Streams.Bank.Reads + r.Streams.Bank.Writes
			}
			b.ReportMetric(float64(accesses)/used.Seconds(), "accesses/cpu-s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkKernelSpeed simulates workloads of Near-Stream Computing in base, in arrays of
// the sizes of its table VI that are in the L3, a few rounds of each. Unlike in BenchmarkSpeed,
// the beginning counts, when threads get their parts of loops.
func BenchmarkKernelSpeed(b *testing.B) {
	for _, c := range []struct {
		name   string
		rounds map[string]int64
	}{
		{"pathfinder", map[string]int64{"T": 2}},
		{"srad", map[string]int64{"T": 1}},
		{"hotspot", map[string]int64{"T": 2}},
		{"hotspot3D", map[string]int64{"T": 2}},
		{"histogram", map[string]int64{"Q": 4}},
		{"scluster", map[string]int64{"T": 1}},
		{"svm", map[string]int64{"T": 1}},
	} {
		b.Run(c.name, func(b *testing.B) {
			k, err := kernels.Get(c.name)
			require.NoError(b, err)
			sizes := maps.Clone(k.Paper)
			maps.Copy(sizes, c.rounds)
			g, err := cfront.CompileWhole(context.Background(), k.File, k.Source, cfront.Options{})
			require.NoError(b, err)
			ops, misses, used := uint64(0), uint64(0), time.Duration(0)
			for b.Loop() {
				r, cpu := simulate(b, k, g, sizes, "nsc", false)
				ops, used = ops+r.MicroOps, used+cpu
				misses += r.Levels[1].Misses
			}
			b.ReportMetric(float64(ops)/used.Seconds(), "uops/cpu-s")
			b.ReportMetric(float64(ops)/float64(misses), "uops/L2-miss")
			b.ReportMetric(0, "ns/op")
		})
	}
}
