package main

import "strings"

// wrapHelp wraps the help of a command to the width of a terminal: paragraphs, and
// the texts of flags and commands below themselves. Examples and what else is
// indented without a gap stay as they are.
func wrapHelp(help string, width int) string {
	var out strings.Builder
	var paragraph []string
	emit := func(indent int, first, text string) {
		line, begun := first, false
		for _, word := range strings.Fields(text) {
			if begun && len(line)+1+len(word) > width {
				out.WriteString(strings.TrimRight(line, " ") + "\n")
				line, begun = strings.Repeat(" ", indent), false
			}
			if begun {
				line += " "
			}
			line += word
			begun = true
		}
		out.WriteString(line + "\n")
	}
	flush := func() {
		if len(paragraph) > 0 {
			emit(0, "", strings.Join(paragraph, " "))
			paragraph = nil
		}
	}
	lines := strings.Split(strings.TrimSuffix(help, "\n"), "\n")
	for _, line := range lines {
		text := strings.TrimLeft(line, " ")
		indent := len(line) - len(text)
		gap := strings.Index(text, "  ")
		switch {
		case text != "" && indent == 0 && gap < 0 && !strings.HasSuffix(text, ":"):
			paragraph = append(paragraph, text)
			continue
		case text == "" || len(line) <= width || gap < 0:
			flush()
			out.WriteString(line + "\n")
			continue
		}
		flush()
		rest := strings.TrimLeft(text[gap:], " ")
		at := len(line) - len(rest)
		if at > width/2 {
			// The name takes too much room: its text begins below it.
			out.WriteString(strings.TrimRight(line[:at], " ") + "\n")
			at = indent + 4
			emit(at, strings.Repeat(" ", at), rest)
			continue
		}
		emit(at, line[:at], rest)
	}
	flush()
	return out.String()
}
