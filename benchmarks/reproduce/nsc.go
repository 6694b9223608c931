package reproduce

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/benchmarks/potential"
	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/lowering/nearstream"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// nscEntries are the tables and figures of Near-Stream Computing.
var nscEntries = []*Entry{
	{
		ID: "nsc:fig1", Title: "Potential of near-data computing", Paper: "Near-Stream Computing, Fig. 1 and section I",
		Doc: "micro-ops that belong to streams, by kind, and bytes of data times links of three abstract systems: no private caches, ideal ones of 256 kB, and computation " +
			"where operands are; the small size has a sixteenth of arrays and of caches",
		Claims: []Claim{
			{Name: "micro-ops of load and reduce streams", Section: "II", Unit: "%", Paper: 21, Tolerance: 10, Points: true},
			{Name: "micro-ops of store and RMW streams", Section: "II", Unit: "%", Paper: 31, Tolerance: 10, Points: true},
			{Name: "load and reduce, without operands of stores", Section: "II", Unit: "%", Paper: 21, Tolerance: 10, Points: true, Reading: readOperands},
			{Name: "store and RMW, with their operands", Section: "II", Unit: "%", Paper: 31, Tolerance: 10, Points: true, Reading: readOperands},
			{Name: "traffic that ideal private caches save", Section: "II", Unit: "%", Paper: 27, Tolerance: 10, Points: true},
			{Name: "traffic that computing near the L3 saves", Section: "II", Unit: "%", Paper: 64, Tolerance: 10, Points: true},
			{Name: "the same, of pure data", Section: "II", Unit: "%", Paper: 64, Tolerance: 10, Points: true, Reading: "subscripts and pointers that go from bank to bank are addresses, not data"},
		},
		Workloads: nearNames,
		Run:       nearPotential,
	},
	{
		ID: "nsc:tab1-3", Title: "Address and compute patterns near the L3", Paper: "Near-Stream Computing, tables I and II",
		Doc: "the 16 combinations of address patterns and computations as loops in C, and the workloads: which the compiler places near the L3; the small and the paper's size are " +
			"the same, since sizes stay symbols",
		Claims: []Claim{
			{Name: "patterns near the L3", Section: "Tab. I, II", Unit: "of 16", Paper: 16},
			{Name: "workloads that compute near the L3", Section: "Tab. I", Unit: "of 14", Paper: 14},
			{Name: "workloads with the pattern of table VI near the L3", Section: "Tab. VI", Unit: "of 14", Paper: 14},
		},
		Run: nearPatterns,
	},
}

// sixteenth are sizes of workloads with about a sixteenth of the arrays of the paper, and
// fewer rounds.
var sixteenth = map[string]map[string]int64{
	"pathfinder": {"N": 96 << 10, "T": 2}, "srad": {"N": 256, "M": 512, "T": 2}, "hotspot": {"N": 512, "M": 256, "T": 2},
	"hotspot3D": {"L": 8, "N": 256, "M": 64, "T": 2}, "histogram": {"N": 768 << 10, "Q": 64}, "scluster": {"N": 48 << 10, "T": 2}, "svm": {"N": 24 << 10, "T": 2},
	"bfs_push": {"V": 16 << 10, "E": 225_000}, "bfs_pull": {"V": 16 << 10, "E": 225_000}, "pr_push": {"V": 16 << 10, "E": 225_000, "T": 2},
	"pr_pull": {"V": 16 << 10, "E": 225_000, "T": 2}, "sssp": {"V": 16 << 10, "E": 225_000}, "bin_tree": {"N": 8 << 10, "Q": 32 << 10},
	"hash_join": {"N": 16 << 10, "B": 2 << 10, "Q": 32 << 10},
}

const idealCache = 256 << 10

const readOperands = "a load whose value only stores and updates take belongs to these"

