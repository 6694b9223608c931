package xmg_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/xmg"
)

func ExampleFromNetwork() {
	// A full adder of ANDs and inverters, as AIGER files have it.
	n := netlist.New("adder")
	a, b, c := n.AddInput("a"), n.AddInput("b"), n.AddInput("c")
	xor := func(x, y netlist.Lit) netlist.Lit { return n.And(n.Or(x, y), n.And(x, y).Not()) }
	half := xor(a, b)
	n.AddOutput("sum", xor(half, c))
	n.AddOutput("carry", n.Or(n.And(a, b), n.And(half, c)))

	g, err := xmg.FromNetwork(context.Background(), n, xmg.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	maj, xors := g.Counts()
	fmt.Printf("%d ANDs became %d MAJ and %d XOR\n", n.NumGates(), maj, xors)
	// Output: 9 ANDs became 1 MAJ and 1 XOR
}

func ExampleSimulator() {
	g := xmg.New("adder")
	a, b, c := g.AddInput("a"), g.AddInput("b"), g.AddInput("c")
	g.AddOutput("sum", g.Xor(a, b, c))
	g.AddOutput("carry", g.Maj(a, b, c))

	s := xmg.NewSimulator(g)
	out := make([]uint64, 2)
	s.Run(out, []uint64{0b10101010, 0b11001100, 0b11110000}, 1) // all eight patterns
	fmt.Printf("sum %08b carry %08b\n", out[0], out[1])
	// Output: sum 10010110 carry 11101000
}
