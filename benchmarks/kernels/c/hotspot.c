#include "bitsched.h"

static float cell(int N, int M, int i, int up, int down, int j, int left, int right, float k, float rx, float ry, float rz, float amb, const float A[N][M], const float P[N][M])
{
	float x = A[i][j];
	return x + k * (P[i][j] + (A[down][j] + A[up][j] - 2.0f * x) * ry + (A[i][right] + A[i][left] - 2.0f * x) * rx + (amb - x) * rz);
}

static void step(int N, int M, float k, float rx, float ry, float rz, float amb, const float A[N][M], const float P[N][M], float B[N][M])
{
#pragma omp parallel for
	for (int i = 0; i < N; i++) {
		int up = i > 0 ? i - 1 : 0, down = i < N - 1 ? i + 1 : N - 1;
		B[i][0] = cell(N, M, i, up, down, 0, 0, 1, k, rx, ry, rz, amb, A, P);
		for (int j = 1; j < M - 1; j++)
			B[i][j] = cell(N, M, i, up, down, j, j - 1, j + 1, k, rx, ry, rz, amb, A, P);
		B[i][M - 1] = cell(N, M, i, up, down, M - 1, M - 2, M - 1, k, rx, ry, rz, amb, A, P);
	}
}

/* Hotspot (Rodinia): temperatures A of a chip of N x M cells with power P after T steps.
   Cells outside are as warm as those of the border; k is the step over the capacity, rx,
   ry and rz are conductances, amb the temperature around. T is even. */
void hotspot(int N, int M, int T, float k, float rx, float ry, float rz, float amb, float A[restrict N][M], const float P[restrict N][M], float B[restrict N][M])
{
	inf_array(A, N, M);
	inf_array(P, N, M);
	inf_array(B, N, M);
	for (int t = 0; t < T; t += 2) {
		step(N, M, k, rx, ry, rz, amb, A, P, B);
		step(N, M, k, rx, ry, rz, amb, B, P, A);
	}
}
