#include "bitsched.h"

/* The diffusion coefficient of a pixel, and its differences to its neighbours. */
static void coefficient(int N, int M, int i, int up, int down, int j, int left, int right, float q0, const float J[N][M],
	float dN[N][M], float dS[N][M], float dW[N][M], float dE[N][M], float C[N][M])
{
	float x = J[i][j];
	float n = J[up][j] - x, s = J[down][j] - x, w = J[i][left] - x, e = J[i][right] - x;
	float g2 = (n * n + s * s + w * w + e * e) / (x * x);
	float l = (n + s + w + e) / x;
	float num = 0.5f * g2 - 0.0625f * (l * l);
	float den = 1.0f + 0.25f * l;
	float q = num / (den * den);
	float c = 1.0f / (1.0f + (q - q0) / (q0 * (1.0f + q0)));
	dN[i][j] = n;
	dS[i][j] = s;
	dW[i][j] = w;
	dE[i][j] = e;
	C[i][j] = c < 0.0f ? 0.0f : c > 1.0f ? 1.0f : c;
}

static void update(int N, int M, int i, int down, int j, int right, float lambda, float J[N][M],
	const float dN[N][M], const float dS[N][M], const float dW[N][M], const float dE[N][M], const float C[N][M])
{
	float d = C[i][j] * dN[i][j] + C[down][j] * dS[i][j] + C[i][j] * dW[i][j] + C[i][right] * dE[i][j];
	J[i][j] = J[i][j] + 0.25f * lambda * d;
}

/* Speckle-reducing anisotropic diffusion (SRAD of Rodinia): T steps on an image J of
   N x M. Outside of the image pixels are those of its border. Sums of rows are added in
   their order, so that threads do not change the result. */
void srad(int N, int M, int T, float lambda, float J[restrict N][M], float C[restrict N][M], float dN[restrict N][M], float dS[restrict N][M], float dW[restrict N][M], float dE[restrict N][M], float S[restrict N], float S2[restrict N])
{
	inf_array(J, N, M);
	inf_array(C, N, M);
	inf_array(dN, N, M);
	inf_array(dS, N, M);
	inf_array(dW, N, M);
	inf_array(dE, N, M);
	inf_array(S, N);
	inf_array(S2, N);
	for (int t = 0; t < T; t++) {
#pragma omp parallel for
		for (int i = 0; i < N; i++) {
			float s = 0, s2 = 0;
#pragma omp simd reduction(+: s, s2)
			for (int j = 0; j < M; j++) {
				s += J[i][j];
				s2 += J[i][j] * J[i][j];
			}
			S[i] = s;
			S2[i] = s2;
		}
		float sum = 0, sum2 = 0;
		for (int i = 0; i < N; i++) {
			sum += S[i];
			sum2 += S2[i];
		}
		float mean = sum / ((float)N * M);
		float var = sum2 / ((float)N * M) - mean * mean;
		float q0 = var / (mean * mean);
#pragma omp parallel for
		for (int i = 0; i < N; i++) {
			int up = i > 0 ? i - 1 : 0, down = i < N - 1 ? i + 1 : N - 1;
			coefficient(N, M, i, up, down, 0, 0, 1, q0, J, dN, dS, dW, dE, C);
			for (int j = 1; j < M - 1; j++)
				coefficient(N, M, i, up, down, j, j - 1, j + 1, q0, J, dN, dS, dW, dE, C);
			coefficient(N, M, i, up, down, M - 1, M - 2, M - 1, q0, J, dN, dS, dW, dE, C);
		}
#pragma omp parallel for
		for (int i = 0; i < N; i++) {
			int down = i < N - 1 ? i + 1 : N - 1;
			for (int j = 0; j < M - 1; j++)
				update(N, M, i, down, j, j + 1, lambda, J, dN, dS, dW, dE, C);
			update(N, M, i, down, M - 1, M - 1, lambda, J, dN, dS, dW, dE, C);
		}
	}
}
