package mapstudy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bitsched/bitsched/benchmarks/results"
	"github.com/bitsched/bitsched/lowering/mapping"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
	"github.com/bitsched/bitsched/lowering/mapping/search"
)

// Options are those of every study.
type Options struct {
	Platforms []string
	Evals     int64
	Seed      uint64
	Seeds     int
	Threads   int
	Progress  func(done, total int, what string)

	// Store keeps what each job found, nil: nothing is kept. Of Shards parts of the jobs only
	// number Shard, from 1, is done; 0 is all. With Merge nothing is done: all must be kept.
	Store         *results.Store
	Shard, Shards int
	Merge         bool

	oursOnly bool // figure 5 without the searches of ARES, and without proofs
}

// PartError says that some jobs of a study are not done yet.
type PartError struct{ Done, Missing int }

func (e *PartError) Error() string {
	return fmt.Sprintf("mapstudy: %d jobs are done, %d are not", e.Done, e.Missing)
}

// PaperPlatforms are those of the evaluation.
var PaperPlatforms = []string{"logic-sram", "logic-dram", "mvm-reram", "pnm-hbm"}

// PaperMeans are the improvements of single operators that the paper prints, in per
// cent (VI-B, C, D).
var PaperMeans = map[string]float64{"logic-sram": 20.13, "logic-dram": 27.98, "mvm-reram": 69.2, "pnm-hbm": 11.98}

// PaperNetworks are the improvements of whole networks that the paper prints: all but
// the last are "up to", the last is an average.
var PaperNetworks = map[string]float64{"logic-sram": 21, "logic-dram": 26, "mvm-reram": 52, "pnm-hbm": 11.01}

func (o *Options) platforms() []string {
	if len(o.Platforms) > 0 {
		return o.Platforms
	}
	return PaperPlatforms
}

// jobs does the pieces of work of a study on threads, in any order; f(i) fills in out[i].
// A job is known by the program, the study and its options, its number and its name: what
// is kept of it in the store is taken from there, on whatever machine it was done.
func jobs[T any](ctx context.Context, o *Options, study string, out []T, what func(i int) string, f func(i int) error) error {
	var version string
	if o.Store != nil {
		var err error
		if version, err = results.Version(); err != nil {
			return err
		}
	}
	var next, done, missing atomic.Int64
	errs := make([]error, len(out))
	var mu sync.Mutex
	one := func(i int) error {
		if o.Store == nil {
			return f(i)
		}
		key := results.Key("mapstudy", version, study, o.Platforms, o.Evals, o.Seed, o.Seeds, len(out), i, what(i))
		if found, err := o.Store.Get(key, &out[i]); found || err != nil {
			return err
		}
		if o.Merge || o.Shards > 0 && i%o.Shards != o.Shard-1 {
			missing.Add(1)
			return nil
		}
		if err := f(i); err != nil {
			return err
		}
		return o.Store.Put(key, out[i])
	}
	work := func() {
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= len(out) {
				return
			}
			errs[i] = one(i)
			d := int(done.Add(1))
			if o.Progress != nil {
				mu.Lock()
				o.Progress(d, len(out), what(i))
				mu.Unlock()
			}
		}
	}
	var wg sync.WaitGroup
	for range min(max(1, o.Threads), len(out)) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	if n := int(missing.Load()); n > 0 && ctx.Err() == nil {
		return &PartError{len(out) - n, n}
	}
	return ctx.Err()
}

// Count is how many bindings of an operator a compute function has.
type Count struct {
	Operator     string `json:"operator"`
	Platform     string `json:"platform"`
	Function     string `json:"function"`
	InOrder      int64  `json:"in_order"` // operands in order: weights, or the first, on Src1
	Swapped      int64  `json:"swapped"`
	Total        int64  `json:"total"`
	MayBeEmpty   string `json:"may_be_empty,omitempty"`
	SizedInOrder int64  `json:"sized_in_order,omitempty"`
	SizedSwapped int64  `json:"sized_swapped,omitempty"`
	Sized        int64  `json:"sized,omitempty"`
	Paper        int64  `json:"paper,omitempty"`
}

