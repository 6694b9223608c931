package system_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tile"
)

// A kernel in arrays, bit by bit.
func ExampleRun() {
	p, err := tdfg.ParseProgram("double.tdfg", `program double
array A int16[1024] on 0
region double dims 1 {
  array A int16[1024] on 0
  %0 = tensor A [0,1024)
  %1 = cmp add %0 %0
  store %1 A
}
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := memory.New()
	if err := m.Allocate(p.Arrays, nil); err != nil {
		fmt.Println(err)
		return
	}
	a := m.Arrays["A"].Elems
	for i := range a {
		a[i] = uint64(i)
	}
	report, err := system.Run(context.Background(), p, nil, m, system.Options{Machine: tile.Default()})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a[:4], a[1023], "in", report.Arrays, "arrays;", report.Cycles.Compute, "cycles of computing")
	// Output:
	// [0 2 4 6] 2046 in 4 arrays; 17 cycles of computing
}
