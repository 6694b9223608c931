package timing

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/tile/mem/dram"
)

// Point is a measurement of the reference that can be made again.
type Point struct {
	ID     string
	Series string // kernel, or pattern of traffic
	core   *CorePoint
	dram   *DRAMPoint
}

// DRAMPoint is a measurement of a memory under a load.
type DRAMPoint struct {
	dram.Experiment
	curve string // of the same memory and traffic

	saturated          bool
	achieved, latency  float64 // of the reference
	p50                float64
	saturatedBandwidth float64 // of the curve
}

// Verdict says whether a deviation is within its tolerance.
type Verdict string

// The verdicts.
const (
	Within    Verdict = "within"
	Beyond    Verdict = "beyond"
	NotJudged Verdict = "not judged"
)

// Outcome is what the model measures beside the reference.
type Outcome struct {
	ID        string  `json:"id"`
	Series    string  `json:"series"`
	Quantity  string  `json:"quantity"`
	Reference float64 `json:"reference"`
	Ours      float64 `json:"ours"`
	Deviation float64 `json:"deviation_percent"`
	// Tolerance is in percent, or, of the median latency of an idle memory, in clocks.
	Tolerance float64           `json:"tolerance"`
	InClocks  bool              `json:"tolerance_in_clocks"`
	Verdict   Verdict           `json:"verdict"`
	Core      *CoreResult       `json:"core,omitempty"`
	DRAM      *dram.Measurement `json:"dram,omitempty"`
}

// tolerances of core points, in percent, by the word in the column use.
var tolerances = map[string]float64{
	"calibrate": 2, "tol2": 2, "tol5": 5, "tol10": 10, "tol15": 15, "io15": 15, "shape25": 25, "loose35": 35,
	// With a branch predictor of our own.
	"branch5imposed_20own": 20,
}

// Run measures a point.
func (p *Point) Run(ctx context.Context) (*Outcome, error) {
	o := &Outcome{ID: p.ID, Series: p.Series}
	if p.core != nil {
		r, err := p.core.Run(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.ID, err)
		}
		o.Core, o.Quantity, o.Reference, o.Ours = r, "cycles", p.core.Cycles, float64(r.Cycles)
		o.Tolerance = tolerances[p.core.Use]
		o.judge()
		return o, nil
	}
	m, err := p.dram.Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.ID, err)
	}
	o.DRAM = m
	d := p.dram
	switch {
	case d.Arrival == "closed1":
		o.Quantity, o.Reference, o.Ours, o.Tolerance, o.InClocks = "median latency", d.p50, float64(m.P50), 1, true
	case d.saturated:
		o.Quantity, o.Reference, o.Ours, o.Tolerance = "bandwidth", d.achieved, m.AchievedGBs, 3
		if slices.Contains([]string{"rw", "rwrand", "seq4conf"}, d.Pattern) {
			o.Tolerance = 6
		}
	default:
		o.Quantity, o.Reference, o.Ours = "mean latency", d.latency, m.Latency
		if d.saturatedBandwidth == 0 {
			// The file has no saturated point of the curve: measure one.
			full := d.Experiment
			full.Load = 2
			f, err := full.Run(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.ID, err)
			}
			d.saturatedBandwidth = f.AchievedGBs
		}
		switch offered := d.Load * d.Spec.PeakGBs(); {
		case offered <= 0.5*d.saturatedBandwidth:
			o.Tolerance = 5
		case offered <= 0.85*d.saturatedBandwidth:
			o.Tolerance = 15
		}
	}
	o.judge()
	return o, nil
}

func (o *Outcome) judge() {
	o.Deviation = 100 * (o.Ours/o.Reference - 1)
	off := math.Abs(o.Deviation)
	if o.InClocks {
		off = math.Abs(o.Ours - o.Reference)
	}
	switch {
	case o.Tolerance == 0:
		o.Verdict = NotJudged
	case off <= o.Tolerance:
		o.Verdict = Within
	default:
		o.Verdict = Beyond
	}
}

// maxFile is the most bytes that a file of points may have.
const maxFile = 1 << 24

// table is a CSV file with named columns.
type table struct {
	name    string
	r       *csv.Reader
	columns map[string]int
	row     []string
	err     error
}

// ReadPoints reads measurements from a CSV file: of cores and caches, or of DRAM, as
// the names of its columns say. Errors name the file, the line and the column.
func ReadPoints(name string, r io.Reader) ([]Point, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(text) > maxFile:
		return nil, fmt.Errorf("%s:1:1: more than %d bytes, expected at most so many", name, maxFile)
	}
	t := &table{name: name, r: csv.NewReader(bytes.NewReader(text)), columns: map[string]int{}}
	t.r.FieldsPerRecord = -1
	header, err := t.r.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s:1:1: empty file, expected the names of columns", name)
	case err != nil:
		return nil, t.csvError(err)
	}
	for i, h := range header {
		t.columns[h] = i
	}
	read, needs := t.corePoint, coreColumns
	if _, ok := t.columns["speed_MTps"]; ok {
		read, needs = t.dramPoint, dramColumns
	}
	for _, c := range needs {
		if _, ok := t.columns[c]; !ok {
			return nil, fmt.Errorf("%s:1:1: no column %s, expected those of core_cache.csv or dram_latency_load.csv", name, c)
		}
	}
	var points []Point
	seen := map[string]bool{}
	for {
		t.row, err = t.r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, t.csvError(err)
		}
		if len(t.row) != len(header) {
			return nil, fmt.Errorf("%s:%d:1: %d fields, expected %d", name, t.line(), len(t.row), len(header))
		}
		p := read()
		if t.err == nil && seen[p.ID] {
			t.wrong("point_id", "a point that is there only once")
		}
		if t.err != nil {
			return nil, t.err
		}
		seen[p.ID] = true
		points = append(points, p)
	}
	if len(points) == 0 {
		return nil, fmt.Errorf("%s:2:1: no measurements, expected at least one", name)
	}
	// What each curve saturates at.
	full := map[string]float64{}
	for _, p := range points {
		if d := p.dram; d != nil && d.saturated && d.achieved > full[d.curve] {
			full[d.curve] = d.achieved
		}
	}
	for _, p := range points {
		if d := p.dram; d != nil {
			d.saturatedBandwidth = full[d.curve]
		}
	}
	return points, nil
}

