package main

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks"
)

// wide is a table whose rows the first two columns tell apart.
func wide() benchmarks.Table {
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "circuit", Left: true}, {Name: "rows"}}}
	for i := range 12 {
		t.Columns = append(t.Columns, benchmarks.Column{Name: fmt.Sprintf("column %d", i)})
	}
	t.Columns = append(t.Columns, benchmarks.Column{Name: "note", Left: true})
	for _, key := range [][]string{{"adder", "16"}, {"adder", "32"}, {"divider, é", "16"}} {
		row := key
		for i := range 12 {
			row = append(row, fmt.Sprintf("%s.%s.%d", key[0][:1], key[1], i))
		}
		note := ""
		if key[1] == "32" {
			note = "a note  of two parts"
		}
		t.Rows = append(t.Rows, append(row, note))
	}
	total := make([]string, len(t.Columns))
	total[0], total[2] = "total", "sum"
	t.Footer = append(t.Footer, total)
	return t
}

func TestFoldTables(t *testing.T) {
	text := "before\n" + renderTable(wide()) + "\nafter  it\n"
	whole := foldTables(text, 0)
	require.NotContains(t, whole, columnMark)
	require.Equal(t, whole, foldTables(text, 1000))
	require.Equal(t, "circuit     rows  column 0  column 1  column 2  column 3  column 4  column 5  column 6  column 7  column 8  column 9  column 10  column 11  note",
		strings.Split(whole, "\n")[1])
	require.Equal(t, "no table", foldTables("no table", 10))

	for _, width := range []int{40, 60, 80, 120} {
		folded := foldTables(text, width)
		lines := strings.Split(folded, "\n")
		require.Equal(t, "before", lines[0])
		require.Equal(t, []string{"after  it", ""}, lines[len(lines)-2:])
		for _, l := range lines {
			require.LessOrEqual(t, utf8.RuneCountInString(l), width, l)
			require.Equal(t, strings.TrimRight(l, " "), l)
		}
		// Every cell is there once, in a block that has the keys of its row.
		for i, row := range wide().Rows {
			for j, cell := range row[2:] {
				if cell == "" {
					continue
				}
				found := 0
				for _, l := range lines {
					if fields := strings.Fields(l); len(fields) > 2 && strings.HasPrefix(l, row[0]) && strings.Contains(l+" ", " "+row[1]+" ") && strings.Contains(l+" ", " "+cell+" ") {
						found++
					}
				}
				require.Equal(t, 1, found, "width %d, row %d, column %d in\n%s", width, i, j, folded)
			}
		}
		require.Equal(t, 1, strings.Count(folded, "column 7"))
		// A block whose rows say nothing is as short as it can be.
		if width == 40 {
			require.Contains(t, folded, "circuit     rows  note\n")
			require.Equal(t, 1, strings.Count(folded, "total"))
		}
	}
	// Where the keys alone fill the line, nothing is cut.
	require.Equal(t, whole, foldTables(text, 25))
}

// TestFoldKeepsIntervals: columns of the same name stay with those that they are of.
func TestFoldKeepsIntervals(t *testing.T) {
	table := benchmarks.Table{
		Columns: []benchmarks.Column{{Name: "flip"}, {Name: "wrong patterns"}, {Name: "interval"}, {Name: "wrong bits"}, {Name: "interval"}},
		Rows:    [][]string{{"1", "2", "3", "4", "5"}},
	}
	require.Equal(t, strings.Join([]string{
		"flip  wrong patterns  interval",
		"────────────────────────────────",
		"   1               2         3",
		"",
		"flip  wrong bits  interval",
		"────────────────────────────",
		"   1           4         5",
	}, "\n")+"\n", foldTables(renderTable(table)+"\n", 44)+"")
}

// TestFoldRules: a line across a column that is wider than the terminal is not.
func TestFoldRules(t *testing.T) {
	table := benchmarks.Table{
		Columns: []benchmarks.Column{{Name: "key", Left: true}, {Name: "note", Left: true}},
		Rows:    [][]string{{"k", strings.Repeat("word ", 20) + "end"}},
	}
	require.Equal(t, "key  note\n"+strings.Repeat("─", 30)+"\nk    "+strings.Repeat("word ", 20)+"end\n", foldTables(renderTable(table)+"\n", 30))
}

func TestWrapHelp(t *testing.T) {
	help := strings.Join([]string{
		"Faults executes a program on random input patterns while cells of the arrays fail.",
		"It also does more.",
		"",
		"  --stuck N      N cells in used rows are stuck at random values",
		"",
		"Usage:",
		"  bitsched faults (FILE (PROG | --rows R) | OP) [flags] and more than fits into a line",
		"",
		"Flags:",
		"      --a-very-long-name-of-a-flag number   what it does, in words",
		"  -h, --help   help",
	}, "\n") + "\n"
	require.Equal(t, strings.Join([]string{
		"Faults executes a program on random",
		"input patterns while cells of the arrays",
		"fail. It also does more.",
		"",
		"  --stuck N      N cells in used rows",
		"                 are stuck at random",
		"                 values",
		"",
		"Usage:",
		"  bitsched faults (FILE (PROG | --rows R) | OP) [flags] and more than fits into a line",
		"",
		"Flags:",
		"      --a-very-long-name-of-a-flag number",
		"          what it does, in words",
		"  -h, --help   help",
	}, "\n")+"\n", wrapHelp(help, 40))

	// No word gets lost, whatever the command and the width.
	all, _, _ := testApp()
	for _, c := range all.rootCommand().Commands() {
		a, stdout, _ := testApp()
		require.Zero(t, a.run([]string{c.Name(), "--help"}))
		for _, width := range []int{20, 80, 200} {
			require.Equal(t, strings.Fields(stdout.String()), strings.Fields(wrapHelp(stdout.String(), width)), c.Name())
		}
		for _, l := range strings.Split(wrapHelp(stdout.String(), 100), "\n") {
			require.True(t, len(l) <= 100 || strings.HasPrefix(l, "  bitsched") || len(strings.Fields(l)) == 1, l)
		}
	}
}

// TestHelpOnTerminal: help is wrapped there, and only there.
func TestHelpOnTerminal(t *testing.T) {
	a, stdout, _ := testApp()
	require.Zero(t, a.run([]string{"run", "--help"}))
	plain := stdout.String()
	for _, args := range [][]string{{"run", "--help"}, {"help", "run"}} {
		b, stdout, _ := testApp()
		b.width = 50
		require.Zero(t, b.run(args))
		require.Equal(t, wrapHelp(plain, 50), stdout.String())
	}
}
