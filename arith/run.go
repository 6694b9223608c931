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
	k := p.Kernel
	bits := 32
	if uint64(^T(0)) > 1<<32 {
		bits = 64
	}
	out := k.Outputs[0]
	if need := (out.Width + bits - 1) / bits; len(dst) != need {
		return fmt.Errorf("arith: %s: results in %d words of %d bits, expected %d", p.Spec.Op, len(dst), bits, need)
	}
	n := len(dst[0])
	for _, d := range dst {
		if len(d) != n {
			return fmt.Errorf("arith: %s: results of lengths %d and %d", p.Spec.Op, n, len(d))
		}
	}
	if len(args) != len(k.Inputs) {
		return fmt.Errorf("arith: %s: %d operands, expected %d", p.Spec.Op, len(args), len(k.Inputs))
	}
	for i, a := range args {
		if len(a) != n {
			return fmt.Errorf("arith: %s: operand %s has %d words, expected %d", p.Spec.Op, k.Inputs[i].Name, len(a), n)
		}
		if k.Inputs[i].Width > bits {
			return fmt.Errorf("arith: %s: operand %s in words of %d bits, expected %d", p.Spec.Op, k.Inputs[i].Name, bits, k.Inputs[i].Width)
		}
	}
	groups := (n + sram.GroupCols - 1) / sram.GroupCols
	var next atomic.Int64
	work := func() {
		s := p.code.NewState()
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
				storeGroup(s, limb(out, i, bits), d[lo:hi])
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
		return fmt.Errorf("arith: %s: execution stopped: %w", p.Spec.Op, err)
	}
	return nil
}
