#include "bitsched.h"

/* A polynomial of 8-bit numbers modulo 256, T times: many operations for each byte. */
void horner(int N, int T, const uint8_t X[N], uint8_t Y[N])
{
	inf_array(X, N); inf_array(Y, N);
#pragma bitsched region
	for (int t = 0; t < T; t++)
#pragma omp parallel for
		for (int i = 0; i < N; i++)
			Y[i] = ((((X[i] + 3) * X[i] + 5) * X[i] + 7) * X[i] + Y[i]);
}
