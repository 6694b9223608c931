package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/benchmarks/mapstudy"
	"github.com/bitsched/bitsched/benchmarks/results"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

type mapstudyFlags struct {
	platforms string
	work      string
	sized     bool
	model     string
	copies    string
	evals     int64
	effort    string
	seed      uint64
	seeds     int
	threads   int
	budget    time.Duration
	json      bool
	csv       string
	sets      []string
	shard     string
	results   string
	merge     bool
}

// mapStudies lists the studies with what they are.
var mapStudies = [][2]string{
	{"table4", "the operators of Table IV, with sums of products"},
	{"bindings", "legal bindings of a convolution and a GEMM on every function; --sized on one crossbar"},
	{"fig5", "single operators: template, genetic algorithm, ours, bound, and means beside the paper's"},
	{"fig6", "whole networks against templates, beside the paper's"},
	{"why", "the paper's sentences on where improvements come from, each tested on breakdowns"},
	{"ablation", "parts of the space taken out one by one"},
	{"optimisers", "a race with equal evaluations, several seeds"},
	{"fronts", "a race for fronts of cycles, energy and units, with their hypervolume; of platforms that list energies only"},
	{"optimum", "distance to the exhaustive optimum of small spaces"},
	{"convergence", "the best so far by evaluations"},
	{"sensitivity", "each value that the paper leaves open, over its range"},
	{"sweep", "--work on a platform with other values, all combinations of --set"},
}

