#include "bitsched.h"

/* Sums of the beginnings of rows, a row after another, then twice each of them. */
void prefix(int N, int M, const int32_t A[N][M], int32_t P[N][M], int32_t Q[N][M])
{
	inf_array(A, N, M); inf_array(P, N, M); inf_array(Q, N, M);
#pragma omp parallel for
	for (int i = 0; i < N; i++) {
		int32_t s = 0;
		for (int j = 0; j < M; j++) {
			s += A[i][j];
			P[i][j] = s;
		}
	}
#pragma bitsched region
#pragma omp parallel for
	for (int i = 0; i < N; i++)
		for (int j = 0; j < M; j++)
			Q[i][j] = P[i][j] * 2;
}
