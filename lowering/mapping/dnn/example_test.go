package dnn_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/lowering/mapping/dnn"
)

func ExampleParse() {
	op, err := dnn.Parse("gemm:M=2,K=3,N=2", dnn.DefaultBits)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(op, op.MACs(), "products")
	out, err := op.Run(context.Background(), 1, []int32{1, 2, 3, 4, 5, 6}, []int32{1, 0, 0, 1, 1, 1})
	fmt.Println(out, err)
	// Output:
	// gemm M=2 N=2 K=3 12 products
	// [4 5 10 11] <nil>
}

// A network of two layers.
func ExampleBuilder() {
	b := dnn.NewBuilder("tiny", "a tiny network", dnn.DefaultBits, 1, 3, 8, 8)
	x := b.Conv("conv", 0, 4, 3, 1, 1, 1)
	x = b.Unary("relu", dnn.ReLU, x)
	b.FC("fc", b.Flat("flat", x), 10)
	n, err := b.Done()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%+v\n", n.Totals())
	// Output:
	// {Operators:2 Distinct:2 MACs:9472 Weights:2668}
}
