package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tile"
)

type lowerFlags struct {
	kernel   kernelFlags
	machine  machineFlags
	optimize bool
	region   int
	set      []string
	print    bool
	all      bool
	finals   string
	json     bool
}

const lowerLong = `Lower shows how a kernel becomes commands for the arrays of a chip: the tiles that
tensors are cut into, the rows of arrays, and for each region of the kernel its plan
(steps, rows in use, words spilled to memory) and its commands by kind, with --print
each of them. Lowering is timed: each region again and again, of which the fastest time
counts, and all regions that a run executes one after another.

Loops around a region have their first values, if --set has no others. Of a run that
executes more than 10000 regions, the first 10000 are lowered; --all lowers all.

`

const lowerLongEnd = `

Bitlines and tiles are printed as patterns start:stride:count, with a further
:stride:count for each dimension; "all" is all bitlines of a tile. Rows are
first+number. docs/running.md explains the output.`

const lowerExample = `  bitsched lower stencil2d -D N=2048 -D M=2048 --print
  bitsched lower gauss_elim --paper-sizes --set k=1000 --tile 4x64
  bitsched lower mine.c -D N=1024 --rows 512 --region 2 --json`

func (a *app) lowerCommand() *cobra.Command {
	var f lowerFlags
	cmd := &cobra.Command{
		Use:               "lower KERNEL",
		Short:             "Show the layout, plans and commands of a kernel on a modelled chip",
		Long:              lowerLong + kernelHelp() + lowerLongEnd,
		Example:           lowerExample,
		Args:              exactArgs("KERNEL"),
		ValidArgsFunction: completeKernels,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.lower(cmd, args[0], f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	f.kernel.add(fl)
	f.machine.add(cmd, fl)
	f.machine.addTile(fl)
	fl.BoolVar(&f.optimize, "optimize", false, "optimise the graphs by equality saturation")
	addFinals(cmd, fl, &f.finals)
	fl.IntVar(&f.region, "region", 0, "`number` of the only region to show, 1 for the first")
	fl.StringArrayVar(&f.set, "set", nil, "value of a loop around regions: `NAME=VALUE`")
	fl.BoolVar(&f.print, "print", false, "print the commands")
	fl.BoolVar(&f.all, "all", false, "lower all regions that a run executes, not only the first 10000")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	return cmd
}

// lowerResult is what lower reports.
type lowerResult struct {
	Kernel    string           `json:"kernel"`
	Sizes     map[string]int64 `json:"sizes"`
	Machine   string           `json:"machine"`
	Rows      int              `json:"rows"` // of an array that hold words
	Optimized bool             `json:"optimized"`
	Layout    *layoutResult    `json:"layout"` // null = nothing is laid out in memory
	Regions   []regionResult   `json:"regions"`
	Program   programResult    `json:"program"`

	k *workload.Kernel
}

type layoutResult struct {
	Tile      string        `json:"tile"`
	Bound     []int64       `json:"bounding_box"` // dimension 0 first
	Arrays    int           `json:"arrays"`       // that tiles take
	Of        int           `json:"of"`
	Shapes    []string      `json:"valid_shapes"`
	Reduce    []int         `json:"reduce_dimensions"` // the hints
	Shift     []int         `json:"shift_dimensions"`
	Broadcast []int         `json:"broadcast_dimensions"`
	RowsUsed  int           `json:"rows_of_arrays"`
	Data      []arrayResult `json:"data"`
}

type arrayResult struct {
	Name string  `json:"name"`
	Type string  `json:"type"`
	Size []int64 `json:"size"` // dimension 0 first
	Row  int     `json:"row"`  // -1 = stays in memory
	Bits int     `json:"bits"`
}

type regionResult struct {
	Number       int              `json:"number"`
	Name         string           `json:"name"`
	Loops        map[string]int64 `json:"loops"`
	Near         string           `json:"near"` // why it is executed near the memory; "" = it is not
	Nodes        int              `json:"nodes"`
	Steps        int              `json:"steps"`
	Registers    int              `json:"registers"` // places of words beside the arrays
	Peak         int              `json:"peak_rows"`
	Spilled      int              `json:"spilled_words"`
	Commands     int              `json:"commands"`
	Kinds        map[string]int   `json:"commands_by_kind"`
	Microseconds float64          `json:"lower_us"` // the fastest of many times
	Rate         float64          `json:"commands_per_second"`
	List         []string         `json:"list,omitempty"`

	near *system.Reason
}

type programResult struct {
	Regions  int64   `json:"regions"`        // executed in memory, and lowered
	Executed int64   `json:"executed"`       // regions that a run executes, near the memory too
	Exact    bool    `json:"executed_exact"` // false = it executes more
	Limit    int64   `json:"limit"`          // only so many of these were looked at; 0 = all
	Commands int64   `json:"commands"`
	Mean     float64 `json:"lower_mean_us"` // for each region
	Most     float64 `json:"lower_most_us"`
	Total    float64 `json:"lower_total_us"`
	Rate     float64 `json:"commands_per_second"`
}

// commandKinds are the kinds in the order of columns.
var commandKinds = [...]lowering.CommandKind{
	lowering.Compute, lowering.Copy, lowering.ShiftIntra, lowering.ShiftInter, lowering.Fill, lowering.Sync, lowering.Near,
}

func (a *app) lower(cmd *cobra.Command, nameOrFile string, f lowerFlags) error {
	shape, err := f.machine.shape(cmd)
	if err != nil {
		return err
	}
	finals, err := parseFinals(cmd, f.finals)
	if err != nil {
		return err
	}
	set, err := parseValues(cmd, "--set", f.set)
	if err != nil {
		return err
	}
	machine, err := f.machine.load(cmd)
	if err != nil {
		return err
	}
	line := a.newProgress()
	defer line.clear()
	s := a.startStoppable(0, line, "stopping")
	defer s.end()
	k, err := a.readKernel(s.ctx, cmd, nameOrFile, f.kernel)
	if err != nil {
		return s.reasonOf(err)
	}
	if _, err := k.Elements(); err != nil {
		return err
	}
	program := k.Program
	if f.optimize {
		line.phase("optimising")
		if program, err = a.optimized(s.ctx, k, machine); err != nil {
			return s.reasonOf(err)
		}
	}
	if n := len(program.Regions()); cmd.Flags().Changed("region") && (f.region < 1 || f.region > n) {
		return usageError(cmd, "--region %d, expected 1 to %d", f.region, n)
	}
	line.phase("planning")
	prepared, err := system.Prepare(s.ctx, program, k.Sizes, system.Options{Machine: machine, Programs: a.programs, Tile: shape, Finals: finals})
	if err != nil {
		return s.reasonOf(err)
	}
	r := &lowerResult{Kernel: program.Name, Sizes: k.Sizes, Machine: machine.Name, Rows: machine.UsableRows(), Optimized: f.optimize, k: k}
	if prepared.Grid != nil {
		r.Layout = layoutOf(k, machine, prepared)
	}
	places, err := instances(cmd, program, k.Sizes, set)
	if err != nil {
		return err
	}
	for i, p := range places {
		if f.region != 0 && f.region != i+1 {
			continue
		}
		region, err := lowerRegion(s.ctx, prepared, p, f.print)
		if err != nil {
			return s.reasonOf(err)
		}
		region.Number = i + 1
		r.Regions = append(r.Regions, *region)
	}
	progress := a.regionProgress(line, program, k.Sizes, "lowering region")
	if r.Program, err = lowerProgram(s.ctx, program, k.Sizes, prepared, f.all, progress); err != nil {
		return s.reasonOf(err)
	}
	s.end()
	line.clear()
	if f.json {
		return a.printJSON(r)
	}
	return a.printText(r.text())
}

// layout is the layout of a kernel as it is reported.
func layoutOf(k *workload.Kernel, m *tile.Machine, p *system.Prepared) *layoutResult {
	grid := p.Grid
	l := &layoutResult{Tile: grid.Tile().String(), Arrays: grid.Tiles(), Of: m.Arrays(), RowsUsed: p.Used}
	for _, r := range grid.Bound() {
		l.Bound = append(l.Bound, r.Hi)
	}
	// There is a valid shape, the one in use.
	shapes, _ := lowering.Shapes(l.Bound, p.Limits)
	for _, s := range shapes {
		l.Shapes = append(l.Shapes, s.String())
	}
	for d := range l.Bound {
		for _, h := range []struct {
			set  lowering.DimSet
			list *[]int
		}{{p.Hints.Reduce, &l.Reduce}, {p.Hints.Shift, &l.Shift}, {p.Hints.Broadcast, &l.Broadcast}} {
			if h.set.Has(d) {
				*h.list = append(*h.list, d)
			}
		}
	}
	for _, a := range p.Arrays {
		d := arrayResult{Name: a.Name, Type: a.Type.String(), Row: -1, Bits: a.Type.Bits()}
		if at, ok := p.Rows[a.Name]; ok {
			d.Row = at.Row
		}
		for _, x := range a.Size {
			v, err := x.Eval(k.Sizes)
			if err != nil {
				panic(err) // the layout was made with it
			}
			d.Size = append(d.Size, v)
		}
		l.Data = append(l.Data, d)
	}
	return l
}

// instance is a region with the values of the symbols at one of its executions.
type instance struct {
	graph  *tdfg.Graph
	values map[string]int64
	loops  map[string]int64 // of these, the variables of loops
}

// instances returns all regions with the first values of the loops around them, or
// those in set.
func instances(cmd *cobra.Command, p *tdfg.Program, sizes, set map[string]int64) ([]instance, error) {
	var list []instance
	used := map[string]bool{}
	var walk func(body []tdfg.Stmt, values, loops map[string]int64) error
	walk = func(body []tdfg.Stmt, values, loops map[string]int64) error {
		for _, st := range body {
			switch st := st.(type) {
			case *tdfg.Region:
				list = append(list, instance{st.Graph, values, loops})
			case *tdfg.Loop:
				lo, err := st.Lo.Eval(values)
				if err != nil {
					return err
				}
				hi, err := st.Hi.Eval(values)
				if err != nil {
					return err
				}
				v, ok := set[st.Var]
				if !ok {
					v = lo
				}
				used[st.Var] = true
				if ok && (v < lo || v >= hi || (v-lo)%st.Step != 0) {
					return usageError(cmd, "--set %s=%d, expected one of %d to %d in steps of %d", st.Var, v, lo, hi-1, st.Step)
				}
				values, loops := maps.Clone(values), maps.Clone(loops)
				values[st.Var], loops[st.Var] = v, v
				if err := walk(st.Body, values, loops); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := walk(p.Body, sizes, map[string]int64{}); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if !used[name] {
			names := "none"
			if len(used) > 0 {
				names = strings.Join(slices.Sorted(maps.Keys(used)), ", ")
			}
			return nil, usageError(cmd, "--set %s=%d: no such loop around a region of %s, which has %s", name, set[name], p.Name, names)
		}
	}
	return list, nil
}

// lowerTime is how long the lowering of a region is repeated to be timed.
const lowerTime = 5 * time.Millisecond

// lowerRegion lowers a region again and again, takes the fastest time, and counts the
// commands.
func lowerRegion(ctx context.Context, p *system.Prepared, at instance, list bool) (*regionResult, error) {
	r := &regionResult{Name: at.graph.Name, Loops: at.loops, Nodes: len(at.graph.Nodes), Near: nearText(p.Near[at.graph]), near: p.Near[at.graph], Kinds: map[string]int{}}
	plan := p.Plans[at.graph]
	if plan == nil {
		return r, nil
	}
	for _, k := range commandKinds {
		r.Kinds[k.String()] = 0
	}
	r.Steps, r.Peak, r.Spilled = len(plan.Steps), plan.Peak, plan.Slots
	places := map[int]bool{}
	for _, s := range plan.Steps {
		if s.Dst.Bits > 0 && !slices.ContainsFunc(plan.Arrays, func(a lowering.Register) bool { return a.Bits > 0 && a.Row == s.Dst.Row }) {
			places[s.Dst.Row] = true
		}
	}
	r.Registers = len(places)
	var cmds []lowering.Command
	var err error
	fastest := math.Inf(1)
	for start, n := time.Now(), 0; n < 3 || time.Since(start) < lowerTime; n++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		before := time.Now()
		if cmds, err = plan.Lower(cmds[:0], p.Grid, at.values); err != nil {
			return nil, err
		}
		fastest = min(fastest, time.Since(before).Seconds())
	}
	fastest = max(fastest, 1e-9) // of a clock that stands still
	r.Commands, r.Microseconds, r.Rate = len(cmds), fastest*1e6, float64(len(cmds))/fastest
	for i := range cmds {
		r.Kinds[cmds[i].Kind.String()]++
		if list {
			r.List = append(r.List, plan.CommandText(&cmds[i]))
		}
	}
	return r, nil
}

// maxLowered is how many regions that a run executes are lowered, if not all are asked
// for.
const maxLowered = 10000

// errEnough ends the lowering of regions after the first ones.
var errEnough = errors.New("enough regions")

// lowerProgram lowers the regions that a run executes, one after another: all, or the
// first ones.
func lowerProgram(ctx context.Context, p *tdfg.Program, sizes map[string]int64, prepared *system.Prepared, all bool, progress func(int64)) (programResult, error) {
	var r programResult
	var err error
	if r.Executed, r.Exact, err = p.Executions(sizes); err != nil {
		return r, err
	}
	if !all && (r.Executed > maxLowered || !r.Exact) {
		r.Limit = maxLowered
	}
	var cmds []lowering.Command
	var done int64
	err = p.Each(ctx, sizes, func(g *tdfg.Graph, values map[string]int64) error {
		if r.Limit > 0 && done == r.Limit {
			return errEnough
		}
		done++
		progress(done)
		plan := prepared.Plans[g]
		if plan == nil {
			return nil
		}
		start := time.Now()
		var err error
		if cmds, err = plan.Lower(cmds[:0], prepared.Grid, values); err != nil {
			return err
		}
		us := time.Since(start).Seconds() * 1e6
		r.Regions++
		r.Commands += int64(len(cmds))
		r.Total += us
		r.Most = max(r.Most, us)
		return nil
	})
	switch {
	case err == nil: // they have been counted
		r.Executed, r.Exact, r.Limit = done, true, 0
	case errors.Is(err, errEnough):
		err = nil
	}
	if r.Regions > 0 && r.Total > 0 {
		r.Mean, r.Rate = r.Total/float64(r.Regions), float64(r.Commands)/r.Total*1e6
	}
	return r, err
}

// reasonText is which region is executed near the memory, and why.
func reasonText(why *system.Reason) string {
	return packagePrefix.ReplaceAllString(why.String(), "$1")
}

// nearText is why a region is executed near the memory, "" if it is not.
func nearText(why *system.Reason) string {
	if why == nil {
		return ""
	}
	return packagePrefix.ReplaceAllString(why.Text(), "$1")
}

// moreText names the command that says more of a reason.
func moreText(why *system.Reason) string {
	if why.Kind == system.OnlyStreams {
		return " (see bitsched tdfg --why)"
	}
	return ""
}

// text is the report for a person.
func (r *lowerResult) text() string {
	var s summary
	s.add("kernel", "%s, %s", r.Kernel, r.k.SizeText())
	s.add("machine", "%s, %d rows of an array hold words", r.Machine, r.Rows)
	if r.Layout == nil {
		s.add("layout", "nothing in memory")
	} else {
		r.Layout.text(&s)
	}
	var out strings.Builder
	out.WriteString(s.String())
	t := benchmarks.Table{Columns: []benchmarks.Column{
		{Name: "region", Left: true}, {Name: "nodes"}, {Name: "steps"}, {Name: "registers"}, {Name: "peak rows"}, {Name: "spilled"}, {Name: "commands"},
	}}
	for _, k := range commandKinds {
		t.Columns = append(t.Columns, benchmarks.Column{Name: k.String()})
	}
	for _, g := range r.Regions {
		if g.Near != "" {
			continue
		}
		row := []string{g.label(), fmt.Sprint(g.Nodes), fmt.Sprint(g.Steps), fmt.Sprint(g.Registers), fmt.Sprint(g.Peak), fmt.Sprint(g.Spilled), fmt.Sprint(g.Commands)}
		for _, k := range commandKinds {
			row = append(row, fmt.Sprint(g.Kinds[k.String()]))
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) > 0 {
		out.WriteString("\n" + renderTable(t) + "\n")
	}
	if len(r.Regions) > 0 {
		out.WriteString("\n")
	}
	var end summary
	for _, g := range r.Regions {
		if g.Near != "" {
			end.add("near", "%s: %s", g.label(), g.Near+moreText(g.near))
		} else {
			end.add("time", "%s: %.1f us to lower, %.3g commands a second", g.label(), g.Microseconds, g.Rate)
		}
	}
	if p := &r.Program; p.Regions > 0 {
		which := count(int(p.Regions), "region") + " that a run executes"
		if p.Limit > 0 {
			which = "the first " + which
		}
		end.add("time", "%s: %.1f us in the mean, %.1f us at most, %.3g commands a second", which, p.Mean, p.Most, p.Rate)
	}
	if p := &r.Program; p.Limit > 0 {
		more := ""
		if !p.Exact {
			more = "more than "
		}
		end.add("left out", "a run executes %s%d regions, of which the first %d were lowered: --all lowers all", more, p.Executed, p.Limit)
	}
	out.WriteString(end.String())
	for _, g := range r.Regions {
		if len(g.List) > 0 {
			fmt.Fprintf(&out, "\n# %s\n%s\n", g.label(), strings.Join(g.List, "\n"))
		}
	}
	return out.String()
}

func (l *layoutResult) text(s *summary) {
	s.add("layout", "tiles of %s in %d of %s, %s for arrays", l.Tile, l.Arrays, count(l.Of, "array"), count(l.RowsUsed, "row"))
	s.add("valid", "%s", strings.Join(l.Shapes, ", "))
	var hints []string
	for _, h := range []struct {
		name string
		dims []int
	}{{"reduction", l.Reduce}, {"shift", l.Shift}, {"broadcast", l.Broadcast}} {
		if len(h.dims) > 0 {
			hints = append(hints, fmt.Sprintf("%s along %s", h.name, strings.Trim(strings.ReplaceAll(fmt.Sprint(h.dims), " ", ", "), "[]")))
		}
	}
	if len(hints) > 0 {
		s.add("hints", "%s", strings.Join(hints, "; "))
	}
	for _, d := range l.Data {
		where := "in memory, for streams and views"
		if d.Row >= 0 {
			where = fmt.Sprintf("rows %d+%d", d.Row, d.Bits)
		}
		s.add("array", "%s, %s %s, %s", d.Name, lowering.Shape(d.Size), d.Type, where)
	}
}

// label is a region with the values of the loops around it.
func (g *regionResult) label() string {
	text := g.Name
	for _, name := range slices.Sorted(maps.Keys(g.Loops)) {
		text += fmt.Sprintf(" %s=%d", name, g.Loops[name])
	}
	return text
}
