package benchmarks_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/netlist/gen"
	"github.com/bitsched/bitsched/xmg"
)

// Two schedulers on an adder whose inputs fill an array.
func ExampleRun() {
	ctx := context.Background()
	n, err := gen.Build(ctx, "adder", gen.Options{Width: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := xmg.FromNetwork(ctx, n, xmg.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var schedulers []masim.Scheduler
	for _, name := range []string{"bitsched", "star"} {
		s, err := masim.Lookup(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		schedulers = append(schedulers, s)
	}
	c := benchmarks.Run(ctx, []benchmarks.Circuit{{Name: "adder", Network: n, Graph: g, Rows: 16}}, schedulers,
		benchmarks.Options{Arrays: 4, Cols: 64})
	if err := c.Err(); err != nil {
		fmt.Println(err)
		return
	}
	for i, cell := range c.Rows[0].Cells {
		fmt.Println(c.Schedulers[i], cell.Copies)
	}
	// Output:
	// bitsched 16
	// star 32
}
