package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
)

// TestInstructions keeps the tables of docs/instructions.md equal to those that
// programs are executed by. Instructions of two addresses have rules in place of a
// table there.
func TestInstructions(t *testing.T) {
	const begin, end = "<!-- instructions: go test ./cmd/bitsched -run Instructions -update -->\n", "<!-- end of instructions -->\n"
	file := filepath.Join("..", "..", "docs", "instructions.md")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok)
	_, tail, ok := strings.Cut(rest, end)
	require.True(t, ok)
	var b strings.Builder
	for _, tech := range sram.Technologies() {
		if tech == &sram.Ambit {
			continue
		}
		enable := ""
		if tech.Enable != 0 {
			enable = fmt.Sprintf(" The enable latch is the %v.", tech.Enable)
		}
		reserved := ""
		if tech.Reserved > 0 {
			reserved = fmt.Sprintf(" The last %d rows of an array hold the constants.", tech.Reserved)
		}
		fmt.Fprintf(&b, "## %s\n\n%s.%s%s\n\n| instruction | operands | row | masked | reads | sets | class | does |\n|---|---|---|---|---|---|---|---|\n",
			tech.Name, tech.Doc, enable, reserved)
		for _, op := range tech.Ops {
			fmt.Fprintf(&b, "| `%s` | %d | %s | %s | %v | %v | %v | %s |\n", op.Name, op.Operands,
				yes(op.Writes), yes(op.Masked), op.Reads, op.Sets, op.Class, strings.ReplaceAll(op.Doc, "|", "\\|"))
		}
		b.WriteString("\n")
	}
	want := head + begin + b.String() + end + tail
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
		return
	}
	require.True(t, want == string(text), "docs/instructions.md is out of date: go test ./cmd/bitsched -run Instructions -update")
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}
