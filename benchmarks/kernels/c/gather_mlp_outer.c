#include "bitsched.h"

/* A layer of a perceptron on gathered rows of F: Y = max(X * B, 0), X[m] = F[index[m]],
   by outer products. */
void gather_mlp_outer(int M, int N, int K, int R, const float F[restrict R][K], const int32_t index[restrict M], const float B[restrict K][N], float X[restrict M][K], float Y[restrict M][N])
{
	inf_array(F, R, K);
	inf_array(index, M);
	inf_array(B, K, N);
	inf_array(X, M, K);
	inf_array(Y, M, N);
#pragma bitsched region
	{
#pragma omp parallel for
		for (int m = 0; m < M; m++)
			for (int k = 0; k < K; k++)
				X[m][k] = F[index[m]][k];
#pragma omp parallel for
		for (int m = 0; m < M; m++)
			for (int n = 0; n < N; n++)
				Y[m][n] = 0;
		for (int k = 0; k < K; k++)
#pragma omp parallel for
			for (int m = 0; m < M; m++)
				for (int n = 0; n < N; n++)
					Y[m][n] += X[m][k] * B[k][n];
#pragma omp parallel for
		for (int m = 0; m < M; m++)
			for (int n = 0; n < N; n++)
				Y[m][n] = fmaxf(Y[m][n], 0);
	}
}
