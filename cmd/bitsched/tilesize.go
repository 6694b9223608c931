package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/tile"
)

type tilesizeFlags struct {
	kernel   kernelFlags
	machine  machineFlags
	optimize bool
	nearRate int
	threads  int
	json     bool
	svg      string
}

const tilesizeLong = `Tilesize times a kernel with every valid shape of tiles, and says which is the best,
which one the heuristics choose, and by how much it takes longer (Infinity Stream,
figures 16 and 17). Nothing is executed: cycles do not depend on data. As in run, only
what is in memory takes time, but for the last steps of reductions over several tiles:
streams do them, at the rate of the machine, or the best tiles would leave all to them.

`

const tilesizeLongEnd = `
With "all", all workloads of two and three dimensions are timed, at the sizes of the
paper unless -D or --small says otherwise; -D counts for all that have such a size.`

const tilesizeExample = `  bitsched tilesize stencil2d -D N=1024 -D M=1024
  bitsched tilesize all --svg tiles.svg`

func (a *app) tilesizeCommand() *cobra.Command {
	var f tilesizeFlags
	var small bool
	cmd := &cobra.Command{
		Use:     "tilesize KERNEL|all",
		Short:   "Time a kernel with every shape of tiles",
		Long:    tilesizeLong + kernelHelp() + tilesizeLongEnd,
		Example: tilesizeExample,
		Args:    exactArgs("KERNEL"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
			names, d := completeKernels(cmd, args, text)
			if len(args) == 0 {
				names = append(names, "all")
			}
			return names, d
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if small && isFile(args[0]) {
				return usageError(cmd, "--small with a file, expected the name of a workload")
			}
			f.kernel.paper = !small
			return a.tilesize(cmd, args[0], f)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	f.kernel.addDefines(fl)
	fl.BoolVar(&small, "small", false, "take small sizes for a workload, not those of Infinity Stream")
	f.machine.add(cmd, fl)
	fl.BoolVar(&f.optimize, "optimize", false, "optimise the graphs by equality saturation")
	fl.IntVar(&f.nearRate, "near-rate", 0, "last `steps` of reductions that the streams of a bank do in a cycle, 0 for no time at all (default streams.l3.ops_per_cycle of the machine)")
	fl.IntVar(&f.threads, "threads", 0, "number of `threads`, 0 for all cores")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	fl.StringVar(&f.svg, "svg", "", "draw cycles against shapes into this `file`")
	return cmd
}

type tilesizeResult struct {
	Machine     string                  `json:"machine"`
	Optimized   bool                    `json:"optimized"`
	NearRate    int                     `json:"near_rate"`
	Studies     []tileStudyResult       `json:"studies"`
	LeftOut     []string                `json:"left_out"` // kernels without a choice, and why
	Excess      float64                 `json:"mean_excess_percent"`
	Speedup     float64                 `json:"mean_speedup"` // of the chosen shapes over no tiling
	Stopped     string                  `json:"stopped"`      // "" or "interrupt"
	CPUSeconds  float64                 `json:"cpu_seconds"`
	WallSeconds float64                 `json:"wall_seconds"`
	studies     []*benchmarks.TileStudy // of Studies
}

type tileStudyResult struct {
	*benchmarks.TileStudy
	Excess      float64 `json:"excess_percent"` // of the chosen shape over the best
	WithoutDRAM float64 `json:"excess_without_dram_percent"`
	Speedup     float64 `json:"speedup"` // of the chosen shape over no tiling
}

func (a *app) tilesize(cmd *cobra.Command, nameOrFile string, f tilesizeFlags) error {
	n, err := threads(cmd, f.threads)
	if err != nil {
		return err
	}
	machine, err := f.machine.load(cmd)
	if err != nil {
		return err
	}
	if f.nearRate < 0 {
		return usageError(cmd, "--near-rate %d, expected 0 or more", f.nearRate)
	}
	if cmd.Flags().Changed("near-rate") {
		own := *machine
		own.Streams.L3.OpsPerCycle = f.nearRate
		machine = &own
	}
	if f.svg == "-" {
		return usageError(cmd, "--svg -, expected a file")
	}
	if err := a.checkWritable(f.svg, nameOrFile, f.machine.machine); err != nil {
		return err
	}
	names := []string{nameOrFile}
	if nameOrFile == "all" {
		names = workload.Names()
		f.kernel.some = true
		if err := f.kernel.usedBy(cmd); err != nil {
			return err
		}
	}
	line := a.newProgress()
	defer line.clear()
	s := a.startStoppable(0, line, "finishing with the kernels so far")
	defer s.end()
	report := a.searchProgress(line)
	r := &tilesizeResult{Machine: machine.Name, Optimized: f.optimize, NearRate: machine.Streams.L3.OpsPerCycle}
	for _, name := range names {
		study, err := a.studyTiles(cmd, s, name, f, machine, n, report)
		switch {
		case s.interrupted():
			r.Stopped = s.stopped()
		case errors.Is(err, benchmarks.ErrNoTiles) && len(names) > 1:
			r.LeftOut = append(r.LeftOut, reason(err))
			continue
		case err != nil:
			return err
		}
		if r.Stopped != "" {
			break
		}
		r.studies = append(r.studies, study)
		r.Studies = append(r.Studies, tileStudyResult{study, 100 * study.Excess(), 100 * study.ExcessWithoutDRAM(), study.Speedup()})
		report(masim.Progress{Phase: "point", Done: len(r.studies), Total: len(names), Best: -1})
	}
	s.end()
	line.clear()
	if len(r.studies) == 0 {
		return fmt.Errorf("bitsched: stopped by %w before the first kernel was complete", errInterrupt)
	}
	excess, speedup := benchmarks.TileMeans(r.studies)
	r.Excess, r.Speedup = 100*excess, speedup
	if f.svg != "" {
		svg := benchmarks.TileFigure("Cycles by the shape of tiles, "+machine.Name, r.studies)
		if err := a.writeBytes(f.svg, svg); err != nil {
			return err
		}
	}
	r.CPUSeconds, r.WallSeconds = cpuTime().Seconds(), time.Since(a.start).Seconds()
	if f.json {
		return a.printJSON(r)
	}
	return a.printText(r.text(f))
}

// studyTiles is the study of one kernel.
func (a *app) studyTiles(cmd *cobra.Command, s *search, name string, f tilesizeFlags, m *tile.Machine, n int, report func(masim.Progress)) (*benchmarks.TileStudy, error) {
	kf := f.kernel
	if isFile(name) {
		kf.paper = false // a file has none
	}
	k, err := a.readKernel(s.ctx, cmd, name, kf)
	if err != nil {
		return nil, err
	}
	program := k.Program
	if f.optimize {
		if program, err = a.optimized(s.ctx, k, m); err != nil {
			return nil, err
		}
	}
	study, err := benchmarks.StudyTiles(s.ctx, program, k.Sizes, m, n, func(done, total int) {
		report(masim.Progress{Phase: k.Program.Name + ": shape", Done: done, Total: total, Best: -1})
	})
	if err != nil {
		return nil, err
	}
	study.Sizes = k.SizeText()
	return study, nil
}

// withinPercent is what the heuristics are to keep to.
const withinPercent = 5

func (r *tilesizeResult) text(f tilesizeFlags) string {
	var s summary
	s.add("machine", "%s", r.Machine)
	out := s.String()
	fixed := func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
	if len(r.studies) == 1 {
		out += shapesText(r.studies[0])
	}
	t := benchmarks.Table{Columns: []benchmarks.Column{
		{Name: "kernel", Left: true}, {Name: "sizes", Left: true}, {Name: "shapes"}, {Name: "best", Left: true}, {Name: "cycles"}, {Name: "chosen", Left: true}, {Name: "cycles"},
		{Name: "above best"}, {Name: "without DRAM"}, {Name: "over no tiling"},
	}}
	within := 0
	for _, v := range r.Studies {
		best, chosen := &v.Tiles[v.Best], &v.Tiles[v.Chosen]
		if v.Excess <= withinPercent {
			within++
		}
		t.Rows = append(t.Rows, []string{
			v.Kernel, v.Sizes, fmt.Sprint(len(v.Tiles)), best.Tile, fmt.Sprint(best.Time()), chosen.Tile, fmt.Sprint(chosen.Time()),
			fixed(v.Excess) + " %", fixed(v.WithoutDRAM) + " %", strconv.FormatFloat(v.Speedup, 'f', 2, 64) + "x",
		})
	}
	out += "\n" + renderTable(t) + "\n\n"
	var end summary
	end.add("within", "%d of %s within %d %% of the best shape; %.1f %% above it in the geometric mean, %.2fx as fast as no tiling",
		within, count(len(r.Studies), "kernel"), withinPercent, r.Excess, r.Speedup)
	for _, v := range r.Studies {
		for _, why := range v.Near {
			end.add("near", "%s", reasonText(&why))
		}
	}
	for _, why := range r.LeftOut {
		end.add("left out", "%s", why)
	}
	if r.Stopped != "" {
		end.add("note", "stopped by %s", r.Stopped)
	}
	if f.svg != "" {
		end.add("written", "%s", f.svg)
	}
	end.add("time", "%s (%s CPU)", seconds(r.WallSeconds), seconds(r.CPUSeconds))
	return out + end.String()
}

// shapesText is all shapes of a study.
func shapesText(s *benchmarks.TileStudy) string {
	t := benchmarks.Table{Columns: []benchmarks.Column{
		{Name: "tile", Left: true}, {Name: "arrays"}, {Name: "commands"}, {Name: "cycles"}, {Name: "above best"}, {Name: "dram"}, {Name: "jit"}, {Name: "compute"}, {Name: "move"},
		{Name: "inter"}, {Name: "sync"}, {Name: "final"}, {Name: "", Left: true},
	}}
	for i := range s.Tiles {
		c := &s.Tiles[i]
		note := ""
		switch {
		case i == s.Best && i == s.Chosen:
			note = "best, chosen"
		case i == s.Best:
			note = "best"
		case i == s.Chosen:
			note = "chosen"
		}
		row := []string{c.Tile}
		for _, n := range []int64{int64(c.Arrays), c.Commands, c.Time()} {
			row = append(row, strconv.FormatInt(n, 10))
		}
		row = append(row, fmt.Sprintf("%.1f %%", 100*(float64(c.Time())/float64(s.Tiles[s.Best].Time())-1)))
		for _, n := range []int64{c.DRAM, c.JIT, c.Compute, c.Move, c.Inter, c.Sync, c.Final} {
			row = append(row, strconv.FormatInt(n, 10))
		}
		t.Rows = append(t.Rows, append(row, note))
	}
	return "\n" + renderTable(t) + "\n"
}
