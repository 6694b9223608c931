#include "bitsched.h"

/* The product of a matrix and a vector, then twice that of its transpose and the result. */
void matvec(int N, const float A[N][N], const float x[N], float y[N], float z[N])
{
	inf_array(A, N, N); inf_array(x, N); inf_array(y, N); inf_array(z, N);
#pragma bitsched region reassociate
	{
#pragma omp parallel for
		for (int i = 0; i < N; i++) {
			y[i] = 0;
			for (int j = 0; j < N; j++)
				y[i] = y[i] + A[i][j] * x[j];
		}
	}
#pragma omp parallel for
	for (int i = 0; i < N; i++)
		z[i] = 0;
	for (int j = 0; j < N; j++)
#pragma omp parallel for
		for (int i = 0; i < N; i++)
			z[i] = z[i] + A[j][i] * y[j];
}
