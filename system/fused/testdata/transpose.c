#include "bitsched.h"

/* The transpose of a matrix, and its sum with the matrix. */
void transpose(int N, const float A[N][N], float B[N][N], float C[N][N])
{
	inf_array(A, N, N); inf_array(B, N, N); inf_array(C, N, N);
#pragma omp parallel for
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			B[i][j] = A[j][i];
#pragma bitsched region
#pragma omp parallel for
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			C[i][j] = A[i][j] + B[i][j];
}
