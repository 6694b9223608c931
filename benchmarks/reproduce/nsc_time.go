package reproduce

import (
	"context"

	"github.com/bitsched/bitsched/system/multicore"
)

// nscTimeEntries are the figures that run workloads in time.
var nscTimeEntries = []*Entry{
	{
		ID: "nsc:fig9", Title: "Speedup and traffic of near-stream computing", Paper: "Near-Stream Computing, Fig. 9, 11 and 12",
		Doc: "the 14 workloads in the configurations of Fig. 9, warm, on 64 OOO8 cores, each run compared with the definition of its workload; means of speedups are " +
			"geometric; the small size has about a sixteenth of the arrays, on a machine whose caches are a sixteenth",
		Claims: []Claim{
			{Name: "ns over base", Section: "VII.A", Unit: "x", Paper: 3.19, Tolerance: 0.2, Order: "base"},
			{Name: "ns over ns-no-comp", Section: "VII.A", Unit: "x", Paper: 1.69, Tolerance: 0.2},
			{Name: "ns over inst", Section: "VII.A", Unit: "x", Paper: 1.85, Tolerance: 0.2},
			{Name: "ns-decouple over base", Section: "VII.A", Unit: "x", Paper: 4.27, Tolerance: 0.2, Order: "base"},
			{Name: "ns-decouple over single", Section: "VII.A", Unit: "x", Paper: 2.12, Tolerance: 0.2},
			{Name: "traffic that ns saves", Section: "VII.B", Unit: "%", Paper: 69, Tolerance: 10, Points: true, Order: "traffic"},
			{Name: "traffic that ns-decouple saves", Section: "VII.B", Unit: "%", Paper: 76, Tolerance: 10, Points: true, Order: "traffic"},
			{Name: "traffic that inst saves", Section: "VII.B", Unit: "%", Paper: 49, Tolerance: 10, Points: true, Order: "traffic"},
			{Name: "range-sync in the traffic of ns", Section: "VII.B", Unit: "%", Paper: 11, Tolerance: 10, Points: true},
			{Name: "micro-ops that leave the core in ns", Section: "VII.B", Unit: "%", Paper: 46, Tolerance: 10, Points: true},
		},
		Timed:     true,
		Workloads: nearNames,
		Run:       nearTime,
		Relax:     relaxTime,
	},
}

// nearConfigs are the configurations of fig. 9, those first whose means are claims.
var nearConfigs = []string{multicore.Base, "ns", "ns-decouple", "ns-no-comp", "inst", "single", "ns-no-sync", "ns-core"}

// nearTime runs the workloads in time.
func nearTime(ctx context.Context, env *Env) (*Measured, error) {
	var runs []nearRun
	for _, config := range nearConfigs {
		runs = append(runs, nearRun{config: config})
	}
	a, err := nearAll(ctx, env, nil, runs...)
	if err != nil {
		return nil, err
	}
	m := a.measured(env)
	base, ns := a.at(multicore.Base), a.at("ns")
	times := Table{Title: "Cycles of base, and speedups over it", Head: append([]string{"workload", "base"}, nearConfigs[1:]...)}
	bytes := Table{Title: "Traffic, base = 1 (bytes x hops), and what of it is offloaded in ns, %", Head: append(append([]string{"workload"}, nearConfigs[1:]...), "of ns offloaded", "range-sync", "micro-ops left", "loops at the L3")}
	share := func(of func(p *nearPart) uint64) func(_, p *nearPart) float64 {
		return func(_, p *nearPart) float64 { return 100 * float64(of(p)) / float64(max(1, p.Traffic)) }
	}
	sync := share(func(p *nearPart) uint64 { return p.Sync })
	left := func(x, y *nearPart) float64 { return 100 * (1 - float64(y.MicroOps)/float64(x.MicroOps)) }
	for _, name := range a.names {
		row, traffic := []string{name, a.cycles(name, base)}, []string{name}
		for j := range runs[1:] {
			row = append(row, a.cell(name, base, j+1, "%.2f", faster))
			traffic = append(traffic, a.cell(name, base, j+1, "%.2f", moved))
		}
		times.Rows = append(times.Rows, row)
		bytes.Rows = append(bytes.Rows, append(traffic, a.cell(name, ns, ns, "%.0f", share(func(p *nearPart) uint64 { return p.Offloaded })), a.cell(name, ns, ns, "%.0f", sync),
			a.cell(name, base, ns, "%.0f", left), a.cell(name, ns, ns, "%.0f", func(_, p *nearPart) float64 { return float64(p.Loops) })))
	}
	for _, x := range nearRatios {
		v, ok := a.speedup(a.at(x.of), a.at(x.over))
		m.add(x.name, "x", v, ok)
	}
	for _, config := range []string{"ns", "ns-decouple", "inst"} {
		v, ok := a.saved(base, a.at(config), traffic)
		m.add(savedBy(config), "%", v, ok)
	}
	mean := func(i, j int, of func(x, y *nearPart) float64) (v float64, ok bool) {
		names := a.both(i, j)
		for _, name := range names {
			v += of(a.parts[name][i], a.parts[name][j]) / float64(len(names))
		}
		return v, len(names) > 0
	}
	v, ok := mean(ns, ns, sync)
	m.add("range-sync in the traffic of ns", "%", v, ok)
	v, ok = mean(base, ns, left)
	m.add("micro-ops that leave the core in ns", "%", v, ok)
	m.Tables = []Table{times, bytes}
	m.draw("speedup.svg", &times, "speedup over base", "Speedups over base, by configuration.", false, nearConfigs[1:]...)
	m.draw("traffic.svg", &bytes, "traffic, base = 1", "Bytes times links, by configuration.", false, nearConfigs[1:]...)
	m.Notes = append(m.Notes,
		"streams at the L3 are those of innermost loops, and go on from row to row where they are linear in the loop around (docs/streams.md)",
		"micro-ops that leave the core include those of cores that wait: a faster run waits less")
	return m, nil
}
