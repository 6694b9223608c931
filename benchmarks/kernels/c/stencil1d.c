#include "bitsched.h"

/* T steps of B[i] = A[i-1] + A[i] + A[i+1], to and fro; Infinity Stream, figure 4(a). */
void stencil1d(int N, int T, float A[N], float B[N])
{
	inf_array(A, N);
	inf_array(B, N);
#pragma bitsched region
	for (int t = 0; t < T; t++) {
#pragma omp parallel for
		for (int i = 1; i < N - 1; i++)
			B[i] = A[i - 1] + A[i] + A[i + 1];
#pragma omp parallel for
		for (int i = 1; i < N - 1; i++)
			A[i] = B[i - 1] + B[i] + B[i + 1];
	}
}
