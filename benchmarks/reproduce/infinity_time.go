package reproduce

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/sram/cost"
	"github.com/bitsched/bitsched/system/fused"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tile"
)

// infinityTimeEntries are the figures of Infinity Stream that run kernels in time.
var infinityTimeEntries = []*Entry{
	{
		ID: "infs:fig2", Title: "Microbenchmarks: cores, near memory and in memory", Paper: "Infinity Stream, Fig. 2",
		Doc: "vec_add and array_sum from 16k to 4M elements (small: to 256k), on 1 and 64 threads, warm: arrays lie in the L3. In memory, the cycles in arrays are those of compute, moves, barriers and last " +
			"steps; data are taken to be transposed and commands lowered",
		Claims: []Claim{
			{Name: "sizes of vec_add that are fastest in memory", Section: "2.2", Unit: "%", Paper: 100, Points: true},
			{Name: "vec_add in memory over near-l3 at 4M", Section: "2.2", Unit: "x", Paper: 21, Tolerance: 0.2, Only: PaperSizes},
		},
		Run: infsFig2,
	},
	{
		ID: "infs:fig11", Title: "Speedup of near-memory, in-memory and fused computing", Paper: "Infinity Stream, Fig. 11, 12 and 14",
		Doc: "the 13 workloads, cold, on 64 OOO8 cores (small: 4); of those with several designs the best one for each configuration; means of speedups are geometric. Small: a sixteenth of the elements on " +
			"infinity-stream-slice, a sixteenth of the tiles and of the memory controllers with all that is in them; each run compared with the sequential program and the interpreter of graphs. Claims are under latencies of the programs that arrays execute, and jit.reading " +
			"host-fitted; the column paper has the formulas of the authors' simulator",
		Claims: []Claim{
			{Name: "near-l3 over base", Section: "8", Unit: "x", Paper: 2.0, Tolerance: 0.2},
			{Name: "in-l3 over near-l3", Section: "8", Unit: "x", Paper: 2.1, Tolerance: 0.2},
			{Name: "inf-s over near-l3", Section: "8", Unit: "x", Paper: 2.6, Tolerance: 0.2},
			{Name: "inf-s over in-l3", Section: "8", Unit: "x", Paper: 1.24, Tolerance: 0.2},
			{Name: "inf-s over base", Section: "8", Unit: "x", Paper: 5.1, Tolerance: 0.2},
			{Name: "inf-s-nojit over inf-s", Section: "8", Unit: "x", Paper: 1.19, Tolerance: 0.2},
			{Name: "traffic that near-l3 saves", Section: "8", Unit: "%", Paper: 29, Tolerance: 10, Points: true},
			{Name: "traffic that inf-s saves", Section: "8", Unit: "%", Paper: 90, Tolerance: 10, Points: true},
			{Name: "traffic of kmeans in near-l3 over base", Section: "8", Unit: "x", Paper: 2.6, Tolerance: 0.2},
			{Name: "cycles of inf-s in memory", Section: "8", Unit: "%", Paper: 88, Tolerance: 10, Points: true},
			{Name: "DRAM", Section: "8", Unit: "%", Paper: 26, Tolerance: 0.2},
			{Name: "compute", Section: "8", Unit: "%", Paper: 32, Tolerance: 0.2},
			{Name: "move", Section: "8", Unit: "%", Paper: 19, Tolerance: 0.2},
			{Name: "final reduce", Section: "8", Unit: "%", Paper: 4.9, Tolerance: 0.2},
			{Name: "JIT", Section: "8", Unit: "%", Paper: 11, Tolerance: 0.2},
			{Name: "JIT of gauss_elim", Section: "8", Unit: "%", Paper: 51, Tolerance: 0.2},
			{Name: "JIT of stencil3d", Section: "8", Unit: "%", Paper: 50, Tolerance: 0.2},
			{Name: "operations in bitlines", Section: "8", Unit: "%", Paper: 99, Tolerance: 10, Points: true},
		},
		Run: infsFig11,
	},
	{
		ID: "infs:fig15", Title: "Inner and outer products on each paradigm", Paper: "Infinity Stream, Fig. 15",
		Doc: "mm, kmeans and gather_mlp by inner and by outer products, as for infs:fig11 and with its runs, over the inner one in base",
		Claims: []Claim{
			{Name: "outer in inf-s over inner in base", Section: "8", Unit: "x", Paper: 4.4, Tolerance: 0.2},
		},
		Run: infsFig15,
	},
	{
		ID: "infs:fig18", Title: "Energy of near-memory, in-memory and fused computing", Paper: "Infinity Stream, Fig. 18",
		Doc: "as infs:fig11 and with its runs, by the table chip-22nm: cores, caches, network, DRAM, and what arrays execute; leakage only of arrays that hold data",
		Claims: []Claim{
			{Name: "energy of near-l3 over in-l3", Section: "8", Unit: "x", Paper: 1.5, Tolerance: 0.2},
			{Name: "energy of near-l3 over inf-s", Section: "8", Unit: "x", Paper: 2.4, Tolerance: 0.2},
		},
		Run: infsFig18,
	},
	pointNetEntry,
}

