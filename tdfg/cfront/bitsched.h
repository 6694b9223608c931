/* Declarations for kernels that bitsched compiles. A C compiler that finds this
   file compiles the same kernels; bitsched has its own copy. */
#ifndef BITSCHED_H
#define BITSCHED_H

#ifdef __BITSCHED__
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned uint32_t;
typedef unsigned long long uint64_t;
typedef unsigned long size_t;
typedef _Float16 fp16;
typedef __bf16 bf16;
#define NULL ((void *)0)
#define __ATOMIC_RELAXED 0
#define __ATOMIC_ACQUIRE 2
#define __ATOMIC_RELEASE 3
#define __ATOMIC_ACQ_REL 4
#define __ATOMIC_SEQ_CST 5
int abs(int);
float sqrtf(float), fabsf(float), fminf(float, float), fmaxf(float, float), fmaf(float, float, float), expf(float);
#else
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
/* Compilers that do not know a type leave it out: gcc has fp16 from release 12 and
   bf16 from release 13 on. */
#if defined(__FLT16_MAX__)
typedef _Float16 fp16;
#endif
#if defined(__BFLT16_MAX__)
typedef __bf16 bf16;
#endif
/* inf_fetch_min(&A[i], x) and inf_fetch_max: the least or greatest of both, in one; the
   value is the old one. */
#define inf_fetch_(p, x, cmp) __extension__ ({ \
	__typeof__(p) p_ = (p); __typeof__(*(p)) x_ = (x), old_ = __atomic_load_n(p_, __ATOMIC_RELAXED); \
	while (x_ cmp old_ && !__atomic_compare_exchange_n(p_, &old_, x_, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) ; \
	old_; })
#define inf_fetch_min(p, x) inf_fetch_(p, x, <)
#define inf_fetch_max(p, x) inf_fetch_(p, x, >)
/* inf_array(A, N, M) declares the sizes of an array of the region. */
#define inf_array(...) ((void)0)
#endif

#endif
