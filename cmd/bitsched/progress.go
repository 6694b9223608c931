package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/xmg"
)

// progressLine shows how a search gets on: one line on a terminal, rewritten in
// place at most ten times a second. Off a terminal it shows nothing but notes.
type progressLine struct {
	w        io.Writer
	terminal bool
	width    int // of the terminal, in characters; 0 if it is not known
	start    time.Time
	now      func() time.Time

	mu    sync.Mutex
	last  time.Time
	shown bool
}

func (a *app) newProgress() *progressLine {
	return &progressLine{w: a.stderr, terminal: a.terminal, width: widthOf(os.Stderr), start: a.start, now: time.Now}
}

func (p *progressLine) report(m masim.Progress) {
	p.show(func(since time.Duration) string { return progressText(m, since) })
}

// show puts a text in the place of the line before, ten times a second at most.
func (p *progressLine) show(line func(since time.Duration) string) {
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
	text := []rune(line(now.Sub(p.start)))
	if p.width > 0 && len(text) >= p.width {
		text = text[:p.width-1] // a second line would stay
	}
	fmt.Fprintf(p.w, "\r\033[K%s", string(text))
}

// showText shows a text with the time.
func (p *progressLine) showText(text string) {
	p.show(func(since time.Duration) string { return fmt.Sprintf("%5.1f s  %s", since.Seconds(), text) })
}

// progressText is the text of a progress line.
func progressText(m masim.Progress, since time.Duration) string {
	text := fmt.Sprintf("%5.1f s  %s", since.Seconds(), m.Phase)
	if m.Total >= 1000 { // a share rather than things to count
		text += fmt.Sprintf(" %d %%", 100*int64(m.Done)/int64(m.Total))
	} else if m.Total > 0 {
		text += fmt.Sprintf(" %d/%d", m.Done, m.Total)
	} else if m.Done > 0 {
		text += fmt.Sprintf(" %d", m.Done)
	}
	if m.Best >= 0 {
		text += fmt.Sprintf("  best: %d copies", m.Best)
	}
	return text
}

// phase shows the name of a step that has no count.
func (p *progressLine) phase(name string) {
	p.mu.Lock()
	p.last = time.Time{}
	p.mu.Unlock()
	p.report(masim.Progress{Phase: name, Best: -1})
}

// mapping shows how the making of a graph gets on.
func (p *progressLine) mapping(m xmg.Progress) {
	p.report(masim.Progress{Phase: m.Phase, Done: m.Done, Total: m.Total, Best: -1})
}

// patterns shows how a verification gets on.
func (p *progressLine) patterns(done, total int) {
	p.report(masim.Progress{Phase: "verifying pattern", Done: done, Total: total, Best: -1})
}

// note prints a line that stays.
func (p *progressLine) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	fmt.Fprintf(p.w, "bitsched: "+format+"\n", args...)
}

// clear removes the line.
func (p *progressLine) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
}

func (p *progressLine) erase() {
	if p.shown {
		fmt.Fprint(p.w, "\r\033[K")
		p.shown = false
	}
}