func (a *app) mapstudyCommand() *cobra.Command {
	var f mapstudyFlags
	long := "Mapstudy computes a table or figure of ARES, or a study that the paper does not have.\nFigures of the paper stand beside ours; nothing is fitted to them.\n\n"
	var names []string
	for _, s := range mapStudies {
		long += fmt.Sprintf("  %-12s %s\n", s[0], s[1])
		names = append(names, s[0])
	}
	cmd := &cobra.Command{
		Use:   "mapstudy NAME",
		Short: "Compute a table or figure about mappings of neural networks",
		Long:  strings.TrimSuffix(long, "\n"),
		Example: `  bitsched mapstudy bindings --sized
  bitsched mapstudy fig5 --platform mvm-reram --model compute-only --copies whole
  bitsched mapstudy optimum --json
  bitsched mapstudy sweep --work resnet18 --platform ./mine.yaml --set levels[0].fan_out=72,144,288 --set array.cols=128,256
  bitsched mapstudy optimisers --shard 1/4 --results runs
  bitsched mapstudy optimisers --merge --results runs`,
		Args:      exactArgs("NAME"),
		ValidArgs: names,
		RunE:      func(cmd *cobra.Command, args []string) error { return a.mapstudy(cmd, args[0], &f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.platforms, "platform", "", "`platforms`, separated by commas (default: the four of the paper)")
	fl.StringVar(&f.work, "work", "", "operator of bindings and convergence, as map takes it (default: a convolution and a GEMM; table4/C5)")
	fl.BoolVar(&f.sized, "sized", false, "count sizes of bindings on one crossbar too, for all of Table IV")
	fl.StringVar(&f.model, "model", "full", "`model` of fig5: full, or compute-only (steps of crossbars)")
	fl.StringVar(&f.copies, "copies", "whole", "`copies` of compute-only: whole matrices")
	fl.Int64Var(&f.evals, "evals", 0, "`number` of mappings that may be priced for each search (0 = by --effort)")
	fl.StringVar(&f.effort, "effort", "normal", "how hard to search, a `level`: fast, normal or high (1000, 10000 or 100000 mappings)")
	fl.Uint64Var(&f.seed, "seed", 1, "`seed` of the first search")
	fl.IntVar(&f.seeds, "seeds", 5, "`number` of seeds of rivals")
	fl.IntVar(&f.threads, "threads", 0, "`number` of threads (0 = all cores); does not change the result")
	fl.DurationVar(&f.budget, "budget", 0, "stop after this `time`, for example 60s (0 = when it is done)")
	fl.StringArrayVar(&f.sets, "set", nil, "of sweep: values of a field of the platform, as `FIELD=V,V,...`; may be given several times")
	fl.StringVar(&f.results, "results", "", "keep what each job found in this `folder`, and take from there what is kept")
	fl.StringVar(&f.shard, "shard", "", "do only a `part` of the jobs, as 2/8, and keep them in --results")
	fl.BoolVar(&f.merge, "merge", false, "do nothing, and print the study from --results")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	fl.StringVar(&f.csv, "csv", "", "write the table as CSV to this `file` (- for stdout)")
	complete(cmd, "platform", platform.Names()...)
	complete(cmd, "model", "full", "compute-only")
	complete(cmd, "effort", "fast", "normal", "high")
	return cmd
}

func (a *app) mapstudy(cmd *cobra.Command, name string, f *mapstudyFlags) error {
	var names []string
	for _, s := range mapStudies {
		names = append(names, s[0])
	}
	switch {
	case !slices.Contains(names, name):
		return usageError(cmd, "no study %q, expected one of %s", name, strings.Join(names, ", "))
	case f.model != "full" && f.model != "compute-only":
		return usageError(cmd, "--model %q, expected full or compute-only", f.model)
	case f.copies != "whole":
		return usageError(cmd, "--copies %q, expected whole", f.copies)
	case f.evals < 0:
		return usageError(cmd, "--evals %d, expected 0 or more", f.evals)
	case evalsOf(f.effort) == 0:
		return usageError(cmd, "--effort %q, expected fast, normal or high", f.effort)
	case f.seeds < 1:
		return usageError(cmd, "--seeds %d, expected at least 1", f.seeds)
	case f.budget < 0:
		return usageError(cmd, "--budget %v, expected a time that is not negative", f.budget)
	case f.csv == "-" && f.json:
		return usageError(cmd, "--json and --csv - both want stdout")
	case (f.shard != "" || f.merge) && f.results == "":
		return usageError(cmd, "--shard and --merge need --results FOLDER")
	case f.shard != "" && f.merge:
		return usageError(cmd, "--shard and --merge exclude each other")
	case (name == "sweep") != (len(f.sets) > 0):
		return usageError(cmd, "sweep and --set go together")
	case name == "sweep" && f.work == "":
		return usageError(cmd, "sweep needs --work")
	}
	o := mapstudy.Options{Evals: f.evals, Seed: f.seed, Seeds: f.seeds}
	if o.Evals == 0 {
		o.Evals = evalsOf(f.effort)
	}
	if f.platforms != "" {
		o.Platforms = strings.Split(f.platforms, ",")
		for _, p := range o.Platforms {
			if _, err := loadPlatform(p); err != nil {
				return err
			}
		}
	}
	var err error
	if o.Threads, err = threads(cmd, f.threads); err != nil {
		return err
	}
	if err := f.jobs(cmd, &o); err != nil {
		return err
	}
	if err := a.checkWritable(f.csv); err != nil {
		return err
	}
	line := a.newProgress()
	defer line.clear()
	o.Progress = func(done, total int, what string) { line.studying(name+" "+what, done, total) }
	s := a.startStoppable(f.budget, line, "stopping")
	defer s.end()
	doc, tables, err := a.study(cmd, s, name, f, o)
	line.clear()
	if part := (*mapstudy.PartError)(nil); errors.As(err, &part) && f.shard != "" {
		return a.printText(fmt.Sprintf("part %s of %s is done: %d jobs are in %s, %d are not; --merge prints the study when all are\n", f.shard, name, part.Done, f.results, part.Missing))
	}
	if err != nil {
		return s.reasonOf(err)
	}
	if f.csv != "" {
		if err := a.writeFile(f.csv, func(w io.Writer) error { return writeCSV(w, tables[0]) }); err != nil || f.csv == "-" {
			return err
		}
	}
	if f.json {
		return a.printJSON(doc)
	}
	var texts []string
	for _, t := range tables {
		texts = append(texts, renderTable(t)+"\n")
	}
	return a.printText(strings.Join(texts, "\n"))
}

func writeCSV(w io.Writer, t benchmarks.Table) error {
	c := csv.NewWriter(w)
	var head []string
	for _, x := range t.Columns {
		head = append(head, x.Name)
	}
	if err := c.Write(head); err != nil {
		return err
	}
	if err := c.WriteAll(t.Rows); err != nil {
		return err
	}
	c.Flush()
	return c.Error()
}

// study computes one, as a document and as tables.
func (a *app) study(cmd *cobra.Command, s *search, name string, f *mapstudyFlags, o mapstudy.Options) (any, []benchmarks.Table, error) {
	ctx := s.ctx
	ops := dnn.Table4Operators(dnn.DefaultBits)
	if f.work != "" {
		net, err := dnn.Lookup(f.work, 1, dnn.DefaultBits)
		if err != nil {
			return nil, nil, err
		}
		ops = nil
		for _, m := range net.MACs() {
			ops = append(ops, net.Nodes[m].Op)
		}
	}
	switch name {
	case "sweep":
		return sweepStudy(cmd, ctx, f, o)
	case "table4":
		return table4Study()
	case "bindings":
		platforms := o.Platforms
		if platforms == nil {
			platforms = mapstudy.PaperPlatforms
		}
		if f.work == "" && !f.sized {
			ops = []*dnn.Operator{ops[1], ops[11]} // a convolution and a GEMM
		}
		rows, err := mapstudy.Bindings(ctx, platforms, ops, f.sized || f.work == "")
		if err != nil {
			return nil, nil, err
		}
		if f.work == "" && !f.sized {
			// The sizes of all layers of Table IV go with the default.
			sized, err := mapstudy.Bindings(ctx, []string{"mvm-reram"}, dnn.Table4Operators(dnn.DefaultBits), true)
			if err != nil {
				return nil, nil, err
			}
			for _, c := range sized {
				if c.Operator != ops[0].Name && c.Operator != ops[1].Name {
					rows = append(rows, c)
				}
			}
		}
		wrong, err := mapstudy.WrongBinding(ctx)
		if err != nil {
			return nil, nil, err
		}
		t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "operator", Left: true}, {Name: "platform", Left: true}, {Name: "function", Left: true}, {Name: "bindings"}, {Name: "weights on Src1"}, {Name: "swapped"}, {Name: "paper"}, {Name: "sized"}, {Name: "", Left: true}}}
		for _, c := range rows {
			note, sizes, paper := "", "", ""
			if c.MayBeEmpty != "" {
				note = "k1, k2 may be empty"
			}
			if c.Sized > 0 {
				sizes = fmt.Sprintf("%d+%d=%d", c.SizedInOrder, c.SizedSwapped, c.Sized)
			}
			if c.Paper > 0 {
				paper = fmt.Sprint(c.Paper)
			}
			t.Rows = append(t.Rows, []string{c.Operator, c.Platform, c.Function, fmt.Sprint(c.Total), fmt.Sprint(c.InOrder), fmt.Sprint(c.Swapped), paper, sizes, note})
		}
		refused := benchmarks.Table{Columns: []benchmarks.Column{{Name: "Fig. 4, wrong binding", Left: true}}, Rows: [][]string{{wrong}}}
		return map[string]any{"bindings": rows, "fig4_refused": wrong}, []benchmarks.Table{t, refused}, nil
	case "fig5":
		if f.model == "compute-only" {
			return computeOnlyStudy(o, ops)
		}
		bars, means, err := mapstudy.Fig5(ctx, o)
		if err != nil {
			return nil, nil, err
		}
		t, m := fig5Tables(bars, means)
		return map[string]any{"bars": bars, "means": means}, []benchmarks.Table{t, m}, nil
	case "optimisers":
		races, err := mapstudy.Optimisers(ctx, o, []string{"ares", "gamma", "anneal", "random"}, true)
		if err != nil {
			return nil, nil, err
		}
		return optimisersTables(races)
	case "fronts":
		rivals := []string{"bitsched", "ares", "gamma", "anneal", "random"}
		races, err := mapstudy.Fronts(ctx, o, rivals)
		if err != nil {
			return nil, nil, err
		}
		return map[string]any{"races": races}, frontsTables(rivals, races), nil
	case "optimum":
		rows, err := mapstudy.Optimum(ctx, o)
		if err != nil {
			return nil, nil, err
		}
		t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "work", Left: true}, {Name: "platform", Left: true}, {Name: "mappings"}, {Name: "legal"}, {Name: "optimum"}, {Name: "at least"}, {Name: "bitsched gap %"}, {Name: "evaluations"}, {Name: "proved", Left: true}, {Name: "ares gap %"}, {Name: "worst"}}}
		for _, r := range rows {
			t.Rows = append(t.Rows, []string{r.Work, r.Platform, fmt.Sprint(r.Mappings), fmt.Sprint(r.Legal), fmt.Sprint(r.Optimum), fmt.Sprint(r.Bound), fmt.Sprintf("%.2f", r.Gap), fmt.Sprint(r.Evals), map[bool]string{true: "yes", false: "no"}[r.Proved], fmt.Sprintf("%.2f", r.ARESMean), fmt.Sprintf("%.2f", r.ARESWorst)})
		}
		return map[string]any{"spaces": rows}, []benchmarks.Table{t}, nil
	case "convergence":
		op := dnn.Table4Operators(dnn.DefaultBits)[5]
		if f.work != "" {
			op = ops[0]
		}
		curves, err := mapstudy.Convergence(ctx, o, op, []string{"bitsched", "ares", "gamma", "anneal", "random"})
		if err != nil {
			return nil, nil, err
		}
		t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "operator", Left: true}, {Name: "platform", Left: true}, {Name: "optimiser", Left: true}, {Name: "seed"}, {Name: "evaluations"}, {Name: "best"}, {Name: "at least"}}}
		for _, c := range curves {
			for _, p := range c.Points {
				t.Rows = append(t.Rows, []string{c.Operator, c.Platform, c.Optimizer, fmt.Sprint(c.Seed), fmt.Sprint(p.Evaluations), fmt.Sprint(p.Best), fmt.Sprint(c.Bound)})
			}
		}
		return map[string]any{"curves": curves}, []benchmarks.Table{t}, nil
	case "sensitivity":
		swings, intervals, err := mapstudy.Sensitivity(ctx, o, ops[:min(11, len(ops))])
		if err != nil {
			return nil, nil, err
		}
		t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "platform", Left: true}, {Name: "mean here %"}, {Name: "from"}, {Name: "to"}, {Name: "paper %"}, {Name: "", Left: true}}}
		for _, x := range intervals {
			t.Rows = append(t.Rows, []string{x.Platform, fmt.Sprintf("%.2f", x.Default), fmt.Sprintf("%.2f", x.Low), fmt.Sprintf("%.2f", x.High), fmt.Sprint(x.Paper), x.Verdict})
		}
		u := benchmarks.Table{Columns: []benchmarks.Column{{Name: "platform", Left: true}, {Name: "field", Left: true}, {Name: "low"}, {Name: "high"}, {Name: "mean at low %"}, {Name: "mean at high %"}}}
		for _, x := range swings {
			u.Rows = append(u.Rows, []string{x.Platform, x.Field, fmt.Sprint(x.Low), fmt.Sprint(x.High), meanText(x.AtLow), meanText(x.AtHigh)})
		}
		return map[string]any{"intervals": intervals, "swings": swings}, []benchmarks.Table{t, u}, nil
	case "ablation":
		rows, err := mapstudy.Ablate(ctx, o, ops[:min(11, len(ops))])
		if err != nil {
			return nil, nil, err
		}
		t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "platform", Left: true}, {Name: "without", Left: true}, {Name: "1-t/t_base %"}, {Name: "slower %"}}}
		for _, x := range rows {
			without := x.Without
			if without == "" {
				without = "nothing"
			}
			t.Rows = append(t.Rows, []string{x.Platform, without, fmt.Sprintf("%.2f", x.Mean), fmt.Sprintf("%.2f", x.Slower)})
		}
		return map[string]any{"ablations": rows}, []benchmarks.Table{t}, nil
	case "why":
		bars, _, err := mapstudy.Fig5(ctx, o)
		if err != nil {
			return nil, nil, err
		}
		rows := mapstudy.Why(bars)
		t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "sentence", Left: true}, {Name: "holds", Left: true}, {Name: "figures", Left: true}}}
		for _, x := range rows {
			t.Rows = append(t.Rows, []string{x.Sentence, map[bool]string{true: "yes", false: "no"}[x.Holds], x.Figures})
		}
		return map[string]any{"sentences": rows}, []benchmarks.Table{t}, nil
	}
	rows, means, err := mapstudy.Fig6(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "network", Left: true}, {Name: "platform", Left: true}, {Name: "template"}, {Name: "bitsched"}, {Name: "at least"}, {Name: "1-t/t_base %"}}}
	for _, r := range rows {
		t.Rows = append(t.Rows, []string{r.Network, r.Platform, fmt.Sprint(r.Baseline), fmt.Sprint(r.Cycles), fmt.Sprint(r.Bound), fmt.Sprintf("%.2f", r.Reduction)})
	}
	u := benchmarks.Table{Columns: []benchmarks.Column{{Name: "platform", Left: true}, {Name: "mean here %"}, {Name: "most here %"}, {Name: "paper %"}, {Name: "", Left: true}}}
	for _, m := range means {
		u.Rows = append(u.Rows, []string{m.Platform, fmt.Sprintf("%.2f", m.Mean), fmt.Sprintf("%.2f", m.Most), fmt.Sprint(m.Paper), m.Statistic})
	}
	return map[string]any{"networks": rows, "means": means}, []benchmarks.Table{t, u}, nil
}