// tableII is one loop in C for each combination of table II: the loop around it, what the
// stream accesses, and the other operand, which is a value that does not change unless it
// is the case of several operands.
var tableII = []struct{ pattern, loop, element, with string }{
	{"affine", "for (int i = 0; i < N; i++)", "A[i]", "k"}, {"indirect", "for (int i = 0; i < N; i++)", "A[I[i]]", "k"},
	{"pointer-chasing", "for (int p = 0; p >= 0; p = next[p])", "A[p]", "k"}, {"multi-operand", "for (int i = 0; i < N; i++)", "A[i]", "B[i]"},
}

// tableIIKinds are its columns. What a load computes is made smaller and goes to the core.
var tableIIKinds = []struct {
	kind stream.Kind
	body string
}{
	{stream.Load, "{ uint8_t c = (%[1]s ^ %[2]s) >> 4; s = s * 3 + c; T[s & 15] = 1; }"}, {stream.Store, "%[1]s = %[2]s;"}, {stream.RMW, "%[1]s += %[2]s;"},
	{stream.Reduce, "s += %[1]s * %[2]s;"},
}

const tableIISource = `#include "bitsched.h"
void f(int N, uint32_t k, const int32_t I[N], const int32_t next[N], int32_t A[N], const int32_t B[N], int32_t T[16])
{
	inf_array(I, N); inf_array(next, N); inf_array(A, N); inf_array(B, N); inf_array(T, 16);
	uint32_t s = 0;
	%s %s
	T[0] = s;
}
`

// nearPatterns counts what the compiler places near the L3.
func nearPatterns(ctx context.Context, env *Env) (*Measured, error) {
	m := &Measured{Notes: []string{"the other rows of the tables are what the papers of rivals say of themselves, and are not measured"}}
	patterns := Table{Title: "Patterns of table II", Head: []string{"address", "load", "store", "RMW", "reduce"}}
	found := 0.0
	for _, p := range tableII {
		row := []string{p.pattern}
		for _, k := range tableIIKinds {
			g, err := cfront.CompileWhole(ctx, "f.c", fmt.Sprintf(tableIISource, p.loop, fmt.Sprintf(k.body, p.element, p.with)), cfront.Options{})
			if err != nil {
				return nil, err
			}
			plan, err := nearstream.Analyze(g)
			if err != nil {
				return nil, err
			}
			text := "core"
			if slices.ContainsFunc(plan.Streams, func(s *nearstream.Stream) bool {
				return s.Kind == k.kind && s.Pattern() == p.pattern && s.Place == nearstream.Near && (len(s.Ops) > 0 || k.kind == stream.Store)
			}) {
				text = "near L3"
				found++
			}
			row = append(row, text)
		}
		patterns.Rows = append(patterns.Rows, row)
	}
	workloads := Table{Title: "Workloads", Head: []string{"workload", "streams", "near the L3", "address only", "core", "that table VI names"}}
	computing, named := 0.0, 0.0
	for _, w := range kernels.NearStream() {
		g, err := cfront.CompileWhole(ctx, w.File, w.Source, cfront.Options{})
		if err != nil {
			return nil, err
		}
		plan, err := nearstream.Analyze(g)
		if err != nil {
			return nil, err
		}
		count := map[nearstream.Place]int{}
		computes, has := false, false
		for _, s := range plan.Streams {
			count[s.Place]++
			near := s.Place == nearstream.Near
			computes = computes || near && (len(s.Ops) > 0 || s.Kind != stream.Load)
			has = has || near && len(s.Ops)+len(s.Inputs) > 0 && tableVI[w.Name](s)
		}
		if computes {
			computing++
		}
		verdict := "no"
		if has {
			named++
			verdict = "near L3"
		}
		workloads.Rows = append(workloads.Rows, []string{w.Name, strconv.Itoa(len(plan.Streams)), strconv.Itoa(count[nearstream.Near]), strconv.Itoa(count[nearstream.AddressNear]), strconv.Itoa(count[nearstream.InCore]), verdict})
	}
	m.Add("patterns near the L3", "of 16", found)
	m.Add("workloads that compute near the L3", "of 14", computing)
	m.Add("workloads with the pattern of table VI near the L3", "of 14", named)
	m.Tables = []Table{patterns, workloads}
	return m, nil
}

