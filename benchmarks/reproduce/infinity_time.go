package reproduce

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/sram/cost"
	"github.com/bitsched/bitsched/system/fused"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tile"
)

// infinityTimeEntries are the figures of Infinity Stream that run kernels in time.
var infinityTimeEntries = []*Entry{
	{
		ID: "infs:eq1", Title: "Peak of additions in memory", Paper: "Infinity Stream, Eq. 1",
		Doc: "additions of 32-bit integers a cycle that all ways of the 64-core machine come to, over those of cores with a vector each; claims are of the program that arrays execute, the table has the paper's formula (a cycle a bit) too. Both sizes are the same",
		Claims: []Claim{
			{Name: "additions a cycle", Section: "2.2", Unit: "", Paper: 131072, Tolerance: 0.2},
			{Name: "over the cores", Section: "2.2", Unit: "x", Paper: 128, Tolerance: 0.2},
		},
		Run: infsEq1,
	},
	{
		ID: "infs:fig2", Title: "Microbenchmarks: cores, near memory and in memory", Paper: "Infinity Stream, Fig. 2",
		Doc: "vec_add and array_sum from 16k to 4M elements (small: to 256k), on 1 and 64 threads, warm: arrays lie in the L3. In memory, the cycles in arrays are those of compute, moves, barriers and last " +
			"steps; data are taken to be transposed and commands lowered",
		Claims: []Claim{
			{Name: "sizes of vec_add that are fastest in memory", Section: "2.2", Unit: "%", Paper: 100, Points: true},
			{Name: "vec_add in memory over near-l3 at 4M", Section: "2.2", Unit: "x", Paper: 21, Tolerance: 0.2, Only: PaperSizes},
		},
		Timed: true,
		Run:   infsFig2,
	},
	{
		ID: "infs:fig11", Title: "Speedup of near-memory, in-memory and fused computing", Paper: "Infinity Stream, Fig. 11",
		Doc: infsDoc,
		Claims: []Claim{
			{Name: "near-l3 over base", Section: "8", Unit: "x", Paper: 2.0, Tolerance: 0.2, Order: "base"},
			{Name: "in-l3 over near-l3", Section: "8", Unit: "x", Paper: 2.1, Tolerance: 0.2, Order: "near-l3"},
			{Name: "inf-s over near-l3", Section: "8", Unit: "x", Paper: 2.6, Tolerance: 0.2, Order: "near-l3"},
			{Name: "inf-s over in-l3", Section: "8", Unit: "x", Paper: 1.24, Tolerance: 0.2},
			{Name: "inf-s over base", Section: "8", Unit: "x", Paper: 5.1, Tolerance: 0.2, Order: "base"},
			{Name: "inf-s over base, the most", Section: "1", Unit: "x", Paper: 8.9, Tolerance: 0.2},
			{Name: "inf-s-nojit over inf-s", Section: "8", Unit: "x", Paper: 1.19, Tolerance: 0.2},
		},
		Timed:     true,
		Workloads: infsNames,
		Run:       infsFig11,
	},
	{
		ID: "infs:fig12", Title: "Traffic of near-memory, in-memory and fused computing", Paper: "Infinity Stream, Fig. 12",
		Doc: "as infs:fig11 and with its runs: bytes of whole flits times links, of messages for what is offloaded, of coherence and of data; utilisation is of all links between routers",
		Claims: []Claim{
			{Name: "traffic that near-l3 saves", Section: "8", Unit: "%", Paper: 29, Tolerance: 10, Points: true, Order: "traffic"},
			{Name: "traffic that inf-s saves", Section: "8", Unit: "%", Paper: 90, Tolerance: 10, Points: true, Order: "traffic"},
			{Name: "traffic of near-l3 that inf-s saves", Section: "1", Unit: "%", Paper: 75, Tolerance: 10, Points: true},
			{Name: "traffic of kmeans in near-l3 over base", Section: "8", Unit: "x", Paper: 2.6, Tolerance: 0.2},
		},
		Timed:     true,
		Workloads: infsNames,
		Run:       infsFig12,
	},
	{
		ID: "infs:fig13", Title: "What moves in fused computing, and where", Paper: "Infinity Stream, Fig. 13",
		Doc: "as infs:fig11 and with its runs of inf-s: bytes that shifts move within tiles and between tiles of a bank, and bytes times links of the mesh; the paper prints no figure, but that most of what moves does so within tiles",
		Claims: []Claim{
			{Name: "moved within tiles", Section: "8", Unit: "%", Paper: 50, Tolerance: 0, Points: true, Better: 1, Reading: "most is more than half"},
		},
		Timed:     true,
		Workloads: infsNames,
		Run:       infsFig13,
	},
	{
		ID: "infs:fig14", Title: "Where the cycles of fused computing go", Paper: "Infinity Stream, Fig. 14",
		Doc: "as infs:fig11 and with its runs of inf-s. In memory is all but cores, final reduce and near; move is within and between tiles, and barriers. Times of lowering are of whole kernels, those that have none included",
		Claims: []Claim{
			{Name: "cycles of inf-s in memory", Section: "8", Unit: "%", Paper: 88, Tolerance: 10, Points: true},
			{Name: "DRAM", Section: "8", Unit: "%", Paper: 26, Tolerance: 0.2, Order: "share"},
			{Name: "compute", Section: "8", Unit: "%", Paper: 32, Tolerance: 0.2, Order: "share"},
			{Name: "move", Section: "8", Unit: "%", Paper: 19, Tolerance: 0.2, Order: "share"},
			{Name: "final reduce", Section: "8", Unit: "%", Paper: 4.9, Tolerance: 0.2, Order: "share"},
			{Name: "JIT", Section: "8", Unit: "%", Paper: 11, Tolerance: 0.2, Order: "share"},
			{Name: "JIT of gauss_elim", Section: "8", Unit: "%", Paper: 51, Tolerance: 0.2},
			{Name: "JIT of stencil3d", Section: "8", Unit: "%", Paper: 50, Tolerance: 0.2},
			{Name: "JIT, mean", Section: "8", Unit: "us", Paper: 220, Tolerance: 0.2, Only: PaperSizes},
			{Name: "JIT of gauss_elim, time", Section: "8", Unit: "us", Paper: 1616, Tolerance: 0.2, Only: PaperSizes},
			{Name: "operations in bitlines", Section: "8", Unit: "%", Paper: 99, Tolerance: 10, Points: true},
			{Name: "DRAM" + allKernels, Section: "8", Unit: "%", Paper: 26, Tolerance: 0.2, Reading: readAll},
			{Name: "compute" + allKernels, Section: "8", Unit: "%", Paper: 32, Tolerance: 0.2, Reading: readAll},
			{Name: "move" + allKernels, Section: "8", Unit: "%", Paper: 19, Tolerance: 0.2, Reading: readAll},
			{Name: "final reduce" + allKernels, Section: "8", Unit: "%", Paper: 4.9, Tolerance: 0.2, Reading: readAll},
			{Name: "JIT" + allKernels, Section: "8", Unit: "%", Paper: 11, Tolerance: 0.2, Reading: readAll},
			{Name: "DRAM" + paperLatencies, Section: "8", Unit: "%", Paper: 26, Tolerance: 0.2, Reading: readLatencies},
			{Name: "compute" + paperLatencies, Section: "8", Unit: "%", Paper: 32, Tolerance: 0.2, Reading: readLatencies},
			{Name: "move" + paperLatencies, Section: "8", Unit: "%", Paper: 19, Tolerance: 0.2, Reading: readLatencies},
			{Name: "final reduce" + paperLatencies, Section: "8", Unit: "%", Paper: 4.9, Tolerance: 0.2, Reading: readLatencies},
			{Name: "JIT" + paperLatencies, Section: "8", Unit: "%", Paper: 11, Tolerance: 0.2, Reading: readLatencies},
		},
		Timed:     true,
		Workloads: infsNames,
		Run:       infsFig14,
	},
	{
		ID: "infs:fig15", Title: "Inner and outer products on each paradigm", Paper: "Infinity Stream, Fig. 15",
		Doc: "mm, kmeans and gather_mlp by inner and by outer products, as for infs:fig11 and with its runs, over the inner one in base",
		Claims: []Claim{
			{Name: "outer in inf-s over inner in base", Section: "8", Unit: "x", Paper: 4.4, Tolerance: 0.2},
		},
		Timed:     true,
		Workloads: productNames,
		Run:       infsFig15,
	},
	{
		ID: "infs:fig18", Title: "Energy of near-memory, in-memory and fused computing", Paper: "Infinity Stream, Fig. 18",
		Doc: "as infs:fig11 and with its runs, by the table chip-22nm: cores, caches, network, DRAM, what arrays execute, and leakage of cores and caches of all tiles. Leakage of cores is the least certain value: the table has that of high-performance devices, and one of " +
			"low-operating-power devices, under which claims are given again",
		Claims: []Claim{
			{Name: "energy of near-l3 over in-l3", Section: "8", Unit: "x", Paper: 1.5, Tolerance: 0.2, Order: "energy"},
			{Name: "energy of near-l3 over inf-s", Section: "8", Unit: "x", Paper: 2.4, Tolerance: 0.2, Order: "energy"},
			{Name: "energy of near-l3 over in-l3" + lowPowerCores, Section: "8", Unit: "x", Paper: 1.5, Tolerance: 0.2, Reading: "cores leak 0.14 W and not 1.14 W"},
			{Name: "energy of near-l3 over inf-s" + lowPowerCores, Section: "8", Unit: "x", Paper: 2.4, Tolerance: 0.2, Reading: "cores leak 0.14 W and not 1.14 W"},
		},
		Timed:     true,
		Workloads: infsNames,
		Run:       infsFig18,
	},
	pointNetEntry,
	ownEntry,
	autoEntry,
}

