package sram_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/bitsched/bitsched/sram"
)

// A full adder on one array, its carry copied to another.
const adder = `.program bitsched 1
.geometry arrays=2 rows=8
.input a 0 0
.input b 0 1
.input c 0 2
xor 0 3  0 1 2   # the sum
maj 0 4  0 1 2   # the carry
copy 1 0  0 4
.output sum 0 3
.output carry 1 0
.end
`

func Example() {
	prog, err := sram.Parse(strings.NewReader(adder), "adder.bsp")
	if err != nil {
		fmt.Println(err)
		return
	}
	code, err := sram.Compile(prog)
	if err != nil {
		fmt.Println(err)
		return
	}
	// One word of 64 patterns for each input; the first eight are all there are.
	out := code.NewMachine().Run([]uint64{0b10101010, 0b11001100, 0b11110000}, 1)
	fmt.Printf("sum   %08b\ncarry %08b\n", out[0], out[1])
	fmt.Printf("%v, energy %.2f\n", prog.Stats(), prog.Energy(sram.DefaultEnergy))
	// Output:
	// sum   10010110
	// carry 11101000
	// 3 instructions (2 computes, 1 copies), 2 arrays, at most 5 rows, energy 3.87
}

func ExampleCode_NewStepper() {
	prog, _ := sram.Parse(strings.NewReader(adder), "adder.bsp")
	code, _ := sram.Compile(prog)
	s, _ := code.NewStepper([]uint64{1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}) // 4 words of 256 bitlines each
	s.RunTo(1)
	sum, _ := s.Row(0, 3)
	_, carried := s.Row(0, 4)
	fmt.Printf("before %v: sum on bitline 0 is %d, carry there: %v\n", prog.Instrs[s.Next()], sum[0]&1, carried)
	// Output:
	// before maj 0 4  0 1 2: sum on bitline 0 is 0, carry there: false
}

func ExampleProgram_WriteTo() {
	p := &sram.Program{
		Geometry: sram.Geometry{Arrays: 1, Rows: 4, Cols: 256},
		Inputs:   []sram.Input{{Name: "x"}},
		Instrs:   []sram.Instr{{Op: sram.Xor, Dst: 1, Src: [3]sram.Operand{sram.Row(0, true), sram.Zero, sram.Zero}}},
		Outputs:  []sram.Output{{Name: "y", Operand: sram.Row(1, false)}},
	}
	if _, err := p.WriteTo(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// .program bitsched 1
	// .geometry arrays=1 rows=4
	// .input x 0 0
	// xor 0 1  ~0 #0 #0
	// .output y 0 1
	// .end
}
