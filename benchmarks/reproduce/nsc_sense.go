package reproduce

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/sram/cost"
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
			{Name: "energy of base over ns with OOO8", Section: "VII.A", Unit: "x", Paper: 2.85, Tolerance: 0.2},
			{Name: "energy of base over ns-decouple with OOO8", Section: "VII.A", Unit: "x", Paper: 3.52, Tolerance: 0.2},
		},
		Run: nearSmallCores,
	},
	{
		ID: "nsc:fig13", Title: "Latency from a bank to the contexts of its tile", Paper: "Near-Stream Computing, Fig. 13",
		Doc: "the workloads in ns-decouple with 16 cycles from the engine of a bank to the contexts of its tile, over 4 cycles, warm",
		Claims: []Claim{
			{Name: "performance that 16 cycles cost ns-decouple", Section: "VII.C", Unit: "%", Paper: 11, Tolerance: 0.5},
		},
		Run: func(ctx context.Context, env *Env) (*Measured, error) {
			return nearSense(ctx, env, sense{config: "ns-decouple", value: "performance that 16 cycles cost ns-decouple", set: []string{"streams.l3.compute_init_cycles", "16"}, cost: true})
		},
	},
	{
		ID: "nsc:fig15", Title: "Ranges of affine streams made in the core", Paper: "Near-Stream Computing, Fig. 15",
		Doc: "four affine workloads in ns, where the engine of the core makes ranges of affine streams, over ns where banks make and send them, warm",
		Claims: []Claim{
			{Name: "speedup by ranges made in the core", Section: "VII.D", Unit: "%", Paper: 5, Tolerance: 0.5},
			{Name: "traffic that ranges made in the core save", Section: "VII.D", Unit: "%", Paper: 15, Tolerance: 10, Points: true},
		},
		Run: func(ctx context.Context, env *Env) (*Measured, error) {
			return nearSense(ctx, env, sense{config: "ns", value: "speedup by ranges made in the core", traffic: "traffic that ranges made in the core save", set: []string{"streams.l3.affine_ranges", "l3"},
				only: []string{"pathfinder", "srad", "hotspot", "hotspot3D"}})
		},
	},
	{
		ID: "nsc:fig17", Title: "Scalar PE of stream engines", Paper: "Near-Stream Computing, Fig. 17",
		Doc: "the workloads in ns-decouple with a scalar PE beside each bank, over ns-decouple without, warm",
		Claims: []Claim{
			{Name: "speedup by scalar PEs", Section: "VII.D", Unit: "%", Paper: 2.5, Tolerance: 0.5},
			{Name: "speedup of hash_join by scalar PEs", Section: "VII.D", Unit: "%", Paper: 10, Tolerance: 0.5},
		},
		Run: func(ctx context.Context, env *Env) (*Measured, error) {
			return nearSense(ctx, env, sense{config: "ns-decouple", value: "speedup by scalar PEs", each: "speedup of %s by scalar PEs", set: []string{"streams.l3.scalar_pe", "false"}})
		},
	},
}

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
	m := &Measured{Notes: []string{"every run is compared with the definition of its workload"}}
	table := Table{Title: "Cycles and traffic as the machine is, and with " + fmt.Sprint(x.set), Head: []string{"workload", "cycles", "changed", "traffic", "changed"}}
	log, saved, n := 0.0, 0.0, 0.0
	list := kernels.NearStream()
	for i, w := range list {
		if x.only != nil && !slices.Contains(x.only, w.Name) {
			continue
		}
		env.progress(w.Name, i, len(list))
		k, args, err := nearWorkload(ctx, env, w.Name, sixtyfourth)
		if err != nil {
			return nil, err
		}
		r, err := nearRun(ctx, env, k, args, nearMachine(env), x.config)
		if err != nil {
			return nil, fmt.Errorf("reproduce: %s: %w", w.Name, err)
		}
		other, err := nearRun(ctx, env, k, args, nearMachine(env), x.config, x.set...)
		if err != nil {
			return nil, fmt.Errorf("reproduce: %s: %w", w.Name, err)
		}
		speedup := float64(other.Cycles) / float64(r.Cycles)
		log += math.Log(speedup)
		saved += 1 - ratioOf(r, other)
		n++
		if x.each != "" {
			m.Add(fmt.Sprintf(x.each, w.Name), "%", 100*(speedup-1))
		}
		table.Rows = append(table.Rows, []string{w.Name, fmt.Sprint(r.Cycles), fmt.Sprintf("%.3f", speedup), fmt.Sprint(r.Streams.Total()), fmt.Sprintf("%.3f", ratioOf(other, r))})
	}
	mean := math.Exp(log / n)
	if x.cost {
		m.Add(x.value, "%", 100*(1-1/mean))
	} else {
		m.Add(x.value, "%", 100*(mean-1))
	}
	if x.traffic != "" {
		m.Add(x.traffic, "%", 100*saved/n)
	}
	m.Tables = []Table{table}
	return m, nil
}

