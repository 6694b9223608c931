package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bitsched/bitsched/masim"
)

// Why a search was stopped; also the words for it in reports.
var (
	errInterrupt = errors.New("interrupt")
	errBudget    = errors.New("budget")
)

// search is a running search that the budget or the first Ctrl-C stops. What it
// has found by then is still verified and delivered.
type search struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	disarm func()
	unset  func() bool // stops the timer of the budget; nil = no budget
}

// startSearch starts the search. A budget counts from the start of the program;
// 0 means none.
func (a *app) startSearch(budget time.Duration, line *progressLine) *search {
	return a.startStoppable(budget, line, "finishing with the best schedule so far")
}

// startStoppable is startSearch for what is no search for a schedule: it says
// what an interrupt does. A budget that is spent already stops it at once.
func (a *app) startStoppable(budget time.Duration, line *progressLine, what string) *search {
	ctx, cancel := context.WithCancelCause(context.Background())
	s := &search{ctx: ctx, cancel: cancel}
	if budget > 0 {
		left := time.Until(a.start.Add(budget))
		if left <= 0 {
			cancel(errBudget)
		}
		s.unset = a.after(left, func() { cancel(errBudget) })
	}
	s.disarm = a.interrupt.onFirst(func() {
		cancel(errInterrupt)
		line.note("interrupted: %s (Ctrl-C again to abort)", what)
	})
	return s
}

// stopped says what stopped the search so far, "" if nothing did.
func (s *search) stopped() string {
	if cause := context.Cause(s.ctx); cause != nil {
		return cause.Error()
	}
	return ""
}

// interrupted reports whether Ctrl-C stopped the search.
func (s *search) interrupted() bool { return errors.Is(context.Cause(s.ctx), errInterrupt) }

// reasonOf is the error of what the search is part of: that of the interrupt or the
// budget if that stopped it.
func (s *search) reasonOf(err error) error {
	if cause := context.Cause(s.ctx); cause != nil {
		return fmt.Errorf("bitsched: stopped by %w", cause)
	}
	return err
}

// end lets the next Ctrl-C abort again. It may be called twice.
func (s *search) end() {
	s.disarm()
	if s.unset != nil {
		s.unset()
	}
	s.cancel(nil)
}

// searchProgress shows the reports of a scheduler.
func (a *app) searchProgress(line *progressLine) func(masim.Progress) {
	if a.progress == nil {
		return line.report
	}
	return func(p masim.Progress) {
		a.progress(p)
		line.report(p)
	}
}

// patternProgress shows how many patterns a program was executed on.
func (a *app) patternProgress(line *progressLine) func(done, total int) {
	if a.progress == nil {
		return line.patterns
	}
	return func(done, total int) {
		a.progress(masim.Progress{Phase: "verifying", Done: done, Total: total, Best: -1})
		line.patterns(done, total)
	}
}
