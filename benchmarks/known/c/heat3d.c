#include "bitsched.h"
void k(int N, float A[N][N][N], float B[N][N][N])
{
	inf_array(A, N, N, N); inf_array(B, N, N, N);
#pragma bitsched region
	for (int t = 0; t < 2; t++) {
#pragma omp parallel for
		for (int i = 1; i < N-1; i++)
			for (int j = 1; j < N-1; j++)
				for (int k = 1; k < N-1; k++)
					B[i][j][k] = 0.125f * (A[i+1][j][k] - 2.0f * A[i][j][k] + A[i-1][j][k])
						+ 0.125f * (A[i][j+1][k] - 2.0f * A[i][j][k] + A[i][j-1][k])
						+ 0.125f * (A[i][j][k+1] - 2.0f * A[i][j][k] + A[i][j][k-1]) + A[i][j][k];
#pragma omp parallel for
		for (int i = 1; i < N-1; i++)
			for (int j = 1; j < N-1; j++)
				for (int k = 1; k < N-1; k++)
					A[i][j][k] = 0.125f * (B[i+1][j][k] - 2.0f * B[i][j][k] + B[i-1][j][k])
						+ 0.125f * (B[i][j+1][k] - 2.0f * B[i][j][k] + B[i][j-1][k])
						+ 0.125f * (B[i][j][k+1] - 2.0f * B[i][j][k] + B[i][j][k-1]) + B[i][j][k];
	}
}
