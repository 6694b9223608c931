#include "bitsched.h"

/* T steps of a five-point stencil, to and fro. */
void stencil2d(int N, int M, int T, float C0, float C1, float A[N][M], float B[N][M])
{
	inf_array(A, N, M);
	inf_array(B, N, M);
#pragma bitsched region
	for (int t = 0; t < T; t++) {
#pragma omp parallel for
		for (int i = 1; i < N - 1; i++)
			for (int j = 1; j < M - 1; j++)
				B[i][j] = C0 * A[i][j] + C1 * A[i][j - 1] + C1 * A[i][j + 1] + C1 * A[i - 1][j] + C1 * A[i + 1][j];
#pragma omp parallel for
		for (int i = 1; i < N - 1; i++)
			for (int j = 1; j < M - 1; j++)
				A[i][j] = C0 * B[i][j] + C1 * B[i][j - 1] + C1 * B[i][j + 1] + C1 * B[i - 1][j] + C1 * B[i + 1][j];
	}
}
