package reproduce

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

const masimPaper = "MASIM, "

// masimInputs are the netlists of the paper's evaluation and their array sizes.
var masimInputs = []string{"masim/*.v", "masim/rows.txt"}

// rivals are the published schedulers beside MASIM.
var rivals = []string{"gppic", "simpler", "star", "date24"}

// masimEntries are the tables and figures of MASIM. Small sizes are the netlists of up
// to 4000 gates, at effort fast.
var masimEntries = []*Entry{
	{
		ID: "masim:table1", Title: "Netlists", Paper: masimPaper + "Table I",
		Doc:    "gates, inputs and outputs of the paper's netlists as they are read",
		Inputs: masimInputs,
		Claims: []Claim{
			{Name: "netlists that differ", Section: "IV-A", Paper: 0, Points: true},
		},
		Run: masimTable1,
	},
	{
		ID: "masim:table2", Title: "Copies by scheduler", Paper: masimPaper + "Table II",
		Doc: "geometric means of copies; schedulers published as code of their own are ours, written from the papers. " +
			"Copies are compared over the same netlists: at small sizes the means are of other netlists than the paper's",
		Inputs: masimInputs,
		Claims: slices.Concat([]Claim{
			{Name: "copies, masim", Section: "IV-A", Paper: 228.8, Tolerance: 0.2, Better: -1, Only: PaperSizes},
			{Name: "copies, masim-noimpr", Section: "IV-C", Paper: 257.9, Tolerance: 0.2, Better: -1, Only: PaperSizes},
			{Name: "copies, gppic", Section: "IV-A", Paper: 922.4, Tolerance: 0.2, Only: PaperSizes},
			{Name: "copies, simpler", Section: "IV-A", Paper: 854.7, Tolerance: 0.2, Only: PaperSizes},
			{Name: "copies, star", Section: "IV-A", Paper: 835.3, Tolerance: 0.2, Only: PaperSizes},
			{Name: "copies, date24", Section: "IV-A", Paper: 622.5, Tolerance: 0.2, Only: PaperSizes},
		}, fewer("gppic", "copies", "IV-A", 75.2), fewer("simpler", "copies", "IV-A", 73.2), fewer("star", "copies", "IV-A", 72.6),
			fewer("date24", "copies", "IV-A", 63.2), fewer("the best rival", "copies", "IV-A", 63.1)),
		Run: func(ctx context.Context, env *Env) (*Measured, error) {
			return masimComparison(ctx, env, append([]string{"bitsched", "masim", "masim-noimpr"}, rivals...), nil)
		},
	},
	{
		ID: "masim:fig2", Title: "Energy of computes and copies", Paper: masimPaper + "Fig. 2",
		Doc:    "energy of multiplier and div by scheduler, split into computes and copies; the paper says that copies take almost as much as computes",
		Inputs: []string{"masim/multiplier.v", "masim/div.v", "masim/rows.txt"},
		Run: func(ctx context.Context, env *Env) (*Measured, error) {
			return masimComparison(ctx, env, append([]string{"masim"}, rivals...), []string{"multiplier", "div"})
		},
	},
	{
		ID: "masim:fig8", Title: "Energy by scheduler", Paper: masimPaper + "Fig. 8",
		Doc:    "energy normalised to the most of each netlist; a copy takes 1.87 computes at any array size, where the paper has a figure for each size and does not print it",
		Inputs: masimInputs,
		Claims: slices.Concat(fewer("gppic", "energy", "IV-B", 39.4), fewer("simpler", "energy", "IV-B", 35.4),
			fewer("star", "energy", "IV-B", 35.7), fewer("date24", "energy", "IV-B", 28.0)),
		Run: func(ctx context.Context, env *Env) (*Measured, error) {
			return masimComparison(ctx, env, append([]string{"masim"}, rivals...), nil)
		},
	},
	{
		ID: "masim:fig9", Title: "Copies by array size", Paper: masimPaper + "Fig. 9",
		Doc:    "multiplier and sqrt on arrays of 128, 256 and 512 rows; the sizes are missing in our text of the paper. The paper: copies decrease with the size, MASIM has the fewest",
		Inputs: []string{"masim/multiplier.v", "masim/sqrt.v"},
		Claims: []Claim{
			{Name: "sizes at which more rows take more copies", Section: "IV-D", Paper: 0, Points: true},
			{Name: "sizes at which a rival has fewer copies than masim", Section: "IV-D", Paper: 0, Points: true},
		},
		Run: masimFigure9,
	},
}

