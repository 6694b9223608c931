#include "bitsched.h"

/* The product of two vectors, and one of them scaled by it. */
void dot(int N, const float A[N], const float B[N], float C[N], float S[1])
{
	inf_array(A, N); inf_array(B, N); inf_array(C, N); inf_array(S, 1);
	float s = 0;
#pragma omp parallel for reduction(+:s)
	for (int i = 0; i < N; i++)
		s += A[i] * B[i];
	S[0] = s;
#pragma omp parallel for
	for (int i = 0; i < N; i++)
		C[i] = A[i] * 0.5f;
}
