package nearstream_test

import (
	"fmt"

	"github.com/bitsched/bitsched/lowering/nearstream"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// A histogram: the key is computed where A is read, and the counter updated at its bank.
func Example() {
	g, err := stream.Parse(`graph histogram
symbol N in [1,inf)
array A uint32[N]
array H uint32[256]
for i in [0,N) {
	load a: A[i]
	reduce key over i from uint32(0) = and(shr(a, uint32(12)), uint32(255))
	rmw h: H[key] = add(@, uint32(1))
}
`, "histogram")
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := nearstream.Analyze(g)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range plan.Streams {
		fmt.Printf("%s: %s, %s, %d operations, %s\n", s.Name, s.Address, s.Kind, len(s.Ops), s.Place)
	}
	fmt.Println(plan.Verdict())
	// Output:
	// a: affine, load, 2 operations, near L3
	// h: indirect, rmw, 1 operations, near L3
	// 2 of 2 accesses and reductions in loops can compute, store or feed others near the L3
}
