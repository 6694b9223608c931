package lowering_test

import (
	"fmt"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg/lattice"
)

// A matrix of 4 x 4 elements in tiles of 2 x 2; a part of it moves by one element.
func ExampleGrid_Move() {
	g, err := lowering.NewGrid([]int64{4, 4}, []int64{2, 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range g.Move(nil, lattice.Box{{Lo: 0, Hi: 3}, {Lo: 0, Hi: 4}}, 0, 1) {
		fmt.Println(s)
	}
	// Output:
	// bitlines 0:2:2 of tiles 0:2:2 by +1 bitlines
	// bitlines 1:2:2 of tiles 0:2:2 by +1 tiles, -1 bitlines
	// bitlines 0:2:2 of tiles 1:2:2 by +1 bitlines
}
