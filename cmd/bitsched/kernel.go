package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/egraph"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tile"
)

// kernelLong says what the argument KERNEL of a command is.
const kernelLong = `KERNEL is a file in C (with a . or / in its name), or a workload that comes with
the program: `

// kernelNames lists the workloads that come with the program.
func kernelNames() []string {
	var names []string
	for _, k := range kernels.All() {
		names = append(names, k.Name)
	}
	return names
}

// wrapped is words with spaces between them in lines of at most 80 characters, the
// first of which has used some already.
func wrapped(words []string, used int) string {
	var b strings.Builder
	for i, w := range words {
		if i < len(words)-1 {
			w += ","
		}
		switch {
		case i > 0 && used+1+len(w) > 80:
			b.WriteString("\n")
			used = 0
		case i > 0:
			b.WriteString(" ")
			used++
		}
		b.WriteString(w)
		used += len(w)
	}
	return b.String()
}

// kernelHelp is kernelLong with the names.
func kernelHelp() string {
	return kernelLong + wrapped(kernelNames(), len(kernelLong)-strings.LastIndexByte(kernelLong, '\n')-1) + "."
}

// completeKernels offers the names of workloads, and files.
func completeKernels(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return kernelNames(), cobra.ShellCompDirectiveDefault
}

// readInput reads a text file, or stdin for "-".
func (a *app) readInput(path string, limit int64) (string, error) {
	in := a.stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return "", fmt.Errorf("bitsched: read %s: %w", path, cause(err))
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return "", fmt.Errorf("bitsched: read %s: %w", fileName(path), cause(err))
	}
	return string(text), nil
}

