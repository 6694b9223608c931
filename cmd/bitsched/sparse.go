package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bitsched/bitsched/system/sparse"
	"github.com/bitsched/bitsched/system/sparse/matrix"
)

const sparseLong = `Sparse executes kernels on sparse matrices and graphs in a modelled stack of DRAM
with a small processor at every second subarray (Gearbox, ISCA 2022): every nonzero
is fetched by one processor, every pair for another bank crosses the modelled links,
and the result is compared with that of plain loops before a figure is printed.

MATRIX is a file, - for stdin, or
  gen:KIND,key=value,...   a generated matrix (see bitsched sparse gen --help)
  standin:NAME             one of the size and degrees of a matrix of the paper
  paper:NAME               that matrix, from the folder that --data names
Files are MatrixMarket, lists of edges (SNAP) or caches of sparse convert (.bsx), as
they are, in gzip, or alone in a .zip or .tar.gz; which one is told by content.

docs/sparse.md says what is modelled and what is not.`

func (a *app) sparseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sparse",
		Short: "Execute sparse kernels in a stack of DRAM, nonzero by nonzero",
		Long:  sparseLong,
		Example: `  bitsched sparse pagerank web.mtx.gz --iterations 10
  bitsched sparse bfs gen:rmat,scale=14,undirected --variant all
  bitsched sparse sssp standin:hollywood-2009 --scale 8 --layers 1 --vaults 4 --json`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, app := range sparse.Apps() {
		cmd.AddCommand(a.sparseAppCommand(app))
	}
	cmd.AddCommand(
		a.sparseVerifyCommand(),
		a.sparsePaperCommand(),
		a.sparseRivalsCommand(),
		a.sparseCPUCommand(),
		a.sparseKernelCommand(),
		a.sparseRingCommand(),
		a.sparseLowerCommand(),
		a.sparseGenCommand(),
		a.sparseStatsCommand(),
		a.sparseConvertCommand(),
		a.sparsePlaceCommand(),
		a.sparseMergeCommand(),
	)
	return cmd
}

// sparseInput are the flags of where a matrix comes from.
type sparseInput struct {
	data       string
	undirected bool
	loops      string
	duplicates string
	oneBased   bool
	scale      int
	locality   float64
	order      string
	seed       uint64
	weights    bool // entries are weights of edges
}

func (f *sparseInput) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.data, "data", "", "`folder` of the paper's matrices; by default that of BITSCHED_DATA, else ./data")
	fl.BoolVar(&f.undirected, "undirected", false, "add the mirror image of each entry")
	fl.StringVar(&f.loops, "loops", "", "drop or keep the `diagonal`; by default kept in MatrixMarket, dropped in lists of edges")
	fl.StringVar(&f.duplicates, "duplicates", "", "what to do with `entries` that are there twice: sum, min, first or error; by default error in MatrixMarket, first in lists of edges")
	fl.BoolVar(&f.oneBased, "one-based", false, "vertices of a list of edges are counted from 1")
	fl.IntVar(&f.scale, "scale", 1, "divide the size of a stand-in by this `number`")
	fl.Float64Var(&f.locality, "locality", matrix.DefaultLocality, "`share` of the edges of a stand-in that stay near")
	fl.StringVar(&f.order, "order", "natural", "renumber before placement: `natural`, random, bfs or rcm")
	fl.Uint64Var(&f.seed, "seed", 1, "`seed` of generators, placement, weights and queries")
}

// options are those of the readers.
func (f *sparseInput) options(cmd *cobra.Command) (o matrix.Options, err error) {
	o = matrix.Options{Undirected: f.undirected, OneBased: f.oneBased, Weights: f.weights}
	switch f.loops {
	case "":
	case "drop":
		o.DropLoops = true
	case "keep":
		o.KeepLoops = true
	default:
		return o, usageError(cmd, "--loops %q, expected drop or keep", f.loops)
	}
	o.Duplicates = matrix.Duplicates(f.duplicates)
	if !slices.Contains([]matrix.Duplicates{matrix.DuplicatesDefault, matrix.DuplicatesError, matrix.DuplicatesFirst, matrix.DuplicatesMin, matrix.DuplicatesSum}, o.Duplicates) {
		return o, usageError(cmd, "--duplicates %q, expected sum, min, first or error", f.duplicates)
	}
	return o, nil
}

// dataDir is the folder of the paper's matrices.
func (f *sparseInput) dataDir() string {
	if f.data != "" {
		return f.data
	}
	if d := os.Getenv("BITSCHED_DATA"); d != "" {
		return d
	}
	return "./data"
}

