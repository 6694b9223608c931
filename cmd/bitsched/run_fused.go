package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/system/fused"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile"
)

// Cycles of operations in arrays.
const (
	latenciesArrays = "arrays"
	latenciesPaper  = "paper"
)

// fused reports whether regions are in memory in some of the configurations.
func (f *configFlags) fused() bool {
	return slices.ContainsFunc(f.configs, regionsIn)
}

// regionsIn reports whether a configuration may have regions in memory.
func regionsIn(config string) bool { return fused.Find(config) != nil }

// rehearses reports whether one of the configurations takes the fastest of simulated runs.
func (f *configFlags) rehearses() bool {
	return slices.Contains(f.configs, fused.Auto) || slices.Contains(f.configs, fused.Oracle)
}

// fusedRun returns how a function runs, and is compared, with regions in memory, or where runs are
// shared with auto and oracle. rehearsals are those of this function on this machine, nil before the first.
func (a *app) fusedRun(ctx context.Context, k *workload.Kernel, m *memory.Memory, p *multicore.Program, before stream.Memory, opt multicore.Options, rehearsals **fused.Rehearsals, f *runFlags) (func() (*configRun, error), func() (*multicore.Verdict, error)) {
	q := &fused.Program{Program: p, Tensors: k.Regions(), Sizes: k.Sizes, Arrays: m.Clone()}
	options := fused.Options{Options: opt, Decide: f.decide, Latencies: f.config.latencies, Overlap: f.config.overlap, BankLowering: f.config.inBanks, Parts: f.config.parts,
		Rehearse: fused.RehearseOptions{Most: f.config.rehearsals, Threads: f.threads, Check: f.check}}
	var report *fused.Report
	shared := f.shares(k, opt.Config)
	run := func() (*configRun, error) {
		if k.NoParts != nil {
			return nil, fmt.Errorf("--config %s: %w", opt.Config, k.NoParts)
		}
		var err error
		if shared {
			if *rehearsals == nil {
				*rehearsals = fused.NewRehearsals(q, options)
			}
			report, err = (*rehearsals).Run(ctx, opt.Config, q)
		} else {
			report, err = fused.Run(ctx, q, options)
		}
		if report == nil {
			return nil, err
		}
		r := &configRun{Config: opt.Config, Report: report.Report, Readings: fusedReadings(opt.Machine, f), InMemory: report}
		if !regionsIn(opt.Config) {
			r.Readings, r.InMemory = readings(opt.Machine), nil
		}
		return r, err
	}
	return run, func() (*multicore.Verdict, error) {
		if shared {
			if v := (*rehearsals).Verdict(report); v != nil {
				return v, nil
			}
		}
		return fused.Check(ctx, q, before, report, options)
	}
}

// shares reports whether a configuration is one of those that auto and oracle rehearse, or one of these.
func (f *runFlags) shares(k *workload.Kernel, config string) bool {
	return k.NoParts == nil && f.config.rehearses() && (fused.Rehearses(config) || config == fused.Auto || config == fused.Oracle) && !(f.decide && regionsIn(config) && fused.Rehearses(config))
}

// fusedReadings are the parameters that sources set differently, those of lowering included.
func fusedReadings(m *tile.Machine, f *runFlags) []reading {
	list := readings(m)
	for _, p := range m.Parameters() {
		if len(p.Reading) > 0 && strings.HasPrefix(p.Path, "jit.") {
			list = append(list, reading{p.Path, p.Value})
		}
	}
	return append(list, reading{"latencies", f.config.latencies})
}

// regions has where the cycles of regions in memory went, and what was decided about each.
func (r *configResult) regions() string {
	t := benchmarks.Table{Columns: []benchmarks.Column{
		{Name: "configuration", Left: true}, {Name: "cycles"}, {Name: "cores"}, {Name: "drain, flush"}, {Name: "DRAM"}, {Name: "JIT"}, {Name: "compute"}, {Name: "move"}, {Name: "between"}, {Name: "sync"},
		{Name: "final"}, {Name: "near"}, {Name: "return"}, {Name: "behind the kernel"},
	}}
	u := benchmarks.Table{Columns: []benchmarks.Column{
		{Name: "configuration", Left: true}, {Name: "region", Left: true}, {Name: "reached"}, {Name: "in memory"}, {Name: "cycles"},
		{Name: "operations"}, {Name: "/ TP_core"}, {Name: "latencies"}, {Name: "+ JIT"}, {Name: "Eq. 2", Left: true}, {Name: "on cores since", Left: true},
	}}
	for _, x := range r.Runs {
		f := x.InMemory
		if f == nil {
			continue
		}
		c := &f.Cycles
		row := []string{x.Config}
		for _, n := range []int64{x.Cycles, c.Core, c.Drain + c.Flush, c.DRAM + c.Spill, c.JIT, c.Compute, c.Move, c.Between, c.Sync, c.Final, c.Near, c.Return, f.WriteBack} {
			row = append(row, fmt.Sprint(n))
		}
		t.Rows = append(t.Rows, row)
		for i := range f.Regions {
			u.Rows = append(u.Rows, regionRow(x.Config, &f.Regions[i]))
		}
	}
	if len(t.Rows) == 0 {
		return ""
	}
	text := "\nregions in memory: cycles of thread 0, by what it waited for\n\n" + renderTable(t) + "\n"
	if len(u.Rows) > 0 {
		text += "\n" + renderTable(u) + "\n"
	}
	return text
}

