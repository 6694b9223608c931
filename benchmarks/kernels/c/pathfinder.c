#include "bitsched.h"

/* A row of sums from the row above: the least of three neighbours and the weight. */
static void row(int N, int T, int t, const int32_t W[T][N], const int32_t src[N], int32_t dst[N])
{
	dst[0] = W[t][0] + (src[1] < src[0] ? src[1] : src[0]);
#pragma omp parallel for
	for (int i = 1; i < N - 1; i++) {
		int32_t least = src[i - 1] < src[i] ? src[i - 1] : src[i];
		least = src[i + 1] < least ? src[i + 1] : least;
		dst[i] = W[t][i] + least;
	}
	dst[N - 1] = W[t][N - 1] + (src[N - 2] < src[N - 1] ? src[N - 2] : src[N - 1]);
}

/* Pathfinder (Rodinia): the least sums of weights on ways down T rows of a wall W of N
   columns, a step to a neighbouring column in each. A has the row above the first one,
   and the result; T is even. */
void pathfinder(int N, int T, const int32_t W[restrict T][N], int32_t A[restrict N], int32_t B[restrict N])
{
	inf_array(W, T, N);
	inf_array(A, N);
	inf_array(B, N);
	for (int t = 0; t < T; t += 2) {
		row(N, T, t, W, A, B);
		row(N, T, t + 1, W, B, A);
	}
}
