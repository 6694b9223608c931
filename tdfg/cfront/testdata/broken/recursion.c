#include "bitsched.h"

void twice(int N, float A[N])
{
	inf_array(A, N);
#pragma bitsched region
	for (int i = 0; i < N; i++) {
		A[i] = 2 * A[i];
		twice(N - 1, A);
	}
}
