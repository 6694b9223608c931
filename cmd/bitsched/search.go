package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/xmg"
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

// startStoppable starts a search and says what an interrupt does. A budget counts from
// the start of the program; 0 means none. One that is spent already stops it at once.
func (a *app) startStoppable(budget time.Duration, line *progressLine, what string) *search {
	s := a.startBudget(budget)
	a.onInterrupt(s, line, what)
	return s
}

// startBudget starts what a budget stops. An interrupt aborts, as there is nothing yet
// that could be delivered, until onInterrupt.
func (a *app) startBudget(budget time.Duration) *search {
	ctx, cancel := context.WithCancelCause(context.Background())
	s := &search{ctx: ctx, cancel: cancel, disarm: func() {}}
	if budget > 0 {
		left := time.Until(a.start.Add(budget))
		if left <= 0 {
			cancel(errBudget)
		}
		s.unset = a.after(left, func() { cancel(errBudget) })
	}
	return s
}

// onInterrupt lets the first interrupt stop the search. It says so at once, and so in
// the place of an error.
func (a *app) onInterrupt(s *search, line *progressLine, what string) {
	s.disarm = a.interrupt.onFirst(func() {
		s.cancel(errInterrupt)
		line.note("interrupted: %s (Ctrl-C again to abort)", what)
	})
}

// onceThereIs makes interrupts stop the search as soon as its reports tell of a schedule:
// before, there is nothing that could be delivered, and an interrupt aborts.
func (a *app) onceThereIs(s *search, line *progressLine, what string, report func(masim.Progress)) func(masim.Progress) {
	armed := false
	return func(p masim.Progress) {
		if p.Best >= 0 && !armed {
			armed = true
			a.onInterrupt(s, line, what)
		}
		report(p)
	}
}

// stopped says what stopped the search so far, "" if nothing did.
func (s *search) stopped() string {
	if cause := context.Cause(s.ctx); cause != nil {
		return cause.Error()
	}
	return ""
}

// reasonOf is the error of what the search is part of: that of the interrupt or the
// budget if that stopped it.
func (s *search) reasonOf(err error) error {
	if cause := context.Cause(s.ctx); cause != nil {
		return fmt.Errorf("bitsched: stopped by %w", cause)
	}
	return err
}

// interrupted reports whether Ctrl-C stopped the search.
func (s *search) interrupted() bool { return errors.Is(context.Cause(s.ctx), errInterrupt) }

// end lets the next Ctrl-C abort again. It may be called twice.
func (s *search) end() {
	s.disarm()
	if s.unset != nil {
		s.unset()
	}
	s.cancel(nil)
}

// phase shows the name of a step.
func (a *app) phase(line *progressLine, name string) {
	line.phase(name)
	if a.progress != nil {
		a.progress(masim.Progress{Phase: name, Best: -1})
	}
}

// graphProgress shows the reports of package xmg.
func (a *app) graphProgress(line *progressLine) func(xmg.Progress) {
	report := a.searchProgress(line)
	return func(m xmg.Progress) {
		report(masim.Progress{Phase: m.Phase, Done: m.Done, Total: m.Total, Best: -1})
	}
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
