#include "bitsched.h"
void k(int N, float ex[N][N], float ey[N][N], float hz[N][N], const float f[N])
{
	inf_array(ex, N, N); inf_array(ey, N, N); inf_array(hz, N, N); inf_array(f, N);
#pragma bitsched region
	for (int t = 0; t < 2; t++) {
#pragma omp parallel for
		for (int j = 0; j < N; j++)
			ey[0][j] = f[t];
#pragma omp parallel for
		for (int i = 1; i < N; i++)
			for (int j = 0; j < N; j++)
				ey[i][j] = ey[i][j] - 0.5f * (hz[i][j] - hz[i-1][j]);
#pragma omp parallel for
		for (int i = 0; i < N; i++)
			for (int j = 1; j < N; j++)
				ex[i][j] = ex[i][j] - 0.5f * (hz[i][j] - hz[i][j-1]);
#pragma omp parallel for
		for (int i = 0; i < N - 1; i++)
			for (int j = 0; j < N - 1; j++)
				hz[i][j] = hz[i][j] - 0.7f * (ex[i][j+1] - ex[i][j] + ey[i+1][j] - ey[i][j]);
	}
}
