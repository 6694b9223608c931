package workload

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/egraph"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// Kernel is a kernel in C, with values for its sizes.
type Kernel struct {
	Builtin *kernels.Kernel // nil: it was a file
	File    string          // its name in messages
	Source  string          // in C
	Program *tdfg.Program   // nil until Compile
	Whole   *stream.Graph   // nil until CompileWhole

	// Parts are the regions of a function that has other statements too, after CompileWhole:
	// arrays may compute them, threads the rest. NoParts says why there are none, where the
	// function has regions.
	Parts   *tdfg.Program
	NoParts error

	// Reassociate says, after CompileWhole, that sums of floats may be of any order.
	Reassociate bool
	Files       fs.FS // what Source includes, nil for nothing
	Sizes       map[string]int64
	paper       bool // sizes are those of the paper
}

// UsageError is an error of what was asked for: a name, a size, a file.
type UsageError struct{ msg string }

func (e *UsageError) Error() string { return e.msg }

func usage(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// Names lists the kernels that come with the program.
func Names() []string { return namesOf(kernels.All()) }

// StreamNames lists those of Near-Stream Computing, whole functions that threads execute.
func StreamNames() []string { return namesOf(kernels.NearStream()) }

// WholeNames lists all whole functions, those with regions as parts of them, too.
func WholeNames() []string {
	return namesOf(slices.Concat(kernels.NearStream(), kernels.PointNet()))
}

func namesOf(list []*kernels.Kernel) []string {
	var names []string
	for _, k := range list {
		names = append(names, k.Name)
	}
	return names
}

// Builtin returns a kernel that comes with the program, with the sizes that Infinity
// Stream has for it or with small ones.
func Builtin(name string, paper bool) (*Kernel, error) {
	w, err := kernels.Get(name)
	if err != nil {
		return nil, usage("no kernel %q, expected one of %s, or a file (with a . or / in its name)", name, strings.Join(slices.Concat(Names(), WholeNames()), ", "))
	}
	k := &Kernel{Builtin: w, File: w.File, Source: w.Source, Files: w.Files, Sizes: maps.Clone(w.Small), paper: paper}
	if paper {
		k.Sizes = maps.Clone(w.Paper)
	}
	return k, nil
}

// FromSource returns a kernel in C; file is its name in messages, and files has what it
// includes.
func FromSource(file, source string, files fs.FS) *Kernel {
	return &Kernel{File: file, Source: source, Files: files, Sizes: map[string]int64{}}
}

// Compile compiles the kernel for values of its sizes. Sizes stay symbols of the
// program, unless it compiles only for their values, more of it becomes tensors with
// these, or one is a parameter that is only computed with. Sizes that files have by their shapes may be left out. With
// some, values may be of sizes that the kernel does not have.
func (k *Kernel) Compile(ctx context.Context, values map[string]int64, files []File, some bool) error {
	if k.Builtin != nil && k.Builtin.Whole {
		if k.Builtin.Parts {
			return usage("%s is a function of which regions are parts, and more than arrays compute: expected run --config base, in-l3 or inf-s", k.Builtin.Name)
		}
		return usage("%s is a whole function with threads, and has no region that arrays compute: expected run --config base", k.Builtin.Name)
	}
	var notes []cfront.Note
	var err error
	k.Program, err = cfront.Compile(ctx, k.File, k.Source, cfront.Options{Values: values, Files: k.Files, Notes: &notes})
	if k.Builtin == nil && len(values) > 0 && (err != nil || len(notes) > 0 || !k.sized(values) || k.below(values) || indices(k.Program)) {
		var fewer []cfront.Note
		bound, other := cfront.Compile(ctx, k.File, k.Source, cfront.Options{Defines: values, Files: k.Files, Notes: &fewer})
		if err != nil || !k.sized(values) || k.below(values) || other == nil && (len(fewer) < len(notes) || len(fewer) == len(notes) && indices(k.Program)) {
			maps.Copy(k.Sizes, values)
			k.Program, err = bound, other
			values = nil // they are no sizes of the program any more
		}
	}
	if err != nil {
		return err
	}
	given := maps.Clone(values)
	if given == nil {
		given = map[string]int64{}
	}
	k.infer(given, files)
	if k.Builtin != nil && !k.paper {
		k.align()
	}
	return k.define(given, some)
}

// lineElems is the number of elements to which align rounds up: 64 bytes of 32 bits.
const lineElems = 16

// align rounds sizes up so that rows of arrays fill cache lines, without which they
// are not transposed.
func (k *Kernel) align() {
	for _, a := range k.Program.Arrays {
		for _, name := range a.Size[0].Symbols() {
			k.Sizes[name] = (k.Sizes[name] + lineElems - 1) / lineElems * lineElems
		}
	}
}

// MaxSize is the greatest value of a size, so that bounds of loops and arrays can be
// added up.
const MaxSize = 1 << 40

// hasSize reports whether a name is that of a symbol of the program.
func (k *Kernel) hasSize(name string) bool {
	return slices.ContainsFunc(k.Program.Sizes, func(s lattice.Symbol) bool { return s.Name == name })
}

// indices reports whether a program computes with indices: in fewer bits, where sizes are
// known.
func indices(p *tdfg.Program) bool {
	return slices.ContainsFunc(p.Regions(), func(r *tdfg.Region) bool {
		return slices.ContainsFunc(r.Graph.Arrays, func(a *tdfg.Array) bool { return a.Iota })
	})
}

// sized reports whether all values are those of sizes.
func (k *Kernel) sized(values map[string]int64) bool {
	for name := range values {
		if !k.hasSize(name) {
			return false
		}
	}
	return true
}

// below reports whether a value is less than the least one that the program is for,
// though loops without iterations may make sense of it.
func (k *Kernel) below(values map[string]int64) bool {
	return slices.ContainsFunc(k.Program.Sizes, func(s lattice.Symbol) bool {
		lo, err := s.Lo.Eval(values)
		return err == nil && values[s.Name] < lo && values[s.Name] >= 1
	})
}

// infer takes sizes that have no value from the shapes of files.
func (k *Kernel) infer(values map[string]int64, files []File) {
	for i := range files {
		f := &files[i]
		a := k.Program.Array(f.Name)
		if a == nil || len(f.Shape) != len(a.Size) {
			continue // what reads it says why it is wrong
		}
		for d, x := range a.Size {
			syms := x.Symbols()
			if len(syms) != 1 {
				continue
			}
			name, n := syms[0], f.Shape[len(f.Shape)-1-d]
			if _, has := values[name]; has || (n-x.Offset())%x.Coef(name) != 0 {
				continue
			}
			values[name] = (n - x.Offset()) / x.Coef(name)
		}
	}
}

// define gives sizes their values.
func (k *Kernel) define(values map[string]int64, some bool) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !k.hasSize(name) {
			if some {
				continue
			}
			var names []string
			for _, s := range k.Program.Sizes {
				names = append(names, s.Name)
			}
			return usage("-D %s=%d: %s has no size %s, expected one of %s", name, values[name], k.Program.Name, name, strings.Join(names, ", "))
		}
		k.Sizes[name] = values[name]
	}
	for _, s := range k.Program.Sizes {
		v, ok := k.Sizes[s.Name]
		if !ok {
			return k.missing(s.Name)
		}
		if lo, err := s.Lo.Eval(k.Sizes); err == nil && v < lo {
			return usage("-D %s=%d, expected at least %d", s.Name, v, lo)
		}
		if v > MaxSize {
			return usage("-D %s=%d, expected at most %d", s.Name, v, int64(MaxSize))
		}
	}
	return nil
}

