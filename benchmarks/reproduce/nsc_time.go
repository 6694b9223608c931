package reproduce

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tile"
)

// nscTimeEntries are the figures that run workloads in time.
var nscTimeEntries = []*Entry{
	{
		ID: "nsc:fig9", Title: "Speedup and traffic of near-stream computing", Paper: "Near-Stream Computing, Fig. 9, 11 and 12",
		Doc: "the 14 workloads in the configurations of Fig. 9, warm, on 64 OOO8 cores, each run compared with the definition of its workload; means of speedups are " +
			"geometric; the small size has about 1/64 of the arrays on a machine whose caches are 1/16",
		Claims: []Claim{
			{Name: "ns over base", Section: "VII.A", Unit: "x", Paper: 3.19, Tolerance: 0.2},
			{Name: "ns over ns-no-comp", Section: "VII.A", Unit: "x", Paper: 1.69, Tolerance: 0.2},
			{Name: "ns over inst", Section: "VII.A", Unit: "x", Paper: 1.85, Tolerance: 0.2},
			{Name: "ns-decouple over base", Section: "VII.A", Unit: "x", Paper: 4.27, Tolerance: 0.2},
			{Name: "ns-decouple over single", Section: "VII.A", Unit: "x", Paper: 2.12, Tolerance: 0.2},
			{Name: "traffic that ns saves", Section: "VII.B", Unit: "%", Paper: 69, Tolerance: 10, Points: true},
			{Name: "traffic that ns-decouple saves", Section: "VII.B", Unit: "%", Paper: 76, Tolerance: 10, Points: true},
			{Name: "traffic that inst saves", Section: "VII.B", Unit: "%", Paper: 49, Tolerance: 10, Points: true},
			{Name: "range-sync in the traffic of ns", Section: "VII.B", Unit: "%", Paper: 11, Tolerance: 10, Points: true},
			{Name: "micro-ops that leave the core in ns", Section: "VII.B", Unit: "%", Paper: 46, Tolerance: 10, Points: true},
		},
		Run: nearTime,
	},
}

// nearConfigs are the configurations of fig. 9 that exist.
var nearConfigs = []string{multicore.Base, "ns-core", "ns-no-comp", "inst", "single", "ns", "ns-no-sync", "ns-decouple"}

// sixtyfourth are sizes of workloads with about 1/64 of the arrays of the paper, and one
// round or two.
var sixtyfourth = map[string]map[string]int64{
	"pathfinder": {"N": 48 << 10, "T": 2}, "srad": {"N": 128, "M": 256, "T": 1}, "hotspot": {"N": 128, "M": 256, "T": 2},
	"hotspot3D": {"L": 4, "N": 64, "M": 128, "T": 2}, "histogram": {"N": 192 << 10, "Q": 64}, "scluster": {"N": 12 << 10, "T": 1}, "svm": {"N": 6 << 10, "T": 1},
	"bfs_push": {"V": 4 << 10, "E": 56_000, "source": 1}, "bfs_pull": {"V": 4 << 10, "E": 56_000, "source": 1}, "pr_push": {"V": 4 << 10, "E": 56_000, "T": 1},
	"pr_pull": {"V": 4 << 10, "E": 56_000, "T": 1}, "sssp": {"V": 4 << 10, "E": 56_000, "D": 64, "source": 1}, "bin_tree": {"N": 2 << 10, "Q": 8 << 10}, "hash_join": {"N": 4 << 10, "B": 4 << 10, "Q": 8 << 10},
}

