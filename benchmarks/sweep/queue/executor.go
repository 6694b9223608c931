package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bitsched/bitsched/benchmarks/sweep"
)

// Executor has jobs run by the workers of a queue. It implements [sweep.Executor].
type Executor struct {
	Conn    *nats.Conn
	Version string // of the program
	Lease   time.Duration
	Again   bool // jobs that failed are run again, though the cluster has their records

	// Workers are those in this process, 0 for none; Program is what they run.
	Workers int
	Program string

	Note func(format string, args ...any) // told what a person should know; may be nil
}

func (e *Executor) note(format string, args ...any) {
	if e.Note != nil {
		e.Note(format, args...)
	}
}

// Run implements [sweep.Executor]. When ctx ends, jobs that no worker has taken are
// taken out of the queue.
func (e *Executor) Run(ctx context.Context, jobs []sweep.Job, timeout time.Duration, done func(*sweep.Record, *sweep.Times) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q, err := openQueue(ctx, e.Conn, e.Version, e.Lease)
	if err != nil {
		return err
	}
	c := &collector{queue: q, executor: e, timeout: timeout, done: done, left: map[string]*sweep.Job{}}
	for i := range jobs {
		c.left[jobs[i].Key] = &jobs[i]
		c.order = append(c.order, jobs[i].Key)
	}
	troubles := make(chan *nats.Msg, 64)
	sub, err := e.Conn.ChanSubscribe(q.troubles(), troubles)
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	finished := make(chan error, 1)
	if e.Workers > 0 {
		local, stop := context.WithCancel(ctx)
		go func() {
			w := &Worker{Conn: e.Conn, Version: e.Version, Program: e.Program, Slots: e.Workers, Lease: e.Lease, Note: e.Note}
			finished <- w.Run(local)
		}()
		defer func() { stop(); <-finished }()
	}
	err = c.run(ctx, troubles)
	if err != nil {
		c.withdraw()
	}
	return err
}

// collector is a run of an executor.
type collector struct {
	*queue
	executor *Executor
	timeout  time.Duration
	done     func(*sweep.Record, *sweep.Times) error
	left     map[string]*sweep.Job // without a record yet
	order    []string
	noted    bool
}

// audit is how often it is looked, at most, whether all jobs are with someone.
const audit = 5 * time.Second