// tableVI tells the streams of a workload that have the address and compute pattern of
// table VI.
var tableVI = map[string]func(s *nearstream.Stream) bool{
	"pathfinder": operandStore, "srad": operandStore, "hotspot": operandStore, "hotspot3D": operandStore,
	"histogram": func(s *nearstream.Stream) bool { return s.Address == nearstream.Affine && s.Kind == stream.Load },
	"scluster":  func(s *nearstream.Stream) bool { return s.Kind == stream.Load || s.Kind == stream.Reduce },
	"svm":       func(s *nearstream.Stream) bool { return s.Kind == stream.Load || s.Kind == stream.Reduce },
	"bfs_push":  indirectAtomic, "pr_push": indirectAtomic, "sssp": indirectAtomic,
	"bfs_pull": indirectReduce, "pr_pull": indirectReduce,
	"bin_tree": func(s *nearstream.Stream) bool { return s.Address == nearstream.PointerChasing },
	"hash_join": func(s *nearstream.Stream) bool {
		return s.Address == nearstream.PointerChasing && s.Kind == stream.Reduce
	},
}

func operandStore(s *nearstream.Stream) bool {
	return s.MultiOperand() && (s.Kind == stream.Store || s.Kind == stream.RMW)
}

func indirectAtomic(s *nearstream.Stream) bool {
	return s.Address == nearstream.Indirect && s.Atomic
}

func indirectReduce(s *nearstream.Stream) bool {
	return s.Address == nearstream.Indirect && s.Kind == stream.Reduce
}

// scriptRounds are iterations of workloads whose run scripts simulate fewer than table VI has
// (gem-forge-script, BenchmarkDrivers/Rodinia.py: WORK_ITEMS of hotspot, hotspot3D, srad and
// scluster; the 7 of 8 of pathfinder, whose rows go in pairs, are left at 8). For PageRank no
// source says how many: one, as each does the same.
var scriptRounds = map[string]map[string]int64{"hotspot": {"T": 2}, "hotspot3D": {"T": 2}, "srad": {"T": 2}, "scluster": {"T": 4}, "pr_push": {"T": 1}, "pr_pull": {"T": 1}}

// nearWorkload compiles a workload and makes its arguments, at the size of env: the paper's,
// or one of a table.
func nearWorkload(ctx context.Context, env *Env, name string, small map[string]map[string]int64) (*workload.Kernel, *memory.Memory, error) {
	k, err := workload.Builtin(name, env.Size == PaperSizes)
	if err != nil {
		return nil, nil, err
	}
	var values map[string]int64
	switch {
	case env.Size == Small:
		values = maps.Clone(small[name])
	case env.Rounds == Simulator:
		values = maps.Clone(scriptRounds[name])
	}
	if err := k.CompileWhole(ctx, values, nil, false); err != nil {
		return nil, nil, err
	}
	args, err := k.Arguments(ctx, env.Seed, nil)
	return k, args, err
}

