// Package mapping maps an operator of a neural network onto the units of a memory
// that computes, after ARES: it binds tensors to operands and loops to dimensions of
// a compute function, sizes them, spreads them over units and orders the rest in
// time ([Mapping]); it judges whether that is legal and says why not ([Problem.Check]), prices
// it in closed form ([Problem.Cost]), clocks the commands one by one ([Problem.Clock]),
// and executes them, bit by bit on arrays, as exact integers with converters on
// crossbars, as words beside banks ([Problem.Execute]), so that all outputs can be compared
// with a plain loop nest.
//
// The rules B1 to B5 of a binding follow section V-B of the paper; what it leaves
// open is decided in docs/mapping.md. Searching for a good mapping is for package
// search, descriptions of operators for dnn, of hardware for platform.
//
// Invariants: the closed form and the clock agree to the cycle; the parts of a
// breakdown sum to the cycles; every iteration of the nest is executed exactly once.
package mapping
