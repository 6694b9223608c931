package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/benchmarks/gearbox"
	"github.com/bitsched/bitsched/system/sparse/reference"
)

func (a *app) sparseRivalsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "rivals",
		Short: "List what others are published to take, with sources",
		Long: `Rivals lists published times and ratios, which are neither modelled nor measured
here: bitsched sparse paper sets modelled rivals beside them, bitsched sparse cpu
measures this machine. The three kinds never share a column.`,
		Example: `  bitsched sparse rivals --json`,
		Args:    exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			times, ratios := gearbox.PublishedTimes(), gearbox.PublishedRatios()
			if asJSON {
				return a.printJSON(map[string]any{"times": times, "ratios": ratios})
			}
			t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "matrix", Left: true}, {Name: "app", Left: true}, {Name: "ms"}, {Name: "rounds"}, {Name: "ms a round"}, {Name: "log", Left: true}}}
			for _, x := range times {
				t.Rows = append(t.Rows, []string{x.Dataset, x.App, fmt.Sprint(x.Millis), fmt.Sprint(x.Rounds), fmt.Sprintf("%.3g", x.Millis/float64(x.Rounds)), x.File})
			}
			u := benchmarks.Table{Columns: []benchmarks.Column{{Name: "rival", Left: true}, {Name: "of", Left: true}, {Name: "published"}, {Name: "source", Left: true}}}
			for _, x := range ratios {
				u.Rows = append(u.Rows, []string{x.Rival, x.Of, fmt.Sprintf("%gx", x.Ratio), x.Source})
			}
			return a.printText("P100-PCIE-16GB (732 GB/s), Gunrock 0.4.0, one GPU; the paper's card has 549 GB/s\n" + renderTable(t) + "\n\n" + renderTable(u) + "\n")
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func (a *app) sparseCPUCommand() *cobra.Command {
	var f sparseInput
	var asJSON bool
	var rounds, tries int
	cmd := &cobra.Command{
		Use:   "cpu MATRIX",
		Short: "Measure plain loops of PageRank on this machine",
		Long: `Cpu measures the loops that results are compared with, one thread, on this machine,
and reports the best of some tries. It is an orientation, not a tuned rival.`,
		Example: `  bitsched sparse cpu web.mtx.gz
  bitsched sparse cpu standin:hollywood-2009 --scale 8 --json`,
		Args: exactArgs("MATRIX"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if rounds < 1 || tries < 1 {
				return usageError(cmd, "--iterations %d, --tries %d, expected at least 1", rounds, tries)
			}
			line := a.newProgress()
			defer line.clear()
			m, _, err := a.loadMatrix(cmd, args[0], &f, line)
			if err != nil {
				return err
			}
			if m.Rows != m.Cols {
				return fmt.Errorf("bitsched: pagerank of a matrix of %d x %d, expected a square one", m.Rows, m.Cols)
			}
			s := a.startStoppable(0, line, "stopping after this try")
			defer s.end()
			best := time.Duration(1<<63 - 1)
			done := 0
			for done < tries && s.stopped() == "" {
				line.phase(fmt.Sprintf("try %d", done+1))
				began := time.Now()
				reference.PageRank(m, 0.85, rounds)
				best = min(best, time.Since(began))
				done++
			}
			line.clear()
			rate := float64(m.NNZ()) * float64(rounds) / best.Seconds()
			if asJSON {
				return a.printJSON(map[string]any{"matrix": args[0], "nnz": m.NNZ(), "iterations": rounds, "tries": done, "seconds": best.Seconds(), "nonzeros_per_second": rate, "cpu": cpuModel(), "threads": 1, "kind": "measured here"})
			}
			var out summary
			out.add("matrix", "%s, %s nonzeros", args[0], bigCount(m.NNZ()))
			out.add("measured here", "%.3f ms a round of PageRank in float64, %.0f M nonzeros/s, best of %d, one thread", best.Seconds()*1e3/float64(rounds), rate/1e6, done)
			out.add("machine", "%s", cpuModel())
			return a.printText(out.String())
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.IntVar(&rounds, "iterations", 1, "`rounds` of pagerank")
	fl.IntVar(&tries, "tries", 5, "`tries`, the best of which counts")
	f.add(fl)
	fl.BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

// cpuModel is what the system calls the processor.
func cpuModel() string {
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	return "unknown"
}
