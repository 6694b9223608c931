package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/sram"
)

// TestComparisonText holds the printed form of invented results against
// testdata/compare.golden. UPDATE_GOLDEN=1 rewrites it, to be read before it is
// committed.
func TestComparisonText(t *testing.T) {
	c := &benchmarks.Comparison{Schedulers: []string{"bitsched", "masim", "star", "masim-noimpr"}}
	c.Options = benchmarks.Options{Arrays: 8, Cols: 256, Seed: 1, Effort: masim.Normal, Energy: sram.DefaultEnergy}
	for _, x := range []struct {
		name        string
		inputs      int
		rows, gates int
		bound       int
		copies      [4]int
	}{
		{"int2float", 11, 16, 199, 0, [4]int{50, 100, 200, 125}},
		{"dec", 3, 16, 7, 2, [4]int{2, 8, -1, 10}},
		{"multiplier", 128, 256, 14176, 31, [4]int{210, 1440, 11231, 1643}},
		{"one", 3, 32, 20, 0, [4]int{0, 4, 16, -2}},
	} {
		r := benchmarks.Row{Name: x.name, File: x.name + ".v", Inputs: x.inputs, Rows: x.rows, Gates: x.gates, Bound: x.bound}
		for i, n := range x.copies {
			cell := benchmarks.Cell{Scheduler: c.Schedulers[i]}
			switch {
			case n == -1:
				cell.Status, cell.Err = benchmarks.Infeasible, errors.New("infeasible:\nno rows")
			case n >= 0:
				cell.Status, cell.Copies, cell.Computes = benchmarks.Done, n, x.gates
				cell.Energy = float64(x.gates) + 1.87*float64(n)
				cell.CPU = time.Duration(x.gates*(i+1)) * time.Millisecond
			}
			r.Cells = append(r.Cells, cell)
		}
		c.Rows = append(c.Rows, r)
	}
	c.Rows[3].Cells[2].Stopped = "interrupt"
	c.Stopped = errInterrupt
	got := foldTables(comparisonText(c), 0)

	path := filepath.Join("testdata", "compare.golden")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o666))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestCompareExitCodes(t *testing.T) {
	for _, w := range []struct {
		err  error
		code int
	}{
		{nil, exitOK},
		{fmt.Errorf("%w: x", benchmarks.ErrCheck), exitCheck},
		{fmt.Errorf("x: %w", masim.ErrInfeasible), exitInfeasible},
		{fmt.Errorf("stopped by %w", errInterrupt), exitAborted},
		{errors.New("too large"), exitUsage},
	} {
		require.Equal(t, w.code, exitCode(compareError(w.err)), "%v", w.err)
	}
}
