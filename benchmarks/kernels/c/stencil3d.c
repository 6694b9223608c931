#include "bitsched.h"

/* T steps of a seven-point stencil, to and fro. */
void stencil3d(int L, int N, int M, int T, float C0, float C1, float A[L][N][M], float B[L][N][M])
{
	inf_array(A, L, N, M);
	inf_array(B, L, N, M);
#pragma bitsched region
	for (int t = 0; t < T; t++) {
		for (int k = 1; k < L - 1; k++)
#pragma omp parallel for
			for (int i = 1; i < N - 1; i++)
				for (int j = 1; j < M - 1; j++)
					B[k][i][j] = C0 * A[k][i][j] + C1 * A[k][i][j - 1] + C1 * A[k][i][j + 1] + C1 * A[k][i - 1][j]
						+ C1 * A[k][i + 1][j] + C1 * A[k - 1][i][j] + C1 * A[k + 1][i][j];
		for (int k = 1; k < L - 1; k++)
#pragma omp parallel for
			for (int i = 1; i < N - 1; i++)
				for (int j = 1; j < M - 1; j++)
					A[k][i][j] = C0 * B[k][i][j] + C1 * B[k][i][j - 1] + C1 * B[k][i][j + 1] + C1 * B[k][i - 1][j]
						+ C1 * B[k][i + 1][j] + C1 * B[k - 1][i][j] + C1 * B[k + 1][i][j];
	}
}
