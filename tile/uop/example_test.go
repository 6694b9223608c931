package uop_test

import (
	"fmt"

	"github.com/bitsched/bitsched/tile/uop"
)

// A batch that adds 1 to four bytes in memory, and what it does to a memory without time.
func ExampleFlat() {
	b := uop.Batch{Data: []byte{41, 0, 0, 0, 42, 0, 0, 0}}
	b.Ops = []uop.Op{
		{PC: 0, Kind: uop.Load, Lanes: 1, Dst: 1, Size: 4, Addr: 0x1000, Data: 0},
		{PC: 1, Kind: uop.IntALU, Lanes: 1, Dst: 2, Src: [3]uop.Reg{1}},
		{PC: 2, Kind: uop.Store, Lanes: 1, Src: [3]uop.Reg{2}, Size: 4, Addr: 0x1000, Data: 4},
	}
	if err := b.Check(); err != nil {
		fmt.Println(err)
		return
	}
	memory := uop.NewFlat([]uop.Segment{{Name: "A", Addr: 0x1000, Data: []byte{41, 0, 0, 0}}})
	for i := range b.Ops {
		old, err := memory.Perform(&b, &b.Ops[i])
		fmt.Println(b.Ops[i].Kind, old, err)
	}
	after, err := memory.Bytes(0x1000, 4)
	fmt.Println(after, err)
	// Output:
	// load [41 0 0 0] <nil>
	// alu [] <nil>
	// store [41 0 0 0] <nil>
	// [42 0 0 0] <nil>
}
