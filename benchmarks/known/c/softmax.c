#include "bitsched.h"
void k(int N, const float X[N][N], float Y[N][N])
{
	inf_array(X, N, N); inf_array(Y, N, N);
#pragma bitsched region reassociate
#pragma omp parallel for
	for (int i = 0; i < N; i++) {
		float m = X[i][0];
		for (int j = 0; j < N; j++)
			m = fmaxf(m, X[i][j]);
		float s = 0;
		for (int j = 0; j < N; j++) {
			Y[i][j] = expf(X[i][j] - m);
			s += Y[i][j];
		}
		for (int j = 0; j < N; j++)
			Y[i][j] = Y[i][j] / s;
	}
}
