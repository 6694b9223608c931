package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/benchmarks"
)

// mapResult is what the JSON of a mapped network has that is shown.
type mapResult struct {
	Work      string           `json:"work"`
	Title     string           `json:"title"`
	Platform  string           `json:"platform"`
	Optimizer string           `json:"optimizer"`
	Cycles    int64            `json:"cycles"`
	Bound     int64            `json:"bound"`
	Baseline  int64            `json:"baseline_cycles"`
	Breakdown map[string]int64 `json:"breakdown"`
	NS        float64          `json:"nanoseconds"`
	Layers    []struct {
		Name        string           `json:"name"`
		Operator    string           `json:"operator"`
		Same        string           `json:"same_as"`
		Mapping     string           `json:"mapping"`
		Cycles      int64            `json:"cycles"`
		Bound       int64            `json:"bound"`
		Baseline    int64            `json:"baseline_cycles"`
		Utilisation float64          `json:"utilisation"`
		Breakdown   map[string]int64 `json:"breakdown"`
		Outputs     int64            `json:"outputs_compared"`
	} `json:"layers"`
	Joint   *jointResult `json:"joint"` // nil: layers were mapped one by one
	Checked struct {
		Outputs  int64  `json:"outputs"`
		Of       int64  `json:"of"`
		Oracle   string `json:"oracle"`
		Fidelity string `json:"fidelity"`
	} `json:"checked"`
}

// jointResult is what the JSON of a network that was planned as a whole has besides: its
// layers may be on several platforms, whose cycles are not alike.
type jointResult struct {
	NS     float64 `json:"nanoseconds"`
	Greedy float64 `json:"layer_by_layer_nanoseconds"`
	Bound  float64 `json:"bound_nanoseconds"`
	Exact  bool    `json:"exact"`
	Layers []struct {
		Platform string  `json:"platform"`
		Resident []bool  `json:"activations_in_buffer"`
		Stays    bool    `json:"result_stays"`
		NS       float64 `json:"nanoseconds"`
		Between  float64 `json:"between_nanoseconds"`
	} `json:"layers"`
}

// barsData is parts of wholes, as the script bars.js has it.
type barsData struct {
	Label string      `json:"label"`
	Unit  string      `json:"unit"`
	Parts []string    `json:"parts"`
	Rows  []string    `json:"rows"`
	Marks []float64   `json:"marks,omitempty"` // a line in each row
	Mark  string      `json:"mark,omitempty"`  // what it is
	Of    [][]float64 `json:"of"`
}

// mapping shows a network on a memory that computes: where the cycles of its layers go, or
// the time if it was planned as a whole.
func mapping(r *mapResult) []Section {
	d := &barsData{Label: "Cycles of layers by what they go to", Unit: "cycles", Parts: []string{}, Rows: []string{}, Of: [][]float64{}}
	found := map[string]bool{}
	for _, l := range r.Layers {
		for part, n := range l.Breakdown {
			found[part] = found[part] || n > 0
		}
	}
	maps.DeleteFunc(found, func(_ string, is bool) bool { return !is })
	d.Parts = append(d.Parts, slices.Sorted(maps.Keys(found))...)
	checked := Note("Not executed: cycles are of the model alone.")
	if r.Checked.Outputs > 0 {
		checked = Note(fmt.Sprintf("%s of %s outputs were executed at %s fidelity and agree with a %s.", commas(int(r.Checked.Outputs)), commas(int(r.Checked.Of)), r.Checked.Fidelity, r.Checked.Oracle))
	}
	var parts []Part
	platform := r.Platform
	if r.Joint != nil && len(r.Joint.Layers) == len(r.Layers) {
		var facts Facts
		var t *Table
		facts, t, platform = jointly(r, d)
		parts = []Part{facts, checked, &View{Kind: "bars", Title: "Where the time goes", Data: d}, t}
	} else {
		facts, t := oneByOne(r, d)
		parts = []Part{facts, checked, &View{Kind: "bars", Title: "Where the cycles go", Data: d}, t}
	}
	if len(r.Layers) == 1 && r.Layers[0].Mapping != "" {
		parts = append(parts, Text(r.Layers[0].Mapping))
	}
	return []Section{{ID: "mapping", Title: r.Work + " on " + platform, Lead: r.Title, Parts: parts}}
}

