// Package reproduce is the registry of the tables and figures of the papers that
// this project can make again: what the paper says, how ours is measured, and a
// verdict.
//
// An [Entry] has a runner, which measures with the same library calls as the
// commands, and claims with the paper's figures, their sections, and how far ours may
// be. It never sees a paper's figure: [Entry.Run] compares what it measured
// afterwards. Entries that need inputs which the project does not ship say so.
// Results are kept by [results.Store] under a key of the entry, its sizes, its inputs
// and the program, so that a second call prints what the first one found.
package reproduce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bitsched/bitsched/benchmarks/results"
	"github.com/bitsched/bitsched/tile"
)

// Entry is a table or a figure of a paper.
type Entry struct {
	ID    string // paper:table or figure, as in "masim:table2"
	Title string
	Paper string // the paper and the place in it
	Doc   string // what is measured, and on what, where that differs from the paper

	Inputs []string // files under Env.Data that it reads, with * as in a shell
	Claims []Claim
	Timed  bool // it depends on what is random in time
	// Workloads are those it simulates, one by one, so that some of them can be chosen
	// ([Env.Workloads]); nil where that cannot be.
	Workloads func() []string
	Run       func(ctx context.Context, env *Env) (*Measured, error)
	// Relax runs what bounds need that do not follow from what Run does; nil: nothing. It is called
	// for the claims that differ alone, once all of Run has ended, and returns what became of runs
	// that failed, whose bounds it leaves out.
	Relax func(ctx context.Context, env *Env, misses []Miss) (bounds []Bound, failed []string, err error)
}

// Claim is a figure that a paper prints.
type Claim struct {
	Name      string // of the quantity, as the runner names it
	Section   string // of the paper
	Unit      string
	Paper     float64
	Tolerance float64 // how far ours may be: a share of the paper's, or with Points so many units
	Points    bool
	Better    int    // -1: less than the paper's is reproduced as well; 1: more is
	Reading   string // which reading of the paper it holds under, where there are several
	Only      Size   // "" = both sizes
	Order     string // claims of the same one are in the order of the paper's figures
}

// Size is how much of an entry is run.
type Size string

// The sizes.
const (
	Small      Size = "small"
	PaperSizes Size = "paper"
)

// Source is where a parameter is from that paper and simulator have different values of.
type Source string

// The sources.
const (
	Paper     Source = ""
	Simulator Source = "simulator"
)

// ParseSource reads "paper" or "simulator".
func ParseSource(text string) (Source, error) {
	switch text {
	case "paper":
		return Paper, nil
	case string(Simulator):
		return Simulator, nil
	}
	return "", fmt.Errorf("%q, expected paper or simulator", text)
}

// CheckReadings returns an error unless each text is PATH=VALUE, a parameter of a machine that
// sources set differently and a value that one of them has.
func CheckReadings(list []string) error {
	var paths []string
	values := map[string][]string{}
	for _, p := range tile.Default().Parameters() {
		if len(p.Reading) > 0 {
			paths = append(paths, p.Path)
			values[p.Path] = p.Reading
		}
	}
	for i, text := range list {
		path, value, ok := strings.Cut(text, "=")
		switch {
		case !ok:
			return fmt.Errorf("%q, expected PATH=VALUE, as in l1d.mshrs=4", text)
		case values[path] == nil:
			return fmt.Errorf("%q, expected one of %s", path, strings.Join(paths, ", "))
		case !slices.Contains(values[path], value):
			return fmt.Errorf("%s: value %q, expected %s", path, value, strings.Join(values[path], " or "))
		case slices.ContainsFunc(list[:i], func(o string) bool { return strings.HasPrefix(o, path+"=") }):
			return fmt.Errorf("%s twice, expected one value", path)
		}
	}
	return nil
}

// reading is what figures in time are under, "" where machines are as the paper has them.
func (e *Env) reading() string {
	list := slices.Clone(e.Set)
	if e.Readings == Simulator {
		list = slices.Insert(list, 0, "machines as the authors' simulator has them")
	}
	if len(e.Workloads) > 0 {
		list = append(list, strings.Join(e.Workloads, ", ")+" alone")
	}
	return strings.Join(list, ", ")
}

// readingOfAny is that of figures whose machine is the same for all sources.
func (e *Env) readingOfAny() string {
	plain := *e
	plain.Readings = Paper
	return plain.reading()
}

// chosen says whether a workload is simulated.
func (e *Env) chosen(name string) bool {
	return len(e.Workloads) == 0 || slices.Contains(e.Workloads, name)
}

