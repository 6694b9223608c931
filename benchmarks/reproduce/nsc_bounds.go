package reproduce

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/benchmarks/potential"
	"github.com/bitsched/bitsched/system/multicore"
)

// openNear are parameters that table V of Near-Stream Computing leaves open, so far that more
// of them gains nothing worth naming or is as much as the simulator takes. CORE is the core.
var openNear = []string{
	"cores.CORE.stores_in_flight", "8", "cores.CORE.store_prefetch", "true", "cores.CORE.fp_simd", "1-a-cycle", "cores.CORE.max_requests", "64",
	"l1d.mshrs", "64", "l2.mshrs", "64", "l3.mshrs", "4096", "l3.tags_per_cycle", "64", "noc.buffer_flits", "64",
	"streams.l2.slices", "128", "streams.l3.issue_width", "64", "streams.l3.requests", "4096", "threads.fork_cycles", "0",
}

// freeNear are those that it has, by 16 or as far as the simulator goes.
var freeNear = []string{
	"noc.link_bytes", "512", "noc.router_stages", "3", "streams.core.sccs", "16", "cores.CORE.scc_rob", "4096", "cores.CORE.computations", "0",
	"streams.l3.compute_init_cycles", "0", "streams.l3.buffer_bytes", "1048576",
}

// slowBase are readings of what table V leaves open under which base is slower.
var slowBase = []string{"l1d.mshrs", "4", "l2.mshrs", "4", "dram.reading", "total"}

// nearLevels are relaxed machines, and what is said of them.
var nearLevels = []struct {
	name, with string
	sets       [][]string
}{
	{
		"all free", "with links of 512 bytes and the shortest routers, 16 contexts of 4096 entries at a bank without a way to them, buffers of 16 times, and all that the paper leaves open for nothing",
		[][]string{openNear, freeNear},
	},
	{
		"open free", "with what the paper leaves open for nothing (8 stores of a core in flight and their lines fetched ahead, a vector of floats a cycle, 64 misses of a core, four times the ranges under way, " +
			"64 reads of streams at a bank in a cycle, forks for nothing), and the rest as its table V has it",
		[][]string{openNear},
	},
}

// nearRatio is a claim of how much faster a configuration is than another one.
type nearRatio struct{ name, of, over, core string }

// nearRatios are those of fig. 9.
var nearRatios = []nearRatio{
	{"ns over base", "ns", multicore.Base, ""}, {"ns over ns-no-comp", "ns", "ns-no-comp", ""}, {"ns over inst", "ns", "inst", ""},
	{"ns-decouple over base", "ns-decouple", multicore.Base, ""}, {"ns-decouple over single", "ns-decouple", "single", ""},
}

// run is a configuration of the ratio with parameters changed.
func (x *nearRatio) run(config, title string, sets ...[]string) nearRun {
	r := nearRun{config: config, title: title}
	core := x.core
	if core != "" {
		r.set = append(r.set, "core", core)
	} else {
		core = "ooo8"
	}
	for _, set := range sets {
		for _, s := range set {
			r.set = append(r.set, strings.Replace(s, "CORE", core, 1))
		}
	}
	return r
}

// relaxRatios bounds speedups that are less than the paper's: with relaxed machines for what is
// faster. What it is compared with is as it is, or base under its slowest readings: then what is faster
// has these, too, as there is one machine, and the greater of both speedups counts.
func relaxRatios(ctx context.Context, env *Env, ratios []nearRatio, misses []Miss) (bounds []Bound, failed []string, err error) {
	for _, x := range ratios {
		if !slices.Contains(misses, Miss{x.name, AtMost}) {
			continue
		}
		readings := [][]string{nil}
		with := x.over + " as it is"
		if x.over == multicore.Base {
			readings = append(readings, slowBase)
			with = "base as it is, or both with 4 misses of a core at a time and 25.6 GB/s in all, whichever gains more"
		}
		for _, level := range nearLevels {
			most, known := 0.0, true
			for _, reading := range readings {
				title := ""
				if reading != nil {
					title = "slow readings"
				}
				relaxed := x.run(x.of, strings.TrimSuffix(level.name+", "+title, ", "), append(slices.Clone(level.sets), reading)...)
				a, err := nearAll(ctx, env, nil, x.run(x.over, title, reading), x.run(x.of, title, reading), relaxed)
				if err != nil {
					return bounds, failed, err
				}
				if failed = append(failed, a.failed...); len(a.failed) > 0 {
					return bounds, failed, nil
				}
				v, ok := a.fastest(1)
				most, known = max(most, v), known && ok
			}
			if known {
				bounds = append(bounds, Bound{x.name, AtMost, most, x.of + " " + level.with + "; " + with, "runs of each workload, the faster one of it and of the machine as it is"})
			}
		}
	}
	return bounds, failed, nil
}

