package sensitivity_test

import (
	"fmt"

	"github.com/bitsched/bitsched/benchmarks/sensitivity"
	"github.com/bitsched/bitsched/tile"
)

// What a study halves and doubles of the L3 and the core of a chip because it was assumed.
func ExampleParameters() {
	m, err := tile.LoadMachine("nsc-small")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range sensitivity.Parameters(m, []string{"l3.", "cores.ooo8."}) {
		if p.Source == "assumed" {
			fmt.Println(p.Path, p.Value)
		}
	}
	// Output:
	// cores.ooo8.front_end_cycles 5
	// cores.ooo8.store_prefetch false
	// cores.ooo8.forward_cycles 1
	// l3.fill_cycles 1
}
