package results_test

import (
	"fmt"
	"os"

	"github.com/bitsched/bitsched/benchmarks/results"
)

// What was found is kept by the key of all that it depends on.
func ExampleStore() {
	dir, err := os.MkdirTemp("", "results")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := results.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	key := results.Key("schedule", "adder", 64)
	if err := store.Put(key, 127); err != nil {
		fmt.Println(err)
		return
	}
	var copies int
	found, err := store.Get(key, &copies)
	fmt.Println(found, copies, err)
	found, err = store.Get(results.Key("schedule", "adder", 65), &copies)
	fmt.Println(found, err)
	// Output:
	// true 127 <nil>
	// false <nil>
}
