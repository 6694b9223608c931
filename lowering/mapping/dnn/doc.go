// Package dnn has the operators and networks that are mapped onto memories that
// compute: affine loop nests with an access matrix for each tensor, as in ARES
// (section V-A), and graphs of them. It says what is to be computed and knows
// nothing of hardware.
//
//	op, err := dnn.Parse("conv:N=4,K=64,H=56,W=56,C=64,R=3,S=3,stride=1")
//	out := op.Run(tensors)   // the plain loop nest: the oracle of every mapping
//
// H and W are sizes of the output, as in Table IV of the paper. [Zoo] lists the
// networks that come with the program; they are built by the rules of their
// architectures, without biases, and count exactly.
package dnn
