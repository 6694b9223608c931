package cfront_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/tdfg/cfront"
)

func ExampleCompile() {
	const source = `#include "bitsched.h"
void smooth(int N, const int A[N], int B[N])
{
	inf_array(A, N);
	inf_array(B, N);
#pragma bitsched region
	for (int i = 1; i < N - 1; i++)
		B[i] = A[i - 1] + A[i + 1];
}
`
	p, err := cfront.Compile(context.Background(), "smooth.c", source, cfront.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(p)
	// Output:
	// program smooth
	// symbol N in [1,inf)
	// array A int32[N] on 0
	// array B int32[N] on 0
	// region smooth dims 1 {
	//   array A int32[N] on 0
	//   array B int32[N] on 0
	//   %0 = tensor A [0,N-2)                    # int32 [0,N-2)
	//   %1 = mv %0 dim 0 dist 1                  # int32 [1,N-1)
	//   %2 = tensor A [2,N)                      # int32 [2,N)
	//   %3 = mv %2 dim 0 dist -1                 # int32 [1,N-1)
	//   %4 = cmp add %1 %3                       # int32 [1,N-1)
	//   store %4 B
	// }
}
