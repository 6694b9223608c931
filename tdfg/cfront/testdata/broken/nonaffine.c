#include "bitsched.h"

void nonaffine(int N, const int32_t len[N], float A[N][N])
{
	inf_array(len, N);
	inf_array(A, N, N);
#pragma bitsched region
	for (int i = 0; i < N; i++)
		for (int j = 0; j < len[i]; j++)
			A[i][j] = 0;
}
