#include "bitsched.h"

/* C = A * B by inner products: B is given as its transpose. Infinity Stream, figure 8. */
void mm_inner(int M, int N, int K, const float A[M][K], const float B[N][K], float C[M][N])
{
	inf_array(A, M, K);
	inf_array(B, N, K);
	inf_array(C, M, N);
#pragma bitsched region reassociate
#pragma omp parallel for
	for (int m = 0; m < M; m++)
		for (int n = 0; n < N; n++) {
			float s = 0;
			for (int k = 0; k < K; k++)
				s += A[m][k] * B[n][k];
			C[m][n] = s;
		}
}
