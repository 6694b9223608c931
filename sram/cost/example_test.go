package cost_test

import (
	"fmt"
	"strings"

	"github.com/bitsched/bitsched/sram/cost"
)

// What 100 computes and 10 copies cost by the table of MASIM, and what that leaves out.
func ExampleTable_Breakdown() {
	t, err := cost.Load("masim")
	if err != nil {
		fmt.Println(err)
		return
	}
	b := t.Breakdown(cost.Counts{Computes: 100, Copies: 10, InputRows: 8, OutputRows: 4, Arrays: 2, Rows: 256, Cols: 256})
	for _, l := range b.Lines {
		if l.Energy != nil {
			fmt.Println(l.Name, l.Count, *l.Energy)
		}
	}
	fmt.Println("without", strings.Join(b.LeftOut, ", "))
	// Output:
	// compute 100 100
	// copy 10 18.700000000000003
	// H-tree 10 0
	// without leakage, transposition, host copies
}
