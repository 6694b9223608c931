#include "bitsched.h"

/* Stream clustering (Rodinia): for each of T candidates, whether making that point a
   centre saves more than it costs (z), and the points that are nearer to it then. Points
   P of 16 coordinates lie in another order than they are looked at. */
void scluster(int N, int T, float z, const float P[restrict N][16], const int32_t order[restrict N], const int32_t candidate[restrict T], float cost[restrict N], int32_t center[restrict N], float dist[restrict N], int32_t opened[restrict T])
{
	inf_array(P, N, 16);
	inf_array(order, N);
	inf_array(candidate, T);
	inf_array(cost, N);
	inf_array(center, N);
	inf_array(dist, N);
	inf_array(opened, T);
	for (int t = 0; t < T; t++) {
		int c = candidate[t];
		double saved = 0;
#pragma omp parallel for reduction(+: saved)
		for (int i = 0; i < N; i++) {
			int p = order[i];
			float d = 0;
#pragma omp simd reduction(+: d)
			for (int k = 0; k < 16; k++) {
				float x = P[p][k] - P[c][k];
				d += x * x;
			}
			dist[i] = d;
			if (d < cost[i])
				saved += cost[i] - d;
		}
		opened[t] = saved > z;
		if (saved > z) {
#pragma omp parallel for
			for (int i = 0; i < N; i++)
				if (dist[i] < cost[i]) {
					cost[i] = dist[i];
					center[i] = c;
				}
		}
	}
}
