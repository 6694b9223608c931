package reproduce

import (
	"context"
	"errors"
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

// inSamples measures a run into p, or takes it from the store: once, or a second time with more
// windows if the cycles of the first one are not known well. What the first windows say is kept, too: a run
// that is stopped while it has more of them returns errFirst, with the part as these left it. A run
// in all of its time has nil for windows.
func inSamples[P any](ctx context.Context, e *Env, p *P, run func(p *P, s *multicore.Sampling) (*multicore.Report, error), names ...any) error {
	if e.Sample <= 0 {
		return e.kept(p, func() error {
			_, err := run(p, nil)
			return err
		}, names...)
	}
	return e.kept(p, func() error {
		var first struct {
			Part  P
			Again bool
			More  *multicore.Sampling // of the second run, nil for all in time
		}
		err := e.kept(&first, func() error {
			r, err := run(&first.Part, &multicore.Sampling{Share: e.Sample})
			if err == nil {
				first.More, first.Again = e.moreSamples(r)
			}
			return err
		}, "first windows", names)
		if err != nil {
			return err
		}
		*p = first.Part
		if !first.Again {
			return nil
		}
		var second P
		_, err = run(&second, first.More)
		switch {
		case err == nil:
			*p = second
		case ctx.Err() != nil && (errors.Is(err, context.Cause(ctx)) || errors.Is(err, ctx.Err())):
			err = errFirst
		}
		return err
	}, names...)
}

// errFirst says that a run was stopped while it had more windows than it counts by.
var errFirst = errors.New("counts by its first windows alone")

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
