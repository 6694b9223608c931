package report

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/benchmarks/reproduce"
	"github.com/bitsched/bitsched/benchmarks/results"
	"github.com/bitsched/bitsched/benchmarks/sweep"
	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// ErrUnknown is what errors of files wrap that hold no results.
var ErrUnknown = errors.New("expected a folder of a sweep, its records, a program, a circuit, or what a command printed with --json")

// MaxFile bounds the size of a file with results.
const MaxFile = 1 << 30

// Read makes sections of what files and folders have: folders of sweeps, their records
// as lines of JSON, what commands print with --json, programs, and circuits. The path is
// shown by its last element. A program that stands right after a circuit is shown with
// the names of its gates.
func Read(ctx context.Context, paths ...string) ([]Section, error) {
	var all []Section
	var circuit *xmg.Graph
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		sections, graph, err := read(ctx, path, circuit)
		if err != nil {
			return nil, err
		}
		circuit = graph
		all = append(all, sections...)
	}
	return all, nil
}

// titleOf names what a file has.
func titleOf(path string) string {
	base := filepath.Base(filepath.Clean(path))
	return strings.TrimSuffix(base, filepath.Ext(base))
}

func read(ctx context.Context, path string, circuit *xmg.Graph) ([]Section, *xmg.Graph, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, fmt.Errorf("report: %w", err)
	}
	if info.IsDir() {
		records, err := folder(path)
		if err != nil {
			return nil, nil, err
		}
		sections, err := sweepSections(titleOf(path), records, len(records))
		return sections, nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("report: %w", err)
	}
	defer f.Close()
	b := bufio.NewReader(io.LimitReader(f, MaxFile))
	switch head, _ := b.Peek(512); {
	case bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")):
		text, err := io.ReadAll(b)
		if err != nil {
			return nil, nil, fmt.Errorf("report: %w", err)
		}
		sections, err := Document(path, text)
		return sections, nil, err
	case bytes.HasPrefix(head, []byte(".program")):
		p, err := sram.Parse(b, path)
		if err != nil {
			return nil, nil, err
		}
		if circuit != nil && circuit.NumInputs() != len(p.Inputs) {
			circuit = nil
		}
		sections, err := Schedule(titleOf(path), circuit, p)
		if err != nil && circuit != nil {
			sections, err = Schedule(titleOf(path), nil, p) // of another circuit
		}
		return sections, nil, err
	case len(head) == 0:
		return nil, nil, fmt.Errorf("report: %s is empty, %w", path, ErrUnknown)
	}
	n, err := netlist.ReadFileWith(path, netlist.ReadOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("report: %s: %w (%w)", path, ErrUnknown, err)
	}
	g, err := xmg.FromNetwork(ctx, n, xmg.Options{})
	if err != nil {
		return nil, nil, err
	}
	return Circuit(titleOf(path), g), g, nil
}

// folder returns the records of a folder of results, in the order of their parameters.
func folder(dir string) ([]*sweep.Record, error) {
	store, err := results.Open(dir)
	if err != nil {
		return nil, err
	}
	keys, err := store.Keys()
	if err != nil {
		return nil, err
	}
	var list []*sweep.Record
	for _, key := range keys {
		r := &sweep.Record{}
		if _, err := store.Get(key, r); err != nil {
			return nil, err
		}
		if r.Key == key { // else times
			list = append(list, r)
		}
	}
	if len(list) == 0 && len(keys) > 0 {
		return nil, fmt.Errorf("report: %s has no records, %w", dir, ErrUnknown)
	}
	slices.SortStableFunc(list, byParams)
	return list, nil
}

// byParams orders records by their parameters, numbers as such.
func byParams(a, b *sweep.Record) int {
	for i := range min(len(a.Params), len(b.Params)) {
		x, y := a.Params[i].Value, b.Params[i].Value
		if x == y {
			continue
		}
		v, err1 := strconv.ParseFloat(x, 64)
		w, err2 := strconv.ParseFloat(y, 64)
		if err1 == nil && err2 == nil && v != w {
			if v < w {
				return -1
			}
			return 1
		}
		return strings.Compare(x, y)
	}
	return len(a.Params) - len(b.Params)
}

// Document makes sections of what a command prints with --json; path names it.
func Document(path string, text []byte) ([]Section, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	var first map[string]json.RawMessage
	if err := d.Decode(&first); err != nil {
		at := d.InputOffset()
		if wrong := new(json.SyntaxError); errors.As(err, &wrong) {
			at = wrong.Offset
		}
		return nil, fmt.Errorf("report: %s:%d: no JSON: %w", path, lineAt(text, at), err)
	}
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(n string) bool { return first[n] == nil })
	}
	decode := func(v any) error {
		if err := json.Unmarshal(text, v); err != nil {
			return fmt.Errorf("report: %s: %w", path, err)
		}
		return nil
	}
	title := titleOf(path)
	switch {
	case has("key", "params", "exit"):
		records, err := lines(path, text)
		if err != nil {
			return nil, err
		}
		return sweepSections(title, records, len(records))
	case d.More():
		return nil, fmt.Errorf("report: %s has several documents that are no records of a sweep, %w", path, ErrUnknown)
	case has("records", "jobs"):
		var s struct {
			Title   string
			Jobs    int
			Records []*sweep.Record
		}
		if err := decode(&s); err != nil {
			return nil, err
		}
		return sweepSections(title, slices.DeleteFunc(s.Records, func(r *sweep.Record) bool { return r == nil }), s.Jobs)
	case has("entries", "size", "left_out"):
		var r reproducedResult
		if err := decode(&r); err != nil {
			return nil, err
		}
		return r.sections(), nil
	case has("circuits", "schedulers"):
		var r benchmarks.Report
		if err := decode(&r); err != nil {
			return nil, err
		}
		return ComparisonReport(title, &r), nil
	}
	if has("work", "platform", "layers", "breakdown") || has("work", "platform", "layers", "joint") {
		var r mapResult
		if err := decode(&r); err != nil {
			return nil, err
		}
		return mapping(&r), nil
	}
	var v map[string]any
	if err := decode(&v); err != nil {
		return nil, err
	}
	return []Section{anything(title, v)}, nil
}

