package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bitsched/bitsched/benchmarks/sweep"
)

// Worker runs jobs of a queue.
type Worker struct {
	Conn    *nats.Conn
	Version string // of the program: of no other build are jobs taken
	Program string // that jobs are arguments of
	Slots   int    // jobs at a time
	Lease   time.Duration
	Idle    time.Duration // Run ends when there was nothing to do for so long; 0 = never

	Note     func(format string, args ...any) // told what a person should know; may be nil
	Finished func(r *sweep.Record)            // told of each job that was run, one at a time; may be nil

	mu sync.Mutex // of Finished
}

func (w *Worker) note(format string, args ...any) {
	if w.Note != nil {
		w.Note(format, args...)
	}
}

// Run takes jobs until ctx ends, which is no error. Jobs that run then are given back.
func (w *Worker) Run(ctx context.Context) error {
	outer := ctx
	q, err := openQueue(ctx, w.Conn, w.Version, w.Lease)
	if outer.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var busy atomic.Int64 // when the last job ended, or now while one runs
	busy.Store(time.Now().UnixNano())
	var running atomic.Int64
	var wg sync.WaitGroup
	for range max(w.Slots, 1) {
		wg.Go(func() {
			for ctx.Err() == nil {
				m, err := q.next(ctx)
				switch {
				case err != nil && ctx.Err() == nil:
					cancel(err)
				case m != nil:
					running.Add(1)
					w.handle(ctx, q, m)
					running.Add(-1)
					busy.Store(time.Now().UnixNano())
				case w.Idle > 0 && running.Load() == 0 && time.Since(time.Unix(0, busy.Load())) > w.Idle:
					cancel(errIdle)
				}
			}
		})
	}
	wg.Wait()
	if cause := context.Cause(ctx); outer.Err() == nil && !errors.Is(cause, errIdle) {
		return cause
	}
	return nil
}

var errIdle = errors.New("queue: idle")

// poll is how long a worker waits for a job before it asks again.
const poll = 2 * time.Second

// next returns a job, nil if there is none for a while. An error is one that stays.
func (q *queue) next(ctx context.Context) (jetstream.Msg, error) {
	batch, err := q.workers.Fetch(1, jetstream.FetchMaxWait(poll))
	if err == nil {
		select {
		case m, ok := <-batch.Messages():
			if ok {
				return m, nil
			}
		case <-ctx.Done():
			go giveBack(batch)
			return nil, nil
		}
		err = batch.Error()
	}
	switch {
	case err == nil, errors.Is(err, nats.ErrTimeout), errors.Is(err, jetstream.ErrNoMessages):
		return nil, nil
	case errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrConsumerDeleted), errors.Is(err, jetstream.ErrConsumerDoesNotExist), errors.Is(err, nats.ErrNoResponders):
		return nil, retry(ctx, q.create) // the server has lost it
	case starting(err):
		return nil, retry(ctx, q.create)
	case hopeless(err):
		return nil, fmt.Errorf("queue: %w", err)
	}
	_ = sleep(ctx, 200*time.Millisecond)
	return nil, nil
}

// giveBack lets another worker have what a request brings that nobody waits for any more.
func giveBack(batch jetstream.MessageBatch) {
	for m := range batch.Messages() {
		_ = m.Nak() // if it is lost, the job comes to another when its lease ends
	}
}

// handle runs a job and puts its result into the store.
func (w *Worker) handle(ctx context.Context, q *queue, m jetstream.Msg) {
	var j message
	if err := json.Unmarshal(m.Data(), &j); err != nil {
		_ = m.Term() // nobody can read it
		return
	}
	if err := j.Job.Validate(); err != nil {
		w.complain(q, m, j.Job.Key, err)
		return
	}
	alive, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		for sleep(alive, q.lease/3) == nil {
			_ = m.InProgress() // a server that is gone finds out by itself
		}
	}()
	if meta, err := m.Metadata(); err == nil && meta.NumDelivered > 1 {
		if _, err := q.results.GetInfo(ctx, j.Job.Key); err == nil {
			_ = m.Ack() // done by one who could not say so; if this is lost, the next says it
			return
		}
	}
	fetch := func(in sweep.Input, path string) error {
		return retry(ctx, func(ctx context.Context) error { return q.fetch(ctx, in, path) })
	}
	r, t, err := sweep.Execute(ctx, w.Program, &j.Job, time.Duration(j.Timeout), fetch)
	switch {
	case errors.Is(err, sweep.ErrStopped) || ctx.Err() != nil && err != nil:
		_ = m.Nak() // for another worker, at once
		return
	case err != nil:
		w.complain(q, m, j.Job.Key, err)
		return
	}
	text, err := json.Marshal(outcome{r, t})
	if err == nil {
		err = retry(ctx, func(ctx context.Context) error {
			_, err := q.results.PutBytes(ctx, j.Job.Key, text)
			return err
		})
	}
	if err != nil {
		w.complain(q, m, j.Job.Key, err)
		return
	}
	ack, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	_ = m.DoubleAck(ack) // if it is lost, whoever gets the job finds the result
	if w.Finished != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.Finished(r)
	}
}

// complain tells the sweep that a job cannot be run, and gives it back.
func (w *Worker) complain(q *queue, m jetstream.Msg, key string, err error) {
	w.note("%s", err)
	if text, err := json.Marshal(trouble{key, err.Error()}); err == nil {
		_ = q.conn.Publish(q.troubles(), text) // told again when the job comes again
	}
	_ = m.NakWithDelay(q.lease)
}

// fetch writes an input to a new file. What it holds is checked.
func (q *queue) fetch(ctx context.Context, in sweep.Input, path string) error {
	o, err := q.inputs.Get(ctx, in.Key)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return permanent{fmt.Errorf("queue: the server has no input %s", in.Name)}
	}
	if err != nil {
		return err
	}
	defer o.Close()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return permanent{fmt.Errorf("queue: %w", err)}
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, h), o)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if hex.EncodeToString(h.Sum(nil)) != in.Key {
		return permanent{fmt.Errorf("queue: input %s is not what the sweep put there", in.Name)}
	}
	return nil
}
