#include "bitsched.h"

void jump(int N, float A[N])
{
	inf_array(A, N);
#pragma bitsched region
	for (int i = 0; i < N; i++) {
		if (A[i] < 0)
			goto done;
		A[i] = 1;
	}
done:
	return;
}
