package reproduce

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/sram/cost"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg/memory"
)

// nearRun is a way to run a workload: a configuration, on a machine with some parameters
// changed, names and values in turn.
type nearRun struct {
	config string
	set    []string
	title  string // of what is changed, "" for a list
}

func (r nearRun) text() string {
	text := r.config
	if r.title != "" {
		return text + ", " + r.title
	}
	for i := 0; i+1 < len(r.set); i += 2 {
		text += fmt.Sprintf(", %s %s", r.set[i], r.set[i+1])
	}
	return text
}

// nearPart is what the figures need of a run. It is kept on its own, so that work that was
// stopped goes on, and figures share runs.
type nearPart struct {
	Cycles    int64
	MicroOps  uint64
	Traffic   uint64  // bytes x hops
	Offloaded uint64  // of it, messages for streams
	Sync      uint64  // of it, those of range-sync
	Loops     uint64  // configured at the L3
	Energy    float64 // pJ, of what the table knows
	Missing   []string
	// Atomics are those at the L3 whose old value the core takes, Conflicts those of them that
	// waited for a line, and Contention the cycles that they did.
	Atomics, Conflicts, Contention uint64
	Bound                          float64 // of the cycles, of a run in samples; -1: too few windows, 0: all is in time
}

// nearParts are the runs of the workloads, as far as they have ended.
type nearParts struct {
	names  []string
	runs   []nearRun
	parts  map[string][]*nearPart // nil where a run has not ended
	failed []string
}

// nearAll runs workloads (nil: all), each in all ways. When it is stopped it says so among
// the failures, if there is a run at all.
func nearAll(ctx context.Context, env *Env, only []string, runs ...nearRun) (*nearParts, error) {
	table, err := cost.Load(energyTable)
	if err != nil {
		return nil, err
	}
	all := &nearParts{runs: runs, parts: map[string][]*nearPart{}}
	for _, w := range kernels.NearStream() {
		if (only == nil || slices.Contains(only, w.Name)) && env.chosen(w.Name) {
			all.names = append(all.names, w.Name)
			all.parts[w.Name] = make([]*nearPart, len(runs))
		}
	}
	var jobs []job
	var parts []*nearPart
	for _, r := range runs { // so that means are there as early as possible
		for _, name := range all.names {
			p := &nearPart{}
			parts = append(parts, p)
			jobs = append(jobs, job{name + " in " + r.text(), func(ctx context.Context, env *Env) error {
				return inSamples(ctx, env, p, func(p *nearPart, s *multicore.Sampling) (*multicore.Report, error) {
					k, args, err := nearWorkload(ctx, env, name, sixteenth)
					if err != nil {
						return nil, err
					}
					return p.run(ctx, env, k, args, r, s, table)
				}, "nsc", name, r.config, r.set, env.Readings, env.Rounds, env.Sample)
			}})
		}
	}
	ended, failed, err := env.runJobs(ctx, jobs)
	for i, ok := range ended {
		if ok {
			all.parts[all.names[i%len(all.names)]][i/len(all.names)] = parts[i]
		}
	}
	all.failed = failed
	return all, err
}

// nearNames are the names of the workloads of table VI.
func nearNames() (names []string) {
	for _, w := range kernels.NearStream() {
		names = append(names, w.Name)
	}
	return names
}

// nearReading is what the figures are under, "" where all is as the paper has it.
func nearReading(env *Env) string {
	if env.Rounds != Simulator || env.Size != PaperSizes {
		return env.reading()
	}
	return strings.TrimPrefix(env.reading()+", iterations as many as the authors' scripts run", ", ")
}

// nearMachine is the machine for a size and for the readings of what is not in the paper.
func nearMachine(env *Env) string {
	name := "nsc"
	if env.Readings == Simulator {
		name = "nsc-simulator"
	}
	if env.Size == Small {
		name += "-small"
	}
	return name
}

