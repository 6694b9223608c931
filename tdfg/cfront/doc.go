// Package cfront compiles kernels in plain C to programs of tensor dataflow graphs,
// as Infinity Stream does (sections 3.1 to 3.5, figures 4, 7 and 8).
//
//	#include "bitsched.h"
//	void vec_add(int N, const float A[N], const float B[N], float C[N])
//	{
//		inf_array(A, N);
//		inf_array(B, N);
//		inf_array(C, N);
//	#pragma bitsched region
//		for (int i = 0; i < N; i++)
//			C[i] = A[i] + B[i];
//	}
//
// The source is what a C compiler compiles too, with the header that is embedded
// here. inf_array gives the sizes of an array and says that no other is in the same
// memory. The statement after the pragma is compiled; with the clause reassociate,
// sums of floating-point numbers may be of any order.
//
// What happens, file by file: parse.go reads C; convert.go and expr.go make it a
// kernel of loops and guarded assignments, with the types of C, or refuse it;
// unroll.go unrolls short loops with numbers for bounds, and unblock.go undoes blocks
// for caches. plan.go decides what each
// loop becomes, by the dependences of depend.go: a dimension of the lattice, if its
// iterations can happen at once or only reduce, a loop of the host, or a part of a
// stream; axes.go finds dimensions for arrays and loops such that nothing has to be
// transposed. emit.go and region.go make the tensor nodes, brought to the same
// points by moves and broadcasts, and streams.go the streams.
//
// Statements of a region are in static single assignment form: what one writes the
// next reads without memory between. Where a part of an array is read that was
// written in other parts, or a stream needs what is not a whole array, a new region
// starts.
//
// Invariants: what a program computes is what the C says, bit by bit, but for the
// order of sums where the pragma allows it; nothing depends on the machine that
// compiles; the host's compiler and headers are never looked at; every error is an
// *Error with a place, and no input makes it panic.
package cfront
