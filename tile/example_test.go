package tile_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/tile"
)

// Rows of an array shifted by three bitlines, and how long the chip takes for it.
func ExampleCells() {
	m := tile.Default()
	c, err := tile.NewCells(m, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	c.Row(0, 5)[0] = 0b1011
	if err := c.Run(context.Background(), 1, []tile.Op{tile.Shift(5, 8, 1, 3, tile.Enable{})}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%b, %d cycles\n", c.Row(0, 8)[0], tile.NewTiming(m).IntraShift(1, 3))
	// Output:
	// 1011000, 1 cycles
}
