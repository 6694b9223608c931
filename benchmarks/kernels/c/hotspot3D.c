#include "bitsched.h"

static float cell(int L, int N, int M, int z, int above, int below, int i, int up, int down, int j, int left, int right,
	float cc, float cx, float cy, float cz, float k, float amb, const float A[L][N][M], const float P[L][N][M])
{
	return cc * A[z][i][j] + cy * A[z][up][j] + cy * A[z][down][j] + cx * A[z][i][right] + cx * A[z][i][left]
		+ cz * A[above][i][j] + cz * A[below][i][j] + k * P[z][i][j] + cz * amb;
}

static void step(int L, int N, int M, float cc, float cx, float cy, float cz, float k, float amb, const float A[L][N][M], const float P[L][N][M], float B[L][N][M])
{
#pragma omp parallel for
	for (int i = 0; i < N; i++) {
		int up = i > 0 ? i - 1 : 0, down = i < N - 1 ? i + 1 : N - 1;
		for (int z = 0; z < L; z++) {
			int above = z < L - 1 ? z + 1 : L - 1, below = z > 0 ? z - 1 : 0;
			B[z][i][0] = cell(L, N, M, z, above, below, i, up, down, 0, 0, 1, cc, cx, cy, cz, k, amb, A, P);
			for (int j = 1; j < M - 1; j++)
				B[z][i][j] = cell(L, N, M, z, above, below, i, up, down, j, j - 1, j + 1, cc, cx, cy, cz, k, amb, A, P);
			B[z][i][M - 1] = cell(L, N, M, z, above, below, i, up, down, M - 1, M - 2, M - 1, cc, cx, cy, cz, k, amb, A, P);
		}
	}
}

/* Hotspot in three dimensions (Rodinia): temperatures A of L layers of N x M cells with
   power P after T steps. Cells outside are as warm as those of the border. T is even. */
void hotspot3D(int L, int N, int M, int T, float cc, float cx, float cy, float cz, float k, float amb, float A[restrict L][N][M], const float P[restrict L][N][M], float B[restrict L][N][M])
{
	inf_array(A, L, N, M);
	inf_array(P, L, N, M);
	inf_array(B, L, N, M);
	for (int t = 0; t < T; t += 2) {
		step(L, N, M, cc, cx, cy, cz, k, amb, A, P, B);
		step(L, N, M, cc, cx, cy, cz, k, amb, B, P, A);
	}
}