func (t *table) csvError(err error) error {
	var p *csv.ParseError
	if errors.As(err, &p) {
		return fmt.Errorf("%s:%d:%d: %w, expected CSV", t.name, p.Line, p.Column, p.Err)
	}
	return fmt.Errorf("%s: %w", t.name, err)
}

func (t *table) line() int {
	line, _ := t.r.FieldPos(0)
	return line
}

// wrong notes the first error.
func (t *table) wrong(column, expected string) {
	if t.err == nil {
		line, at := t.r.FieldPos(t.columns[column])
		t.err = fmt.Errorf("%s:%d:%d: %s %.40q, expected %s", t.name, line, at, column, t.text(column), expected)
	}
}

func (t *table) text(column string) string { return strings.Clone(t.row[t.columns[column]]) }

func (t *table) choice(column string, of []string) string {
	s := t.text(column)
	if !slices.Contains(of, s) {
		t.wrong(column, strings.Join(of, ", "))
	}
	return s
}

func (t *table) integer(column string, least, most int) int {
	n, err := strconv.Atoi(t.text(column))
	if err != nil || n < least || n > most {
		t.wrong(column, fmt.Sprintf("a number from %d to %d", least, most))
	}
	return n
}

// number reads a positive number; an empty field is 0 where that is allowed.
func (t *table) number(column string, empty bool) float64 {
	s := t.text(column)
	if s == "" && empty {
		return 0
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v > 0) || math.IsInf(v, 0) {
		t.wrong(column, "a positive number")
	}
	return v
}

var coreColumns = []string{"point_id", "core", "prefetch", "memory", "kernel", "F_bytes", "params", "warm_instr", "instr", "cycles", "use"}

func (t *table) corePoint() Point {
	c := &CorePoint{
		ID: t.text("point_id"), Core: t.choice("core", CoreNames), Prefetch: t.choice("prefetch", PrefetchNames), Memory: t.choice("memory", MemoryNames),
		Kernel: Kernel{Name: t.choice("kernel", KernelNames), Bytes: uint64(t.integer("F_bytes", 1, 1<<31)), Params: map[string]int{}},
		Warm:   t.integer("warm_instr", 0, 1<<30), Instr: t.integer("instr", 1, 1<<30), Cycles: t.number("cycles", false), Use: t.text("use"),
	}
	for _, word := range strings.Fields(t.text("params")) {
		name, value, _ := strings.Cut(word, "=")
		v, err := strconv.Atoi(value)
		if err != nil {
			t.wrong("params", "parameters as in S=64 ind=8")
		}
		c.Kernel.Params[name] = v
	}
	if tolerances[c.Use] == 0 {
		t.wrong("use", "calibrate, tol2, tol5, tol10, tol15, io15, shape25, loose35 or branch5imposed_20own")
	}
	if t.err == nil {
		if err := c.Validate(); err != nil {
			t.err = fmt.Errorf("%s:%d:1: %w", t.name, t.line(), err)
		}
	}
	return Point{ID: c.ID, Series: c.Kernel.Name, core: c}
}

var dramColumns = []string{"point_id", "speed_MTps", "channels", "mapping", "pattern", "arrival", "offered_frac_of_peak", "achieved_GBps", "saturated",
	"read_latency_avg_clk", "read_latency_p50_clk", "measured_clocks"}

func (t *table) dramPoint() Point {
	d := &DRAMPoint{}
	switch t.choice("speed_MTps", []string{"3200", "2400"}) {
	case "3200":
		d.Spec = dram.DDR4At3200()
	default:
		d.Spec = dram.DDR4At2400()
	}
	d.Spec.Channels, d.Spec.Mapping = t.integer("channels", 1, 256), t.text("mapping")
	var patterns []string
	for _, p := range dram.Patterns() {
		patterns = append(patterns, p.Name)
	}
	d.Pattern, d.Arrival = t.choice("pattern", patterns), t.choice("arrival", dram.Arrivals)
	d.Warmup, d.Window = dram.DefaultWarmup, dram.Time(t.integer("measured_clocks", 1, 1<<40))
	d.saturated = t.choice("saturated", []string{"0", "1"}) == "1"
	d.achieved = t.number("achieved_GBps", false)
	d.latency, d.p50 = t.number("read_latency_avg_clk", d.saturated), t.number("read_latency_p50_clk", d.saturated)
	if d.Arrival != "closed1" {
		load, err := strconv.ParseFloat(strings.TrimSuffix(t.text("offered_frac_of_peak"), "(saturating)"), 64)
		if err != nil {
			t.wrong("offered_frac_of_peak", "a load as a fraction of the peak")
		}
		d.Load = load
	}
	d.curve = fmt.Sprint(d.Spec.Name, d.Spec.Channels, d.Spec.Mapping, d.Pattern, d.Arrival)
	if t.err == nil {
		if err := d.Validate(); err != nil {
			t.err = fmt.Errorf("%s:%d:1: %w", t.name, t.line(), err)
		}
	}
	return Point{ID: t.text("point_id"), Series: d.Pattern, dram: d}
}
