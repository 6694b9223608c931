package reproduce

import (
	"context"
	"fmt"
	"math"
	"slices"

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
			{Name: "vec_add in memory over near-l3 at 4M", Section: "2.2", Unit: "x", Paper: 21, Tolerance: 0.2, Only: PaperSizes},
		},
		Run: infsFig2,
	},
	{
		ID: "infs:fig11", Title: "Speedup of near-memory, in-memory and fused computing", Paper: "Infinity Stream, Fig. 11, 12 and 14",
		Doc: "the 13 workloads, cold, on 64 OOO8 cores; of those with several designs the best one for each configuration; means of speedups are geometric. Small: sizes that fill a part of the arrays " +
			"of infinity-stream-small, caches of a sixteenth; each run compared with the sequential program and the interpreter of graphs. Claims are under latencies of the programs that arrays execute, and jit.reading " +
			"host-fitted; the column paper has the formulas of the authors' simulator",
		Claims: []Claim{
			{Name: "near-l3 over base", Section: "8", Unit: "x", Paper: 2.0, Tolerance: 0.2},
			{Name: "in-l3 over near-l3", Section: "8", Unit: "x", Paper: 2.1, Tolerance: 0.2},
			{Name: "inf-s over near-l3", Section: "8", Unit: "x", Paper: 2.6, Tolerance: 0.2},
			{Name: "inf-s over base", Section: "8", Unit: "x", Paper: 5.1, Tolerance: 0.2},
			{Name: "inf-s-nojit over inf-s", Section: "8", Unit: "x", Paper: 1.19, Tolerance: 0.2},
			{Name: "traffic that near-l3 saves", Section: "8", Unit: "%", Paper: 29, Tolerance: 10, Points: true},
			{Name: "traffic that inf-s saves", Section: "8", Unit: "%", Paper: 90, Tolerance: 10, Points: true},
			{Name: "cycles of inf-s in memory", Section: "8", Unit: "%", Paper: 88, Tolerance: 10, Points: true},
			{Name: "DRAM", Section: "8", Unit: "%", Paper: 26, Tolerance: 10, Points: true},
			{Name: "compute", Section: "8", Unit: "%", Paper: 32, Tolerance: 10, Points: true},
			{Name: "move", Section: "8", Unit: "%", Paper: 19, Tolerance: 10, Points: true},
			{Name: "final reduce", Section: "8", Unit: "%", Paper: 4.9, Tolerance: 10, Points: true},
			{Name: "JIT", Section: "8", Unit: "%", Paper: 11, Tolerance: 10, Points: true},
			{Name: "operations in bitlines", Section: "8", Unit: "%", Paper: 99, Tolerance: 10, Points: true},
		},
		Run: infsFig11,
	},
	{
		ID: "infs:fig15", Title: "Inner and outer products on each paradigm", Paper: "Infinity Stream, Fig. 15",
		Doc: "mm, kmeans and gather_mlp by inner and by outer products, as for infs:fig11, over the inner one in base",
		Claims: []Claim{
			{Name: "outer in inf-s over inner in base", Section: "8", Unit: "x", Paper: 4.4, Tolerance: 0.2},
		},
		Run: infsFig15,
	},
	{
		ID: "infs:fig18", Title: "Energy of near-memory, in-memory and fused computing", Paper: "Infinity Stream, Fig. 18",
		Doc: "as infs:fig11, by the table chip-22nm: cores, caches, network, DRAM, and what arrays execute; leakage only of arrays that hold data",
		Claims: []Claim{
			{Name: "energy of near-l3 over in-l3", Section: "8", Unit: "x", Paper: 1.5, Tolerance: 0.2},
			{Name: "energy of near-l3 over inf-s", Section: "8", Unit: "x", Paper: 2.4, Tolerance: 0.2},
		},
		Run: infsFig18,
	},
}

// infsConfigs are the configurations of fig. 11.
var infsConfigs = []string{multicore.Base, "near-l3", "in-l3", "inf-s", "inf-s-nojit"}

