package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/benchmarks/report"
	"github.com/bitsched/bitsched/benchmarks/reproduce"
	"github.com/bitsched/bitsched/benchmarks/results"
	"github.com/bitsched/bitsched/masim"
)

type reproduceFlags struct {
	small, paper bool
	data         string
	results      string
	fresh        bool
	sample       float64
	budget       time.Duration
	bounds       bool
	machines     string
	rounds       string
	readings     []string
	workloads    []string
	seed         uint64
	seeds        int
	threads      int
	json         bool
	csv          string
	svg          string
	html         string
	plan         string
}

const reproduceLong = `Reproduce makes tables and figures of the papers again: what the paper says beside
what is measured here, how far they are apart, how far they may be, and a verdict.
Without a name it lists all there are. A name is that of one, as in masim:table2, of
a paper with "all" behind it, as in masim:all, or "all".

Verdicts are: reproduced (within the tolerance), under reading (so, where the paper
can be read in several ways), better (beyond it, on the good side), differs, not
reachable (so does a bound of what differs), and not measured (this size has no such
figure). A bound is what a quantity cannot pass on the machine and at the sizes at
hand: what was counted gives it, or runs with parts of the machine for nothing, which
are for claims that differ alone, and can take longer than the figure: "all" leaves them out,
unless --bounds is given. It is printed with what is left out. The exit code tells whether
the measuring succeeded, not what came of it; a bound that was passed is a defect (70).

Some need inputs that the papers published and this program does not ship; --data
names a folder that has them, and those that miss theirs are said and left out.

With --seeds, figures in time run with several seeds of what is random in time: when
threads begin their parts of loops, and when DRAM is refreshed. What is printed are
means with half of their 95 % interval (Student's t), and how claims are ordered; an
order that is inside of the interval is a tie.

Results are kept under a key of all that they depend on: the entry, its sizes, its
inputs, the seed and this program. What is there is printed and not measured again
(--fresh does so), so that a call which was stopped goes on where it was. Runs that fail
are named, left out of means on both sides, and tried again by the next call.`

const reproduceExample = `  bitsched reproduce
  bitsched reproduce infs:own --svg figures
  bitsched reproduce infs:tiles --small
  bitsched reproduce nsc:fig9 --paper-sizes --machines simulator --rounds simulator
  bitsched reproduce masim:all --paper-sizes --data inputs --svg figures
  bitsched reproduce all --small --data inputs --plan papers.yaml
  bitsched sweep papers.yaml --nats embedded && bitsched report papers.results -o papers.html`

// dataEnv is the environment variable with the default of --data.
const dataEnv = "BITSCHED_DATA"

