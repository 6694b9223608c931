// Package memory has the arrays and scalars of a program: what executors read and
// write, whichever they are, and where it lies. It executes nothing.
//
//	m := memory.New()
//	err := m.Allocate(program.Arrays, sizes)  // zeros, one array after another
//	a := m.Arrays["A"]
//	a.Address(i)                              // of element i
//
// Arrays lie at physical addresses that depend on the order of their making only, each
// at the beginning of a page, so that no two share a cache line. An element is a word
// here whatever its type takes in memory (the fields base and end of Infinity Stream,
// table 1, are in bytes of memory).
package memory
