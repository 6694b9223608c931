#include "bitsched.h"

/* How many of N values have each of 256 keys, which are 8 bits of them: a histogram H for
   each of Q parts, then their sum. */
void histogram(int N, int Q, const uint32_t A[N], uint32_t L[Q][256], uint32_t H[256])
{
	inf_array(A, N);
	inf_array(L, Q, 256);
	inf_array(H, 256);
#pragma omp parallel for schedule(static)
	for (int q = 0; q < Q; q++) {
		for (int b = 0; b < 256; b++)
			L[q][b] = 0;
		int first = (int)((int64_t)N * q / Q), end = (int)((int64_t)N * (q + 1) / Q);
		for (int i = first; i < end; i++) {
			uint8_t key = (A[i] >> 12) & 255;
			L[q][key]++;
		}
	}
#pragma omp parallel for
	for (int b = 0; b < 256; b++) {
		uint32_t sum = 0;
		for (int q = 0; q < Q; q++)
			sum += L[q][b];
		H[b] = sum;
	}
}
