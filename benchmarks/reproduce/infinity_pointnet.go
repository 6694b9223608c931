package reproduce

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/system/fused"
	"github.com/bitsched/bitsched/system/multicore"
)

// pointNetEntry is PointNet++ by stages.
var pointNetEntry = &Entry{
	ID: "infs:fig19", Title: "PointNet++ by stage and place", Paper: "Infinity Stream, Fig. 19 and Table 4",
	Doc: "the classifiers of single-scale (SSG) and multi-scale grouping (MSG) from C, all stages one after the other, cold, on 64 OOO8 cores (small: 4); layers of perceptrons are regions, but for those of the last abstraction, and Eq. 2 decides about each in in-l3, " +
		"inf-s and inf-s-nojit, with their operations and, in the first two, with the latencies of the authors' simulator; one column has all in arrays. SA6 of MSG has two batches, as its layers are larger than the arrays; the authors' program computes such layers as products of fewer columns, one after another. Cycles of a stage are from where thread 0 begins it to where it begins the next. Small: sizes in the note, on infinity-stream-slice. " +
		"Authors' program: each set abstraction alone, on random neighbours, with square layers",
	Claims: []Claim{
		{Name: "SSG: MLP in base", Section: "8", Unit: "%", Paper: 48, Tolerance: 0.2},
		{Name: "SSG: sampling in base", Section: "8", Unit: "%", Paper: 46, Tolerance: 0.2},
		{Name: "SSG: sampling, near-l3 over base", Section: "8", Unit: "x", Paper: 3.1, Tolerance: 0.2},
		{Name: "SSG: near-l3 over base", Section: "8", Unit: "x", Paper: 1.31, Tolerance: 0.2, Order: "SSG"},
		{Name: "SSG: in-l3 over base", Section: "8", Unit: "x", Paper: 1.10, Tolerance: 0.2, Order: "SSG"},
		{Name: "SSG: inf-s over base", Section: "8", Unit: "x", Paper: 1.69, Tolerance: 0.2, Order: "SSG"},
		{Name: "SSG: in-l3 over base" + paperLatencies, Section: "8", Unit: "x", Paper: 1.10, Tolerance: 0.2, Reading: readLatencies},
		{Name: "SSG: inf-s over base" + paperLatencies, Section: "8", Unit: "x", Paper: 1.69, Tolerance: 0.2, Reading: readLatencies},
		{Name: "MSG: near-l3 over base", Section: "8", Unit: "x", Paper: 1.12, Tolerance: 0.2, Order: "MSG"},
		{Name: "MSG: in-l3 over base", Section: "8", Unit: "x", Paper: 1.37, Tolerance: 0.2, Order: "MSG"},
		{Name: "MSG: inf-s over base", Section: "8", Unit: "x", Paper: 1.93, Tolerance: 0.2, Order: "MSG"},
		{Name: "MSG: in-l3 over base" + paperLatencies, Section: "8", Unit: "x", Paper: 1.37, Tolerance: 0.2, Reading: readLatencies},
		{Name: "MSG: inf-s over base" + paperLatencies, Section: "8", Unit: "x", Paper: 1.93, Tolerance: 0.2, Reading: readLatencies},
	},
	Timed:     true,
	Workloads: pointNets,
	Run:       infsFig19,
}

// pointNetSmall are sizes whose first layer fills a quarter of the arrays of a machine of a
// sixteenth, as those of table 4 do.
var pointNetSmall = map[string]map[string]int64{
	"pointnet_ssg": {"P": 512, "D": 32, "K1": 64, "N1": 32, "A1": 32, "B1": 32, "C1": 64, "K2": 32, "N2": 32, "A2": 64, "B2": 64, "C2": 64, "N3": 32, "A3": 64, "B3": 64, "C3": 128, "F1": 64, "F2": 32},
	"pointnet_msg": {
		"P": 512, "D": 32, "K1": 64, "N4": 16, "A4": 16, "B4": 16, "C4": 32, "N5": 32, "A5": 32, "B5": 32, "C5": 32, "N6": 64, "H6": 32, "A6": 32, "B6": 32, "C6": 32,
		"K2": 32, "N7": 16, "A7": 32, "B7": 32, "C7": 32, "N8": 32, "A8": 32, "B8": 32, "C8": 64, "N9": 64, "A9": 32, "B9": 32, "C9": 64,
		"N3": 32, "A3": 64, "B3": 64, "C3": 128, "F1": 64, "F2": 32,
	},
}

// pointNetRuns are the columns of the figure.
var pointNetRuns = []struct {
	title, config string
	decide        bool
	latencies     string
}{
	{"base", multicore.Base, false, ""}, {"near-l3", "near-l3", false, ""}, {"in-l3", "in-l3", true, ""}, {"inf-s", "inf-s", true, ""}, {"inf-s-nojit", "inf-s-nojit", true, ""},
	{"inf-s" + paperLatencies, "inf-s", true, "paper"}, {"in-l3" + paperLatencies, "in-l3", true, "paper"}, {"inf-s, all layers", "inf-s", false, ""},
}

// pointNetPart is what the figure needs of a run.
type pointNetPart struct {
	Cycles int64
	Stages []multicore.Stage
	Sizes  string
}

