package dram_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/tile/mem/dram"
)

// Two lines of a row: the second waits for its turn only, since the row is open.
func ExampleChannel() {
	spec := dram.DDR4At3200()
	layout := spec.Layout()
	c := dram.NewChannel(&spec, func(now dram.Time, id uint64) { fmt.Println("line", id, "at clock", now) })
	for id := range uint64(2) {
		address := id * uint64(spec.Channels) * dram.LineBytes
		c.Add(address, layout.Of(address), false, id)
	}
	for c.Pending() {
		c.Tick()
	}
	// Output:
	// line 0 at clock 49
	// line 1 at clock 57
}

func ExampleExperiment() {
	e := dram.Experiment{Spec: dram.DDR4At3200(), Pattern: "seq", Arrival: "even", Load: 0.5, Warmup: 2000, Window: 20_000}
	m, err := e.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("saturated:", m.Saturated, "all of the load:", m.AchievedGBs > 0.95*m.OfferedGBs)
	// Output:
	// saturated: false all of the load: true
}