// fastest is the mean of the slowest of the first runs, of which there are n, over the fastest
// of the others. Runs in samples count by the ends of their intervals; ok is false if one has none.
func (a *nearParts) fastest(n int) (mean float64, ok bool) {
	for _, name := range a.names {
		slow, fast := 0.0, math.Inf(1)
		for i, p := range a.parts[name] {
			switch {
			case p == nil || p.Bound < 0:
				return 0, false
			case i < n:
				slow = max(slow, float64(p.Cycles)*(1+p.Bound))
			default:
				fast = min(fast, float64(p.Cycles)*(1-min(p.Bound, 1)))
			}
		}
		mean += math.Log(slow/fast) / float64(len(a.names))
	}
	return math.Exp(mean), len(a.names) > 0
}

// relaxLocks bounds what locks of many readers gain where it is more than in the paper: by relaxed
// machines for the exclusive ones. Those are held for longer with more updates under way, so that they have as
// many as others, or a range, whichever is faster.
func relaxLocks(ctx context.Context, env *Env, misses []Miss) (bounds []Bound, failed []string, err error) {
	if !slices.Contains(misses, Miss{speedupByLocks, AtLeast}) {
		return nil, nil, nil
	}
	x := nearRatio{speedupByLocks, "ns", "ns", ""}
	for _, level := range nearLevels {
		sets := append(slices.Clone(level.sets), exclusiveLocks)
		a, err := nearAll(ctx, env, lockNames(), x.run("ns", ""), x.run("ns", "", exclusiveLocks), x.run("ns", "exclusive, "+level.name, sets...),
			x.run("ns", "exclusive, a range of updates, "+level.name, append(sets, []string{"streams.l2.indirect_slices", "1"})...))
		if err != nil {
			return bounds, failed, err
		}
		if failed = append(failed, a.failed...); len(a.failed) > 0 {
			return bounds, failed, nil
		}
		if v, ok := a.fastest(1); ok { // how many times as fast as locks of many readers exclusive ones are at the most
			bounds = append(bounds, Bound{speedupByLocks, AtLeast, 1 / v, "exclusive locks " + level.with + ", and a range of updates under way or as many as others; locks of many readers as they are", "runs of each workload, the fastest one of these and of the machine as it is"})
		}
	}
	return bounds, failed, nil
}

// relaxTraffic bounds the traffic that ns and ns-decouple save, where that is less than the
// paper's: by what has to move at the least.
func relaxTraffic(ctx context.Context, env *Env, misses []Miss) (bounds []Bound, failed []string, err error) {
	if env.Sample > 0 { // traffic is that of windows
		return nil, nil, nil
	}
	for _, config := range []string{"ns", "ns-decouple"} {
		name := savedBy(config)
		if !slices.Contains(misses, Miss{name, AtMost}) {
			continue
		}
		a, err := nearAll(ctx, env, nil, nearRun{config: multicore.Base}, nearRun{config: config})
		if err != nil {
			return bounds, failed, err
		}
		least, why, err := nearLeast(ctx, env, a.names)
		if err != nil {
			return bounds, failed, err
		}
		if failed = append(failed, append(a.failed, why...)...); len(failed) > 0 {
			return bounds, failed, nil
		}
		bounds = append(bounds, Bound{name, AtMost, a.mostSaved(least), "without headers, requests, flow control, commits, results of reductions and stores of cores, elements sent to a bank once and combined on the way",
			"what operands of streams near the L3 and loads of cores take where the compiler has them, counted in the sequential program, or what was measured, if that is less"})
	}
	return bounds, failed, nil
}

