package stats_test

import (
	"fmt"
	"os"

	"github.com/bitsched/bitsched/tile/stats"
)

func ExampleRegistry() {
	var bank struct {
		Hits    uint64          `desc:"requests that found their line"`
		Latency stats.Histogram `unit:"Cycle" desc:"of requests"`
	}
	reg := stats.New()
	reg.Register("system.l2", &bank)
	bank.Hits = 5
	before := reg.Snapshot(100)

	bank.Hits += 3
	bank.Latency.Sample(12)
	between := reg.Snapshot(160).Sub(before)
	fmt.Println(between.Value("system.l2.hits"), "hits in", between.Cycles(), "cycles")
	if err := between.WriteText(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 3 hits in 60 cycles
	// ---------- Begin Simulation Statistics ----------
	// system.l2.hits                                              3  # requests that found their line (Count)
	// system.l2.latency::samples                                  1  # of requests (Cycle)
	// system.l2.latency::mean                             12.000000  # of requests (Cycle)
	// system.l2.latency::stdev                             0.000000  # of requests (Cycle)
	// system.l2.latency::min                                     12  # of requests (Cycle)
	// system.l2.latency::max                                     12  # of requests (Cycle)
	// system.l2.latency::total                                   12  # of requests (Cycle)
	// system.l2.latency::12                                       1  # of requests (Cycle)
	// ---------- End Simulation Statistics   ----------
}
