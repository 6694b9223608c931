package sram

import "fmt"

// Energy is what one instruction costs on all bitlines of an array, in units of
// a compute instruction.
type Energy struct {
	Compute float64 // of a Maj or Xor
	Copy    float64 // of a Copy
}

// DefaultEnergy is the cost that MASIM takes from XMG-GPPIC (MASIM, section I):
// a copy costs 1.87 times a computation. It is not universal: published ratios
// run from 1.12 to 1.87, so that a comparison should give a range.
var DefaultEnergy = Energy{Compute: 1.0, Copy: 1.87}

// Energy returns the energy of executing p once, on any number of bitlines.
func (p *Program) Energy(e Energy) float64 {
	copies := p.Copies()
	return float64(len(p.Instrs)-copies)*e.Compute + float64(copies)*e.Copy
}

// RowsUsed returns for each array how many of its rows hold an input or are
// written. The program must be valid.
func (p *Program) RowsUsed() []int {
	used := make([]int, p.Geometry.Arrays)
	seen := NewRowTable(p.Geometry)
	use := func(array, row int) {
		if seen.Get(array, row) == 0 {
			seen.Set(array, row, 1)
			used[array]++
		}
	}
	for _, in := range p.Inputs {
		use(in.Array, in.Row)
	}
	for i := range p.Instrs {
		use(int(p.Instrs[i].Array), int(p.Instrs[i].Dst))
	}
	return used
}

// Stats sums up a program.
type Stats struct {
	Inputs       int
	Outputs      int
	Instructions int
	Computes     int   // Maj and Xor instructions
	Copies       int   // Copy instructions
	ArraysUsed   int   // arrays that hold an input or are written
	RowsUsed     []int // rows of each array that hold an input or are written
	MaxRowsUsed  int   // the largest of RowsUsed
}

// Stats returns the figures of a valid program.
func (p *Program) Stats() Stats {
	s := Stats{Inputs: len(p.Inputs), Outputs: len(p.Outputs), Instructions: len(p.Instrs), Copies: p.Copies(), RowsUsed: p.RowsUsed()}
	s.Computes = s.Instructions - s.Copies
	for _, n := range s.RowsUsed {
		if n > 0 {
			s.ArraysUsed++
		}
		s.MaxRowsUsed = max(s.MaxRowsUsed, n)
	}
	return s
}

func (s Stats) String() string {
	return fmt.Sprintf("%d instructions (%d computes, %d copies), %d arrays, at most %d rows",
		s.Instructions, s.Computes, s.Copies, s.ArraysUsed, s.MaxRowsUsed)
}
