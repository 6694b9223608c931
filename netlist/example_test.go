package netlist_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/bitsched/bitsched/netlist"
)

// A circuit is read, evaluated for all inputs, and written in another format.
func ExampleRead() {
	const blif = `.model half
.inputs a b
.outputs sum carry
.names a b sum
10 1
01 1
.names a b carry
11 1
.end
`
	n, err := netlist.Read(strings.NewReader(blif), "half.blif", netlist.ReadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	out := n.Simulate([]uint64{0b1010, 0b1100}, 1)
	fmt.Printf("sum %04b carry %04b\n", out[0]&15, out[1]&15)
	if err := netlist.Write(os.Stdout, n, netlist.Verilog); err != nil {
		fmt.Println(err)
	}
	// Output:
	// sum 0110 carry 1000
	// module half ( a , b , sum , carry );
	//   input a , b ;
	//   output sum , carry ;
	//   assign sum = a ^ b ;
	//   assign carry = a & b ;
	// endmodule
}