// infsConfigs are the configurations of fig. 11.
var infsConfigs = []string{multicore.Base, "near-l3", "in-l3", "inf-s", "inf-s-nojit"}

// infsSmall are a sixteenth of the elements of table 3 on a sixteenth of the machine, so that
// bitlines, caches and bandwidth are as full as there. Where time is linear in a size on all
// configurations, that one is smaller.
var infsSmall = map[string]map[string]int64{
	"stencil1d": {"N": 256 << 10, "T": 5}, "stencil2d": {"N": 512, "M": 512, "T": 5}, "stencil3d": {"L": 16, "N": 128, "M": 128, "T": 5}, "dwt2d": {"N": 256, "M": 256},
	"gauss_elim": {"N": 512}, "conv2d": {"N": 512, "M": 512}, "conv3d": {"I": 16, "O": 64, "H": 64, "W": 64}, "mm_inner": {"M": 512, "N": 512, "K": 128}, "mm_outer": {"M": 512, "N": 512, "K": 128},
	"kmeans_inner": {"N": 2048, "K": 128, "D": 64}, "kmeans_outer": {"N": 2048, "K": 128, "D": 64},
	"gather_mlp_inner": {"M": 2048, "N": 128, "K": 64, "R": 2048}, "gather_mlp_outer": {"M": 2048, "N": 128, "K": 64, "R": 2048},
}

// infsDesigns are the kernels of each workload of table 3.
var infsDesigns = [][]string{
	{"stencil1d"}, {"stencil2d"}, {"stencil3d"}, {"dwt2d"}, {"gauss_elim"}, {"conv2d"}, {"conv3d"},
	{"mm_inner", "mm_outer"}, {"kmeans_inner", "kmeans_outer"}, {"gather_mlp_inner", "gather_mlp_outer"},
}

// infsRun is one run: the cores, and what arrays did, nil without.
type infsRun struct {
	*multicore.Report
	arrays *fused.Report
}

// runInfinity runs a kernel, and compares its memory with the sequential program's.
func runInfinity(ctx context.Context, env *Env, k *workload.Kernel, args *memory.Memory, machine, config string, change func(o *fused.Options)) (*infsRun, error) {
	m, err := tile.LoadMachine(machine)
	if err != nil {
		return nil, err
	}
	after := args.Clone()
	mem, a := k.Streams(after)
	before, _ := k.Streams(args.Clone())
	p := &fused.Program{Program: &multicore.Program{Graph: k.Whole, Memory: mem, Args: a, Reassociate: k.Reassociate}, Tensors: k.Program, Sizes: k.Sizes, Arrays: args}
	if k.Parts != nil {
		p.Tensors = k.Parts
	}
	o := fused.Options{Options: multicore.Options{Machine: m, Threads: m.Banks(), Config: config, Seed: env.Seed}}
	change(&o)
	r := &infsRun{}
	if fused.Find(config) == nil {
		r.Report, err = multicore.Run(ctx, p.Program, o.Options)
	} else if r.arrays, err = fused.Run(ctx, p, o); r.arrays != nil {
		r.Report = r.arrays.Report
	}
	if err != nil || env.Size == PaperSizes { // loads and the end of the run are compared in any case
		return r, err
	}
	var v *multicore.Verdict
	if r.arrays == nil {
		v, err = multicore.Check(ctx, p.Program, before, o.Options)
	} else {
		v, err = fused.Check(ctx, p, before, r.arrays, o)
	}
	if err == nil && v.First != "" {
		err = fmt.Errorf("reproduce: the machine and the sequential program differ: %s", v.First)
	}
	return r, err
}

