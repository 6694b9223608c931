package main

import (
	"context"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/system/fused"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile"
)

// withoutOthers are the flags of run that say something about one program.
var withoutOthers = []string{"core", "sample", "inject", "svg", "timeline", "parts", "trace", "stats", "html", "input", "output", "check-races", "explain"}

// tenant is a program that shares the machine.
type tenant struct {
	Kernel string           `json:"kernel"`
	Sizes  map[string]int64 `json:"sizes"`

	k   *workload.Kernel
	mem *memory.Memory // as it begins
}

// shared is two programs on one machine, in a configuration. Cycles are until each ends: alone on
// the same cores with the whole L3, and beside the other one; and of one after the other, each on all
// cores that they have together.
type shared struct {
	Config   string    `json:"config"`
	Alone    [2]int64  `json:"alone"`
	Together [2]int64  `json:"together"`
	InTurn   int64     `json:"in_turn"`
	Speedup  float64   `json:"weighted_speedup"` // sum of alone / together: 2 if nothing is shared
	Slowest  float64   `json:"slowest"`          // together / alone of the one that loses more
	Fairness float64   `json:"fairness"`         // least by greatest of together / alone
	Gain     float64   `json:"throughput"`       // cycles in turn by those until both have ended
	Regions  [2]string `json:"regions"`          // in memory, of those reached
	Checked  bool      `json:"checked"`
}

// sharedResult is what run --with prints.
type sharedResult struct {
	Machine  string    `json:"machine"`
	Threads  int       `json:"threads"` // of each
	Programs [2]tenant `json:"programs"`
	Runs     []shared  `json:"runs"`
}

// runWith runs two programs at the same time on one machine.
func (a *app) runWith(cmd *cobra.Command, nameOrFile string, f runFlags) error {
	for _, flag := range withoutOthers {
		if cmd.Flags().Changed(flag) {
			return usageError(cmd, "--%s with --with, expected one of them: it is of one program", flag)
		}
	}
	for _, c := range f.config.configs {
		if c == fused.Auto || c == fused.AutoPredicted || c == fused.Oracle {
			return usageError(cmd, "--config %s with --with, expected one of the others: it chooses for one program", c)
		}
	}
	machine, err := f.machine.load(cmd)
	if err != nil {
		return err
	}
	half := machine.Banks() / 2
	if f.config.ompThreads == 0 {
		f.config.ompThreads = half
	}
	if f.config.ompThreads < 1 || f.config.ompThreads > half {
		return usageError(cmd, "--omp-threads %d with --with, expected 1 to %d, half of the cores of %s, or 0 for so many", f.config.ompThreads, half, machine.Name)
	}
	line := a.newProgress()
	defer line.clear()
	s := a.startStoppable(0, line, "stopping")
	defer s.end()
	r := &sharedResult{Machine: machine.Name, Threads: f.config.ompThreads}
	for i, name := range []string{nameOrFile, f.config.with} {
		flags := f.kernel
		if i == 1 {
			flags.defines = f.config.withDefines
		}
		k, err := a.kernelSource(cmd, name, flags)
		if err != nil {
			return err
		}
		values, err := parseValues(cmd, []string{"-D", "--with-define"}[i], flags.defines)
		if err != nil {
			return err
		}
		a.phase(line, "compiling")
		if err := k.CompileWhole(s.ctx, values, nil, false); err != nil {
			return s.reasonOf(kernelError(cmd, err))
		}
		mem, err := k.Arguments(s.ctx, f.seed+uint64(i), nil)
		if err != nil {
			return s.reasonOf(kernelError(cmd, err))
		}
		r.Programs[i] = tenant{k.Whole.Name, k.Sizes, k, mem}
	}
	for _, config := range f.config.configs {
		run, err := a.runShared(s.ctx, line, r, config, machine, f)
		if err != nil {
			return configError(s.reasonOf(err))
		}
		r.Runs = append(r.Runs, *run)
	}
	s.end()
	line.clear()
	if f.json {
		return a.printJSON(r)
	}
	return a.printText(r.text())
}

