#include "bitsched.h"
void k(int N, const int8_t A[N][N], const int8_t B[N][N], int C[N][N])
{
	inf_array(A, N, N); inf_array(B, N, N); inf_array(C, N, N);
#pragma bitsched region
	for (int k = 0; k < N; k++)
#pragma omp parallel for
		for (int i = 0; i < N; i++)
			for (int j = 0; j < N; j++)
				C[i][j] += (int)A[i][k] * B[k][j];
}