// infsMachine is the one of a size.
func infsMachine(env *Env) string {
	if env.Size == Small {
		return "infinity-stream-slice"
	}
	return "infinity-stream-base"
}

// infsPart is what the figures need of a run. It is kept on its own, so that work that
// was stopped goes on, and figures share runs.
type infsPart struct {
	Cycles  int64
	Traffic uint64 // bytes x hops
	Shares  [11]float64
	Energy  float64  // pJ, of what the table knows
	Missing []string // lines that it does not know
}

// infsEnergy is the table of energies.
const infsEnergy = "chip-22nm"

// infsAll runs all designs of all workloads in all configurations, and returns what
// became of those that failed, for which f is not called. Latencies are those of
// fused.Options. When it is stopped it says so among these, if there is a run at all.
func infsAll(ctx context.Context, env *Env, designs [][]string, configs []string, latencies string, f func(workload, kernel, config string, p *infsPart)) (failed []string, err error) {
	table, err := cost.Load(infsEnergy)
	if err != nil {
		return nil, err
	}
	done := false
	for i, list := range designs {
		for _, name := range list {
			var k *workload.Kernel
			var args *memory.Memory
			for _, config := range configs {
				env.progress(name+" in "+config, i, len(designs))
				p := &infsPart{}
				err := env.kept(p, func() (err error) {
					if k == nil {
						if k, args, err = nearWorkload(ctx, env, name, infsSmall); err != nil {
							return err
						}
					}
					return p.run(ctx, env, k, args, config, latencies, table)
				}, "infs", name, config, latencies)
				switch {
				case ctx.Err() != nil && !done:
					return nil, context.Cause(ctx)
				case ctx.Err() != nil:
					return append(failed, fmt.Sprintf("stopped before %s in %s was complete", name, config)), nil
				case err != nil:
					failed = append(failed, fmt.Sprintf("%s in %s: %s", name, config, err))
				default:
					done = true
					f(strings.TrimSuffix(list[0], "_inner"), name, config, p)
				}
			}
		}
	}
	return failed, nil
}

func (p *infsPart) run(ctx context.Context, env *Env, k *workload.Kernel, args *memory.Memory, config, latencies string, table *cost.Table) error {
	r, err := runInfinity(ctx, env, k, args, infsMachine(env), config, func(o *fused.Options) { o.Latencies = latencies })
	if err != nil {
		return err
	}
	m, err := tile.LoadMachine(infsMachine(env))
	if err != nil {
		return err
	}
	p.Cycles, p.Traffic = r.Cycles, r.Streams.Total()
	energies := []*cost.ChipEnergy{r.Energy(m, table)}
	if r.arrays != nil {
		p.Shares = parts(r)
		energies = append(energies, r.arrays.Energy(m, table))
	}
	for _, e := range energies {
		if e == nil {
			continue
		}
		if e.Total != nil {
			p.Energy += *e.Total
		}
		p.Missing = append(p.Missing, e.LeftOut...)
	}
	return nil
}

// best keeps the fastest design of each workload and configuration.
type best struct {
	names []string
	runs  map[[2]string]*infsPart
	which map[[2]string]string
}

func (b *best) add(workload, kernel, config string, p *infsPart) {
	if b.runs == nil {
		b.runs, b.which = map[[2]string]*infsPart{}, map[[2]string]string{}
	}
	if !slices.Contains(b.names, workload) {
		b.names = append(b.names, workload)
	}
	key := [2]string{workload, config}
	if old := b.runs[key]; old == nil || p.Cycles < old.Cycles {
		b.runs[key], b.which[key] = p, kernel
	}
}

// of is nil where no design ran.
func (b *best) of(workload, config string) *infsPart { return b.runs[[2]string{workload, config}] }

// whole are the workloads that ran in all configurations.
func (b *best) whole(configs []string) (names []string) {
	for _, w := range b.names {
		if !slices.ContainsFunc(configs, func(config string) bool { return b.of(w, config) == nil }) {
			names = append(names, w)
		}
	}
	return names
}

// speedup is how many times faster than base a workload is, as text.
func (b *best) speedup(workload, config string, base *infsPart) string {
	p := b.of(workload, config)
	if p == nil || base == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(base.Cycles)/float64(p.Cycles))
}

// over is the geometric mean of the speedups of a configuration over another one.
func (b *best) over(names []string, config, other string) float64 {
	sum := 0.0
	for _, w := range names {
		sum += math.Log(float64(b.of(w, other).Cycles) / float64(b.of(w, config).Cycles))
	}
	return math.Exp(sum / float64(len(names)))
}

