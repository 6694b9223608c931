#include "bitsched.h"

/* The sums of the even elements of a vector and a constant. */
void halves(int N, const int32_t A[2 * N], int32_t B[N])
{
	inf_array(A, 2 * N); inf_array(B, N);
#pragma bitsched region
#pragma omp parallel for
	for (int i = 0; i < N; i++)
		B[i] = A[2 * i] + 3;
}
