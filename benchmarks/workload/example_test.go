package workload_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/benchmarks/workload"
)

// A kernel of one's own, with random arguments by a seed.
func ExampleFromSource() {
	const source = `#include "bitsched.h"
void add(int N, const int A[N], int B[N])
{
	inf_array(A, N);
	inf_array(B, N);
#pragma bitsched region
	for (int i = 0; i < N; i++)
		B[i] += A[i];
}
`
	ctx := context.Background()
	k := workload.FromSource("add.c", source, nil)
	if err := k.Compile(ctx, map[string]int64{"N": 100}, nil, false); err != nil {
		fmt.Println(err)
		return
	}
	m, err := k.Arguments(ctx, 1, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	before := m.Clone()
	if err := k.InOrder(ctx, m); err != nil {
		fmt.Println(err)
		return
	}
	a, was, is := m.Arrays["A"].Elems, before.Arrays["B"].Elems, m.Arrays["B"].Elems
	fmt.Println(k.SizeText(), uint32(was[7]+a[7]) == uint32(is[7]))
	// Output:
	// N=100 true
}