func pointNets() []string { return []string{"pointnet_ssg", "pointnet_msg"} }

func infsFig19(ctx context.Context, env *Env) (*Measured, error) {
	names := slices.DeleteFunc(pointNets(), func(n string) bool { return !env.chosen(n) })
	var jobs []job
	parts := make([]pointNetPart, len(names)*len(pointNetRuns))
	for i, name := range names {
		for j, c := range pointNetRuns {
			p := &parts[i*len(pointNetRuns)+j]
			jobs = append(jobs, job{name + " in " + c.title, func(ctx context.Context, env *Env) error {
				return inSamples(ctx, sampledIn(env, c.config), p, func(p *pointNetPart, s *multicore.Sampling) (*multicore.Report, error) {
					k, args, err := nearWorkload(ctx, env, name, pointNetSmall)
					if err != nil {
						return nil, err
					}
					r, err := runInfinity(ctx, env, k, args, infsMachine(env), c.config, s, func(o *fused.Options) { o.Decide, o.Latencies = c.decide, c.latencies })
					if err != nil {
						return nil, err
					}
					p.Cycles, p.Stages, p.Sizes = r.Cycles, r.Stages, k.SizeText()
					return r.Report, nil
				}, "infs:fig19", name, c.config, c.decide, c.latencies, env.Readings, env.Sample)
			}})
		}
	}
	ended, failed, err := env.runJobs(ctx, jobs)
	if err != nil {
		return nil, err
	}
	m := &Measured{Failed: failed, Reading: env.reading(), Notes: []string{env.machineNote(infsMachine(env))}}
	for i, name := range names {
		title := strings.ToUpper(name[len("pointnet_"):])
		runs := map[string]*pointNetPart{}
		for j, c := range pointNetRuns {
			if n := i*len(pointNetRuns) + j; ended[n] {
				runs[c.title] = &parts[n]
			}
		}
		m.pointNet(title, runs)
		for _, p := range runs { // all have the same
			m.Notes = append(m.Notes, title+": "+p.Sizes)
			break
		}
	}
	return m, nil
}

// pointNet adds what runs of a network came to: the stages, those of one name together.
func (m *Measured) pointNet(title string, runs map[string]*pointNetPart) {
	t := Table{Title: "Cycles of " + title + " by stage, and where", Head: []string{"stage"}}
	var stages []string
	sums := map[string]map[string]int64{}
	places := map[string]map[string][]string{}
	var total []string
	for _, c := range pointNetRuns {
		p := runs[c.title]
		if p == nil {
			continue
		}
		t.Head = append(t.Head, c.title, "in")
		total = append(total, fmt.Sprint(p.Cycles), "")
		sums[c.title], places[c.title] = map[string]int64{}, map[string][]string{}
		for _, s := range p.Stages {
			name, _, _ := strings.Cut(s.Name, "_") // of its form
			if !slices.Contains(stages, name) {
				stages = append(stages, name)
			}
			sums[c.title][name] += s.Cycles
			places[c.title][name] = append(places[c.title][name], s.Place)
		}
	}
	for _, s := range stages {
		row := []string{s}
		for _, c := range pointNetRuns {
			if runs[c.title] != nil {
				row = append(row, fmt.Sprint(sums[c.title][s]), placesText(places[c.title][s]))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	t.Rows = append(t.Rows, append([]string{"all"}, total...))
	m.Tables = append(m.Tables, t)
	var tracks []track
	for _, c := range pointNetRuns {
		if p := runs[c.title]; p != nil {
			one := track{name: c.title}
			for _, s := range p.Stages {
				one.spans = append(one.spans, span{s.Name, s.Place, s.Cycles})
			}
			tracks = append(tracks, one)
		}
	}
	if svg := timeline("PointNet++ "+title+" in time", "Stages of each configuration, and below them where they ran.", tracks); svg != nil {
		m.Figures = append(m.Figures, Figure{strings.ToLower(title) + ".svg", svg})
	}
	base := runs["base"]
	if base == nil {
		return
	}
	m.Add(title+": MLP in base", "%", 100*float64(sums["base"]["layer"])/float64(base.Cycles))
	m.Add(title+": sampling in base", "%", 100*float64(sums["base"]["sample"])/float64(base.Cycles))
	for _, c := range pointNetRuns[1:] {
		if p := runs[c.title]; p != nil {
			name, paper := strings.CutSuffix(c.title, paperLatencies)
			if name += " over base"; paper {
				name += paperLatencies
			}
			m.Add(title+": "+name, "x", float64(base.Cycles)/float64(p.Cycles))
			if n := sums[c.title]["sample"]; n > 0 {
				m.Add(title+": sampling, "+c.title+" over base", "x", float64(sums["base"]["sample"])/float64(n))
			}
		}
	}
}

// placesText counts places, as in "3 arrays, 6 cores".
func placesText(list []string) string {
	var names []string
	n := map[string]int{}
	for _, p := range list {
		if n[p]++; n[p] == 1 {
			names = append(names, p)
		}
	}
	slices.Sort(names)
	if len(names) == 1 {
		return names[0]
	}
	for i, p := range names {
		names[i] = fmt.Sprintf("%d %s", n[p], p)
	}
	return strings.Join(names, ", ")
}
