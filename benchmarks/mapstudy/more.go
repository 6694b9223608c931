package mapstudy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/lowering/mapping"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/plan"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
	"github.com/bitsched/bitsched/lowering/mapping/search"
)

// WrongBinding is the reason with which the wrong binding of Fig. 4 is refused: weights
// on the crossbar, and loop H in the dimension of its columns.
func WrongBinding(ctx context.Context) (string, error) {
	p, err := platform.Load("mvm-reram")
	if err != nil {
		return "", err
	}
	op := dnn.Table4Operators(dnn.DefaultBits)[1]
	q, err := mapping.New(ctx, op, p, mapping.Options{Paper: true})
	if err != nil {
		return "", err
	}
	r := q.Refuse(0, 0, op.Loop("H"), true)
	if r == nil {
		return "", fmt.Errorf("mapstudy: the wrong binding of Fig. 4 is taken for legal")
	}
	return r.Error(), nil
}

// Summary is what races come to.
type Summary struct {
	Races      int     `json:"races"`
	NotWorse   int     `json:"not_worse_than_ares_best"`
	Better     int     `json:"better_than_ares_best"`
	NotFaster5 int     `json:"ares_50000_not_faster"`
	GeoMean    float64 `json:"geometric_mean_ares_over_bitsched"`
	Proved     int     `json:"proved"`
}

// Summarise counts.
func Summarise(races []Race) Summary {
	s := Summary{Races: len(races)}
	logs := 0.0
	for _, r := range races {
		if r.Bitsched <= r.Best["ares"] {
			s.NotWorse++
		}
		if r.Bitsched < r.Best["ares"] {
			s.Better++
		}
		if r.ARES5 >= r.Bitsched {
			s.NotFaster5++
		}
		if r.Proved {
			s.Proved++
		}
		logs += math.Log(r.Mean["ares"] / float64(r.Bitsched))
	}
	s.GeoMean = math.Exp(logs / float64(max(1, len(races))))
	return s
}

// FrontRace is an operator on a platform whose fronts optimisers have searched with equal
// evaluations: of each the hypervolume in cycles and known energy, as a share of what all
// fronts together dominate; the mean and the worst over seeds.
type FrontRace struct {
	Operator   string             `json:"operator"`
	Platform   string             `json:"platform"`
	Cycles     int64              `json:"reference_cycles"`
	Picojoules float64            `json:"reference_known_energy_picojoules"`
	Mean       map[string]float64 `json:"mean"`
	Worst      map[string]float64 `json:"worst"`
}

