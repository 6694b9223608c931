package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/lowering/nearstream"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/egraph"
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile"
)

type tdfgFlags struct {
	kernel   kernelFlags
	optimize bool
	region   int
	stats    bool
	why      bool
	from     string
	streams  bool
	dot, svg string
	json     bool
	seed     uint64 // of run
}

const tdfgLong = `Tdfg compiles a kernel in C to tensor dataflow graphs and prints the program. Sizes
stay symbols; -D gives one a value. What is in a graph, and which C is compiled, is
in docs/tdfg.md.

`

const tdfgLongEnd = `

With --why, it prints what loops and statements did not become tensors as they are,
and why: they are loops of the host, taken apart, or streams near the memory. Of a
function without a region, or with --streams, it prints what of its loops could be
computed near the L3 by the rules of Near-Stream Computing, what not, and why
(docs/streams.md).`

const tdfgExample = `  bitsched tdfg stencil2d
  bitsched tdfg mm_outer --optimize --stats
  bitsched tdfg mine.c -D N=2048 --why --svg graph.svg
  bitsched tdfg mine.c --streams
  bitsched tdfg mine.c --streams --why
  bitsched tdfg --from program.txt --optimize --stats
  bitsched tdfg run kmeans_outer -D N=1000 --seed 7`

func (a *app) tdfgCommand() *cobra.Command {
	var f tdfgFlags
	cmd := &cobra.Command{
		Use:     "tdfg [KERNEL]",
		Short:   "Compile a kernel in C to tensor dataflow graphs",
		Long:    tdfgLong + wholeHelp("With --streams or --why", workload.StreamNames()) + tdfgLongEnd,
		Example: tdfgExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.from != "" {
				return exactArgs()(cmd, args)
			}
			return exactArgs("KERNEL")(cmd, args)
		},
		ValidArgsFunction: completeWhole,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.from != "" {
				return a.tdfg(cmd, f.from, f)
			}
			return a.tdfg(cmd, args[0], f)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringArrayVarP(&f.kernel.defines, "define", "D", nil, "value of a size of the kernel: `NAME=VALUE`")
	fl.BoolVar(&f.optimize, "optimize", false, "optimise the graphs by equality saturation")
	fl.IntVar(&f.region, "region", 0, "`number` of the only region to print or draw, 1 for the first")
	fl.BoolVar(&f.stats, "stats", false, "count the nodes of each region, not print them")
	fl.StringVar(&f.from, "from", "", "read what this command prints from a `file`, not a kernel: a program of graphs, or a graph of streams")
	fl.BoolVar(&f.streams, "streams", false, "print the whole C function as one graph of streams")
	fl.BoolVar(&f.why, "why", false, "print what is not tensors, and why")
	fl.StringVar(&f.dot, "dot", "", "write the graphs for Graphviz into this `file`")
	fl.StringVar(&f.svg, "svg", "", "draw a region into this `file`")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	cmd.AddCommand(a.tdfgRunCommand())
	return cmd
}

const tdfgRunLong = `Run executes the graphs of a kernel by their definition, element by element, on
arguments that follow from the seed, and prints a checksum of each array and its first
elements. The result of a workload is compared with that of the plain program it comes
with, every bit, or, where sums may be of any order, within a small distance; if they
differ, the exit code is 1.

`

const tdfgRunExample = `  bitsched tdfg run stencil2d -D N=100
  bitsched tdfg run mine.c -D N=17 --optimize --seed 7
  bitsched tdfg run mine.c --input A=a.npy --output C=c.npy`

