package reproduce

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
)

// job is one run of an entry, which stores what it finds where its maker looks for it.
type job struct {
	name string // of failures and progress, as in "pathfinder in ns"
	run  func(ctx context.Context, env *Env) error
}

// errBudget says that a run has taken longer than it may.
var errBudget = errors.New("not ended within the budget")

// runJobs runs jobs, as many at a time as there are threads, each within the budget. It says
// which have ended, and, in the order of jobs, what became of the others. When it is stopped
// it says so among these, and is an error only if no job has ended. What jobs find does not
// depend on how many run at a time.
func (e *Env) runJobs(ctx context.Context, jobs []job) (ended []bool, failed []string, err error) {
	var mutex sync.Mutex // of progress
	env := *e
	finished := 0
	env.Progress = func(what string, done, total int) {
		mutex.Lock()
		defer mutex.Unlock()
		e.progress(what, done, total)
	}
	ended = make([]bool, len(jobs))
	whys := make([]error, len(jobs))
	var group errgroup.Group
	group.SetLimit(max(1, e.Threads))
	for i, j := range jobs {
		group.Go(func() error { // waits for a place
			if ctx.Err() != nil {
				whys[i] = context.Cause(ctx)
				return nil
			}
			limited, cancel := ctx, context.CancelFunc(func() {})
			if e.Budget > 0 {
				limited, cancel = context.WithTimeoutCause(ctx, e.Budget, errBudget)
			}
			defer cancel()
			mutex.Lock()
			e.progress(j.name, finished, len(jobs))
			mutex.Unlock()
			err := j.run(limited, &env)
			ended[i] = err == nil || errors.Is(err, errFirst)
			why := err
			switch budget := err != nil && errors.Is(context.Cause(limited), errBudget); {
			case budget && ended[i]:
				why = fmt.Errorf("%w: with more, %w of %s", errFirst, errBudget, e.Budget)
			case budget:
				why = fmt.Errorf("%w of %s", errBudget, e.Budget)
			case err != nil && ended[i]:
				why = fmt.Errorf("%w: stopped before it had more", errFirst)
			}
			whys[i] = why
			mutex.Lock()
			finished++
			mutex.Unlock()
			return nil
		})
	}
	_ = group.Wait()
	done, stopped := false, false
	for i, j := range jobs {
		switch {
		case ended[i]:
			done = true
			if whys[i] != nil {
				failed = append(failed, fmt.Sprintf("%s %s", j.name, whys[i]))
			}
		case ctx.Err() == nil || errors.Is(whys[i], errBudget):
			failed = append(failed, fmt.Sprintf("%s: %s", j.name, whys[i]))
		case !stopped:
			stopped = true
			failed = append(failed, fmt.Sprintf("stopped before %s was complete", j.name))
		}
	}
	if stopped && !done {
		return nil, nil, context.Cause(ctx)
	}
	return ended, failed, nil
}