// load makes or reads the matrix, and renumbers it.
func (a *app) loadMatrix(cmd *cobra.Command, text string, f *sparseInput, line *progressLine) (m *matrix.Matrix, info matrix.Info, err error) {
	o, err := f.options(cmd)
	if err != nil {
		return nil, info, err
	}
	spareMemory()
	defer freeMemory()
	if f.scale != 1 && !strings.HasPrefix(text, "standin:") {
		return nil, info, usageError(cmd, "--scale %d of %s, expected a stand-in", f.scale, text)
	}
	if !slices.Contains(matrix.Orders, f.order) {
		return nil, info, usageError(cmd, "--order %q, expected %s", f.order, strings.Join(matrix.Orders, ", "))
	}
	o.Progress = func(n int64) { line.phase(fmt.Sprintf("reading, %d entries", n)) }
	switch {
	case strings.HasPrefix(text, "gen:"):
		line.phase("generating")
		m, err = matrix.Generate(text, f.seed)
		info.Format = "generated"
	case strings.HasPrefix(text, "standin:"):
		line.phase("generating")
		m, err = matrix.Standin(strings.TrimPrefix(text, "standin:"), f.scale, f.locality, f.seed)
		info.Format = "stand-in"
	case strings.HasPrefix(text, "paper:"):
		file, ferr := matrix.Find(strings.TrimPrefix(text, "paper:"), f.dataDir())
		if ferr != nil {
			return nil, info, fmt.Errorf("bitsched: %w", ferr)
		}
		if !cmd.Flags().Changed("loops") {
			o.DropLoops = true // table 3 has them without
		}
		line.phase("reading")
		return a.reordered(matrix.Open(file, o))(f)
	case text == "-":
		line.phase("reading")
		m, info, err = matrix.Read(a.stdin, "stdin", o)
	default:
		line.phase("reading")
		m, info, err = matrix.Open(text, o)
	}
	if err != nil {
		var e *matrix.Error
		if !errors.As(err, &e) {
			err = fmt.Errorf("bitsched: %w", err)
		}
		return nil, info, err
	}
	return a.reordered(m, info, nil)(f)
}

// reordered renumbers what was read.
func (a *app) reordered(m *matrix.Matrix, info matrix.Info, err error) func(*sparseInput) (*matrix.Matrix, matrix.Info, error) {
	return func(f *sparseInput) (*matrix.Matrix, matrix.Info, error) {
		if err != nil {
			return nil, info, err
		}
		to, err := m.Order(f.order, f.seed)
		if err != nil {
			return nil, info, fmt.Errorf("bitsched: %w", err)
		}
		if to != nil {
			m = m.Permute(to)
		}
		return m, info, nil
	}
}

// sparseStack are the flags of the stack.
type sparseStack struct {
	machine  string
	layers   int
	vaults   int
	long     float64
	longN    int
	place    string
	readings []string
	buffer   int
}

func (f *sparseStack) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.machine, "machine", "gearbox", "the `stack`: a name, or a file in YAML (see bitsched machine gearbox)")
	fl.IntVar(&f.layers, "layers", 0, "layers of the stack, `1` to 64; 0 as the machine has")
	fl.IntVar(&f.vaults, "vaults", 0, "vaults of the stack, `1` to 64; 0 as the machine has")
	fl.Float64Var(&f.long, "long", 0, "`percent` of rows and columns that are long, 0 to 100; by default as the machine has")
	fl.IntVar(&f.longN, "long-count", -1, "`number` of rows and columns that are long, instead of a percentage")
	fl.StringVar(&f.place, "place", "", "how the columns of a bank are dealt: `same-bank`, same-subarray or scatter")
	fl.StringSliceVar(&f.readings, "readings", nil, "what the paper is taken to mean where it is silent: `key=value,...` (docs/sparse.md)")
	fl.IntVar(&f.buffer, "buffer-rows", 0, "`rows` of a dispatcher's buffer; 0 as its subarrays have")
}

// load makes the stack that the flags ask for.
func (f *sparseStack) load(cmd *cobra.Command) (*sparse.Machine, error) {
	m, err := sparse.LoadMachine(f.machine)
	if err != nil {
		return nil, err
	}
	fl := cmd.Flags()
	if fl.Changed("layers") {
		if f.layers < 1 || f.layers > 64 {
			return nil, usageError(cmd, "--layers %d, expected 1 to 64", f.layers)
		}
		m.Organisation.Layers = f.layers
	}
	if fl.Changed("vaults") {
		m.Organisation.Vaults = f.vaults
	}
	if fl.Changed("long") {
		if !(f.long >= 0 && f.long <= 100) {
			return nil, usageError(cmd, "--long %v, expected 0 to 100", f.long)
		}
		m.LongPercent = f.long
	}
	if f.place != "" {
		if err := m.SetReadings([]string{"place=" + f.place, "v1_place=" + f.place}); err != nil {
			return nil, usageError(cmd, "--place: %w", err)
		}
	}
	if err := m.SetReadings(f.readings); err != nil {
		return nil, usageError(cmd, "--readings: %w", err)
	}
	if err := m.Check(); err != nil {
		return nil, usageError(cmd, "%w", err)
	}
	return m, nil
}

// parseVariants reads a list of variants, or all.
func parseVariants(cmd *cobra.Command, list []string) (vs []sparse.Variant, err error) {
	for _, name := range list {
		if name == "all" {
			vs = append(vs, sparse.Variants()...)
			continue
		}
		v, err := sparse.LookupVariant(name)
		if err != nil {
			return nil, usageError(cmd, "--variant: %w", err)
		}
		vs = append(vs, v)
	}
	if len(vs) == 0 {
		return nil, usageError(cmd, "no --variant, expected v0, v1, hypo, v2, v3, bank or all")
	}
	return vs, nil
}

// sparseError gives an error of package sparse the exit code that it stands for.
func sparseError(err error) error {
	var file *matrix.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &file):
		return err
	case errors.Is(err, sparse.ErrCheck):
		return fmt.Errorf("%w: %s", errCheck, strings.TrimPrefix(err.Error(), sparse.ErrCheck.Error()+": "))
	}
	return fmt.Errorf("bitsched: %w", err)
}

// spareMemory makes the collector keep less beside what is in use: matrices are most of
// the memory, and there are few of them.
func spareMemory() { debug.SetGCPercent(10) }

// freeMemory hands memory of what is done back before the next large thing.
func freeMemory() { debug.FreeOSMemory() }

func percent(x float64) string { return strconv.FormatFloat(100*x, 'f', 1, 64) + " %" }
