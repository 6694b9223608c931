package masim

import (
	"context"
	"fmt"
	"math"
)

// settleStates is how many states of the memory are looked at for a schedule of a small problem.
const settleStates = 100_000

// settle looks for a schedule where none was found, err saying so, or for a proof that there is none.
//
// A small problem is decided by a walk through the states of the memory, see [runOptimal]. Of others it is
// known how many values are live at some moment whatever the order is: where they are more than the
// rows that hold no input, there is no schedule.
func settle(ctx context.Context, p Problem, o Options, err error) (*Result, error) {
	in := newInstance(p, p.Geometry.Arrays)
	if s, tooLarge := newOptimal(in); tooLarge == nil {
		s.report = func(f int) { o.report(Progress{Phase: "looking for any schedule", Done: f, Best: -1}) }
		switch goal, how := s.run(ctx, math.MaxInt, settleStates); how {
		case foundOptimum:
			prog, err := emit(p, s.steps(goal))
			if err != nil {
				return nil, err
			}
			return &Result{Program: prog, Copies: prog.Copies(), Trials: len(s.cost), Optimal: true}, nil
		case noneBetter:
			return nil, fmt.Errorf("masim: %w: no order of the gates fits the rows, as a search of all %d states of the memory shows",
				ErrInfeasible, len(s.cost))
		}
		return nil, err
	}
	room := 0
	for _, n := range in.room {
		room += int(n)
	}
	m := newCutBound(ctx, in, true).moments()[0]
	switch {
	case int(m.live) > room && m.gate < 0:
		return nil, fmt.Errorf("masim: %w: there is no schedule: %d gates are outputs, and %d rows hold no input", ErrInfeasible, m.live, room)
	case int(m.live) > room:
		return nil, fmt.Errorf("masim: %w: there is no schedule: before gate %d at least %d values are live, and %d rows hold no input",
			ErrInfeasible, m.gate, m.live, room)
	}
	return nil, fmt.Errorf("%w; that there is none is not proved: at least %d values are live at a time, and %d rows hold no input", err, m.live, room)
}
