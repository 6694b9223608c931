package sweep

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bitsched/bitsched/benchmarks/results"
	"github.com/bitsched/bitsched/internal/strictyaml"
)

// Plan is a matrix of the flags of one command.
type Plan struct {
	Title   string
	Command []string // words; {axis} stands for the value of an axis
	Flags   []Param  // the same for all jobs
	Axes    []Axis   // the first varies slowest
	Timeout time.Duration
	Jobs    []Job // in order
}

// Axis is a parameter and its values.
type Axis struct {
	Name   string
	Values []string
}

// Param is a parameter and a value.
type Param struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Job is one run of a command.
type Job struct {
	Number int      `json:"number"` // from 1, in the order of the plan
	Key    string   `json:"key"`    // of all that its result depends on
	Params []Param  `json:"params"` // of the axes
	Args   []string `json:"args"`
	Inputs []Input  `json:"inputs"` // files that it reads
}

// Input is a file that a job reads.
type Input struct {
	Name string `json:"name"` // as the arguments have it
	Path string `json:"-"`    // where it is
	Key  string `json:"key"`  // of what it holds

	folder, rest string // of a file of a folder: the folder as the arguments have it, and the rest
}

// String is the command line of the job.
func (j *Job) String() string { return strings.Join(j.Args, " ") }

// text is a plan as it is written.
type text struct {
	Version int                 `yaml:"version"`
	Title   string              `yaml:"title"`
	Command []string            `yaml:"command"`
	Flags   map[string]string   `yaml:"flags"`
	Matrix  map[string][]string `yaml:"matrix"`
	Include []map[string]string `yaml:"include"`
	Exclude []map[string]string `yaml:"exclude"`
	Seeds   int                 `yaml:"seeds"`
	Timeout string              `yaml:"timeout"`
}

// MaxJobs is how many jobs a plan may have unless its size is confirmed.
const MaxJobs = 10_000

// mostJobs is how many it may have at all: they are listed in memory.
const mostJobs = 10_000_000

// Commands are the commands that a sweep may run: those that print a result as one
// JSON document and change nothing.
var Commands = []string{"schedule", "synth", "stats", "cec", "verify", "faults", "compare", "ops", "run", "lower", "tilesize", "noc", "sparse", "map", "layers", "reproduce"}

// refused are flags that write files or change how results are printed.
var refused = []string{"o", "output", "svg", "csv", "html", "trace", "stats", "json", "dump", "results"}

var placeholder = regexp.MustCompile(`\{([^{}]*)\}`)

// ReadOptions say what a plan may be.
type ReadOptions struct {
	Many bool // it may have more than MaxJobs jobs
	// Has tells whether a command, in words, has a flag; nil leaves that to the jobs.
	Has func(command []string, flag string) bool
}

