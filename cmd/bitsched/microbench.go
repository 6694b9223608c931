package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/benchmarks/timing"
	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/tile"
)

type microbenchFlags struct {
	machine string
	core    string
	only    string
	omp     []int
	bytes   []string
	budget  time.Duration
	svg     string
	json    bool
}

func microbenchLong() string {
	var b strings.Builder
	b.WriteString("Microbench runs microbenchmarks on the cores, caches and memory of a machine, over\nfootprints from the L1 to the memory:\n\n")
	for _, m := range timing.Micros() {
		fmt.Fprintf(&b, "  %-14s %s\n", m.Name, m.Text)
	}
	b.WriteString("\nFootprints are those of all threads together. docs/memory.md says what is modelled.")
	return b.String()
}

func (a *app) microbenchCommand() *cobra.Command {
	var f microbenchFlags
	cmd := &cobra.Command{
		Use:   "microbench",
		Short: "Measure bandwidth, latency and synchronisation of the cores and caches of a machine",
		Long:  microbenchLong(),
		Example: `  bitsched microbench --machine nsc --only stream-again --svg stream.svg
  bitsched microbench --machine nsc-small --only chase --omp-threads 1 --bytes 1K,8K,64K
  bitsched microbench --only barrier --omp-threads 1,4,16,64`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.microbench(cmd, f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.machine, "machine", "nsc", "a `machine`: a name (see bitsched machine) or a file")
	fl.StringVar(&f.core, "core", "", "`core` of the machine: io4, ooo4 or ooo8; by default its own")
	fl.StringVar(&f.only, "only", "", "run the microbenchmark of this `name`, not all")
	fl.IntSliceVar(&f.omp, "omp-threads", nil, "`threads`, one a core; by default 1 and all")
	fl.StringSliceVar(&f.bytes, "bytes", nil, "`footprints` such as 32K,1M; by default some for each level of the machine")
	fl.DurationVar(&f.budget, "budget", 0, "stop after this `time`")
	fl.StringVar(&f.svg, "svg", "", "draw the curves into this `file`")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	complete(cmd, "machine", tile.MachineNames()...)
	complete(cmd, "core", tile.CoreNames()...)
	return cmd
}

// parseBytes reads a number of bytes such as 64, 32K or 1M.
func parseBytes(text string) (uint64, bool) {
	var n uint64
	var unit string
	if k, _ := fmt.Sscanf(text, "%d%s", &n, &unit); k < 1 || n == 0 || n > 1<<20 && unit != "" {
		return 0, false
	}
	shift, ok := map[string]uint{"": 0, "K": 10, "M": 20, "G": 30}[unit]
	return n << shift, ok
}

// machineWithCore loads a machine, with other cores if some are asked for.
func machineWithCore(cmd *cobra.Command, name, core string) (*tile.Machine, error) {
	m, err := tile.LoadMachine(name)
	if err != nil {
		return nil, machineError(err)
	}
	if core != "" {
		if !slices.Contains(tile.CoreNames(), core) {
			return nil, usageError(cmd, "--core %q, expected %s", core, strings.Join(tile.CoreNames(), ", "))
		}
		m.Core = core
	}
	return m, nil
}

func (a *app) microbench(cmd *cobra.Command, f microbenchFlags) error {
	m, err := machineWithCore(cmd, f.machine, f.core)
	if err != nil {
		return err
	}
	var names []string
	for _, x := range timing.Micros() {
		names = append(names, x.Name)
	}
	if f.only != "" && !slices.Contains(names, f.only) {
		return usageError(cmd, "--only %q, expected %s", f.only, strings.Join(names, ", "))
	}
	if len(f.omp) == 0 {
		f.omp = slices.Compact([]int{1, m.Banks()})
	}
	for _, n := range f.omp {
		if n < 1 || n > m.Banks() {
			return usageError(cmd, "--omp-threads %d, expected 1 to %d", n, m.Banks())
		}
	}
	var bytes []uint64
	for _, text := range f.bytes {
		n, ok := parseBytes(text)
		if !ok {
			return usageError(cmd, "--bytes %q, expected numbers such as 4096, 32K or 1M", text)
		}
		bytes = append(bytes, n)
	}
	if f.svg == "-" {
		return usageError(cmd, "--svg -, expected a file")
	}
	if err := a.checkWritable(f.svg, f.machine); err != nil {
		return err
	}
	line := a.newProgress()
	defer line.clear()
	s := a.startStoppable(f.budget, line, "finishing with the points so far")
	defer s.end()
	report := a.searchProgress(line)
	curves, err := timing.Curves(s.ctx, m, f.only, f.omp, bytes, func(done, total int) {
		report(masim.Progress{Phase: "point", Done: done, Total: total, Best: -1})
	})
	err = s.reasonOf(err)
	s.end()
	line.clear()
	if err != nil && len(curves) == 0 {
		return err
	}
	if f.svg != "" {
		if err := a.writeBytes(f.svg, timing.CurveFigure(m.Name+", "+m.Core, curves)); err != nil {
			return err
		}
	}
	if f.json {
		return errors.Join(err, a.printJSON(map[string]any{"machine": m.Name, "core": m.Core, "points": curves}))
	}
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "microbenchmark", Left: true}, {Name: "threads"}, {Name: "bytes"}, {Name: "value"}, {Name: "unit", Left: true},
		{Name: "cycles"}, {Name: "L1 misses"}, {Name: "L2 misses"}, {Name: "L3 misses"}, {Name: "DRAM lines"}}}
	for _, p := range curves {
		t.Rows = append(t.Rows, []string{p.Micro, fmt.Sprint(p.Threads), byteCount(int64(p.Bytes)), fmt.Sprintf("%.2f", p.Value), p.Unit, fmt.Sprint(p.Cycles),
			fmt.Sprint(p.L1Misses), fmt.Sprint(p.L2Misses), fmt.Sprint(p.L3Misses), fmt.Sprint(p.DRAMReads + p.DRAMWrites)})
	}
	return errors.Join(err, a.printText(renderTable(t)+"\n"))
}
