package reproduce

import (
	"context"
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tile"
)

// coreEntries are the kernels on cores in time.
var coreEntries = []*Entry{
	{
		ID: "infs:base", Title: "Kernels on cores", Paper: "Infinity Stream, Tables 2 and 3; none: it has no cycles of Base alone",
		Doc: "the 15 kernels of Table 3 on 64 cores of each kind, cold, memory equal to the sequential program; the small size has about a sixteenth of the arrays, on a machine whose " +
			"caches are 1/16; at the paper's sizes, OOO8 only, windows that make up 1 % (or --sample) are simulated in time (all of vec_add and array_sum), and memory is compared with what the threads computed",
		Workloads: coreKernels,
		Run:       kernelsOnCores,
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

// corePart is what the tables need of a run, which is kept on its own.
type corePart struct {
	Sizes   string
	Cycles  int64
	IPC     float64
	MPKI    [3]float64 // of L1, L2, L3
	GBs     float64
	Nearest string // bound
	Share   float64
	Sample  *multicore.Sampled
	Where   []string // shares of the time of cores
}

// kernelsOnCores runs the kernels in time.
func kernelsOnCores(ctx context.Context, env *Env) (*Measured, error) {
	name, cores := "infinity-stream-small", tile.CoreNames()
	if env.Size == PaperSizes {
		name, cores = "infinity-stream-base", []string{"ooo8"}
	}
	type run struct{ kernel, core string }
	var runs []run
	for _, kernel := range slices.DeleteFunc(coreKernels(), func(name string) bool { return !env.chosen(name) }) {
		for _, core := range cores {
			runs = append(runs, run{kernel, core})
		}
	}
	parts, jobs := make([]corePart, len(runs)), make([]job, len(runs))
	for i, x := range runs {
		jobs[i] = job{x.kernel + " on " + x.core, func(ctx context.Context, env *Env) error {
			share := coreShare(env, x.kernel)
			return env.kept(&parts[i], func() error { return parts[i].run(ctx, env, x.kernel, name, x.core, share) }, "infs:base", x.kernel, x.core, share)
		}}
	}
	ended, failed, err := env.runJobs(ctx, jobs)
	if err != nil {
		return nil, err
	}
	t := Table{Title: "64 threads on " + name, Head: []string{"kernel", "sizes", "core", "cycles", "IPC of a core", "L1/L2/L3 MPKI", "DRAM GB/s", "nearest bound", "share", "estimate within"}}
	why := Table{Title: "Below 40 % of every bound: where the cycles of cores go, %", Head: []string{"kernel", "core", "committing", "memory", "synchronisation", "stores", "operands and units", "other"}}
	m := &Measured{Reading: env.readingOfAny(), Failed: failed, Notes: []string{"loads found the values of the program, and the machine's memory has what the threads computed"}}
	if env.Size == Small {
		m.Notes = append(m.Notes, "memory of each run equals that of the sequential program, sums of threads within their bound")
	}
	for i, x := range runs {
		if !ended[i] {
			continue
		}
		p := &parts[i]
		within := "all in time"
		switch {
		case p.Sample == nil || p.Sample.Forwarded == 0:
		case p.Sample.Bound < 0:
			within = "too few windows"
		default:
			within = fmt.Sprintf("%.1f %%", 100*p.Sample.Bound)
		}
		t.Rows = append(t.Rows, []string{x.kernel, p.Sizes, x.core, fmt.Sprint(p.Cycles), fmt.Sprintf("%.2f", p.IPC), fmt.Sprintf("%.0f / %.0f / %.0f", p.MPKI[0], p.MPKI[1], p.MPKI[2]),
			fmt.Sprintf("%.0f", p.GBs), p.Nearest, fmt.Sprintf("%.0f %%", 100*p.Share), within})
		m.Add("cycles of "+x.kernel+" on "+x.core, "cycles", float64(p.Cycles))
		if p.Share < low {
			why.Rows = append(why.Rows, append([]string{x.kernel, x.core}, p.Where...))
		}
	}
	m.Tables = []Table{t}
	if len(why.Rows) > 0 {
		m.Tables = append(m.Tables, why)
	}
	return m, nil
}

// coreKernels are the names of all of them.
func coreKernels() (names []string) {
	for _, w := range kernels.All() {
		names = append(names, w.Name)
	}
	return names
}

// coreShare is the share of a run that is simulated in time, 0 for all of it: at the sizes of the paper a
// hundredth, unless another one is asked for.
func coreShare(env *Env, kernel string) float64 {
	switch {
	case env.Size != PaperSizes || slices.Contains(short, kernel):
		return 0
	case env.Sample > 0:
		return env.Sample
	}
	return 0.01
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

// run simulates a kernel on base, at small sizes compared with the sequential program.
func (p *corePart) run(ctx context.Context, env *Env, kernel, machine, core string, share float64) error {
	k, args, err := nearWorkload(ctx, env, kernel, sixteenthInfinity)
	if err != nil {
		return err
	}
	m, err := env.machine(machine)
	if err != nil {
		return err
	}
	m.Core = core
	mem, a := k.Streams(args.Clone())
	before, _ := k.Streams(args.Clone())
	program := &multicore.Program{Graph: k.Whole, Memory: mem, Args: a, Reassociate: k.Reassociate}
	opt := multicore.Options{Machine: m, Threads: m.Banks(), Seed: env.Seed}
	if share > 0 {
		opt.Sample = &multicore.Sampling{Share: share}
	}
	r, err := multicore.Run(ctx, program, opt)
	if err != nil {
		return err
	}
	near := r.Nearest()
	*p = corePart{Sizes: k.SizeText(), Cycles: r.Cycles, IPC: r.IPC, GBs: r.Memory.GBs, Nearest: near.Name, Share: near.Share, Sample: r.Sample, Where: shares(r)}
	for i := range p.MPKI {
		p.MPKI[i] = r.Levels[i].MPKI
	}
	if env.Size == PaperSizes {
		return nil
	}
	v, err := multicore.Check(ctx, program, before, opt)
	if err == nil && v.First != "" {
		err = fmt.Errorf("the machine and the sequential program differ: %s", v.First)
	}
	return err
}
