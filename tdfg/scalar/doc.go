// Package scalar has the types of the elements of tensors and streams, and the
// exact arithmetic on single elements: what one bitline, one core or one
// near-memory unit must compute, whatever computes it.
//
// It is the reference of interpreters, so it is plain: the processor's
// arithmetic for integers and fp32, and for fp16 and bf16 one operation in
// float64 that is rounded once more, which is exact for these (Figueroa, 1995).
// It knows nothing of arrays of elements or of hardware.
//
//	scalar.Eval(scalar.Add, scalar.Int8, 0x7f, 1)   // 0x80: integers wrap
//	scalar.Eval(scalar.Lt, scalar.FP32, a, b)       // 1 or 0, a Bool
//
// Results are those of the operations of package arith with the same names:
// two's complement, division as RISC-V has it, IEEE 754 rounding to nearest
// even with subnormals, one canonical NaN.
package scalar
