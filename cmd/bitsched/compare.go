package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	pages "github.com/bitsched/bitsched/benchmarks/report"
	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

type compareFlags struct {
	rowsFile   string
	rows       int
	sizes      []int
	arrays     int
	cols       int
	schedulers []string
	effort     string
	budget     time.Duration
	seed       uint64
	threads    int
	patterns   int
	copyEnergy float64
	explain    bool
	csv        string
	json       bool
	svg        string
	html       string

	rematerialize bool
}

const compareLong = `Compare schedules every circuit with every scheduler, one run after another,
replays and executes every program, and prints copies, means, ratios, energy and
CPU time beside the figures that the MASIM paper published for circuits of the
same name, gates and rows.

MAJ and XOR gates are taken as they are; other logic is synthesised first, at the
same effort, and its energy set beside the published one of the same circuit.

The rows of an array are those of --rows-file (lines of NAME ROWS, where NAME is
the file's name without its ending), else those of --rows. With --sizes every
circuit is scheduled for each of these numbers of rows.

A run that finds no schedule is a dash with a note. The exit code is 1 if a
program failed a check, else 3 if no run at all found a schedule and arrays or
rows are too few, else 0. Ctrl-C stops the search and prints the results so far;
a second Ctrl-C aborts.

--rematerialize also runs our scheduler with gates computed again where that takes
less energy than copying, and compares it with itself in a table of its own.

--svg DIR writes fig2.svg (energy of computes and copies; of multiplier and div
if these are compared, else of all circuits), fig8.svg (energy, normalised to the
most of each circuit) and, for each circuit at several sizes, fig9-NAME.svg
(copies against the rows of an array).

Everything but the times depends on the circuits, the flags and the seed only,
unless --budget or Ctrl-C cuts a search short.`

const compareExample = `  bitsched compare *.v --rows-file rows.txt
  bitsched compare mult.aig --rows 256 --schedulers bitsched,masim --effort fast
  bitsched compare *.v --rows-file rows.txt --csv results.csv --svg figures
  bitsched compare mult.aig --sizes 128,256,512 --svg figures --json`

func (a *app) compareCommand() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:     "compare FILE... (--rows-file F | --rows R | --sizes R,...)",
		Short:   "Compare schedulers on circuits, beside published figures",
		Long:    compareLong + "\n\nSchedulers:\n" + schedulerList(),
		Example: compareExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError(cmd, "missing FILE")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.compare(cmd, args, f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.rowsFile, "rows-file", "", "`file` with the rows of an array for each circuit: lines of NAME ROWS")
	fl.IntVar(&f.rows, "rows", 0, "`rows` of an array, for circuits that are not in --rows-file")
	fl.IntSliceVar(&f.sizes, "sizes", nil, "schedule every circuit for each of these `rows` of an array")
	fl.IntVar(&f.arrays, "arrays", 8, "number of `arrays`")
	fl.IntVar(&f.cols, "cols", sram.DefaultCols, "`bitlines` of an array")
	fl.StringSliceVar(&f.schedulers, "schedulers", comparedSchedulers(), "schedulers to compare, by `name`")
	fl.StringVar(&f.effort, "effort", masim.Normal.String(), "how hard to search, a `level`: fast, normal or high")
	fl.DurationVar(&f.budget, "budget", 0, "stop each search after this `time`, for example 60s (0 = when it is done)")
	fl.Uint64Var(&f.seed, "seed", 1, "`seed` of the random choices")
	fl.IntVar(&f.threads, "threads", 0, "`number` of threads (0 = all cores); does not change the result")
	fl.IntVar(&f.patterns, "patterns", 512, "input `patterns` to verify each program on")
	fl.Float64Var(&f.copyEnergy, "copy-energy", sram.DefaultEnergy.Copy, "`energy` of a copy, in units of a compute")
	fl.BoolVar(&f.explain, "explain-cost", false, "print the source of the energies after the tables")
	fl.BoolVar(&f.rematerialize, "rematerialize", false, "also compute gates again where that takes less energy than copying, in a table apart")
	fl.StringVar(&f.csv, "csv", "", "write a line for each run to this `file` (- for stdout, instead of the tables)")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	fl.StringVar(&f.svg, "svg", "", "write the figures to this `directory`, which is created if need be")
	addHTML(fl, &f.html)
	exclusive(cmd, "sizes", "rows")
	exclusive(cmd, "sizes", "rows-file")
	complete(cmd, "schedulers", schedulerNames()...)
	complete(cmd, "effort", "fast", "normal", "high")
	return cmd
}

// comparedSchedulers are all but the exact one, which is for small circuits.
func comparedSchedulers() []string {
	return slices.DeleteFunc(schedulerNames(), func(name string) bool { return name == "optimal" })
}