// Read reads a plan. file is its name in errors and the folder that its inputs are
// relative to. Version is that of the program, part of every key.
func Read(r io.Reader, file, version string, o ReadOptions) (*Plan, error) {
	doc, err := strictyaml.Read(r, file, "a plan of a sweep")
	if err != nil {
		return nil, err
	}
	var t text
	if err := doc.Decode(&t); err != nil {
		return nil, err
	}
	p := &Plan{Title: t.Title, Command: t.Command}
	switch {
	case t.Version != 1:
		return nil, doc.Errorf("version", "version is %d, expected 1", t.Version)
	case len(t.Command) == 0:
		return nil, doc.Errorf("command", "command is missing, expected the words of a command such as [schedule, \"{circuit}\"]")
	case !slices.Contains(Commands, t.Command[0]):
		return nil, doc.Errorf("command", "command is %s, expected one of %s", t.Command[0], strings.Join(Commands, ", "))
	case t.Seeds < 0:
		return nil, doc.Errorf("seeds", "seeds is %d, expected 1 or more", t.Seeds)
	}
	if t.Timeout != "" {
		if p.Timeout, err = time.ParseDuration(t.Timeout); err != nil || p.Timeout <= 0 {
			return nil, doc.Errorf("timeout", "timeout is %q, expected a time such as 10m", t.Timeout)
		}
	}
	for _, name := range doc.Keys("flags") {
		if err := refuse(name); err != nil {
			return nil, doc.Errorf("flags."+name, "flags.%s %v", name, err)
		}
		p.Flags = append(p.Flags, Param{name, t.Flags[name]})
	}
	for _, name := range doc.Keys("matrix") {
		path := "matrix." + name
		if err := refuse(name); err != nil {
			return nil, doc.Errorf(path, "%s %v", path, err)
		}
		if _, ok := t.Flags[name]; ok {
			return nil, doc.Errorf(path, "%s is among the flags too, expected it once", path)
		}
		a := Axis{Name: name}
		for i, s := range t.Matrix[name] {
			if slices.Contains(a.Values, s) {
				return nil, doc.Errorf(fmt.Sprintf("%s[%d]", path, i), "%s[%d] is %s a second time, expected it once", path, i, s)
			}
			a.Values = append(a.Values, s)
		}
		if len(a.Values) == 0 {
			return nil, doc.Errorf(path, "%s has no values, expected one or more", path)
		}
		p.Axes = append(p.Axes, a)
	}
	most, more := MaxJobs, " (--yes runs them all)"
	if o.Many {
		most, more = mostJobs, ""
	}
	if t.Seeds > most {
		return nil, doc.Errorf("seeds", "seeds is %d, more than %d, expected fewer%s", t.Seeds, most, more)
	}
	if t.Seeds > 0 {
		if _, ok := t.Matrix["seed"]; ok {
			return nil, doc.Errorf("seeds", "seeds stands beside matrix.seed, expected one of them")
		}
		a := Axis{Name: "seed"}
		for i := range t.Seeds {
			a.Values = append(a.Values, strconv.Itoa(i+1))
		}
		p.Axes = append(p.Axes, a)
	}
	for i, word := range t.Command {
		for _, m := range placeholder.FindAllStringSubmatch(word, -1) {
			if !slices.ContainsFunc(p.Axes, func(a Axis) bool { return a.Name == m[1] }) {
				return nil, doc.Errorf(fmt.Sprintf("command[%d]", i), "command has {%s}, expected an axis of the matrix", m[1])
			}
		}
	}
	known := func(path, name string) error {
		if o.Has == nil || o.Has(t.Command, name) || strings.Contains(strings.Join(t.Command, " "), "{"+name+"}") {
			return nil
		}
		return doc.Errorf(path, "%s: %s has no flag --%s", path, t.Command[0], name)
	}
	for _, x := range p.Flags {
		if err := known("flags."+x.Name, x.Name); err != nil {
			return nil, err
		}
	}
	for _, a := range p.Axes {
		path := "matrix." + a.Name
		if _, ok := t.Matrix[a.Name]; !ok {
			path = "seeds"
		}
		if err := known(path, a.Name); err != nil {
			return nil, err
		}
	}
	if len(p.Axes) == 0 && len(t.Include) == 0 {
		return nil, doc.Errorf("matrix", "matrix is missing or empty, expected an axis with values")
	}
	n := 1
	for _, a := range p.Axes {
		if n *= len(a.Values); n > most {
			return nil, doc.Errorf("matrix", "matrix has more than %d combinations, expected fewer%s", most, more)
		}
	}
	exclude, err := sets(doc, "exclude", t.Exclude, p.Axes)
	if err != nil {
		return nil, err
	}
	include, err := sets(doc, "include", t.Include, nil)
	if err != nil {
		return nil, err
	}
	for i, set := range include {
		for _, x := range set {
			if err := known(fmt.Sprintf("include[%d].%s", i, x.Name), x.Name); err != nil {
				return nil, err
			}
		}
	}
	var combinations [][]Param
	if len(p.Axes) > 0 {
		for i := range n {
			set := make([]Param, len(p.Axes))
			for k := len(p.Axes) - 1; k >= 0; k-- {
				values := p.Axes[k].Values
				set[k] = Param{p.Axes[k].Name, values[i%len(values)]}
				i /= len(values)
			}
			if !slices.ContainsFunc(exclude, func(x []Param) bool { return covers(x, set) }) {
				combinations = append(combinations, set)
			}
		}
	}
	b := &builder{plan: p, dir: filepath.Dir(file), version: version, files: map[string][]Input{}, seen: map[string]bool{}}
	for _, set := range combinations {
		if err := b.add(set); err != nil {
			return nil, doc.Errorf(err.path(), "%s %s", err.path(), err.msg)
		}
	}
	for i, set := range include {
		if err := b.add(set); err != nil {
			at := fmt.Sprintf("include[%d]", i)
			return nil, doc.Errorf(at, "%s %s", at, err.msg)
		}
	}
	if len(p.Jobs) == 0 {
		return nil, doc.Errorf("exclude", "exclude leaves no job, expected fewer exclusions")
	}
	return p, nil
}

func refuse(name string) error {
	if strings.HasPrefix(name, "-") {
		return fmt.Errorf("begins with -, expected the name of a flag")
	}
	if slices.Contains(refused, name) {
		return fmt.Errorf("writes files or changes what is printed, which a sweep does itself")
	}
	return nil
}

// sets reads a list of parameters; those of an exclusion must be axes.
func sets(doc *strictyaml.Document, path string, list []map[string]string, axes []Axis) ([][]Param, error) {
	var all [][]Param
	for i, m := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		var set []Param
		for _, name := range doc.Keys(at) {
			if axes != nil && !slices.ContainsFunc(axes, func(a Axis) bool { return a.Name == name }) {
				return nil, doc.Errorf(at+"."+name, "%s.%s is no axis of the matrix", at, name)
			}
			if err := refuse(name); err != nil {
				return nil, doc.Errorf(at+"."+name, "%s.%s %v", at, name, err)
			}
			set = append(set, Param{name, m[name]})
		}
		if len(set) == 0 {
			return nil, doc.Errorf(at, "%s is empty, expected parameters", at)
		}
		all = append(all, set)
	}
	return all, nil
}

