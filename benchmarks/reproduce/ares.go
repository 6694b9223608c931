package reproduce

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/bitsched/bitsched/benchmarks/mapstudy"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// aresEntries are the tables and figures of ARES, and the studies that it does not have.
var aresEntries = []*Entry{
	{
		ID: "ares:tables", Title: "Hardware of the platforms", Paper: "ARES, Tables I to III",
		Doc:    "every value of the tables beside the product of the fields that it is of; what the tables do not have is in platform NAME --paper",
		Claims: []Claim{{Name: "values that differ", Section: "VI-A", Points: true}},
		Run:    aresTables,
	},
	{
		ID: "ares:table4", Title: "Operators", Paper: "ARES, Table IV",
		Doc:    "loops of the convolutions, batch 4, and of the two matrix products; products counted from the loops",
		Claims: []Claim{{Name: "operators", Section: "VI-A", Paper: 13, Points: true}},
		Run:    aresOperators,
	},
	{
		ID: "ares:bindings", Title: "Legal bindings of a convolution", Paper: "ARES, Fig. 3 and 4, V-B",
		Doc:    "bindings under B1 to B4 on every compute function; the wrong one of Fig. 4 is refused",
		Claims: []Claim{{Name: "of a convolution on a crossbar", Section: "V-B", Paper: 56, Points: true}},
		Run:    aresBindings,
	},
	{
		ID: "ares:fig5", Title: "Single operators", Paper: "ARES, Fig. 5, VI-B to D",
		Doc: "1 - t/t_base of C0 to C10 against the template, by our search on our model; nothing is fitted, and ares:sensitivity has the intervals",
		Claims: []Claim{
			{Name: "logic-sram, mean", Section: "VI-B", Unit: "%", Paper: 20.13, Tolerance: 5, Points: true, Better: 1},
			{Name: "logic-dram, mean", Section: "VI-B", Unit: "%", Paper: 27.98, Tolerance: 5, Points: true, Better: 1},
			{Name: "mvm-reram, mean", Section: "VI-C", Unit: "%", Paper: 69.2, Tolerance: 5, Points: true, Better: 1},
			{Name: "mvm-reram, products only, whole copies", Section: "VI-C", Unit: "%", Paper: 69.2, Tolerance: 5, Points: true, Reading: "products only"},
			{Name: "pnm-hbm, mean", Section: "VI-D", Unit: "%", Paper: 11.98, Tolerance: 5, Points: true, Better: 1},
		},
		Run: aresOperatorsRun,
	},
	{
		ID: "ares:fig6", Title: "Whole networks", Paper: "ARES, Fig. 6, VI-B to D",
		Doc: "eight networks at batch 1 against templates; layers in turn, on crossbars in segments of pipelines",
		Claims: []Claim{
			{Name: "logic-sram, most", Section: "VI-B", Unit: "%", Paper: 21, Tolerance: 5, Points: true, Better: 1},
			{Name: "logic-dram, most", Section: "VI-B", Unit: "%", Paper: 26, Tolerance: 5, Points: true, Better: 1},
			{Name: "mvm-reram, most", Section: "VI-C", Unit: "%", Paper: 52, Tolerance: 5, Points: true, Better: 1},
			{Name: "pnm-hbm, mean", Section: "VI-D", Unit: "%", Paper: 11.01, Tolerance: 5, Points: true, Better: 1},
		},
		Run: aresNetworks,
	},
	{
		ID: "ares:why", Title: "Where the improvements come from", Paper: "ARES, VI-B to D",
		Doc:    "the paper's sentences, each tested on breakdowns of figure 5",
		Claims: []Claim{{Name: "sentences that do not hold", Section: "VI-B to D", Points: true}},
		Run:    aresWhy,
	},
	{
		ID: "ares:optimum", Title: "Distance to the optimum", Paper: "none: the paper has no optimum",
		Doc: "small spaces whose every mapping is priced",
		Claims: []Claim{
			{Name: "largest gap of bitsched", Section: "docs/mapping.md", Unit: "%", Points: true},
			{Name: "bounds above an optimum", Section: "docs/mapping.md", Points: true},
		},
		Run: aresOptimum,
	},
	{
		ID: "ares:optimisers", Title: "Optimisers with equal evaluations", Paper: "none: the paper has no search times",
		Doc:    "operators of Table IV on four platforms, the genetic algorithm with several seeds",
		Claims: []Claim{{Name: "races that the genetic algorithm's best seed wins", Section: "docs/mapping.md", Points: true}},
		Run:    aresRace,
	},
	{
		ID: "ares:convergence", Title: "Best mapping by evaluations", Paper: "none",
		Doc: "C5 on four platforms, one seed of each optimiser", Run: aresConvergence,
	},
	{
		ID: "ares:ablation", Title: "Parts of the space taken out", Paper: "none: the paper has no ablation",
		Doc: "C0 to C10 without binding, sizes, order, copies, double buffers, residency", Run: aresAblation,
	},
	{
		ID: "ares:sensitivity", Title: "What the paper leaves open", Paper: "ARES, VI: values that it does not give",
		Doc:    "the means of figure 5 with each open value at the ends of its range",
		Claims: []Claim{{Name: "means outside the interval", Section: "VI-B to D", Points: true}},
		Run:    aresSensitivity,
	},
}

