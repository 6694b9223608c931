package machine_test

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/bitsched/bitsched/lowering/micro"
	"github.com/bitsched/bitsched/system/machine"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile"
)

// A loop as micro-ops on one core of a chip, and what is in its memory afterwards.
func ExampleMachine_Run() {
	g, err := stream.Parse(`graph square
array A int32[4]
for i in [0,4) {
	rmw a: A[i] = mul(@, @)
}
`, "square.sdfg")
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := micro.New(g, stream.Memory{"A": []scalar.Value{1, 2, 3, 4}}, stream.Args{}, micro.Options{Threads: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	spec, err := machine.Of(tile.Default())
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := machine.New(spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range p.Segments() {
		m.Write(s.Addr, s.Data)
	}
	if err := m.Run(context.Background(), p.Threads()...); err != nil {
		fmt.Println(err)
		return
	}
	for i := range int64(4) {
		var bytes [4]byte
		m.Read(p.Address("A", i), bytes[:])
		fmt.Print(binary.LittleEndian.Uint32(bytes[:]), " ")
	}
	// Output:
	// 1 4 9 16
}
