package timing

import (
	"context"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/machine"
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/uop"
)

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