// infsSmall are sizes that fill a part of the arrays of a machine of a sixteenth.
var infsSmall = map[string]map[string]int64{
	"stencil1d": {"N": 256 << 10, "T": 3}, "stencil2d": {"N": 512, "M": 512, "T": 3}, "stencil3d": {"L": 16, "N": 128, "M": 64, "T": 3}, "dwt2d": {"N": 128, "M": 64},
	"gauss_elim": {"N": 96}, "conv2d": {"N": 512, "M": 512}, "conv3d": {"I": 2, "O": 16, "H": 32, "W": 64}, "mm_inner": {"M": 64, "N": 128, "K": 64}, "mm_outer": {"M": 64, "N": 128, "K": 64},
	"kmeans_inner": {"N": 1024, "K": 16, "D": 16}, "kmeans_outer": {"N": 1024, "K": 16, "D": 16},
	"gather_mlp_inner": {"M": 1024, "N": 32, "K": 32, "R": 1024}, "gather_mlp_outer": {"M": 1024, "N": 32, "K": 32, "R": 1024},
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
	o := fused.Options{Options: multicore.Options{Machine: m, Threads: m.Banks(), Config: config, Seed: env.Seed}}
	if change != nil {
		change(&o)
	}
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
		return "infinity-stream-small"
	}
	return "infinity-stream-base"
}

// infsAll runs all designs of all workloads in all configurations.
func infsAll(ctx context.Context, env *Env, designs [][]string, configs []string, change func(o *fused.Options), f func(workload string, kernel, config string, r *infsRun)) error {
	for i, list := range designs {
		for _, name := range list {
			env.progress(name, i, len(designs))
			k, args, err := nearWorkload(ctx, env, name, infsSmall)
			if err != nil {
				return err
			}
			for _, config := range configs {
				r, err := runInfinity(ctx, env, k, args, infsMachine(env), config, change)
				if err != nil {
					return fmt.Errorf("reproduce: %s in %s: %w", name, config, err)
				}
				f(list[0], name, config, r)
			}
		}
	}
	return nil
}

// best keeps the fastest design of each workload and configuration.
type best struct {
	names []string
	runs  map[[2]string]*infsRun
	which map[[2]string]string
}

func (b *best) add(workload, kernel, config string, r *infsRun) {
	if b.runs == nil {
		b.runs, b.which = map[[2]string]*infsRun{}, map[[2]string]string{}
	}
	if !slices.Contains(b.names, workload) {
		b.names = append(b.names, workload)
	}
	key := [2]string{workload, config}
	if old := b.runs[key]; old == nil || r.Cycles < old.Cycles {
		b.runs[key], b.which[key] = r, kernel
	}
}

func (b *best) of(workload, config string) *infsRun { return b.runs[[2]string{workload, config}] }

// over is the geometric mean of the speedups of a configuration over another one.
func (b *best) over(config, other string) float64 {
	sum := 0.0
	for _, w := range b.names {
		sum += math.Log(float64(b.of(w, other).Cycles) / float64(b.of(w, config).Cycles))
	}
	return math.Exp(sum / float64(len(b.names)))
}

// saved is the mean share of the traffic of base that a configuration has not, in percent.
func (b *best) saved(config string) (share float64) {
	for _, w := range b.names {
		share += 100 * (1 - ratioOf(b.of(w, config).Report, b.of(w, multicore.Base).Report)) / float64(len(b.names))
	}
	return share
}

