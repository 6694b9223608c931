package reproduce

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tile"
)

// nscSenseEntries are the figures of Near-Stream Computing that change one thing of the
// machine.
var nscSenseEntries = []*Entry{
	{
		ID: "nsc:fig10", Title: "Near-stream computing with small cores", Paper: "Near-Stream Computing, Fig. 10",
		Doc: "the workloads in base and in ns on 64 IO4 cores, and the energy of base, ns and ns-decouple on OOO8 cores by the table chip-22nm, warm",
		Claims: []Claim{
			{Name: "ns over base with IO4", Section: "VII.A", Unit: "x", Paper: 4.28, Tolerance: 0.2},
			{Name: "energy of base over ns with OOO8", Section: "VII.A", Unit: "x", Paper: 2.85, Tolerance: 0.2, Order: "energy"},
			{Name: "energy of base over ns-decouple with OOO8", Section: "VII.A", Unit: "x", Paper: 3.52, Tolerance: 0.2, Order: "energy"},
		},
		Timed:     true,
		Workloads: nearNames,
		Run:       nearSmallCores,
		Relax: func(ctx context.Context, env *Env, misses []Miss) ([]Bound, []string, error) {
			return relaxRatios(ctx, env, []nearRatio{{"ns over base with IO4", "ns", multicore.Base, "io4"}}, misses)
		},
	},
	{
		ID: "nsc:fig13", Title: "Latency from a bank to the contexts of its tile", Paper: "Near-Stream Computing, Fig. 13",
		Doc: "the workloads in ns-decouple with 16 cycles from the engine of a bank to the contexts of its tile, over 4 cycles, warm",
		Claims: []Claim{
			{Name: "performance that 16 cycles cost ns-decouple", Section: "VII.C", Unit: "%", Paper: 11, Tolerance: 0.5},
		},
		Timed:     true,
		Workloads: nearNames,
		Run: func(ctx context.Context, env *Env) (*Measured, error) {
			return nearSense(ctx, env, sense{config: "ns-decouple", value: "performance that 16 cycles cost ns-decouple", set: []string{"streams.l3.compute_init_cycles", "16"}, cost: true})
		},
	},
	{
		ID: "nsc:fig14", Title: "Reorder buffers of stream computing contexts", Paper: "Near-Stream Computing, Fig. 14",
		Doc: "the workloads in ns-decouple whose contexts have 8 to 128 (small: 16) entries of reorder buffers in a tile, over 64, warm; the paper prints no figures, but which workloads are bounded by few entries",
		Claims: []Claim{
			{Name: "workloads of graphs and pointers that 16 entries cost less than 5 %", Section: "VII.C", Unit: "%", Paper: 100, Tolerance: 10, Points: true},
			{Name: "workloads with SIMD that 16 entries cost more than 5 %", Section: "VII.C", Unit: "%", Paper: 100, Tolerance: 10, Points: true},
		},
		Timed:     true,
		Workloads: nearNames,
		Run:       nearContexts,
	},
	{
		ID: "nsc:fig15", Title: "Ranges of affine streams made in the core", Paper: "Near-Stream Computing, Fig. 15",
		Doc: "four affine workloads in ns, where the engine of the core makes ranges of affine streams, over ns where banks make and send them, warm",
		Claims: []Claim{
			{Name: "speedup by ranges made in the core", Section: "VII.D", Unit: "%", Paper: 5, Tolerance: 0.5},
			{Name: "traffic that ranges made in the core save", Section: "VII.D", Unit: "%", Paper: 15, Tolerance: 10, Points: true},
		},
		Timed:     true,
		Workloads: affineRanges,
		Run: func(ctx context.Context, env *Env) (*Measured, error) {
			return nearSense(ctx, env, sense{config: "ns", value: "speedup by ranges made in the core", traffic: "traffic that ranges made in the core save", set: []string{"streams.l3.affine_ranges", "l3"},
				only: affineRanges()})
		},
	},
	{
		ID: "nsc:fig16", Title: "Locks of atomics: exclusive, or of many readers and one writer", Paper: "Near-Stream Computing, Fig. 16",
		Doc: "bfs_push and sssp in ns with locks of many readers and one writer over exclusive ones, warm; contention is the cycles that atomics wait for a line, conflicts are atomics that wait",
		Claims: []Claim{
			{Name: speedupByLocks, Section: "VII.D", Unit: "x", Paper: 1.29, Tolerance: 0.2},
			{Name: "contention that locks of many readers remove", Section: "IV.C", Unit: "%", Paper: 97, Tolerance: 10, Points: true},
			{Name: "conflict rate with locks of many readers", Section: "IV.C", Unit: "%", Paper: 0.6, Tolerance: 0.5},
		},
		Timed:     true,
		Workloads: lockNames,
		Run:       nearLocks,
		Relax:     relaxLocks,
	},
	{
		ID: "nsc:fig17", Title: "Scalar PE of stream engines", Paper: "Near-Stream Computing, Fig. 17",
		Doc: "the workloads in ns-decouple with a scalar PE beside each bank, over ns-decouple without, warm",
		Claims: []Claim{
			{Name: speedupByPEs, Section: "VII.D", Unit: "%", Paper: 2.5, Tolerance: 0.5},
			{Name: speedupOfJoinByPEs, Section: "VII.D", Unit: "%", Paper: 10, Tolerance: 0.5},
		},
		Timed:     true,
		Workloads: nearNames,
		Run: func(ctx context.Context, env *Env) (*Measured, error) {
			return nearSense(ctx, env, sense{config: "ns-decouple", value: speedupByPEs, each: "speedup of %s by scalar PEs", set: withoutPE})
		},
		Relax: relaxPE,
	},
}

