#include "bitsched.h"
static int clamp(int x) { return x > 255 ? 255 : x; }
void k(int N, const uint8_t in[N][2*N], uint8_t out[N][2*N])
{
	inf_array(in, N, 2*N); inf_array(out, N, 2*N);
#pragma bitsched region
#pragma omp parallel for
	for (int y = 0; y < N; y++)
		for (int x = 0; x < 2*N; x++) {
			if (y == 0 || x == 0 || y == N-1 || x == 2*N-1)
				out[y][x] = 0;
			else {
				int gx = in[y-1][x+1] + 2*in[y][x+1] + in[y+1][x+1] - in[y-1][x-1] - 2*in[y][x-1] - in[y+1][x-1];
				int gy = in[y+1][x-1] + 2*in[y+1][x] + in[y+1][x+1] - in[y-1][x-1] - 2*in[y-1][x] - in[y-1][x+1];
				out[y][x] = clamp(abs(gx) + abs(gy));
			}
		}
}
