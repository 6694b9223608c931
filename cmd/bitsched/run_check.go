package main

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tdfg/memory"
)

// check is a comparison of the result of a run, with what and of how much.
type check struct {
	Oracle string `json:"oracle"`
	memory.Comparison
	Bits     bool    `json:"bits"`     // they agree in all bits
	Distance float64 `json:"distance"` // else: the greatest, relative to the greatest magnitude in the array
}

func (c *check) text() string {
	how := "all bits of all arrays agree with "
	if !c.Bits {
		how = fmt.Sprintf("sums of another order, within %.2g of the greatest element: as ", c.Distance)
	}
	text := how + c.Oracle + fmt.Sprintf(": %s of %s", count(int(c.Elements), "element"), count(c.Arrays, "array"))
	if c.Scalars > 0 {
		text += " and " + count(c.Scalars, "scalar")
	}
	return text
}

// comparison is what the result of a run is compared with: the interpreter, which takes
// no part in runs, and, for a workload with its own arguments, the plain program in Go,
// which knows nothing of tensors.
type comparison struct {
	k        *workload.Kernel
	executed *tdfg.Program // the kernel's, or what the optimiser made of it
	opt      system.Options
	before   *memory.Memory // is changed
	got      *memory.Memory
	seed     *uint64 // of the arguments; nil if there are others

	operations int64 // that were executed
}

// maxInOrder is the greatest number of operations for which C is executed statement by
// statement too, which is slower than the interpreter.
const maxInOrder = 1 << 27

// inOrder compares with the C function as a graph of streams, in the order of its
// statements: a second opinion of the front end that makes tensors.
func (c *comparison) inOrder(ctx context.Context) (check, error) {
	want := c.before.Clone()
	if err := c.k.InOrder(ctx, want); err != nil {
		return check{}, err
	}
	r := check{Oracle: "the C function's, statement by statement", Comparison: want.Compare(c.got), Bits: true}
	if r.First == "" {
		return r, nil
	}
	far, _ := workload.Distance(want, c.got)
	if !c.k.Program.Reassociate || far > workload.CloseEnough {
		return r, fmt.Errorf("%w: %s: the C function, statement by statement, and the machine differ: %s", errCheck, c.k.Program.Name, r.First)
	}
	return check{Oracle: r.Oracle, Comparison: want.Extent(c.got), Distance: far}, nil
}

// run returns the comparisons, or an errCheck that has the first difference.
func (c *comparison) run(ctx context.Context) (list []check, err error) {
	opt := interp.Options{MaxLive: maxLiveElems, Progress: c.opt.Progress}
	prepared, err := system.Prepare(ctx, c.executed, c.k.Sizes, c.opt)
	if err != nil {
		return nil, err
	}
	if prepared.Grid != nil {
		opt.Group = prepared.Grid.Group
	}
	var checks []check
	if c.operations <= maxInOrder {
		second, err := c.inOrder(ctx)
		if err != nil {
			return nil, err
		}
		defer func() {
			if err == nil {
				list = append(list, second)
			}
		}()
	}
	// Where the optimiser may change the order of sums, the bits are those of the graphs that
	// it made, and near those of the graphs that it was given.
	reordered := c.executed != c.k.Program && c.k.Program.Reassociate
	if reordered {
		want := c.before.Clone()
		if err := interp.Run(ctx, c.executed, c.k.Sizes, want, opt); err != nil {
			return nil, err
		}
		equal, err := c.equal("the interpreter's on the optimised graphs", want)
		if err != nil {
			return nil, err
		}
		checks = append(checks, equal)
	}
	if err := interp.Run(ctx, c.k.Program, c.k.Sizes, c.before, opt); err != nil {
		return nil, err
	}
	const name = "the interpreter's"
	if !reordered {
		equal, err := c.equal(name, c.before)
		if err != nil {
			return nil, err
		}
		checks = append(checks, equal)
	} else {
		far, where := workload.Distance(c.before, c.got)
		if far > workload.CloseEnough {
			return nil, fmt.Errorf("%w: %s: the interpreter and the machine differ in %s by %.2g of the greatest element, expected at most %.2g in sums of another order", errCheck, c.k.Program.Name, where, far, workload.CloseEnough)
		}
		checks = append(checks, check{Oracle: name + " on the graphs of the kernel", Comparison: c.before.Extent(c.got), Distance: far})
	}
	if c.seed == nil || c.k.Builtin == nil {
		return checks, nil
	}
	v := c.k.Compare(c.got, *c.seed)
	if v.Failed {
		return nil, fmt.Errorf("%w: %s: the plain program and the machine differ: %s", errCheck, c.k.Program.Name, v.Reference)
	}
	return append(checks, check{Oracle: "the plain program's (Go)", Comparison: c.before.Extent(c.got), Bits: v.Distance == 0, Distance: v.Distance}), nil
}

// equal compares all bits.
func (c *comparison) equal(oracle string, want *memory.Memory) (check, error) {
	r := check{Oracle: oracle, Comparison: want.Compare(c.got), Bits: true}
	if r.First != "" {
		return r, fmt.Errorf("%w: %s: the interpreter and the machine differ: %s", errCheck, c.k.Program.Name, r.First)
	}
	return r, nil
}
