#include "bitsched.h"
void k(int N, int D[N][N])
{
	inf_array(D, N, N);
#pragma bitsched region
	for (int k = 0; k < N; k++)
		for (int i = 0; i < N; i++)
			for (int j = 0; j < N; j++)
				D[i][j] = D[i][j] < D[i][k] + D[k][j] ? D[i][j] : D[i][k] + D[k][j];
}
