package masim_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/netlist/gen"
	"github.com/bitsched/bitsched/sram"
)

// An adder on arrays of 16 rows, which its inputs fill: each has to be copied to
// another array. The schedule is replayed and executed before it is returned.
func ExampleBuild() {
	ctx := context.Background()
	adder, err := gen.Build(ctx, "adder", gen.Options{Width: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := masim.Build(ctx, adder, masim.BuildOptions{Geometry: sram.Geometry{Arrays: 4, Rows: 16, Cols: 64}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d gates, %d copies, at least %d\n", b.Graph.NumGates(), b.Result.Copies, b.Bound.Copies)
	// Output:
	// 16 gates, 16 copies, at least 16
}