// CheckWorkloads checks that entries have workloads of these names: each name is one of an entry,
// and each entry has one of them.
func CheckWorkloads(entries []*Entry, names []string) error {
	var all []string
	for _, e := range entries {
		if e.Workloads == nil {
			return fmt.Errorf("with %s, expected figures that run workloads in time", e.ID)
		}
		list := e.Workloads()
		all = append(all, list...)
		if !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(list, n) }) {
			return fmt.Errorf("%s with %s, expected some of %s", strings.Join(names, ","), e.ID, strings.Join(list, ", "))
		}
	}
	for i, n := range names {
		if !slices.Contains(all, n) {
			return fmt.Errorf("%q, expected some of %s", n, strings.Join(all, ", "))
		}
		if slices.Contains(names[:i], n) {
			return fmt.Errorf("%s twice, expected it once", n)
		}
	}
	return nil
}

// machine is the machine of that name with the readings of the environment, and some parameters
// changed, names and values in turn.
func (e *Env) machine(name string, set ...string) (*tile.Machine, error) {
	m, err := tile.LoadMachine(name)
	for _, text := range e.Set {
		if path, value, _ := strings.Cut(text, "="); err == nil {
			err = m.Set(path, value)
		}
	}
	for i := 0; i+1 < len(set) && err == nil; i += 2 {
		err = m.Set(set[i], set[i+1])
	}
	return m, err
}

// machineNote says on which machine figures are.
func (e *Env) machineNote(name string) string {
	by := "paper"
	if e.Readings == Simulator {
		by = "authors' simulator"
	}
	return strings.Join(append([]string{"machine " + name + ", as the " + by + " has it"}, e.Set...), ", ")
}

// Env is what runners are given.
type Env struct {
	Size    Size
	Data    string // folder with published inputs; "" = none
	Threads int
	Seed    uint64
	// Seeds are how many seeds of what is random in time entries that have it are run with; up to
	// 1: nothing is.
	Seeds int
	// Sample is the share of the time that runs of whole machines simulate, 0 for all of it;
	// Budget is how long one may take on the host, 0 for any time. Entries that have no such
	// runs do not depend on them.
	Sample float64
	Budget time.Duration
	// Readings say which machines figures in time run on: as the papers describe them, or as
	// the authors' simulator has them. Rounds say how many iterations of the workloads of
	// Near-Stream Computing run: those of its table VI, or of the run scripts. "" = [Paper].
	Readings, Rounds Source
	// Set are readings of single parameters of those machines, each PATH=VALUE ([CheckReadings]).
	Set []string
	// Workloads are the only ones that entries simulate which have several; nil: all
	// ([CheckWorkloads]).
	Workloads []string

	// Unbounded leaves out the runs that bound claims which differ.
	Unbounded bool
	// Progress says what is being done, and how much of it; may be nil.
	Progress func(what string, done, total int)

	store   *results.Store // of [Entry.Make]; nil = none
	version string
	fresh   bool
	jitter  uint64    // seed of what is random in time, 0 = nothing is
	made    *sync.Map // keys of parts that have been measured since [Entry.Make] was called
}

// kept measures a part of an entry into v, or takes it from the store, so that an entry
// that was stopped goes on. Names are what it depends on besides the size, the seed and
// the program. A part that fails is not kept.
func (e *Env) kept(v any, measure func() error, names ...any) error {
	if e.store == nil {
		return measure()
	}
	key := results.Key("reproduce part", e.Size, e.Seed, e.jitter, e.version, e.Set, names)
	if _, made := e.made.Load(key); made || !e.fresh {
		if found, err := e.store.Get(key, v); found || err != nil {
			return err
		}
	}
	if err := measure(); err != nil {
		return err
	}
	e.made.Store(key, true)
	return e.store.Put(key, v)
}

func (e *Env) progress(what string, done, total int) {
	if e.Progress != nil {
		e.Progress(what, done, total)
	}
}

// File returns the path of an input.
func (e *Env) File(name string) string { return filepath.Join(e.Data, filepath.FromSlash(name)) }

// Measured is what a runner found.
type Measured struct {
	Values  []Value  `json:"values"`            // those that claims name, and more
	Bounds  []Bound  `json:"bounds,omitempty"`  // of values
	Reading string   `json:"reading,omitempty"` // that all values are under, beside those of claims
	Tables  []Table  `json:"tables,omitempty"`
	Figures []Figure `json:"figures,omitempty"`
	Notes   []string `json:"notes,omitempty"`  // what was checked, and where ours differs in kind
	Failed  []string `json:"failed,omitempty"` // runs that failed, and why; values leave them out
}

// Add adds a value.
func (m *Measured) Add(name, unit string, v float64) {
	m.Values = append(m.Values, Value{Name: name, Unit: unit, Value: v})
}

// Value is a measured quantity.
type Value struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit,omitempty"`
	Value float64 `json:"value"`
	// Interval is half of the 95 % confidence interval of a mean of several seeds, 0 of one.
	Interval float64 `json:"interval,omitempty"`
}

