package main

import (
	"fmt"
	"os"
	"strconv"
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
			t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "matrix", Left: true}, {Name: "app", Left: true}, {Name: "ms"}, {Name: "rounds"}, {Name: "ms a round"}, {Name: "ms at 549 of 732 GB/s"}, {Name: "log", Left: true}}}
			for _, x := range times {
				rounds, perRound := "-", "-"
				if x.Rounds > 0 {
					rounds, perRound = strconv.Itoa(x.Rounds), fmt.Sprintf("%.3g", x.Millis/float64(x.Rounds))
				}
				t.Rows = append(t.Rows, []string{x.Dataset, x.App, fmt.Sprint(x.Millis), rounds, perRound, fmt.Sprintf("%.4g", x.Millis/gearbox.PaperShare), x.File})
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
	var rounds, tries, n int
	cmd := &cobra.Command{
		Use:   "cpu MATRIX",
		Short: "Measure plain loops of a product on this machine",
		Long: `Cpu measures plain loops on this machine and reports the best of some tries: push adds
each entry of a column to the output of its row, as an iteration of PageRank does, and
pull collects for each column what its entries need, which is the product with the
transposed matrix. It is an orientation, not a tuned rival.`,
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
			nt, err := threads(cmd, n)
			if err != nil {
				return err
			}
			s := a.startStoppable(0, line, "stopping after this try")
			defer s.end()
			x, y := make([]float32, m.Cols), make([]float32, m.Rows)
			for c := range x {
				x[c] = 1 / float32(m.Cols)
			}
			for r := range y {
				y[r] = 1 / float32(m.Rows)
			}
			loops := []struct {
				name string
				run  func()
			}{{"push", func() { reference.Push(m, x, nt) }}, {"pull", func() { reference.Pull(m, y, nt) }}}
			type measured struct {
				Loop    string  `json:"loop"`
				Tries   int     `json:"tries"`
				Seconds float64 `json:"seconds"` // of a product, the best
				Rate    float64 `json:"nonzeros_per_second"`
			}
			var list []measured
			for _, l := range loops {
				best, done := time.Duration(1<<63-1), 0
				for done < tries && (done == 0 || s.stopped() == "") {
					line.phase(fmt.Sprintf("%s, try %d", l.name, done+1))
					began := time.Now()
					for range rounds {
						l.run()
					}
					best = min(best, time.Since(began))
					done++
				}
				seconds := best.Seconds() / float64(rounds)
				list = append(list, measured{l.name, done, seconds, float64(m.NNZ()) / seconds})
			}
			line.clear()
			if asJSON {
				return a.printJSON(map[string]any{"matrix": args[0], "nnz": m.NNZ(), "iterations": rounds, "loops": list, "cpu": cpuModel(), "threads": nt, "kind": "measured here"})
			}
			var out summary
			out.add("matrix", "%s, %s nonzeros", args[0], bigCount(m.NNZ()))
			for i, l := range list {
				label := ""
				if i == 0 {
					label = "measured here"
				}
				out.add(label, "%s: %.3f ms a product in f32, %.0f M nonzeros/s, best of %d, %s", l.Loop, l.Seconds*1e3, l.Rate/1e6, l.Tries, count(nt, "thread"))
			}
			out.add("machine", "%s", cpuModel())
			return a.printText(out.String())
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.IntVar(&rounds, "iterations", 1, "`products` of a try")
	fl.IntVar(&tries, "tries", 5, "`tries`, the best of which counts")
	f.add(fl)
	fl.IntVar(&n, "threads", 0, "number of `threads`, 0 for all cores")
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
