package reproduce

import (
	"fmt"

	"github.com/bitsched/bitsched/system/multicore"
)

// A run in samples whose cycles may be off by more than wideBound, as a share of them, runs again
// with as large a share of the time as has sampleWork micro-ops and messages on the mesh: in time
// where that is most of it.
const (
	wideBound  = 0.1
	sampleWork = 64e6
)

// inSamples calls run with the windows that a run has: once, or a second time with more of them if
// the cycles of the first one are not known well. nil is without windows.
func (e *Env) inSamples(run func(s *multicore.Sampling) (*multicore.Report, error)) error {
	if e.Sample <= 0 {
		_, err := run(nil)
		return err
	}
	r, err := run(&multicore.Sampling{Share: e.Sample})
	if err != nil {
		return err
	}
	more, again := e.moreSamples(r)
	if again {
		_, err = run(more)
	}
	return err
}

// moreSamples are the windows that a run has the second time, and whether it has to.
func (e *Env) moreSamples(r *multicore.Report) (s *multicore.Sampling, again bool) {
	t := r.Sample
	if t == nil || t.Forwarded == 0 || t.Bound >= 0 && t.Bound <= wideBound {
		return nil, false
	}
	work := float64(r.MicroOps)
	for _, c := range r.Traffic {
		work += t.Scale(r.MicroOps) * float64(c.Messages)
	}
	switch share := sampleWork / work; {
	case share >= 0.5:
		return nil, true
	case share > 2*e.Sample:
		return &multicore.Sampling{Share: share}, true
	}
	return nil, false
}

// sampleNote says what was simulated.
func (e *Env) sampleNote(of string) string {
	return fmt.Sprintf("%swindows of %g of the time are simulated, or of as much as has %.0f M micro-ops and messages where the cycles may be off by more than %.0f %%; ± is half of the 95 %% confidence interval by how windows differ, ±? of too few windows", of, e.Sample, sampleWork/1e6, 100*wideBound)
}
