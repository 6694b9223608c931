// Package kernels has the workloads of Infinity Stream (table 3) and its two
// microbenchmarks as plain C, in the folder c, each with a plain Go program that
// does the same: loops over slices that know nothing of tensors and are what the
// results of everything else are compared with.
//
//	k, err := kernels.Get("mm_outer")
//	p, err := cfront.Compile(ctx, k.File, k.Source, cfront.Options{})
//	d := k.Data(k.Small, 1)
//	m := d.Memory()                  // for interp.Run(ctx, p, k.Small, m, ...)
//	k.Reference(d)                   // then d.Diff(m) is empty
//
// Sums in a kernel with the clause reassociate may be of any order; data made with
// DataExact have the same sums in all.
package kernels
