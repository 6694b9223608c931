package reproduce

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/benchmarks/known"
	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/system/fused"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg/memory"
)

// ownEntry is kernels that no paper has, on all configurations.
var ownEntry = &Entry{
	ID: "infs:own", Title: "Ten well-known kernels on every configuration", Paper: "Infinity Stream has none of them",
	Doc: "kernels of benchmarks/known from C, cold, with a thread on each core, each run compared with the sequential program and the interpreter of graphs: what each configuration gains over base, where regions ran, and why. Small: sizes that fill a quarter " +
		"to all of the arrays of infinity-stream-slice; otherwise 16 times the elements on infinity-stream-base",
	Run: infsOwn,
}

// ownSizes are N of each kernel, small and else.
var ownSizes = map[string][2]int64{
	"jacobi": {512, 2048}, "atax": {512, 2048}, "bicg": {512, 2048}, "mvt": {512, 2048}, "fdtd": {512, 2048}, "heat3d": {64, 160}, "sobel": {256, 1024}, "gemm8": {256, 1024}, "softmax": {512, 2048},
	"floyd_copied": {256, 1024},
}

// ownPart is a run of a kernel.
type ownPart struct {
	Cycles     int64
	Regions    []fused.RegionReport
	Rehearsals int // of a configuration that chooses by them
}

func infsOwn(ctx context.Context, env *Env) (*Measured, error) {
	m := &Measured{Reading: env.reading()}
	configs := append(slices.Clone(infsConfigs), fused.Auto)
	t := Table{Title: "Cycles of base, and speedups over it", Head: append([]string{"kernel", "N", "base"}, configs[1:]...)}
	t.Head = append(t.Head, "fastest")
	where := Table{Title: "Where regions ran, times of times reached", Head: []string{"kernel", "region", "in-l3", "inf-s", "auto", "on cores since"}}
	size := 0
	if env.Size == PaperSizes {
		size = 1
	}
	logs := map[string]float64{}
	whole := 0
	var list []ownProgram
	for _, name := range known.Names() {
		if n, ok := ownSizes[name]; ok { // floyd is left out, which arrays cannot compute
			list = append(list, ownProgram{name: name, sizes: map[string]int64{"N": n[size]}, machine: infsMachine(env)})
		}
	}
	err := runOwn(ctx, env, m, "infs:own", list, configs, func(own *ownProgram, runs map[string]*ownPart) {
		if base := runs[multicore.Base]; base != nil {
			row, best := []string{own.name, fmt.Sprint(own.sizes["N"]), fmt.Sprint(base.Cycles)}, multicore.Base
			for _, config := range configs[1:] {
				p := runs[config]
				if p == nil {
					row = append(row, "-")
					continue
				}
				row = append(row, fmt.Sprintf("%.2f", float64(base.Cycles)/float64(p.Cycles)))
				if p.Cycles < runs[best].Cycles {
					best = config
				}
			}
			t.Rows = append(t.Rows, append(row, best))
			if len(runs) == len(configs) {
				whole++
				for _, config := range configs {
					logs[config] += math.Log(float64(base.Cycles) / float64(runs[config].Cycles))
				}
			}
		}
		where.Rows = append(where.Rows, regionRows(own.name, runs)...)
	})
	if err != nil {
		return nil, err
	}
	for _, config := range configs[1:] {
		if whole > 0 {
			m.Add(config+" over base", "x", math.Exp(logs[config]/float64(whole)))
		}
	}
	m.Tables = []Table{t, where}
	m.draw("speedup.svg", &t, "speedup over base", "Speedups over base, by configuration.", false, configs[1:]...)
	m.Notes = []string{"loads of cores found the program's values; small sizes are compared with the sequential program, and units in memory with the interpreter of graphs, bit by bit"}
	return m, nil
}

// ownProgram is a kernel of benchmarks/known or a workload, with its sizes, on a machine.
type ownProgram struct {
	name    string
	sizes   map[string]int64
	machine string
	threads int // 0: one a core
}

