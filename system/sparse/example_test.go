package sparse_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/system/sparse"
	"github.com/bitsched/bitsched/system/sparse/matrix"
)

// PageRank of a small graph; its result is compared with that of package reference.
func ExampleRun() {
	m, err := matrix.Generate("gen:rmat,scale=6,undirected", 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := sparse.LookupVariant("v3")
	if err != nil {
		fmt.Println(err)
		return
	}
	o := sparse.DefaultAppOptions()
	o.Iterations = 2
	r, err := sparse.Run(context.Background(), "pagerank", m, o,
		sparse.Config{Machine: sparse.Default(), Variant: v, Type: sparse.F32, Long: -1, Check: true, Threads: 1}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d of %d nonzeros each iteration, %d values compared\n",
		r.Nonzeros/int64(len(r.Iterations)), r.NNZ, r.Compared)
	// Output:
	// 730 of 730 nonzeros each iteration, 192 values compared
}
