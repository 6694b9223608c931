#include "bitsched.h"

/* One round of k-means: the nearest of K centres C for each of N points P of D
   dimensions, by outer products of the points by dimensions, T, so that long loops go
   over points side by side, then the means of the points S of each centre. */
void kmeans_transposed(int N, int K, int D, const float P[restrict N][D], const float T[restrict D][N], float C[restrict K][D], float dist[restrict K][N], float best[restrict N], int32_t nearest[restrict N], float S[restrict K][D], int32_t count[restrict K])
{
	inf_array(P, N, D);
	inf_array(T, D, N);
	inf_array(C, K, D);
	inf_array(dist, K, N);
	inf_array(best, N);
	inf_array(nearest, N);
	inf_array(S, K, D);
	inf_array(count, K);
#pragma bitsched region
	{
#pragma omp parallel for
		for (int p = 0; p < N; p++)
			best[p] = INFINITY;
#pragma omp parallel for
		for (int c = 0; c < K; c++)
			for (int p = 0; p < N; p++)
				dist[c][p] = 0;
		for (int d = 0; d < D; d++)
#pragma omp parallel for
			for (int c = 0; c < K; c++)
				for (int p = 0; p < N; p++) {
					float t = T[d][p] - C[c][d];
					dist[c][p] += t * t;
				}
		for (int c = 0; c < K; c++)
#pragma omp parallel for
			for (int p = 0; p < N; p++)
				if (dist[c][p] < best[p]) {
					best[p] = dist[c][p];
					nearest[p] = c;
				}
#pragma omp parallel for
		for (int c = 0; c < K; c++) {
			count[c] = 0;
			for (int d = 0; d < D; d++)
				S[c][d] = 0;
		}
		for (int p = 0; p < N; p++) {
			count[nearest[p]] += 1;
			for (int d = 0; d < D; d++)
				S[nearest[p]][d] += P[p][d];
		}
#pragma omp parallel for
		for (int c = 0; c < K; c++)
			for (int d = 0; d < D; d++)
				if (count[c] > 0)
					C[c][d] = S[c][d] / count[c];
	}
}
