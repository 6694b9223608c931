#include "bitsched.h"

void bounds(int N, float A[N], float B[4])
{
	inf_array(A, N);
	inf_array(B, 4);
#pragma bitsched region
	for (int i = 0; i < N; i++)
		A[i] = B[4];
}
