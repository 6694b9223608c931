#include "bitsched.h"

/* m parallel loops, one after another, with a store of 64 bytes for each thread if n is 16
   times their number: what is left is starting threads, and their meeting. */
void fork_join(int n, int m, int A[n])
{
	inf_array(A, n);
	for (int t = 0; t < m; t++) {
#pragma omp parallel for
		for (int i = 0; i < n; i++)
			A[i] = t;
	}
}
