#include "bitsched.h"

/* C = A * B for square matrices of T x T tiles, each of 64 x 64 elements that lie together:
   rows of a whole matrix, a power of two apart, would share a few sets of a cache. A
   thread computes whole tiles of C, eight products at a time. */
void mm_tiled(int T, const float A[T][T][64][64], const float B[T][T][64][64], float C[T][T][64][64])
{
	inf_array(A, T, T, 64, 64);
	inf_array(B, T, T, 64, 64);
	inf_array(C, T, T, 64, 64);
#pragma omp parallel for collapse(2) schedule(static)
	for (int r = 0; r < T; r++)
		for (int s = 0; s < T; s++) {
			for (int i = 0; i < 64; i++)
				for (int j = 0; j < 64; j++)
					C[r][s][i][j] = 0;
			for (int t = 0; t < T; t++)
				for (int i = 0; i < 64; i++)
					for (int k = 0; k < 64; k += 8)
						for (int j = 0; j < 64; j++)
							C[r][s][i][j] = C[r][s][i][j] + A[r][t][i][k] * B[t][s][k][j] + A[r][t][i][k + 1] * B[t][s][k + 1][j]
								+ A[r][t][i][k + 2] * B[t][s][k + 2][j] + A[r][t][i][k + 3] * B[t][s][k + 3][j] + A[r][t][i][k + 4] * B[t][s][k + 4][j]
								+ A[r][t][i][k + 5] * B[t][s][k + 5][j] + A[r][t][i][k + 6] * B[t][s][k + 6][j] + A[r][t][i][k + 7] * B[t][s][k + 7][j];
		}
}
