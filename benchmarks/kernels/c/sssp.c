#include "bitsched.h"

typedef struct edge {
	int32_t to, weight;
} edge;

/* Appends what a thread has found to a queue. */
static void flush(int n, const int32_t *found, int32_t *queue, int32_t *tail)
{
	int at = __atomic_fetch_add(&tail[0], n, __ATOMIC_RELAXED);
	for (int k = 0; k < n; k++)
		queue[at + k] = found[k];
}

/* All edges from a queue of vertices: what comes nearer goes to the next queue if it is
   nearer than limit, and to the pile if not, each vertex once. */
static int relax(int V, int E, int size, int limit, const int32_t row[V + 1], const edge edges[E],
	int32_t dist[V], int32_t queued[V], int32_t piled[V], const int32_t queue[V], int32_t next[V], int32_t pile[V], int32_t *tail, int32_t *top)
{
#pragma omp parallel for
	for (int i = 0; i < size; i++)
		queued[queue[i]] = 0;
	tail[0] = 0;
#pragma omp parallel for schedule(dynamic, 1)
	for (int b = 0; b < (size + 31) / 32; b++) {
		int32_t near[64], far[64];
		int n = 0, f = 0;
		int end = 32 * b + 32 < size ? 32 * b + 32 : size;
		for (int i = 32 * b; i < end; i++) {
			int u = queue[i], first = row[u], last = row[u + 1];
			int from = __atomic_load_n(&dist[u], __ATOMIC_RELAXED);
			for (int e = first; e < last; e++) {
				int v = edges[e].to, d = from + edges[e].weight;
				if (d < inf_fetch_min(&dist[v], d)) {
					if (d < limit) {
						if (__atomic_exchange_n(&queued[v], 1, __ATOMIC_RELAXED) == 0) {
							near[n++] = v;
							if (n == 64) {
								flush(64, near, next, tail);
								n = 0;
							}
						}
					} else if (__atomic_exchange_n(&piled[v], 1, __ATOMIC_RELAXED) == 0) {
						far[f++] = v;
						if (f == 64) {
							flush(64, far, pile, top);
							f = 0;
						}
					}
				}
			}
		}
		if (n > 0)
			flush(n, near, next, tail);
		if (f > 0)
			flush(f, far, pile, top);
	}
	return tail[0];
}

/* Shortest ways from a source (GAP), by delta stepping with a near queue and a far pile:
   vertices that are less than limit away are gone through until none comes nearer, then
   limit grows by D. row and edges are the edges from each vertex, with weights of at
   least 1; dist is 2^30 where there is no way. */
void sssp(int V, int E, int D, int source, const int32_t row[V + 1], const edge edges[E],
	int32_t dist[V], int32_t queued[V], int32_t piled[V], int32_t queue[V], int32_t next[V], int32_t pile[V], int32_t rest[V], int32_t tail[1], int32_t top[1])
{
	inf_array(row, V + 1);
	inf_array(edges, E);
	inf_array(dist, V);
	inf_array(queued, V);
	inf_array(piled, V);
	inf_array(queue, V);
	inf_array(next, V);
	inf_array(pile, V);
	inf_array(rest, V);
	inf_array(tail, 1);
	inf_array(top, 1);
#pragma omp parallel for
	for (int v = 0; v < V; v++) {
		dist[v] = 1 << 30;
		queued[v] = 0;
		piled[v] = 0;
	}
	dist[source] = 0;
	queue[0] = source;
	top[0] = 0;
	int size = 1, limit = D;
	while (size > 0) {
		while (size > 0) {
			size = relax(V, E, size, limit, row, edges, dist, queued, piled, queue, next, pile, tail, top);
			if (size > 0)
				size = relax(V, E, size, limit, row, edges, dist, queued, piled, next, queue, pile, tail, top);
		}
		/* The pile is gone through until some of it is near. */
		while (size == 0 && top[0] > 0) {
			int far = top[0];
			int past = limit;
			limit += D;
			tail[0] = 0;
			top[0] = 0;
#pragma omp parallel for
			for (int i = 0; i < far; i++) {
				int v = pile[i];
				rest[i] = v;
				piled[v] = 0;
			}
#pragma omp parallel for schedule(dynamic, 64)
			for (int i = 0; i < far; i++) {
				int v = rest[i];
				if (dist[v] >= limit) {
					piled[v] = 1;
					int at = __atomic_fetch_add(&top[0], 1, __ATOMIC_RELAXED);
					pile[at] = v;
				} else if (dist[v] >= past) {
					queued[v] = 1;
					int at = __atomic_fetch_add(&tail[0], 1, __ATOMIC_RELAXED);
					queue[at] = v;
				}
			}
			size = tail[0];
		}
	}
}
