// Package queue runs the jobs of a sweep on many machines, by a work queue in NATS
// JetStream.
//
// The queue is a stream with a message for each job, at most one of a key, and one
// consumer that all workers pull from ([Worker]). A worker says that it is alive
// while a job runs; the job of one that says nothing for a lease goes to another.
// Inputs and results are objects in stores, named by the keys of what they hold and
// of jobs, so that what is there twice is the same bytes, and what a worker died over
// is done again or found. An [Executor] fills the queue and collects results; it may
// die and be started again at any time, and so may the server ([Server]).
// Workers take jobs of their own build of the program only: the names of streams have
// its version.
//
// It is not a service: nothing listens but the server, and that with a password or on
// loopback only.
//
//	conn, err := queue.Connection{URL: "nats://127.0.0.1:4222"}.Dial(ctx)
//	s.Executor = &queue.Executor{Conn: conn, Version: version}
package queue
