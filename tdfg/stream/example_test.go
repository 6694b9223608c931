package stream_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// A sum over a linked list whose nodes are in two arrays.
func Example() {
	g, err := stream.Parse(`graph list
array next int32[4]
array key int32[4]
for n in [0,inf) while ne(p, int32(-1)) {
	reduce sum: key[p] over n from int32(0) = add(sum, @)
	reduce p: next[p] over n from int32(2)
}
`, "list.sdfg")
	if err != nil {
		fmt.Println(err)
		return
	}
	end := scalar.FromInt(scalar.Int32, -1)
	res, err := g.Run(context.Background(), stream.Memory{"next": {end, 0, 1, 7}, "key": {5, 10, 20, 99}}, stream.Args{})
	if err != nil {
		fmt.Println(err)
		return
	}
	sum, _ := res.Value("sum")
	fmt.Println(sum)
	for _, c := range res.Streams {
		fmt.Printf("%s: %s, %d times, %d bytes read\n", g.AccessPattern(c.Stream), g.Patterns()[c.Stream], c.Executed, c.BytesRead)
	}
	// Output:
	// 35
	// n_0^{inf} key[p]: pointer-chasing, 3 times, 12 bytes read
	// n_0^{inf} next[p]: pointer-chasing, 3 times, 12 bytes read
}
