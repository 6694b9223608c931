#include "bitsched.h"

void missing(int N, float A[N], float B[N])
{
	inf_array(A, N);
#pragma bitsched region
	for (int i = 0; i < N; i++)
		B[i] = A[i];
}
