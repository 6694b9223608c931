package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/benchmarks/timing"
	"github.com/bitsched/bitsched/masim"
)

type referenceFlags struct {
	only    string
	beyond  bool
	threads int
	budget  time.Duration
	json    bool
	svg     string
}

const referenceLong = `Reference makes measurements of public simulators again, and prints what this model
measures beside theirs, with the deviation, the tolerance and the verdict. FILE is a
CSV file of points:

  of cores and caches  executing synthetic kernels on machines champsim-ooo8, -ooo4
                       and -io4; cycles are compared (core_cache.csv)
  of DRAM              under a load: the mean latency, the bandwidth where it is
                       saturated, or the median latency of an idle memory
                       (dram_latency_load.csv)

The columns of the file say which. docs/memory.md says what is modelled. The exit code
is 1 if a point is beyond its tolerance. Ctrl-C ends with the points done by then.`

const referenceExample = `  bitsched reference core_cache.csv
  bitsched reference dram_latency_load.csv --only 3200-1ch --svg dram.svg
  bitsched reference core_cache.csv --only chase --json`

func (a *app) referenceCommand() *cobra.Command {
	var f referenceFlags
	cmd := &cobra.Command{
		Use:     "reference FILE",
		Short:   "Compare cores, caches and DRAM with measurements of public simulators",
		Long:    referenceLong,
		Example: referenceExample,
		Args:    exactArgs("FILE"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.reference(cmd, args[0], f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.only, "only", "", "measure points whose name contains this `text`")
	fl.BoolVar(&f.beyond, "beyond", false, "show points beyond their tolerance only")
	fl.IntVar(&f.threads, "threads", 0, "points measured at once, 0: one for each core of the host")
	fl.DurationVar(&f.budget, "budget", 0, "stop after this `time`")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	fl.StringVar(&f.svg, "svg", "", "draw deviations into this `file`")
	return cmd
}

type referenceResult struct {
	File        string            `json:"file"`
	Points      []*timing.Outcome `json:"points"`
	Measured    int               `json:"measured"`
	Within      int               `json:"within"`
	Beyond      int               `json:"beyond"`
	NotJudged   int               `json:"not_judged"`
	Left        int               `json:"left"` // not measured before the run was stopped
	Stopped     string            `json:"stopped"`
	CPUSeconds  float64           `json:"cpu_seconds"`
	WallSeconds float64           `json:"wall_seconds"`
}

func (a *app) reference(cmd *cobra.Command, path string, f referenceFlags) error {
	workers, err := threads(cmd, f.threads)
	if err != nil {
		return err
	}
	if f.svg == "-" {
		return usageError(cmd, "--svg -, expected a file")
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("bitsched: read %s: %w", path, cause(err))
	}
	defer file.Close()
	points, err := timing.ReadPoints(path, file)
	if err != nil {
		return err
	}
	if f.only != "" {
		all := points
		points = nil
		for _, p := range all {
			if strings.Contains(p.ID, f.only) {
				points = append(points, p)
			}
		}
		if len(points) == 0 {
			return usageError(cmd, "--only %q, expected a part of the name of a point, such as %s", f.only, all[0].ID)
		}
	}
	if err := a.checkWritable(f.svg, path); err != nil {
		return err
	}

	line := a.newProgress()
	defer line.clear()
	s := a.startStoppable(f.budget, line, "finishing with the points so far")
	defer s.end()
	outcomes, err := a.measure(s.ctx, points, workers, a.searchProgress(line))
	if err != nil {
		return err
	}
	stopped := s.stopped()
	s.end()
	line.clear()
	r := &referenceResult{File: filepath.Base(path), Stopped: stopped, Left: len(points) - len(outcomes), Measured: len(outcomes)}
	for _, o := range outcomes {
		switch o.Verdict {
		case timing.Within:
			r.Within++
		case timing.Beyond:
			r.Beyond++
		default:
			r.NotJudged++
		}
		if !f.beyond || o.Verdict == timing.Beyond {
			r.Points = append(r.Points, o)
		}
	}
	if len(outcomes) == 0 {
		return fmt.Errorf("bitsched: stopped by %s before the first point was complete", r.Stopped)
	}
	if f.svg != "" {
		svg := timing.Figure("Deviation from "+r.File, outcomes)
		if err := a.writeBytes(f.svg, svg); err != nil {
			return err
		}
	}
	r.CPUSeconds, r.WallSeconds = cpuTime().Seconds(), time.Since(a.start).Seconds()
	if f.json {
		err = a.printJSON(r)
	} else {
		err = a.printText(r.text(f))
	}
	if err == nil && r.Beyond > 0 {
		err = fmt.Errorf("%s: %w: %s beyond tolerance", path, errCheck, count(r.Beyond, "point"))
	}
	return err
}

// measure measures points on several workers, in any order; the outcomes are in that
// of the points. What the context leaves out is missing.
func (a *app) measure(ctx context.Context, points []timing.Point, workers int, report func(masim.Progress)) ([]*timing.Outcome, error) {
	outcomes := make([]*timing.Outcome, len(points))
	var (
		mu    sync.Mutex
		next  int
		done  int
		first error
		wait  sync.WaitGroup
	)
	for range min(workers, len(points)) {
		wait.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				stop := first != nil
				mu.Unlock()
				if stop || i >= len(points) || ctx.Err() != nil {
					return
				}
				o, err := points[i].Run(ctx)
				mu.Lock()
				switch {
				case err == nil:
					outcomes[i] = o
					done++
					report(masim.Progress{Phase: "point", Done: done, Total: len(points), Best: -1})
				case ctx.Err() == nil && first == nil:
					first = err
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if first != nil && !errors.Is(first, context.Canceled) {
		return nil, first
	}
	var complete []*timing.Outcome
	for _, o := range outcomes {
		if o != nil {
			complete = append(complete, o)
		}
	}
	return complete, nil
}

func (r *referenceResult) text(f referenceFlags) string {
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "point", Left: true}, {Name: "quantity", Left: true}, {Name: "reference"}, {Name: "ours"},
		{Name: "deviation"}, {Name: "tolerance"}, {Name: "verdict", Left: true}}}
	number := func(v float64) string {
		if v >= 1000 {
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	for _, o := range r.Points {
		tolerance := fmt.Sprintf("%g %%", o.Tolerance)
		switch {
		case o.InClocks:
			tolerance = count(int(o.Tolerance), "clock")
		case o.Verdict == timing.NotJudged:
			tolerance = "-"
		}
		t.Rows = append(t.Rows, []string{o.ID, o.Quantity, number(o.Reference), number(o.Ours), fmt.Sprintf("%+.1f %%", o.Deviation), tolerance, string(o.Verdict)})
	}
	var s summary
	s.add("points", "%d measured: %d within tolerance, %d beyond, %d not judged", r.Measured, r.Within, r.Beyond, r.NotJudged)
	if r.Left > 0 {
		s.add("note", "stopped by %s, %d points are left", r.Stopped, r.Left)
	}
	if f.svg != "" {
		s.add("written", "%s", f.svg)
	}
	s.add("time", "%s (%s CPU)", seconds(r.WallSeconds), seconds(r.CPUSeconds))
	if len(t.Rows) == 0 {
		return s.String()
	}
	return renderTable(t) + "\n\n" + s.String()
}
