package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/lowering/mapping"
	"github.com/bitsched/bitsched/lowering/mapping/plan"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

const mapcheckLong = `Mapcheck judges a mapping of anybody, as map -o writes it: whether it is legal, and if
not, which rule it breaks with which numbers; its cycles; and whether its execution
gives all outputs of the loop nest. An illegal mapping is bad input, exit code 2;
outputs or cycles that differ are exit code 1.

` + workHelp

func (a *app) mapcheckCommand() *cobra.Command {
	var f mapFlags
	cmd := &cobra.Command{
		Use:   "mapcheck WORK MAPPING --platform NAME|FILE",
		Short: "Judge a mapping: legality, cycles, execution",
		Long:  mapcheckLong,
		Example: `  bitsched map table4/C5 --platform logic-sram -o c5.yaml
  bitsched mapcheck table4/C5 c5.yaml --platform logic-sram`,
		Args: exactArgs("WORK", "MAPPING"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.mapcheck(cmd, args[0], args[1], &f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.platform, "platform", "logic-sram", "memory that computes: a `name` (see bitsched platform) or a file")
	f.work.add(fl)
	fl.Uint64Var(&f.seed, "seed", 1, "`seed` of the data")
	fl.IntVar(&f.threads, "threads", 0, "`number` of threads (0 = all cores); does not change the result")
	fl.StringVar(&f.execute, "execute", "gate", "`fidelity` of the execution: gate, word or none")
	fl.IntVar(&f.every, "every", 64, "at word fidelity, execute every `n`-th unit by gates too")
	fl.BoolVar(&f.cold, "cold", false, "count loading static operands that stay")
	fl.StringVar(&f.space, "space", "default", "`space` of mappings: default, or paper (each loop in one dimension, none empty)")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	complete(cmd, "platform", platform.Names()...)
	return cmd
}

func (a *app) mapcheck(cmd *cobra.Command, work, file string, f *mapFlags) error {
	p, err := loadPlatform(f.platform)
	if err != nil {
		return err
	}
	net, err := f.work.network(cmd, work)
	if err != nil {
		return err
	}
	if len(net.MACs()) != 1 {
		return usageError(cmd, "%s has %d operators, expected one, as in %s/LAYER", work, len(net.MACs()), work)
	}
	f.optimizer, f.effort = "bitsched", "normal"
	o, err := f.options(cmd, net, p)
	if err != nil {
		return err
	}
	node := net.MACs()[0]
	q, err := mapping.New(context.Background(), net.Nodes[node].Op, p, mapping.Options{Cold: o.Cold, Paper: o.Paper, Weights: plan.Constants(net, node, p, o.Seed)})
	if err != nil {
		return err
	}
	r, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("bitsched: %s: %w", file, cause(err))
	}
	defer r.Close()
	m, err := q.Read(r, file)
	if err != nil {
		return err
	}
	line := a.newProgress()
	defer line.clear()
	o.Progress = func(p plan.Progress) { line.planning(p) }
	o.Mappings = map[int]*mapping.Mapping{node: m}
	rep, err := plan.Map(context.Background(), context.Background(), net, p, o)
	line.clear()
	if err != nil {
		return planError(err)
	}
	if f.json {
		r := newMapReport(rep, "", f)
		r.CPUSeconds, r.WallSeconds = cpuTime().Seconds(), time.Since(a.start).Seconds()
		return a.printJSON(r)
	}
	return a.printText(a.mapText(rep, "", f))
}
