package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bitsched/bitsched/benchmarks/sweep"
)

// DefaultLease is how long a job stays with a worker that says nothing.
const DefaultLease = 15 * time.Second

// keep is how long a cluster keeps jobs that nobody takes, inputs and results.
const keep = 30 * 24 * time.Hour

// message is a job in the queue.
type message struct {
	Job     sweep.Job `json:"job"`
	Timeout int64     `json:"timeout"` // ns, 0 = none
}

// outcome is what the store of results has of a job.
type outcome struct {
	Record *sweep.Record `json:"record"`
	Times  *sweep.Times  `json:"times"`
}

// trouble is told by workers that cannot run a job.
type trouble struct {
	Key   string `json:"key"`
	Error string `json:"error"`
}

// queue is what executors and workers of one version share on a server.
type queue struct {
	conn    *nats.Conn
	js      jetstream.JetStream
	version string // that names have
	lease   time.Duration

	jobs    jetstream.Stream
	workers jetstream.Consumer
	inputs  jetstream.ObjectStore
	results jetstream.ObjectStore
}

func (q *queue) subject(key string) string { return "bitsched.jobs." + q.version + "." + key }

func (q *queue) troubles() string { return "bitsched.troubles." + q.version }

// openQueue makes what is not there yet.
func openQueue(ctx context.Context, conn *nats.Conn, version string, lease time.Duration) (*queue, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	if lease <= 0 {
		lease = DefaultLease
	}
	q := &queue{conn: conn, js: js, version: version[:min(len(version), 16)], lease: lease}
	return q, retry(ctx, q.create)
}

func (q *queue) create(ctx context.Context) (err error) {
	q.jobs, err = q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: "bitsched-jobs-" + q.version, Description: "jobs of sweeps", Subjects: []string{q.subject("*")},
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, MaxAge: keep,
		// A job is in the queue once, however many ask for it.
		Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgsPerSubject: 1,
	})
	if err != nil {
		return err
	}
	q.workers, err = q.jobs.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: "workers", AckPolicy: jetstream.AckExplicitPolicy, AckWait: q.lease, MaxDeliver: -1, MaxAckPending: 100_000,
	})
	if err != nil {
		return err
	}
	q.inputs, err = q.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: "bitsched-inputs", Description: "inputs of jobs, by what they hold", TTL: keep})
	if err != nil {
		return err
	}
	q.results, err = q.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: "bitsched-results-" + q.version, Description: "records of jobs, by their keys", TTL: keep})
	return err
}

// result returns what the store has of a job; nil if there is none.
func (q *queue) result(ctx context.Context, key string) (*outcome, error) {
	text, err := q.results.GetBytes(ctx, key)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var o outcome
	if err := json.Unmarshal(text, &o); err != nil || o.Record == nil || o.Times == nil || o.Record.Key != key {
		return nil, permanent{fmt.Errorf("queue: the result of job %.12s is none", key)}
	}
	return &o, nil
}

// permanent is an error that trying again does not cure.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// attempt bounds a call to a server that may be gone.
const attempt = 10 * time.Second

// retry calls f until it succeeds or ctx ends, for a server that is gone comes back.
func retry(ctx context.Context, f func(ctx context.Context) error) error {
	start := time.Now()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		one, cancel := context.WithTimeout(ctx, attempt)
		err := f(one)
		cancel()
		var p permanent
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &p):
			return p.error
		case hopeless(err) && (!starting(err) || time.Since(start) > patience):
			return fmt.Errorf("queue: %w", err)
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// starting reports whether an error may be that of a server that starts: nobody answers
// for its streams yet.
func starting(err error) bool {
	return errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount)
}

// hopeless reports whether a server says no, rather than nothing.
func hopeless(err error) bool {
	if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) ||
		errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrPermissionViolation) {
		return true
	}
	var api *jetstream.APIError
	return errors.As(err, &api) && api.Code == 400
}
