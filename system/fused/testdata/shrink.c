#include "bitsched.h"

/* T times sums of elements that lie H apart, of ever fewer of them: large tensors first, then small
   ones. */
void shrink(int N, int T, float A[N], float B[N])
{
	inf_array(A, N); inf_array(B, N);
#pragma bitsched region
	for (int t = 0; t < T; t++) {
#pragma omp parallel for
		for (int i = 0; i < N - t * (N / T) - 1; i++)
			B[i] = A[i] + A[i + 1];
#pragma omp parallel for
		for (int i = 0; i < N - t * (N / T) - 1; i++)
			A[i] = B[i] * 0.5f;
	}
}