// run is one run, in samples or nil for all in time, whose result is compared with the definition
// of the workload.
func (p *nearPart) run(ctx context.Context, env *Env, k *workload.Kernel, args *memory.Memory, x nearRun, sample *multicore.Sampling, table *cost.Table) (*multicore.Report, error) {
	m, err := env.machine(nearMachine(env), x.set...)
	if err != nil {
		return nil, err
	}
	after := args.Clone()
	mem, a := k.Streams(after)
	opt := multicore.Options{Machine: m, Threads: m.Banks(), Config: x.config, Warm: true, Seed: env.Seed, Jitter: env.timing(), Sample: sample}
	opt.Progress = func(q multicore.Progress) {
		env.progress(fmt.Sprintf("%s in %s: %.1f M micro-ops in %.0f s,", k.Builtin.Name, x.text(), float64(q.MicroOps)/1e6, q.Seconds), int(1000*q.Share), 1000)
	}
	r, err := multicore.Run(ctx, &multicore.Program{Graph: k.Whole, Memory: mem, Args: a, Reassociate: k.Reassociate}, opt)
	if err != nil {
		return nil, err
	}
	*p = nearPart{Cycles: r.Cycles, MicroOps: r.MicroOps, Traffic: r.Streams.Total(), Offloaded: r.Streams.Offloaded, Loops: r.Streams.Core.Offloaded}
	b := &r.Streams.Bank
	p.Atomics, p.Conflicts, p.Contention = b.Atomics, b.Conflicts, b.ConflictCycles
	for _, c := range r.Streams.Messages {
		if slices.Contains([]string{"credit", "commit", "done", "range", "end", "ended"}, c.Name) {
			p.Sync += c.ByteHops
		}
	}
	if t := r.Sample; t != nil && t.Forwarded > 0 {
		p.Bound = t.Bound
		for _, n := range []*uint64{&p.Traffic, &p.Offloaded, &p.Sync, &p.Atomics, &p.Conflicts, &p.Contention} { // those of windows
			*n = uint64(t.Scale(r.MicroOps) * float64(*n))
		}
	}
	if e := r.Energy(m, table); e != nil {
		if e.Total != nil {
			p.Energy = *e.Total
		}
		p.Missing = e.LeftOut
	}
	return r, k.Builtin.Check(k.Sizes, args, after)
}

// at finds the run of a configuration on the machine as it is.
func (a *nearParts) at(config string) int {
	return slices.IndexFunc(a.runs, func(r nearRun) bool { return r.config == config && len(r.set) == 0 })
}

// both are the workloads that ran in two ways.
func (a *nearParts) both(i, j int) (names []string) {
	for _, name := range a.names {
		if a.parts[name][i] != nil && a.parts[name][j] != nil {
			names = append(names, name)
		}
	}
	return names
}

// ratio is the geometric mean of a quantity in one run over that in another one, of the
// workloads that ran in both; ok is false if there are none.
func (a *nearParts) ratio(i, j int, of func(p *nearPart) float64) (mean float64, ok bool) {
	names := a.both(i, j)
	for _, name := range names {
		mean += math.Log(of(a.parts[name][i])/of(a.parts[name][j])) / float64(len(names))
	}
	return math.Exp(mean), len(names) > 0
}

func (a *nearParts) speedup(i, j int) (mean float64, ok bool) {
	return a.ratio(j, i, func(p *nearPart) float64 { return float64(p.Cycles) })
}

// saved is the mean share of a quantity of run i that run j does not have, in percent.
func (a *nearParts) saved(i, j int, of func(p *nearPart) uint64) (share float64, ok bool) {
	names := a.both(i, j)
	for _, name := range names {
		share += 100 * (1 - float64(of(a.parts[name][j]))/float64(max(1, of(a.parts[name][i])))) / float64(len(names))
	}
	return share, len(names) > 0
}

func traffic(p *nearPart) uint64 { return p.Traffic }

// cell is a figure of two runs of a workload, "-" if one has not ended.
func (a *nearParts) cell(name string, i, j int, format string, f func(x, y *nearPart) float64) string {
	x, y := a.parts[name][i], a.parts[name][j]
	if x == nil || y == nil {
		return "-"
	}
	return fmt.Sprintf(format, f(x, y))
}

func faster(x, y *nearPart) float64 { return float64(x.Cycles) / float64(max(1, y.Cycles)) }

func moved(x, y *nearPart) float64 { return float64(y.Traffic) / float64(max(1, x.Traffic)) }

// cycles of a run, with its bound if it was in samples.
func (a *nearParts) cycles(name string, i int) string {
	p := a.parts[name][i]
	if p == nil {
		return "-"
	}
	return boundedCycles(p.Cycles, p.Bound)
}

// boundedCycles are cycles of a run with the share that they may be off by: -1 if that is
// not known, 0 if all was in time.
func boundedCycles(cycles int64, bound float64) string {
	switch {
	case bound < 0:
		return fmt.Sprintf("%d ±?", cycles)
	case bound > 0:
		return fmt.Sprintf("%d ±%.1f%%", cycles, 100*bound)
	}
	return fmt.Sprint(cycles)
}

// measured begins the result of a figure.
func (a *nearParts) measured(env *Env) *Measured {
	m := &Measured{Failed: a.failed, Reading: nearReading(env), Notes: []string{env.machineNote(nearMachine(env)), "every run is compared with the definition of its workload, and loads of cores with the program's values"}}
	var missing []string
	for _, name := range a.names {
		if slices.Contains(a.parts[name], nil) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		m.Notes = append(m.Notes, "a mean is of the workloads that ran in both of its configurations; not in all: "+strings.Join(missing, ", "))
	}
	if env.Sample > 0 {
		m.Notes = append(m.Notes, env.sampleNote(""))
	}
	return m
}

// add adds a value if there is one.
func (m *Measured) add(name, unit string, v float64, ok bool) {
	if ok {
		m.Add(name, unit, v)
	}
}
