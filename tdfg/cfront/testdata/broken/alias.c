#include "bitsched.h"

void alias(int N, float A[N])
{
	inf_array(A, N);
	float *B = A;
#pragma bitsched region
	for (int i = 1; i < N; i++)
		A[i] = B[i - 1];
}
