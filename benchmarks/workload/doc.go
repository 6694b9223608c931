// Package workload makes kernels ready to run: it reads one in C, or one of package
// kernels, compiles it, gives its sizes their values, and makes its arguments, at
// random by a seed or from files of arrays, in NumPy's .npy or as raw bytes. It also
// writes arrays, and compares results with plain programs.
//
//	k, err := workload.Builtin("mm_inner", false)
//	err = k.Compile(ctx, map[string]int64{"N": 64}, false)
//	m, err := k.Arguments(ctx, 1, nil)           // random, by seed 1
//	err = interp.Run(ctx, k.Program, k.Sizes, m, interp.Options{})
//	verdict := k.Compare(m, 1)
//
// It executes nothing and knows no machine.
//
// Invariants: arguments depend on the seed, the sizes and the files only; a file is
// read or refused, never converted: type, order of bytes, order of dimensions, shape
// and length are those of the array, or the error says which is not and what was
// expected. An error that the caller can correct is a *UsageError.
package workload
