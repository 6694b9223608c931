// Package onnx reads models in ONNX as networks of package dnn. It decodes the few
// messages that it needs from the wire, infers the shapes of the operators that it knows,
// and makes operators of convolutions and matrix products; other nodes become what
// is executed near memory. Values of weights are not needed: shapes suffice.
//
//	net, err := onnx.Read(data, "net.onnx", onnx.Options{Bits: dnn.DefaultBits})
//
// It is no runtime: arithmetic of floating-point models is replaced by integers, and
// the notes of the network say so.
package onnx