// covers reports whether a set has all parameters of another one.
func covers(part, set []Param) bool {
	return !slices.ContainsFunc(part, func(x Param) bool { return !slices.Contains(set, x) })
}

// builder makes jobs of sets of parameters.
type builder struct {
	plan    *Plan
	dir     string
	version string
	files   map[string][]Input // by values
	seen    map[string]bool
}

type buildError struct{ axis, msg string }

// path is where the plan has what is wrong.
func (e *buildError) path() string {
	if e.axis == "" {
		return "command"
	}
	return "matrix." + e.axis
}

func (b *builder) add(set []Param) *buildError {
	j := Job{Params: set}
	used := map[string]bool{}
	for _, word := range b.plan.Command {
		var missing string
		j.Args = append(j.Args, placeholder.ReplaceAllStringFunc(word, func(m string) string {
			name := m[1 : len(m)-1]
			used[name] = true
			i := slices.IndexFunc(set, func(x Param) bool { return x.Name == name })
			if i < 0 {
				missing = name
				return m
			}
			return set[i].Value
		}))
		if missing != "" {
			return &buildError{missing, fmt.Sprintf("has no %s, which the command takes", missing)}
		}
	}
	for _, x := range slices.Concat(b.plan.Flags, set) {
		if !used[x.Name] {
			j.Args = append(j.Args, "--"+x.Name+"="+x.Value)
		}
	}
	j.Args = append(j.Args, "--json")
	for _, x := range slices.Concat(b.plan.Flags, set) {
		if err := b.take(&j, x.Value); err != nil {
			return &buildError{x.Name, err.Error()}
		}
	}
	for _, word := range b.plan.Command[1:] {
		if placeholder.MatchString(word) {
			continue
		}
		if err := b.take(&j, word); err != nil {
			return &buildError{"", err.Error()}
		}
	}
	inputs := map[string]string{}
	for _, in := range j.Inputs {
		inputs[stageName(in)] = in.Key
	}
	j.Key = results.Key("sweep", stagedArgs(&j), inputs, b.version)
	if b.seen[j.Key] {
		return nil
	}
	b.seen[j.Key] = true
	j.Number = len(b.plan.Jobs) + 1
	b.plan.Jobs = append(b.plan.Jobs, j)
	return nil
}

// endings are those of files that commands read. A value with one of them, or with a
// folder, must be a file.
var endings = []string{".aig", ".aag", ".blif", ".v", ".bench", ".bsp", ".c", ".yaml", ".yml", ".json", ".onnx", ".mtx", ".el", ".gr", ".txt", ".csv", ".npy", ".bin"}

// take gives a job the files that a value names.
func (b *builder) take(j *Job, v string) error {
	list, ok := b.files[v]
	if !ok {
		var err error
		if list, err = b.inputs(v); err != nil {
			return err
		}
		b.files[v] = list
	}
	for _, in := range list {
		if !slices.Contains(j.Inputs, in) {
			j.Inputs = append(j.Inputs, in)
		}
	}
	return nil
}

// MaxFolder is how many files a folder may have that a job reads.
const MaxFolder = 10_000

// inputs returns the file that a value names, or the files of a folder; none for what is
// neither.
func (b *builder) inputs(v string) ([]Input, error) {
	path := v
	if !filepath.IsAbs(v) {
		path = filepath.Join(b.dir, filepath.FromSlash(v))
	}
	info, err := os.Stat(path)
	switch {
	case v != "" && err == nil && info.Mode().IsRegular():
		key, err := results.FileKey(path)
		if err != nil {
			return nil, fmt.Errorf("has %s: %w", v, err)
		}
		return []Input{{Name: v, Path: path, Key: key}}, nil
	case v != "" && err == nil && info.IsDir() && strings.ContainsAny(v, `/\`):
		return b.folder(v, path)
	case slices.Contains(endings, strings.ToLower(filepath.Ext(v))) || strings.ContainsRune(v, '/'):
		return nil, fmt.Errorf("has %s, which is no file that can be read", v)
	}
	return nil, nil
}

// folder returns the files of a folder and of those in it.
func (b *builder) folder(v, path string) ([]Input, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("has %s: %w", v, err)
	}
	var list []Input
	err = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
			return nil
		}
		rest, err := filepath.Rel(path, file)
		if err != nil {
			return err
		}
		key, err := results.FileKey(file)
		if err != nil {
			return err
		}
		rest = filepath.ToSlash(rest)
		if list = append(list, Input{Name: strings.TrimSuffix(v, "/") + "/" + rest, Path: file, Key: key, folder: v, rest: rest}); len(list) > MaxFolder {
			return fmt.Errorf("it has more than %d files", MaxFolder)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("has %s: %w", v, err)
	}
	return list, nil
}