// traffic is that of a workload over base.
func (b *best) traffic(workload, config string) float64 {
	return float64(b.of(workload, config).Traffic) / float64(max(1, b.of(workload, multicore.Base).Traffic))
}

// saved is the mean share of the traffic of base that a configuration has not, in percent.
func (b *best) saved(names []string, config string) (share float64) {
	for _, w := range names {
		share += 100 * (1 - b.traffic(w, config)) / float64(len(names))
	}
	return share
}

// meansOf says which workloads means are of.
func (b *best) meansOf(names []string) string {
	return fmt.Sprintf("means are of the %d workloads of %d that ran in all configurations: %s", len(names), len(infsDesigns), strings.Join(names, ", "))
}

func infsFig11(ctx context.Context, env *Env) (*Measured, error) {
	var b, paper best
	m := &Measured{}
	var err error
	if m.Failed, err = infsAll(ctx, env, infsDesigns, infsConfigs, "", b.add); err != nil {
		return nil, err
	}
	failed, err := infsAll(ctx, env, infsDesigns, []string{"in-l3", "inf-s"}, "paper", paper.add)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	for _, f := range failed {
		m.Failed = append(m.Failed, f+" (paper's latencies)")
	}
	times := Table{Title: "Cycles of base, and speedups over it", Head: append(append([]string{"workload", "base"}, infsConfigs[1:]...), "in-l3, paper's latencies", "inf-s, paper's latencies", "outer products in")}
	moved := Table{Title: "Traffic, base = 1 (bytes x hops)", Head: append([]string{"workload"}, infsConfigs[1:]...)}
	went := Table{Title: "Where the cycles of inf-s went, %", Head: []string{"workload", "cores", "drain, flush", "DRAM", "JIT", "compute", "move", "between tiles", "sync", "final reduce", "near", "operations in bitlines"}}
	for _, w := range b.names {
		base := b.of(w, multicore.Base)
		cycles := "-"
		if base != nil {
			cycles = fmt.Sprint(base.Cycles)
		}
		row, traffic := []string{w, cycles}, []string{w}
		var outer []string
		for _, config := range infsConfigs {
			if strings.HasSuffix(b.which[[2]string{w, config}], "_outer") {
				outer = append(outer, config)
			}
			if config == multicore.Base {
				continue
			}
			row = append(row, b.speedup(w, config, base))
			if b.of(w, config) == nil || base == nil {
				traffic = append(traffic, "-")
			} else {
				traffic = append(traffic, fmt.Sprintf("%.2f", b.traffic(w, config)))
			}
		}
		for _, config := range []string{"in-l3", "inf-s"} {
			row = append(row, paper.speedup(w, config, base))
		}
		times.Rows, moved.Rows = append(times.Rows, append(row, strings.Join(outer, ", "))), append(moved.Rows, traffic)
		if r := b.of(w, "inf-s"); r != nil {
			went.Rows = append(went.Rows, append([]string{w}, percents(r.Shares)...))
		}
	}
	names := b.whole(infsConfigs)
	if len(names) == 0 {
		return m, nil
	}
	var mean [len(infsPart{}.Shares)]float64
	for _, w := range names {
		for i, p := range b.of(w, "inf-s").Shares {
			mean[i] += p / float64(len(names))
		}
	}
	went.Rows = append(went.Rows, append([]string{"mean"}, percents(mean)...))
	m.Add("near-l3 over base", "x", b.over(names, "near-l3", multicore.Base))
	m.Add("in-l3 over near-l3", "x", b.over(names, "in-l3", "near-l3"))
	m.Add("inf-s over near-l3", "x", b.over(names, "inf-s", "near-l3"))
	m.Add("inf-s over base", "x", b.over(names, "inf-s", multicore.Base))
	m.Add("inf-s-nojit over inf-s", "x", b.over(names, "inf-s-nojit", "inf-s"))
	m.Add("inf-s over in-l3", "x", b.over(names, "inf-s", "in-l3"))
	m.Add("traffic that near-l3 saves", "%", b.saved(names, "near-l3"))
	m.Add("traffic that inf-s saves", "%", b.saved(names, "inf-s"))
	// 26, 11, 32 and 19 % make up the paper's 88 %.
	m.Add("cycles of inf-s in memory", "%", 100-mean[0]-mean[8]-mean[9])
	m.Add("DRAM", "%", mean[2])
	m.Add("JIT", "%", mean[3])
	m.Add("compute", "%", mean[4])
	m.Add("move", "%", mean[5]+mean[6]+mean[7])
	m.Add("final reduce", "%", mean[8])
	m.Add("operations in bitlines", "%", mean[10])
	for _, w := range []string{"gauss_elim", "stencil3d"} {
		if r := b.of(w, "inf-s"); r != nil {
			m.Add("JIT of "+w, "%", r.Shares[3])
		}
	}
	if slices.Contains(names, "kmeans") {
		m.Add("traffic of kmeans in near-l3 over base", "x", b.traffic("kmeans", "near-l3"))
	}
	m.Tables = []Table{times, moved, went}
	m.Notes = []string{
		b.meansOf(names),
		"loads of cores found the program's values; small sizes are compared with the sequential program, and units in memory with the interpreter of graphs, bit by bit",
		"near-l3 is ns-decouple on this machine: streams are not split into strands over banks, which the paper's are",
		"move is within and between tiles, and barriers; in memory is all but cores, final reduce and near",
	}
	return m, nil
}

