#include "bitsched.h"

/* A layer of convolutions of 3 x 3: I channels in, O channels out. The weights K
   have the input channel, the place in the filter and the output channel. */
void conv3d(int I, int O, int H, int W, const float A[restrict I][H][W], const float K[restrict I][9][O], float B[restrict O][H][W])
{
	inf_array(A, I, H, W);
	inf_array(K, I, 9, O);
	inf_array(B, O, H, W);
#pragma bitsched region
	{
#pragma omp parallel for
		for (int o = 0; o < O; o++)
			for (int y = 1; y < H - 1; y++)
				for (int x = 1; x < W - 1; x++)
					B[o][y][x] = 0;
		for (int i = 0; i < I; i++)
			for (int u = 0; u < 3; u++)
				for (int v = 0; v < 3; v++)
#pragma omp parallel for
					for (int o = 0; o < O; o++)
						for (int y = 1; y < H - 1; y++)
							for (int x = 1; x < W - 1; x++)
								B[o][y][x] += A[i][y + u - 1][x + v - 1] * K[i][3 * u + v][o];
	}
}
