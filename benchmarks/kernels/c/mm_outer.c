#include "bitsched.h"

/* C = A * B by outer products; Infinity Stream, figure 8. */
void mm_outer(int M, int N, int K, const float A[M][K], const float B[K][N], float C[M][N])
{
	inf_array(A, M, K);
	inf_array(B, K, N);
	inf_array(C, M, N);
#pragma bitsched region
	{
#pragma omp parallel for
		for (int m = 0; m < M; m++)
			for (int n = 0; n < N; n++)
				C[m][n] = 0;
		for (int k = 0; k < K; k++)
#pragma omp parallel for
			for (int m = 0; m < M; m++)
				for (int n = 0; n < N; n++)
					C[m][n] += A[m][k] * B[k][n];
	}
}
