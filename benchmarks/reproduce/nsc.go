package reproduce

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/benchmarks/potential"
	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/tile"
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
			{Name: "traffic that ideal private caches save", Section: "II", Unit: "%", Paper: 27, Tolerance: 10, Points: true},
			{Name: "traffic that computing near the L3 saves", Section: "II", Unit: "%", Paper: 64, Tolerance: 10, Points: true},
		},
		Run: nearPotential,
	},
}

// sixteenth are sizes of workloads with about a sixteenth of the arrays of the paper, and
// fewer rounds.
var sixteenth = map[string]map[string]int64{
	"pathfinder": {"N": 96 << 10, "T": 2}, "srad": {"N": 256, "M": 512, "T": 2}, "hotspot": {"N": 512, "M": 256, "T": 2},
	"hotspot3D": {"L": 8, "N": 256, "M": 64, "T": 2}, "histogram": {"N": 768 << 10}, "scluster": {"N": 48 << 10, "T": 2}, "svm": {"N": 24 << 10, "T": 2},
	"bfs_push": {"V": 16 << 10, "E": 225_000}, "bfs_pull": {"V": 16 << 10, "E": 225_000}, "pr_push": {"V": 16 << 10, "E": 225_000, "T": 2},
	"pr_pull": {"V": 16 << 10, "E": 225_000, "T": 2}, "sssp": {"V": 16 << 10, "E": 225_000}, "bin_tree": {"N": 8 << 10, "Q": 32 << 10},
	"hash_join": {"N": 16 << 10, "B": 16 << 10, "Q": 32 << 10},
}

const idealCache = 256 << 10

func nearPotential(ctx context.Context, env *Env) (*Measured, error) {
	machine, err := tile.LoadMachine("nsc")
	if err != nil {
		return nil, err
	}
	sys := potential.System{Mesh: machine.NoCConfig(), LineBytes: machine.L3.LineBytes, CacheBytes: idealCache}
	if env.Size == Small {
		sys.CacheBytes /= 16
	}
	m := &Measured{Notes: []string{"micro-ops are those of one thread; means are over workloads, each of which counts the same"}}
	ops := Table{Title: "Micro-ops, %", Head: []string{"workload", "micro-ops", "load and reduce", "store and RMW", "other"}}
	moved := Table{Title: "Bytes of data times links, those without private caches = 1", Head: []string{"workload", "accesses", "ideal private caches", "near the L3"}}
	var load, store, private, near float64
	list := kernels.NearStream()
	for i, w := range list {
		env.progress(w.Name, i, len(list))
		k, err := workload.Builtin(w.Name, env.Size == PaperSizes)
		if err != nil {
			return nil, err
		}
		var values map[string]int64
		if env.Size == Small {
			values = maps.Clone(sixteenth[w.Name])
		}
		if err := k.CompileWhole(ctx, values, nil, false); err != nil {
			return nil, err
		}
		args, err := k.Arguments(ctx, env.Seed, nil)
		if err != nil {
			return nil, err
		}
		program := func() *potential.Program {
			mem, a := k.Streams(args.Clone())
			return &potential.Program{Graph: k.Whole, Memory: mem, Args: a, Reassociate: k.Reassociate}
		}
		o, err := potential.MicroOps(ctx, program())
		if err != nil {
			return nil, err
		}
		t, err := potential.Move(ctx, program(), sys)
		if err != nil {
			return nil, err
		}
		share := func(n int64) float64 { return 100 * float64(n) / float64(max(1, o.Total())) }
		rest := func(n int64) float64 { return float64(n) / float64(max(1, t.NoPrivate)) }
		n := float64(len(list))
		load, store = load+share(o.Load)/n, store+share(o.Store)/n
		private, near = private+100*(1-rest(t.Private))/n, near+100*(1-rest(t.NearLLC))/n
		ops.Rows = append(ops.Rows, []string{w.Name, strconv.FormatInt(o.Total(), 10), fmt.Sprintf("%.1f", share(o.Load)), fmt.Sprintf("%.1f", share(o.Store)), fmt.Sprintf("%.1f", share(o.Other))})
		moved.Rows = append(moved.Rows, []string{w.Name, strconv.FormatInt(t.Accesses, 10), fmt.Sprintf("%.2f", rest(t.Private)), fmt.Sprintf("%.2f", rest(t.NearLLC))})
	}
	m.Add("micro-ops of load and reduce streams", "%", load)
	m.Add("micro-ops of store and RMW streams", "%", store)
	m.Add("traffic that ideal private caches save", "%", private)
	m.Add("traffic that computing near the L3 saves", "%", near)
	m.Tables = []Table{ops, moved}
	return m, nil
}