func (a *app) tdfgRunCommand() *cobra.Command {
	var f tdfgFlags
	cmd := &cobra.Command{
		Use:               "run KERNEL",
		Short:             "Execute the tensor dataflow graphs of a kernel by their definition",
		Long:              tdfgRunLong + kernelHelp(),
		Example:           tdfgRunExample,
		Args:              exactArgs("KERNEL"),
		ValidArgsFunction: completeKernels,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.tdfgRun(cmd, args[0], f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	f.kernel.add(fl)
	f.kernel.data.add(fl)
	fl.BoolVar(&f.optimize, "optimize", false, "optimise the graphs by equality saturation")
	fl.Uint64Var(&f.seed, "seed", 1, "`seed` of the arguments")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	return cmd
}

// tdfgCounts are the nodes of a graph.
type tdfgCounts struct {
	Nodes         int     `json:"nodes"`
	Moves         int     `json:"moves"`
	Broadcasts    int     `json:"broadcasts"`
	Computes      int     `json:"computes"`
	Reductions    int     `json:"reductions"`
	Streams       int     `json:"streams"`
	MovedElements int64   `json:"moved_elements"`
	Cost          float64 `json:"cost"`
}

type tdfgRegion struct {
	Name   string      `json:"name"`
	Counts tdfgCounts  `json:"counts"`
	Before *tdfgCounts `json:"before"` // null = not optimised
	Stop   string      `json:"stop"`   // what ended the optimisation
	Text   string      `json:"text,omitempty"`
}

type tdfgNote struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Why    string `json:"why"`
	Remedy string `json:"remedy"` // "" = none is known
}

type tdfgResult struct {
	Kernel      string       `json:"kernel"`
	Reassociate bool         `json:"reassociate"`
	Sizes       []string     `json:"sizes"` // that are symbols
	Optimized   bool         `json:"optimized"`
	Regions     []tdfgRegion `json:"regions"`
	Notes       []tdfgNote   `json:"notes"`
	Program     string       `json:"program"`
}

func (a *app) tdfg(cmd *cobra.Command, nameOrFile string, f tdfgFlags) error {
	values, err := parseValues(cmd, "-D", f.kernel.defines)
	if err != nil {
		return err
	}
	if f.svg == "-" {
		return usageError(cmd, "--svg -, expected a file")
	}
	if f.dot == "-" && f.json {
		return usageError(cmd, "--json and --dot - both want stdout")
	}
	for _, path := range []string{f.dot, f.svg} {
		if err := a.checkWritable(path, nameOrFile); err != nil {
			return err
		}
	}
	if err := checkDistinct(f.dot, f.svg); err != nil {
		return err
	}
	line := a.newProgress()
	defer line.clear()
	s := a.startStoppable(0, line, "stopping")
	defer s.end()
	var k *workload.Kernel
	var streams streamGraph
	var notes []cfront.Note
	if f.from != "" {
		if f.streams || f.why || len(values) > 0 {
			return usageError(cmd, "--from with --streams, --why or -D, which are for kernels in C")
		}
		text, err := a.readInput(f.from, maxGraphText)
		if err != nil {
			return err
		}
		k = workload.FromSource(fileName(f.from), text, nil)
		if streamText.MatchString(text) {
			streams, err = workload.ParseStreams(text, k.File)
		} else {
			k.Program, err = tdfg.ParseProgram(k.File, text)
			if err == nil {
				err = k.Program.Check()
			}
		}
		if err != nil {
			return err
		}
	} else if k, err = a.kernelSource(cmd, nameOrFile, f.kernel); err != nil {
		return err
	} else if f.streams || f.why && !strings.Contains(k.Source, regionPragma) {
		g, err := cfront.CompileWhole(s.ctx, k.File, k.Source, cfront.Options{Defines: values, Files: k.Files})
		if err != nil {
			return s.reasonOf(err)
		}
		if f.why {
			s.end()
			line.clear()
			return a.printPlan(cmd, g, f)
		}
		streams = g
	}
	if streams != nil {
		s.end()
		line.clear()
		return a.printStreams(cmd, streams, f)
	}
	if f.from != "" {
	} else if k.Program, err = cfront.Compile(s.ctx, k.File, k.Source, cfront.Options{Defines: values, Files: k.Files, Notes: &notes}); err != nil {
		return s.reasonOf(err)
	}
	r, program, err := a.tdfgReport(s.ctx, k.Program, f, line)
	if err != nil {
		return s.reasonOf(err)
	}
	for _, n := range notes {
		r.Notes = append(r.Notes, tdfgNote{n.Pos.Line, n.Pos.Col, n.What, n.Remedy})
	}
	s.end()
	line.clear()
	regions := program.Regions()
	if cmd.Flags().Changed("region") {
		if f.region < 1 || f.region > len(regions) {
			return usageError(cmd, "--region %d, expected 1 to %d", f.region, len(regions))
		}
		regions, r.Regions = regions[f.region-1:f.region], r.Regions[f.region-1:f.region]
	} else if f.svg != "" && len(regions) != 1 {
		return usageError(cmd, "--svg of %d regions, expected --region with the number of one", len(regions))
	}
	if f.dot != "" {
		err := a.writeFile(f.dot, func(w io.Writer) error {
			for _, g := range regions {
				if _, err := io.WriteString(w, g.Graph.DOT()); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if f.svg != "" {
		err := a.writeFile(f.svg, func(w io.Writer) error {
			_, err := io.WriteString(w, regions[0].Graph.SVG())
			return err
		})
		if err != nil {
			return err
		}
	}
	if f.json {
		return a.printJSON(r)
	}
	return a.printText(r.text(k.File, f, program, regions))
}

// regionPragma marks what becomes tensors.
const regionPragma = "#pragma bitsched region"

// printPlan prints which streams of a whole function could leave the core.
func (a *app) printPlan(cmd *cobra.Command, g *stream.Graph, f tdfgFlags) error {
	if f.optimize || f.stats || f.svg != "" || f.dot != "" || cmd.Flags().Changed("region") {
		return usageError(cmd, "--optimize, --stats, --svg, --dot or --region with --why of a whole function, expected --json or nothing")
	}
	p, err := nearstream.Analyze(g)
	switch {
	case err != nil:
		return err
	case f.json:
		return a.printJSON(nearReport(p))
	}
	return a.printText(streamsText(p))
}

// maxGraphText bounds the text of graphs.
const maxGraphText = 16 << 20

// streamText tells the text of a graph of streams from that of a program.
var streamText = regexp.MustCompile(`^(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*graph `)

// streamGraph is a graph of streams, as far as it is printed.
type streamGraph interface {
	String() string
	WriteDOT(io.Writer) error
}

// printStreams prints a graph of streams, or writes it for Graphviz.
func (a *app) printStreams(cmd *cobra.Command, g streamGraph, f tdfgFlags) error {
	switch {
	case f.optimize || f.stats || f.svg != "" || f.json || cmd.Flags().Changed("region"):
		return usageError(cmd, "--optimize, --stats, --svg, --json or --region with a graph of streams, expected --dot or nothing")
	case f.dot != "":
		return a.writeFile(f.dot, g.WriteDOT)
	}
	return a.printText(g.String())
}

// tdfgReport optimises a program, if that is asked for, and counts its nodes.
func (a *app) tdfgReport(ctx context.Context, p *tdfg.Program, f tdfgFlags, line *progressLine) (*tdfgResult, *tdfg.Program, error) {
	r := &tdfgResult{Kernel: p.Name, Reassociate: p.Reassociate, Optimized: f.optimize, Sizes: []string{}, Notes: []tdfgNote{}}
	for _, s := range p.Sizes {
		r.Sizes = append(r.Sizes, s.Name)
	}
	cost, err := lowering.Costs(ctx, p, a.programs, tile.Default())
	if err != nil {
		return nil, nil, err
	}
	var stats []egraph.Stats
	if f.optimize {
		line.phase("optimising")
		if p, stats, err = egraph.OptimizeProgram(ctx, p, egraph.Options{Reassociate: p.Reassociate, Cost: cost}); err != nil {
			return nil, nil, err
		}
	}
	for i, g := range p.Regions() {
		c, err := egraph.Measure(g.Graph, cost, nil)
		if err != nil {
			return nil, nil, err
		}
		region := tdfgRegion{Name: g.Graph.Name, Counts: countsOf(c)}
		if f.optimize {
			before := countsOf(stats[i].Before)
			region.Before, region.Stop = &before, stats[i].Stop.String()
		}
		r.Regions = append(r.Regions, region)
	}
	r.Program = p.String()
	return r, p, nil
}

func countsOf(c egraph.Counts) tdfgCounts {
	return tdfgCounts{c.Nodes, c.Moves, c.Broadcasts, c.Computes, c.Reductions, c.Streams, c.MovedElements, c.Cost}
}

// text is the program, one region of it, or counts.
func (r *tdfgResult) text(file string, f tdfgFlags, p *tdfg.Program, regions []*tdfg.Region) string {
	var out strings.Builder
	switch {
	case f.stats:
		t := benchmarks.Table{Columns: []benchmarks.Column{
			{Name: "region", Left: true}, {Name: "nodes"}, {Name: "moves"}, {Name: "broadcasts"}, {Name: "computes"}, {Name: "reductions"}, {Name: "streams"},
			{Name: "moved elements"}, {Name: "cost"},
		}}
		row := func(name string, c tdfgCounts) {
			t.Rows = append(t.Rows, []string{name, fmt.Sprint(c.Nodes), fmt.Sprint(c.Moves), fmt.Sprint(c.Broadcasts), fmt.Sprint(c.Computes),
				fmt.Sprint(c.Reductions), fmt.Sprint(c.Streams), fmt.Sprint(c.MovedElements), fmt.Sprintf("%.1f", c.Cost)})
		}
		for _, g := range r.Regions {
			if g.Before != nil {
				row(g.Name+", before", *g.Before)
			}
			row(g.Name, g.Counts)
		}
		out.WriteString(renderTable(t) + "\n")
		for _, g := range r.Regions {
			if g.Before != nil {
				fmt.Fprintf(&out, "%s: optimisation ended by: %s\n", g.Name, g.Stop)
			}
		}
	case f.why:
	case f.region > 0:
		out.WriteString(regions[0].Graph.String())
	case f.dot != "-":
		out.WriteString(p.String())
	}
	if f.why {
		for _, n := range r.Notes {
			fmt.Fprintf(&out, "%s:%d:%d: not tensors: %s\n", file, n.Line, n.Column, n.Why)
			if n.Remedy != "" {
				fmt.Fprintf(&out, "\ttry: %s\n", n.Remedy)
			}
		}
		if len(r.Notes) == 0 {
			out.WriteString("all of the region is tensors\n")
		}
	}
	return out.String()
}

type tdfgArray struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Size     []int64  `json:"size"` // dimension 0 first
	Checksum string   `json:"checksum"`
	Changed  bool     `json:"changed"`
	First    []string `json:"first"`
}

type tdfgRunResult struct {
	Kernel    string           `json:"kernel"`
	Sizes     map[string]int64 `json:"sizes"`
	Seed      uint64           `json:"seed"`
	Optimized bool             `json:"optimized"`
	Nodes     int64            `json:"nodes"`    // executed
	Computed  int64            `json:"computed"` // elements
	Moved     int64            `json:"moved"`    // elements
	Streamed  int64            `json:"streamed"` // operations of elements in streams
	Arrays    []tdfgArray      `json:"arrays"`
	Reference string           `json:"reference"` // "" = there is none, "equal", "close" or what differs
	Distance  float64          `json:"distance"`  // where sums are of another order: relative to the greatest element
}

// firstElements is how many elements of each array are printed.
const firstElements = 4

func (a *app) tdfgRun(cmd *cobra.Command, nameOrFile string, f tdfgFlags) error {
	values, err := parseValues(cmd, "-D", f.kernel.defines)
	if err != nil {
		return err
	}
	if err := a.parseData(cmd, &f.kernel.data, nameOrFile); err != nil {
		return err
	}
	line := a.newProgress()
	defer line.clear()
	s := a.startStoppable(0, line, "stopping")
	defer s.end()
	k, err := a.kernelSource(cmd, nameOrFile, f.kernel)
	if err != nil {
		return err
	}
	if err := k.Bind(s.ctx, values, f.kernel.data.in); err != nil {
		return s.reasonOf(kernelError(cmd, err))
	}
	if err := kernelError(cmd, k.Known(f.kernel.data.out)); err != nil {
		return err
	}
	m, err := k.Arguments(s.ctx, f.seed, f.kernel.data.in)
	if err != nil {
		return s.reasonOf(kernelError(cmd, err))
	}
	program := k.Program
	if f.optimize {
		line.phase("optimising")
		if program, err = a.optimized(s.ctx, k, tile.Default()); err != nil {
			return s.reasonOf(err)
		}
	}
	line.phase("executing")
	before := m.Clone()
	var stats interp.Stats
	if err := interp.Run(s.ctx, program, nil, m, interp.Options{Stats: &stats, MaxLive: maxLiveElems, Progress: a.regionProgress(line, program, nil, "executing region")}); err != nil {
		return s.reasonOf(err)
	}
	s.end()
	line.clear()
	a.unchecked(m)
	r := &tdfgRunResult{
		Kernel: k.Program.Name, Sizes: k.Sizes, Seed: f.seed, Optimized: f.optimize, Nodes: stats.Nodes, Computed: stats.Computed, Moved: stats.Moved,
		Streamed: stats.Streamed,
	}
	for _, x := range k.Program.Arrays {
		r.Arrays = append(r.Arrays, arrayReport(x.Name, m.Arrays[x.Name], before.Arrays[x.Name]))
	}
	var verdict workload.Verdict
	if len(f.kernel.data.in) == 0 {
		verdict = k.Compare(m, f.seed)
	}
	r.Reference, r.Distance = verdict.Reference, verdict.Distance
	if err := a.writeData(&f.kernel.data, m); err != nil {
		return err
	}
	if f.json {
		err = a.printJSON(r)
	} else {
		err = a.printText(r.text())
	}
	if err == nil && verdict.Failed {
		return fmt.Errorf("%w: %s: %s", errCheck, k.File, r.Reference)
	}
	return err
}

func arrayReport(name string, a, before *memory.Array) tdfgArray {
	h := fnv.New64a()
	word := make([]byte, a.Type.Bytes())
	for _, v := range a.Elems {
		for i := range word {
			word[i] = byte(v >> (8 * i))
		}
		h.Write(word)
	}
	r := tdfgArray{Name: name, Type: a.Type.String(), Size: a.Size, Checksum: fmt.Sprintf("%016x", h.Sum64()), Changed: !slices.Equal(a.Elems, before.Elems)}
	for _, v := range a.Elems[:min(firstElements, len(a.Elems))] {
		r.First = append(r.First, scalar.Format(a.Type, v))
	}
	return r
}

func (r *tdfgRunResult) text() string {
	var s summary
	var sizes []string
	for _, name := range slices.Sorted(maps.Keys(r.Sizes)) {
		sizes = append(sizes, fmt.Sprintf("%s=%d", name, r.Sizes[name]))
	}
	s.add("kernel", "%s, %s, seed %d", r.Kernel, strings.Join(sizes, " "), r.Seed)
	s.add("executed", "%s, %d elements computed, %d moved, %d operations in streams", count(int(r.Nodes), "node"), r.Computed, r.Moved, r.Streamed)
	for _, x := range r.Arrays {
		state := "unchanged"
		if x.Changed {
			state = "changed"
		}
		s.add("array", "%s, %s %s, %s, checksum %s: %s", x.Name, dimsText(x.Size), x.Type, state, x.Checksum, strings.Join(x.First, " "))
	}
	switch r.Reference {
	case "":
	case "close":
		s.add("reference", "sums are of another order: at most %.1e of the greatest element away", r.Distance)
	default:
		s.add("reference", "%s", r.Reference)
	}
	return s.String()
}

// dimsText writes the sizes of an array, dimension 0 first.
func dimsText(size []int64) string {
	parts := make([]string, len(size))
	for i, n := range size {
		parts[i] = fmt.Sprint(n)
	}
	return strings.Join(parts, "x")
}