// isFile tells files from the names of workloads.
func isFile(nameOrFile string) bool {
	return strings.ContainsAny(nameOrFile, `./\`) || nameOrFile == "-"
}

// kernelFlags are the flags of commands that read a kernel.
type kernelFlags struct {
	defines []string
	paper   bool
	some    bool // of several kernels: sizes that this one does not have are another's
}

func (f *kernelFlags) add(fl *pflag.FlagSet) {
	f.addDefines(fl)
	fl.BoolVar(&f.paper, "paper-sizes", false, "take the sizes that Infinity Stream has for a workload, not small ones")
}

func (f *kernelFlags) addDefines(fl *pflag.FlagSet) {
	fl.StringArrayVarP(&f.defines, "define", "D", nil, "value of a size of the kernel: `NAME=VALUE`; a workload has some without")
}

// kernel is a kernel in C, with values for its sizes.
type kernel struct {
	workload *kernels.Kernel // nil: it was a file
	file     string          // its name in messages
	program  *tdfg.Program
	sizes    map[string]int64
}

// kernelSource reads a kernel: a file, or a workload with its sizes.
func (a *app) kernelSource(cmd *cobra.Command, nameOrFile string, f kernelFlags) (k *kernel, source string, err error) {
	k = &kernel{sizes: map[string]int64{}}
	if isFile(nameOrFile) {
		text, err := a.readInput(nameOrFile, cfront.MaxSource)
		if err != nil {
			return nil, "", err
		}
		if f.paper {
			return nil, "", usageError(cmd, "--paper-sizes with a file, expected the name of a workload")
		}
		k.file = fileName(nameOrFile)
		return k, text, nil
	}
	w, err := kernels.Get(nameOrFile)
	if err != nil {
		return nil, "", usageError(cmd, "no kernel %q, expected one of %s, or a file (with a . or / in its name)", nameOrFile, strings.Join(kernelNames(), ", "))
	}
	k.workload, k.file = w, w.File
	k.sizes = maps.Clone(w.Small)
	if f.paper {
		k.sizes = maps.Clone(w.Paper)
	}
	return k, w.Source, nil
}

// readKernel reads and compiles a kernel and takes its sizes from the flags. Sizes
// stay symbols of the program, unless it compiles only for their values, or one is a
// parameter that is only computed with.
func (a *app) readKernel(ctx context.Context, cmd *cobra.Command, nameOrFile string, f kernelFlags) (*kernel, error) {
	k, source, err := a.kernelSource(cmd, nameOrFile, f)
	if err != nil {
		return nil, err
	}
	values, err := parseValues(cmd, "-D", f.defines)
	if err != nil {
		return nil, err
	}
	k.program, err = cfront.Compile(ctx, k.file, source, cfront.Options{Values: values})
	if k.workload == nil && len(values) > 0 && (err != nil || !k.sized(values) || k.below(values)) {
		maps.Copy(k.sizes, values)
		k.program, err = cfront.Compile(ctx, k.file, source, cfront.Options{Defines: values})
		values = nil // they are no sizes of the program any more
	}
	if err != nil {
		return nil, err
	}
	if k.workload != nil && !f.paper {
		k.align()
	}
	return k, k.define(cmd, values, f.some)
}

// lineElems is the number of elements to which align rounds up: 64 bytes of 32 bits.
const lineElems = 16

// align rounds sizes up so that rows of arrays fill cache lines, without which they
// are not transposed.
func (k *kernel) align() {
	for _, a := range k.program.Arrays {
		for _, name := range a.Size[0].Symbols() {
			k.sizes[name] = (k.sizes[name] + lineElems - 1) / lineElems * lineElems
		}
	}
}

// maxSize is the greatest value of a size, so that bounds of loops and arrays can be
// added up.
const maxSize = 1 << 40

// hasSize reports whether a name is that of a symbol of the program.
func (k *kernel) hasSize(name string) bool {
	return slices.ContainsFunc(k.program.Sizes, func(s lattice.Symbol) bool { return s.Name == name })
}

// sized reports whether all values are those of sizes.
func (k *kernel) sized(values map[string]int64) bool {
	for name := range values {
		if !k.hasSize(name) {
			return false
		}
	}
	return true
}

// below reports whether a value is less than the least one that the program is for,
// though loops without iterations may make sense of it.
func (k *kernel) below(values map[string]int64) bool {
	return slices.ContainsFunc(k.program.Sizes, func(s lattice.Symbol) bool {
		lo, err := s.Lo.Eval(values)
		return err == nil && values[s.Name] < lo && values[s.Name] >= 1
	})
}

// define gives sizes their values. With some, values may be of sizes that the kernel
// does not have.
func (k *kernel) define(cmd *cobra.Command, values map[string]int64, some bool) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !k.hasSize(name) {
			if some {
				continue
			}
			var names []string
			for _, s := range k.program.Sizes {
				names = append(names, s.Name)
			}
			return usageError(cmd, "-D %s=%d: %s has no size %s, expected one of %s", name, values[name], k.program.Name, name, strings.Join(names, ", "))
		}
		k.sizes[name] = values[name]
	}
	for _, s := range k.program.Sizes {
		v, ok := k.sizes[s.Name]
		if !ok {
			return usageError(cmd, "no value for the size %s of %s, expected -D %s=VALUE", s.Name, k.program.Name, s.Name)
		}
		if lo, err := s.Lo.Eval(k.sizes); err == nil && v < lo {
			return usageError(cmd, "-D %s=%d, expected at least %d", s.Name, v, lo)
		}
		if v > maxSize {
			return usageError(cmd, "-D %s=%d, expected at most %d", s.Name, v, int64(maxSize))
		}
	}
	return nil
}

// usedBy checks that each size is one of a workload.
func (f *kernelFlags) usedBy(cmd *cobra.Command) error {
	values, err := parseValues(cmd, "-D", f.defines)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.ContainsFunc(kernels.All(), func(k *kernels.Kernel) bool { return k.Small[name] != 0 }) {
			return usageError(cmd, "-D %s=%d: no workload has a size %s", name, values[name], name)
		}
	}
	return nil
}

// parseValues reads NAME=VALUE.
func parseValues(cmd *cobra.Command, flag string, texts []string) (map[string]int64, error) {
	values := map[string]int64{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		v, err := strconv.ParseInt(value, 0, 64)
		if !ok || name == "" || err != nil {
			return nil, usageError(cmd, "%s %q, expected NAME=VALUE with a whole number", flag, text)
		}
		if _, twice := values[name]; twice {
			return nil, usageError(cmd, "%s has %s twice, expected each name once", flag, name)
		}
		values[name] = v
	}
	return values, nil
}

// sizeText lists the sizes: symbols in the order of the kernel's parameters, then
// those that it was compiled for.
func (k *kernel) sizeText() string {
	var names []string
	for _, s := range k.program.Sizes {
		names = append(names, s.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(k.sizes)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%s=%d", name, k.sizes[name])
	}
	return strings.Join(names, " ")
}

// optimized is the program with its graphs optimised for these sizes. Sums keep
// their order, so that the bits of results stay the same.
func (k *kernel) optimized(ctx context.Context) (*tdfg.Program, error) {
	p, _, err := egraph.OptimizeProgram(ctx, k.program, egraph.Options{Sizes: k.sizes})
	return p, err
}

// maxKernelElems bounds the elements of the arrays of a run: each takes 8 bytes, and
// there are up to three copies.
const maxKernelElems = 1 << 28

// maxLiveElems bounds the elements of tensors that are computed element by element at
// a time, beside the arrays: each takes 8 bytes.
const maxLiveElems = 1 << 29

// elements returns the number of elements of each array in each dimension, dimension
// 0 first, and of all arrays together.
func (k *kernel) elements() (total int64, err error) {
	for _, a := range k.program.Arrays {
		n := int64(1)
		for _, x := range a.Size {
			v, err := x.Eval(k.sizes)
			if err != nil {
				return 0, fmt.Errorf("bitsched: array %s: %w", a.Name, err)
			}
			if v < 1 {
				return 0, fmt.Errorf("bitsched: array %s has %d elements in a dimension, expected at least 1", a.Name, v)
			}
			if n > maxKernelElems/v {
				return 0, k.tooLarge(a)
			}
			n *= v
		}
		if total += n; total > maxKernelElems {
			return 0, k.tooLarge(a)
		}
	}
	return total, nil
}

// tooLarge says with which array those of a kernel have too many elements.
func (k *kernel) tooLarge(a *tdfg.Array) error {
	var shape []string
	for _, x := range slices.Backward(a.Size) {
		if v, err := x.Eval(k.sizes); err == nil {
			shape = append(shape, fmt.Sprint(v))
		}
	}
	return fmt.Errorf("bitsched: arrays too large: with %s of %s elements they have more than %d, expected at most so many", a.Name, strings.Join(shape, "x"), int64(maxKernelElems))
}

// data makes arguments of a kernel that follow from the seed: integers of all bits or,
// in half of the cases, of any magnitude, and floats from -1 to 1. Integers that become
// subscripts are from 0 on and less than the least size of the arrays that they select
// from; the arguments of a workload are as the workload wants them.
func (k *kernel) data(seed uint64) (*memory.Memory, error) {
	if _, err := k.elements(); err != nil {
		return nil, err
	}
	if k.workload != nil {
		return k.workload.Data(k.sizes, seed).Memory(), nil
	}
	m := memory.New()
	if err := m.Allocate(k.program.Arrays, k.sizes); err != nil {
		return nil, err
	}
	from, into, all := k.program.Indices()
	least := int64(1 << 7)
	for _, name := range into {
		if a := m.Arrays[name]; a != nil {
			least = min(least, slices.Min(a.Size))
		}
	}
	r := rand.New(rand.NewPCG(seed, 1))
	fill := func(name string, t scalar.Type, elems []scalar.Value) {
		subscript := all || slices.Contains(from, name)
		for i := range elems {
			switch {
			case t.Float():
				elems[i] = scalar.FromFloat(t, float64(2*r.Float32()-1))
			case subscript:
				elems[i] = scalar.FromInt(t, r.Int64N(least))
			default:
				v := int64(r.Uint64())
				if r.IntN(2) == 0 {
					v >>= 63 - r.IntN(t.Bits())
				}
				elems[i] = scalar.FromInt(t, v)
			}
		}
	}
	for i := range k.program.Scalars {
		if s := &k.program.Scalars[i]; s.Input {
			var v [1]scalar.Value
			fill(s.Name, s.Type, v[:])
			m.Scalars[s.Name] = v[0]
		}
	}
	for _, a := range k.program.Arrays {
		fill(a.Name, a.Type, m.Arrays[a.Name].Elems)
	}
	return m, nil
}

// machineFlags are the flags of commands that need the description of a machine.
type machineFlags struct {
	machine string
	rows    int
	tile    string
}

func (f *machineFlags) add(cmd *cobra.Command, fl *pflag.FlagSet) {
	fl.StringVar(&f.machine, "machine", "infinity-stream", "a `machine`: a name (see bitsched machine) or a file")
	fl.IntVar(&f.rows, "rows", 0, "`rows` of an array, not those of the machine")
	complete(cmd, "machine", tile.MachineNames()...)
}

func (f *machineFlags) addTile(fl *pflag.FlagSet) {
	fl.StringVar(&f.tile, "tile", "", "`shape` of the tiles such as 16x16, dimension 0 first; by default one is chosen")
}

// load returns the machine.
func (f *machineFlags) load(cmd *cobra.Command) (*tile.Machine, error) {
	m, err := tile.LoadMachine(f.machine)
	if err != nil {
		return nil, machineError(err)
	}
	if !cmd.Flags().Changed("rows") {
		return m, nil
	}
	m.Array.Rows = f.rows
	if err := m.Check(); err != nil {
		return nil, usageError(cmd, "--rows %d: %w", f.rows, err)
	}
	return m, nil
}

// shape returns the shape of tiles that is asked for, nil if none is.
func (f *machineFlags) shape(cmd *cobra.Command) (lowering.Shape, error) {
	if f.tile == "" {
		return nil, nil
	}
	s, err := lowering.ParseShape(f.tile)
	if err != nil {
		return nil, usageError(cmd, "--tile %q, expected one to three numbers as in 16x16", f.tile)
	}
	return s, nil
}

// Where the last steps of reductions over several tiles are executed.
const (
	finalsNear   = "near"
	finalsMemory = "memory"
)

func addFinals(cmd *cobra.Command, fl *pflag.FlagSet, where *string) {
	fl.StringVar(where, "finals", finalsNear, "`where` the last steps of reductions over several tiles are executed: near the memory, without time, or in memory")
	complete(cmd, "finals", finalsNear, finalsMemory)
}

// parseFinals reports whether last steps are executed in memory.
func parseFinals(cmd *cobra.Command, where string) (bool, error) {
	if where != finalsNear && where != finalsMemory {
		return false, usageError(cmd, "--finals %q, expected %s or %s", where, finalsNear, finalsMemory)
	}
	return where == finalsMemory, nil
}
