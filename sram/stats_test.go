package sram

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

func TestStats(t *testing.T) {
	p := good()
	p.Geometry.Arrays = 4
	want := Stats{Inputs: 3, Outputs: 2, Instructions: 3, Computes: 2, Copies: 1, ArraysUsed: 2, RowsUsed: []int{3, 2, 0, 0}, MaxRowsUsed: 3}
	if got := p.Stats(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := p.Stats().String(), "3 instructions (2 computes, 1 copies), 2 arrays, at most 3 rows"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := p.Energy(DefaultEnergy); math.Abs(got-3.87) > 1e-12 {
		t.Errorf("energy %v, want 3.87", got)
	}
	if got := p.Energy(Energy{Compute: 10, Copy: 1}); got != 21 {
		t.Errorf("energy %v, want 21", got)
	}
}

func TestStatsAgainstNaive(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for range 50 {
		p := randomProgram(rng, randomGeometry(rng, 64), rng.IntN(9), rng.IntN(60), 0)
		rows := make([]int, p.Geometry.Arrays)
		for at := range naive(p, make([]bool, len(p.Inputs)), len(p.Instrs)) {
			rows[at.Array]++
		}
		s := p.Stats()
		if !reflect.DeepEqual(s.RowsUsed, rows) {
			t.Fatalf("rows used %v, want %v", s.RowsUsed, rows)
		}
		if s.ArraysUsed != p.ArraysUsed() || s.Computes != p.Computes() || s.Computes+s.Copies != s.Instructions {
			t.Fatalf("%+v", s)
		}
	}
}
