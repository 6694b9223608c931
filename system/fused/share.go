package fused

import (
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/system/machine"
	"github.com/bitsched/bitsched/tile"
)

// shared is a machine that several programs have: each has its cores, and as many of the ways that
// compute as the others, from the beginning to the end. Banks of the L3 that are no arrays, the
// mesh, DRAM, and the controllers of banks are for all.
type shared struct {
	machine *tile.Machine // as one of them sees it
	cells   *system.Cells
	ways    int // for lines
	begun   bool
}

func newShared(m *tile.Machine, programs int) *shared {
	one := *m
	one.L3.ComputeWays /= programs
	s := &shared{machine: &one, ways: m.L3.Ways - programs*one.L3.ComputeWays}
	s.cells = system.NewCells(m, programs*s.arrays())
	return s
}

// arrays is how many each program has.
func (s *shared) arrays() int { return s.machine.Banks() * s.machine.ArraysPerBank() }

// enter gives a program its share.
func (s *shared) enter(x *run, number int) {
	x.share, x.machine, x.timing = s, s.machine, tile.NewTiming(s.machine)
	x.node = number * x.opt.Threads
	x.array = number * s.arrays()
	if x.opt.BrokenTensor == NoPartition {
		x.array = 0
	}
}

// begin takes the ways that compute from the L3, before anything is in them.
func (s *shared) begin(m *machine.Machine) {
	if s == nil || s.begun {
		return
	}
	s.begun = true
	for _, h := range m.Homes {
		h.Reserve(s.ways)
	}
}
