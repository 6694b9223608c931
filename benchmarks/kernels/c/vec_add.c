#include "bitsched.h"

/* C = A + B */
void vec_add(int N, const float A[N], const float B[N], float C[N])
{
	inf_array(A, N);
	inf_array(B, N);
	inf_array(C, N);
#pragma bitsched region
#pragma omp parallel for
	for (int i = 0; i < N; i++)
		C[i] = A[i] + B[i];
}