// affineRanges are the workloads of fig. 15, lockNames those of fig. 16.
func affineRanges() []string { return []string{"pathfinder", "srad", "hotspot", "hotspot3D"} }
func lockNames() []string    { return []string{"bfs_push", "sssp"} }

// Names of claims of fig. 17, and what it changes.
const (
	speedupByPEs       = "speedup by scalar PEs"
	speedupOfJoinByPEs = "speedup of hash_join by scalar PEs"
)

// speedupByLocks is a claim of fig. 16.
const speedupByLocks = "speedup of ns by locks of many readers"

var exclusiveLocks = []string{"streams.l3.locks", "exclusive"}

var withoutPE = []string{"streams.l3.scalar_pe", "false"}

// sense is a comparison of a machine with one that differs in a parameter.
type sense struct {
	config         string
	value, traffic string // names of the mean speedup of the machine as it is, and of the traffic that it saves
	each           string // name of the speedup of a workload
	set            []string
	only           []string // workloads; nil for all
	cost           bool     // the value is how much slower the other machine is
}

func nearSense(ctx context.Context, env *Env, x sense) (*Measured, error) {
	a, err := nearAll(ctx, env, x.only, nearRun{config: x.config}, nearRun{config: x.config, set: x.set})
	if err != nil {
		return nil, err
	}
	m := a.measured(env)
	table := Table{Title: "Cycles and traffic as the machine is, and with " + strings.Join(x.set, " "), Head: []string{"workload", "cycles", "changed", "speedup", "traffic, changed = 1"}}
	for _, name := range a.names {
		table.Rows = append(table.Rows, []string{name, a.cycles(name, 0), a.cycles(name, 1), a.cell(name, 1, 0, "%.3f", faster), a.cell(name, 1, 0, "%.3f", moved)})
		if p, q := a.parts[name][0], a.parts[name][1]; p != nil && q != nil && x.each != "" {
			m.Add(fmt.Sprintf(x.each, name), "%", 100*(faster(q, p)-1))
		}
	}
	mean, ok := a.speedup(0, 1)
	if x.cost {
		m.add(x.value, "%", 100*(1-1/mean), ok)
	} else {
		m.add(x.value, "%", 100*(mean-1), ok)
	}
	if x.traffic != "" {
		v, ok := a.saved(1, 0, traffic)
		m.add(x.traffic, "%", v, ok)
	}
	m.Tables = []Table{table}
	m.draw("speedup.svg", &table, "speedup over the changed machine", "The machine as it is over the one with "+strings.Join(x.set, " ")+".", false, "speedup", "traffic, changed = 1")
	return m, nil
}