// rehearsed says what auto and oracle have chosen from, of the last run of each, and how far they are
// from each other.
func (r *configResult) rehearsed() (text string) {
	cycles := map[string]int64{}
	for _, x := range r.Runs {
		cycles[x.Config] = x.Cycles
		if x.InMemory != nil && x.InMemory.Rehearsed != nil {
			text += rehearsalText(x.Config, x.InMemory.Rehearsed)
		}
	}
	if best, ok := cycles[fused.Oracle]; ok {
		for _, config := range []string{fused.Auto, fused.AutoPredicted} {
			if n, ok := cycles[config]; ok {
				text += fmt.Sprintf("%s takes %.1f %% more cycles than the oracle\n", config, 100*(float64(n)/float64(max(1, best))-1))
			}
		}
	}
	return text
}

func rehearsalText(config string, h *fused.Rehearsed) string {
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "rehearsal", Left: true}, {Name: "banks interleave by"}, {Name: "expected"}, {Name: "cycles"}, {Name: "", Left: true}, {Name: "on the host"}}}
	for _, q := range h.Runs {
		expected, note := "", ""
		if q.Expected > 0 {
			expected = fmt.Sprintf("%.0f", q.Expected)
		}
		switch {
		case q.Chosen:
			note = "chosen"
		case q.Cut:
			note = "stopped then: others take less"
		}
		t.Rows = append(t.Rows, []string{q.Plan, fmt.Sprint(q.Interleave), expected, fmt.Sprint(q.Cycles), note, seconds(q.Seconds)})
	}
	text := fmt.Sprintf("\n%s: the fastest of %s (rehearsals, %s of the host in all, which take no cycles of the run)\n\n%s\n", config, count(len(h.Runs), "simulated run"), seconds(h.Seconds), renderTable(t))
	if h.Stopped {
		text += "stopped before all were rehearsed: the fastest so far\n"
	}
	if h.Combinations > 0 {
		what := "all combinations of a place for each part"
		if !h.Whole {
			what = "not all combinations of a place for each part, of which there are too many, but each part elsewhere than in the fastest run"
		}
		text += fmt.Sprintf("%s tries %s: %d\n", config, what, h.Combinations)
	}
	for _, why := range h.Left {
		text += "not rehearsed: " + why + "\n"
	}
	p := benchmarks.Table{Columns: []benchmarks.Column{{Name: "part", Left: true}, {Name: "reached"}, {Name: "where", Left: true}, {Name: "cycles on cores"}, {Name: "with streams at the L3"}, {Name: "in memory"}, {Name: "chosen by", Left: true}}}
	for _, q := range h.Parts {
		row := []string{q.Name, fmt.Sprint(q.Reached), q.Turns, "-", "-", "-", "measured"}
		for _, c := range q.Places {
			i := slices.Index([]string{fused.OnCores.String(), fused.AtL3.String(), fused.InMemory.String()}, c.Place)
			row[3+i] = fmt.Sprintf("%.0f", c.Cycles)
			if !c.Measured {
				row[3+i] += " expected"
				row[6] = "measured and expected"
			}
		}
		p.Rows = append(p.Rows, row)
	}
	if len(p.Rows) > 0 {
		text += "\nparts: cycles of thread 0 of all times together, as measured in the rehearsals\n\n" + renderTable(p) + "\n"
	}
	return text
}

