#include "bitsched.h"

/* Vertices without a parent, in any order, look for one that was reached in the step before. */
static int find(int V, int E, const int32_t row[V + 1], const int32_t col[E], const int32_t order[V], int32_t parent[V], const uint8_t front[V], uint8_t next[V])
{
	int found = 0;
#pragma omp parallel for reduction(+: found)
	for (int i = 0; i < V; i++) {
		int v = order[i];
		next[v] = 0;
		if (parent[v] < 0) {
			for (int e = row[v]; e < row[v + 1]; e++) {
				int u = col[e];
				if (front[u]) {
					parent[v] = u;
					next[v] = 1;
					found++;
					break;
				}
			}
		}
	}
	return found;
}

/* Breadth-first search (GAP), bottom-up: the parent of each vertex that there is a way to
   from the source, -1 for the others. row and col are the edges to each vertex. */
void bfs_pull(int V, int E, int source, const int32_t row[V + 1], const int32_t col[E], const int32_t order[V], int32_t parent[V], uint8_t front[V], uint8_t next[V])
{
	inf_array(row, V + 1);
	inf_array(col, E);
	inf_array(order, V);
	inf_array(parent, V);
	inf_array(front, V);
	inf_array(next, V);
#pragma omp parallel for
	for (int v = 0; v < V; v++) {
		parent[v] = -1;
		front[v] = 0;
	}
	parent[source] = source;
	front[source] = 1;
	int found = 1;
	while (found > 0) {
		found = find(V, E, row, col, order, parent, front, next);
		if (found > 0)
			found = find(V, E, row, col, order, parent, next, front);
	}
}