// Bindings counts the bindings of the paper's space (section V-B): a convolution and a GEMM on
// every function of the platforms, and sizes on one crossbar.
func Bindings(ctx context.Context, platforms []string, ops []*dnn.Operator, sized bool) ([]Count, error) {
	var out []Count
	for _, name := range platforms {
		p, err := platform.Load(name)
		if err != nil {
			return nil, err
		}
		for _, op := range ops {
			q, err := mapping.New(ctx, op, p, mapping.Options{Paper: true})
			if err != nil {
				return nil, err
			}
			for f := range p.Functions {
				c := Count{Operator: op.Name, Platform: name, Function: p.Functions[f].Name}
				// Weights on the first source first, as the paper has it.
				c.Swapped, c.InOrder = q.CountBindings(f, mapping.BindingOptions{})
				if p.Functions[f].Symmetric() || op.Tensors[0].Role == dnn.Weight {
					c.InOrder, c.Swapped = c.Swapped, c.InOrder
				}
				c.Total = c.InOrder + c.Swapped
				if op.Kind == "conv2d" && p.Functions[f].Name == "mvm" {
					c.Paper = 56
				}
				if sized && p.Crossbar != nil {
					b, a, err := q.CountSized(f)
					if err != nil {
						return nil, err
					}
					c.SizedInOrder, c.SizedSwapped, c.Sized = a, b, a+b
				}
				out = append(out, c)
				if reductions := emptyReductions(&p.Functions[f]); reductions != (mapping.BindingOptions{}) && p.Functions[f].Symmetric() && len(p.Functions[f].Dims) > 2 {
					e := Count{Operator: op.Name, Platform: name, Function: p.Functions[f].Name, MayBeEmpty: "reductions"}
					e.InOrder, e.Swapped = q.CountBindings(f, reductions)
					e.Total = e.InOrder + e.Swapped
					out = append(out, e)
				}
			}
		}
	}
	return out, nil
}

func emptyReductions(f *platform.Function) (o mapping.BindingOptions) {
	for d := range f.Dims {
		o.Empty[d] = f.Reduction(d)
	}
	return o
}

// Bar is an operator of figure 5 on a platform.
type Bar struct {
	Operator  string       `json:"operator"`
	Platform  string       `json:"platform"`
	Template  string       `json:"template"`
	Baseline  int64        `json:"baseline_cycles"`
	ARES      int64        `json:"ares_cycles"`
	Bitsched  int64        `json:"bitsched_cycles"`
	Bound     int64        `json:"bound_cycles"`
	Proved    bool         `json:"proved"`
	Reduction float64      `json:"reduction_percent"`      // 1 - t/t_base of ours
	Speedup   float64      `json:"speedup_percent"`        // t_base/t - 1
	OfARES    float64      `json:"ares_reduction_percent"` // 1 - t/t_base of the GA
	Cost      mapping.Cost `json:"cost"`
	Base      mapping.Cost `json:"baseline_cost"`
}

// Mean is what a platform's bars come to.
type Mean struct {
	Platform   string  `json:"platform"`
	Reduction  float64 `json:"reduction_percent"`     // C0 to C10, arithmetic mean of 1 - t/t_base
	All        float64 `json:"reduction_percent_all"` // G1 and G2 too
	ARES       float64 `json:"ares_reduction_percent"`
	GeoSpeedup float64 `json:"geometric_speedup"`
	Paper      float64 `json:"paper_percent"`
	Positive   bool    `json:"positive_on_every_operator"`
	Verdict    string  `json:"verdict"`
}