func (c *collector) run(ctx context.Context, troubles <-chan *nats.Msg) error {
	if err := c.upload(ctx); err != nil {
		return err
	}
	if c.executor.Again {
		if err := c.forget(ctx); err != nil {
			return err
		}
	}
	if err := c.collectAll(ctx); err != nil {
		return err
	}
	if err := c.publish(ctx); err != nil {
		return err
	}
	tick := time.NewTicker(min(audit, c.lease))
	defer tick.Stop()
	var updates <-chan *jetstream.ObjectInfo
	var watcher jetstream.ObjectWatcher
	defer func() {
		if watcher != nil {
			_ = watcher.Stop() // the connection may be gone
		}
	}()
	watch := func() error {
		if watcher != nil {
			_ = watcher.Stop()
		}
		err := retry(ctx, func(context.Context) (err error) {
			watcher, err = c.results.Watch(ctx, jetstream.UpdatesOnly())
			return err
		})
		if err != nil {
			return err
		}
		updates = watcher.Updates()
		return c.collectAll(ctx) // what came before the watcher
	}
	if err := watch(); err != nil {
		return err
	}
	for len(c.left) > 0 {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case info, ok := <-updates:
			if !ok {
				if err := watch(); err != nil {
					return err
				}
				continue
			}
			if info != nil && !info.Deleted {
				if err := c.collect(ctx, info.Name); err != nil {
					return err
				}
			}
		case m := <-troubles:
			var t trouble
			if json.Unmarshal(m.Data, &t) == nil && c.left[t.Key] != nil {
				return errors.New(t.Error)
			}
		case <-tick.C:
			if err := c.look(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// upload puts the inputs into the store that it lacks.
func (c *collector) upload(ctx context.Context) error {
	seen := map[string]bool{}
	for _, key := range c.order {
		for _, in := range c.left[key].Inputs {
			if seen[in.Key] {
				continue
			}
			seen[in.Key] = true
			err := retry(ctx, func(ctx context.Context) error {
				_, err := c.inputs.GetInfo(ctx, in.Key)
				if err == nil || !errors.Is(err, jetstream.ErrObjectNotFound) {
					return err
				}
				f, err := os.Open(in.Path)
				if err != nil {
					return permanent{fmt.Errorf("queue: %w", err)}
				}
				defer f.Close()
				_, err = c.inputs.Put(ctx, jetstream.ObjectMeta{Name: in.Key}, f)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// forget removes records of failures from the store.
func (c *collector) forget(ctx context.Context) error {
	return c.each(ctx, func(ctx context.Context, key string) error {
		o, err := c.result(ctx, key)
		if err != nil || o == nil || !o.Record.Failed() {
			return err
		}
		return c.results.Delete(ctx, key)
	})
}

// collectAll takes all records that the store has.
func (c *collector) collectAll(ctx context.Context) error {
	return c.each(ctx, c.collect)
}

// each calls f for every job of ours that the store has something of.
func (c *collector) each(ctx context.Context, f func(ctx context.Context, key string) error) error {
	var list []*jetstream.ObjectInfo
	err := retry(ctx, func(ctx context.Context) (err error) {
		list, err = c.results.List(ctx)
		if errors.Is(err, jetstream.ErrNoObjectsFound) {
			list, err = nil, nil
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, info := range list {
		if c.left[info.Name] == nil {
			continue
		}
		if err := retry(ctx, func(ctx context.Context) error { return f(ctx, info.Name) }); err != nil {
			return err
		}
	}
	return nil
}

// collect hands on the record of a job, once.
func (c *collector) collect(ctx context.Context, key string) error {
	if c.left[key] == nil {
		return nil
	}
	var o *outcome
	err := retry(ctx, func(ctx context.Context) (err error) {
		o, err = c.result(ctx, key)
		return err
	})
	if err != nil || o == nil {
		return err
	}
	delete(c.left, key)
	if err := c.done(o.Record, o.Times); err != nil {
		return permanent{err}
	}
	return nil
}

// publish puts jobs without a record into the queue, but those that are there.
func (c *collector) publish(ctx context.Context) error {
	for _, key := range c.order {
		j := c.left[key]
		if j == nil {
			continue
		}
		text, err := json.Marshal(message{j.Staged(), int64(c.timeout)})
		if err != nil {
			return fmt.Errorf("queue: %w", err)
		}
		err = retry(ctx, func(ctx context.Context) error {
			_, err := c.js.Publish(ctx, c.subject(key), text)
			var api *jetstream.APIError
			if errors.As(err, &api) && strings.Contains(api.Description, there) {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// there is what JetStream says of a message that a stream does not take since it has one
// of the subject; the code of the error is that of any failure to store.
const there = "maximum messages per subject"

// look finds jobs that nobody has: a server that was killed may have lost them. It says
// so where nobody asks for jobs.
func (c *collector) look(ctx context.Context) error {
	var info *jetstream.ConsumerInfo
	err := retry(ctx, func(ctx context.Context) (err error) {
		if info, err = c.workers.Info(ctx); err != nil && !errors.Is(err, nats.ErrTimeout) {
			err = errors.Join(err, c.create(ctx)) // a server that lost its folder
		}
		return err
	})
	if err != nil {
		return err
	}
	if info.NumWaiting == 0 && info.NumAckPending == 0 && info.NumPending > 0 && !c.noted {
		c.noted = true
		c.executor.note("no worker asks for jobs: start bitsched worker --nats with this build of the program")
	}
	if int(info.NumPending)+info.NumAckPending >= len(c.left) {
		return nil
	}
	if err := c.collectAll(ctx); err != nil {
		return err
	}
	return c.publish(ctx)
}

// withdraw takes the jobs that are left out of the queue.
func (c *collector) withdraw() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	for _, key := range c.order {
		if c.left[key] != nil && c.queue.jobs.Purge(ctx, jetstream.WithPurgeSubject(c.subject(key))) != nil {
			return // what stays is done and found by the next sweep
		}
	}
}
