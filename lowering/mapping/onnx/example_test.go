package onnx_test

import (
	"fmt"
	"os"

	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/onnx"
)

func ExampleRead() {
	data, err := os.ReadFile("../../../docs/examples/digits.onnx")
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := onnx.Read(data, "digits.onnx", onnx.Options{Bits: dnn.DefaultBits})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, node := range n.MACs() {
		fmt.Println(n.Nodes[node].Name, n.Nodes[node].Kind)
	}
	_, err = onnx.Read(data[:100], "half.onnx", onnx.Options{Bits: dnn.DefaultBits})
	fmt.Println(err)
	// Output:
	// conv1 mac
	// conv2 mac
	// classes mac
	// half.onnx: byte 21: field 7 is cut off or longer than the file
}
