#include "bitsched.h"

/* S[0] = the sum of A; Infinity Stream, figure 4(b). */
void array_sum(int N, const float A[N], float S[1])
{
	inf_array(A, N);
	inf_array(S, 1);
#pragma bitsched region reassociate
	{
		float s = 0;
#pragma omp parallel for reduction(+: s)
		for (int i = 0; i < N; i++)
			s += A[i];
		S[0] = s;
	}
}
