#include "bitsched.h"

void modulo(int N, float A[N])
{
	inf_array(A, N);
#pragma bitsched region
	for (int i = 0; i < N; i++)
		A[i] = A[i] % 2;
}
