package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/benchmarks/gearbox"
	"github.com/bitsched/bitsched/masim"
)

func (a *app) sparsePaperCommand() *cobra.Command {
	var stack sparseStack
	o := gearbox.Options{}
	var svg, shard string
	var asJSON bool
	var n int
	cmd := &cobra.Command{
		Use:   "paper ID",
		Short: "Execute what a table or figure of the paper shows, beside its figures",
		Long: `Paper sets what the stack takes beside what the paper publishes. ID is a list of
  ` + strings.Join(gearbox.IDs(), " ") + `
or all. Published and modelled figures have columns of their own, and nothing is
fitted. Rows with a gate must hold, or the exit code is 1.

Stand-ins take the place of the paper's matrices, --scale dividing their size; with
the stack divided alike, nonzeros for each SPU and vault stay what they are. With
--data and --scale 1 the matrices themselves are read where they are there.

With --shard 2/5 each fifth of the entries is made, from the second on, for machines
that share no folder; bitsched sparse merge puts their documents together.`,
		Example: `  bitsched sparse paper table3,table5,table6,sec6,sec7.5 --json
  bitsched sparse paper fig13,fig14a,fig17a --scale 8 --layers 1 --vaults 4
  bitsched sparse paper fig13 --scale 64 --layers 1 --vaults 4 --svg fig13.svg`,
		Args: exactArgs("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			mach, err := stack.load(cmd)
			if err != nil {
				return err
			}
			if o.Threads, err = threads(cmd, n); err != nil {
				return err
			}
			part, parts, err := parseShard(cmd, shard)
			if err != nil {
				return err
			}
			if svg == "-" {
				return usageError(cmd, "--svg -, expected a file")
			}
			if err := a.checkWritable(svg); err != nil {
				return err
			}
			o.Machine = mach
			line := a.newProgress()
			defer line.clear()
			s := a.startStoppable(0, line, "stopping")
			defer s.end()
			report := a.searchProgress(line)
			o.Progress = func(text string) { report(masim.Progress{Phase: text, Best: -1}) }
			ids, err := gearbox.Select(strings.Split(args[0], ","))
			if err != nil {
				return fmt.Errorf("bitsched: %w", err)
			}
			doc := newPaperDocument(ids, o)
			if parts > 0 {
				doc.Shard = shard
				var some []string
				for i := part - 1; i < len(ids); i += parts {
					some = append(some, ids[i])
				}
				ids = some
			}
			entries, err := gearbox.NewLab(o).Paper(s.ctx, ids)
			if err != nil && (len(entries) == 0 || !s.interrupted()) {
				return s.reasonOf(sparseError(err))
			}
			stopped := s.stopped()
			s.end()
			line.clear()
			if svg != "" {
				drawing := gearbox.Draw(entries)
				if err := a.writeBytes(svg, drawing); err != nil {
					return err
				}
			}
			var failed []string
			for _, e := range entries {
				failed = append(failed, e.Failed()...)
			}
			if asJSON {
				doc.Entries, doc.Stopped, doc.CPUSeconds = entries, stopped, cpuTime().Seconds()
				err = a.printJSON(doc)
			} else {
				err = a.printText(paperText(entries))
			}
			if err != nil {
				return err
			}
			if len(failed) > 0 {
				return fmt.Errorf("%w: %s", errCheck, strings.Join(failed, "; "))
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.IntVar(&o.Scale, "scale", 64, "divide the size of stand-ins by this `number`")
	fl.Float64Var(&o.Locality, "locality", 0.5, "`share` of the edges of a stand-in that stay near")
	fl.StringSliceVar(&o.Datasets, "datasets", nil, "`matrices` of table 3; by default all")
	fl.IntVar(&o.Iterations, "iterations", 1, "`rounds` of pagerank")
	fl.StringVar(&o.Dir, "data", "", "`folder` of the paper's matrices")
	fl.BoolVar(&o.Check, "check", true, "compare results with plain loops")
	stack.add(fl)
	fl.Uint64Var(&o.Seed, "seed", 1, "`seed` of stand-ins and placement")
	fl.IntVar(&n, "threads", 0, "number of `threads`, 0 for all cores")
	fl.StringVar(&shard, "shard", "", "make one of several parts, as in `I/N`")
	fl.BoolVar(&asJSON, "json", false, "print one JSON document")
	fl.StringVar(&svg, "svg", "", "draw the entries into this `file`")
	return cmd
}

func paperText(entries []*gearbox.Entry) string {
	var b strings.Builder
	figure := func(v *float64) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprintf("%.6g", *v)
	}
	for i, e := range entries {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s: %s\n", e.ID, e.Title)
		t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "item", Left: true}, {Name: "published"}, {Name: "modelled"}, {Name: "unit", Left: true}, {Name: "gate", Left: true}, {Name: "note", Left: true}}}
		for _, r := range e.Rows {
			g := r.Gate
			if r.Holds != nil {
				g += map[bool]string{true: ": holds", false: ": FAILS"}[*r.Holds]
			}
			t.Rows = append(t.Rows, []string{r.Item, figure(r.Published), figure(r.Modelled), r.Unit, g, r.Note})
		}
		b.WriteString(renderTable(t) + "\n")
		for _, line := range e.Text {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
