package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/sram"
)

// packageNames are in front of the messages of packages, which tells who wrote
// them to a reader of the code and nothing to one of the command.
var packageNames = []string{
	"arith", "benchmarks", "cfront", "cost", "dnn", "egraph", "event", "exact4", "figure", "fused", "gearbox", "gen", "interp",
	"kernels", "lattice", "lowering", "machine", "mapping", "mapstudy", "masim", "matrix", "memory", "micro", "multicore", "nearstream", "netlist", "noc",
	"onnx", "plan", "platform", "potential", "queue", "reference", "report", "reproduce", "results", "sat", "scalar", "se", "search", "sensitivity", "softfloat",
	"sparse", "sram", "stats", "stream", "sweep", "system", "tdfg", "tdfgtest", "tensor", "tile", "timing", "traceevent", "uop",
	"workload", "xmg",
}

// packagePrefix finds them by their form, one word and a colon, and by the list,
// so that a file of such a form stays.
var packagePrefix = regexp.MustCompile(`(^|: )(?:(?:` + strings.Join(packageNames, "|") + `): )+`)

// plain is the message of err as the command prints it: on one line, and without
// names of packages. A message that had nothing else in front is the program's.
func plain(err error) string {
	msg := oneLine(err)
	if at := packagePrefix.FindStringIndex(msg); at != nil && at[0] == 0 {
		msg = "bitsched: " + msg[at[1]:]
	}
	return packagePrefix.ReplaceAllString(msg, "$1")
}

// reason is plain as a part of a sentence.
func reason(err error) string { return strings.TrimPrefix(plain(err), "bitsched: ") }

// flagError says what is wrong with a flag, and what was expected instead of its
// value.
func flagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if !errors.As(err, &value) {
		return usageError(cmd, "%w", err)
	}
	expected := map[string]string{
		"int": "a whole number", "uint64": "a whole number from 0 on", "float64": "a number", "bool": "true or false",
		"duration": "a time such as 30s or 5m", "intSlice": "whole numbers with commas between them",
	}[value.GetFlag().Value.Type()]
	if expected == "" {
		return usageError(cmd, "--%s %q: %w", value.GetFlag().Name, value.GetValue(), value.Unwrap())
	}
	if errors.Is(err, strconv.ErrRange) {
		expected += " in range"
	}
	return usageError(cmd, "--%s %q, expected %s", value.GetFlag().Name, value.GetValue(), expected)
}

// noEmptyFlags refuses a flag of a text that was given as "", as a variable of a shell
// gives it that has no value: it would be as if the flag were not there.
func noEmptyFlags(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		empty := f.Value.Type() == "string" && f.Value.String() == "" || f.Value.Type() == "stringSlice" && f.Value.String() == "[]"
		if empty && err == nil {
			name, _ := pflag.UnquoteUsage(f)
			err = usageError(cmd, "--%s is empty, expected a value (%s)", f.Name, name)
		}
	})
	return err
}

// exclusive makes two flags of a command exclude each other.
func exclusive(cmd *cobra.Command, a, b string) {
	cmd.MarkFlagsMutuallyExclusive(a, b) // for completion
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed(a) && cmd.Flags().Changed(b) {
			return usageError(cmd, "--%s with --%s, expected one of them", a, b)
		}
		if before != nil {
			return before(cmd, args)
		}
		return nil
	}
}

// stdinName is what stdin is called where a file would be.
const stdinName = "<stdin>"

// fileName is what an input file is called in messages and reports.
func fileName(path string) string {
	if path == "-" {
		return stdinName
	}
	return path
}

// instructionReason is reason with the line of the program's file in front, if the
// error is that of an instruction.
func instructionReason(err error, file string, lines []int32) string {
	index := -1
	var rule *masim.RuleError
	var instr *sram.InstrError
	switch {
	case errors.As(err, &rule):
		index, err = rule.Index, rule
	case errors.As(err, &instr):
		index, err = instr.Index, instr
	}
	if index < 0 || index >= len(lines) {
		return reason(err)
	}
	return fmt.Sprintf("%s:%d: %s", fileName(file), lines[index], reason(err))
}
