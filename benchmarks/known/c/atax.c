#include "bitsched.h"
void k(int N, const float A[N][N], const float x[N], float y[N], float tmp[N])
{
	inf_array(A, N, N); inf_array(x, N); inf_array(y, N); inf_array(tmp, N);
#pragma bitsched region reassociate
	{
#pragma omp parallel for
		for (int i = 0; i < N; i++) {
			tmp[i] = 0;
			for (int j = 0; j < N; j++)
				tmp[i] = tmp[i] + A[i][j] * x[j];
		}
#pragma omp parallel for
		for (int j = 0; j < N; j++) {
			y[j] = 0;
			for (int i = 0; i < N; i++)
				y[j] = y[j] + A[i][j] * tmp[i];
		}
	}
}