// jobs sets where the results of jobs are kept, and which are done.
func (f *mapstudyFlags) jobs(cmd *cobra.Command, o *mapstudy.Options) error {
	if f.results == "" {
		return nil
	}
	var err error
	if o.Store, err = results.Open(f.results); err != nil {
		return err
	}
	o.Merge = f.merge
	if f.shard == "" {
		return nil
	}
	n, rest, ok := strings.Cut(f.shard, "/")
	o.Shard, err = strconv.Atoi(n)
	if ok && err == nil {
		o.Shards, err = strconv.Atoi(rest)
	}
	if !ok || err != nil || o.Shard < 1 || o.Shards < o.Shard || o.Shards > 1<<20 {
		return usageError(cmd, "--shard %q, expected PART/PARTS as in 2/8", f.shard)
	}
	return nil
}

// sweepStudy maps --work on a platform with other values.
func sweepStudy(cmd *cobra.Command, ctx context.Context, f *mapstudyFlags, o mapstudy.Options) (any, []benchmarks.Table, error) {
	if len(o.Platforms) > 1 {
		return nil, nil, usageError(cmd, "%d platforms, sweep takes one", len(o.Platforms))
	}
	name := "logic-sram"
	if len(o.Platforms) == 1 {
		name = o.Platforms[0]
	}
	p, err := loadPlatform(name)
	if err != nil {
		return nil, nil, err
	}
	work := workFlags{batch: 1, bits: "a=8,w=8", data: "random"}
	net, err := work.network(cmd, f.work)
	if err != nil {
		return nil, nil, err
	}
	var settings []mapstudy.Setting
	points := 1
	t := benchmarks.Table{}
	for _, text := range f.sets {
		field, values, ok := strings.Cut(text, "=")
		if _, known := p.Value(field); !ok || !known {
			return nil, nil, usageError(cmd, "--set %q, expected a field of a number of platform %s, as array.cols=128,256", text, p.Name)
		}
		s := mapstudy.Setting{Field: field}
		for _, v := range strings.Split(values, ",") {
			x, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return nil, nil, usageError(cmd, "--set %q: %q is no number", text, v)
			}
			if _, err := p.With(field, x); err != nil {
				return nil, nil, usageError(cmd, "--set %q: %s", text, strings.TrimPrefix(err.Error(), "platform: "))
			}
			s.Values = append(s.Values, x)
		}
		if points *= len(s.Values); points > 1<<16 {
			return nil, nil, usageError(cmd, "more than %d points", 1<<16)
		}
		settings = append(settings, s)
		t.Columns = append(t.Columns, benchmarks.Column{Name: field})
	}
	rows, err := mapstudy.Sweep(ctx, o, net, p, settings)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range []string{"units", "cycles", "time", "at least", "template"} {
		t.Columns = append(t.Columns, benchmarks.Column{Name: c})
	}
	t.Columns = append(t.Columns, benchmarks.Column{Name: "", Left: true})
	for _, r := range rows {
		var row []string
		for _, v := range r.Values {
			row = append(row, fmt.Sprint(v))
		}
		t.Rows = append(t.Rows, append(row, fmt.Sprint(r.Units), fmt.Sprint(r.Cycles), timeText(r.Cycles, float64(r.Cycles)/max(r.Nanos, 1e-9)), fmt.Sprint(r.Bound), fmt.Sprint(r.Baseline), r.Problem))
	}
	return map[string]any{"work": net.Name, "platform": p.Name, "settings": settings, "points": rows}, []benchmarks.Table{t}, nil
}

