#include "bitsched.h"

/* A filter of 3 x 3: C0 in the middle, C1 beside it, C2 in the corners. */
void conv2d(int N, int M, float C0, float C1, float C2, const float A[N][M], float B[N][M])
{
	inf_array(A, N, M);
	inf_array(B, N, M);
#pragma bitsched region
#pragma omp parallel for
	for (int i = 1; i < N - 1; i++)
		for (int j = 1; j < M - 1; j++)
			B[i][j] = C2 * A[i - 1][j - 1] + C1 * A[i - 1][j] + C2 * A[i - 1][j + 1]
				+ C1 * A[i][j - 1] + C0 * A[i][j] + C1 * A[i][j + 1]
				+ C2 * A[i + 1][j - 1] + C1 * A[i + 1][j] + C2 * A[i + 1][j + 1];
}