// oneByOne has the figures of layers that follow one another on one platform, and draws
// their cycles.
func oneByOne(r *mapResult, d *barsData) (Facts, *Table) {
	t := &Table{Table: benchmarks.Table{Title: "Layers", Columns: []benchmarks.Column{{Name: "layer", Left: true}, {Name: "operator", Left: true}, {Name: "cycles"}, {Name: "at least"},
		{Name: "template"}, {Name: "bitlines in use, %"}, {Name: "outputs compared"}, {Name: "mapped as", Left: true}}}}
	d.Mark = "lower bound"
	for _, l := range r.Layers {
		base := "-"
		if l.Baseline > 0 {
			base = strconv.FormatInt(l.Baseline, 10)
		}
		t.Rows = append(t.Rows, []string{l.Name, l.Operator, strconv.FormatInt(l.Cycles, 10), strconv.FormatInt(l.Bound, 10), base, fmt.Sprintf("%.1f", 100*l.Utilisation), strconv.FormatInt(l.Outputs, 10), l.Same})
		var parts []float64
		for _, p := range d.Parts {
			parts = append(parts, float64(l.Breakdown[p]))
		}
		d.Rows, d.Marks, d.Of = append(d.Rows, l.Name), append(d.Marks, float64(l.Bound)), append(d.Of, parts)
	}
	facts := Facts{{"cycles", commas(int(r.Cycles))}, {"at least", commas(int(r.Bound))}, {"microseconds", micros(r.NS)}, {"layers", strconv.Itoa(len(r.Layers))}, {"optimiser", r.Optimizer}}
	if r.Baseline > 0 {
		facts = append(facts, Fact{"of a template", commas(int(r.Baseline))})
	}
	return facts, t
}

// jointly has the figures of layers that were planned together, and draws their time.
func jointly(r *mapResult, d *barsData) (facts Facts, t *Table, platforms string) {
	d.Label, d.Unit = "Time of layers by what it goes to", "ns"
	cycles := d.Parts
	d.Parts = append(slices.Clip(cycles), "between layers")
	t = &Table{Table: benchmarks.Table{Title: "Layers", Columns: []benchmarks.Column{{Name: "layer", Left: true}, {Name: "operator", Left: true}, {Name: "platform", Left: true}, {Name: "ns"}, {Name: "between, ns"},
		{Name: "cycles"}, {Name: "activations from", Left: true}, {Name: "result to", Left: true}, {Name: "outputs compared"}}}}
	where := map[bool]string{true: "buffer", false: "off chip"}
	var used []string
	for i, l := range r.Layers {
		c := &r.Joint.Layers[i]
		if !slices.Contains(used, c.Platform) {
			used = append(used, c.Platform)
		}
		var from []string
		for _, resident := range c.Resident {
			from = append(from, where[resident])
		}
		t.Rows = append(t.Rows, []string{l.Name, l.Operator, c.Platform, fmt.Sprintf("%.4g", c.NS), fmt.Sprintf("%.4g", c.Between), strconv.FormatInt(l.Cycles, 10), strings.Join(from, ", "), where[c.Stays], strconv.FormatInt(l.Outputs, 10)})
		var total int64
		for _, n := range l.Breakdown {
			total += n
		}
		var parts []float64
		for _, p := range cycles { // in the clock of the layer's platform
			parts = append(parts, c.NS*float64(l.Breakdown[p])/float64(max(total, 1)))
		}
		d.Rows, d.Of = append(d.Rows, l.Name), append(d.Of, append(parts, c.Between))
	}
	exact := "as far as the search went"
	if r.Joint.Exact {
		exact = "exact over the mappings found"
	}
	greedy := "does not go together"
	if r.Joint.Greedy >= 0 {
		greedy = micros(r.Joint.Greedy)
	}
	return Facts{{"microseconds", micros(r.Joint.NS)}, {"at least", micros(r.Joint.Bound)}, {"layer by layer", greedy}, {"layers", strconv.Itoa(len(r.Layers))}, {"plan", exact}}, t, strings.Join(used, ", ")
}

// micros shows nanoseconds.
func micros(ns float64) string { return fmt.Sprintf("%.4g", ns/1e3) }
