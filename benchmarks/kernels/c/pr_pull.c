#include "bitsched.h"

/* PageRank (GAP): T rounds, in which each vertex takes the shares of all that have edges
   to it, in any order of vertices. row and col are the edges to each vertex, degree is the
   number of those from it. */
void pr_pull(int V, int E, int T, const int32_t row[V + 1], const int32_t col[E], const int32_t degree[V], const int32_t order[V], float score[V], float share[V])
{
	inf_array(row, V + 1);
	inf_array(col, E);
	inf_array(degree, V);
	inf_array(order, V);
	inf_array(score, V);
	inf_array(share, V);
	const float damp = 0.85f;
	float base = (1.0f - damp) / V;
#pragma omp parallel for
	for (int v = 0; v < V; v++)
		score[v] = 1.0f / V;
	for (int t = 0; t < T; t++) {
#pragma omp parallel for
		for (int v = 0; v < V; v++)
			share[v] = score[v] / (float)degree[v];
#pragma omp parallel for
		for (int i = 0; i < V; i++) {
			int v = order[i];
			float sum = 0;
			for (int e = row[v]; e < row[v + 1]; e++)
				sum += share[col[e]];
			score[v] = base + damp * sum;
		}
	}
}