func nearPotential(ctx context.Context, env *Env) (*Measured, error) {
	machine, err := env.machine("nsc")
	if err != nil {
		return nil, err
	}
	sys := potential.System{Mesh: machine.NoCConfig(), LineBytes: machine.L3.LineBytes, CacheBytes: idealCache}
	if env.Size == Small {
		sys.CacheBytes /= 16
	}
	type part struct {
		Ops   potential.Ops
		Moved potential.Traffic
	}
	names := slices.DeleteFunc(nearNames(), func(name string) bool { return !env.chosen(name) })
	parts, jobs := make([]part, len(names)), make([]job, len(names))
	for i, name := range names {
		jobs[i] = job{name, func(ctx context.Context, env *Env) error {
			p := &parts[i]
			return env.kept(p, func() error {
				k, args, err := nearWorkload(ctx, env, name, sixteenth)
				if err != nil {
					return err
				}
				program := func() *potential.Program {
					mem, a := k.Streams(args.Clone())
					return &potential.Program{Graph: k.Whole, Memory: mem, Args: a, Reassociate: k.Reassociate}
				}
				if p.Ops, err = potential.MicroOps(ctx, program()); err != nil {
					return err
				}
				p.Moved, err = potential.Move(ctx, program(), sys)
				return err
			}, "nsc:fig1", name)
		}}
	}
	ended, failed, err := env.runJobs(ctx, jobs)
	if err != nil {
		return nil, err
	}
	m := &Measured{Reading: env.readingOfAny(), Failed: failed, Notes: []string{"micro-ops are those of one thread; means are over workloads, each of which counts the same"}}
	ops := Table{Title: "Micro-ops, %", Head: []string{"workload", "micro-ops", "load and reduce", "of which operands of stores", "store and RMW", "other"}}
	moved := Table{Title: "Bytes of data times links, those without private caches = 1", Head: []string{"workload", "accesses", "ideal private caches", "near the L3", "without addresses"}}
	var load, store, operands, private, near, data, least, n float64
	for _, ok := range ended {
		if ok {
			n++
		}
	}
	for i, name := range names {
		if !ended[i] {
			continue
		}
		o, t := &parts[i].Ops, &parts[i].Moved
		share := func(n int64) float64 { return 100 * float64(n) / float64(max(1, o.Total())) }
		rest := func(n int64) float64 { return float64(n) / float64(max(1, t.NoPrivate)) }
		load, store, operands = load+share(o.Load)/n, store+share(o.Store)/n, operands+share(o.Operands)/n
		private, near, data = private+100*(1-rest(t.Private))/n, near+100*(1-rest(t.NearLLC))/n, data+100*(1-rest(t.NearLLC-t.Addresses))/n
		least += 100 * (1 - rest(t.NoPrivate-t.Found)) / n
		ops.Rows = append(ops.Rows, []string{name, strconv.FormatInt(o.Total(), 10), fmt.Sprintf("%.1f", share(o.Load)), fmt.Sprintf("%.1f", share(o.Operands)), fmt.Sprintf("%.1f", share(o.Store)), fmt.Sprintf("%.1f", share(o.Other))})
		moved.Rows = append(moved.Rows, []string{name, strconv.FormatInt(t.Accesses, 10), fmt.Sprintf("%.2f", rest(t.Private)), fmt.Sprintf("%.2f", rest(t.NearLLC)), fmt.Sprintf("%.2f", rest(t.NearLLC-t.Addresses))})
	}
	if n == 0 {
		return m, nil
	}
	m.Add("micro-ops of load and reduce streams", "%", load)
	m.Add("micro-ops of store and RMW streams", "%", store)
	m.Add("load and reduce, without operands of stores", "%", load-operands)
	m.Add("store and RMW, with their operands", "%", store+operands)
	m.Add("traffic that ideal private caches save", "%", private)
	m.Add("traffic that computing near the L3 saves", "%", near)
	m.Add("the same, of pure data", "%", data)
	m.Bounds = []Bound{{
		Name: "traffic that ideal private caches save", Side: AtLeast, Value: least, With: "stores that all go to their bank, take room and save nothing",
		Why: "a load finds in any such cache what loads of its core have brought there, whatever becomes of stores",
	}}
	m.Tables = []Table{ops, moved}
	m.draw("micro-ops.svg", &ops, "micro-ops, %", "Micro-ops by whether they belong to streams.", true, "load and reduce", "store and RMW", "other")
	m.draw("traffic.svg", &moved, "bytes x links, no private caches = 1", "Bytes of data times links of three abstract systems.", false, "ideal private caches", "near the L3", "without addresses")
	return m, nil
}