// check looks at the values of the flags before anything is read.
func (f *compareFlags) check(cmd *cobra.Command) (schedulers []masim.Scheduler, o benchmarks.Options, err error) {
	energy := sram.Energy{Compute: sram.DefaultEnergy.Compute, Copy: f.copyEnergy}
	o = benchmarks.Options{
		Arrays: f.arrays, Cols: f.cols, Seed: f.seed, Budget: f.budget, Patterns: f.patterns,
		Energy: energy, CPU: cpuTime, Rematerialize: f.rematerialize,
	}
	switch {
	case f.budget < 0:
		return nil, o, usageError(cmd, "--budget %v, expected a time that is not negative", f.budget)
	case f.patterns < 1:
		return nil, o, usageError(cmd, "--patterns %d, expected at least 1", f.patterns)
	case !validCopyEnergy(f.copyEnergy):
		return nil, o, usageError(cmd, "--copy-energy %v, expected a number that is not negative", f.copyEnergy)
	case f.explain && (f.csv == "-" || f.json):
		return nil, o, usageError(cmd, "--explain-cost is for the tables, expected no --json or --csv - (see bitsched costs masim)")
	case f.csv == "-" && f.json:
		return nil, o, usageError(cmd, "--json and --csv - both want stdout")
	case f.rowsFile == "" && !cmd.Flags().Changed("rows") && len(f.sizes) == 0:
		return nil, o, usageError(cmd, "missing --rows-file, --rows or --sizes")
	case f.rematerialize && !slices.Contains(f.schedulers, defaultScheduler()):
		return nil, o, usageError(cmd, "--rematerialize is compared with %s, expected it among --schedulers", defaultScheduler())
	}
	sizes := f.sizes
	switch {
	case cmd.Flags().Changed("rows"):
		sizes = []int{f.rows}
	case len(sizes) == 0:
		sizes = []int{1} // the rows file has its own check
	}
	for i, rows := range sizes {
		if err := (sram.Geometry{Arrays: f.arrays, Rows: rows, Cols: f.cols}).Validate(); err != nil {
			return nil, o, usageError(cmd, "%w", err)
		}
		if slices.Contains(sizes[:i], rows) {
			return nil, o, usageError(cmd, "--sizes has %d twice", rows)
		}
	}
	for i, name := range f.schedulers {
		if slices.Contains(f.schedulers[:i], name) {
			return nil, o, usageError(cmd, "--schedulers has %s twice", name)
		}
		s, err := masim.Lookup(name)
		if err != nil {
			return nil, o, err
		}
		schedulers = append(schedulers, s)
	}
	if o.Effort, err = xmg.ParseEffort(f.effort); err != nil {
		return nil, o, err
	}
	o.Threads, err = threads(cmd, f.threads)
	return schedulers, o, err
}

// validCopyEnergy is also false for what is no number.
func validCopyEnergy(e float64) bool { return e >= 0 && e <= 1e300 }

func (a *app) compare(cmd *cobra.Command, files []string, f compareFlags) error {
	schedulers, opts, err := f.check(cmd)
	if err != nil {
		return err
	}
	if err := a.checkOutputs(files, f); err != nil {
		return err
	}
	if err := a.checkHTML(cmd, f.html, f.json || f.csv == "-", append(slices.Clone(files), f.rowsFile)...); err != nil {
		return err
	}
	line := a.newProgress()
	defer line.clear()
	circuits, err := a.readCircuits(cmd, files, f, line)
	if err != nil {
		return err
	}

	search := a.startBudget(0)
	defer search.end()
	synthesis := masim.Options{Effort: opts.Effort, Seed: opts.Seed, Progress: line.report}
	made := map[*netlist.Network]*xmg.Graph{}
	for i := range circuits {
		c := &circuits[i]
		if made[c.Network] == nil {
			if made[c.Network], _, err = masim.Synthesize(search.ctx, c.Network, synthesis, f.budget); err != nil {
				return err
			}
		}
		c.Graph = made[c.Network]
	}
	report := a.onceThereIs(search, line, "finishing with the results so far", a.searchProgress(line))
	opts.Progress = func(s benchmarks.Step) {
		s.Phase = fmt.Sprintf("%d/%d %s, %s: %s", s.Run, s.Runs, s.Circuit, s.Scheduler, s.Phase)
		report(s.Progress)
	}
	opts.Finished = func(r *benchmarks.Row) {
		if a.terminal {
			line.note("%s", rowText(r))
		}
	}
	a.unchecked(schedulers)
	c := benchmarks.Run(search.ctx, circuits, schedulers, opts)
	search.end()
	line.clear()
	failed := compareError(c.Err())
	if errors.Is(failed, errInterrupt) {
		return failed // before there was anything to print
	}
	if err := a.deliver(c, f); failed == nil {
		return err
	}
	return failed
}

// compareError gives the error of a comparison its exit code.
func compareError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, benchmarks.ErrCheck):
		return fmt.Errorf("%w: %w", errCheck, err)
	}
	return fmt.Errorf("bitsched: %w", err)
}

