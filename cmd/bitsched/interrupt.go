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
// other time the first one aborts, as SIGHUP always does. An abort leaves no
// temporary file behind. Each is answered by one line.
type interrupts struct {
	stderr io.Writer
	exit   func(int)
	ch     chan os.Signal

	mu    sync.Mutex
	stop  func()              // stops the running search, nil = none runs
	first bool                // an interrupt has stopped a search, and said so
	temps map[string]struct{} // files to remove on abort
}

func newInterrupts(stderr io.Writer, exit func(int)) *interrupts {
	return &interrupts{stderr: stderr, exit: exit, ch: make(chan os.Signal, 4), temps: map[string]struct{}{}}
}

func (in *interrupts) listen() {
	// A closed pipe is an error of the write, not a reason to die half way.
	signal.Ignore(syscall.SIGPIPE)
	signal.Notify(in.ch, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(in.ch, syscall.SIGHUP)
	}
	go func() {
		for s := range in.ch {
			if s == syscall.SIGHUP {
				in.hungUp()
				continue
			}
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
		in.stop, in.first = nil, true
		stop()
		return
	}
	in.abort()
}

func (in *interrupts) abort() {
	for path := range in.temps {
		os.Remove(path)
	}
	fmt.Fprintln(in.stderr, "bitsched: interrupted")
	in.exit(exitAborted)
}

// hungUp aborts at once: there is no terminal any more that a result could go to.
func (in *interrupts) hungUp() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.abort()
}

// answered reports whether an interrupt was answered by a line of its own.
func (in *interrupts) answered() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.first
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

// createTemp creates a file that an abort removes; it must not exist. It is not created
// once an abort has begun.
func (in *interrupts) createTemp(path string) (*os.File, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		in.temps[path] = struct{}{}
	}
	return f, err
}

func (in *interrupts) removeTemp(path string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.temps, path)
}
