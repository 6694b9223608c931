#include "bitsched.h"
void k(int N, const float A[N][N], const float p[N], const float r[N], float s[N], float q[N])
{
	inf_array(A, N, N); inf_array(p, N); inf_array(r, N); inf_array(s, N); inf_array(q, N);
#pragma bitsched region reassociate
	{
		for (int i = 0; i < N; i++)
			s[i] = 0;
		for (int i = 0; i < N; i++) {
			q[i] = 0;
			for (int j = 0; j < N; j++) {
				s[j] = s[j] + r[i] * A[i][j];
				q[i] = q[i] + A[i][j] * p[j];
			}
		}
	}
}
