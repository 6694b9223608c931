// Package interp executes tensor dataflow graphs as package tdfg defines them,
// element by element and with exact arithmetic. It is what every lower level is
// checked against, so it follows the definitions and knows nothing of arrays of
// cells, tiles or commands; it is not made to be fast, though it handles kernels of
// millions of elements.
//
//	m := memory.New()
//	err := m.Allocate(program.Arrays, sizes)
//	err = interp.Run(ctx, program, sizes, m, interp.Options{})
//
// Moves, broadcasts and shrinks do not copy: a tensor is a view of elements, of an
// array or of the result of a computation. Each result takes 8 bytes per element and
// is kept until its last use.
package interp