// runShared runs both in a configuration: each alone, in turn, and together.
func (a *app) runShared(ctx context.Context, line *progressLine, r *sharedResult, config string, machine *tile.Machine, f runFlags) (*shared, error) {
	x := &shared{Config: config, Checked: f.check}
	for i := range r.Programs {
		q := &r.Programs[i]
		for _, threads := range []int{r.Threads, 2 * r.Threads} {
			g := f
			g.config.ompThreads, g.seed = threads, f.seed+uint64(i)
			run, err := a.runConfig(ctx, line, q.k, q.mem.Clone(), config, machine, nil, nil, g)
			if err != nil {
				return nil, fmt.Errorf("%s alone: %w", q.Kernel, err)
			}
			if threads == r.Threads {
				x.Alone[i] = run.Cycles
			} else {
				x.InTurn += run.Cycles
			}
		}
	}
	a.phase(line, "running both in "+config)
	opt := multicore.Options{Machine: machine, Config: config, Threads: r.Threads, Warm: f.config.caches == cachesWarm, MaxCycles: f.config.maxCycles, Seed: f.seed, Progress: a.cycleProgress(line, config+" both")}
	o := fused.Options{Options: opt, Decide: f.decide, Latencies: f.config.latencies, Overlap: f.config.overlap, BankLowering: f.config.inBanks}
	var programs []*fused.Program
	var before []stream.Memory
	for i := range r.Programs {
		q := &r.Programs[i]
		b, _ := q.k.Streams(q.mem.Clone())
		arrays, args := q.k.Streams(q.mem.Clone())
		p := &fused.Program{Program: &multicore.Program{Graph: q.k.Whole, Memory: arrays, Args: args, Reassociate: q.k.Reassociate}, Tensors: q.k.Regions(), Sizes: q.k.Sizes, Arrays: q.mem.Clone()}
		programs, before = append(programs, p), append(before, b)
	}
	compare := func(i int) (*multicore.Verdict, error) {
		return multicore.Check(ctx, programs[i].Program, before[i], opt)
	}
	var reports []*multicore.Report
	var err error
	if regionsIn(config) {
		var list []*fused.Report
		list, err = fused.Together(ctx, programs, o)
		for i, t := range list {
			reports = append(reports, t.Report)
			there, reached := int64(0), int64(0)
			for _, u := range t.Regions {
				there, reached = there+u.InMemory, reached+u.Reached
			}
			x.Regions[i] = fmt.Sprintf("%d of %d", there, reached)
		}
		compare = func(i int) (*multicore.Verdict, error) { return fused.Check(ctx, programs[i], before[i], list[i], o) }
	} else {
		var jobs []multicore.Job
		for _, p := range programs {
			jobs = append(jobs, multicore.Job{Program: p.Program, Options: opt})
		}
		reports, err = multicore.RunTogether(ctx, jobs)
	}
	if err != nil {
		return nil, err
	}
	least, last := math.Inf(1), int64(0)
	for i, t := range reports {
		if f.check {
			v, err := compare(i)
			if err != nil {
				return nil, err
			}
			if v.First != "" {
				return nil, fmt.Errorf("%w: %s beside the other program: the machine and the sequential program differ: %s", errCheck, r.Programs[i].Kernel, v.First)
			}
		}
		x.Together[i] = t.Cycles
		slower := float64(t.Cycles) / float64(max(1, x.Alone[i]))
		x.Speedup += 1 / slower
		x.Slowest, least, last = max(x.Slowest, slower), min(least, slower), max(last, t.Cycles)
	}
	x.Fairness = least / x.Slowest
	x.Gain = float64(x.InTurn) / float64(max(1, last))
	return x, nil
}

func (r *sharedResult) text() string {
	t := benchmarks.Table{Columns: []benchmarks.Column{
		{Name: "configuration", Left: true}, {Name: "program", Left: true}, {Name: "alone"}, {Name: "together"}, {Name: "slower"}, {Name: "regions in memory"},
		{Name: "weighted speedup"}, {Name: "fairness"}, {Name: "in turn"}, {Name: "throughput"}, {Name: "checked", Left: true},
	}}
	for _, x := range r.Runs {
		for i, q := range r.Programs {
			row := []string{"", q.Kernel, fmt.Sprint(x.Alone[i]), fmt.Sprint(x.Together[i]), fmt.Sprintf("%.2f", float64(x.Together[i])/float64(max(1, x.Alone[i]))), x.Regions[i], "", "", "", "", ""}
			if i == 0 {
				checked := "no"
				if x.Checked {
					checked = "both"
				}
				row[0] = x.Config
				copy(row[6:], []string{fmt.Sprintf("%.2f", x.Speedup), fmt.Sprintf("%.2f", x.Fairness), fmt.Sprint(x.InTurn), fmt.Sprintf("%.2f", x.Gain), checked})
			}
			t.Rows = append(t.Rows, row)
		}
	}
	var s summary
	for i, q := range r.Programs {
		s.add([]string{"programs", ""}[i], "%s, %s", q.Kernel, q.k.SizeText())
	}
	s.add("machine", "%s, %s each", r.Machine, count(r.Threads, "thread"))
	s.add("alone", "cycles on the same cores with the whole L3; slower: together by alone")
	s.add("fairness", "the lesser by the greater of slower; weighted speedup: the sum of alone by together, 2 if nothing were shared")
	s.add("in turn", "cycles of one after the other, each on the cores of both; throughput: by those until both have ended")
	return s.String() + "\n" + renderTable(t) + "\n"
}
