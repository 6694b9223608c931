package known_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/benchmarks/known"
)

func Example() {
	k, err := known.Kernel("gemm8")
	if err == nil {
		err = k.CompileWhole(context.Background(), map[string]int64{"N": 64}, nil, false)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(known.Names()), "kernels;", k.File, k.SizeText())
	// Output: 11 kernels; c/gemm8.c N=64
}