// nearTime runs the workloads in time.
func nearTime(ctx context.Context, env *Env) (*Measured, error) {
	name := nearMachine(env)
	m := &Measured{}
	times := Table{Title: "Cycles of base, and speedups over it", Head: append([]string{"workload", "base"}, nearConfigs[1:]...)}
	moved := Table{Title: "Traffic, base = 1 (bytes x hops), and what of it is offloaded in ns, %", Head: append(append([]string{"workload"}, nearConfigs[1:]...), "of ns offloaded", "range-sync", "micro-ops left", "loops at the L3")}
	log := map[string]float64{}
	var saved, savedDecouple, savedInst, sync, left float64
	list := kernels.NearStream()
	n := float64(len(list))
	for i, w := range list {
		env.progress(w.Name, i, len(list))
		k, args, err := nearWorkload(ctx, env, w.Name, sixtyfourth)
		if err != nil {
			return nil, err
		}
		reports := map[string]*multicore.Report{}
		for _, config := range nearConfigs {
			if reports[config], err = nearRun(ctx, env, k, args, name, config); err != nil {
				return nil, fmt.Errorf("reproduce: %s in %s: %w", w.Name, config, err)
			}
		}
		base := reports[multicore.Base]
		row, traffic := []string{w.Name, fmt.Sprint(base.Cycles)}, []string{w.Name}
		for _, config := range nearConfigs[1:] {
			r := reports[config]
			speedup := float64(base.Cycles) / float64(r.Cycles)
			log[config] += math.Log(speedup) / n
			row = append(row, fmt.Sprintf("%.2f", speedup))
			traffic = append(traffic, fmt.Sprintf("%.2f", ratioOf(r, base)))
		}
		ns := reports["ns"].Streams
		coordination := uint64(0)
		for _, c := range ns.Messages {
			if slices.Contains([]string{"credit", "commit", "done", "range", "end", "ended"}, c.Name) {
				coordination += c.ByteHops
			}
		}
		of := func(part uint64) float64 { return 100 * float64(part) / float64(max(1, ns.Total())) }
		saved += 100 * (1 - ratioOf(reports["ns"], base)) / n
		savedDecouple += 100 * (1 - ratioOf(reports["ns-decouple"], base)) / n
		savedInst += 100 * (1 - ratioOf(reports["inst"], base)) / n
		sync += of(coordination) / n
		gone := 100 * (1 - float64(reports["ns"].MicroOps)/float64(base.MicroOps))
		left += gone / n
		traffic = append(traffic, fmt.Sprintf("%.0f", of(ns.Offloaded)), fmt.Sprintf("%.0f", of(coordination)), fmt.Sprintf("%.0f", gone), fmt.Sprint(ns.Core.Offloaded))
		times.Rows = append(times.Rows, row)
		moved.Rows = append(moved.Rows, traffic)
	}
	m.Add("ns over base", "x", math.Exp(log["ns"]))
	m.Add("ns over ns-no-comp", "x", math.Exp(log["ns"]-log["ns-no-comp"]))
	m.Add("ns over inst", "x", math.Exp(log["ns"]-log["inst"]))
	m.Add("ns-decouple over base", "x", math.Exp(log["ns-decouple"]))
	m.Add("ns-decouple over single", "x", math.Exp(log["ns-decouple"]-log["single"]))
	m.Add("traffic that ns saves", "%", saved)
	m.Add("traffic that ns-decouple saves", "%", savedDecouple)
	m.Add("traffic that inst saves", "%", savedInst)
	m.Add("range-sync in the traffic of ns", "%", sync)
	m.Add("micro-ops that leave the core in ns", "%", left)
	m.Tables = []Table{times, moved}
	m.Notes = []string{
		"every run is compared with the definition of its workload, and loads of cores with the program's values",
		"streams at the L3 are those of innermost loops, one row at a time; atomics whose old value is taken, indirect reductions and loops with other loops inside stay in the core (docs/streams.md), where the paper offloads them; so do indirect updates in inst and single",
		"micro-ops that leave the core include those of cores that wait: a faster run waits less",
	}
	return m, nil
}

// nearMachine is the machine for a size.
func nearMachine(env *Env) string {
	if env.Size == Small {
		return "nsc-small"
	}
	return "nsc"
}

func ratioOf(r, base *multicore.Report) float64 {
	return float64(r.Streams.Total()) / float64(max(1, base.Streams.Total()))
}

// nearRun is one run, checked, on a machine with some parameters changed: names and values in
// turn.
func nearRun(ctx context.Context, env *Env, k *workload.Kernel, args *memory.Memory, machine, config string, set ...string) (*multicore.Report, error) {
	m, err := tile.LoadMachine(machine)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(set); i += 2 {
		if err := m.Set(set[i], set[i+1]); err != nil {
			return nil, err
		}
	}
	after := args.Clone()
	mem, a := k.Streams(after)
	p := &multicore.Program{Graph: k.Whole, Memory: mem, Args: a, Reassociate: k.Reassociate}
	r, err := multicore.Run(ctx, p, multicore.Options{Machine: m, Threads: m.Banks(), Config: config, Warm: true, Seed: env.Seed})
	if err != nil {
		return nil, err
	}
	return r, k.Builtin.Check(k.Sizes, args, after)
}
