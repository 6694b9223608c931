#include "pointnet.h"

/* PointNet++ with single-scale grouping: three set abstractions (SA1, SA2, SA3 of table 4 of
   Infinity Stream), each of the centroids of the one before, then three fully-connected
   layers, for the scores of F3 classes. Layers of the first two are regions. */
void pointnet_ssg(int P, int D, int K1, int N1, int A1, int B1, int C1, int K2, int N2, int A2, int B2, int C2, int N3, int A3, int B3, int C3, int F1, int F2, int F3,
	const float x[restrict P], const float y[restrict P], const float z[restrict P], const float F[restrict P][D], float dist1[restrict P],
	float x1[restrict K1], float y1[restrict K1], float z1[restrict K1], float out1[restrict K1][C1], int32_t near1[restrict K1 * N1],
	float G1[restrict K1 * N1][D], const float W1a[restrict D][A1], float Y1a[restrict K1 * N1][A1], const float W1b[restrict A1][B1],
	float Y1b[restrict K1 * N1][B1], const float W1c[restrict B1][C1], float Y1c[restrict K1 * N1][C1], float dist2[restrict K1], float x2[restrict K2],
	float y2[restrict K2], float z2[restrict K2], float out2[restrict K2][C2], int32_t near2[restrict K2 * N2], float G2[restrict K2 * N2][C1],
	const float W2a[restrict C1][A2], float Y2a[restrict K2 * N2][A2], const float W2b[restrict A2][B2], float Y2b[restrict K2 * N2][B2],
	const float W2c[restrict B2][C2], float Y2c[restrict K2 * N2][C2], float dist3[restrict K2], float x3[restrict 1], float y3[restrict 1],
	float z3[restrict 1], float out3[restrict 1][C3], int32_t near3[restrict N3], float G3[restrict N3][C2], const float W3a[restrict A3][C2],
	float Y3a[restrict N3][A3], const float W3b[restrict B3][A3], float Y3b[restrict N3][B3], const float W3c[restrict C3][B3], float Y3c[restrict N3][C3],
	 const float V1[restrict F1][C3], float fc1[restrict 1][F1], const float V2[restrict F2][F1], float fc2[restrict 1][F2],
	const float V3[restrict F3][F2], float score[restrict 1][F3])
{
	inf_array(x, P);
	inf_array(y, P);
	inf_array(z, P);
	inf_array(F, P, D);
	inf_array(dist1, P);
	inf_array(x1, K1);
	inf_array(y1, K1);
	inf_array(z1, K1);
	inf_array(out1, K1, C1);
	inf_array(near1, K1 * N1);
	inf_array(G1, K1 * N1, D);
	inf_array(W1a, D, A1);
	inf_array(Y1a, K1 * N1, A1);
	inf_array(W1b, A1, B1);
	inf_array(Y1b, K1 * N1, B1);
	inf_array(W1c, B1, C1);
	inf_array(Y1c, K1 * N1, C1);
	inf_array(dist2, K1);
	inf_array(x2, K2);
	inf_array(y2, K2);
	inf_array(z2, K2);
	inf_array(out2, K2, C2);
	inf_array(near2, K2 * N2);
	inf_array(G2, K2 * N2, C1);
	inf_array(W2a, C1, A2);
	inf_array(Y2a, K2 * N2, A2);
	inf_array(W2b, A2, B2);
	inf_array(Y2b, K2 * N2, B2);
	inf_array(W2c, B2, C2);
	inf_array(Y2c, K2 * N2, C2);
	inf_array(dist3, K2);
	inf_array(x3, 1);
	inf_array(y3, 1);
	inf_array(z3, 1);
	inf_array(out3, 1, C3);
	inf_array(near3, N3);
	inf_array(G3, N3, C2);
	inf_array(W3a, A3, C2);
	inf_array(Y3a, N3, A3);
	inf_array(W3b, B3, A3);
	inf_array(Y3b, N3, B3);
	inf_array(W3c, C3, B3);
	inf_array(Y3c, N3, C3);
	inf_array(V1, F1, C3);
	inf_array(fc1, 1, F1);
	inf_array(V2, F2, F1);
	inf_array(fc2, 1, F2);
	inf_array(V3, F3, F2);
	inf_array(score, 1, F3);
	sample(P, K1, x, y, z, dist1, x1, y1, z1);
	query(P, K1, N1, 0.2f, x, y, z, x1, y1, z1, near1);
	gather(P, K1 * N1, K1 * N1, D, 0, F, near1, G1);
	layer(K1 * N1, D, A1, G1, W1a, Y1a);
	layer(K1 * N1, A1, B1, Y1a, W1b, Y1b);
	layer(K1 * N1, B1, C1, Y1b, W1c, Y1c);
	aggregate(K1, N1, C1, K1, C1, 0, 0, Y1c, out1);
	sample(K1, K2, x1, y1, z1, dist2, x2, y2, z2);
	query(K1, K2, N2, 0.4f, x1, y1, z1, x2, y2, z2, near2);
	gather(K1, K2 * N2, K2 * N2, C1, 0, out1, near2, G2);
	layer_blocks(K2 * N2, C1, A2, G2, W2a, Y2a);
	layer_blocks(K2 * N2, A2, B2, Y2a, W2b, Y2b);
	layer_blocks(K2 * N2, B2, C2, Y2b, W2c, Y2c);
	aggregate(K2, N2, C2, K2, C2, 0, 0, Y2c, out2);
	sample(K2, 1, x2, y2, z2, dist3, x3, y3, z3);
	query(K2, 1, N3, INFINITY, x2, y2, z2, x3, y3, z3, near3);
	gather(K2, N3, N3, C2, 0, out2, near3, G3);
	layer_results(N3, C2, A3, G3, W3a, Y3a);
	layer_results(N3, A3, B3, Y3a, W3b, Y3b);
	layer_results(N3, B3, C3, Y3b, W3c, Y3c);
	aggregate_one(N3, C3, Y3c, out3);
	connect(C3, F1, 1, out3, V1, fc1);
	connect(F1, F2, 1, fc1, V2, fc2);
	connect(F2, F3, 0, fc2, V3, score);
}
