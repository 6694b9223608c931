package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/benchmarks/sweep"
)

// sweepData is a sweep as the script sweep.js has it.
type sweepData struct {
	Total int        `json:"total"`
	Rows  []sweepRow `json:"rows"`
	Works []string   `json:"works"` // parameters that say what is worked on: jobs that differ there are no rivals
}

type sweepRow struct {
	Params map[string]any     `json:"params"` // numbers where the text is one
	Values map[string]float64 `json:"values"` // numbers of the result, by their paths
	Error  string             `json:"error,omitempty"`
}

// Sweep shows records of jobs, of so many in all. live is the name under which a server
// has newer data; "" is none.
func Sweep(title string, records []*sweep.Record, total int, live string) []Section {
	d, t := sweepView(records, total)
	t.Live = live
	return []Section{{ID: "sweep", Title: title, Lead: "Each line and each point is a job. Choose the axes, point at a line to see its job, and find those that nothing beats.",
		Parts: []Part{&View{Kind: "sweep", Data: d, Live: live}, t}}}
}

// maxValues is how many numbers of a result are kept, the shallow ones first.
const maxValues = 80

// sweepView is what the script and the table show of records.
func sweepView(records []*sweep.Record, total int) (*sweepData, *Table) {
	d := &sweepData{Total: max(total, len(records)), Rows: []sweepRow{}, Works: []string{}}
	var params []string
	seen := map[string]int{}
	first := map[string]float64{}
	varies := map[string]bool{}
	for _, r := range records {
		row := sweepRow{Params: map[string]any{}, Values: map[string]float64{}}
		for _, p := range r.Params {
			if !slices.Contains(params, p.Name) {
				params = append(params, p.Name)
				if isWork(r, p.Name) {
					d.Works = append(d.Works, p.Name)
				}
			}
			if v, err := strconv.ParseFloat(p.Value, 64); err == nil {
				row.Params[p.Name] = v
			} else {
				row.Params[p.Name] = p.Value
			}
		}
		if r.Failed() {
			row.Error = strings.TrimSpace(r.Error)
			if row.Error == "" {
				row.Error = fmt.Sprintf("exit code %d", r.Exit)
			}
		} else {
			var v any
			if json.Unmarshal(r.Result, &v) == nil {
				numbers("", v, row.Values)
			}
		}
		for name, v := range row.Values {
			if _, ok := row.Params[name]; ok {
				continue // as netlist.rows of a parameter rows
			}
			if seen[name]++; seen[name] == 1 {
				first[name] = v
			}
			varies[name] = varies[name] || v != first[name]
		}
		d.Rows = append(d.Rows, row)
	}
	// Numbers of all results, of those that differ, at most so many.
	names := slices.SortedFunc(maps.Keys(seen), func(a, b string) int {
		if x, y := strings.Count(a, "."), strings.Count(b, "."); x != y {
			return x - y
		}
		return strings.Compare(a, b)
	})
	names = slices.DeleteFunc(names, func(n string) bool { return len(records) > 1 && !varies[n] })
	names = names[:min(len(names), maxValues)]
	for i := range d.Rows {
		maps.DeleteFunc(d.Rows[i].Values, func(n string, _ float64) bool { return !slices.Contains(names, n) })
	}
	t := &Table{Table: benchmarks.Table{Title: "Jobs"}}
	for _, p := range params {
		t.Columns = append(t.Columns, benchmarks.Column{Name: p, Left: !slices.ContainsFunc(d.Rows, func(r sweepRow) bool { _, ok := r.Params[p].(float64); return ok })})
	}
	const shown = 12
	columns := preferred(names)
	columns = columns[:min(len(columns), shown)]
	for _, n := range columns {
		t.Columns = append(t.Columns, benchmarks.Column{Name: n})
	}
	t.Columns = append(t.Columns, benchmarks.Column{Name: "state", Left: true})
	for i, r := range records {
		var row []string
		for _, p := range params {
			k := slices.IndexFunc(r.Params, func(x sweep.Param) bool { return x.Name == p })
			if k < 0 {
				row = append(row, "")
			} else {
				row = append(row, r.Params[k].Value)
			}
		}
		for _, n := range columns {
			if v, ok := d.Rows[i].Values[n]; ok {
				row = append(row, strconv.FormatFloat(v, 'g', 6, 64))
			} else {
				row = append(row, "-")
			}
		}
		state := "done"
		if r.Failed() {
			state = fmt.Sprintf("failed (%d): %s", r.Exit, d.Rows[i].Error)
		}
		t.Rows = append(t.Rows, append(row, state))
	}
	return d, t
}

// isWork reports whether a parameter of a job says what is worked on, a circuit, a kernel
// or its size, and not how: the words of the command have it, and no flag but define.
func isWork(r *sweep.Record, param string) bool {
	return param == "define" || len(r.Args) > 0 && !slices.ContainsFunc(r.Args, func(a string) bool { return strings.HasPrefix(a, "--"+param+"=") })
}

// preferred puts what most studies are about first.
func preferred(names []string) []string {
	first := []string{"copies", "energy", "cycles.total", "lower_bound.copies", "instructions", "arrays_used", "max_rows"}
	var list []string
	for _, n := range first {
		if slices.Contains(names, n) {
			list = append(list, n)
		}
	}
	for _, n := range names {
		if !slices.Contains(first, n) {
			list = append(list, n)
		}
	}
	return list
}

// numbers collects the numbers of a JSON document by their paths; a truth is 0 or 1.
// Lists are left out: their places mean nothing from job to job.
func numbers(path string, v any, to map[string]float64) {
	switch v := v.(type) {
	case float64:
		to[path] = v
	case map[string]any:
		for name, x := range v {
			if path != "" {
				name = path + "." + name
			}
			numbers(name, x, to)
		}
	}
}
