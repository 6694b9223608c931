#include "bitsched.h"
void k(int N, const float A[N][N], const float p[N], const float r[N], float s[N], float q[N])
{
	inf_array(A, N, N); inf_array(p, N); inf_array(r, N); inf_array(s, N); inf_array(q, N);
#pragma bitsched region reassociate
	{
#pragma omp parallel for
		for (int j = 0; j < N; j++) {
			s[j] = 0;
			for (int i = 0; i < N; i++)
				s[j] = s[j] + r[i] * A[i][j];
		}
#pragma omp parallel for
		for (int i = 0; i < N; i++) {
			q[i] = 0;
			for (int j = 0; j < N; j++)
				q[i] = q[i] + A[i][j] * p[j];
		}
	}
}
