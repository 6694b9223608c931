package multicore

import (
	"math/rand/v2"

	"github.com/bitsched/bitsched/system/machine"
	"github.com/bitsched/bitsched/tile/mem/dram"
)

// Jitter is what differs in time from one run of a program to the next, by a seed: when threads
// begin, when DRAM is refreshed, where pages lie if they lie anywhere, and what samples take.
// Values are the same.
type Jitter struct {
	Seed uint64
	// Late is how many cycles a thread begins its part of a parallel loop late, at the most.
	Late int
}

func (j *Jitter) seed() uint64 {
	if j == nil {
		return 0
	}
	return j.Seed
}

// late is by thread and loop, in whatever order they ask.
func (j *Jitter) late() func(thread, loop int) int {
	if j == nil || j.Late == 0 {
		return nil
	}
	return func(thread, loop int) int {
		return rand.New(rand.NewPCG(j.Seed, uint64(thread)<<32|uint64(loop))).IntN(j.Late + 1)
	}
}

// refresh begins with the refreshes of each channel at any time of their period.
func (j *Jitter) refresh(m *machine.Machine) {
	if j == nil {
		return
	}
	r := rand.New(rand.NewPCG(j.Seed, 1<<63))
	for _, d := range m.DDR {
		d.Refresh(func(most dram.Time) dram.Time { return 1 + dram.Time(r.Int64N(int64(most))) })
	}
}
