#include "bitsched.h"

typedef struct entry {
	uint64_t key;
	uint64_t value;
	struct entry *next;
	uint64_t pad0, pad1, pad2, pad3, pad4; /* a line each */
} entry;

typedef struct bucket {
	entry *first;
} bucket;

/* A hash join: Q keys of one relation are looked up in a table of the N of another, with
   B chains, a power of two: how many match, and the sum of the values that they match. */
void hash_join(int N, int B, int Q, entry entries[N], bucket heads[B], const uint64_t probe[Q], int64_t matches[1], uint64_t total[1])
{
	inf_array(entries, N);
	inf_array(heads, B);
	inf_array(probe, Q);
	inf_array(matches, 1);
	inf_array(total, 1);
	int64_t found = 0;
	uint64_t sum = 0;
#pragma omp parallel for reduction(+: found, sum)
	for (int q = 0; q < Q; q++) {
		uint64_t key = probe[q];
		for (entry *p = heads[key & (uint64_t)(B - 1)].first; p; p = p->next)
			if (p->key == key) {
				found++;
				sum += p->value;
			}
	}
	matches[0] = found;
	total[0] = sum;
}
