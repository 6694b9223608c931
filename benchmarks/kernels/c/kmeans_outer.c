#include "bitsched.h"

/* One round of k-means: the nearest of K centres C for each of N points P of D
   dimensions, by outer products, then the means of the points S of each centre. */
void kmeans_outer(int N, int K, int D, const float P[restrict N][D], float C[restrict K][D], float dist[restrict N][K], float best[restrict N], int32_t nearest[restrict N], float S[restrict K][D], int32_t count[restrict K])
{
	inf_array(P, N, D);
	inf_array(C, K, D);
	inf_array(dist, N, K);
	inf_array(best, N);
	inf_array(nearest, N);
	inf_array(S, K, D);
	inf_array(count, K);
#pragma bitsched region
	{
#pragma omp parallel for
		for (int p = 0; p < N; p++) {
			best[p] = INFINITY;
			for (int c = 0; c < K; c++)
				dist[p][c] = 0;
		}
		for (int d = 0; d < D; d++)
#pragma omp parallel for
			for (int p = 0; p < N; p++)
				for (int c = 0; c < K; c++) {
					float t = P[p][d] - C[c][d];
					dist[p][c] += t * t;
				}
		for (int c = 0; c < K; c++)
#pragma omp parallel for
			for (int p = 0; p < N; p++)
				if (dist[p][c] < best[p]) {
					best[p] = dist[p][c];
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
