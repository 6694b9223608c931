#include "bitsched.h"

/* Appends what a thread has found to the queue of the next depth. */
static void flush(int n, const int32_t *found, int32_t *next, int32_t *tail)
{
	int at = __atomic_fetch_add(&tail[0], n, __ATOMIC_RELAXED);
	for (int k = 0; k < n; k++)
		next[at + k] = found[k];
}

/* All edges from a queue of vertices: neighbours without a parent get one, and go to the
   next queue. */
static int expand(int V, int E, int size, const int32_t row[V + 1], const int32_t col[E], int32_t parent[V], const int32_t queue[V], int32_t next[V], int32_t tail[1])
{
	tail[0] = 0;
#pragma omp parallel for schedule(dynamic, 1)
	for (int b = 0; b < (size + 31) / 32; b++) {
		int32_t found[64];
		int n = 0;
		int end = 32 * b + 32 < size ? 32 * b + 32 : size;
		for (int i = 32 * b; i < end; i++) {
			int u = queue[i], first = row[u], last = row[u + 1];
			for (int e = first; e < last; e++) {
				int v = col[e];
				if (__atomic_load_n(&parent[v], __ATOMIC_RELAXED) < 0 && __sync_bool_compare_and_swap(&parent[v], -1, u)) {
					found[n++] = v;
					if (n == 64) {
						flush(64, found, next, tail);
						n = 0;
					}
				}
			}
		}
		if (n > 0)
			flush(n, found, next, tail);
	}
	return tail[0];
}

/* Breadth-first search (GAP), top-down: the parent of each vertex that there is a way to
   from the source, -1 for the others. row and col are the edges from each vertex. */
void bfs_push(int V, int E, int source, const int32_t row[V + 1], const int32_t col[E], int32_t parent[V], int32_t queue[V], int32_t next[V], int32_t tail[1])
{
	inf_array(row, V + 1);
	inf_array(col, E);
	inf_array(parent, V);
	inf_array(queue, V);
	inf_array(next, V);
	inf_array(tail, 1);
#pragma omp parallel for
	for (int v = 0; v < V; v++)
		parent[v] = -1;
	parent[source] = source;
	queue[0] = source;
	int size = 1;
	while (size > 0) {
		size = expand(V, E, size, row, col, parent, queue, next, tail);
		if (size > 0)
			size = expand(V, E, size, row, col, parent, next, queue, tail);
	}
}
