#include "bitsched.h"

/* An image is brightened and a five-point blur is added to it. */
void blur(int N, int M, int T, float A[N][M], float B[N][M])
{
    inf_array(A, N, M);
    inf_array(B, N, M);
#pragma bitsched region
    for (int t = 0; t < T; t++) {
#pragma omp parallel for
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < M - 1; j++)
                B[i][j] = 0.5f * A[i][j] + 0.125f * (A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1]);
#pragma omp parallel for
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < M - 1; j++)
                A[i][j] = B[i][j];
    }
}
