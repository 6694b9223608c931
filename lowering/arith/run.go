package arith

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/bitsched/bitsched/sram"
)

// Run executes the program on as many words as dst has: args[i][j] is input i of
// its kernel on bitline j, and dst[j] the result there. It transposes the words,
// executes the program on as many arrays as they fill, and transposes back. The
// groups of arrays are shared out among threads (0 means 1), and the result does
// not depend on how many.
//
// It takes time proportional to cycles x words and memory for one group a
// thread. An error means operands of different lengths, words that are too
// narrow, or the context's end, and dst is then garbage.
func Run[T Word](ctx context.Context, p *Program, threads int, dst []T, args ...[]T) error {
	return RunWide(ctx, p, threads, [][]T{dst}, args...)
}

// RunWide is Run for results that are wider than a word: dst[i] takes the i-th
// word of each result, the lowest first.
func RunWide[T Word](ctx context.Context, p *Program, threads int, dst [][]T, args ...[]T) error {
	if err := runCode(ctx, p.code, threads, dst, args...); err != nil {
		return fmt.Errorf("arith: %s: %w", p.Spec.Op, err)
	}
	return nil
}

// runCode does so for a kernel: dst are the words of its outputs, each from its
// lowest word up, and args those of its inputs.
func runCode[T Word](ctx context.Context, code *sram.KernelCode, threads int, dst [][]T, args ...[]T) error {
	k := code.Kernel()
	bits := 32
	if uint64(^T(0)) > 1<<32 {
		bits = 64
	}
	var outs []sram.Port
	for _, o := range k.Outputs {
		for i := 0; i*bits < o.Width; i++ {
			outs = append(outs, limb(o, i, bits))
		}
	}
	if len(dst) != len(outs) {
		return fmt.Errorf("results in %d words of %d bits, expected %d", len(dst), bits, len(outs))
	}
	if len(dst) == 0 {
		return nil
	}
	n := len(dst[0])
	for _, d := range dst {
		if len(d) != n {
			return fmt.Errorf("results of lengths %d and %d", n, len(d))
		}
	}
	if len(args) != len(k.Inputs) {
		return fmt.Errorf("%d operands, expected %d", len(args), len(k.Inputs))
	}
	for i, a := range args {
		if len(a) != n {
			return fmt.Errorf("operand %s has %d words, expected %d", k.Inputs[i].Name, len(a), n)
		}
		if k.Inputs[i].Width > bits {
			return fmt.Errorf("operand %s in words of %d bits, expected %d", k.Inputs[i].Name, bits, k.Inputs[i].Width)
		}
	}
	groups := (n + sram.GroupCols - 1) / sram.GroupCols
	var next atomic.Int64
	work := func() {
		s := code.NewState()
		for {
			g := int(next.Add(1)) - 1
			if g >= groups || ctx.Err() != nil {
				return
			}
			lo, hi := g*sram.GroupCols, min((g+1)*sram.GroupCols, n)
			for i, a := range args {
				loadGroup(s, k.Inputs[i], a[lo:hi])
			}
			s.Run()
			for i, d := range dst {
				storeGroup(s, outs[i], d[lo:hi])
			}
		}
	}
	var wg sync.WaitGroup
	for range min(threads, groups) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("execution stopped: %w", err)
	}
	return nil
}
