#include "bitsched.h"
void k(int N, int D[N][N], int row[N], int col[N])
{
	inf_array(D, N, N); inf_array(row, N); inf_array(col, N);
#pragma bitsched region
	for (int k = 0; k < N; k++) {
		for (int j = 0; j < N; j++)
			row[j] = D[k][j];
		for (int i = 0; i < N; i++)
			col[i] = D[i][k];
#pragma omp parallel for
		for (int i = 0; i < N; i++)
			for (int j = 0; j < N; j++)
				D[i][j] = D[i][j] < col[i] + row[j] ? D[i][j] : col[i] + row[j];
	}
}