// Fronts races optimisers for fronts of cycles, energy and units. A reference is a tenth
// beyond the cycles of the mapping of least energy and the energy of the fastest, of all
// that were found. A platform must give energies; of the paper's those that do are raced.
func Fronts(ctx context.Context, o Options, rivals []string) ([]FrontRace, error) {
	ops := dnn.Table4Operators(dnn.DefaultBits)
	names := o.Platforms
	for _, name := range PaperPlatforms {
		p, err := platform.Load(name)
		if err != nil {
			return nil, err
		}
		if len(o.Platforms) == 0 && len(p.Energy) > 0 {
			names = append(names, name)
		}
	}
	races := make([]FrontRace, len(names)*len(ops))
	err := jobs(ctx, &o, "fronts", races, func(i int) string { return names[i/len(ops)] + " " + ops[i%len(ops)].Name }, func(i int) error {
		p, err := platform.Load(names[i/len(ops)])
		if err != nil {
			return err
		}
		q, err := mapping.New(ctx, ops[i%len(ops)], p, mapping.Options{})
		if err != nil {
			return err
		}
		if err := q.KnowsEnergy(); err != nil {
			return err
		}
		fronts := map[string][][]search.Spot{}
		var all []search.Spot
		for _, name := range rivals {
			opt, err := search.Lookup(name)
			if err != nil {
				return err
			}
			for s := range o.Seeds {
				front, _, err := search.Pareto(ctx, q, opt, search.Options{Evals: o.Evals, Seed: o.Seed + uint64(s), Threads: 1})
				if err != nil {
					return err
				}
				fronts[name] = append(fronts[name], front)
				all = append(all, front...)
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		races[i] = raceOfFronts(q.Op.Name, p.Name, fronts, search.Front(all))
		return nil
	})
	return races, err
}

// raceOfFronts compares fronts, by optimiser and seed, with the front of all.
func raceOfFronts(operator, platform string, fronts map[string][][]search.Spot, all []search.Spot) FrontRace {
	fastest, thrifty := &all[0], &all[0]
	for i := range all {
		if x := &all[i]; x.Picojoules < thrifty.Picojoules { // fronts begin with fewest cycles
			thrifty = x
		}
	}
	r := FrontRace{Operator: operator, Platform: platform, Cycles: thrifty.Cost.Cycles + thrifty.Cost.Cycles/10 + 1, Picojoules: 1.1 * fastest.Picojoules, Mean: map[string]float64{}, Worst: map[string]float64{}}
	whole := search.Hypervolume(all, r.Cycles, r.Picojoules)
	for name, seeds := range fronts {
		for s, front := range seeds {
			v := search.Hypervolume(front, r.Cycles, r.Picojoules) / whole
			r.Mean[name] += v / float64(len(seeds))
			if s == 0 || v < r.Worst[name] {
				r.Worst[name] = v
			}
		}
	}
	return r
}

// NetworkBar is a network of figure 6 on a platform.
type NetworkBar struct {
	Network   string  `json:"network"`
	Platform  string  `json:"platform"`
	Baseline  int64   `json:"baseline_cycles"`
	Cycles    int64   `json:"cycles"`
	Bound     int64   `json:"bound_cycles"`
	Reduction float64 `json:"reduction_percent"`
}

// NetworkMean is what a platform's networks come to, with the statistic that the
// paper's sentence names.
type NetworkMean struct {
	Platform  string  `json:"platform"`
	Mean      float64 `json:"mean_percent"`
	Most      float64 `json:"most_percent"`
	Paper     float64 `json:"paper_percent"`
	Statistic string  `json:"statistic"`
}

// Fig6Networks are the networks of the figure, and VGG-16 and ResNet-18, which the text names.
var Fig6Networks = []string{"resnet18", "resnet50", "resnext50", "vgg16", "mobilenet", "googlenet", "densenet121", "bert-base"}

// Fig6 maps whole networks, layer after layer; on crossbars in segments of layer
// pipelines.
func Fig6(ctx context.Context, o Options) ([]NetworkBar, []NetworkMean, error) {
	names := o.platforms()
	bars := make([]NetworkBar, len(names)*len(Fig6Networks))
	found := &plan.Found{}
	err := jobs(ctx, &o, "fig6", bars, func(i int) string { return names[i/len(Fig6Networks)] + " " + Fig6Networks[i%len(Fig6Networks)] }, func(i int) error {
		p, err := platform.Load(names[i/len(Fig6Networks)])
		if err != nil {
			return err
		}
		net, err := dnn.Build(Fig6Networks[i%len(Fig6Networks)], 1, dnn.DefaultBits)
		if err != nil {
			return err
		}
		rep, err := plan.Map(ctx, ctx, net, p, plan.Options{Evals: o.Evals, Seed: o.Seed, Threads: 1, Execute: "none", Cold: p.Executor == platform.ArrayExecutor, Pipeline: true, Found: found})
		if err != nil {
			return err
		}
		b := NetworkBar{Network: net.Name, Platform: p.Name, Baseline: rep.Baseline, Cycles: rep.Cycles, Bound: rep.Bound}
		if b.Baseline > 0 {
			b.Reduction = 100 * (1 - float64(b.Cycles)/float64(b.Baseline))
		}
		bars[i] = b
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	var means []NetworkMean
	for k, name := range names {
		m := NetworkMean{Platform: name, Paper: PaperNetworks[name], Statistic: "the paper's is the most of all networks"}
		if name == "pnm-hbm" {
			m.Statistic = "the paper's is the mean"
		}
		for _, b := range bars[k*len(Fig6Networks) : (k+1)*len(Fig6Networks)] {
			m.Mean += b.Reduction / float64(len(Fig6Networks))
			m.Most = max(m.Most, b.Reduction)
		}
		means = append(means, m)
	}
	return bars, means, nil
}

// Sentence is a claim of the paper, tested on breakdowns.
type Sentence struct {
	Sentence string `json:"sentence"`
	Holds    bool   `json:"holds"`
	Figures  string `json:"figures"`
}

// Why tests the paper's reasons for its improvements (VI-B to D) on the bars of figure
// 5, of the platforms that these have.
func Why(bars []Bar) []Sentence {
	share := func(platform string, pick func(b *Bar) bool, parts ...mapping.Part) float64 {
		sum, n := 0.0, 0
		for i := range bars {
			b := &bars[i]
			if b.Platform != platform || b.Operator[0] != 'C' || !pick(b) {
				continue
			}
			for _, p := range parts {
				sum += float64(b.Cost.Parts[p]) / float64(b.Cost.Cycles)
			}
			n++
		}
		return 100 * sum / float64(max(1, n))
	}
	large := func(b *Bar) bool { return b.Operator == "C0" || b.Operator == "C1" || b.Operator == "C2" }
	small := func(b *Bar) bool { return b.Operator == "C9" || b.Operator == "C10" }
	moves := []mapping.Part{mapping.OffChip, mapping.Distribute, mapping.Drain, mapping.Transpose, mapping.Program}
	var out []Sentence
	add := func(text string, holds bool, format string, args ...any) {
		name, _, _ := strings.Cut(text, ":")
		if !slices.ContainsFunc(bars, func(b Bar) bool { return b.Platform == name }) {
			return
		}
		out = append(out, Sentence{text, holds, fmt.Sprintf(format, args...)})
	}
	for _, p := range []string{"logic-sram", "logic-dram"} {
		l, s := share(p, large, moves...), share(p, small, moves...)
		add(p+": transfers dominate where maps are large", l > 50, "transfers %.1f %% of the cycles of C0 to C2, %.1f %% of C9 and C10", l, s)
		base, ours := 0.0, 0.0
		for i := range bars {
			if b := &bars[i]; b.Platform == p && small(b) {
				base += float64(b.Base.Units)
				ours += float64(b.Cost.Units)
			}
		}
		add(p+": parallelism decides where maps are small", ours >= base, "units of C9 and C10: %.0f, template %.0f", ours/2, base/2)
	}
	less, n := 0, 0
	var units, baseUnits float64
	for i := range bars {
		if b := &bars[i]; b.Platform == "mvm-reram" {
			n++
			units += float64(b.Cost.Units)
			baseUnits += float64(b.Base.Units)
			if b.Cost.Parts[mapping.Compute] < b.Base.Parts[mapping.Compute] {
				less++
			}
		}
	}
	add("mvm-reram: copies of the kernel give parallelism", n > 0 && units > baseUnits && less*2 > n, "crossbars %.0f in the mean, template %.0f; fewer cycles of products on %d of %d operators", units/float64(max(1, n)), baseUnits/float64(max(1, n)), less, n)
	var rowBase, rowOurs float64
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range bars {
		if b := &bars[i]; b.Platform == "pnm-hbm" && b.Operator[0] == 'C' {
			rowBase += float64(b.Base.Parts[mapping.Idle] + b.Base.Parts[mapping.Distribute])
			rowOurs += float64(b.Cost.Parts[mapping.Idle] + b.Cost.Parts[mapping.Distribute])
			lo, hi = min(lo, b.Reduction), max(hi, b.Reduction)
		}
	}
	add("pnm-hbm: the improvement is mainly reuse in registers", rowOurs < rowBase, "cycles for rows and registers %.0f, template %.0f", rowOurs, rowBase)
	add("pnm-hbm: the spread between layers is small", hi-lo < 20, "improvements of %.1f to %.1f %%", lo, hi)
	return out
}

// Setting is a field of a platform with the values that a sweep gives it.
type Setting struct {
	Field  string    `json:"field"`
	Values []float64 `json:"values"`
}

// SweepPoint is a network on a platform with other values.
type SweepPoint struct {
	Platform string    `json:"platform"`
	Values   []float64 `json:"values"` // one for each setting
	Cycles   int64     `json:"cycles"`
	Nanos    float64   `json:"nanoseconds"`
	Bound    int64     `json:"bound_cycles"`
	Baseline int64     `json:"baseline_cycles"`
	Units    int       `json:"units"`
	Problem  string    `json:"problem,omitempty"` // why there is no mapping
}

// Sweep maps a network on every combination of values of a platform's fields.
func Sweep(ctx context.Context, o Options, net *dnn.Network, p *platform.Platform, settings []Setting) ([]SweepPoint, error) {
	n := 1
	for _, s := range settings {
		n *= len(s.Values)
	}
	points := make([]SweepPoint, n)
	at := func(i int) []float64 {
		v := make([]float64, len(settings))
		for k := len(settings) - 1; k >= 0; k-- {
			v[k] = settings[k].Values[i%len(settings[k].Values)]
			i /= len(settings[k].Values)
		}
		return v
	}
	err := jobs(ctx, &o, "sweep "+net.Name+" "+p.Hash(), points, func(i int) string { return fmt.Sprint(p.Name, " ", settings, at(i)) }, func(i int) error {
		x, v := p, at(i)
		for k, s := range settings {
			var err error
			if x, err = x.With(s.Field, v[k]); err != nil {
				return err
			}
		}
		points[i] = SweepPoint{Platform: p.Name, Values: v, Units: x.Units()}
		rep, err := plan.Map(ctx, ctx, net, x, plan.Options{Evals: o.Evals, Seed: o.Seed, Threads: 1, Execute: "none", Cold: len(net.MACs()) > 1 && x.Executor != platform.SIMDExecutor, Pipeline: true})
		if errors.Is(err, mapping.ErrInfeasible) {
			points[i].Problem = err.Error()
			return nil
		}
		if err != nil {
			return err
		}
		points[i].Cycles, points[i].Bound, points[i].Baseline, points[i].Nanos = rep.Cycles, rep.Bound, rep.Baseline, float64(rep.Cycles)/x.ClockGHz
		return nil
	})
	return points, err
}