// sizeText is the sizes as -D has them, in the order of their names.
func (p *ownProgram) sizeText() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(p.sizes)) {
		list = append(list, fmt.Sprintf("%s=%d", name, p.sizes[name]))
	}
	return strings.Join(list, " ")
}

func (p *ownProgram) load(ctx context.Context, seed uint64) (k *workload.Kernel, args *memory.Memory, err error) {
	if slices.Contains(known.Names(), p.name) {
		k, err = known.Kernel(p.name)
	} else {
		k, err = workload.Builtin(p.name, false)
	}
	if err != nil {
		return nil, nil, err
	}
	if err := k.CompileWhole(ctx, maps.Clone(p.sizes), nil, false); err != nil {
		return nil, nil, err
	}
	args, err = k.Arguments(ctx, seed, nil)
	return k, args, err
}

// runOwn runs programs on configurations, each run kept on its own, and has f look at what there
// is of a program. Runs that failed or took longer than they may are in m.Failed, and so is
// where it was stopped, if there is a run at all.
func runOwn(ctx context.Context, env *Env, m *Measured, entry string, list []ownProgram, configs []string, f func(own *ownProgram, runs map[string]*ownPart)) error {
	var jobs []job
	parts := make([]ownPart, len(list)*len(configs))
	for i := range list {
		own := &list[i]
		for j, config := range configs {
			p := &parts[i*len(configs)+j]
			jobs = append(jobs, job{own.name + " in " + config, func(ctx context.Context, env *Env) error {
				name := config
				if config == withEq2 {
					name = "inf-s"
				}
				return inSamples(ctx, sampledIn(env, name), p, func(p *ownPart, s *multicore.Sampling) (*multicore.Report, error) {
					k, args, err := own.load(ctx, env.Seed)
					if err != nil {
						return nil, err
					}
					r, err := runInfinity(ctx, env, k, args, own.machine, name, s, func(o *fused.Options) {
						o.Decide = config == withEq2
						if own.threads > 0 {
							o.Threads = own.threads
						}
					})
					if err != nil {
						return nil, err
					}
					p.Cycles = r.Cycles
					if r.arrays != nil {
						p.Regions = r.arrays.Regions
						if h := r.arrays.Rehearsed; h != nil {
							p.Rehearsals = len(h.Runs)
						}
					}
					return r.Report, nil
				}, entry, own.name, own.sizeText(), own.machine, own.threads, config, env.Sample)
			}})
		}
	}
	ended, failed, err := env.runJobs(ctx, jobs)
	if err != nil {
		return err
	}
	m.Failed = append(m.Failed, failed...)
	for i := range list {
		runs := map[string]*ownPart{}
		for j, config := range configs {
			if n := i*len(configs) + j; ended[n] {
				runs[config] = &parts[n]
			}
		}
		f(&list[i], runs)
	}
	return nil
}

// regionRows say where the regions of a kernel ran.
func regionRows(name string, runs map[string]*ownPart) (rows [][]string) {
	inf := runs["inf-s"]
	if inf == nil {
		return nil
	}
	for i := range inf.Regions {
		row, whys := []string{name, inf.Regions[i].Name}, []string{}
		for _, config := range []string{"in-l3", "inf-s", fused.Auto} {
			p := runs[config]
			if p == nil || i >= len(p.Regions) {
				row = append(row, "-")
				continue
			}
			r := &p.Regions[i]
			row = append(row, fmt.Sprintf("%d of %d", r.InMemory, r.Reached))
			why := r.Why
			switch {
			case why == "" && r.Near > 0:
				why = "it needs streams near the memory"
			case why == "" && r.Against > 0:
				why = "threads were faster"
			}
			if why != "" {
				whys = append(whys, config+": "+why)
			}
		}
		rows = append(rows, append(row, strings.Join(whys, "; ")))
	}
	return rows
}
