#include "pointnet.h"

/* PointNet++ with multi-scale grouping: set abstractions of three radii side by side (SA4 to
   SA6, then SA7 to SA9 of table 4 of Infinity Stream), which share their centroids and whose
   features lie apart up to SA9, are put together behind, then SA3 and three fully-connected layers.
   SA6 has two batches of H6 = K1 / 2 centroids, one after the other in the same arrays. Layers of SA4
   to SA9 are regions. */
void pointnet_msg(int P, int D, int K1, int N4, int A4, int B4, int C4, int N5, int A5, int B5, int C5, int N6, int H6, int A6, int B6, int C6, int K2, int N7, int A7, int B7,
	int C7, int N8, int A8, int B8, int C8, int N9, int A9, int B9, int C9, int N3, int A3, int B3, int C3, int F1, int F2, int F3,
	const float x[restrict P], const float y[restrict P], const float z[restrict P], const float F[restrict P][D], float dist1[restrict P],
	float x1[restrict K1], float y1[restrict K1], float z1[restrict K1], float out4[restrict K1][C4], float out5[restrict K1][C5], float out6[restrict K1][C6], int32_t near4[restrict K1 * N4],
	float G4[restrict K1 * N4][D], const float W4a[restrict D][A4], float Y4a[restrict K1 * N4][A4], const float W4b[restrict A4][B4],
	float Y4b[restrict K1 * N4][B4], const float W4c[restrict B4][C4], float Y4c[restrict K1 * N4][C4], int32_t near5[restrict K1 * N5],
	float G5[restrict K1 * N5][D], const float W5a[restrict D][A5], float Y5a[restrict K1 * N5][A5], const float W5b[restrict A5][B5],
	float Y5b[restrict K1 * N5][B5], const float W5c[restrict B5][C5], float Y5c[restrict K1 * N5][C5], int32_t near6[restrict K1 * N6],
	float G6[restrict H6 * N6][D], const float W6a[restrict D][A6], float Y6a[restrict H6 * N6][A6], const float W6b[restrict A6][B6],
	float Y6b[restrict H6 * N6][B6], const float W6c[restrict B6][C6], float Y6c[restrict H6 * N6][C6], float dist2[restrict K1], float x2[restrict K2],
	float y2[restrict K2], float z2[restrict K2], float out2[restrict K2][C7 + C8 + C9], int32_t near7[restrict K2 * N7],
	float G7_4[restrict K2 * N7][C4], float G7_5[restrict K2 * N7][C5], float G7_6[restrict K2 * N7][C6], const float W7a[restrict C4 + C5 + C6][A7], float Y7a[restrict K2 * N7][A7], const float W7b[restrict A7][B7],
	float Y7b[restrict K2 * N7][B7], const float W7c[restrict B7][C7], float Y7c[restrict K2 * N7][C7], int32_t near8[restrict K2 * N8],
	float G8_4[restrict K2 * N8][C4], float G8_5[restrict K2 * N8][C5], float G8_6[restrict K2 * N8][C6], const float W8a[restrict C4 + C5 + C6][A8], float Y8a[restrict K2 * N8][A8], const float W8b[restrict A8][B8],
	float Y8b[restrict K2 * N8][B8], const float W8c[restrict B8][C8], float Y8c[restrict K2 * N8][C8], int32_t near9[restrict K2 * N9],
	float G9_4[restrict K2 * N9][C4], float G9_5[restrict K2 * N9][C5], float G9_6[restrict K2 * N9][C6], const float W9a[restrict C4 + C5 + C6][A9], float Y9a[restrict K2 * N9][A9], const float W9b[restrict A9][B9],
	float Y9b[restrict K2 * N9][B9], const float W9c[restrict B9][C9], float Y9c[restrict K2 * N9][C9], float dist3[restrict K2], float x3[restrict 1],
	float y3[restrict 1], float z3[restrict 1], float out3[restrict 1][C3], int32_t near3[restrict N3], float G3[restrict N3][C7 + C8 + C9],
	const float W3a[restrict A3][C7 + C8 + C9], float Y3a[restrict N3][A3], const float W3b[restrict B3][A3], float Y3b[restrict N3][B3],
	const float W3c[restrict C3][B3], float Y3c[restrict N3][C3], const float V1[restrict F1][C3], float fc1[restrict 1][F1],
	const float V2[restrict F2][F1], float fc2[restrict 1][F2], const float V3[restrict F3][F2], float score[restrict 1][F3])
{
	inf_array(x, P);
	inf_array(y, P);
	inf_array(z, P);
	inf_array(F, P, D);
	inf_array(dist1, P);
	inf_array(x1, K1);
	inf_array(y1, K1);
	inf_array(z1, K1);
	inf_array(out4, K1, C4);
	inf_array(out5, K1, C5);
	inf_array(out6, K1, C6);
	inf_array(near4, K1 * N4);
	inf_array(G4, K1 * N4, D);
	inf_array(W4a, D, A4);
	inf_array(Y4a, K1 * N4, A4);
	inf_array(W4b, A4, B4);
	inf_array(Y4b, K1 * N4, B4);
	inf_array(W4c, B4, C4);
	inf_array(Y4c, K1 * N4, C4);
	inf_array(near5, K1 * N5);
	inf_array(G5, K1 * N5, D);
	inf_array(W5a, D, A5);
	inf_array(Y5a, K1 * N5, A5);
	inf_array(W5b, A5, B5);
	inf_array(Y5b, K1 * N5, B5);
	inf_array(W5c, B5, C5);
	inf_array(Y5c, K1 * N5, C5);
	inf_array(near6, K1 * N6);
	inf_array(G6, H6 * N6, D);
	inf_array(W6a, D, A6);
	inf_array(Y6a, H6 * N6, A6);
	inf_array(W6b, A6, B6);
	inf_array(Y6b, H6 * N6, B6);
	inf_array(W6c, B6, C6);
	inf_array(Y6c, H6 * N6, C6);
	inf_array(dist2, K1);
	inf_array(x2, K2);
	inf_array(y2, K2);
	inf_array(z2, K2);
	inf_array(out2, K2, C7 + C8 + C9);
	inf_array(near7, K2 * N7);
	inf_array(G7_4, K2 * N7, C4);
	inf_array(G7_5, K2 * N7, C5);
	inf_array(G7_6, K2 * N7, C6);
	inf_array(W7a, C4 + C5 + C6, A7);
	inf_array(Y7a, K2 * N7, A7);
	inf_array(W7b, A7, B7);
	inf_array(Y7b, K2 * N7, B7);
	inf_array(W7c, B7, C7);
	inf_array(Y7c, K2 * N7, C7);
	inf_array(near8, K2 * N8);
	inf_array(G8_4, K2 * N8, C4);
	inf_array(G8_5, K2 * N8, C5);
	inf_array(G8_6, K2 * N8, C6);
	inf_array(W8a, C4 + C5 + C6, A8);
	inf_array(Y8a, K2 * N8, A8);
	inf_array(W8b, A8, B8);
	inf_array(Y8b, K2 * N8, B8);
	inf_array(W8c, B8, C8);
	inf_array(Y8c, K2 * N8, C8);
	inf_array(near9, K2 * N9);
	inf_array(G9_4, K2 * N9, C4);
	inf_array(G9_5, K2 * N9, C5);
	inf_array(G9_6, K2 * N9, C6);
	inf_array(W9a, C4 + C5 + C6, A9);
	inf_array(Y9a, K2 * N9, A9);
	inf_array(W9b, A9, B9);
	inf_array(Y9b, K2 * N9, B9);
	inf_array(W9c, B9, C9);
	inf_array(Y9c, K2 * N9, C9);
	inf_array(dist3, K2);
	inf_array(x3, 1);
	inf_array(y3, 1);
	inf_array(z3, 1);
	inf_array(out3, 1, C3);
	inf_array(near3, N3);
	inf_array(G3, N3, C7 + C8 + C9);
	inf_array(W3a, A3, C7 + C8 + C9);
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
	query(P, K1, N4, 0.1f, x, y, z, x1, y1, z1, near4);
	gather(P, K1 * N4, K1 * N4, D, 0, F, near4, G4);
	layer(K1 * N4, D, A4, G4, W4a, Y4a);
	layer(K1 * N4, A4, B4, Y4a, W4b, Y4b);
	layer(K1 * N4, B4, C4, Y4b, W4c, Y4c);
	aggregate(K1, N4, C4, K1, C4, 0, 0, Y4c, out4);
	query(P, K1, N5, 0.2f, x, y, z, x1, y1, z1, near5);
	gather(P, K1 * N5, K1 * N5, D, 0, F, near5, G5);
	layer(K1 * N5, D, A5, G5, W5a, Y5a);
	layer(K1 * N5, A5, B5, Y5a, W5b, Y5b);
	layer(K1 * N5, B5, C5, Y5b, W5c, Y5c);
	aggregate(K1, N5, C5, K1, C5, 0, 0, Y5c, out5);
	query(P, K1, N6, 0.4f, x, y, z, x1, y1, z1, near6);
	gather(P, K1 * N6, H6 * N6, D, 0, F, near6, G6);
	layer(H6 * N6, D, A6, G6, W6a, Y6a);
	layer(H6 * N6, A6, B6, Y6a, W6b, Y6b);
	layer(H6 * N6, B6, C6, Y6b, W6c, Y6c);
	aggregate(H6, N6, C6, K1, C6, 0, 0, Y6c, out6);
	gather(P, K1 * N6, H6 * N6, D, H6 * N6, F, near6, G6);
	layer(H6 * N6, D, A6, G6, W6a, Y6a);
	layer(H6 * N6, A6, B6, Y6a, W6b, Y6b);
	layer(H6 * N6, B6, C6, Y6b, W6c, Y6c);
	aggregate(H6, N6, C6, K1, C6, H6, 0, Y6c, out6);
	sample(K1, K2, x1, y1, z1, dist2, x2, y2, z2);
	query(K1, K2, N7, 0.2f, x1, y1, z1, x2, y2, z2, near7);
	gather(K1, K2 * N7, K2 * N7, C4, 0, out4, near7, G7_4);
	gather(K1, K2 * N7, K2 * N7, C5, 0, out5, near7, G7_5);
	gather(K1, K2 * N7, K2 * N7, C6, 0, out6, near7, G7_6);
	layer_three(K2 * N7, C4, C5, C6, A7, G7_4, G7_5, G7_6, W7a, Y7a);
	layer_blocks(K2 * N7, A7, B7, Y7a, W7b, Y7b);
	layer_blocks(K2 * N7, B7, C7, Y7b, W7c, Y7c);
	aggregate(K2, N7, C7, K2, C7 + C8 + C9, 0, 0, Y7c, out2);
	query(K1, K2, N8, 0.4f, x1, y1, z1, x2, y2, z2, near8);
	gather(K1, K2 * N8, K2 * N8, C4, 0, out4, near8, G8_4);
	gather(K1, K2 * N8, K2 * N8, C5, 0, out5, near8, G8_5);
	gather(K1, K2 * N8, K2 * N8, C6, 0, out6, near8, G8_6);
	layer_three(K2 * N8, C4, C5, C6, A8, G8_4, G8_5, G8_6, W8a, Y8a);
	layer_blocks(K2 * N8, A8, B8, Y8a, W8b, Y8b);
	layer_blocks(K2 * N8, B8, C8, Y8b, W8c, Y8c);
	aggregate(K2, N8, C8, K2, C7 + C8 + C9, 0, C7, Y8c, out2);
	query(K1, K2, N9, 0.8f, x1, y1, z1, x2, y2, z2, near9);
	gather(K1, K2 * N9, K2 * N9, C4, 0, out4, near9, G9_4);
	gather(K1, K2 * N9, K2 * N9, C5, 0, out5, near9, G9_5);
	gather(K1, K2 * N9, K2 * N9, C6, 0, out6, near9, G9_6);
	layer_three(K2 * N9, C4, C5, C6, A9, G9_4, G9_5, G9_6, W9a, Y9a);
	layer_blocks(K2 * N9, A9, B9, Y9a, W9b, Y9b);
	layer_blocks(K2 * N9, B9, C9, Y9b, W9c, Y9c);
	aggregate(K2, N9, C9, K2, C7 + C8 + C9, 0, C7 + C8, Y9c, out2);
	sample(K2, 1, x2, y2, z2, dist3, x3, y3, z3);
	query(K2, 1, N3, INFINITY, x2, y2, z2, x3, y3, z3, near3);
	gather(K2, N3, N3, C7 + C8 + C9, 0, out2, near3, G3);
	layer_results(N3, C7 + C8 + C9, A3, G3, W3a, Y3a);
	layer_results(N3, A3, B3, Y3a, W3b, Y3b);
	layer_results(N3, B3, C3, Y3b, W3c, Y3c);
	aggregate_one(N3, C3, Y3c, out3);
	connect(C3, F1, 1, out3, V1, fc1);
	connect(F1, F2, 1, fc1, V2, fc2);
	connect(F2, F3, 0, fc2, V3, score);
}
