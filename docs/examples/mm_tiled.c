#include "bitsched.h"

/* C = A * B for N a multiple of 64, in tiles of 64 x 64 that stay in a cache of 64 kB. A
   thread computes whole tiles of C, eight products at a time. */
void mm_tiled(int N, const float A[N][N], const float B[N][N], float C[N][N])
{
	inf_array(A, N, N);
	inf_array(B, N, N);
	inf_array(C, N, N);
	int tiles = N / 64;
#pragma omp parallel for schedule(static)
	for (int t = 0; t < tiles * tiles; t++) {
		int row = t / tiles * 64, col = t % tiles * 64;
		for (int i = row; i < row + 64; i++)
			for (int j = col; j < col + 64; j++)
				C[i][j] = 0;
		for (int b = 0; b < N; b += 64)
			for (int i = row; i < row + 64; i++)
				for (int k = b; k < b + 64; k += 8)
					for (int j = col; j < col + 64; j++)
						C[i][j] = C[i][j] + A[i][k] * B[k][j] + A[i][k + 1] * B[k + 1][j] + A[i][k + 2] * B[k + 2][j] + A[i][k + 3] * B[k + 3][j]
							+ A[i][k + 4] * B[k + 4][j] + A[i][k + 5] * B[k + 5][j] + A[i][k + 6] * B[k + 6][j] + A[i][k + 7] * B[k + 7][j];
	}
}
