package gearbox

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/sram/cost"
	"github.com/bitsched/bitsched/system/sparse"
	"github.com/bitsched/bitsched/system/sparse/matrix"
)

//go:embed data/p100.csv
var p100 string

// Time is a published time of a GPU.
type Time struct {
	Dataset string  `json:"dataset"`
	App     string  `json:"app"`
	Millis  float64 `json:"ms"`
	Rounds  int     `json:"rounds"`
	File    string  `json:"file"`
}

// PublishedTimes returns what logs of Gunrock on a P100 have.
func PublishedTimes() (list []Time) {
	for line := range strings.Lines(p100) {
		f := strings.Split(strings.TrimSpace(line), ",")
		if len(f) != 5 || strings.HasPrefix(line, "#") {
			continue
		}
		ms, err1 := strconv.ParseFloat(f[2], 64)
		rounds, err2 := strconv.Atoi(f[3])
		if err1 != nil || err2 != nil {
			panic("gearbox: p100.csv: " + line) // it is embedded, and a test reads it
		}
		list = append(list, Time{f[0], f[1], ms, rounds, f[4]})
	}
	return list
}

// PaperShare is the share of the bandwidth of the card of the logs that the paper's has:
// 549 of 732 GB/s, three of four stacks.
const PaperShare = 0.75

// published returns the time of a GPU; ok is false where there is no log.
func published(dataset, app string) (Time, bool) {
	for _, t := range PublishedTimes() {
		if t.Dataset == dataset && t.App == app {
			return t, true
		}
	}
	return Time{}, false
}

// Options are the data and the stack of a study.
type Options struct {
	Machine    *sparse.Machine
	Scale      int // of stand-ins
	Locality   float64
	Datasets   []string // nil: all
	Iterations int      // of PageRank
	Seed       uint64
	Threads    int
	Check      bool
	Dir        string // of the paper's files, which come before stand-ins; "" = none
	Progress   func(text string)
}

// Lab executes kernels, each once.
type Lab struct {
	o    Options
	data map[string]*matrix.Matrix
	runs map[string]*sparse.Result

	unfit map[string]string // why a run does not fit the stack
}

// NewLab returns a lab.
func NewLab(o Options) *Lab {
	if o.Machine == nil {
		o.Machine = sparse.Default()
	}
	o.Scale, o.Iterations = max(1, o.Scale), max(1, o.Iterations)
	return &Lab{o: o, data: map[string]*matrix.Matrix{}, runs: map[string]*sparse.Result{}, unfit: map[string]string{}}
}

// sets are the matrices of the study.
func (l *Lab) sets() (list []matrix.Dataset) {
	for _, d := range matrix.Datasets() {
		if len(l.o.Datasets) == 0 || slices.Contains(l.o.Datasets, d.Name) {
			list = append(list, d)
		}
	}
	return list
}

// matrix returns a stand-in, or the file itself. One is kept at a time.
func (l *Lab) matrix(name string) (*matrix.Matrix, error) {
	if m := l.data[name]; m != nil {
		return m, nil
	}
	clear(l.data)
	l.say("%s", name)
	if l.o.Dir != "" && l.o.Scale == 1 {
		if file, err := matrix.Find(name, l.o.Dir); err == nil {
			m, _, err := matrix.Open(file, matrix.Options{DropLoops: true})
			l.data[name] = m
			return m, err
		}
	}
	m, err := matrix.Standin(name, l.o.Scale, l.o.Locality, l.o.Seed)
	l.data[name] = m
	return m, err
}

func (l *Lab) say(format string, args ...any) {
	if l.o.Progress != nil {
		l.o.Progress(fmt.Sprintf(format, args...))
	}
}

// whole says whether times are those of the whole set on the whole stack: data and
// stack are divided alike.
func (l *Lab) whole() bool {
	o := l.o.Machine.Organisation
	d := sparse.Default().Organisation
	return l.o.Scale*o.Layers == d.Layers && l.o.Scale*o.Vaults == d.Vaults
}

// spec is a run.
type spec struct {
	set, app, variant string
	long              float64 // percent; negative: as the machine has
	place             string
	readings          string
	spuMHz            float64
	queries           int // of spknn and svm; 0: the default
}

