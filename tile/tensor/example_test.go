package tensor_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/tensor"
)

// A bank computes for 100 cycles, another for 30 and then sends 8 packets to the first.
func ExampleChip() {
	chip, err := tensor.New(tile.Default())
	if err != nil {
		fmt.Println(err)
		return
	}
	chip.Local(0, 100)
	chip.Local(1, 30)
	chip.Shift([]tensor.Part{{Bank: 1, Cycles: 16, Tree: 8}}, []tensor.Flow{{From: 1, To: 0, Packets: 8}}, false, 0)
	end, err := chip.Wait(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(end, "cycles,", chip.ByteHops(), "bytes times links")
	// Output:
	// 100 cycles, 768 bytes times links
}
