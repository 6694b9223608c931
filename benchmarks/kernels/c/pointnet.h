#include "bitsched.h"

/* The stages of PointNet++ (Qi et al., NIPS 2017), as Infinity Stream divides it (section 8,
   table 4). Coordinates of points lie apart; rows of features are as long as the first layer
   takes. */

/* Furthest point sampling: C of P points, each the one that is furthest from those before,
   the first of equals; the first point is the first centroid. One thread, SIMD: a round has
   too little work to share out. */
static void sample(int P, int C, const float x[P], const float y[P], const float z[P], float dist[P], float cx[C], float cy[C], float cz[C])
{
	for (int p = 0; p < P; p++)
		dist[p] = INFINITY;
	int next = 0;
	for (int c = 0; c < C; c++) {
		float px = x[next], py = y[next], pz = z[next];
		cx[c] = px;
		cy[c] = py;
		cz[c] = pz;
		float most = -1;
#pragma omp simd reduction(max: most)
		for (int p = 0; p < P; p++) {
			float dx = x[p] - px, dy = y[p] - py, dz = z[p] - pz;
			float d = dx * dx + dy * dy + dz * dz;
			float before = dist[p];
			d = d < before ? d : before;
			dist[p] = d;
			most = d > most ? d : most;
		}
		int at = P;
#pragma omp simd reduction(min: at)
		for (int p = 0; p < P; p++)
			if (dist[p] == most)
				at = p < at ? p : at;
		next = at;
	}
}

/* Ball query: the first N points that are nearer than r to each of C centroids; the first of
   them again where there are fewer. */
static void query(int P, int C, int N, float r, const float x[P], const float y[P], const float z[P], const float cx[C], const float cy[C], const float cz[C], int32_t near[C * N])
{
	float limit = r * r;
#pragma omp parallel for
	for (int c = 0; c < C; c++) {
		float px = cx[c], py = cy[c], pz = cz[c];
		float dist[P];
		for (int p = 0; p < P; p++) {
			float dx = x[p] - px, dy = y[p] - py, dz = z[p] - pz;
			dist[p] = dx * dx + dy * dy + dz * dz;
		}
		int found = 0;
		for (int p = 0; p < P && found < N; p++)
			if (dist[p] < limit) {
				near[c * N + found] = p;
				found++;
			}
		for (int i = found; i < N; i++)
			near[c * N + i] = near[c * N];
	}
}

/* The features of neighbours: a row for each of M, from one of T on. */
static void gather(int P, int T, int M, int D, int from, const float F[P][D], const int32_t near[T], float G[M][D])
{
#pragma omp parallel for
	for (int m = 0; m < M; m++) {
		int p = near[from + m];
		for (int d = 0; d < D; d++)
			G[m][d] = F[p][d];
	}
}

/* A layer of a perceptron on M rows: Y = max(X * W, 0), by outer products. Threads share out
   rows; arrays compute all rows at once, and k after k. */
static void layer(int M, int K, int N, const float X[M][K], const float W[K][N], float Y[M][N])
{
#pragma bitsched region
#pragma omp parallel for
	for (int m = 0; m < M; m++) {
		for (int n = 0; n < N; n++)
			Y[m][n] = 0;
		for (int k = 0; k < K; k++)
			for (int n = 0; n < N; n++)
				Y[m][n] += X[m][k] * W[k][n];
		for (int n = 0; n < N; n++)
			Y[m][n] = fmaxf(Y[m][n], 0);
	}
}

/* The same where W is larger than a core's first cache: in blocks of 8 rows, a row of W is for
   all of them, as programs for cores are written (figure 8). For arrays the compiler undoes
   the blocks. M is a multiple of 8. */
static void layer_blocks(int M, int K, int N, const float X[M][K], const float W[K][N], float Y[M][N])
{
#pragma bitsched region
#pragma omp parallel for
	for (int b = 0; b < M / 8; b++) {
		for (int m = 8 * b; m < 8 * b + 8; m++)
			for (int n = 0; n < N; n++)
				Y[m][n] = 0;
		for (int k = 0; k < K; k++)
			for (int m = 8 * b; m < 8 * b + 8; m++)
				for (int n = 0; n < N; n++)
					Y[m][n] += X[m][k] * W[k][n];
		for (int m = 8 * b; m < 8 * b + 8; m++)
			for (int n = 0; n < N; n++)
				Y[m][n] = fmaxf(Y[m][n], 0);
	}
}