// Table is a table for people.
type Table struct {
	Title string     `json:"title"`
	Head  []string   `json:"head"`
	Rows  [][]string `json:"rows"`
}

// Figure is a drawing.
type Figure struct {
	File string `json:"file"` // name.svg
	SVG  []byte `json:"svg"`
}

// Verdict is what came of a claim.
type Verdict string

// The verdicts.
const (
	Reproduced   Verdict = "reproduced"    // within the tolerance
	BetterThan   Verdict = "better"        // beyond it, on the good side
	Differs      Verdict = "differs"       // beyond it
	NotMeasured  Verdict = "not measured"  // the runner has no such value at this size
	UnderReading Verdict = "under reading" // within the tolerance, under the reading named
	NotReachable Verdict = "not reachable" // beyond the tolerance, and so is its bound
)

// Comparison is a claim beside ours.
type Comparison struct {
	Name      string   `json:"name"`
	Section   string   `json:"section"`
	Unit      string   `json:"unit,omitempty"`
	Paper     float64  `json:"paper"`
	Ours      *float64 `json:"ours,omitempty"`
	Deviation *float64 `json:"deviation,omitempty"` // ours / paper - 1, or with points ours - paper
	Interval  float64  `json:"interval,omitempty"`  // of ours, as of a value
	Tolerance float64  `json:"tolerance"`
	Points    bool     `json:"points,omitempty"`
	Reading   string   `json:"reading,omitempty"`
	Verdict   Verdict  `json:"verdict"`
	Bounds    []Bound  `json:"bounds,omitempty"` // of what differs, from its side, the tightest first
}

// Report is an entry, what it measured, and the verdicts.
type Report struct {
	ID          string       `json:"id"`
	Title       string       `json:"title"`
	Paper       string       `json:"paper"`
	Size        Size         `json:"size"`
	Comparisons []Comparison `json:"comparisons"`
	Seeds       int          `json:"seeds,omitempty"`  // of what is random in time, if there are several
	Orders      []Order      `json:"orders,omitempty"` // of claims, of several seeds
	*Measured
	Kept      bool `json:"-"`                   // found in the store
	Unbounded bool `json:"unbounded,omitempty"` // claims differ, and runs that bound them were not made

	first []Value // of the seed that bounds are of
}

// MissingError says which inputs an entry lacks.
type MissingError struct {
	ID    string
	Input string
	Data  string // the folder that was looked in; "" = none
}

func (e *MissingError) Error() string {
	if e.Data == "" {
		return fmt.Sprintf("reproduce: %s needs %s, expected a folder that has it as --data", e.ID, e.Input)
	}
	return fmt.Sprintf("reproduce: %s needs %s, which is not in %s", e.ID, e.Input, e.Data)
}

// ErrUnknown is wrapped by the errors of names that are no entry's.
var ErrUnknown = errors.New("no such table or figure")

