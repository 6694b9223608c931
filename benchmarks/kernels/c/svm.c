#include "bitsched.h"

/* Training of a linear support vector machine by sequential minimal optimisation (as in
   SVM-RFE of MineBench): T steps, each of which takes the two examples that violate the
   conditions most and changes their weights alpha, and the gradient G of all. Examples X
   of 16 features lie in another order than they are looked at; y is 1 or -1. */
void svm(int N, int T, float C, const float X[restrict N][16], const int32_t order[restrict N], const float y[restrict N], float G[restrict N], float alpha[restrict N])
{
	inf_array(X, N, 16);
	inf_array(order, N);
	inf_array(y, N);
	inf_array(G, N);
	inf_array(alpha, N);
	for (int t = 0; t < T; t++) {
		float up = -INFINITY, low = INFINITY;
#pragma omp parallel for reduction(max: up) reduction(min: low)
		for (int i = 0; i < N; i++) {
			float v = -y[i] * G[i];
			if (y[i] > 0 ? alpha[i] < C : alpha[i] > 0)
				up = v > up ? v : up;
			if (y[i] > 0 ? alpha[i] > 0 : alpha[i] < C)
				low = v < low ? v : low;
		}
		int a = N, b = N;
#pragma omp parallel for reduction(min: a, b)
		for (int i = 0; i < N; i++) {
			float v = -y[i] * G[i];
			if (v == up && (y[i] > 0 ? alpha[i] < C : alpha[i] > 0))
				a = i < a ? i : a;
			if (v == low && (y[i] > 0 ? alpha[i] > 0 : alpha[i] < C))
				b = i < b ? i : b;
		}
		if (a == N || b == N || up <= low)
			return;
		int p = order[a], q = order[b];
		float eta = 0;
		for (int k = 0; k < 16; k++) {
			float x = X[p][k] - X[q][k];
			eta += x * x;
		}
		float step = (up - low) / (eta < 1e-6f ? 1e-6f : eta);
		float most = y[a] > 0 ? C - alpha[a] : alpha[a], least = y[b] > 0 ? alpha[b] : C - alpha[b];
		step = most < step ? most : step;
		step = least < step ? least : step;
		alpha[a] += y[a] * step;
		alpha[b] -= y[b] * step;
#pragma omp parallel for
		for (int i = 0; i < N; i++) {
			int r = order[i];
			float dot = 0;
#pragma omp simd reduction(+: dot)
			for (int k = 0; k < 16; k++)
				dot += X[r][k] * (X[p][k] - X[q][k]);
			G[i] += y[i] * (step * dot);
		}
	}
}
