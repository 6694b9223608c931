#include "bitsched.h"

/* Elimination below the diagonal of A, with right side B; Infinity Stream, figure
   4(c). What is below the diagonal afterwards is not zero, but means nothing. */
void gauss_elim(int N, float A[N][N], float B[N])
{
	inf_array(A, N, N);
	inf_array(B, N);
#pragma bitsched region
	for (int k = 0; k < N - 1; k++)
#pragma omp parallel for
		for (int i = k + 1; i < N; i++) {
			float m = A[i][k] / A[k][k];
			B[i] -= m * B[k];
			for (int j = k + 1; j < N; j++)
				A[i][j] -= m * A[k][j];
		}
}