// studyOptions are those of studies: fewer evaluations at small sizes.
func studyOptions(env *Env) mapstudy.Options {
	o := mapstudy.Options{Evals: 1000, Seed: env.Seed, Seeds: 2, Threads: env.Threads, Progress: func(done, total int, what string) { env.progress(what, done, total) }}
	if env.Size == PaperSizes {
		o.Evals, o.Seeds = 10000, 5
	}
	if !env.fresh { // figures share searches, and what was stopped goes on
		o.Store = env.store
	}
	return o
}

func percent(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func aresTables(context.Context, *Env) (*Measured, error) {
	m := &Measured{}
	t := Table{Title: "Tables I to III", Head: []string{"platform", "table", "item", "paper", "here"}}
	differ := 0.0
	for _, name := range mapstudy.PaperPlatforms {
		p, err := platform.Load(name)
		if err != nil {
			return nil, err
		}
		for _, r := range p.Paper {
			v := p.PaperValue(r)
			if math.Abs(v-r.Value) > 1e-6 {
				differ++
			}
			t.Rows = append(t.Rows, []string{name, r.Table, r.Item, fmt.Sprint(r.Value), fmt.Sprintf("%.6g", v)})
		}
	}
	m.Add("values that differ", "", differ)
	m.Tables = []Table{t}
	return m, nil
}

func aresOperators(context.Context, *Env) (*Measured, error) {
	m := &Measured{}
	t := Table{Title: "Table IV", Head: []string{"name", "operator", "products"}}
	for _, op := range dnn.Table4Operators(dnn.DefaultBits) {
		t.Rows = append(t.Rows, []string{op.Name, op.String(), strconv.FormatInt(op.MACs(), 10)})
	}
	m.Add("operators", "", float64(len(t.Rows)))
	m.Tables = []Table{t}
	return m, nil
}

func aresBindings(ctx context.Context, _ *Env) (*Measured, error) {
	ops := dnn.Table4Operators(dnn.DefaultBits)
	rows, err := mapstudy.Bindings(ctx, mapstudy.PaperPlatforms, ops[1:2], true)
	if err != nil {
		return nil, err
	}
	m := &Measured{}
	t := Table{Title: "Bindings", Head: []string{"operator", "platform", "function", "dimensions that may be empty", "bindings"}}
	for _, r := range rows {
		t.Rows = append(t.Rows, []string{r.Operator, r.Platform, r.Function, r.MayBeEmpty, strconv.FormatInt(r.Total, 10)})
		if r.Function == "mvm" {
			m.Add("of a convolution on a crossbar", "", float64(r.Total))
		}
	}
	wrong, err := mapstudy.WrongBinding(ctx)
	if err != nil {
		return nil, err
	}
	m.Notes = []string{"Fig. 4's wrong binding is refused: " + wrong}
	m.Tables = []Table{t}
	return m, nil
}

func aresOperatorsRun(ctx context.Context, env *Env) (*Measured, error) {
	bars, means, err := mapstudy.Fig5(ctx, studyOptions(env))
	if err != nil {
		return nil, err
	}
	m := &Measured{}
	t := Table{Title: "Cycles", Head: []string{"platform", "operator", "template", "ares", "bitsched", "at least", "1-t/t_base, %"}}
	for _, b := range bars {
		t.Rows = append(t.Rows, []string{b.Platform, b.Operator, fmt.Sprint(b.Baseline), fmt.Sprint(b.ARES), fmt.Sprint(b.Bitsched), fmt.Sprint(b.Bound), percent(b.Reduction)})
	}
	for _, x := range means {
		m.Add(x.Platform+", mean", "%", x.Reduction)
		m.Add(x.Platform+", mean with G1 and G2", "%", x.All)
	}
	p, err := platform.Load("mvm-reram")
	if err != nil {
		return nil, err
	}
	_, mean, err := mapstudy.ComputeOnly(p, dnn.Table4Operators(dnn.DefaultBits))
	if err != nil {
		return nil, err
	}
	m.Add("mvm-reram, products only, whole copies", "%", mean)
	m.Tables = []Table{t}
	return m, nil
}

func aresNetworks(ctx context.Context, env *Env) (*Measured, error) {
	bars, means, err := mapstudy.Fig6(ctx, studyOptions(env))
	if err != nil {
		return nil, err
	}
	m := &Measured{}
	t := Table{Title: "Cycles", Head: []string{"platform", "network", "template", "bitsched", "at least", "1-t/t_base, %"}}
	for _, b := range bars {
		t.Rows = append(t.Rows, []string{b.Platform, b.Network, fmt.Sprint(b.Baseline), fmt.Sprint(b.Cycles), fmt.Sprint(b.Bound), percent(b.Reduction)})
	}
	for _, x := range means {
		m.Add(x.Platform+", mean", "%", x.Mean)
		m.Add(x.Platform+", most", "%", x.Most)
	}
	m.Tables = []Table{t}
	return m, nil
}

func aresWhy(ctx context.Context, env *Env) (*Measured, error) {
	bars, _, err := mapstudy.Fig5(ctx, studyOptions(env))
	if err != nil {
		return nil, err
	}
	m := &Measured{}
	t := Table{Title: "Sentences", Head: []string{"sentence", "holds", "figures"}}
	not := 0.0
	for _, s := range mapstudy.Why(bars) {
		if !s.Holds {
			not++
		}
		t.Rows = append(t.Rows, []string{s.Sentence, yes(s.Holds), s.Figures})
	}
	m.Add("sentences that do not hold", "", not)
	m.Tables = []Table{t}
	return m, nil
}

func aresOptimum(ctx context.Context, env *Env) (*Measured, error) {
	o := studyOptions(env)
	o.Evals = 10000
	if env.Size == Small {
		o.Platforms = []string{"pnm-hbm"}
	}
	rows, err := mapstudy.Optimum(ctx, o)
	if err != nil {
		return nil, err
	}
	m := &Measured{}
	t := Table{Title: "Spaces", Head: []string{"platform", "work", "mappings", "optimum", "at least", "bitsched, gap %", "proved", "ares, mean gap %", "worst"}}
	gap, above := 0.0, 0.0
	for _, r := range rows {
		gap = max(gap, r.Gap)
		if !r.BoundOK {
			above++
		}
		t.Rows = append(t.Rows, []string{r.Platform, r.Work, fmt.Sprint(r.Mappings), fmt.Sprint(r.Optimum), fmt.Sprint(r.Bound), percent(r.Gap), yes(r.Proved), percent(r.ARESMean), percent(r.ARESWorst)})
	}
	m.Add("largest gap of bitsched", "%", gap)
	m.Add("bounds above an optimum", "", above)
	m.Tables = []Table{t}
	return m, nil
}

func aresRace(ctx context.Context, env *Env) (*Measured, error) {
	races, err := mapstudy.Optimisers(ctx, studyOptions(env), []string{"ares"}, false)
	if err != nil {
		return nil, err
	}
	m := &Measured{}
	t := Table{Title: "Cycles", Head: []string{"platform", "operator", "bitsched", "ares, best seed", "worst seed", "at least"}}
	for _, r := range races {
		t.Rows = append(t.Rows, []string{r.Platform, r.Operator, fmt.Sprint(r.Bitsched), fmt.Sprint(r.Best["ares"]), fmt.Sprint(r.Worst["ares"]), fmt.Sprint(r.Bound)})
	}
	s := mapstudy.Summarise(races)
	m.Add("races that the genetic algorithm's best seed wins", "", float64(s.Races-s.NotWorse))
	m.Add("geometric mean of its mean over ours", "", s.GeoMean)
	m.Tables = []Table{t}
	return m, nil
}

func aresConvergence(ctx context.Context, env *Env) (*Measured, error) {
	o := studyOptions(env)
	o.Seeds = 1
	curves, err := mapstudy.Convergence(ctx, o, dnn.Table4Operators(dnn.DefaultBits)[5], []string{"bitsched", "ares", "gamma", "anneal", "random"})
	if err != nil {
		return nil, err
	}
	m := &Measured{}
	t := Table{Title: "Best so far", Head: []string{"platform", "optimiser", "evaluations", "best", "at least"}}
	for _, c := range curves {
		for _, p := range c.Points {
			t.Rows = append(t.Rows, []string{c.Platform, c.Optimizer, fmt.Sprint(p.Evaluations), fmt.Sprint(p.Best), fmt.Sprint(c.Bound)})
		}
		m.Add(c.Platform+", "+c.Optimizer, "cycles", float64(c.Points[len(c.Points)-1].Best))
	}
	m.Tables = []Table{t}
	return m, nil
}

func aresAblation(ctx context.Context, env *Env) (*Measured, error) {
	rows, err := mapstudy.Ablate(ctx, studyOptions(env), dnn.Table4Operators(dnn.DefaultBits)[:11])
	if err != nil {
		return nil, err
	}
	m := &Measured{}
	t := Table{Title: "Without a part of the space", Head: []string{"platform", "without", "1-t/t_base, %", "slower, %"}}
	for _, r := range rows {
		t.Rows = append(t.Rows, []string{r.Platform, r.Without, percent(r.Mean), percent(r.Slower)})
		if r.Without != "" {
			m.Add(r.Platform+" without "+r.Without, "% slower", r.Slower)
		}
	}
	m.Tables = []Table{t}
	return m, nil
}

func aresSensitivity(ctx context.Context, env *Env) (*Measured, error) {
	swings, intervals, err := mapstudy.Sensitivity(ctx, studyOptions(env), dnn.Table4Operators(dnn.DefaultBits)[:11])
	if err != nil {
		return nil, err
	}
	m := &Measured{}
	t := Table{Title: "Intervals of the means", Head: []string{"platform", "here, %", "from", "to", "paper, %", ""}}
	outside := 0.0
	for _, x := range intervals {
		if x.Paper < x.Low || x.Paper > x.High {
			outside++
		}
		t.Rows = append(t.Rows, []string{x.Platform, percent(x.Default), percent(x.Low), percent(x.High), fmt.Sprint(x.Paper), x.Verdict})
	}
	u := Table{Title: "Open values", Head: []string{"platform", "field", "low", "high", "mean at low, %", "mean at high, %"}}
	at := func(v *float64) string {
		if v == nil {
			return "infeasible"
		}
		return percent(*v)
	}
	for _, s := range swings {
		u.Rows = append(u.Rows, []string{s.Platform, s.Field, fmt.Sprint(s.Low), fmt.Sprint(s.High), at(s.AtLow), at(s.AtHigh)})
	}
	m.Add("means outside the interval", "", outside)
	m.Tables = []Table{t, u}
	return m, nil
}
