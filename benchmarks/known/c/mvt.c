#include "bitsched.h"
void k(int N, float x1[N], float x2[N], const float y1[N], const float y2[N], const float A[N][N])
{
	inf_array(x1, N); inf_array(x2, N); inf_array(y1, N); inf_array(y2, N); inf_array(A, N, N);
#pragma bitsched region reassociate
	{
#pragma omp parallel for
		for (int i = 0; i < N; i++)
			for (int j = 0; j < N; j++)
				x1[i] = x1[i] + A[i][j] * y1[j];
#pragma omp parallel for
		for (int i = 0; i < N; i++)
			for (int j = 0; j < N; j++)
				x2[i] = x2[i] + A[j][i] * y2[j];
	}
}
