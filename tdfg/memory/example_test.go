package memory_test

import (
	"fmt"

	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

func ExampleMemory() {
	m := memory.New()
	a := m.Add("A", scalar.Int16, []int64{3}, []scalar.Value{1, 2, 3})
	b := m.Add("B", scalar.Int32, []int64{2}, make([]scalar.Value, 2))
	fmt.Printf("A at %#x to %#x, B on a page of its own: %v\n", a.Address(0), a.End(), b.Base-a.Base == 4096)

	other := m.Clone()
	other.Arrays["B"].Elems[1] = 7
	fmt.Println(m.Diff(other))
	// Output:
	// A at 0x100000 to 0x100006, B on a page of its own: true
	// B[1] is 0 and 7
}
