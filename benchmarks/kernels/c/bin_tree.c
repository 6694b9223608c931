#include "bitsched.h"

typedef struct node {
	uint64_t key;
	struct node *left, *right;
	uint64_t value;
	uint64_t pad0, pad1, pad2, pad3; /* a line each */
} node;

/* Q keys are looked up in a binary search tree of N nodes, whose root is the first one:
   how many there are, and the sum of their values. */
void bin_tree(int N, int Q, node nodes[N], const uint64_t query[Q], int64_t hits[1], uint64_t total[1])
{
	inf_array(nodes, N);
	inf_array(query, Q);
	inf_array(hits, 1);
	inf_array(total, 1);
	int64_t found = 0;
	uint64_t sum = 0;
#pragma omp parallel for reduction(+: found, sum)
	for (int q = 0; q < Q; q++) {
		uint64_t key = query[q];
		node *p = &nodes[0];
		while (p && p->key != key)
			p = key < p->key ? p->left : p->right;
		if (p) {
			found++;
			sum += p->value;
		}
	}
	hits[0] = found;
	total[0] = sum;
}
