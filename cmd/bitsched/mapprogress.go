package main

import (
	"fmt"
	"time"

	"github.com/bitsched/bitsched/lowering/mapping/plan"
)

// planning shows how a network gets on.
func (p *progressLine) planning(m plan.Progress) {
	if !p.terminal {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if now.Sub(p.last) < 100*time.Millisecond {
		return
	}
	p.last, p.shown = now, true
	since := now.Sub(p.start)
	text := fmt.Sprintf("%5.1f s  %s %s %d/%d", since.Seconds(), m.Phase, m.Layer, m.Done, m.Total)
	if m.Evaluations > 0 {
		text += fmt.Sprintf("  %.0f evaluations/s", float64(m.Evaluations)/max(since.Seconds(), 1e-3))
	}
	if m.Best > 0 && m.Bound > 0 {
		text += fmt.Sprintf("  best %d, at least %d, gap %.1f %%", m.Best, m.Bound, 100*(float64(m.Best)/float64(m.Bound)-1))
	}
	line := []rune(text)
	if p.width > 0 && len(line) >= p.width {
		line = line[:p.width-1]
	}
	fmt.Fprintf(p.w, "\r\033[K%s", string(line))
}

// studying shows how a study gets on.
func (p *progressLine) studying(what string, done, total int) {
	if !p.terminal {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if now.Sub(p.last) < 100*time.Millisecond {
		return
	}
	p.last, p.shown = now, true
	line := []rune(fmt.Sprintf("%5.1f s  %s %d/%d", now.Sub(p.start).Seconds(), what, done, total))
	if p.width > 0 && len(line) >= p.width {
		line = line[:p.width-1]
	}
	fmt.Fprintf(p.w, "\r\033[K%s", string(line))
}
