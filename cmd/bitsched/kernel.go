package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tile"
)

// kernelLong says what the argument KERNEL of a command is.
const kernelLong = `KERNEL is a file in C (with a . or / in its name), or a workload that comes with
the program: `

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
	return kernelLong + wrapped(workload.Names(), len(kernelLong)-strings.LastIndexByte(kernelLong, '\n')-1) + "."
}

// wholeHelp is kernelHelp with the names of whole functions, and with what they go.
func wholeHelp(with string, names []string) string {
	return kernelHelp() + "\n" + with + " also one of " + wrapped(names, len(with)+len(" also one of ")) + "."
}

// completeKernels offers the names of workloads, and files.
func completeKernels(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return workload.Names(), cobra.ShellCompDirectiveDefault
}

// completeWhole offers whole functions, too.
func completeWhole(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
	names, d := completeKernels(cmd, args, text)
	if len(args) == 0 {
		names = slices.Concat(names, workload.WholeNames())
	}
	return names, d
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
	data    dataFlags // of commands that have some
	some    bool      // of several kernels: sizes that this one does not have are another's
}

func (f *kernelFlags) add(fl *pflag.FlagSet) {
	f.addDefines(fl)
	fl.BoolVar(&f.paper, "paper-sizes", false, "take the sizes that a workload has in its paper, not small ones")
}

func (f *kernelFlags) addDefines(fl *pflag.FlagSet) {
	fl.StringArrayVarP(&f.defines, "define", "D", nil, "value of a size of the kernel: `NAME=VALUE`; a workload has some without")
}

// kernelSource reads a kernel: a file, or a workload with its sizes.
func (a *app) kernelSource(cmd *cobra.Command, nameOrFile string, f kernelFlags) (*workload.Kernel, error) {
	if !isFile(nameOrFile) {
		k, err := workload.Builtin(nameOrFile, f.paper)
		return k, kernelError(cmd, err)
	}
	text, err := a.readInput(nameOrFile, cfront.MaxSource)
	if err != nil {
		return nil, err
	}
	if f.paper {
		return nil, usageError(cmd, "--paper-sizes with a file, expected the name of a workload")
	}
	return workload.FromSource(fileName(nameOrFile), text, os.DirFS(filepath.Dir(nameOrFile))), nil
}

// kernelError is an error of package workload: that of a wrong command line, if the
// user can correct it.
func kernelError(cmd *cobra.Command, err error) error {
	var u *workload.UsageError
	if errors.As(err, &u) {
		return usageError(cmd, "%w", err)
	}
	return err
}

// readKernel reads and compiles a kernel and takes its sizes from the flags.
func (a *app) readKernel(ctx context.Context, cmd *cobra.Command, nameOrFile string, f kernelFlags) (*workload.Kernel, error) {
	k, err := a.kernelSource(cmd, nameOrFile, f)
	if err != nil {
		return nil, err
	}
	values, err := parseValues(cmd, "-D", f.defines)
	if err != nil {
		return nil, err
	}
	return k, kernelError(cmd, k.Compile(ctx, values, f.data.in, f.some))
}

// usedBy checks that each size is one of a workload.
func (f *kernelFlags) usedBy(cmd *cobra.Command) error {
	values, err := parseValues(cmd, "-D", f.defines)
	if err != nil {
		return err
	}
	return kernelError(cmd, workload.UsedBy(values))
}

// dataFlags are the flags of commands that read and write the arrays of a kernel.
type dataFlags struct {
	inputs, outputs []string
	in, out         []workload.File
}

func (f *dataFlags) add(fl *pflag.FlagSet) {
	fl.StringArrayVar(&f.inputs, "input", nil, "elements of an array: `NAME=FILE`, an .npy or, as NAME=FILE:64x32, raw bytes; NAME=NUMBER for a scalar")
	fl.StringArrayVar(&f.outputs, "output", nil, "write an array when it has its result: `NAME=FILE`, an .npy or raw bytes in a .bin")
}

// parse reads the flags, and the heads of the files that are given.
func (a *app) parseData(cmd *cobra.Command, f *dataFlags, nameOrFile string) error {
	seen := map[string]bool{}
	add := func(list *[]workload.File, flag, text string, parse func(string) (workload.File, error)) error {
		x, err := parse(text)
		if err != nil {
			return usageError(cmd, "--%s %w", flag, err)
		}
		if seen[flag+x.Name] {
			return usageError(cmd, "--%s has %s twice, expected each name once", flag, x.Name)
		}
		seen[flag+x.Name] = true
		*list = append(*list, x)
		return nil
	}
	inputs := []string{nameOrFile}
	for _, text := range f.inputs {
		if err := add(&f.in, "input", text, workload.ParseInput); err != nil {
			return err
		}
		inputs = append(inputs, f.in[len(f.in)-1].Path)
	}
	var paths []string
	for _, text := range f.outputs {
		if err := add(&f.out, "output", text, workload.ParseOutput); err != nil {
			return err
		}
		last := f.out[len(f.out)-1]
		if err := a.checkWritable(last.Path, inputs...); err != nil {
			return err
		}
		paths = append(paths, last.Path)
	}
	return checkDistinct(paths...)
}

// writeData writes the arrays that are asked for.
func (a *app) writeData(f *dataFlags, m *memory.Memory) error {
	for i := range f.out {
		o := &f.out[i]
		if err := a.writeFile(o.Path, func(w io.Writer) error { return o.WriteArray(w, m.Arrays[o.Name]) }); err != nil {
			return err
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

// maxLiveElems bounds the elements of tensors that are computed element by element at
// a time, beside the arrays: each takes 8 bytes.
const maxLiveElems = 1 << 29

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

// optimized is the program of a kernel with its graphs optimised, by the lengths of the
// programs of a machine.
func (a *app) optimized(ctx context.Context, k *workload.Kernel, m *tile.Machine) (*tdfg.Program, error) {
	cost, err := lowering.Costs(ctx, k.Program, a.programs, m)
	if err != nil {
		return nil, err
	}
	return k.Optimized(ctx, cost)
}
