package gearbox_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/benchmarks/gearbox"
)

// Tables that need no matrix: they follow from the description of the stack.
func ExampleLab_Paper() {
	entries, err := gearbox.NewLab(gearbox.Options{}).Paper(context.Background(), []string{"table2"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range entries {
		fmt.Println(e.ID, e.Title, len(e.Rows), e.Failed())
	}
	// Output:
	// table2 Configuration 10 []
}