const infsDoc = "the 13 workloads, cold, on 64 OOO8 cores (small: 4); of those with several designs the best one for each configuration; means of speedups are geometric. Small: a sixteenth of the elements on " +
	"infinity-stream-slice, a sixteenth of the tiles and of the memory controllers with all that is in them; each run compared with the sequential program and the interpreter of graphs. Claims are under latencies of the programs that arrays execute, and jit.reading " +
	"host-fitted; the columns of the paper's latencies have the formulas of the authors' simulator. With --sample, base and near-l3 are simulated in windows"

// infsConfigs are the configurations of fig. 11.
var infsConfigs = []string{multicore.Base, "near-l3", "in-l3", "inf-s", "inf-s-nojit"}

// infsSmall are a sixteenth of the elements of table 3 on a sixteenth of the machine, so that
// bitlines, caches and bandwidth are as full as there. Where time is linear in a size on all
// configurations, that one is smaller.
var infsSmall = map[string]map[string]int64{
	"stencil1d": {"N": 256 << 10, "T": 5}, "stencil2d": {"N": 512, "M": 512, "T": 5}, "stencil3d": {"L": 16, "N": 128, "M": 128, "T": 5}, "dwt2d": {"N": 256, "M": 256},
	"gauss_elim": {"N": 512}, "conv2d": {"N": 512, "M": 512}, "conv3d": {"I": 16, "O": 64, "H": 64, "W": 64}, "mm_inner": {"M": 512, "N": 512, "K": 128}, "mm_outer": {"M": 512, "N": 512, "K": 128},
	"kmeans_inner": {"N": 2048, "K": 128, "D": 64}, "kmeans_outer": {"N": 2048, "K": 128, "D": 64}, "kmeans_transposed": {"N": 2048, "K": 128, "D": 64},
	"gather_mlp_inner": {"M": 2048, "N": 128, "K": 64, "R": 2048}, "gather_mlp_outer": {"M": 2048, "N": 128, "K": 64, "R": 2048},
}