// contextROBs are the entries of fig. 14, those of claims first; the machine has 64.
var contextROBs = []string{"16", "8", "32", "128"}

func nearContexts(ctx context.Context, env *Env) (*Measured, error) {
	runs := []nearRun{{config: "ns-decouple"}}
	head := []string{"workload", "cycles with 64"}
	entries := contextROBs
	if env.Size == Small {
		entries = entries[:1]
	}
	machine, err := env.machine(nearMachine(env))
	if err != nil {
		return nil, err
	}
	for _, n := range entries {
		runs = append(runs, nearRun{config: "ns-decouple", set: withEntries(machine, n)})
		head = append(head, n)
	}
	a, err := nearAll(ctx, env, nil, runs...)
	if err != nil {
		return nil, err
	}
	m := a.measured(env)
	t := Table{Title: "Performance with so many entries, with 64 = 1", Head: head}
	var n, held [2]float64 // SIMD, and graphs and pointers
	for _, name := range a.names {
		row := []string{name, a.cycles(name, 0)}
		for j := range entries {
			row = append(row, a.cell(name, 0, j+1, "%.3f", faster))
		}
		t.Rows = append(t.Rows, row)
		if p, q := a.parts[name][0], a.parts[name][1]; p != nil && q != nil {
			kind, lost := 0, 1-faster(p, q) > 0.05
			if !slices.Contains(withSIMD, name) {
				kind, lost = 1, !lost
			}
			if n[kind]++; lost {
				held[kind]++
			}
		}
	}
	m.add("workloads with SIMD that 16 entries cost more than 5 %", "%", 100*held[0]/n[0], n[0] > 0)
	m.add("workloads of graphs and pointers that 16 entries cost less than 5 %", "%", 100*held[1]/n[1], n[1] > 0)
	m.Tables = []Table{t}
	m.draw("entries.svg", &t, "performance, 64 entries = 1", "Contexts with so many entries of reorder buffers in a tile.", false, entries...)
	return m, nil
}

// withEntries is a machine whose contexts have so many entries, and where a number of computations
// stands for these, as many of them as are in proportion.
func withEntries(m *tile.Machine, entries string) []string {
	set := []string{"cores.ooo8.scc_rob", entries}
	if core := m.CoreVariant(); core.Computations > 0 {
		n, _ := strconv.Atoi(entries)
		set = append(set, "cores.ooo8.computations", strconv.Itoa(max(1, core.Computations*n/max(1, core.SCCROB))))
	}
	return set
}

// withSIMD are the workloads whose computations are vectorised.
var withSIMD = []string{"pathfinder", "srad", "hotspot", "hotspot3D", "histogram", "scluster", "svm"}