// checkOutputs makes the directory of figures and sees that files can be written.
func (a *app) checkOutputs(files []string, f compareFlags) error {
	if err := a.checkWritable(f.csv, append(slices.Clone(files), f.rowsFile)...); err != nil {
		return err
	}
	if f.svg == "" {
		return nil
	}
	if err := os.MkdirAll(f.svg, 0o777); err != nil {
		return fmt.Errorf("bitsched: %w", err)
	}
	return a.checkWritable(filepath.Join(f.svg, "fig2.svg"))
}

// readCircuits reads all circuits before any is scheduled, so that a mistake in
// the last one shows at once. The rows come first: they need no reading. Graphs
// are not made yet.
func (a *app) readCircuits(cmd *cobra.Command, files []string, f compareFlags, line *progressLine) ([]benchmarks.Circuit, error) {
	listed, err := readRowsFile(f.rowsFile)
	if err != nil {
		return nil, err
	}
	for i, file := range files {
		if file == "-" && slices.Contains(files[:i], "-") {
			return nil, usageError(cmd, "FILE is - twice, expected at most one to be read from stdin")
		}
		name := netlistName(file, "")
		if _, ok := listed[name]; f.rowsFile != "" && !ok && f.rows == 0 {
			return nil, fmt.Errorf("%s: no line for %s, expected \"%s ROWS\" (or give --rows)", f.rowsFile, name, name)
		}
	}
	var circuits []benchmarks.Circuit
	for _, file := range files {
		n, err := a.readCircuit(context.Background(), file, line)
		if err != nil {
			return nil, err
		}
		sizes := f.sizes
		if len(sizes) == 0 {
			rows, ok := listed[netlistName(file, "")]
			if !ok {
				rows = f.rows
			}
			sizes = []int{rows}
		}
		for _, rows := range sizes {
			circuits = append(circuits, benchmarks.Circuit{
				Name: netlistName(file, n.Name), File: fileName(file), Network: n, Rows: rows,
			})
		}
	}
	return circuits, nil
}

// readRowsFile reads a rows file; without one there are no rows.
func readRowsFile(path string) (map[string]int, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("bitsched: %w", err)
	}
	defer f.Close()
	return benchmarks.ReadRows(f, path)
}

// deliver prints and writes the results.
func (a *app) deliver(c *benchmarks.Comparison, f compareFlags) error {
	report := c.Report()
	var end summary
	if f.csv != "" {
		if err := a.writeFile(f.csv, report.WriteCSV); err != nil {
			return err
		}
		end.add("written", "%s", f.csv)
	}
	if f.svg != "" {
		figures := c.Figures()
		for _, fig := range figures {
			path := filepath.Join(f.svg, fig.File)
			err := a.writeBytes(path, fig.SVG)
			if err != nil {
				return err
			}
			end.add("written", "%s", filepath.ToSlash(path))
		}
		if len(figures) == 0 {
			end.add("figures", "none, as there is no schedule")
		}
	}
	if f.html != "" {
		page := &pages.Page{Title: "Schedulers compared", Sections: pages.Comparison("Comparison", c)}
		if err := a.writePage(f.html, page); err != nil {
			return err
		}
		end.add("written", "%s", f.html)
	}
	switch {
	case f.json:
		return a.printJSON(report)
	case f.csv == "-", f.html == "-":
		return nil // stdout holds the lines
	}
	costs := costFlags{explain: f.explain}
	table, err := costs.load()
	if err != nil {
		return err
	}
	explained := costs.report(table, nil)
	explained.noteCopyEnergy(f.copyEnergy)
	text := comparisonText(c) + explained.text()
	if len(end.lines) > 0 {
		text += "\n" + end.String()
	}
	return a.printText(text)
}

// rowText is the line that shows the results of a circuit as soon as they are
// there.
func rowText(r *benchmarks.Row) string {
	var parts []string
	for i := range r.Cells {
		c := &r.Cells[i]
		result := strconv.Itoa(c.Copies)
		if c.Status != benchmarks.Done {
			result = c.Status.String()
		}
		parts = append(parts, c.Scheduler+" "+result)
	}
	return fmt.Sprintf("%s, %d rows: %s", r.Name, r.Rows, strings.Join(parts, ", "))
}

// comparisonText is what a comparison says to a person.
func comparisonText(c *benchmarks.Comparison) string {
	tables, notes := c.Tables()
	var b strings.Builder
	o := &c.Options
	fmt.Fprintf(&b, "effort %s, seed %d, at most %s; every program replayed and executed\n", o.Effort, o.Seed, count(o.Arrays, "array"))
	for _, t := range tables {
		fmt.Fprintf(&b, "\n%s\n%s\n", t.Title, renderTable(t))
	}
	if o.Budget > 0 {
		notes = append(notes, fmt.Sprintf("each search had a budget of %v; where it ended by it, another run may differ", o.Budget))
	}
	if c.Stopped != nil {
		notes = append(notes, fmt.Sprintf("stopped by %v: entries left empty were not run", c.Stopped))
	}
	if len(notes) > 0 {
		b.WriteByte('\n')
	}
	for i, n := range notes {
		fmt.Fprintf(&b, "[%d] %s\n", i+1, reason(errors.New(n)))
	}
	return b.String()
}
