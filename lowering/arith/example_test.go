package arith_test

import (
	"context"
	"fmt"
	"math"

	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/sram"
)

// A program is built once and run on as many words as there are.
func ExampleRun() {
	ctx := context.Background()
	p, err := arith.Build(ctx, arith.Spec{Op: "int32.add", Tech: "neural-cache"})
	if err != nil {
		fmt.Println(err)
		return
	}
	sums := make([]uint32, 3)
	if err := arith.Run(ctx, p, 1, sums, []uint32{1, 2, 3}, []uint32{10, 20, 30}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sums, "in", p.Latency(), "cycles")
	// Output: [11 22 33] in 33 cycles
}

// Operations compose in one array: 2x + 1.
func ExampleRoutine() {
	ctx := context.Background()
	bits := func(x float32) uint64 { return uint64(math.Float32bits(x)) }
	r, err := arith.NewRoutine(&sram.NeuralCache, 256)
	if err != nil {
		fmt.Println(err)
		return
	}
	x, _ := r.Input("x", 32)
	y, err := r.Do(ctx, "fp32.add", 0, x, x)
	if err == nil {
		y, err = r.DoOver(ctx, 0, "fp32.add", 0, y, arith.Const(bits(1)))
	}
	if err == nil {
		err = r.Output("y", y)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	code, err := r.Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	out := make([]uint32, 1)
	if err := arith.RunCode(ctx, code, 1, [][]uint32{out}, []uint32{uint32(bits(2.25))}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(math.Float32frombits(out[0]))
	// Output: 5.5
}