func table4Study() (any, []benchmarks.Table, error) {
	type row struct {
		Name  string         `json:"name"`
		Loops map[string]int `json:"loops"`
		MACs  int64          `json:"macs"`
	}
	var rows []row
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "layer", Left: true}, {Name: "operator", Left: true}, {Name: "MACs"}}}
	for _, op := range dnn.Table4Operators(dnn.DefaultBits) {
		r := row{op.Name, map[string]int{}, op.MACs()}
		for _, l := range op.Loops {
			r.Loops[l.Name] = l.Extent
		}
		rows = append(rows, r)
		t.Rows = append(t.Rows, []string{op.Name, op.String(), fmt.Sprint(op.MACs())})
	}
	return map[string]any{"layers": rows}, []benchmarks.Table{t}, nil
}

func computeOnlyStudy(o mapstudy.Options, ops []*dnn.Operator) (any, []benchmarks.Table, error) {
	name := "mvm-reram"
	if len(o.Platforms) > 0 {
		name = o.Platforms[0]
	}
	p, err := platform.Load(name)
	if err != nil {
		return nil, nil, err
	}
	rows, mean, err := mapstudy.ComputeOnly(p, ops)
	if err != nil {
		return nil, nil, err
	}
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "operator", Left: true}, {Name: "crossbars, template"}, {Name: "im2col"}, {Name: "steps, template"}, {Name: "whole copies"}, {Name: "1-t/t_base %"}}}
	for _, r := range rows {
		t.Rows = append(t.Rows, []string{r.Operator, fmt.Sprint(r.Baseline), fmt.Sprint(r.Im2col), fmt.Sprint(r.Before), fmt.Sprint(r.After), fmt.Sprintf("%.2f", r.Reduction)})
	}
	t.Footer = [][]string{{"mean", "", "", "", "", fmt.Sprintf("%.2f", mean)}}
	return map[string]any{"platform": p.Name, "model": "compute-only", "copies": "whole", "rows": rows, "mean_reduction_percent": mean, "paper_percent": mapstudy.PaperMeans["mvm-reram"]}, []benchmarks.Table{t}, nil
}

