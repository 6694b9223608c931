#include "bitsched.h"

/* A layer of a perceptron on gathered rows of F: Y = max(X * B, 0), X[m] = F[index[m]],
   by inner products. B is given as its transpose. */
void gather_mlp_inner(int M, int N, int K, int R, const float F[restrict R][K], const int32_t index[restrict M], const float B[restrict N][K], float X[restrict M][K], float Y[restrict M][N])
{
	inf_array(F, R, K);
	inf_array(index, M);
	inf_array(B, N, K);
	inf_array(X, M, K);
	inf_array(Y, M, N);
#pragma bitsched region reassociate
	{
#pragma omp parallel for
		for (int m = 0; m < M; m++)
			for (int k = 0; k < K; k++)
				X[m][k] = F[index[m]][k];
		for (int n = 0; n < N; n++)
#pragma omp parallel for
			for (int m = 0; m < M; m++) {
				float s = 0;
				for (int k = 0; k < K; k++)
					s += X[m][k] * B[n][k];
				Y[m][n] = fmaxf(s, 0);
			}
	}
}
