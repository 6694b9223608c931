package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

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
	Checked struct {
		Outputs  int64  `json:"outputs"`
		Of       int64  `json:"of"`
		Oracle   string `json:"oracle"`
		Fidelity string `json:"fidelity"`
	} `json:"checked"`
}

// barsData is parts of wholes, as the script bars.js has it.
type barsData struct {
	Label string    `json:"label"`
	Unit  string    `json:"unit"`
	Parts []string  `json:"parts"`
	Rows  []string  `json:"rows"`
	Marks []int64   `json:"marks,omitempty"` // a line in each row
	Mark  string    `json:"mark,omitempty"`  // what it is
	Of    [][]int64 `json:"of"`
}

// mapping shows a network on a memory that computes: where the cycles of its layers go.
func mapping(r *mapResult) []Section {
	d := &barsData{Label: "Cycles of layers by what they go to", Unit: "cycles", Mark: "lower bound", Parts: []string{}, Rows: []string{}, Of: [][]int64{}}
	for _, part := range slices.Sorted(maps.Keys(r.Breakdown)) {
		if r.Breakdown[part] > 0 {
			d.Parts = append(d.Parts, part)
		}
	}
	t := &Table{Table: benchmarks.Table{Title: "Layers", Columns: []benchmarks.Column{{Name: "layer", Left: true}, {Name: "operator", Left: true}, {Name: "cycles"}, {Name: "at least"},
		{Name: "template"}, {Name: "bitlines in use, %"}, {Name: "outputs compared"}, {Name: "mapped as", Left: true}}}}
	for _, l := range r.Layers {
		base := "-"
		if l.Baseline > 0 {
			base = strconv.FormatInt(l.Baseline, 10)
		}
		t.Rows = append(t.Rows, []string{l.Name, l.Operator, strconv.FormatInt(l.Cycles, 10), strconv.FormatInt(l.Bound, 10), base, fmt.Sprintf("%.1f", 100*l.Utilisation), strconv.FormatInt(l.Outputs, 10), l.Same})
		var parts []int64
		for _, p := range d.Parts {
			parts = append(parts, l.Breakdown[p])
		}
		d.Rows, d.Marks, d.Of = append(d.Rows, l.Name), append(d.Marks, l.Bound), append(d.Of, parts)
	}
	checked := Note("Not executed: cycles are of the model alone.")
	if r.Checked.Outputs > 0 {
		checked = Note(fmt.Sprintf("%s of %s outputs were executed at %s fidelity and agree with a %s.", commas(int(r.Checked.Outputs)), commas(int(r.Checked.Of)), r.Checked.Fidelity, r.Checked.Oracle))
	}
	facts := Facts{{"cycles", commas(int(r.Cycles))}, {"at least", commas(int(r.Bound))}, {"microseconds", fmt.Sprintf("%.4g", r.NS/1e3)}, {"layers", strconv.Itoa(len(r.Layers))}, {"optimiser", r.Optimizer}}
	if r.Baseline > 0 {
		facts = append(facts, Fact{"of a template", commas(int(r.Baseline))})
	}
	parts := []Part{facts, checked, &View{Kind: "bars", Title: "Where the cycles go", Data: d}, t}
	if len(r.Layers) == 1 && r.Layers[0].Mapping != "" {
		parts = append(parts, Text(r.Layers[0].Mapping))
	}
	return []Section{{ID: "mapping", Title: r.Work + " on " + r.Platform, Lead: r.Title, Parts: parts}}
}