// choices has what auto-predicted expected of each part of the function, and what it took, of the last
// run of it.
func (r *configResult) choices() string {
	var list []*fused.Choice
	interleave := 0
	for _, x := range r.Runs {
		if x.InMemory != nil && x.InMemory.Choices != nil && (x.Config == fused.AutoPredicted || x.InMemory.Rehearsed != nil) {
			list, interleave = x.InMemory.Choices, x.InMemory.Interleave
		}
	}
	if list == nil {
		return ""
	}
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "part", Left: true}, {Name: "reached"}, {Name: "at", Left: true}, {Name: "first by closed form"}, {Name: "times"}, {Name: "predicted"}, {Name: "measured"}, {Name: "off"}}}
	for _, q := range list {
		for i, p := range q.Places {
			if p.First == 0 && p.Times == 0 {
				continue
			}
			row := []string{"", "", p.Place, fmt.Sprintf("%.0f", p.First), fmt.Sprint(p.Times), "", "", ""}
			if i == 0 {
				row[0], row[1] = q.Name, fmt.Sprint(q.Reached)
			}
			if p.Times > 0 {
				row[5], row[6], row[7] = fmt.Sprintf("%.0f", p.Predicted), fmt.Sprint(p.Cycles), fmt.Sprintf("%+.0f %%", 100*(p.Predicted/float64(max(1, p.Cycles))-1))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	if len(t.Rows) == 0 {
		return ""
	}
	return fmt.Sprintf("\nauto-predicted: cycles of thread 0 that were expected of each part before it began, and that it took; banks interleave by %d bytes\n\n%s\n", interleave, renderTable(t))
}

func regionRow(config string, q *fused.RegionReport) []string {
	d := &q.Decision
	eq, why := "memory", q.Why
	if !d.InMemory {
		eq = "cores"
	}
	if d.Peak == 0 {
		eq = ""
	}
	switch {
	case why == "" && q.Near > 0:
		why = "it needs streams near the memory"
	case why == "" && q.Against > 0 && (config == fused.Auto || config == fused.AutoPredicted || config == fused.Oracle):
		why = fmt.Sprintf("threads were faster, %d cycles", q.OnCores)
	case why == "" && q.Against > 0:
		why = fmt.Sprintf("Eq. 2, %d times", q.Against)
	}
	return []string{config, q.Name, fmt.Sprint(q.Reached), fmt.Sprint(q.InMemory), fmt.Sprint(q.Cycles), fmt.Sprint(d.Elements), fmt.Sprintf("%.0f", d.Core), fmt.Sprint(d.Latencies), fmt.Sprint(d.JIT), eq, why}
}

// regionsText says what was computed in memory.
func (x *configRun) regionsText(s *summary) {
	f := x.InMemory
	if f == nil {
		return
	}
	c := &f.Cycles
	s.gap()
	s.add("regions", "%d cycles in memory, %d on cores around them", c.Regions, c.Core)
	for _, p := range []struct {
		name   string
		cycles int64
		what   string
	}{
		{"drain", c.Drain, "until no request of a core was under way"}, {"flush", c.Flush, fmt.Sprintf("of reserved ways: %d lines", f.Flushed)}, {"DRAM", c.DRAM, fmt.Sprintf("%d lines to bitlines, %d of them again since cores had asked for them", f.Tensor.Fetched, f.Refetched)},
		{"JIT", c.JIT, "lowering that arrays wait for, by formula (jit of the machine)"}, {"hidden JIT", c.Hidden, "lowering while arrays are fetched or the region before is executed"}, {"compute", c.Compute, ""}, {"move", c.Move, "within tiles"}, {"between", c.Between, fmt.Sprintf("tiles; %d packets", f.Tensor.Packets)},
		{"sync", c.Sync, fmt.Sprintf("%d barriers, and what waited for commands, packets and H-trees", f.Tensor.Syncs)}, {"final", c.Final, "last steps of reductions, from bank to bank"}, {"near", c.Near, "streams of regions"},
		{"spill", c.Spill, "words to idle arrays or DRAM and back, for which bitlines have no rows"}, {"return", c.Return, "arrays to memory, within the kernel"}, {"released", c.Behind, "arrays to memory, while threads go on"}, {"parts", f.Parts, "that regions larger than the arrays were executed in: a number, no cycles"}, {"write-back", f.WriteBack, fmt.Sprintf("behind the kernel; %d lines in all", f.Tensor.Returned)},
	} {
		if p.cycles > 0 {
			s.add("  "+p.name, "%12d  %s", p.cycles, p.what)
		}
	}
	for i := range f.Regions {
		q := &f.Regions[i]
		row := regionRow(x.Config, q)
		text := fmt.Sprintf("%d of %d times in memory, %d cycles", q.InMemory, q.Reached, q.Cycles)
		if q.Decision.Peak > 0 {
			text += fmt.Sprintf("; Eq. 2: %s / %.0f = %s against %s + %s, so %s", row[5], q.Decision.Peak, row[6], row[7], row[8], row[9])
		}
		if row[10] != "" {
			text += "; on cores: " + row[10]
		}
		s.add("  "+q.Name, "%s", text)
	}
	for _, r := range f.Releases {
		s.add("  released", "in cycle %d: %s", r.At, r.Why)
	}
	for _, m := range f.Messages {
		s.add("  "+m.Name, "%12s x hops, %d messages", byteCount(int64(m.ByteHops)), m.Messages)
	}
	if r := f.Arrays; r != nil {
		s.add("  operations", "%d of elements in memory, %d near it", r.Operations, r.NearOps)
	}
}
