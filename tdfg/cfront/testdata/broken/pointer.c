#include "bitsched.h"

void pointer(int N, float A[N], float B[N])
{
	inf_array(A, N);
	inf_array(B, N);
#pragma bitsched region
	for (int i = 0; i < N; i++)
		*(B + i) = A[i];
}