func fig5Tables(bars []mapstudy.Bar, means []mapstudy.Mean) (t, m benchmarks.Table) {
	t.Columns = []benchmarks.Column{{Name: "platform", Left: true}, {Name: "operator", Left: true}, {Name: "template"}, {Name: "ares"}, {Name: "bitsched"}, {Name: "at least"}, {Name: "1-t/t_base %"}, {Name: "t_base/t-1 %"}, {Name: "proved", Left: true}}
	for _, b := range bars {
		t.Rows = append(t.Rows, []string{b.Platform, b.Operator, fmt.Sprint(b.Baseline), fmt.Sprint(b.ARES), fmt.Sprint(b.Bitsched), fmt.Sprint(b.Bound), fmt.Sprintf("%.2f", b.Reduction), fmt.Sprintf("%.2f", b.Speedup), map[bool]string{true: "yes"}[b.Proved]})
	}
	m.Columns = []benchmarks.Column{{Name: "platform", Left: true}, {Name: "C0-C10 %"}, {Name: "with G1, G2 %"}, {Name: "ares %"}, {Name: "speed-up"}, {Name: "paper %"}, {Name: "all positive", Left: true}}
	for _, x := range means {
		m.Rows = append(m.Rows, []string{x.Platform, fmt.Sprintf("%.2f", x.Reduction), fmt.Sprintf("%.2f", x.All), fmt.Sprintf("%.2f", x.ARES), fmt.Sprintf("%.2fx", x.GeoSpeedup), fmt.Sprint(x.Paper), map[bool]string{true: "yes", false: "no"}[x.Positive]})
	}
	return t, m
}

