package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/benchmarks/sensitivity"
	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tile"
)

type sensitivityFlags struct {
	kernel  kernelFlags
	machine string
	core    string
	omp     int
	caches  string
	only    []string
	threads int
	seed    uint64
	budget  time.Duration
	json    bool
}

const sensitivityLong = `Sensitivity runs kernels on a machine in time (run --config base), halves and doubles
one parameter after another, and prints how much that changes the cycles of the call.
By default the parameters are those that no source has a value for (assumed in the
description of the machine), on the small machine of Near-Stream Computing; switches
get their other reading.

`

func (a *app) sensitivityCommand() *cobra.Command {
	var f sensitivityFlags
	cmd := &cobra.Command{
		Use:   "sensitivity KERNEL...",
		Short: "Show how much cycles depend on each assumed parameter of a machine",
		Long:  sensitivityLong + wholeHelp("It may be", workload.WholeNames()),
		Example: `  bitsched sensitivity vec_add stencil2d -D N=256 -D M=256 -D T=1
  bitsched sensitivity mine.c -D N=4096 --machine nsc-small --only l1d,l2,dram.timing --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError(cmd, "missing KERNEL")
			}
			return nil
		},
		ValidArgsFunction: completeWhole,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.sensitivity(cmd, args, f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	f.kernel.addDefines(fl)
	fl.StringVar(&f.machine, "machine", "nsc-small", "a `machine`: a name (see bitsched machine) or a file")
	fl.StringVar(&f.core, "core", "", "`core` of the machine: io4, ooo4 or ooo8; by default its own")
	fl.IntVar(&f.omp, "omp-threads", 16, "`threads` of the programs, one a core")
	fl.StringVar(&f.caches, "caches", cachesCold, "where arrays are when the function is called: in memory (`cold`), or in the L3 as far as they fit (warm)")
	fl.StringSliceVar(&f.only, "only", nil, "change the parameters whose names begin so: `l2` or dram.timing.cl; by default those that are assumed")
	fl.Uint64Var(&f.seed, "seed", 1, "`seed` of the arguments")
	fl.IntVar(&f.threads, "threads", 0, "number of runs at once, 0: one for each core of the host")
	fl.DurationVar(&f.budget, "budget", 0, "stop after this `time`")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	complete(cmd, "machine", tile.MachineNames()...)
	complete(cmd, "core", tile.CoreNames()...)
	complete(cmd, "caches", cachesCold, cachesWarm)
	return cmd
}

func (a *app) sensitivity(cmd *cobra.Command, names []string, f sensitivityFlags) error {
	m, err := machineWithCore(cmd, f.machine, f.core)
	if err != nil {
		return err
	}
	if f.omp < 1 || f.omp > m.Banks() {
		return usageError(cmd, "--omp-threads %d, expected 1 to %d", f.omp, m.Banks())
	}
	if f.caches != cachesCold && f.caches != cachesWarm {
		return usageError(cmd, "--caches %q, expected %s or %s", f.caches, cachesCold, cachesWarm)
	}
	workers, err := threads(cmd, f.threads)
	if err != nil {
		return err
	}
	if len(sensitivity.Parameters(m, f.only)) == 0 {
		return usageError(cmd, "--only %s: runs in time depend on no such number or switch of %s", strings.Join(f.only, ","), m.Name)
	}
	values, err := parseValues(cmd, "-D", f.kernel.defines)
	if err != nil {
		return err
	}
	line := a.newProgress()
	defer line.clear()
	s := a.startStoppable(f.budget, line, "finishing with the runs so far")
	defer s.end()
	f.kernel.some = true
	var programs []sensitivity.Program
	for _, name := range names {
		k, err := a.kernelSource(cmd, name, f.kernel)
		if err != nil {
			return err
		}
		if err := k.CompileWhole(s.ctx, values, nil, true); err != nil {
			return s.reasonOf(kernelError(cmd, err))
		}
		mem, err := k.Arguments(s.ctx, f.seed, nil)
		if err != nil {
			return s.reasonOf(kernelError(cmd, err))
		}
		programs = append(programs, sensitivity.Program{Name: k.Whole.Name, Make: func() *multicore.Program {
			arrays, args := k.Streams(mem.Clone())
			return &multicore.Program{Graph: k.Whole, Memory: arrays, Args: args, Reassociate: k.Reassociate}
		}})
	}
	report := a.searchProgress(line)
	study, err := sensitivity.Run(s.ctx, m, programs, sensitivity.Options{Threads: f.omp, Warm: f.caches == cachesWarm, Workers: workers, Only: f.only,
		Progress: func(done, total int) { report(masim.Progress{Phase: "run", Done: done, Total: total, Best: -1}) }})
	err = s.reasonOf(err)
	s.end()
	line.clear()
	if study == nil {
		return err
	}
	if f.json {
		return errors.Join(err, a.printJSON(study))
	}
	return errors.Join(err, a.printText(sensitivityText(study)))
}

func sensitivityText(s *sensitivity.Study) string {
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "parameter", Left: true}, {Name: "value"}, {Name: "to"}}}
	for _, name := range s.Programs {
		t.Columns = append(t.Columns, benchmarks.Column{Name: name})
	}
	t.Columns = append(t.Columns, benchmarks.Column{Name: "source", Left: true})
	for i := range s.Rows {
		r := &s.Rows[i]
		for _, c := range []*sensitivity.Change{r.Half, r.Double} {
			if c == nil {
				continue
			}
			cells := []string{r.Parameter, r.Value, c.Value}
			for k := range s.Programs {
				switch {
				case c.Error != "":
					cells = append(cells, "no machine")
				case c.Change == nil:
					cells = append(cells, "not run")
				default:
					cells = append(cells, fmt.Sprintf("%+.1f %%", 100*c.Change[k]))
				}
			}
			t.Rows = append(t.Rows, append(cells, r.Source))
		}
	}
	var b summary
	b.add("machine", "%s, %s of %s", s.Machine, count(s.Threads, "thread"), s.Core)
	var list []string
	for i, name := range s.Programs {
		list = append(list, fmt.Sprintf("%s %d", name, s.Cycles[i]))
	}
	b.add("cycles", "%s", strings.Join(list, ", "))
	if s.Left > 0 {
		b.add("left", "%s not made", count(s.Left, "run"))
	}
	return b.String() + "\n" + renderTable(t) + "\n"
}
