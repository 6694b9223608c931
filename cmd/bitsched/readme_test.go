package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the commands of the pages print into them")

// times are the only thing in the output that is not the same every time.
var times = regexp.MustCompile(`(?m)^(time +).*$`)

// TestReadme runs the commands in the console blocks of README.md and of pages
// that record experiments, one after another in one directory, and compares what
// they print with what the page says.
func TestReadme(t *testing.T) {
	for _, page := range []string{"README.md", "docs/faults.md", "docs/noc.md", "docs/running.md"} {
		t.Run(page, func(t *testing.T) { testPage(t, page) })
	}
}

func testPage(t *testing.T, page string) {
	path := filepath.Join("..", "..", filepath.FromSlash(page))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mult, err := os.ReadFile(filepath.Join("..", "..", "testdata", "mult.aig"))
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "testdata"), 0o777)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "testdata", "mult.aig"), mult, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}

	var got strings.Builder
	commands := 0
	inBlock := false
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "```"):
			inBlock = strings.TrimSpace(line) == "```console"
			got.WriteString(line)
		case !inBlock:
			got.WriteString(line)
		case strings.HasPrefix(line, "$ "):
			if commands > 0 && !strings.HasSuffix(got.String(), "```console\n") {
				got.WriteString("\n")
			}
			got.WriteString(line)
			got.WriteString(readmeCommand(t, dir, strings.TrimSpace(line[2:])))
			commands++
		}
	}
	if commands == 0 {
		t.Fatalf("%s has no console block with a command", page)
	}
	if times.ReplaceAllString(got.String(), "$1") == times.ReplaceAllString(string(text), "$1") {
		return
	}
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s does not say what its commands print; run\n\tgo test ./cmd/bitsched -run TestReadme -update\nIt would be:\n%s", page, got.String())
}

// readmeCommand runs one command line, without a shell.
func readmeCommand(t *testing.T, dir, command string) string {
	line := command
	for _, prefix := range []string{"go run ./cmd/bitsched ", "./bitsched "} {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			line = "bitsched " + rest
		}
	}
	words := strings.Fields(line)
	if words[0] == "head" {
		return readmeHead(t, dir, words)
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

// readmeHead is `head -N FILE`, for systems that have none.
func readmeHead(t *testing.T, dir string, words []string) string {
	if len(words) != 3 || len(words[1]) != 2 {
		t.Fatalf("%v, expected head -N FILE", words)
	}
	text, err := os.ReadFile(filepath.Join(dir, words[2]))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	return strings.Join(lines[:min(len(lines), int(words[1][1]-'0'))], "")
}

// TestReadmeNamesTheTwoCommands keeps what a newcomer types true.
func TestReadmeNamesTheTwoCommands(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n    go run ./cmd/bitsched schedule testdata/mult.aig --rows 256\n",
		"\n    go test ./...\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("README.md does not have the line %q", strings.TrimSpace(want))
		}
	}
}
