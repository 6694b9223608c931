package benchmarks

import (
	"errors"
	"fmt"
	"time"

	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/sram"
)

// fake is a comparison with invented results on three circuits, one of them with
// published figures (int2float: 199 gates, 16 rows, MASIM 87 copies):
//
//	             bound  bitsched  masim  star  masim-noimpr
//	int2float       49        50    100   200           125
//	dec, 7 gates     2         2      8     -            10
//	one              0         0      4    16             4
func fake() *Comparison {
	infeasible := fmt.Errorf("masim: %w: no rows", masim.ErrInfeasible)
	c := &Comparison{Schedulers: []string{"bitsched", "masim", "star", "masim-noimpr"}}
	c.Options = Options{Arrays: 8, Cols: 256, Seed: 1, Energy: sram.DefaultEnergy}
	add := func(name string, inputs, rows, gates, bound int, copies ...int) {
		r := Row{Name: name, File: name + ".v", Rows: rows, Gates: gates, Inputs: inputs, Outputs: 1, Bound: bound, BoundReason: "because"}
		for i, n := range copies {
			cell := Cell{Scheduler: c.Schedulers[i], Status: Done, Copies: n, Computes: gates, ArraysUsed: 2, Trials: 5, Patterns: 512,
				Energy: float64(gates) + 1.87*float64(n), CPU: time.Duration(i+1) * time.Second, Wall: time.Second}
			if n < 0 {
				cell = Cell{Scheduler: c.Schedulers[i], Status: Infeasible, Err: infeasible, CPU: time.Second}
			}
			r.Cells = append(r.Cells, cell)
		}
		c.Rows = append(c.Rows, r)
	}
	add("int2float", 11, 16, 199, 49, 50, 100, 200, 125)
	add("dec", 3, 16, 7, 2, 2, 8, -1, 10)
	add("one", 3, 32, 20, 0, 0, 4, 16, 4)
	return c
}

var errOther = errors.New("too large for me")
