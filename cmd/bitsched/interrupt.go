package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interrupts turns Ctrl-C (and SIGTERM) into what the program promises: while a
// search runs, the first one stops the search and the second one aborts; at any
// other time the first one aborts. An abort leaves no temporary file behind.
type interrupts struct {
	stderr io.Writer
	exit   func(int)
	ch     chan os.Signal

	mu    sync.Mutex
	stop  func()              // stops the running search, nil = none runs
	temps map[string]struct{} // files to remove on abort
}

func newInterrupts(stderr io.Writer, exit func(int)) *interrupts {
	return &interrupts{stderr: stderr, exit: exit, ch: make(chan os.Signal, 4), temps: map[string]struct{}{}}
}

func (in *interrupts) listen() {
	// A closed pipe is an error of the write, not a reason to die half way.
	signal.Ignore(syscall.SIGPIPE)
	signal.Notify(in.ch, os.Interrupt, syscall.SIGTERM)
	go func() {
		for range in.ch {
			in.signalled()
		}
	}()
}

func (in *interrupts) close() {
	signal.Stop(in.ch)
	close(in.ch)
}

func (in *interrupts) signalled() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if stop := in.stop; stop != nil {
		in.stop = nil
		stop()
		return
	}
	for path := range in.temps {
		os.Remove(path)
	}
	fmt.Fprintln(in.stderr, "bitsched: interrupted")
	in.exit(exitAborted)
}

// onFirst makes the next interrupt call stop instead of aborting. The function
// that it returns takes that back.
func (in *interrupts) onFirst(stop func()) (done func()) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.stop = stop
	return func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.stop = nil
	}
}

// stopping reports whether nothing is left that a first interrupt would stop.
func (in *interrupts) stopping() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.stop == nil
}

// addTemp notes a temporary file that an abort must remove.
func (in *interrupts) addTemp(path string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.temps[path] = struct{}{}
}

func (in *interrupts) removeTemp(path string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.temps, path)
}