// fewer is the claim that MASIM takes so many percent less of a quantity than
// another scheduler, on the geometric mean of the twelve netlists.
func fewer(than, quantity, section string, percent float64) []Claim {
	return []Claim{{Name: quantity + " less than " + than, Section: section, Unit: "%", Paper: percent, Tolerance: 5, Points: true, Better: 1, Only: PaperSizes}}
}

// readNetlist reads a netlist of the paper.
func readNetlist(ctx context.Context, env *Env, name string) (*netlist.Network, *xmg.Graph, error) {
	n, err := netlist.ReadFile(env.File("masim/" + name + ".v"))
	if err != nil {
		return nil, nil, err
	}
	g, err := xmg.FromNetwork(ctx, n, xmg.Options{})
	return n, g, err
}

func masimRows(env *Env) (map[string]int, error) {
	f, err := os.Open(env.File("masim/rows.txt"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return benchmarks.ReadRows(f, f.Name())
}

func masimTable1(ctx context.Context, env *Env) (*Measured, error) {
	m := &Measured{}
	t := Table{Title: "Table I, as read; outputs are those that gates drive, and the paper exchanges the inputs and outputs of adder", Head: []string{"netlist", "gates", "paper", "inputs", "paper", "outputs", "paper"}}
	different := 0
	for _, p := range benchmarks.Paper {
		n, g, err := readNetlist(ctx, env, p.Name)
		if err != nil {
			return nil, err
		}
		in, out := p.Inputs, p.Outputs
		if p.Name == "adder" {
			in, out = out, in
		}
		driven := 0 // by gates: router has 27 more, constants and inputs, that the paper does not count
		for _, o := range g.Outputs() {
			if o.Lit.Node() >= g.FirstGate() {
				driven++
			}
		}
		if g.NumGates() != p.Gates || n.NumInputs() != in || driven != out {
			different++
		}
		t.Rows = append(t.Rows, []string{p.Name, strconv.Itoa(g.NumGates()), strconv.Itoa(p.Gates), strconv.Itoa(n.NumInputs()), strconv.Itoa(in), strconv.Itoa(driven), strconv.Itoa(out)})
	}
	m.Add("netlists that differ", "", float64(different))
	m.Tables = []Table{t}
	return m, nil
}

// maxSmallGates bounds the netlists of small sizes.
const maxSmallGates = 4000

// masimCircuits are the netlists of Table II, or those of the names given, at the
// sizes of the environment.
func masimCircuits(ctx context.Context, env *Env, names []string) ([]benchmarks.Circuit, error) {
	rows, err := masimRows(env)
	if err != nil {
		return nil, err
	}
	var list []benchmarks.Circuit
	for _, p := range benchmarks.Paper {
		if len(names) > 0 && !slices.Contains(names, p.Name) || len(names) == 0 && env.Size == Small && p.Gates > maxSmallGates {
			continue
		}
		n, g, err := readNetlist(ctx, env, p.Name)
		if err != nil {
			return nil, err
		}
		if rows[p.Name] == 0 {
			return nil, fmt.Errorf("%s: no line for %s", env.File("masim/rows.txt"), p.Name)
		}
		list = append(list, benchmarks.Circuit{Name: p.Name, File: p.Name + ".v", Network: n, Graph: g, Rows: rows[p.Name]})
	}
	return list, nil
}

func masimRun(ctx context.Context, env *Env, circuits []benchmarks.Circuit, names []string) (*benchmarks.Comparison, error) {
	var list []masim.Scheduler
	for _, name := range names {
		s, err := masim.Lookup(name)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	o := benchmarks.Options{Arrays: 8, Cols: sram.DefaultCols, Seed: env.Seed, Threads: env.Threads, Energy: sram.DefaultEnergy, Patterns: 512}
	if env.Size == PaperSizes {
		o.Effort = masim.Normal
	} else {
		o.Effort = masim.Fast
	}
	o.Progress = func(s benchmarks.Step) { env.progress(s.Circuit+" by "+s.Scheduler, s.Run-1, s.Runs) }
	c := benchmarks.Run(ctx, circuits, list, o)
	if c.Stopped != nil {
		return nil, c.Stopped
	}
	return c, c.Err()
}

// masimComparison schedules netlists and returns means, and the figures drawn of
// them. Programs are replayed and executed before they count.
func masimComparison(ctx context.Context, env *Env, schedulers, names []string) (*Measured, error) {
	circuits, err := masimCircuits(ctx, env, names)
	if err != nil {
		return nil, err
	}
	c, err := masimRun(ctx, env, circuits, schedulers)
	if err != nil {
		return nil, err
	}
	m := &Measured{Notes: []string{fmt.Sprintf("%d programs of %d netlists: rules replayed, and each executed on %d patterns", len(schedulers)*len(circuits), len(circuits), c.Options.Patterns)}}
	copies, energies := map[string][]float64{}, map[string][]float64{}
	t := Table{Title: "Copies", Head: append([]string{"netlist", "rows", "at least"}, schedulers...)}
	for i := range c.Rows {
		r := &c.Rows[i]
		line := []string{r.Name, strconv.Itoa(r.Rows), strconv.Itoa(r.Bound)}
		best, bestEnergy := 0.0, 0.0
		for j := range r.Cells {
			cell := &r.Cells[j]
			if cell.Status != benchmarks.Done {
				return nil, fmt.Errorf("%s by %s: %s", r.Name, cell.Scheduler, cell.Status)
			}
			n := float64(max(1, cell.Copies))
			copies[cell.Scheduler] = append(copies[cell.Scheduler], n)
			energies[cell.Scheduler] = append(energies[cell.Scheduler], cell.Energy)
			if slices.Contains(rivals, cell.Scheduler) && (best == 0 || n < best) {
				best, bestEnergy = n, cell.Energy
			}
			line = append(line, strconv.Itoa(cell.Copies))
		}
		copies["the best rival"] = append(copies["the best rival"], best)
		energies["the best rival"] = append(energies["the best rival"], bestEnergy)
		t.Rows = append(t.Rows, line)
	}
	for _, s := range append(slices.Clone(schedulers), "the best rival") {
		m.Add("copies, "+s, "", benchmarks.GeoMean(copies[s]))
		m.Add("energy, "+s, "computes", benchmarks.GeoMean(energies[s]))
		if s != "masim" {
			m.Add("copies less than "+s, "%", 100*(1-benchmarks.GeoMean(copies["masim"])/benchmarks.GeoMean(copies[s])))
			m.Add("energy less than "+s, "%", 100*(1-benchmarks.GeoMean(energies["masim"])/benchmarks.GeoMean(energies[s])))
		}
	}
	m.Tables = []Table{t}
	for _, f := range c.Figures() {
		m.Figures = append(m.Figures, Figure{f.File, f.SVG})
	}
	return m, nil
}

func masimFigure9(ctx context.Context, env *Env) (*Measured, error) {
	names, sizes := []string{"multiplier", "sqrt"}, []int{128, 256, 512}
	if env.Size == Small {
		names = names[1:]
	}
	var circuits []benchmarks.Circuit
	for _, name := range names {
		n, g, err := readNetlist(ctx, env, name)
		if err != nil {
			return nil, err
		}
		for _, rows := range sizes {
			circuits = append(circuits, benchmarks.Circuit{Name: name, File: name + ".v", Network: n, Graph: g, Rows: rows})
		}
	}
	schedulers := append([]string{"masim"}, rivals...)
	c, err := masimRun(ctx, env, circuits, schedulers)
	if err != nil {
		return nil, err
	}
	m := &Measured{}
	t := Table{Title: "Copies", Head: append([]string{"netlist", "rows"}, schedulers...)}
	more, beaten := 0, 0
	for i := range c.Rows {
		r := &c.Rows[i]
		line := []string{r.Name, strconv.Itoa(r.Rows)}
		for j := range r.Cells {
			line = append(line, strconv.Itoa(r.Cells[j].Copies))
			if j > 0 && r.Cells[j].Copies < r.Cells[0].Copies {
				beaten++
			}
			if i > 0 && c.Rows[i-1].Name == r.Name && r.Cells[j].Copies > c.Rows[i-1].Cells[j].Copies {
				more++
			}
		}
		t.Rows = append(t.Rows, line)
	}
	m.Add("sizes at which more rows take more copies", "", float64(more))
	m.Add("sizes at which a rival has fewer copies than masim", "", float64(beaten))
	m.Tables = []Table{t}
	for _, f := range c.Figures() {
		if strings.HasPrefix(filepath.Base(f.File), "fig9") {
			m.Figures = append(m.Figures, Figure{f.File, f.SVG})
		}
	}
	return m, nil
}
