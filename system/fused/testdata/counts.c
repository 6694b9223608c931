#include "bitsched.h"

/* How often each of 256 values is in each row, and each element with its neighbours smoothed. */
void counts(int N, int M, const uint8_t A[N][M], uint32_t H[N][256], uint8_t B[N][M])
{
	inf_array(A, N, M); inf_array(H, N, 256); inf_array(B, N, M);
#pragma omp parallel for
	for (int i = 0; i < N; i++) {
		for (int b = 0; b < 256; b++)
			H[i][b] = 0;
		for (int j = 0; j < M; j++)
			H[i][A[i][j]]++;
	}
#pragma bitsched region
#pragma omp parallel for
	for (int i = 1; i < N - 1; i++)
		for (int j = 1; j < M - 1; j++)
			B[i][j] = (A[i][j - 1] + 2 * A[i][j] + A[i][j + 1]) >> 2;
}