// percents are percentages as text.
func percents(shares [11]float64) (text []string) {
	for _, p := range shares {
		text = append(text, fmt.Sprintf("%.1f", p))
	}
	return text
}

// parts are those of the cycles of a run with regions in memory, and of its operations
// those on bitlines, in percent.
func parts(r *infsRun) (p [11]float64) {
	c, all := &r.arrays.Cycles, float64(r.Cycles)
	for i, n := range []int64{c.Core, c.Drain + c.Flush, c.DRAM + c.Return, c.JIT, c.Compute, c.Move, c.Between, c.Sync, c.Final, c.Near} {
		p[i] = 100 * float64(n) / all
	}
	if a := r.arrays.Arrays; a != nil && a.Operations > 0 {
		p[10] = 100 * float64(a.Operations) / float64(a.Operations+a.NearOps)
	}
	return p
}

func infsFig15(ctx context.Context, env *Env) (*Measured, error) {
	m := &Measured{}
	configs := infsConfigs[:4]
	t := Table{Title: "Speedups over the inner product in base", Head: append([]string{"kernel"}, configs...)}
	cycles := map[[2]string]int64{}
	designs := infsDesigns[len(infsDesigns)-3:]
	var err error
	m.Failed, err = infsAll(ctx, env, designs, configs, "", func(_, kernel, config string, p *infsPart) { cycles[[2]string{kernel, config}] = p.Cycles })
	if err != nil {
		return nil, err
	}
	log, n := 0.0, 0
	for _, list := range designs {
		inner := cycles[[2]string{list[0], multicore.Base}]
		for _, name := range list {
			row := []string{name}
			for _, config := range configs {
				text := "-"
				if c := cycles[[2]string{name, config}]; c > 0 && inner > 0 {
					text = fmt.Sprintf("%.2f", float64(inner)/float64(c))
				}
				row = append(row, text)
			}
			t.Rows = append(t.Rows, row)
		}
		if outer := cycles[[2]string{list[1], "inf-s"}]; outer > 0 && inner > 0 {
			log += math.Log(float64(inner) / float64(outer))
			n++
		}
	}
	if n > 0 {
		m.Add("outer in inf-s over inner in base", "x", math.Exp(log/float64(n)))
	}
	m.Tables = []Table{t}
	m.Notes = []string{
		fmt.Sprintf("the mean is of %d workloads of %d", n, len(designs)),
		"loads of cores found the program's values; small sizes are compared with the sequential program, and units in memory with the interpreter of graphs, bit by bit",
	}
	return m, nil
}

