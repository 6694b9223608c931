package main

import (
	"fmt"
	"strings"
)

// summary is what a command says to a person: a name and a text on each line,
// the texts aligned, groups apart.
type summary struct {
	lines []summaryLine
}

type summaryLine struct{ name, text string }

// add appends a line.
func (s *summary) add(name, format string, args ...any) {
	s.lines = append(s.lines, summaryLine{name, fmt.Sprintf(format, args...)})
}

// gap starts a new group.
func (s *summary) gap() { s.lines = append(s.lines, summaryLine{}) }

func (s *summary) String() string {
	width := 0
	for _, l := range s.lines {
		width = max(width, len(l.name))
	}
	var b strings.Builder
	for _, l := range s.lines {
		if l == (summaryLine{}) {
			b.WriteByte('\n')
			continue
		}
		fmt.Fprintf(&b, "%-*s  %s\n", width, l.name, l.text)
	}
	return b.String()
}

// count is "1 gate", "2 gates".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// seconds rounds a time to what a person wants to read.
func seconds(s float64) string {
	switch {
	case s < 0.1:
		return fmt.Sprintf("%.3f s", s)
	case s < 10:
		return fmt.Sprintf("%.2f s", s)
	default:
		return fmt.Sprintf("%.1f s", s)
	}
}