func infsFig11(ctx context.Context, env *Env) (*Measured, error) {
	var b, paper best
	if err := infsAll(ctx, env, infsDesigns, infsConfigs, nil, b.add); err != nil {
		return nil, err
	}
	formulas := func(o *fused.Options) { o.Latencies = "paper" }
	if err := infsAll(ctx, env, infsDesigns, []string{"in-l3", "inf-s"}, formulas, paper.add); err != nil {
		return nil, err
	}
	m := &Measured{}
	times := Table{Title: "Cycles of base, and speedups over it", Head: append(append([]string{"workload", "base"}, infsConfigs[1:]...), "in-l3, paper's latencies", "inf-s, paper's latencies", "designs")}
	moved := Table{Title: "Traffic, base = 1 (bytes x hops)", Head: append([]string{"workload"}, infsConfigs[1:]...)}
	went := Table{Title: "Where the cycles of inf-s went, %", Head: []string{"workload", "cores", "drain, flush", "DRAM", "JIT", "compute", "move", "between tiles", "sync", "final reduce", "near", "operations in bitlines"}}
	var mean [11]float64
	n := float64(len(b.names))
	for _, w := range b.names {
		base := b.of(w, multicore.Base)
		row, traffic := []string{w, fmt.Sprint(base.Cycles)}, []string{w}
		which := ""
		for _, config := range infsConfigs {
			if name := b.which[[2]string{w, config}]; name != w {
				which += " " + config + ": " + name
			}
			if config == multicore.Base {
				continue
			}
			r := b.of(w, config)
			row = append(row, fmt.Sprintf("%.2f", float64(base.Cycles)/float64(r.Cycles)))
			traffic = append(traffic, fmt.Sprintf("%.2f", ratioOf(r.Report, base.Report)))
		}
		for _, config := range []string{"in-l3", "inf-s"} {
			row = append(row, fmt.Sprintf("%.2f", float64(base.Cycles)/float64(paper.of(w, config).Cycles)))
		}
		times.Rows, moved.Rows = append(times.Rows, append(row, which)), append(moved.Rows, traffic)
		line := []string{w}
		for i, p := range parts(b.of(w, "inf-s")) {
			mean[i] += p / n
			line = append(line, fmt.Sprintf("%.1f", p))
		}
		went.Rows = append(went.Rows, line)
	}
	line := []string{"mean"}
	for _, p := range mean {
		line = append(line, fmt.Sprintf("%.1f", p))
	}
	went.Rows = append(went.Rows, line)
	m.Add("near-l3 over base", "x", b.over("near-l3", multicore.Base))
	m.Add("in-l3 over near-l3", "x", b.over("in-l3", "near-l3"))
	m.Add("inf-s over near-l3", "x", b.over("inf-s", "near-l3"))
	m.Add("inf-s over base", "x", b.over("inf-s", multicore.Base))
	m.Add("inf-s-nojit over inf-s", "x", b.over("inf-s-nojit", "inf-s"))
	m.Add("inf-s over in-l3", "x", b.over("inf-s", "in-l3"))
	m.Add("traffic that near-l3 saves", "%", b.saved("near-l3"))
	m.Add("traffic that inf-s saves", "%", b.saved("inf-s"))
	m.Add("cycles of inf-s in memory", "%", 100-mean[0])
	m.Add("DRAM", "%", mean[2])
	m.Add("JIT", "%", mean[3])
	m.Add("compute", "%", mean[4])
	m.Add("move", "%", mean[5]+mean[6]+mean[7])
	m.Add("final reduce", "%", mean[8])
	m.Add("operations in bitlines", "%", mean[10])
	m.Tables = []Table{times, moved, went}
	m.Notes = []string{
		"loads of cores found the program's values; small sizes are compared with the sequential program, and units in memory with the interpreter of graphs, bit by bit",
		"near-l3 is ns-decouple on this machine: streams are not split into strands over banks, which the paper's are",
		"move is within and between tiles, and barriers",
	}
	return m, nil
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
	m := &Measured{Notes: []string{"loads of cores found the program's values; small sizes are compared with the sequential program, and units in memory with the interpreter of graphs, bit by bit"}}
	t := Table{Title: "Speedups over the inner product in base", Head: append([]string{"kernel"}, infsConfigs[:4]...)}
	cycles := map[[2]string]int64{}
	designs := infsDesigns[len(infsDesigns)-3:]
	err := infsAll(ctx, env, designs, infsConfigs[:4], nil, func(_, kernel, config string, r *infsRun) { cycles[[2]string{kernel, config}] = r.Cycles })
	if err != nil {
		return nil, err
	}
	log := 0.0
	for _, list := range designs {
		inner := cycles[[2]string{list[0], multicore.Base}]
		for _, name := range list {
			row := []string{name}
			for _, config := range infsConfigs[:4] {
				row = append(row, fmt.Sprintf("%.2f", float64(inner)/float64(cycles[[2]string{name, config}])))
			}
			t.Rows = append(t.Rows, row)
		}
		log += math.Log(float64(inner)/float64(cycles[[2]string{list[1], "inf-s"}])) / float64(len(designs))
	}
	m.Add("outer in inf-s over inner in base", "x", math.Exp(log))
	m.Tables = []Table{t}
	return m, nil
}

