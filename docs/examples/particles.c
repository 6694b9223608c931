#include <stdint.h>

/* Particles move, and are counted by the cell that they are in: for docs/streams.md. */
void particles(int n, int cells, float dt, const float v[n], float x[n], const int32_t cell[n], int32_t count[cells], float energy[1])
{
	float e = 0;
#pragma omp parallel for reduction(+: e)
	for (int i = 0; i < n; i++) {
		x[i] += dt * v[i];
		e += v[i] * v[i];
	}
#pragma omp parallel for
	for (int i = 0; i < n; i++) {
#pragma omp atomic
		count[cell[i]]++;
	}
	energy[0] = e;
}
