package reproduce

import (
	"context"
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tile"
)

// coreEntries are the kernels on cores in time.
var coreEntries = []*Entry{
	{
		ID: "infs:base", Title: "Kernels on cores", Paper: "Infinity Stream, Tables 2 and 3; none: it has no cycles of Base alone",
		Doc: "the 15 kernels of Table 3 on 64 cores of each kind, cold, memory equal to the sequential program; the small size has about a sixteenth of the arrays, on a machine whose " +
			"caches are 1/16; at the paper's sizes, OOO8 only, windows that make up 1 % are simulated in time (all of vec_add and array_sum), and memory is compared with what the threads computed",
		Run: kernelsOnCores,
	},
}

// sixteenthInfinity are sizes of the kernels of Infinity Stream with about a sixteenth of
// the arrays of the paper, and fewer rounds where those take long.
var sixteenthInfinity = map[string]map[string]int64{
	"vec_add": {"N": 262144}, "array_sum": {"N": 524288}, "stencil1d": {"N": 262144, "T": 1}, "stencil2d": {"M": 512, "N": 512, "T": 1}, "stencil3d": {"L": 8, "M": 128, "N": 128, "T": 1},
	"dwt2d": {"M": 256, "N": 32}, "gauss_elim": {"N": 96}, "conv2d": {"M": 512, "N": 512}, "conv3d": {"H": 18, "I": 2, "O": 64, "W": 64},
	"mm_inner": {"K": 256, "M": 128, "N": 128}, "mm_outer": {"K": 24, "M": 128, "N": 128}, "kmeans_inner": {"D": 64, "K": 16, "N": 2048}, "kmeans_outer": {"D": 16, "K": 16, "N": 1024},
	"gather_mlp_inner": {"K": 64, "M": 1024, "N": 32, "R": 1024}, "gather_mlp_outer": {"K": 24, "M": 1024, "N": 32, "R": 1024},
}

// short are kernels that can be simulated in time at the sizes of the paper.
var short = []string{"vec_add", "array_sum"}

// low is the share of the nearest bound below which a run is explained.
const low = 0.4

// kernelsOnCores runs the kernels in time.
func kernelsOnCores(ctx context.Context, env *Env) (*Measured, error) {
	name, cores := "infinity-stream-small", tile.CoreNames()
	if env.Size == PaperSizes {
		name, cores = "infinity-stream-base", []string{"ooo8"}
	}
	t := Table{Title: "64 threads on " + name, Head: []string{"kernel", "sizes", "core", "cycles", "IPC of a core", "L1/L2/L3 MPKI", "DRAM GB/s", "nearest bound", "share", "estimate within"}}
	why := Table{Title: "Below 40 % of every bound: where the cycles of cores go, %", Head: []string{"kernel", "core", "committing", "memory", "synchronisation", "stores", "operands and units", "other"}}
	m := &Measured{}
	list := kernels.All()
	for i, w := range list {
		k, args, err := nearWorkload(ctx, env, w.Name, sixteenthInfinity)
		if err != nil {
			return nil, err
		}
		for j, core := range cores {
			env.progress(w.Name+" "+core, i*len(cores)+j, len(list)*len(cores))
			r, err := coreRun(ctx, env, k, args, name, core)
			if err != nil {
				return nil, fmt.Errorf("reproduce: %s on %s: %w", w.Name, core, err)
			}
			within := "all in time"
			switch {
			case r.Sample == nil || r.Sample.Forwarded == 0:
			case r.Sample.Bound < 0:
				within = "too few windows"
			default:
				within = fmt.Sprintf("%.1f %%", 100*r.Sample.Bound)
			}
			near := r.Nearest()
			t.Rows = append(t.Rows, []string{w.Name, k.SizeText(), core, fmt.Sprint(r.Cycles), fmt.Sprintf("%.2f", r.IPC), fmt.Sprintf("%.0f / %.0f / %.0f", r.Levels[0].MPKI, r.Levels[1].MPKI, r.Levels[2].MPKI),
				fmt.Sprintf("%.0f", r.Memory.GBs), near.Name, fmt.Sprintf("%.0f %%", 100*near.Share), within})
			m.Add("cycles of "+w.Name+" on "+core, "cycles", float64(r.Cycles))
			if near.Share < low {
				why.Rows = append(why.Rows, append([]string{w.Name, core}, shares(r)...))
			}
		}
	}
	m.Tables = []Table{t}
	if len(why.Rows) > 0 {
		m.Tables = append(m.Tables, why)
	}
	m.Notes = []string{"loads found the values of the program, and the machine's memory has what the threads computed"}
	if env.Size == Small {
		m.Notes = append(m.Notes, "memory of each run equals that of the sequential program, sums of threads within their bound")
	}
	return m, nil
}

// shares are the parts of the time of cores, in percent, in the order of the table.
func shares(r *multicore.Report) []string {
	names := []string{"committing", "memory", "synchronisation", "stores", "operands and units"}
	list, other := make([]string, len(names)), 0.0
	for _, p := range r.Time {
		if i := slices.Index(names, p.Name); i >= 0 {
			list[i] = fmt.Sprintf("%.0f", 100*p.Share)
		} else {
			other += p.Share
		}
	}
	return append(list, fmt.Sprintf("%.0f", 100*other))
}

// coreRun is one run on base, at small sizes compared with the sequential program.
func coreRun(ctx context.Context, env *Env, k *workload.Kernel, args *memory.Memory, machine, core string) (*multicore.Report, error) {
	m, err := tile.LoadMachine(machine)
	if err != nil {
		return nil, err
	}
	m.Core = core
	mem, a := k.Streams(args.Clone())
	before, _ := k.Streams(args.Clone())
	p := &multicore.Program{Graph: k.Whole, Memory: mem, Args: a, Reassociate: k.Reassociate}
	opt := multicore.Options{Machine: m, Threads: m.Banks(), Seed: env.Seed}
	if env.Size == PaperSizes && !slices.Contains(short, k.Whole.Name) {
		opt.Sample = &multicore.Sampling{Share: 0.01}
	}
	r, err := multicore.Run(ctx, p, opt)
	if err != nil || env.Size == PaperSizes {
		return r, err
	}
	v, err := multicore.Check(ctx, p, before, opt)
	if err != nil {
		return nil, err
	}
	if v.First != "" {
		return nil, fmt.Errorf("the machine and the sequential program differ: %s", v.First)
	}
	return r, nil
}