func infsFig18(ctx context.Context, env *Env) (*Measured, error) {
	table, err := cost.Load("chip-22nm")
	if err != nil {
		return nil, err
	}
	machine, err := tile.LoadMachine(infsMachine(env))
	if err != nil {
		return nil, err
	}
	var b best
	if err := infsAll(ctx, env, infsDesigns, infsConfigs[:4], nil, b.add); err != nil {
		return nil, err
	}
	m := &Measured{Notes: []string{"caches and cores do not leak in the table; a line that the table has no value for is left out of both sides"}}
	t := Table{Title: "Energy in uJ", Head: append([]string{"workload"}, infsConfigs[:4]...)}
	log := map[string]float64{}
	for _, w := range b.names {
		row := []string{w}
		near := 0.0
		for _, config := range infsConfigs[:4] {
			e := energyOf(b.of(w, config), machine, table)
			if config == "near-l3" {
				near = e
			}
			log[config] += math.Log(near/e) / float64(len(b.names))
			row = append(row, fmt.Sprintf("%.1f", e/1e6))
		}
		t.Rows = append(t.Rows, row)
	}
	m.Add("energy of near-l3 over in-l3", "x", math.Exp(log["in-l3"]))
	m.Add("energy of near-l3 over inf-s", "x", math.Exp(log["inf-s"]))
	m.Tables = []Table{t}
	return m, nil
}

// energyOf is the energy of a run in pJ.
func energyOf(r *infsRun, m *tile.Machine, table *cost.Table) float64 {
	e := 0.0
	add := func(c *cost.ChipEnergy) {
		if c != nil && c.Total != nil {
			e += *c.Total
		}
	}
	add(r.Energy(m, table))
	if r.arrays != nil {
		add(r.arrays.Energy(m, table))
	}
	return e
}

// fig2Threads are those of the figure.
var fig2Threads = []int{1, 64}

func infsFig2(ctx context.Context, env *Env) (*Measured, error) {
	m := &Measured{Notes: []string{"every run is compared with the sequential program where it is of the small size"}}
	last := int64(256 << 10)
	if env.Size == PaperSizes {
		last = 4 << 20
	}
	for _, name := range []string{"vec_add", "array_sum"} {
		t := Table{Title: name + ", cycles", Head: []string{"elements", "base, 1 thread", "base, 64", "near-l3, 1 thread", "near-l3, 64", "in memory, transposed"}}
		for n := int64(16 << 10); n <= last; n *= 4 {
			env.progress(fmt.Sprint(name, " ", n), 0, 1)
			k, args, err := nearWorkload(ctx, &Env{Size: Small, Seed: env.Seed}, name, map[string]map[string]int64{name: {"N": n}})
			if err != nil {
				return nil, err
			}
			row := []string{fmt.Sprint(n)}
			near := int64(0)
			for _, config := range []string{multicore.Base, "near-l3"} {
				for _, threads := range fig2Threads {
					r, err := runInfinity(ctx, env, k, args, "infinity-stream-base", config, func(o *fused.Options) { o.Threads, o.Warm = threads, true })
					if err != nil {
						return nil, fmt.Errorf("reproduce: %s in %s: %w", name, config, err)
					}
					near = r.Cycles
					row = append(row, fmt.Sprint(r.Cycles))
				}
			}
			r, err := runInfinity(ctx, env, k, args, "infinity-stream-base", "inf-s-nojit", func(o *fused.Options) { o.Warm = true })
			if err != nil {
				return nil, fmt.Errorf("reproduce: %s in memory: %w", name, err)
			}
			c := &r.arrays.Cycles
			inside := c.Compute + c.Move + c.Between + c.Sync + c.Final
			row = append(row, fmt.Sprint(inside))
			if name == "vec_add" && n == last && env.Size == PaperSizes {
				m.Add("vec_add in memory over near-l3 at 4M", "x", float64(near)/float64(inside))
			}
			t.Rows = append(t.Rows, row)
		}
		m.Tables = append(m.Tables, t)
	}
	return m, nil
}