/* The same for features that lie apart, as three abstractions have left them: W has rows for those of
   X, then of Y, then of Z. */
static void layer_three(int M, int K, int L, int J, int N, const float X[M][K], const float Y[M][L], const float Z[M][J], const float W[K + L + J][N], float O[M][N])
{
#pragma bitsched region
#pragma omp parallel for
	for (int b = 0; b < M / 8; b++) {
		for (int m = 8 * b; m < 8 * b + 8; m++)
			for (int n = 0; n < N; n++)
				O[m][n] = 0;
		for (int k = 0; k < K; k++)
			for (int m = 8 * b; m < 8 * b + 8; m++)
				for (int n = 0; n < N; n++)
					O[m][n] += X[m][k] * W[k][n];
		for (int k = 0; k < L; k++)
			for (int m = 8 * b; m < 8 * b + 8; m++)
				for (int n = 0; n < N; n++)
					O[m][n] += Y[m][k] * W[K + k][n];
		for (int k = 0; k < J; k++)
			for (int m = 8 * b; m < 8 * b + 8; m++)
				for (int n = 0; n < N; n++)
					O[m][n] += Z[m][k] * W[K + L + k][n];
		for (int m = 8 * b; m < 8 * b + 8; m++)
			for (int n = 0; n < N; n++)
				O[m][n] = fmaxf(O[m][n], 0);
	}
}

/* The same for few rows and a large W, which has a row for each of N results: threads share out
   results, each with its part of W, by inner products as cores prefer (section 3.5). N is a
   multiple of 8. */
static void layer_results(int M, int K, int N, const float X[M][K], const float W[N][K], float Y[M][N])
{
#pragma omp parallel for
	for (int b = 0; b < N / 8; b++)
		for (int m = 0; m < M; m++)
			for (int n = 8 * b; n < 8 * b + 8; n++) {
				float sum = 0;
#pragma omp simd reduction(+: sum)
				for (int k = 0; k < K; k++)
					sum += X[m][k] * W[n][k];
				Y[m][n] = fmaxf(sum, 0);
			}
}

/* The greatest of each feature of N neighbours, for C centroids: a part of T rows of O, from one row and
   one column on. */
static void aggregate(int C, int N, int D, int T, int O, int from, int at, const float Y[C * N][D], float out[T][O])
{
#pragma omp parallel for
	for (int c = 0; c < C; c++) {
		for (int d = 0; d < D; d++)
			out[from + c][at + d] = Y[c * N][d];
		for (int i = 1; i < N; i++)
			for (int d = 0; d < D; d++)
				out[from + c][at + d] = fmaxf(out[from + c][at + d], Y[c * N + i][d]);
	}
}

/* The same for one centroid: threads share out features, a line of each row. D is a multiple of
   16. */
static void aggregate_one(int N, int D, const float Y[N][D], float out[1][D])
{
#pragma omp parallel for
	for (int b = 0; b < D / 16; b++) {
		for (int d = 16 * b; d < 16 * b + 16; d++)
			out[0][d] = Y[0][d];
		for (int i = 1; i < N; i++)
			for (int d = 16 * b; d < 16 * b + 16; d++)
				out[0][d] = fmaxf(out[0][d], Y[i][d]);
	}
}

/* A fully-connected layer of one vector, with a row of W for each of N results. */
static void connect(int K, int N, int relu, const float x[1][K], const float W[N][K], float y[1][N])
{
#pragma omp parallel for
	for (int n = 0; n < N; n++) {
		float sum = 0;
#pragma omp simd reduction(+: sum)
		for (int k = 0; k < K; k++)
			sum += W[n][k] * x[0][k];
		y[0][n] = relu > 0 ? fmaxf(sum, 0) : sum;
	}
}