// mostSaved is the mean share of the traffic of the first run that is more than the least, or
// more than that of the second run.
func (a *nearParts) mostSaved(least []int64) (share float64) {
	for i, name := range a.names {
		base, ns := a.parts[name][0], a.parts[name][1]
		share += 100 * (1 - min(float64(least[i]), float64(ns.Traffic))/float64(max(1, base.Traffic))) / float64(len(a.names))
	}
	return share
}

// nearLeast is the least traffic of workloads near the L3.
func nearLeast(ctx context.Context, env *Env, names []string) (least []int64, failed []string, err error) {
	machine, err := env.machine(nearMachine(env))
	if err != nil {
		return nil, nil, err
	}
	sys := potential.System{Mesh: machine.NoCConfig(), LineBytes: multicore.StreamInterleave * machine.L3.LineBytes}
	least = make([]int64, len(names))
	var jobs []job
	for i, name := range names {
		jobs = append(jobs, job{"least traffic of " + name, func(ctx context.Context, env *Env) error {
			return env.kept(&least[i], func() error {
				k, args, err := nearWorkload(ctx, env, name, sixteenth)
				if err != nil {
					return err
				}
				mem, a := k.Streams(args)
				least[i], err = potential.Least(ctx, &potential.Program{Graph: k.Whole, Memory: mem, Args: a, Reassociate: k.Reassociate}, sys)
				return err
			}, "nsc least", name, env.Readings, env.Rounds)
		}})
	}
	_, failed, err = env.runJobs(ctx, jobs)
	return least, failed, err
}

// relaxTime bounds the claims of fig. 9.
func relaxTime(ctx context.Context, env *Env, misses []Miss) (bounds []Bound, failed []string, err error) {
	for _, relax := range []func() ([]Bound, []string, error){
		func() ([]Bound, []string, error) { return relaxTraffic(ctx, env, misses) },
		func() ([]Bound, []string, error) { return relaxRatios(ctx, env, nearRatios, misses) },
	} {
		b, f, err := relax()
		if bounds, failed = append(bounds, b...), append(failed, f...); err != nil {
			return bounds, failed, err
		}
	}
	return bounds, failed, nil
}

// savedBy names the traffic that a configuration saves.
func savedBy(config string) string { return fmt.Sprintf("traffic that %s saves", config) }

// freeContexts compute at a bank as if contexts had room for all, and were in it.
var freeContexts = []string{"streams.l3.compute_init_cycles", "0", "cores.ooo8.scc_rob", "4096", "cores.ooo8.computations", "0", "streams.core.sccs", "16"}

// relaxPE bounds what scalar PEs gain, where that is less than the paper's.
func relaxPE(ctx context.Context, env *Env, misses []Miss) (bounds []Bound, failed []string, err error) {
	for _, x := range []struct {
		name string
		only []string
	}{{speedupByPEs, nil}, {speedupOfJoinByPEs, []string{"hash_join"}}} {
		if !slices.Contains(misses, Miss{x.name, AtMost}) {
			continue
		}
		a, err := nearAll(ctx, env, x.only, nearRun{config: "ns-decouple", set: withoutPE}, nearRun{config: "ns-decouple"}, nearRun{config: "ns-decouple", set: freeContexts, title: "free contexts"})
		if err != nil {
			return bounds, failed, err
		}
		if failed = append(failed, a.failed...); len(a.failed) > 0 {
			return bounds, failed, nil
		}
		if v, ok := a.fastest(1); ok {
			bounds = append(bounds, Bound{x.name, AtMost, 100 * max(0, v-1), "with scalar PEs and 16 contexts of 4096 entries in each bank, without a way to them, over no PEs and contexts as they are", "runs of each workload, the faster one of it and of the machine as it is; none is slower by a PE that it need not use"})
		}
	}
	return bounds, failed, nil
}
