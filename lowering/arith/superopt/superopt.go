// Package superopt finds the shortest loop bodies of microcode by looking at all of
// them: what a step of an operation leaves in a few rows and latches is a small state,
// and a body that is shorter than all that were found is proved not to exist.
package superopt

import (
	"context"
	"errors"

	"github.com/bitsched/bitsched/sram"
)

// Value is a Boolean function of up to six variables by its table: bit x is what it
// is where variable i is bit i of x.
type Value uint64

// Var is variable i, from 0 to 5.
func Var(i int) Value {
	return [...]Value{0xaaaaaaaaaaaaaaaa, 0xcccccccccccccccc, 0xf0f0f0f0f0f0f0f0, 0xff00ff00ff00ff00, 0xffff0000ffff0000, 0xffffffff00000000}[i]
}

// Maj is the majority of three values.
func Maj(a, b, c Value) Value { return a&b | c&(a|b) }

// Result is what a search came to.
type Result struct {
	Code   []sram.Micro // the shortest body found, or nil
	AtRest int          // no body has fewer instructions than this
	Tried  int          // instructions that were executed
}

// ErrWork says that a search came to its limit of work; what it has proved so far is
// in its result.
var ErrWork = errors.New("superopt: limit of work")

// search looks for the least depth up to most at which a goal is found. level is asked
// for bodies of exactly n instructions.
func search(ctx context.Context, most int, level func(n int, r *Result) ([]sram.Micro, error)) (Result, error) {
	var r Result
	for n := 0; n <= most; n++ {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		code, err := level(n, &r)
		if err != nil {
			return r, err
		}
		r.AtRest = n
		if code != nil {
			r.Code = code
			return r, nil
		}
		r.AtRest = n + 1
	}
	return r, nil
}

// node is a state of a search and how it came about.
type node[S any] struct {
	state  S
	parent int32
	instr  int32
}

// path returns the instructions that lead to a node.
func path[S any](nodes []node[S], at int32) []int32 {
	var p []int32
	for ; nodes[at].parent >= 0; at = nodes[at].parent {
		p = append([]int32{nodes[at].instr}, p...)
	}
	return p
}
