package main

import (
	"fmt"
	"time"

	"github.com/bitsched/bitsched/lowering/mapping/plan"
)

// planning shows how a network gets on.
func (p *progressLine) planning(m plan.Progress) {
	p.show(func(since time.Duration) string {
		text := fmt.Sprintf("%5.1f s  %s %s %d/%d", since.Seconds(), m.Phase, m.Layer, m.Done, m.Total)
		if m.Evaluations > 0 {
			text += fmt.Sprintf("  %.0f evaluations/s", float64(m.Evaluations)/max(since.Seconds(), 1e-3))
		}
		if m.Best > 0 && m.Bound > 0 {
			text += fmt.Sprintf("  best %d, at least %d, gap %.1f %%", m.Best, m.Bound, 100*(float64(m.Best)/float64(m.Bound)-1))
		}
		return text
	})
}

// studying shows how a study gets on.
func (p *progressLine) studying(what string, done, total int) {
	p.show(func(since time.Duration) string {
		return fmt.Sprintf("%5.1f s  %s %d/%d", since.Seconds(), what, done, total)
	})
}