// energyTable is the table that has energies of cores, caches, links and DRAM.
const energyTable = "chip-22nm"

func nearSmallCores(ctx context.Context, env *Env) (*Measured, error) {
	table, err := cost.Load(energyTable)
	if err != nil {
		return nil, err
	}
	m := &Measured{Notes: []string{
		"every run is compared with the definition of its workload",
		"energy is dynamic, by " + energyTable + ", in which a micro-op takes the same in all cores and no value is confirmed; an operation on an element beside a bank takes as much as a micro-op, also where the core's has 16 elements",
	}}
	cycles := Table{Title: "Cycles of base with IO4, and the speedup of ns", Head: []string{"workload", "base", "ns"}}
	energies := Table{Title: "Energy with OOO8, base = 1", Head: []string{"workload", "base, uJ", "ns", "ns-decouple"}}
	log, logNS, logDecouple := 0.0, 0.0, 0.0
	known := true
	list := kernels.NearStream()
	n := float64(len(list))
	for i, w := range list {
		env.progress(w.Name, i, len(list))
		k, args, err := nearWorkload(ctx, env, w.Name, sixtyfourth)
		if err != nil {
			return nil, err
		}
		run := func(config, core string) (*multicore.Report, error) {
			r, err := nearRun(ctx, env, k, args, nearMachine(env), config, "core", core)
			if err != nil {
				return nil, fmt.Errorf("reproduce: %s in %s on %s: %w", w.Name, config, core, err)
			}
			return r, nil
		}
		base, err := run(multicore.Base, "io4")
		if err != nil {
			return nil, err
		}
		ns, err := run("ns", "io4")
		if err != nil {
			return nil, err
		}
		speedup := float64(base.Cycles) / float64(ns.Cycles)
		log += math.Log(speedup) / n
		cycles.Rows = append(cycles.Rows, []string{w.Name, fmt.Sprint(base.Cycles), fmt.Sprintf("%.2f", speedup)})

		var of [3]float64
		for j, config := range []string{multicore.Base, "ns", "ns-decouple"} {
			r, err := run(config, "ooo8")
			if err != nil {
				return nil, err
			}
			machine, err := tile.LoadMachine(nearMachine(env))
			if err != nil {
				return nil, err
			}
			e := r.Energy(machine, table)
			if known = known && e.Total != nil && len(e.LeftOut) == 0 && e.Unit == "pJ"; known {
				of[j] = *e.Total
			}
		}
		if known {
			logNS += math.Log(of[0]/of[1]) / n
			logDecouple += math.Log(of[0]/of[2]) / n
			energies.Rows = append(energies.Rows, []string{w.Name, fmt.Sprintf("%.1f", of[0]/1e6), fmt.Sprintf("%.2f", of[1]/of[0]), fmt.Sprintf("%.2f", of[2]/of[0])})
		}
	}
	m.Add("ns over base with IO4", "x", math.Exp(log))
	m.Tables = []Table{cycles}
	if known {
		m.Add("energy of base over ns with OOO8", "x", math.Exp(logNS))
		m.Add("energy of base over ns-decouple with OOO8", "x", math.Exp(logDecouple))
		m.Tables = append(m.Tables, energies)
	}
	return m, nil
}
