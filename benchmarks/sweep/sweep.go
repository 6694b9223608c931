package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/bitsched/bitsched/benchmarks/results"
)

// Executor runs jobs and hands each record to done, from one goroutine at a time; an
// error of done ends it. It returns when all jobs have a record or ctx ends.
type Executor interface {
	Run(ctx context.Context, jobs []Job, timeout time.Duration, done func(*Record, *Times) error) error
}

// Sweep runs a plan.
type Sweep struct {
	Plan     *Plan
	Store    *results.Store
	Executor Executor

	Shard, Shards int  // of so many shards only this one, from 1; 0 = all
	Retry         bool // run again what failed before

	// Progress is told of each record, with what is left; may be nil.
	Progress func(Progress)
}

// Progress is how far a sweep is.
type Progress struct {
	Done, Failed, Total int           // jobs
	Kept                int           // of Done, found in the store
	Left                time.Duration // estimate, 0 if there is none yet
}

// Summary is what came of a run.
type Summary struct {
	Jobs, Done, Failed, Kept int
}

// timesOf is the key of the times of a job.
func timesOf(key string) string { return results.Key("times", key) }

// jobs are those of the shard.
func (s *Sweep) jobs() []Job {
	if s.Shards == 0 {
		return s.Plan.Jobs
	}
	var list []Job
	for i := range s.Plan.Jobs {
		if i%s.Shards == s.Shard-1 {
			list = append(list, s.Plan.Jobs[i])
		}
	}
	return list
}

// Run runs the jobs that have no record yet. An error is one of the sweep, not of a
// job; records that are there then stay.
func (s *Sweep) Run(ctx context.Context) (*Summary, error) {
	jobs := s.jobs()
	p := Progress{Total: len(jobs)}
	var todo []Job
	for _, j := range jobs {
		var r Record
		ok, err := s.Store.Get(j.Key, &r)
		if err != nil {
			return nil, err
		}
		if !ok || r.Failed() && s.Retry {
			todo = append(todo, j)
			continue
		}
		p.Done++
		p.Kept++
		if r.Failed() {
			p.Failed++
		}
	}
	s.report(p)
	start := time.Now()
	err := error(nil)
	if len(todo) > 0 {
		first := p.Done
		err = s.Executor.Run(ctx, todo, s.Plan.Timeout, func(r *Record, t *Times) error {
			if err := s.Store.Put(timesOf(r.Key), t); err != nil {
				return err
			}
			if err := s.Store.Put(r.Key, r); err != nil {
				return err
			}
			p.Done++
			if r.Failed() {
				p.Failed++
			}
			if n := p.Done - first; n >= 3 {
				p.Left = time.Since(start) / time.Duration(n) * time.Duration(p.Total-p.Done)
			}
			s.report(p)
			return nil
		})
	}
	return &Summary{p.Total, p.Done, p.Failed, p.Kept}, err
}

func (s *Sweep) report(p Progress) {
	if s.Progress != nil {
		s.Progress(p)
	}
}

// Records returns the records of the shard's jobs that are there, in the order of the
// plan.
func (s *Sweep) Records() ([]*Record, error) {
	var list []*Record
	for _, j := range s.jobs() {
		r := &Record{}
		ok, err := s.Store.Get(j.Key, r)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, r)
		}
	}
	return list, nil
}

// Export writes the records as JSON lines. They are the same bytes for every
// executor.
func (s *Sweep) Export(w io.Writer) error {
	list, err := s.Records()
	if err != nil {
		return err
	}
	for _, r := range list {
		text, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("sweep: %w", err)
		}
		if _, err := w.Write(append(text, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// Estimate returns the seconds of CPU that a job is expected to take, and of how many
// jobs with times that is the mean: those whose parameters differ in the fewest
// places. 0 jobs is no estimate.
func (s *Sweep) Estimate(j *Job) (seconds float64, of int, err error) {
	least := len(j.Params) + 1
	for i := range s.Plan.Jobs {
		o := &s.Plan.Jobs[i]
		var t Times
		ok, err := s.Store.Get(timesOf(o.Key), &t)
		if err != nil {
			return 0, 0, err
		}
		if !ok {
			continue
		}
		d := 0
		for _, x := range j.Params {
			if !covers([]Param{x}, o.Params) {
				d++
			}
		}
		switch {
		case d < least:
			least, seconds, of = d, t.CPU, 1
		case d == least:
			seconds += t.CPU
			of++
		}
	}
	if of > 0 {
		seconds /= float64(of)
	}
	return seconds, of, nil
}

// Merge copies what other stores have to one. Where both have a record, one without a
// failure stays.
func Merge(to *results.Store, from ...*results.Store) (added int, err error) {
	for _, s := range from {
		keys, err := s.Keys()
		if err != nil {
			return added, err
		}
		for _, key := range keys {
			var have, other json.RawMessage
			if _, err := s.Get(key, &other); err != nil {
				return added, err
			}
			ok, err := to.Get(key, &have)
			if err != nil {
				return added, err
			}
			if ok && !(failed(have) && !failed(other)) {
				continue
			}
			if err := to.Put(key, other); err != nil {
				return added, err
			}
			added++
		}
	}
	return added, nil
}

func failed(text json.RawMessage) bool {
	var r Record
	return json.Unmarshal(text, &r) == nil && r.Failed()
}

// Local runs jobs in processes on this machine, some at a time.
type Local struct {
	Workers int    // 0 = one for each core
	Program string // that jobs are arguments of
}

// Run implements [Executor].
func (l *Local) Run(ctx context.Context, jobs []Job, timeout time.Duration, done func(*Record, *Times) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	workers := l.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	next := make(chan *Job)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range min(workers, len(jobs)) {
		wg.Go(func() {
			for j := range next {
				r, t, err := Execute(ctx, l.Program, j, timeout, func(in Input, path string) error { return copyFile(in.Path, path) })
				if err == nil {
					mu.Lock()
					err = done(r, t)
					mu.Unlock()
				}
				if err != nil && !errors.Is(err, ErrStopped) {
					cancel(err)
				}
			}
		})
	}
feed:
	for i := range jobs {
		select {
		case next <- &jobs[i]:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}