// Fig5 searches every operator of Table IV and the two GEMMs on every platform.
func Fig5(ctx context.Context, o Options) ([]Bar, []Mean, error) {
	ops, names := dnn.Table4Operators(dnn.DefaultBits), o.platforms()
	bars := make([]Bar, len(names)*len(ops))
	err := jobs(ctx, &o, "fig5", bars, func(i int) string { return names[i/len(ops)] + " " + ops[i%len(ops)].Name }, func(i int) error {
		p, err := platform.Load(names[i/len(ops)])
		if err != nil {
			return err
		}
		b, err := bar(ctx, o, ops[i%len(ops)], p)
		bars[i] = b
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	var means []Mean
	for k, name := range names {
		means = append(means, mean(name, bars[k*len(ops):(k+1)*len(ops)]))
	}
	return bars, means, nil
}

func bar(ctx context.Context, o Options, op *dnn.Operator, p *platform.Platform) (Bar, error) {
	b := Bar{Operator: op.Name, Platform: p.Name}
	q, err := mapping.New(ctx, op, p, mapping.Options{})
	if err != nil {
		return b, err
	}
	t := search.Baseline(q)
	b.Template = t.Name
	m, err := t.Apply(q)
	if err != nil {
		return b, err
	}
	q.Cost(m, &b.Base)
	b.Baseline, b.Bound = b.Base.Cycles, q.LowerBound().Cycles
	run := func(name string) (*search.Result, error) {
		opt, err := search.Lookup(name)
		if err != nil {
			return nil, err
		}
		return opt.Search(ctx, q, search.Options{Evals: o.Evals, Seed: o.Seed, Threads: 1, Prove: !o.oursOnly})
	}
	r, err := run("bitsched")
	if err != nil {
		return b, err
	}
	b.Bitsched, b.Proved, b.Cost = r.Score, r.Proved, r.Cost
	b.Reduction = 100 * (1 - float64(b.Bitsched)/float64(b.Baseline))
	b.Speedup = 100 * (float64(b.Baseline)/float64(b.Bitsched) - 1)
	if o.oursOnly {
		return b, nil
	}
	g, err := run("ares")
	if err != nil {
		return b, err
	}
	b.ARES = g.Score
	b.OfARES = 100 * (1 - float64(b.ARES)/float64(b.Baseline))
	return b, nil
}

func mean(name string, bars []Bar) Mean {
	m := Mean{Platform: name, Paper: PaperMeans[name], Positive: true}
	var convs, logs float64
	n := 0
	for _, b := range bars {
		m.All += b.Reduction / float64(len(bars))
		logs += math.Log(float64(b.Baseline)/float64(b.Bitsched)) / float64(len(bars))
		m.Positive = m.Positive && b.Reduction > 0
		if b.Operator[0] == 'C' {
			convs += b.Reduction
			m.ARES += b.OfARES
			n++
		}
	}
	if n > 0 {
		m.Reduction, m.ARES = convs/float64(n), m.ARES/float64(n)
	}
	m.GeoSpeedup = math.Exp(logs)
	return m
}

// Steps is an operator of Table IV on crossbars, products only.
type Steps struct {
	Operator  string  `json:"operator"`
	Baseline  int64   `json:"baseline_crossbars"`
	Im2col    int64   `json:"im2col_crossbars"`
	Before    int64   `json:"baseline_steps"`
	After     int64   `json:"steps"`
	Reduction float64 `json:"reduction_percent"`
}

// ComputeOnly counts crossbars and steps of products alone: one copy with R and S on
// crossbars of their own, against as many whole copies of the matrix of C, R and S as
// fit; where even one does not fit, the chip is programmed in rounds.
func ComputeOnly(p *platform.Platform, ops []*dnn.Operator) (rows []Steps, mean float64, err error) {
	c := p.Crossbar
	if c == nil {
		return nil, 0, fmt.Errorf("mapstudy: compute-only counts crossbars, platform %s has none", p.Name)
	}
	up := func(a, b int64) int64 { return (a + b - 1) / b }
	units := int64(p.Units())
	for _, op := range ops {
		if op.Kind != "conv2d" {
			continue
		}
		e := func(n string) int64 { return int64(op.Loops[op.Loop(n)].Extent) }
		outs := int64(c.Cols) / up(int64(op.Tensors[1].Type.Bits), int64(c.CellBits))
		pixels := e("N") * e("H") * e("W")
		s := Steps{Operator: op.Name, Baseline: e("R") * e("S") * up(e("C"), int64(c.Rows)) * up(e("K"), outs), Im2col: up(e("C")*e("R")*e("S"), int64(c.Rows)) * up(e("K"), outs)}
		s.Before = pixels * up(s.Baseline, units)
		if copies := units / s.Im2col; copies > 0 {
			s.After = up(pixels, copies)
		} else {
			s.After = pixels * up(s.Im2col, units)
		}
		s.Reduction = 100 * (1 - float64(s.After)/float64(s.Before))
		rows = append(rows, s)
		mean += s.Reduction
	}
	return rows, mean / float64(max(1, len(rows))), nil
}

// Race is an operator on a platform, searched by ours and by others with several seeds.
type Race struct {
	Operator    string             `json:"operator"`
	Platform    string             `json:"platform"`
	Bitsched    int64              `json:"bitsched"`
	Evaluations int64              `json:"evaluations"`
	Proved      bool               `json:"proved"`
	Bound       int64              `json:"bound"`
	Best        map[string]int64   `json:"best"`
	Mean        map[string]float64 `json:"mean"`
	Worst       map[string]int64   `json:"worst"`
	ARES5       int64              `json:"ares_50000,omitempty"`
	NotWorse    bool               `json:"not_worse_than_ares_best"`
}

// Optimisers races optimisers with the same evaluations over seeds; five adds the GA
// with five times as many.
func Optimisers(ctx context.Context, o Options, rivals []string, five bool) ([]Race, error) {
	ops := dnn.Table4Operators(dnn.DefaultBits)
	names := o.platforms()
	races := make([]Race, len(names)*len(ops))
	err := jobs(ctx, &o, "optimisers", races, func(i int) string { return names[i/len(ops)] + " " + ops[i%len(ops)].Name }, func(i int) error {
		p, err := platform.Load(names[i/len(ops)])
		if err != nil {
			return err
		}
		op := ops[i%len(ops)]
		q, err := mapping.New(ctx, op, p, mapping.Options{})
		if err != nil {
			return err
		}
		r := Race{Operator: op.Name, Platform: p.Name, Bound: q.LowerBound().Cycles, Best: map[string]int64{}, Mean: map[string]float64{}, Worst: map[string]int64{}}
		run := func(name string, seed uint64, evals int64) (*search.Result, error) {
			opt, err := search.Lookup(name)
			if err != nil {
				return nil, err
			}
			return opt.Search(ctx, q, search.Options{Evals: evals, Seed: seed, Threads: 1, Prove: true})
		}
		ours, err := run("bitsched", o.Seed, o.Evals)
		if err != nil {
			return err
		}
		r.Bitsched, r.Proved, r.Evaluations = ours.Score, ours.Proved, ours.Evaluations
		for _, name := range rivals {
			for s := range o.Seeds {
				x, err := run(name, o.Seed+uint64(s), o.Evals)
				if err != nil {
					return err
				}
				if s == 0 || x.Score < r.Best[name] {
					r.Best[name] = x.Score
				}
				r.Worst[name] = max(r.Worst[name], x.Score)
				r.Mean[name] += float64(x.Score) / float64(o.Seeds)
			}
		}
		if five {
			x, err := run("ares", o.Seed, 5*o.Evals)
			if err != nil {
				return err
			}
			r.ARES5 = x.Score
		}
		r.NotWorse = r.Best["ares"] == 0 || r.Bitsched <= r.Best["ares"]
		races[i] = r
		return nil
	})
	return races, err
}

// Space is a space small enough for every mapping to be priced.
type Space struct {
	Work      string  `json:"work"`
	Platform  string  `json:"platform"`
	Mappings  int64   `json:"mappings"`
	Legal     int64   `json:"legal"`
	Optimum   int64   `json:"optimum"`
	Bound     int64   `json:"bound"`
	Bitsched  int64   `json:"bitsched"`
	Evals     int64   `json:"evaluations"`
	Gap       float64 `json:"gap_percent"`
	Proved    bool    `json:"proved"`
	ARESMean  float64 `json:"ares_gap_mean_percent"`
	ARESWorst float64 `json:"ares_gap_worst_percent"`
	BoundOK   bool    `json:"bound_at_most_optimum"`
}

// Spaces are those of the study, six a platform, ragged and prime extents among them.
var Spaces = []struct{ Work, Platform string }{
	{"gemm:M=3,K=5,N=2", "logic-sram"}, {"gemm:M=4,K=4,N=2", "logic-sram"}, {"conv:N=1,K=3,W=2,C=2,S=2", "logic-sram"},
	{"gemm:M=2,K=7,N=2", "logic-sram"}, {"conv:N=1,K=2,W=5,C=3,S=1", "logic-sram"}, {"gemm:M=5,K=3,N=3", "logic-sram"},
	{"gemm:M=3,K=4,N=3", "logic-dram"}, {"gemm:M=5,K=7,N=3", "logic-dram"}, {"gemm:M=4,K=6,N=2", "logic-dram"},
	{"conv:N=1,K=3,W=5,C=2,S=2", "logic-dram"}, {"gemm:M=7,K=5,N=2", "logic-dram"}, {"conv:N=1,K=2,W=3,C=3,S=3", "logic-dram"},
	{"conv:N=1,K=2,W=3,C=2,S=2", "mvm-reram"}, {"gemm:M=3,K=5,N=3", "mvm-reram"}, {"gemm:M=4,K=5,N=2", "mvm-reram"},
	{"gemm:M=2,K=11,N=2", "mvm-reram"}, {"conv:N=1,K=3,W=5,C=2,S=1", "mvm-reram"}, {"gemm:M=4,K=4,N=4", "mvm-reram"},
	{"gemm:M=5,K=6,N=4", "pnm-hbm"}, {"gemm:M=7,K=11,N=5", "pnm-hbm"}, {"conv:N=1,K=3,W=5,C=2,S=3", "pnm-hbm"},
	{"conv:N=1,K=4,W=7,C=3,S=1", "pnm-hbm"}, {"gemm:M=13,K=4,N=3", "pnm-hbm"}, {"conv:N=2,K=3,W=3,C=2,S=2", "pnm-hbm"},
}

// Optimum compares searches with the exhaustive optimum of small spaces.
func Optimum(ctx context.Context, o Options) ([]Space, error) {
	var picked []Space
	for _, s := range Spaces {
		if slices.Contains(o.platforms(), s.Platform) {
			picked = append(picked, Space{Work: s.Work, Platform: s.Platform})
		}
	}
	err := jobs(ctx, &o, "optimum", picked, func(i int) string { return picked[i].Platform + " " + picked[i].Work }, func(i int) error {
		s := &picked[i]
		p, err := platform.Load(s.Platform)
		if err != nil {
			return err
		}
		op, err := dnn.Parse(s.Work, dnn.DefaultBits)
		if err != nil {
			return err
		}
		q, err := mapping.New(ctx, op, p, mapping.Options{})
		if err != nil {
			return err
		}
		run := func(name string, seed uint64) (*search.Result, error) {
			opt, err := search.Lookup(name)
			if err != nil {
				return nil, err
			}
			return opt.Search(ctx, q, search.Options{Evals: o.Evals, Seed: seed, Threads: 1, Prove: true})
		}
		all, err := run("exhaustive", 0)
		if err != nil {
			return err
		}
		ours, err := run("bitsched", o.Seed)
		if err != nil {
			return err
		}
		s.Mappings, s.Legal, s.Optimum, s.Bound = all.Evaluations+all.Refused, all.Evaluations, all.Score, q.LowerBound().Cycles
		s.Bitsched, s.Evals, s.Proved = ours.Score, ours.Evaluations, ours.Proved
		s.Gap = 100 * (float64(s.Bitsched)/float64(s.Optimum) - 1)
		s.BoundOK = s.Bound <= s.Optimum
		for k := range o.Seeds {
			g, err := run("ares", o.Seed+uint64(k))
			if err != nil {
				return err
			}
			gap := 100 * (float64(g.Score)/float64(s.Optimum) - 1)
			s.ARESMean += gap / float64(o.Seeds)
			s.ARESWorst = max(s.ARESWorst, gap)
		}
		return nil
	})
	return picked, err
}

// Curve is the best so far of an optimiser by evaluations.
type Curve struct {
	Operator  string         `json:"operator"`
	Platform  string         `json:"platform"`
	Optimizer string         `json:"optimizer"`
	Seed      uint64         `json:"seed"`
	Bound     int64          `json:"bound"`
	Points    []search.Point `json:"points"`
}

// Convergence follows searches of one operator.
func Convergence(ctx context.Context, o Options, op *dnn.Operator, optimizers []string) ([]Curve, error) {
	var curves []Curve
	for _, p := range o.platforms() {
		for _, name := range optimizers {
			for s := range o.Seeds {
				curves = append(curves, Curve{Operator: op.Name, Platform: p, Optimizer: name, Seed: o.Seed + uint64(s)})
			}
		}
	}
	err := jobs(ctx, &o, "convergence", curves, func(i int) string { return curves[i].Platform + " " + curves[i].Optimizer }, func(i int) error {
		c := &curves[i]
		p, err := platform.Load(c.Platform)
		if err != nil {
			return err
		}
		q, err := mapping.New(ctx, op, p, mapping.Options{})
		if err != nil {
			return err
		}
		opt, err := search.Lookup(c.Optimizer)
		if err != nil {
			return err
		}
		r, err := opt.Search(ctx, q, search.Options{Evals: o.Evals, Seed: c.Seed, Threads: 1, Prove: true})
		if err != nil {
			return err
		}
		c.Bound, c.Points = q.LowerBound().Cycles, r.Trace
		return nil
	})
	return curves, err
}

// Swing is what a value that the paper leaves open does to a mean.
type Swing struct {
	Platform string   `json:"platform"`
	Field    string   `json:"field"`
	Source   string   `json:"source"`
	Low      float64  `json:"low"`
	High     float64  `json:"high"`
	AtLow    *float64 `json:"mean_at_low_percent"` // nil: some operator cannot be mapped at all
	AtHigh   *float64 `json:"mean_at_high_percent"`
}

// Interval is the range of a platform's mean.
type Interval struct {
	Platform string  `json:"platform"`
	Default  float64 `json:"default_percent"`
	Low      float64 `json:"low_percent"`
	High     float64 `json:"high_percent"`
	Paper    float64 `json:"paper_percent"`
	Verdict  string  `json:"verdict"`
}

// Sensitivity searches figure 5 again with each open value at the ends of its range. A mapping that is found for one value is
// priced for all others too: what is left between the means is what the values do, and little of it the luck of searches.
func Sensitivity(ctx context.Context, o Options, ops []*dnn.Operator) ([]Swing, []Interval, error) {
	var swings []Swing
	type job struct {
		swing int // -1: the platform as it is
		high  bool
		name  string
		op    int
	}
	var all []job
	names := o.platforms()
	for _, name := range names {
		p, err := platform.Load(name)
		if err != nil {
			return nil, nil, err
		}
		ends := []job{{swing: -1, name: name}}
		for _, f := range p.Facts {
			if len(f.Range) == 2 {
				swings = append(swings, Swing{Platform: name, Field: f.Field, Source: f.Source, Low: f.Range[0], High: f.Range[1]})
				ends = append(ends, job{swing: len(swings) - 1, name: name}, job{swing: len(swings) - 1, high: true, name: name})
			}
		}
		for _, j := range ends {
			for j.op = range ops {
				all = append(all, j)
			}
		}
	}
	problem := func(j job) (*mapping.Problem, error) {
		p, err := platform.Load(j.name)
		if err != nil {
			return nil, err
		}
		if j.swing >= 0 {
			v := swings[j.swing].Low
			if j.high {
				v = swings[j.swing].High
			}
			if p, err = p.With(swings[j.swing].Field, v); err != nil {
				return nil, err
			}
		}
		return mapping.New(ctx, ops[j.op], p, mapping.Options{})
	}
	type result struct {
		Baseline int64
		Mapping  *mapping.Mapping // nil: there is none
	}
	found := make([]result, len(all))
	err := jobs(ctx, &o, "sensitivity", found, func(i int) string {
		return fmt.Sprint(all[i].name, " ", ops[all[i].op].Name, " ", all[i].swing, all[i].high)
	}, func(i int) error {
		found[i] = result{}
		q, err := problem(all[i])
		if err == nil {
			var m *mapping.Mapping
			var base mapping.Cost
			if m, err = search.Baseline(q).Apply(q); err == nil {
				q.Cost(m, &base)
				var opt search.Optimizer
				if opt, err = search.Lookup("bitsched"); err != nil {
					return err
				}
				var r *search.Result
				if r, err = opt.Search(ctx, q, search.Options{Evals: o.Evals, Seed: o.Seed, Threads: 1}); err == nil {
					found[i] = result{base.Cycles, &r.Mapping}
				}
			}
		}
		if errors.Is(err, mapping.ErrInfeasible) && all[i].swing >= 0 {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	defaults := map[string]float64{}
	for i := 0; i < len(all); i += len(ops) {
		mean := 0.0
		for k := i; k < i+len(ops) && !math.IsNaN(mean); k++ {
			if found[k].Mapping == nil {
				mean = math.NaN()
				continue
			}
			q, err := problem(all[k])
			if err != nil {
				return nil, nil, err
			}
			best := int64(math.MaxInt64)
			var c mapping.Cost
			for n := range all { // of the same operator and platform
				if x := found[n].Mapping; x != nil && all[n].op == all[k].op && all[n].name == all[k].name && q.Check(x) == nil && q.Cost(x, &c) == mapping.Legal {
					best = min(best, c.Cycles)
				}
			}
			mean += 100 * (1 - float64(best)/float64(found[k].Baseline)) / float64(len(ops))
		}
		at := &mean
		if math.IsNaN(mean) {
			at = nil
		}
		switch j := all[i]; {
		case j.swing < 0:
			defaults[j.name] = mean
		case j.high:
			swings[j.swing].AtHigh = at
		default:
			swings[j.swing].AtLow = at
		}
	}
	var intervals []Interval
	for _, name := range names {
		x := Interval{Platform: name, Default: defaults[name], Low: defaults[name], High: defaults[name], Paper: PaperMeans[name]}
		widest, field := 0.0, ""
		for _, s := range swings {
			if s.Platform != name {
				continue
			}
			for _, v := range []*float64{s.AtLow, s.AtHigh} {
				if v != nil {
					x.Low, x.High = min(x.Low, *v), max(x.High, *v)
				}
			}
			if s.AtLow == nil || s.AtHigh == nil {
				continue
			}
			if d := math.Abs(*s.AtHigh - *s.AtLow); d > widest {
				widest, field = d, s.Field
			}
		}
		x.Verdict = verdict(x, field)
		intervals = append(intervals, x)
	}
	return swings, intervals, nil
}

func verdict(x Interval, field string) string {
	switch {
	case x.Paper >= x.Low && x.Paper <= x.High:
		return "the interval contains the paper's mean"
	case x.Paper < x.Low:
		return fmt.Sprintf("the paper's mean lies below the interval; it moves most with %s, and the paper does not say how its template orders loops and loads", field)
	}
	return fmt.Sprintf("the paper's mean lies above the interval; it moves most with %s, and the paper does not say how its template orders loops and loads", field)
}

// Ablation is a search without a part of the space.
type Ablation struct {
	Platform string  `json:"platform"`
	Without  string  `json:"without"`
	Mean     float64 `json:"reduction_percent"`
	Slower   float64 `json:"slower_percent"` // geometric mean against the whole space
}

// Ablations are the parts that are taken out.
var Ablations = []string{"binding", "sizes", "order", "copies", "double buffer", "residency"}

// Ablate searches with each part of the space taken out.
func Ablate(ctx context.Context, o Options, ops []*dnn.Operator) ([]Ablation, error) {
	names := o.platforms()
	type cell struct{ Base, Score float64 }
	parts := append([]string{""}, Ablations...)
	cells := make([]cell, len(names)*len(parts)*len(ops))
	err := jobs(ctx, &o, "ablation", cells, func(i int) string { return names[i/len(ops)/len(parts)] }, func(i int) error {
		name, part, op := names[i/len(ops)/len(parts)], parts[i/len(ops)%len(parts)], ops[i%len(ops)]
		p, err := platform.Load(name)
		if err != nil {
			return err
		}
		q, err := mapping.New(ctx, op, p, mapping.Options{})
		if err != nil {
			return err
		}
		base, err := search.Baseline(q).Apply(q)
		if err != nil {
			return err
		}
		var c mapping.Cost
		q.Cost(base, &c)
		opt, err := search.Lookup("bitsched")
		if err != nil {
			return err
		}
		r, err := opt.Search(ctx, q, search.Options{Evals: o.Evals, Seed: o.Seed, Threads: 1, Score: func(m *mapping.Mapping, x *mapping.Cost) int64 {
			if !allowed(q, m, base, part) {
				return 1 << 60
			}
			return x.Cycles
		}})
		if err != nil {
			return err
		}
		cells[i] = cell{float64(c.Cycles), float64(min(r.Score, c.Cycles))}
		return nil
	})
	if err != nil {
		return nil, err
	}
	// What a part of the space has, the whole has too.
	for i := range cells {
		whole := &cells[i/(len(parts)*len(ops))*len(parts)*len(ops)+i%len(ops)]
		whole.Score = min(whole.Score, cells[i].Score)
	}
	var out []Ablation
	for a, name := range names {
		for b, part := range parts {
			x := Ablation{Platform: name, Without: part}
			logs := 0.0
			for k := range ops {
				whole, this := cells[(a*len(parts))*len(ops)+k], cells[(a*len(parts)+b)*len(ops)+k]
				x.Mean += 100 * (1 - this.Score/this.Base) / float64(len(ops))
				logs += math.Log(this.Score/whole.Score) / float64(len(ops))
			}
			x.Slower = 100 * (math.Exp(logs) - 1)
			out = append(out, x)
		}
	}
	return out, nil
}

// allowed reports whether a mapping uses nothing of what is taken out; the template's
// choice stands in its place.
func allowed(q *mapping.Problem, m, base *mapping.Mapping, without string) bool {
	switch without {
	case "binding":
		if m.Function != base.Function || m.Swap != base.Swap {
			return false
		}
		for d := range mapping.SlotInner {
			for l := range q.Loops() {
				if m.Factor[d][l] > 1 && base.Factor[d][l] == 1 {
					return false
				}
			}
		}
	case "sizes":
		for d := range mapping.SlotInner + 1 {
			for l := range q.Loops() {
				if m.Factor[d][l] != base.Factor[d][l] {
					return false
				}
			}
		}
	case "order":
		return m.Wave == base.Wave
	case "copies":
		// No operand twice: space is for loops that index the first source.
		for i := range q.Levels() {
			for l := range q.Loops() {
				if m.Factor[mapping.SlotLevel+i][l] > 1 && !q.Op.Tensors[m.Tensor(mapping.Src1)].Indexed(l) {
					return false
				}
			}
		}
	case "double buffer":
		return !m.Double && !m.DoubleTile
	case "residency":
		return m.Keep == [3]bool{true, true, true}
	}
	return true
}
