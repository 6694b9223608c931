#include "bitsched.h"

/* One level of the Haar wavelet transform of A, 2N x 2M: the low and high bands of
   all neighbours, first along the rows, then along the columns, and the even ones of
   these in the four quarters of O. A, B, L and H hold the bands. */
void dwt2d(int N, int M, float A[2 * N][2 * M], float B[2 * N][2 * M], float L[2 * N][2 * M], float H[2 * N][2 * M], float O[2 * N][2 * M])
{
	inf_array(A, 2 * N, 2 * M);
	inf_array(B, 2 * N, 2 * M);
	inf_array(L, 2 * N, 2 * M);
	inf_array(H, 2 * N, 2 * M);
	inf_array(O, 2 * N, 2 * M);
#pragma bitsched region
	{
#pragma omp parallel for
		for (int i = 0; i < 2 * N; i++)
			for (int j = 0; j < 2 * M - 1; j++) {
				L[i][j] = (A[i][j] + A[i][j + 1]) * 0.5f;
				H[i][j] = (A[i][j] - A[i][j + 1]) * 0.5f;
			}
#pragma omp parallel for
		for (int i = 0; i < 2 * N - 1; i++)
			for (int j = 0; j < 2 * M - 1; j++) {
				A[i][j] = (L[i][j] + L[i + 1][j]) * 0.5f;
				B[i][j] = (L[i][j] - L[i + 1][j]) * 0.5f;
			}
		for (int i = 0; i < 2 * N - 1; i++)
#pragma omp parallel for
			for (int j = 0; j < 2 * M - 1; j++) {
				L[i][j] = (H[i][j] + H[i + 1][j]) * 0.5f;
				H[i][j] = (H[i][j] - H[i + 1][j]) * 0.5f;
			}
#pragma omp parallel for
		for (int i = 0; i < N; i++)
			for (int j = 0; j < M; j++) {
				O[i][j] = A[2 * i][2 * j];
				O[N + i][j] = B[2 * i][2 * j];
				O[i][M + j] = L[2 * i][2 * j];
				O[N + i][M + j] = H[2 * i][2 * j];
			}
	}
}