// Find returns the entries that a name stands for: one, those of a paper
// ("masim:all" or "masim"), or "all".
func Find(name string) ([]*Entry, error) {
	var found []*Entry
	paper := strings.TrimSuffix(name, ":all")
	for _, e := range Entries {
		if name == "all" || e.ID == name || strings.HasPrefix(e.ID, paper+":") {
			found = append(found, e)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("reproduce: %q: %w, expected one of those that bitsched reproduce lists", name, ErrUnknown)
	}
	return found, nil
}

// Missing names an input that a folder lacks, "" if it has all.
func (e *Entry) Missing(data string) string {
	for _, in := range e.Inputs {
		if data == "" {
			return in
		}
		files, err := filepath.Glob(filepath.Join(data, filepath.FromSlash(in)))
		if err != nil || len(files) == 0 {
			return in
		}
	}
	return ""
}

// inputs returns the key of each input file, by its name.
func (e *Entry) inputs(env *Env) (map[string]string, error) {
	keys := map[string]string{}
	for _, in := range e.Inputs {
		var files []string
		if env.Data != "" {
			var err error
			if files, err = filepath.Glob(env.File(in)); err != nil {
				return nil, fmt.Errorf("reproduce: %s: %w", e.ID, err)
			}
		}
		if len(files) == 0 {
			return nil, &MissingError{e.ID, in, env.Data}
		}
		for _, f := range files {
			if info, err := os.Stat(f); err != nil || info.IsDir() {
				return nil, &MissingError{e.ID, in, env.Data}
			}
			key, err := results.FileKey(f)
			if errors.Is(err, fs.ErrNotExist) {
				return nil, &MissingError{e.ID, in, env.Data}
			}
			if err != nil {
				return nil, fmt.Errorf("reproduce: %s: %w", e.ID, err)
			}
			rel, err := filepath.Rel(env.Data, f)
			if err != nil {
				return nil, fmt.Errorf("reproduce: %s: %w", e.ID, err)
			}
			keys[filepath.ToSlash(rel)] = key
		}
	}
	return keys, nil
}

// Make measures the entry, or takes what the store has of the same entry, sizes,
// inputs, seed and version of the program, and compares it with the paper. A nil store
// keeps nothing; fresh measures in any case. What has runs that failed is not kept. Where inputs are missing the error is a
// [*MissingError].
func (e *Entry) Make(ctx context.Context, env *Env, store *results.Store, version string, fresh bool) (*Report, error) {
	inputs, err := e.inputs(env)
	if err != nil {
		return nil, err
	}
	own := *env
	own.store, own.version, own.fresh, own.made = store, version, fresh, &sync.Map{}
	r := &Report{ID: e.ID, Title: e.Title, Paper: e.Paper, Size: env.Size}
	if env.Seeds > 1 && e.Timed {
		if err := e.several(ctx, &own, inputs, r); err != nil {
			return nil, err
		}
		own.jitter = 1
	} else {
		if r.Measured, r.Kept, err = e.measure(ctx, &own, inputs); err != nil {
			return nil, err
		}
		r.first = r.Values
	}
	if err := e.compare(ctx, &own, r); err != nil {
		return nil, err
	}
	return r, nil
}

// measure measures the entry, or takes what the store has.
func (e *Entry) measure(ctx context.Context, env *Env, inputs map[string]string) (m *Measured, kept bool, err error) {
	key := results.Key("reproduce", e.ID, env.Size, env.Seed, env.jitter, env.Sample, env.Readings, env.Rounds, env.Set, env.Workloads, inputs, env.version)
	m = &Measured{}
	if env.store != nil && !env.fresh {
		if kept, err = env.store.Get(key, m); kept || err != nil {
			return m, kept, err
		}
	}
	if m, err = e.Run(ctx, env); err != nil {
		return nil, false, fmt.Errorf("reproduce: %s: %w", e.ID, err)
	}
	if env.store != nil && len(m.Failed) == 0 {
		err = env.store.Put(key, m)
	}
	return m, false, err
}

// compare gives claims their verdicts, those that differ with bounds.
func (e *Entry) compare(ctx context.Context, env *Env, r *Report) error {
	var claims []*Claim
	var misses []Miss
	for _, c := range e.Claims {
		if c.Only == "" || c.Only == env.Size {
			claims = append(claims, c.under(r.Reading))
		}
	}
	for _, c := range claims {
		out := c.compare(r.Values)
		if m, ok := out.miss(); ok {
			misses = append(misses, m)
		}
		r.Comparisons = append(r.Comparisons, out)
	}
	r.Unbounded = env.Unbounded && e.Relax != nil && len(misses) > 0
	if !env.Unbounded && e.Relax != nil && len(misses) > 0 && len(r.Failed) == 0 && ctx.Err() == nil {
		bounds, failed, err := e.Relax(ctx, env, misses)
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("reproduce: %s: %w", e.ID, err)
		}
		if err != nil {
			failed = append(failed, "stopped before bounds were complete")
		}
		r.Bounds, r.Failed = append(r.Bounds, bounds...), failed
	}
	for i, c := range claims {
		own := 0.0
		if j := slices.IndexFunc(r.first, func(v Value) bool { return v.Name == c.Name }); j >= 0 {
			own = r.first[j].Value
		}
		if err := c.bounded(&r.Comparisons[i], r.Bounds, own); err != nil {
			return fmt.Errorf("reproduce: %s: %w", e.ID, err)
		}
		if len(r.Failed) == 0 { // the bound is of all workloads
			c.reach(&r.Comparisons[i])
		}
	}
	return nil
}

// under is the claim with one more reading, if there is one.
func (c Claim) under(reading string) *Claim {
	if reading != "" && c.Reading != "" {
		reading = c.Reading + "; " + reading
	}
	c.Reading = cmp.Or(reading, c.Reading)
	return &c
}

func (c *Claim) compare(values []Value) Comparison {
	out := Comparison{Name: c.Name, Section: c.Section, Unit: c.Unit, Paper: c.Paper, Tolerance: c.Tolerance, Points: c.Points, Reading: c.Reading, Verdict: NotMeasured}
	i := slices.IndexFunc(values, func(v Value) bool { return v.Name == c.Name })
	if i < 0 {
		return out
	}
	ours := values[i].Value
	d := ours - c.Paper
	if !c.Points {
		d = ours/c.Paper - 1
	}
	out.Ours, out.Deviation, out.Interval = &ours, &d, values[i].Interval
	switch {
	case math.Abs(d) <= c.Tolerance && c.Reading != "":
		out.Verdict = UnderReading
	case math.Abs(d) <= c.Tolerance:
		out.Verdict = Reproduced
	case d*float64(c.Better) > 0:
		out.Verdict = BetterThan
	default:
		out.Verdict = Differs
	}
	return out
}
