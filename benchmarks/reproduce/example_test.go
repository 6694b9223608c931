package reproduce_test

import (
	"fmt"

	"github.com/bitsched/bitsched/benchmarks/reproduce"
)

func ExampleFind() {
	entries, err := reproduce.Find("masim:table1")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range entries {
		fmt.Printf("%s %s, %d claims\n", e.ID, e.Paper, len(e.Claims))
	}
	_, err = reproduce.Find("masim:table9")
	fmt.Println(err)
	// Output:
	// masim:table1 MASIM, Table I, 1 claims
	// reproduce: "masim:table9": no such table or figure, expected one of those that bitsched reproduce lists
}
