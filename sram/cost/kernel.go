package cost

import "github.com/bitsched/bitsched/sram"

// OfKernel counts a valid kernel on one array of cols bitlines. Every instruction
// counts as a row operation: no table tells apart what the instructions of a
// technology cost.
func OfKernel(k *sram.Kernel, cols int) Counts {
	c := Counts{Computes: k.Cycles(), Arrays: 1, Rows: k.Rows, Cols: cols}
	for _, p := range k.Inputs {
		c.InputRows += p.Width
	}
	for _, p := range k.Outputs {
		c.OutputRows += p.Width
	}
	return c
}