func optimisersTables(races []mapstudy.Race) (any, []benchmarks.Table, error) {
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "platform", Left: true}, {Name: "operator", Left: true}, {Name: "bitsched"}, {Name: "ares best"}, {Name: "ares worst"}, {Name: "ares x5"}, {Name: "gamma best"}, {Name: "anneal best"}, {Name: "random best"}, {Name: "at least"}}}
	for _, r := range races {
		t.Rows = append(t.Rows, []string{r.Platform, r.Operator, fmt.Sprint(r.Bitsched), fmt.Sprint(r.Best["ares"]), fmt.Sprint(r.Worst["ares"]), fmt.Sprint(r.ARES5), fmt.Sprint(r.Best["gamma"]), fmt.Sprint(r.Best["anneal"]), fmt.Sprint(r.Best["random"]), fmt.Sprint(r.Bound)})
	}
	s := mapstudy.Summarise(races)
	u := benchmarks.Table{Columns: []benchmarks.Column{{Name: "race", Left: true}, {Name: ""}}, Rows: [][]string{
		{"not worse than the GA's best seed", fmt.Sprintf("%d of %d", s.NotWorse, s.Races)},
		{"strictly better", fmt.Sprintf("%d of %d", s.Better, s.Races)},
		{"the GA with five times the evaluations is not faster", fmt.Sprintf("%d of %d", s.NotFaster5, s.Races)},
		{"geometric mean of the GA's mean over ours", fmt.Sprintf("%.4f", s.GeoMean)},
		{"proved optimal", fmt.Sprintf("%d of %d", s.Proved, s.Races)},
	}}
	return map[string]any{"races": races, "summary": s}, []benchmarks.Table{t, u}, nil
}

