#include "bitsched.h"
void k(int N, float A[N][N], float B[N][N])
{
	inf_array(A, N, N); inf_array(B, N, N);
#pragma bitsched region
	for (int t = 0; t < 2; t++) {
#pragma omp parallel for
		for (int i = 0; i < N; i++)
			for (int j = 0; j < N; j++)
				B[i][j] = i == 0 || j == 0 || i == N-1 || j == N-1 ? A[i][j] : 0.25f * (A[i-1][j] + A[i+1][j] + A[i][j-1] + A[i][j+1]);
#pragma omp parallel for
		for (int i = 0; i < N; i++)
			for (int j = 0; j < N; j++)
				A[i][j] = B[i][j];
	}
}