// infsDesigns are the kernels of each workload of table 3.
var infsDesigns = [][]string{
	{"stencil1d"}, {"stencil2d"}, {"stencil3d"}, {"dwt2d"}, {"gauss_elim"}, {"conv2d"}, {"conv3d"},
	{"mm_inner", "mm_outer"}, {"kmeans_inner", "kmeans_outer", "kmeans_transposed"}, {"gather_mlp_inner", "gather_mlp_outer"},
}

// products are the workloads that have inner and outer products.
var products = infsDesigns[len(infsDesigns)-3:]

func infsNames() []string    { return slices.Concat(infsDesigns...) }
func productNames() []string { return slices.Concat(products...) }

// beyondTable3 is a design that table 3 does not have: it counts as one of its workload, and not among
// all kernels.
const beyondTable3 = "kmeans_transposed"

// infsRun is one run: the cores, and what arrays did, nil without.
type infsRun struct {
	*multicore.Report
	arrays *fused.Report
}

// runInfinity runs a kernel, in samples or nil for all in time, and compares its memory with the
// sequential program's.
func runInfinity(ctx context.Context, env *Env, k *workload.Kernel, args *memory.Memory, machine, config string, sample *multicore.Sampling, change func(o *fused.Options)) (r *infsRun, err error) {
	m, err := env.machine(machine)
	if err != nil {
		return nil, err
	}
	after := args.Clone()
	mem, a := k.Streams(after)
	before, _ := k.Streams(args.Clone())
	p := &fused.Program{Program: &multicore.Program{Graph: k.Whole, Memory: mem, Args: a, Reassociate: k.Reassociate}, Tensors: k.Regions(), Sizes: k.Sizes, Arrays: args}
	o := fused.Options{Options: multicore.Options{Machine: m, Threads: m.Banks(), Config: config, Seed: env.Seed, Jitter: env.timing(), Sample: sample}, Rehearse: fused.RehearseOptions{Check: env.Size != PaperSizes}}
	name := k.File
	if k.Builtin != nil {
		name = k.Builtin.Name
	}
	o.Progress = func(q multicore.Progress) {
		env.progress(fmt.Sprintf("%s in %s: %.1f M micro-ops in %.0f s,", name, config, float64(q.MicroOps)/1e6, q.Seconds), int(1000*q.Share), 1000)
	}
	change(&o)
	r = &infsRun{}
	if fused.Find(config) == nil {
		r.Report, err = multicore.Run(ctx, p.Program, o.Options)
	} else if r.arrays, err = fused.Run(ctx, p, o); r.arrays != nil {
		r.Report = r.arrays.Report
	}
	if err == nil && ctx.Err() != nil { // the fastest of fewer rehearsals
		err = context.Cause(ctx)
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

// sampledIn is an environment in which runs of a configuration are in samples if those of env are:
// what arrays execute is in time.
func sampledIn(env *Env, config string) *Env {
	if fused.Find(config) == nil {
		return env
	}
	whole := *env
	whole.Sample = 0
	return &whole
}

// infsMachine is the one of a size, and of the readings of what is not in the paper.
func infsMachine(env *Env) string {
	switch {
	case env.Readings == Simulator && env.Size == Small:
		return "infinity-stream-simulator-slice"
	case env.Readings == Simulator:
		return "infinity-stream-simulator"
	case env.Size == Small:
		return "infinity-stream-slice"
	}
	return "infinity-stream-base"
}

// infsPart is what the figures need of a run. It is kept on its own, so that work that
// was stopped goes on, and figures share runs. Of a run in samples, traffic is that of the windows times what there is of micro-ops beside them.
type infsPart struct {
	Cycles                   int64
	Bound                    float64 // of the cycles, of a run in samples; -1: too few windows, 0: all is in time
	Sampled                  bool    // not all is in time
	Offloaded, Control, Data float64 // bytes x hops
	Between                  float64 // of these, elements that tiles send to those of other banks
	Links                    float64 // utilisation, a share
	Shares                   [11]float64
	Within, Across           int64                      // bytes that shifts move within tiles, and between tiles of a bank
	JIT                      float64                    // us of the machine
	Lowered                  fused.Lowered              // that this was for
	Read                     float64                    // bytes, from memory
	Peak                     float64                    // bytes a cycle of memory
	Energy                   [len(energyGroups)]float64 // pJ, of what the table knows
	Missing                  []string                   // lines that it does not know
}

// energyGroups are what lines of energies are summed up in, the last one all others: what
// arrays execute.
var energyGroups = [...]struct {
	name  string
	lines []string
}{
	{"cores", []string{"cores", "lanes, sums", "lanes, products"}}, {"caches", []string{"L1", "L2", "L3"}}, {"network", []string{"network"}}, {"DRAM", []string{"DRAM"}},
	{"near memory", []string{"streams at the L3", "near memory"}}, {"leakage, cores", []string{cost.LeakageOfCores}}, {"leakage, caches", []string{"leakage of L1, L2", "leakage of the L3"}}, {"arrays", nil},
}

// leakingCores is the group of the leakage of cores.
const leakingCores = 5

// energy is all of it.
func (p *infsPart) energy() (sum float64) {
	for _, v := range p.Energy {
		sum += v
	}
	return sum
}

// traffic is all of it.
func (p *infsPart) traffic() float64 { return p.Offloaded + p.Control + p.Data }

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
	var jobs []job
	var found []func()
	for _, list := range designs {
		for _, name := range list {
			if !env.chosen(name) {
				continue
			}
			for _, config := range configs {
				p := &infsPart{}
				jobs = append(jobs, job{name + " in " + config, func(ctx context.Context, env *Env) error {
					return inSamples(ctx, sampledIn(env, config), p, func(p *infsPart, s *multicore.Sampling) (*multicore.Report, error) {
						k, args, err := nearWorkload(ctx, env, name, infsSmall)
						if err != nil {
							return nil, err
						}
						return p.run(ctx, env, k, args, config, latencies, s, table)
					}, "infs", name, config, latencies, env.Readings, env.Sample)
				}})
				found = append(found, func() { f(strings.TrimSuffix(list[0], "_inner"), name, config, p) })
			}
		}
	}
	ended, failed, err := env.runJobs(ctx, jobs)
	for i, ok := range ended {
		if ok {
			found[i]()
		}
	}
	return failed, err
}

func (p *infsPart) run(ctx context.Context, env *Env, k *workload.Kernel, args *memory.Memory, config, latencies string, sample *multicore.Sampling, table *cost.Table) (*multicore.Report, error) {
	r, err := runInfinity(ctx, env, k, args, infsMachine(env), config, sample, func(o *fused.Options) { o.Latencies = latencies })
	if err != nil {
		return nil, err
	}
	m, err := env.machine(infsMachine(env))
	if err != nil {
		return nil, err
	}
	scale := 1.0
	if t := r.Sample; t != nil && t.Forwarded > 0 {
		p.Bound, p.Sampled = t.Bound, true
		scale = t.Scale(r.MicroOps)
	}
	p.Cycles = r.Cycles
	p.Read, p.Peak = scale*float64(r.Memory.Reads*uint64(m.L3.LineBytes)), r.Memory.PeakGBs/m.ClockGHz
	p.Offloaded, p.Control, p.Data = scale*float64(r.Streams.Offloaded), scale*float64(r.Streams.Control), scale*float64(r.Streams.Data)
	p.Links = p.traffic() / float64(m.Links()*m.NoC.LinkBytes) / float64(max(1, r.Cycles))
	energies := []*cost.ChipEnergy{r.Energy(m, table)}
	if r.arrays != nil {
		p.Shares = parts(r)
		for _, c := range r.arrays.Messages {
			if c.Name == "data" {
				p.Between = float64(c.ByteHops)
			}
		}
		if a := r.arrays.Arrays; a != nil {
			p.Within, p.Across = a.IntraBytes, a.InterBytes
		}
		p.Lowered = r.arrays.Lowered
		p.JIT = float64(r.arrays.Cycles.JIT+r.arrays.Cycles.Hidden) / m.ClockGHz / 1e3
		energies = append(energies, r.arrays.Energy(m, table))
	}
	for _, e := range energies {
		if e == nil {
			continue
		}
		for _, l := range e.Lines {
			g := slices.IndexFunc(energyGroups[:], func(g struct {
				name  string
				lines []string
			}) bool {
				return slices.Contains(g.lines, l.Name)
			})
			if g < 0 {
				g = len(energyGroups) - 1
			}
			if l.Energy != nil {
				p.Energy[g] += *l.Energy
			}
		}
		p.Missing = append(p.Missing, e.LeftOut...)
	}
	return r.Report, nil
}

// best keeps the fastest design of each workload and configuration.
type best struct {
	names []string
	runs  map[[2]string]*infsPart
	which map[[2]string]string
	all   map[[2]string][]*infsPart // of all designs
}

func (b *best) add(workload, kernel, config string, p *infsPart) {
	if b.runs == nil {
		b.runs, b.which, b.all = map[[2]string]*infsPart{}, map[[2]string]string{}, map[[2]string][]*infsPart{}
	}
	if !slices.Contains(b.names, workload) {
		b.names = append(b.names, workload)
	}
	key := [2]string{workload, config}
	b.all[key] = append(b.all[key], p)
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
	return b.of(workload, config).traffic() / max(1, b.of(workload, multicore.Base).traffic())
}

// saved is the mean share of the traffic of another configuration that one has not, in percent, by
// what its own comes to.
func (b *best) saved(names []string, config, over string, of func(p *infsPart) float64) (share float64) {
	for _, w := range names {
		share += 100 * (1 - of(b.of(w, config))/max(1, b.of(w, over).traffic())) / float64(len(names))
	}
	return share
}

// meansOf says which workloads means are of.
func (b *best) meansOf(names []string) string {
	return fmt.Sprintf("means are of the %d workloads of %d that ran in all configurations: %s", len(names), len(infsDesigns), strings.Join(names, ", "))
}

func infsFig11(ctx context.Context, env *Env) (*Measured, error) {
	var b, paper best
	m := &Measured{Reading: env.reading()}
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
	for _, w := range b.names {
		base := b.of(w, multicore.Base)
		row := []string{w, base.cyclesText()}
		var outer []string
		for _, config := range infsConfigs {
			if strings.HasSuffix(b.which[[2]string{w, config}], "_outer") {
				outer = append(outer, config)
			}
			if config != multicore.Base {
				row = append(row, b.speedup(w, config, base))
			}
		}
		for _, config := range []string{"in-l3", "inf-s"} {
			row = append(row, paper.speedup(w, config, base))
		}
		times.Rows = append(times.Rows, append(row, strings.Join(outer, ", ")))
	}
	m.Tables = []Table{times}
	m.draw("speedup.svg", &times, "speedup over base", "Speedups over base, by configuration.", false, infsConfigs[1:]...)
	names := b.whole(infsConfigs)
	if len(names) == 0 {
		return m, nil
	}
	m.Add("near-l3 over base", "x", b.over(names, "near-l3", multicore.Base))
	m.Add("in-l3 over near-l3", "x", b.over(names, "in-l3", "near-l3"))
	m.Add("inf-s over near-l3", "x", b.over(names, "inf-s", "near-l3"))
	m.Add("inf-s over base", "x", b.over(names, "inf-s", multicore.Base))
	m.Add("inf-s-nojit over inf-s", "x", b.over(names, "inf-s-nojit", "inf-s"))
	m.Add("inf-s over in-l3", "x", b.over(names, "inf-s", "in-l3"))
	most := 0.0
	for _, w := range names {
		most = max(most, b.over([]string{w}, "inf-s", multicore.Base))
	}
	m.Add("inf-s over base, the most", "x", most)
	m.Notes = append(b.notes(env, names), "near-l3 is ns-decouple on this machine")
	m.Bounds = b.timeBounds(&paper, names)
	return m, nil
}

// notes say which workloads means are of, and how runs are checked.
func (b *best) notes(env *Env, names []string) []string {
	list := []string{env.machineNote(infsMachine(env)), b.meansOf(names), "loads of cores found the program's values; small sizes are compared with the sequential program, and units in memory with the interpreter of graphs, bit by bit"}
	if env.Sample > 0 {
		list = append(list, env.sampleNote("of base and near-l3, "))
	}
	return list
}

// cyclesText are the cycles of a run, with its bound if it was in samples.
func (p *infsPart) cyclesText() string {
	if p == nil {
		return "-"
	}
	return boundedCycles(p.Cycles, p.Bound)
}

func infsFig12(ctx context.Context, env *Env) (*Measured, error) {
	var b best
	m := &Measured{Reading: env.reading()}
	configs := infsConfigs[:4]
	var err error
	if m.Failed, err = infsAll(ctx, env, infsDesigns, configs, "", b.add); err != nil {
		return nil, err
	}
	kinds := []string{"offloaded", "control", "data"}
	t := Table{Title: "Traffic of base, and that of others over it (bytes x hops)", Head: append([]string{"workload", "base, kB x hops"}, configs[1:]...)}
	parts := Table{Title: "Traffic by what it is for, all of base = 1", Head: append([]string{"workload, configuration"}, kinds...)}
	links := Table{Title: "Utilisation of the links, %", Head: append([]string{"workload"}, configs...)}
	for _, w := range b.names {
		base := b.of(w, multicore.Base)
		if base == nil {
			continue
		}
		row, use := []string{w, fmt.Sprintf("%.0f", base.traffic()/1e3)}, []string{w}
		for _, config := range configs {
			p := b.of(w, config)
			if p == nil {
				row, use = append(row, "-"), append(use, "-")
				continue
			}
			if config != multicore.Base {
				row = append(row, fmt.Sprintf("%.2f", b.traffic(w, config)))
			}
			use = append(use, fmt.Sprintf("%.1f", 100*p.Links))
			of := []string{w + " " + config}
			for _, v := range []float64{p.Offloaded, p.Control, p.Data} {
				of = append(of, fmt.Sprintf("%.3f", v/max(1, base.traffic())))
			}
			parts.Rows = append(parts.Rows, of)
		}
		t.Rows, links.Rows = append(t.Rows, row), append(links.Rows, use)
	}
	m.Tables = []Table{t, parts, links}
	m.draw("traffic.svg", &parts, "traffic, base = 1", "Bytes times links, by what the messages are for.", true)
	m.draw("links.svg", &links, "utilisation, %", "Bytes times links over what all links could carry.", false)
	all := b.whole(configs)
	m.Notes = b.notes(env, all)
	for _, x := range savings {
		names := b.inTime(all, x.config, x.over)
		if len(names) < len(all) {
			m.Notes = append(m.Notes, fmt.Sprintf("%s: of the %d workloads whose runs are all in time: %s", x.name, len(names), strings.Join(names, ", ")))
		}
		if len(names) > 0 {
			m.Add(x.name, "%", b.saved(names, x.config, x.over, (*infsPart).traffic))
		}
	}
	if len(b.inTime([]string{"kmeans"}, "near-l3", multicore.Base)) > 0 {
		m.Add("traffic of kmeans in near-l3 over base", "x", b.traffic("kmeans", "near-l3"))
	}
	if m.Bounds, err = b.trafficBounds(env, all); err != nil {
		return nil, err
	}
	return m, nil
}

// savings are the claims of traffic that a configuration has not of another one.
var savings = []struct{ name, config, over string }{
	{savedBy("near-l3"), "near-l3", multicore.Base}, {savedBy("inf-s"), "inf-s", multicore.Base}, {"traffic of near-l3 that inf-s saves", "inf-s", "near-l3"},
}

// inTime are the workloads of which runs of some configurations are there, and in time: traffic of
// windows is no more than a guess.
func (b *best) inTime(names []string, configs ...string) (list []string) {
	for _, w := range names {
		if !slices.ContainsFunc(configs, func(config string) bool { p := b.of(w, config); return p == nil || p.Sampled }) {
			list = append(list, w)
		}
	}
	return list
}

// paperLatencies names what holds under the latencies of the authors' simulator, and readLatencies
// is that reading.
const (
	paperLatencies = ", paper's latencies"
	readLatencies  = "operations in arrays take the cycles of the authors' simulator"
)

// allKernels names means over inner and outer products, and readAll is that reading.
const (
	allKernels = ", all kernels"
	readAll    = "means are of all 13 kernels, as section 8 names mm_inner beside them"
)

func infsFig13(ctx context.Context, env *Env) (*Measured, error) {
	var b best
	m := &Measured{Reading: env.reading()}
	var err error
	if m.Failed, err = infsAll(ctx, env, infsDesigns, []string{"inf-s"}, "", b.add); err != nil {
		return nil, err
	}
	names := b.whole([]string{"inf-s"})
	m.Notes = b.notes(env, names)
	if len(names) == 0 {
		return m, nil
	}
	kinds := []string{"mesh, control", "mesh, data", "mesh, offloaded", "mesh, between tiles", "between tiles of a bank", "within tiles"}
	t := Table{Title: "What moves in inf-s, %", Head: append([]string{"workload", "all, MB"}, kinds...)}
	within := 0.0
	for _, w := range names {
		p := b.of(w, "inf-s")
		list := []float64{p.Control, p.Data, p.Offloaded - p.Between, p.Between, float64(p.Across), float64(p.Within)}
		sum := 0.0
		for _, v := range list {
			sum += v
		}
		row := []string{w, fmt.Sprintf("%.2f", sum/1e6)}
		for _, v := range list {
			row = append(row, fmt.Sprintf("%.1f", 100*v/max(1, sum)))
		}
		t.Rows = append(t.Rows, row)
		within += 100 * float64(p.Within) / max(1, sum) / float64(len(names))
	}
	m.Add("moved within tiles", "%", within)
	m.Tables = []Table{t}
	m.draw("moves.svg", &t, "share of what moves, %", "Bytes of shifts, and bytes times links on the mesh.", true, kinds...)
	m.Notes = append(m.Notes, "elements between tiles count once as bytes, and those for other banks again on the mesh, by links")
	return m, nil
}

// wherePartsGo are the parts of the cycles of inf-s, in the order of infsPart.Shares.
var wherePartsGo = []string{"cores", "drain, flush", "DRAM", "JIT", "compute", "move", "between tiles", "sync", "final reduce", "near"}

// breakdown is where the cycles of inf-s went, by workload, with the means.
func (b *best) breakdown(title string, names []string) (t Table, mean [len(infsPart{}.Shares)]float64, jit float64) {
	t = Table{Title: title, Head: append(append([]string{"workload"}, wherePartsGo...), "operations in bitlines", "JIT, us")}
	for _, w := range names {
		p := b.of(w, "inf-s")
		t.Rows = append(t.Rows, append(append([]string{w}, percents(p.Shares)...), fmt.Sprintf("%.1f", p.JIT)))
		for i, v := range p.Shares {
			mean[i] += v / float64(len(names))
		}
		jit += p.JIT / float64(len(names))
	}
	t.Rows = append(t.Rows, append(append([]string{"mean"}, percents(mean)...), fmt.Sprintf("%.1f", jit)))
	return t, mean, jit
}

func infsFig14(ctx context.Context, env *Env) (*Measured, error) {
	var b, each, paper best
	m := &Measured{Reading: env.reading()}
	var err error
	if m.Failed, err = infsAll(ctx, env, infsDesigns, []string{"inf-s"}, "", func(workload, kernel, config string, p *infsPart) {
		b.add(workload, kernel, config, p)
		if kernel != beyondTable3 {
			each.add(kernel, kernel, config, p)
		}
	}); err != nil {
		return nil, err
	}
	names := b.whole([]string{"inf-s"})
	m.Notes = b.notes(env, names)
	if len(names) == 0 {
		return m, nil
	}
	t, mean, jit := b.breakdown("Where the cycles of inf-s went, %", names)
	// 26, 11, 32 and 19 % make up the paper's 88 %.
	m.Add("cycles of inf-s in memory", "%", 100-mean[0]-mean[8]-mean[9])
	addParts := func(mean [len(infsPart{}.Shares)]float64, under string) {
		m.Add("DRAM"+under, "%", mean[2])
		m.Add("JIT"+under, "%", mean[3])
		m.Add("compute"+under, "%", mean[4])
		m.Add("move"+under, "%", mean[5]+mean[6]+mean[7])
		m.Add("final reduce"+under, "%", mean[8])
	}
	addParts(mean, "")
	m.Add("operations in bitlines", "%", mean[10])
	m.Add("JIT, mean", "us", jit)
	for _, w := range []string{"gauss_elim", "stencil3d"} {
		if p := b.of(w, "inf-s"); p != nil {
			m.Add("JIT of "+w, "%", p.Shares[3])
			m.Add("JIT of "+w+", time", "us", p.JIT)
		}
	}
	m.Notes = append(m.Notes, "operations in bitlines are of those in regions in memory: what cores compute is not counted")
	m.Tables = []Table{t}
	m.draw("cycles.svg", &t, "share of the cycles, %", "What thread 0 waited for.", true, wherePartsGo...)
	m.Bounds = b.jitBounds(names)
	if kernels := each.whole([]string{"inf-s"}); len(m.Failed) == 0 {
		t, mean, _ := each.breakdown("The same of all kernels, not the best of each workload, %", kernels)
		m.Tables = append(m.Tables, t)
		addParts(mean, allKernels)
	}
	failed, err := infsAll(ctx, env, infsDesigns, []string{"inf-s"}, "paper", paper.add)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	for _, f := range failed {
		m.Failed = append(m.Failed, f+" (paper's latencies)")
	}
	if names = paper.whole([]string{"inf-s"}); len(names) > 0 {
		t, mean, _ := paper.breakdown("The same under the paper's latencies, %", names)
		m.Tables = append(m.Tables, t)
		addParts(mean, paperLatencies)
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
	for i, n := range []int64{c.Core, c.Drain + c.Flush, c.DRAM + c.Spill + c.Return, c.JIT, c.Compute, c.Move, c.Between, c.Sync, c.Final, c.Near} {
		p[i] = 100 * float64(n) / all
	}
	if a := r.arrays.Arrays; a != nil && a.Operations > 0 {
		p[10] = 100 * float64(a.Operations) / float64(a.Operations+a.NearOps)
	}
	return p
}

func infsFig15(ctx context.Context, env *Env) (*Measured, error) {
	m := &Measured{Reading: env.reading()}
	configs := infsConfigs[:4]
	t := Table{Title: "Speedups over the inner product in base", Head: append([]string{"kernel"}, configs...)}
	cycles := map[[2]string]int64{}
	var err error
	m.Failed, err = infsAll(ctx, env, products, configs, "", func(_, kernel, config string, p *infsPart) { cycles[[2]string{kernel, config}] = p.Cycles })
	if err != nil {
		return nil, err
	}
	log, n := 0.0, 0
	for _, list := range products {
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
		outer := int64(0) // the fastest
		for _, name := range list[1:] {
			if c := cycles[[2]string{name, "inf-s"}]; c > 0 {
				outer = min(c, cmp.Or(outer, c))
			}
		}
		if outer > 0 && inner > 0 {
			log += math.Log(float64(inner) / float64(outer))
			n++
		}
	}
	if n > 0 {
		m.Add("outer in inf-s over inner in base", "x", math.Exp(log/float64(n)))
	}
	m.Tables = []Table{t}
	m.draw("products.svg", &t, "speedup over the inner product in base", "Speedups over the inner product in base.", false)
	m.Notes = []string{
		fmt.Sprintf("the mean is of %d workloads of %d", n, len(products)),
		"loads of cores found the program's values; small sizes are compared with the sequential program, and units in memory with the interpreter of graphs, bit by bit",
	}
	return m, nil
}

func infsFig18(ctx context.Context, env *Env) (*Measured, error) {
	var b best
	m := &Measured{Reading: env.reading()}
	configs := infsConfigs[:4]
	var err error
	if m.Failed, err = infsAll(ctx, env, infsDesigns, configs, "", b.add); err != nil {
		return nil, err
	}
	t := Table{Title: "Energy of base in uJ, and energy efficiency over it", Head: append([]string{"workload", "base, uJ"}, configs[1:]...)}
	parts := Table{Title: "Energy by what takes it, base = 1", Head: []string{"workload, configuration"}}
	for _, g := range energyGroups {
		parts.Head = append(parts.Head, g.name)
	}
	var missing []string
	for _, w := range b.names {
		base := b.of(w, multicore.Base)
		if base == nil {
			continue
		}
		row := []string{w, fmt.Sprintf("%.1f", base.energy()/1e6)}
		for _, config := range configs {
			p := b.of(w, config)
			if p == nil {
				row = append(row, "-")
				continue
			}
			if config != multicore.Base {
				row = append(row, fmt.Sprintf("%.2f", base.energy()/p.energy()))
			}
			of := []string{w + " " + config}
			for _, v := range p.Energy {
				of = append(of, fmt.Sprintf("%.3f", v/base.energy()))
			}
			parts.Rows = append(parts.Rows, of)
			for _, line := range p.Missing {
				if !slices.Contains(missing, line) {
					missing = append(missing, line)
				}
			}
		}
		t.Rows = append(t.Rows, row)
	}
	m.Tables = []Table{t, parts}
	m.draw("efficiency.svg", &t, "energy efficiency over base", "Energy of base over that of others: more is better.", false, configs[1:]...)
	m.draw("parts.svg", &parts, "energy, base = 1", "Energy by what takes it.", true)
	names := b.whole(configs)
	if len(names) == 0 {
		return m, nil
	}
	low, err := lowPower()
	if err != nil {
		return nil, err
	}
	for _, config := range []string{"in-l3", "inf-s"} {
		log, other := 0.0, 0.0
		var near, arrays []*infsPart
		for _, w := range names {
			p, q := b.of(w, "near-l3"), b.of(w, config)
			near, arrays = append(near, p), append(arrays, q)
			log += math.Log(p.energy() / q.energy())
			other += math.Log((p.energy() - (1-low)*p.Energy[leakingCores]) / (q.energy() - (1-low)*q.Energy[leakingCores]))
		}
		n := float64(len(names))
		m.Add("energy of near-l3 over "+config, "x", math.Exp(log/n))
		m.Add("energy of near-l3 over "+config+lowPowerCores, "x", math.Exp(other/n))
		for _, name := range []string{"energy of near-l3 over " + config, "energy of near-l3 over " + config + lowPowerCores} {
			m.Bounds = append(m.Bounds, Bound{name, AtMost, mostEnergy(near, arrays), "with any leakage of cores, the same for all workloads", "between two leakages a workload's ratio is at most the greater one of those there, and all are looked at in steps of 1 %"})
		}
	}
	m.Notes = b.notes(env, names)
	if len(missing) > 0 {
		m.Notes = append(m.Notes, "happened, and has no value in "+infsEnergy+": "+strings.Join(missing, ", "))
	}
	return m, nil
}

// lowPowerCores names what holds if cores are of devices that leak less.
const lowPowerCores = ", cores of low-power devices"

// lowPower is the share of the leakage of cores that those of low-operating-power devices have.
func lowPower() (float64, error) {
	table, err := cost.Load(infsEnergy)
	if err != nil {
		return 0, err
	}
	all := table.Get("core.power")
	for i := range table.Values {
		if v := &table.Values[i]; v.Name == "leakage of a core of low-operating-power devices" {
			return *v.Value / *all.Value, nil
		}
	}
	return 0, fmt.Errorf("reproduce: %s has no leakage of cores of low-operating-power devices", infsEnergy)
}

func infsEq1(ctx context.Context, _ *Env) (*Measured, error) {
	m, err := tile.LoadMachine("infinity-stream-base")
	if err != nil {
		return nil, err
	}
	add, err := arith.Build(ctx, arith.Spec{Op: "int32.add", Tech: m.Array.Technology})
	if err != nil {
		return nil, err
	}
	cores := float64(m.Banks() * m.CoreVariant().SIMDBits / 32)
	t := Table{Title: "Additions of 32-bit integers a cycle", Head: []string{"by", "cycles of one", "in memory", "a vector on each core", "times"}}
	peak := float64(m.Bitlines()) / float64(add.Latency())
	for _, x := range []struct {
		name   string
		cycles int
	}{{"the paper's formula", 32}, {"the program", add.Latency()}} {
		v := float64(m.Bitlines()) / float64(x.cycles)
		t.Rows = append(t.Rows, []string{x.name, fmt.Sprint(x.cycles), fmt.Sprintf("%.0f", v), fmt.Sprint(cores), fmt.Sprintf("%.1f", v/cores)})
	}
	r := &Measured{Tables: []Table{t}, Notes: []string{"nothing is executed here: bitsched verify int32.add compares the program with the processor"}}
	r.Add("additions a cycle", "", peak)
	r.Add("over the cores", "x", peak/cores)
	return r, nil
}

// fig2Threads are those of the figure.
var fig2Threads = []int{1, 64}

func infsFig2(ctx context.Context, env *Env) (*Measured, error) {
	last := int64(256 << 10)
	if env.Size == PaperSizes {
		last = 4 << 20
	}
	names := []string{"vec_add", "array_sum"}
	type run struct {
		config  string
		threads int
	}
	runs := []run{{"inf-s-nojit", fig2Threads[len(fig2Threads)-1]}}
	for _, config := range []string{multicore.Base, "near-l3"} {
		for _, threads := range fig2Threads {
			runs = append(runs, run{config, threads})
		}
	}
	var jobs []job
	var cycles []*fig2Cycles
	for _, name := range names {
		for n := int64(16 << 10); n <= last; n *= 4 {
			for _, r := range runs {
				c := &fig2Cycles{}
				cycles = append(cycles, c)
				jobs = append(jobs, job{fmt.Sprintf("%s of %d in %s on %d threads", name, n, r.config, r.threads), func(ctx context.Context, env *Env) error {
					return inSamples(ctx, sampledIn(env, r.config), c, func(c *fig2Cycles, s *multicore.Sampling) (*multicore.Report, error) {
						k, args, err := nearWorkload(ctx, &Env{Size: Small, Seed: env.Seed}, name, map[string]map[string]int64{name: {"N": n}})
						if err != nil {
							return nil, err
						}
						return c.run(ctx, env, k, args, r.config, s, r.threads)
					}, "infs:fig2", name, n, r.config, r.threads, env.Sample)
				}})
			}
		}
	}
	ended, failed, err := env.runJobs(ctx, jobs)
	if err != nil {
		return nil, err
	}
	m := &Measured{Failed: failed}
	if env.Size == Small {
		m.Notes = []string{"every run is compared with the sequential program"}
	}
	at := 0
	for _, name := range names {
		t := Table{Title: name + ", cycles", Head: []string{"elements", "base, 1 thread", "base, 64", "near-l3, 1 thread", "near-l3, 64", "in memory, transposed", "of which last steps"}}
		sizes, fastest := 0, 0
		for n := int64(16 << 10); n <= last; n *= 4 {
			row := []string{fmt.Sprint(n)}
			near, least := int64(0), int64(math.MaxInt64)
			inside, ok := cycles[at], ended[at]
			for j := 1; j < len(runs); j++ {
				if near = 0; !ended[at+j] {
					row = append(row, "-")
					continue
				}
				near = cycles[at+j].All
				least = min(least, near)
				row = append(row, fmt.Sprint(near))
			}
			at += len(runs)
			if !ok {
				t.Rows = append(t.Rows, append(row, "-", "-"))
				continue
			}
			sizes++
			if inside.Inside < least {
				fastest++
			}
			if name == "vec_add" && n == 4<<20 && near > 0 {
				m.Add("vec_add in memory over near-l3 at 4M", "x", float64(near)/float64(inside.Inside))
			}
			t.Rows = append(t.Rows, append(row, fmt.Sprint(inside.Inside), fmt.Sprint(inside.Final)))
		}
		if sizes > 0 {
			m.Add("sizes of "+name+" that are fastest in memory", "%", 100*float64(fastest)/float64(sizes))
		}
		m.Tables = append(m.Tables, t)
		if svg := t.lines("elements", "cycles", "Both axes are logarithmic; fewer cycles are better.", t.Head[1:6]...); svg != nil {
			m.Figures = append(m.Figures, Figure{name + ".svg", svg})
		}
	}
	return m, nil
}

// fig2Cycles are those of a run, those in arrays, and of these those of last steps of
// reductions.
type fig2Cycles struct{ All, Inside, Final int64 }

func (c *fig2Cycles) run(ctx context.Context, env *Env, k *workload.Kernel, args *memory.Memory, config string, sample *multicore.Sampling, threads int) (*multicore.Report, error) {
	r, err := runInfinity(ctx, env, k, args, "infinity-stream-base", config, sample, func(o *fused.Options) { o.Threads, o.Warm = threads, true })
	if err != nil {
		return nil, err
	}
	c.All = r.Cycles
	if r.arrays != nil {
		a := &r.arrays.Cycles
		c.Inside, c.Final = a.Compute+a.Move+a.Between+a.Sync+a.Final, a.Final
	}
	return r.Report, nil
}