// frontsTables has the mean over seeds of each optimiser's share of the hypervolume of all, and how often each has the most.
func frontsTables(rivals []string, races []mapstudy.FrontRace) []benchmarks.Table {
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "platform", Left: true}, {Name: "operator", Left: true}, {Name: "reference"}, {Name: "known energy"}}}
	u := benchmarks.Table{Columns: []benchmarks.Column{{Name: "optimiser", Left: true}, {Name: "mean hypervolume %"}, {Name: "worst seed %"}, {Name: "most in"}}}
	most := make([]int, len(rivals))
	mean, worst := make([]float64, len(rivals)), make([]float64, len(rivals))
	for _, name := range rivals {
		t.Columns = append(t.Columns, benchmarks.Column{Name: name + " %"})
	}
	for i, r := range races {
		row := []string{r.Platform, r.Operator, fmt.Sprint(r.Cycles), mapstudy.Joules(r.Picojoules)}
		best := 0.0
		for k, name := range rivals {
			v := r.Mean[name]
			row = append(row, fmt.Sprintf("%.2f", 100*v))
			best = max(best, v)
			mean[k] += 100 * v / float64(len(races))
			if w := 100 * r.Worst[name]; i == 0 || w < worst[k] {
				worst[k] = w
			}
		}
		for k, name := range rivals {
			if r.Mean[name] >= best {
				most[k]++
			}
		}
		t.Rows = append(t.Rows, row)
	}
	for k, name := range rivals {
		u.Rows = append(u.Rows, []string{name, fmt.Sprintf("%.2f", mean[k]), fmt.Sprintf("%.2f", worst[k]), fmt.Sprintf("%d of %d", most[k], len(races))})
	}
	return []benchmarks.Table{t, u}
}

// meanText is a mean in percent.
func meanText(v *float64) string {
	if v == nil {
		return "infeasible"
	}
	return fmt.Sprintf("%.2f", *v)
}
