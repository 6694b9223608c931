package fused_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/system/fused"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tile"
)

// A kernel whose two regions are in memory, in each of two steps.
func Example() {
	ctx := context.Background()
	k, err := workload.Builtin("stencil1d", false)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := k.CompileWhole(ctx, map[string]int64{"N": 4096, "T": 2}, nil, false); err != nil {
		fmt.Println(err)
		return
	}
	args, err := k.Arguments(ctx, 1, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	machine, err := tile.LoadMachine("infinity-stream-small")
	if err != nil {
		fmt.Println(err)
		return
	}
	p := &fused.Program{Tensors: k.Program, Sizes: k.Sizes, Arrays: args.Clone(), Program: &multicore.Program{Graph: k.Whole}}
	p.Memory, p.Args = k.Streams(args)
	r, err := fused.Run(ctx, p, fused.Options{Options: multicore.Options{Config: "inf-s", Machine: machine, Threads: 4}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, q := range r.Regions {
		fmt.Println(q.Name, q.InMemory, "times in memory")
	}
	// Output:
	// stencil1d.1 2 times in memory
	// stencil1d.2 2 times in memory
}