func (k *Kernel) missing(size string) error {
	return usage("no value for the size %s of %s, expected -D %s=VALUE", size, k.Program.Name, size)
}

// Bind compiles the kernel with numbers for its sizes: all of its own, and values.
func (k *Kernel) Bind(ctx context.Context, values map[string]int64, files []File) error {
	var err error
	if len(files) > 0 {
		if k.Program, err = cfront.Compile(ctx, k.File, k.Source, cfront.Options{Defines: values, Files: k.Files}); err != nil {
			return err
		}
		found := map[string]int64{}
		k.infer(found, files)
		maps.Copy(k.Sizes, found)
	}
	maps.Copy(k.Sizes, values)
	if k.Program, err = cfront.Compile(ctx, k.File, k.Source, cfront.Options{Defines: k.Sizes, Files: k.Files}); err != nil {
		return err
	}
	if len(k.Program.Sizes) > 0 {
		return k.missing(k.Program.Sizes[0].Name)
	}
	return nil
}

// UsedBy checks that each size is one of a kernel that comes with the program.
func UsedBy(values map[string]int64) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.ContainsFunc(kernels.All(), func(k *kernels.Kernel) bool { return k.Small[name] != 0 }) {
			return usage("-D %s=%d: no workload has a size %s", name, values[name], name)
		}
	}
	return nil
}

// SizeText lists the sizes: symbols in the order of the kernel's parameters, then
// those that it was compiled for.
func (k *Kernel) SizeText() string {
	var names []string
	for _, s := range k.Program.Sizes {
		names = append(names, s.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(k.Sizes)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%s=%d", name, k.Sizes[name])
	}
	return strings.Join(names, " ")
}

// Optimized returns the program with its graphs optimised for these sizes, by what
// operations cost. Sums keep their order, so that the bits of results stay the same.
func (k *Kernel) Optimized(ctx context.Context, cost *egraph.Cost) (*tdfg.Program, error) {
	p, _, err := egraph.OptimizeProgram(ctx, k.Program, egraph.Options{Sizes: k.Sizes, Cost: cost})
	return p, err
}