// reproducedResult is what the JSON of reproduce has.
type reproducedResult struct {
	Entries []*reproduce.Report
	LeftOut []struct{ Why string } `json:"left_out"`
}

func (r *reproducedResult) sections() []Section {
	var left []string
	for _, l := range r.LeftOut {
		left = append(left, l.Why)
	}
	return Reproduced(slices.DeleteFunc(r.Entries, func(e *reproduce.Report) bool { return e == nil }), left)
}

// sweepSections shows records, and those of reproduce as the papers that they are of.
func sweepSections(title string, records []*sweep.Record, total int) ([]Section, error) {
	all := &reproducedResult{}
	for _, r := range records {
		if len(r.Args) == 0 || r.Args[0] != "reproduce" {
			return Sweep(title, records, total, ""), nil
		}
		if r.Failed() {
			all.LeftOut = append(all.LeftOut, struct{ Why string }{strings.TrimSpace(r.Error)})
			continue
		}
		var one reproducedResult
		if err := json.Unmarshal(r.Result, &one); err != nil {
			return nil, fmt.Errorf("report: %s: the result of %s: %w", title, strings.Join(r.Args, " "), err)
		}
		all.Entries = append(all.Entries, one.Entries...)
		all.LeftOut = append(all.LeftOut, one.LeftOut...)
	}
	if len(records) == 0 {
		return Sweep(title, records, total, ""), nil
	}
	slices.SortStableFunc(all.Entries, func(a, b *reproduce.Report) int { return strings.Compare(a.ID, b.ID) })
	return all.sections(), nil
}

// lines reads records, one a line.
func lines(path string, text []byte) ([]*sweep.Record, error) {
	var list []*sweep.Record
	d := json.NewDecoder(bytes.NewReader(text))
	for d.More() {
		r := &sweep.Record{}
		at := d.InputOffset()
		if err := d.Decode(r); err != nil {
			return nil, fmt.Errorf("report: %s:%d: %w, expected a record of a sweep", path, lineAt(text, at+1), err)
		}
		if r.Key == "" {
			return nil, fmt.Errorf("report: %s:%d: no key, expected a record of a sweep", path, lineAt(text, at+1))
		}
		list = append(list, r)
	}
	return list, nil
}

func lineAt(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(int(offset), len(text))], []byte("\n"))
}

// anything shows a result of which nothing more is known: its numbers and texts, and its
// lists of objects as tables.
func anything(title string, v map[string]any) Section {
	s := Section{Title: title, ID: "result"}
	t := &Table{Table: benchmarks.Table{Title: "Figures", Columns: []benchmarks.Column{{Name: "figure", Left: true}, {Name: "value", Left: true}}}}
	var tables []Part
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(strings.TrimPrefix(path+"."+name, "."), v[name])
			}
		case []any:
			if objects := tableOf(path, v); objects != nil {
				tables = append(tables, objects)
			} else if len(v) > 0 {
				t.Rows = append(t.Rows, []string{path, short(v)})
			}
		case nil:
		default:
			t.Rows = append(t.Rows, []string{path, short(v)})
		}
	}
	walk("", v)
	s.Parts = append([]Part{t}, tables...)
	return s
}

// tableOf is a list of objects with the columns that any has; nil if it is none.
func tableOf(title string, list []any) *Table {
	t := &Table{Table: benchmarks.Table{Title: title}}
	var names []string
	for _, x := range list {
		o, ok := x.(map[string]any)
		if !ok {
			return nil
		}
		for _, n := range slices.Sorted(maps.Keys(o)) {
			if _, nested := o[n].(map[string]any); !nested && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	if i := slices.Index(names, "name"); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, "name")
	}
	for _, x := range list {
		var row []string
		for _, n := range names {
			row = append(row, short(x.(map[string]any)[n]))
		}
		t.Rows = append(t.Rows, row)
	}
	for i, n := range names {
		t.Columns = append(t.Columns, benchmarks.Column{Name: n, Left: leftColumn(t.Rows, i)})
	}
	return t
}

// short is a value as a cell has it.
func short(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case float64:
		if v == float64(int64(v)) {
			return commas(int(v))
		}
		return strconv.FormatFloat(v, 'g', 6, 64)
	case []any:
		var parts []string
		for _, x := range v {
			if parts = append(parts, short(x)); len(parts) == 12 && len(v) > 12 {
				return strings.Join(parts, ", ") + ", …"
			}
		}
		return strings.Join(parts, ", ")
	}
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}