// run executes a kernel once.
func (l *Lab) run(ctx context.Context, s spec) (*sparse.Result, error) {
	key := fmt.Sprintf("%+v", s)
	if r := l.runs[key]; r != nil {
		return r, nil
	}
	m, err := l.matrix(s.set)
	if err != nil {
		return nil, err
	}
	mach := *l.o.Machine
	if s.long >= 0 {
		mach.LongPercent = s.long
		mach.Logic.SRAM = 1 << 30 // how much SRAM a share of long ones takes is another question
	}
	if s.place != "" {
		mach.Readings.Place, mach.Readings.V1Place = s.place, s.place
	}
	if s.readings != "" {
		if err := mach.SetReadings(strings.Split(s.readings, ",")); err != nil {
			return nil, err
		}
	}
	if s.spuMHz > 0 {
		mach.Clocks.SPU = s.spuMHz
	}
	v, err := sparse.LookupVariant(s.variant)
	if err != nil {
		return nil, err
	}
	l.say("%s of %s, %s", s.app, s.set, s.variant)
	o := sparse.DefaultAppOptions()
	if s.app == "pagerank" {
		o.Iterations = l.o.Iterations
	}
	if s.queries > 0 && (s.app == "spknn" || s.app == "svm") {
		o.Queries = s.queries
	}
	cfg := sparse.Config{Machine: &mach, Variant: v, Type: sparse.F32, Long: -1, Seed: l.o.Seed, Threads: max(1, l.o.Threads), Check: l.o.Check, Every: 64, Instr: 64}
	res, err := sparse.Run(ctx, s.app, m, o, cfg, nil)
	if errors.Is(err, sparse.ErrInfeasible) && (s.long == 0 || !v.Long) {
		// Without long columns, a hub's does not fit an SPU. What it would take is
		// executed nevertheless, with the buffers that there are, and said.
		l.unfit[key] = err.Error()
		cfg.Buffer = mach.RowsPerSPU()
		for errors.Is(err, sparse.ErrInfeasible) && mach.Organisation.RowsPerSubarray < 1<<20 {
			mach.Organisation.RowsPerSubarray *= 2
			res, err = sparse.Run(ctx, s.app, m, o, cfg, nil)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s of %s on %s: %w", s.app, s.set, s.variant, err)
	}
	if res.Stopped != "" {
		return nil, context.Cause(ctx)
	}
	t, err := cost.Load(mach.CostTable)
	if err != nil {
		return nil, err
	}
	res.Energy = sparse.Price(res, t)
	res.Values, res.Levels = nil, nil
	l.runs[key] = res
	return res, nil
}

// fits says why a run does not fit the stack, "" if it does.
func (l *Lab) fits(s spec) string {
	if why := l.unfit[fmt.Sprintf("%+v", s)]; why != "" {
		return "cannot be built: " + why
	}
	return ""
}

// plain is a spec without changes.
func plain(set, app, variant string) spec {
	return spec{set: set, app: app, variant: variant, long: -1}
}

// perRound is the time of a round of PageRank, of the whole run else, in ms.
func perRound(app string, seconds float64, rounds int) float64 {
	if app == "pagerank" {
		return seconds * 1e3 / float64(rounds)
	}
	return seconds * 1e3
}

// speedup is a published time of the GPU over ours; NaN if one is missing.
func (l *Lab) speedup(set, app string, res *sparse.Result) float64 {
	t, ok := published(set, app)
	if !ok || !l.whole() {
		return math.NaN()
	}
	return perRound(app, t.Millis/1e3, t.Rounds) / perRound(app, res.Seconds, len(res.Iterations))
}

// geomean is the geometric mean of what is not NaN; NaN of nothing.
func geomean(list []float64) float64 {
	sum, n := 0.0, 0
	for _, v := range list {
		if !math.IsNaN(v) {
			sum += math.Log(v)
			n++
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return math.Exp(sum / float64(n))
}

func mean(list []float64) float64 {
	sum, n := 0.0, 0
	for _, v := range list {
		if !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	return sum / float64(n)
}

// Ratio is a published speedup of Gearbox over a rival.
type Ratio struct {
	Rival  string  `json:"rival"`
	Of     string  `json:"of"`
	Ratio  float64 `json:"ratio"`
	Source string  `json:"source"`
}

// PublishedRatios returns the speedups that the paper prints, which nothing here
// computes.
func PublishedRatios() []Ratio {
	return []Ratio{
		{"P100, Gunrock", "mean of five applications and matrices", 15.73, "abstract"},
		{"P100, Gunrock", "the greatest", 52, "abstract"},
		{"SpaceA", "per area, mean", 58, "section 7.2"},
		{"SpaceA", "per area, the greatest", 447, "section 7.2"},
		{"SpaceA over a GPU", "its own evaluation", 13.54, "abstract of SpaceA"},
		{"SpaceA with both ideas, over SpaceA", "mean", 3.4, "section 7.2"},
		{"DRISA", "regular kernels, more than", 100, "figure 18, from Fulcrum"},
		{"ideal GPU", "per stack, mean", 7.94, "section 7.5"},
		{"ideal GPU in the logic layer", "per stack, mean", 2.83, "section 7.5"},
		{"Graphicionado", "per chip", 10.01, "table 5"},
		{"Tesseract", "per stack", 27.08, "table 5"},
		{"GraphP", "per stack", 21.99, "table 5"},
		{"bank SIMD", "regular kernels, mean", 4.4, "figure 18, from Fulcrum"},
	}
}