func infsFig18(ctx context.Context, env *Env) (*Measured, error) {
	var b best
	m := &Measured{}
	configs := infsConfigs[:4]
	var err error
	if m.Failed, err = infsAll(ctx, env, infsDesigns, configs, "", b.add); err != nil {
		return nil, err
	}
	t := Table{Title: "Energy in uJ", Head: append([]string{"workload"}, configs...)}
	var missing []string
	for _, w := range b.names {
		row := []string{w}
		for _, config := range configs {
			p := b.of(w, config)
			if p == nil {
				row = append(row, "-")
				continue
			}
			row = append(row, fmt.Sprintf("%.1f", p.Energy/1e6))
			for _, line := range p.Missing {
				if !slices.Contains(missing, line) {
					missing = append(missing, line)
				}
			}
		}
		t.Rows = append(t.Rows, row)
	}
	m.Tables = []Table{t}
	names := b.whole(configs)
	if len(names) == 0 {
		return m, nil
	}
	for _, config := range []string{"in-l3", "inf-s"} {
		log := 0.0
		for _, w := range names {
			log += math.Log(b.of(w, "near-l3").Energy / b.of(w, config).Energy)
		}
		m.Add("energy of near-l3 over "+config, "x", math.Exp(log/float64(len(names))))
	}
	m.Notes = []string{b.meansOf(names), "caches and cores do not leak in the table"}
	if len(missing) > 0 {
		m.Notes = append(m.Notes, "happened, and has no value in "+infsEnergy+": "+strings.Join(missing, ", "))
	}
	return m, nil
}

// fig2Threads are those of the figure.
var fig2Threads = []int{1, 64}

func infsFig2(ctx context.Context, env *Env) (*Measured, error) {
	m := &Measured{}
	last := int64(256 << 10)
	if env.Size == PaperSizes {
		last = 4 << 20
	} else {
		m.Notes = []string{"every run is compared with the sequential program"}
	}
	for _, name := range []string{"vec_add", "array_sum"} {
		t := Table{Title: name + ", cycles", Head: []string{"elements", "base, 1 thread", "base, 64", "near-l3, 1 thread", "near-l3, 64", "in memory, transposed", "of which last steps"}}
		sizes, fastest := 0, 0
		for n := int64(16 << 10); n <= last; n *= 4 {
			k, args, err := nearWorkload(ctx, &Env{Size: Small, Seed: env.Seed}, name, map[string]map[string]int64{name: {"N": n}})
			if err != nil {
				return nil, err
			}
			row := []string{fmt.Sprint(n)}
			near, least := int64(0), int64(math.MaxInt64)
			run := func(config string, threads int) (c fig2Cycles, text string, err error) {
				env.progress(fmt.Sprintf("%s %d %s", name, n, config), 0, 1)
				err = env.kept(&c, func() error { return c.run(ctx, env, k, args, config, threads) }, "infs:fig2", name, n, config, threads)
				switch {
				case ctx.Err() != nil:
					return c, "", context.Cause(ctx)
				case err != nil:
					m.Failed = append(m.Failed, fmt.Sprintf("%s of %d in %s on %d threads: %s", name, n, config, threads, err))
					return fig2Cycles{}, "-", nil
				}
				return c, fmt.Sprint(c.All), nil
			}
			for _, config := range []string{multicore.Base, "near-l3"} {
				for _, threads := range fig2Threads {
					c, text, err := run(config, threads)
					if err != nil {
						return nil, err
					}
					if near = c.All; near > 0 {
						least = min(least, near)
					}
					row = append(row, text)
				}
			}
			c, text, err := run("inf-s-nojit", fig2Threads[len(fig2Threads)-1])
			if err != nil {
				return nil, err
			}
			if c.Inside == 0 {
				t.Rows = append(t.Rows, append(row, text, text))
				continue
			}
			sizes++
			if c.Inside < least {
				fastest++
			}
			if name == "vec_add" && n == 4<<20 && near > 0 {
				m.Add("vec_add in memory over near-l3 at 4M", "x", float64(near)/float64(c.Inside))
			}
			t.Rows = append(t.Rows, append(row, fmt.Sprint(c.Inside), fmt.Sprint(c.Final)))
		}
		if sizes > 0 {
			m.Add("sizes of "+name+" that are fastest in memory", "%", 100*float64(fastest)/float64(sizes))
		}
		m.Tables = append(m.Tables, t)
	}
	return m, nil
}

// fig2Cycles are those of a run, those in arrays, and of these those of last steps of
// reductions.
type fig2Cycles struct{ All, Inside, Final int64 }

func (c *fig2Cycles) run(ctx context.Context, env *Env, k *workload.Kernel, args *memory.Memory, config string, threads int) error {
	r, err := runInfinity(ctx, env, k, args, "infinity-stream-base", config, func(o *fused.Options) { o.Threads, o.Warm = threads, true })
	if err != nil {
		return err
	}
	c.All = r.Cycles
	if r.arrays != nil {
		a := &r.arrays.Cycles
		c.Inside, c.Final = a.Compute+a.Move+a.Between+a.Sync+a.Final, a.Final
	}
	return nil
}