func (a *app) reproduceCommand() *cobra.Command {
	var f reproduceFlags
	cmd := &cobra.Command{
		Use:     "reproduce [NAME]...",
		Short:   "Make tables and figures of the papers again, and compare",
		Long:    reproduceLong,
		Example: reproduceExample,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			names := []string{"all"}
			for _, e := range reproduce.Entries {
				names = append(names, e.ID)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.reproduce(cmd, args, f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.BoolVar(&f.small, "small", false, "small sizes, which take minutes an entry (the default)")
	fl.BoolVar(&f.paper, "paper-sizes", false, "sizes of the papers")
	fl.StringVar(&f.data, "data", os.Getenv(dataEnv), "`folder` with published inputs (default $"+dataEnv+")")
	fl.StringVar(&f.results, "results", "", "keep results in this `folder` (default in the user's cache)")
	fl.BoolVar(&f.fresh, "fresh", false, "measure again what is kept")
	fl.Float64Var(&f.sample, "sample", 0, "simulate windows in time that are so large a `share` of runs of nsc figures, and of base and near-l3 of infs:fig11 to fig18, and more of them in short runs whose cycles are not known well; 0 for all in time")
	fl.DurationVar(&f.budget, "budget", 0, "give up a run of nsc and infs figures that takes longer than this `time`, and go on with the next, 0 for never")
	fl.BoolVar(&f.bounds, "bounds", true, "run what bounds claims that differ; with all only if it is given")
	fl.StringVar(&f.machines, "machines", "paper", "where figures in time take what papers and their simulators have different values of from: the `paper`, or simulator")
	fl.StringSliceVar(&f.readings, "readings", nil, "readings of these machines, as in l1d.mshrs=4,l2.mshrs=4: each a `PATH=VALUE` that bitsched machine lists under readings; claims are then under it")
	fl.StringVar(&f.rounds, "rounds", "paper", "iterations of the workloads of nsc figures at --paper-sizes: those of the `paper`, or, with simulator, as many as its scripts run")
	fl.StringSliceVar(&f.workloads, "workloads", nil, "simulate only these of the workloads of nsc and infs figures in time, a `LIST` as in hotspot,srad; claims are then of these alone")
	fl.Uint64Var(&f.seed, "seed", 1, "`seed` of the random choices")
	fl.IntVar(&f.seeds, "seeds", 1, "run nsc and infs figures in time with so many `seeds` of when threads begin and DRAM is refreshed, and print means, 95 % intervals and orders; with 1 nothing is random in time")
	fl.IntVar(&f.threads, "threads", 0, "`number` of threads (0 = all cores); does not change the result")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	fl.StringVar(&f.csv, "csv", "", "write a line for each claim to this `file` (- for stdout, instead of the tables)")
	fl.StringVar(&f.svg, "svg", "", "write the figures to this `directory`, which is created if need be")
	addHTML(fl, &f.html)
	fl.StringVar(&f.plan, "plan", "", "write a plan for bitsched sweep to this `file`, a job for each, and measure nothing (- for stdout)")
	exclusive(cmd, "small", "paper-sizes")
	return cmd
}

type reproduceResult struct {
	Size    reproduce.Size      `json:"size"`
	Seed    uint64              `json:"seed"`
	Entries []*reproduce.Report `json:"entries"`
	LeftOut []leftOut           `json:"left_out"` // for want of inputs
	Stopped string              `json:"stopped"`  // "" or "interrupt"
}

type leftOut struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

func (a *app) reproduce(cmd *cobra.Command, names []string, f reproduceFlags) error {
	n, err := threads(cmd, f.threads)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return a.listEntries(f.json)
	}
	if !cmd.Flags().Changed("bounds") && slices.Contains(names, "all") {
		f.bounds = false
	}
	var entries []*reproduce.Entry
	for _, name := range names {
		found, err := reproduce.Find(name)
		if err != nil {
			return usageError(cmd, "%w", err)
		}
		for _, e := range found {
			if !slices.Contains(entries, e) {
				entries = append(entries, e)
			}
		}
	}
	if f.sample < 0 || f.sample >= 1 {
		return usageError(cmd, "--sample %g, expected at least 0 and less than 1", f.sample)
	}
	if f.budget < 0 {
		return usageError(cmd, "--budget %s, expected a time that is not negative", f.budget)
	}
	if err := reproduce.CheckSeeds(f.seeds); err != nil {
		return usageError(cmd, "--seeds %d, %w", f.seeds, err)
	}
	machines, err := reproduce.ParseSource(f.machines)
	if err != nil {
		return usageError(cmd, "--machines %w", err)
	}
	if err := reproduce.CheckReadings(f.readings); err != nil {
		return usageError(cmd, "--readings %w", err)
	}
	if len(f.workloads) > 0 {
		if err := reproduce.CheckWorkloads(entries, f.workloads); err != nil {
			return usageError(cmd, "--workloads %w", err)
		}
	}
	rounds, err := reproduce.ParseSource(f.rounds)
	if err != nil {
		return usageError(cmd, "--rounds %w", err)
	}
	if f.rounds != "paper" && !f.paper {
		return usageError(cmd, "--rounds %s, expected it with --paper-sizes: small sizes have rounds of their own", f.rounds)
	}
	if f.csv == "-" && f.json {
		return usageError(cmd, "--json and --csv - both want stdout")
	}
	if f.csv == "-" && f.html == "-" {
		return usageError(cmd, "--csv - and --html - both want stdout")
	}
	if f.data != "" {
		if info, err := os.Stat(f.data); err != nil || !info.IsDir() {
			return usageError(cmd, "--data %s, expected a folder", f.data)
		}
	}
	if f.plan != "" {
		return a.writeFile(f.plan, func(w io.Writer) error { return reproducePlan(w, entries, f) })
	}
	if err := a.checkWritable(f.csv); err != nil {
		return err
	}
	if err := a.checkHTML(cmd, f.html, f.json || f.csv == "-"); err != nil {
		return err
	}
	if err := checkDistinct(f.csv, f.html); err != nil {
		return err
	}
	if f.svg != "" {
		if err := os.MkdirAll(f.svg, 0o777); err != nil {
			return fmt.Errorf("bitsched: %w", err)
		}
	}
	if f.results == "" {
		if f.results, err = results.UserDir("reproduce"); err != nil {
			return err
		}
	}
	store, err := results.Open(f.results)
	if err != nil {
		return err
	}
	version, err := results.Version()
	if err != nil {
		return err
	}
	line := a.newProgress()
	defer line.clear()
	s := a.startStoppable(0, line, "finishing with what is done")
	defer s.end()
	r := &reproduceResult{Size: reproduce.Small, Seed: f.seed, LeftOut: []leftOut{}}
	if f.paper {
		r.Size = reproduce.PaperSizes
	}
	for i, e := range entries {
		env := &reproduce.Env{Size: r.Size, Data: f.data, Threads: n, Seed: f.seed, Seeds: f.seeds, Sample: f.sample, Budget: f.budget, Readings: machines, Rounds: rounds, Set: f.readings, Workloads: f.workloads, Unbounded: !f.bounds, Progress: func(what string, done, total int) {
			line.report(masim.Progress{Phase: fmt.Sprintf("%d/%d %s: %s", i+1, len(entries), e.ID, what), Done: done, Total: total, Best: -1})
		}}
		made, err := e.Make(s.ctx, env, store, version, f.fresh)
		var missing *reproduce.MissingError
		switch {
		case errors.As(err, &missing) && len(entries) > 1:
			r.LeftOut = append(r.LeftOut, leftOut{e.ID, strings.TrimPrefix(err.Error(), "reproduce: ")})
			continue
		case errors.As(err, &missing):
			return usageError(cmd, "%w", err)
		case err != nil && s.ctx.Err() != nil && len(r.Entries) > 0:
			r.Stopped = errInterrupt.Error()
		case err != nil && s.ctx.Err() != nil:
			return fmt.Errorf("bitsched: stopped before the first was complete: %w", context.Cause(s.ctx))
		case err != nil:
			return err
		default:
			r.Entries = append(r.Entries, made)
			if s.ctx.Err() == nil || len(made.Failed) == 0 {
				continue
			}
			r.Stopped = errInterrupt.Error()
		}
		break
	}
	s.end()
	line.clear()
	if err := a.deliverReproduced(r, f); err != nil {
		return err
	}
	failed := 0
	for _, e := range r.Entries {
		failed += len(e.Failed)
	}
	if failed > 0 && r.Stopped == "" {
		return fmt.Errorf("%w: %s failed", errCheck, count(failed, "run"))
	}
	return nil
}

// reproducePlan writes a plan that measures each entry in a job of its own. Those whose
// inputs are not there are left out, as a comment.
func reproducePlan(w io.Writer, entries []*reproduce.Entry, f reproduceFlags) error {
	b := bufio.NewWriter(w)
	size := "small"
	if f.paper {
		size = "paper-sizes"
	}
	fmt.Fprintf(b, "version: 1\ntitle: Tables and figures of the papers\ncommand: [reproduce, \"{entry}\"]\nflags:\n  %s: true\n  seed: %d\n", size, f.seed)
	for _, x := range []struct{ flag, value string }{{"machines", f.machines}, {"rounds", f.rounds}} {
		if x.value != "paper" {
			fmt.Fprintf(b, "  %s: %s\n", x.flag, x.value)
		}
	}
	if len(f.readings) > 0 {
		fmt.Fprintf(b, "  readings: %s\n", strconv.Quote(strings.Join(f.readings, ",")))
	}
	if len(f.workloads) > 0 {
		fmt.Fprintf(b, "  workloads: %s\n", strconv.Quote(strings.Join(f.workloads, ",")))
	}
	if f.seeds > 1 {
		fmt.Fprintf(b, "  seeds: %d\n", f.seeds)
	}
	if !f.bounds {
		b.WriteString("  bounds: false\n")
	}
	if f.data != "" {
		dir := f.data
		if abs, err := filepath.Abs(f.data); err == nil && f.plan != "-" && !filepath.IsAbs(f.data) {
			if base, err := filepath.Abs(filepath.Dir(f.plan)); err == nil {
				if rel, err := filepath.Rel(base, abs); err == nil {
					dir = rel
				}
			}
		}
		fmt.Fprintf(b, "  data: %s # with its files, which go along\n", strconv.Quote(filepath.ToSlash(dir)+"/"))
	}
	b.WriteString("matrix:\n  entry:\n")
	for _, e := range entries {
		if missing := e.Missing(f.data); missing != "" {
			fmt.Fprintf(b, "    # %s needs %s\n", e.ID, missing)
			continue
		}
		fmt.Fprintf(b, "    - %s\n", strconv.Quote(e.ID))
	}
	return b.Flush()
}

func (a *app) deliverReproduced(r *reproduceResult, f reproduceFlags) error {
	if f.svg != "" {
		for _, e := range r.Entries {
			for _, fig := range e.Figures {
				file := filepath.Join(f.svg, strings.ReplaceAll(e.ID, ":", "-")+"-"+fig.File)
				if err := a.writeBytes(file, fig.SVG); err != nil {
					return err
				}
			}
		}
	}
	if f.html != "" {
		var left []string
		for _, l := range r.LeftOut {
			left = append(left, l.Why)
		}
		page := &report.Page{Title: "Papers, measured again", Sections: report.Reproduced(r.Entries, left)}
		if r.Stopped != "" {
			page.Lead = "Stopped before all was measured: this is a part."
		}
		if err := a.writePage(f.html, page); err != nil || f.html == "-" {
			return err
		}
	}
	if f.csv != "" {
		if err := a.writeFile(f.csv, r.writeCSV); err != nil || f.csv == "-" {
			return err
		}
	}
	if f.json {
		return a.printJSON(r)
	}
	return a.printText(r.text())
}

func (r *reproduceResult) writeCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"entry", "size", "claim", "section", "unit", "paper", "ours", "deviation", "tolerance", "points", "reading", "verdict", "bound", "bound_side", "bound_with", "bound_why", "interval"})
	for _, e := range r.Entries {
		for _, p := range e.Comparisons {
			number := func(v *float64) string {
				if v == nil {
					return ""
				}
				return strconv.FormatFloat(*v, 'g', -1, 64)
			}
			bound := []string{"", "", "", ""}
			interval := ""
			if p.Interval > 0 {
				interval = number(&p.Interval)
			}
			if len(p.Bounds) > 0 {
				b := &p.Bounds[0]
				bound = []string{number(&b.Value), string(b.Side), b.With, b.Why}
			}
			_ = c.Write(append([]string{e.ID, string(e.Size), p.Name, p.Section, p.Unit, number(&p.Paper), number(p.Ours), number(p.Deviation),
				number(&p.Tolerance), strconv.FormatBool(p.Points), p.Reading, string(p.Verdict)}, append(bound, interval)...))
		}
	}
	c.Flush()
	return c.Error()
}

