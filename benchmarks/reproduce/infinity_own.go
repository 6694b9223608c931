package reproduce

import (
	"context"
	"errors"
	"fmt"
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
	Cycles  int64
	Regions []fused.RegionReport
}

func infsOwn(ctx context.Context, env *Env) (*Measured, error) {
	m := &Measured{}
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
	names := known.Names()
	for i, name := range names {
		n, ok := ownSizes[name]
		if !ok {
			continue // floyd, which arrays cannot compute
		}
		var k *workload.Kernel
		var args *memory.Memory
		runs := map[string]*ownPart{}
		for _, config := range configs {
			env.progress(name+" in "+config, i, len(names))
			p := &ownPart{}
			limited, cancel := env.limit(ctx)
			err := env.kept(p, func() (err error) {
				if args == nil { // a run that ended while they were made leaves none
					if k, err = known.Kernel(name); err != nil {
						return err
					}
					if err = k.CompileWhole(limited, map[string]int64{"N": n[size]}, nil, false); err != nil {
						return err
					}
					if args, err = k.Arguments(limited, env.Seed, nil); err != nil {
						return err
					}
				}
				r, err := runInfinity(limited, env, k, args, infsMachine(env), config, func(*fused.Options) {})
				if err != nil {
					return err
				}
				p.Cycles = r.Cycles
				if r.arrays != nil {
					p.Regions = r.arrays.Regions
				}
				return nil
			}, "infs:own", name, n[size], config, env.Sample)
			late := errors.Is(context.Cause(limited), errBudget)
			cancel()
			switch {
			case ctx.Err() != nil && len(runs) == 0 && len(t.Rows) == 0:
				return nil, context.Cause(ctx)
			case ctx.Err() != nil:
				m.Failed = append(m.Failed, fmt.Sprintf("stopped before %s in %s was complete", name, config))
			case err != nil && late:
				m.Failed = append(m.Failed, fmt.Sprintf("%s in %s: %s of %s", name, config, errBudget, env.Budget))
			case err != nil:
				m.Failed = append(m.Failed, fmt.Sprintf("%s in %s: %s", name, config, err))
			default:
				runs[config] = p
			}
			if ctx.Err() != nil {
				break
			}
		}
		base := runs[multicore.Base]
		if base != nil {
			row, best := []string{name, fmt.Sprint(n[size]), fmt.Sprint(base.Cycles)}, multicore.Base
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
		where.Rows = append(where.Rows, regionRows(name, runs)...)
		if ctx.Err() != nil {
			break
		}
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