func nearLocks(ctx context.Context, env *Env) (*Measured, error) {
	a, err := nearAll(ctx, env, lockNames(), nearRun{config: "ns"}, nearRun{config: "ns", set: exclusiveLocks})
	if err != nil {
		return nil, err
	}
	m := a.measured(env)
	t := Table{Title: "Atomics at the L3 with both locks", Head: []string{"workload", "cycles, many readers", "exclusive", "speedup", "atomics", "that wait", "exclusive: that wait", "cycles of waiting", "exclusive: cycles of waiting"}}
	var atomics, waits, cycles, exclusive uint64
	for _, name := range a.names {
		p, q := a.parts[name][0], a.parts[name][1]
		if p == nil || q == nil {
			continue
		}
		atomics, waits, cycles, exclusive = atomics+p.Atomics, waits+p.Conflicts, cycles+p.Contention, exclusive+q.Contention
		t.Rows = append(t.Rows, []string{name, a.cycles(name, 0), a.cycles(name, 1), a.cell(name, 1, 0, "%.3f", faster), fmt.Sprint(p.Atomics), fmt.Sprint(p.Conflicts), fmt.Sprint(q.Conflicts), fmt.Sprint(p.Contention), fmt.Sprint(q.Contention)})
	}
	v, ok := a.speedup(0, 1)
	m.add(speedupByLocks, "x", v, ok)
	m.add("contention that locks of many readers remove", "%", 100*(1-float64(cycles)/float64(max(1, exclusive))), exclusive > 0)
	m.add("conflict rate with locks of many readers", "%", 100*float64(waits)/float64(max(1, atomics)), atomics > 0)
	m.Tables = []Table{t}
	m.draw("waiting.svg", &t, "cycles of waiting", "Cycles that atomics wait for a line, with locks of many readers and exclusive ones.", false, "cycles of waiting", "exclusive: cycles of waiting")
	return m, nil
}

// energyTable is the table that has energies of cores, caches, links and DRAM.
const energyTable = "chip-22nm"

func nearSmallCores(ctx context.Context, env *Env) (*Measured, error) {
	small := func(config string) nearRun { return nearRun{config: config, set: []string{"core", "io4"}} }
	a, err := nearAll(ctx, env, nil, small(multicore.Base), small("ns"), nearRun{config: multicore.Base}, nearRun{config: "ns"}, nearRun{config: "ns-decouple"})
	if err != nil {
		return nil, err
	}
	m := a.measured(env)
	m.Notes = append(m.Notes, "energy is dynamic, by "+energyTable+", in which a micro-op takes the same in all cores and no value is confirmed; an operation on an element beside a bank takes as much as a micro-op, also where the core's has 16 elements")
	cycles := Table{Title: "Cycles of base with IO4, and the speedup of ns", Head: []string{"workload", "base", "ns"}}
	energies := Table{Title: "Energy with OOO8, base = 1", Head: []string{"workload", "base, uJ", "ns", "ns-decouple"}}
	known := true
	energy := func(x, y *nearPart) float64 { return y.Energy / x.Energy }
	for _, name := range a.names {
		cycles.Rows = append(cycles.Rows, []string{name, a.cycles(name, 0), a.cell(name, 0, 1, "%.2f", faster)})
		energies.Rows = append(energies.Rows, []string{name, a.cell(name, 2, 2, "%.1f", func(p, _ *nearPart) float64 { return p.Energy / 1e6 }), a.cell(name, 2, 3, "%.2f", energy), a.cell(name, 2, 4, "%.2f", energy)})
		for _, p := range a.parts[name][2:] {
			known = known && (p == nil || p.Energy > 0 && len(p.Missing) == 0)
		}
	}
	v, ok := a.speedup(1, 0)
	m.add("ns over base with IO4", "x", v, ok)
	m.Tables = []Table{cycles}
	m.draw("speedup.svg", &cycles, "speedup over base", "Near-stream computing with IO4 cores over base with IO4 cores.", false, "ns")
	if known {
		for j, config := range []string{"ns", "ns-decouple"} {
			v, ok := a.ratio(2, 3+j, func(p *nearPart) float64 { return p.Energy })
			m.add(fmt.Sprintf("energy of base over %s with OOO8", config), "x", v, ok)
		}
		m.Tables = append(m.Tables, energies)
		m.draw("energy.svg", &energies, "energy, base = 1", "Energy with OOO8 cores.", false, "ns", "ns-decouple")
	}
	return m, nil
}