func (a *app) listEntries(asJSON bool) error {
	type entry struct {
		ID     string   `json:"id"`
		Title  string   `json:"title"`
		Paper  string   `json:"paper"`
		Doc    string   `json:"doc"`
		Inputs []string `json:"inputs"`
	}
	list := []entry{}
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "name", Left: true}, {Name: "is", Left: true}, {Name: "from", Left: true}, {Name: "needs", Left: true}}}
	for _, e := range reproduce.Entries {
		list = append(list, entry{e.ID, e.Title, e.Paper, e.Doc, e.Inputs})
		t.Rows = append(t.Rows, []string{e.ID, e.Title, e.Paper, strings.Join(e.Inputs, ", ")})
	}
	if asJSON {
		return a.printJSON(list)
	}
	return a.printText(renderTable(t) + "\n")
}

func (r *reproduceResult) text() string {
	var b strings.Builder
	for _, e := range r.Entries {
		kept := ""
		if e.Kept {
			kept = ", measured before"
		}
		fmt.Fprintf(&b, "%s  %s (%s, %s sizes%s)\n\n", e.ID, e.Title, e.Paper, e.Size, kept)
		if len(e.Comparisons) > 0 {
			t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "claim", Left: true}, {Name: "section", Left: true}, {Name: "paper"}, {Name: "ours"}, {Name: "off by"}, {Name: "may be"}, {Name: "verdict", Left: true}}}
			for _, p := range e.Comparisons {
				unit := ""
				if p.Unit != "" {
					unit = " " + p.Unit
				}
				ours, off := "-", "-"
				may := fmt.Sprintf("%.0f %%", 100*p.Tolerance)
				if p.Points {
					may = figureText(p.Tolerance) + unit
				}
				if p.Ours != nil {
					ours = figureText(*p.Ours) + p.IntervalText() + unit
					if off = fmt.Sprintf("%+.1f %%", 100**p.Deviation); p.Points {
						off = fmt.Sprintf("%+.1f%s", *p.Deviation, unit)
					}
				}
				verdict := string(p.Verdict)
				if p.Reading != "" {
					verdict += " " + p.Reading
				}
				t.Rows = append(t.Rows, []string{p.Name, p.Section, figureText(p.Paper) + unit, ours, off, may, verdict})
			}
			b.WriteString(renderTable(t) + "\n\n")
			bounded := len(e.Orders) > 0
			for _, o := range e.Orders {
				fmt.Fprintf(&b, "order  %s\n", o.Text())
			}
			for _, p := range e.Comparisons {
				for _, text := range p.BoundTexts() {
					bounded = true
					fmt.Fprintf(&b, "bound  %s\n", text)
				}
			}
			if e.Unbounded {
				bounded = true
				b.WriteString("bound  runs that bound what differs were left out, --bounds makes them\n")
			}
			if bounded {
				b.WriteString("\n")
			}
		}
		for _, m := range e.Tables {
			t := benchmarks.Table{Rows: m.Rows}
			for i, h := range m.Head {
				t.Columns = append(t.Columns, benchmarks.Column{Name: h, Left: i == 0})
			}
			fmt.Fprintf(&b, "%s\n\n%s\n\n", m.Title, renderTable(t))
		}
		for _, f := range e.Failed {
			fmt.Fprintf(&b, "failed  %s\n", f)
		}
		for _, note := range e.Notes {
			fmt.Fprintf(&b, "note  %s\n", strings.ReplaceAll(note, "\n", "\n      "))
		}
		if len(e.Notes)+len(e.Failed) > 0 {
			b.WriteString("\n")
		}
	}
	for _, l := range r.LeftOut {
		fmt.Fprintf(&b, "left out  %s\n", l.Why)
	}
	if r.Stopped != "" {
		fmt.Fprintf(&b, "stopped by %s: what is done is kept, the same call goes on\n", r.Stopped)
	}
	return b.String()
}

// figureText is a figure with three or four digits.
func figureText(v float64) string {
	if v == float64(int64(v)) {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
