#include "bitsched.h"

/* PageRank (GAP): T rounds, in which each vertex adds its share to all that it has edges
   to. row and col are the edges from each vertex. */
void pr_push(int V, int E, int T, const int32_t row[V + 1], const int32_t col[E], float score[V], float sum[V])
{
	inf_array(row, V + 1);
	inf_array(col, E);
	inf_array(score, V);
	inf_array(sum, V);
	const float damp = 0.85f;
	float base = (1.0f - damp) / V;
#pragma omp parallel for
	for (int v = 0; v < V; v++) {
		score[v] = 1.0f / V;
		sum[v] = 0;
	}
	for (int t = 0; t < T; t++) {
#pragma omp parallel for schedule(dynamic, 64)
		for (int u = 0; u < V; u++) {
			int first = row[u], end = row[u + 1];
			float share = score[u] / (end - first);
			for (int e = first; e < end; e++) {
#pragma omp atomic
				sum[col[e]] += share;
			}
		}
#pragma omp parallel for
		for (int v = 0; v < V; v++) {
			score[v] = base + damp * sum[v];
			sum[v] = 0;
		}
	}
}
