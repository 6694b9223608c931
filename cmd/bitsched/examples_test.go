package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExamples runs the commands of docs/examples in a copy of its folder. What the
// page shows of their output must be there, line by line and in order; "..." stands for
// any lines.
func TestExamples(t *testing.T) {
	folder := filepath.Join("..", "..", "docs", "examples")
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(folder)))
	page, err := os.ReadFile(filepath.Join(folder, "README.md"))
	require.NoError(t, err)
	commands := 0
	var out []string // of the last command, what is not matched yet
	open, inBlock := false, false
	end := func() {
		require.True(t, open || strings.TrimSpace(strings.Join(out, "")) == "" || commands == 0, "more is printed than the page says:\n%s", strings.Join(out, "\n"))
	}
	for line := range strings.Lines(string(page)) {
		line = strings.TrimRight(line, "\n")
		switch command, is := strings.CutPrefix(line, "$ "); {
		case strings.HasPrefix(line, "```"):
			if inBlock {
				end()
			}
			inBlock = strings.TrimSpace(line) == "```console"
			open, out = true, nil
		case !inBlock:
		case is:
			end()
			out = strings.Split(readmeCommand(t, dir, command), "\n")
			open = false
			commands++
		case line == "...":
			open = true
		default:
			at := 0
			for at < len(out) && strings.TrimRight(out[at], " ") != line {
				at++
			}
			require.Less(t, at, len(out), "the commands do not print %q", line)
			require.True(t, open || strings.TrimSpace(strings.Join(out[:at], "")) == "", "before %q there is more:\n%s", line, strings.Join(out[:at], "\n"))
			out, open = out[at+1:], false
		}
	}
	require.Equal(t, 8, commands)
	for _, name := range []string{"popcount.html", "compare.html", "blur.html", "digits.html", "pagerank.svg"} {
		require.FileExists(t, filepath.Join(dir, name))
	}
	if *update {
		require.NoError(t, os.Rename(filepath.Join(dir, "pagerank.svg"), filepath.Join(folder, "pagerank.svg")))
	}
	for _, picture := range []string{"schedule.png", "compare.png", "kernel.png", "map.png", "pagerank.svg"} {
		require.Contains(t, string(page), "]("+picture+")")
		require.FileExists(t, filepath.Join(folder, picture))
	}
}
