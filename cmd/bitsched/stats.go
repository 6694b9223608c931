package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/xmg"
)

type statsFlags struct {
	noMap  bool
	effort string
	seed   uint64
	json   bool
}

const statsLong = `Stats counts what is in circuits: as they are read, and as the MAJ and XOR gates
that schedule would make of them.

Live values are those of gates that are still to be used or drive an output,
counted after each gate in the order of the circuit. Their most, and a row for
each input, is what a single array needs for this order. The profile shows the
most live values of each tenth of the order.`

const statsExample = `  bitsched stats mult.aig
  bitsched stats mult.aig --no-map
  bitsched stats *.v
  bitsched stats *.aig --effort high --json`

func (a *app) statsCommand() *cobra.Command {
	var f statsFlags
	cmd := &cobra.Command{
		Use:     "stats FILE...",
		Short:   "Count gates, levels, fanouts and live values of circuits",
		Long:    statsLong,
		Example: statsExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError(cmd, "missing FILE")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.stats(cmd, args, f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.BoolVar(&f.noMap, "no-map", false, "translate the circuit gate for gate, do not make it smaller")
	fl.StringVar(&f.effort, "effort", masim.Normal.String(), "how hard to make gates few, a `level`: fast, normal or high")
	fl.Uint64Var(&f.seed, "seed", 1, "`seed` of the random choices")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	exclusive(cmd, "no-map", "effort")
	complete(cmd, "effort", "fast", "normal", "high")
	return cmd
}

type statsResult struct {
	Circuits []*statsReport `json:"circuits"`
}

type statsReport struct {
	Name    string     `json:"name"`
	File    string     `json:"file"`
	Inputs  int        `json:"inputs"`
	Outputs int        `json:"outputs"`
	Read    readReport `json:"read"`

	Gates               int     `json:"gates"`
	Maj                 int     `json:"maj"`
	Xor                 int     `json:"xor"`
	And                 int     `json:"and"`  // of the maj: with a constant fanin
	Xor2                int     `json:"xor2"` // of the xor: with a constant fanin
	Levels              int     `json:"levels"`
	Complemented        int     `json:"complemented_fanins"`
	ComplementedOutputs int     `json:"complemented_outputs"`
	MaxFanout           int     `json:"max_fanout"`
	MeanFanout          float64 `json:"mean_fanout"`
	PeakLive            int     `json:"peak_live"`
	MeanLive            float64 `json:"mean_live"`
	LiveProfile         []int   `json:"live_profile"` // the most live values of each tenth
}

// readReport is the circuit as it was read.
type readReport struct {
	Gates int `json:"gates"`
	And   int `json:"and"`
	Xor   int `json:"xor"`
	Maj   int `json:"maj"`
	Xor3  int `json:"xor3"`
	Mux   int `json:"mux"`
	LUT   int `json:"lut"`
}

func (a *app) stats(cmd *cobra.Command, files []string, f statsFlags) error {
	effort, err := xmg.ParseEffort(f.effort)
	if err != nil {
		return err
	}
	for i, file := range files {
		if file == "-" && slices.Contains(files[:i], "-") {
			return usageError(cmd, "FILE is - twice, expected at most one to be read from stdin")
		}
	}
	line := a.newProgress()
	defer line.clear()
	var r statsResult
	for _, file := range files {
		n, err := a.readCircuit(context.Background(), file, line)
		if err != nil {
			return err
		}
		g, err := f.graph(n, effort, line)
		if err != nil {
			return err
		}
		r.Circuits = append(r.Circuits, newStatsReport(file, n, g))
	}
	line.clear()
	switch {
	case f.json:
		return a.printJSON(r)
	case len(r.Circuits) == 1:
		return a.printText(r.Circuits[0].text())
	}
	return a.printText(renderTable(r.table()) + "\n")
}

// graph makes the gates that schedule makes, or those of the circuit.
func (f *statsFlags) graph(n *netlist.Network, effort xmg.Effort, line *progressLine) (*xmg.Graph, error) {
	if f.noMap {
		line.phase("translating")
		return xmg.FromNetwork(context.Background(), n, xmg.Options{NoMap: true, Progress: line.mapping})
	}
	g, _, err := masim.Synthesize(context.Background(), n, masim.Options{Effort: effort, Seed: f.seed, Progress: line.report}, 0)
	return g, err
}

func newStatsReport(file string, n *netlist.Network, g *xmg.Graph) *statsReport {
	s := g.Stats()
	return &statsReport{
		Name: netlistName(file, n.Name), File: fileName(file), Inputs: s.Inputs, Outputs: s.Outputs, Read: newReadReport(n),
		Gates: s.Gates, Maj: s.Maj, Xor: s.Xor, And: s.And, Xor2: s.Xor2, Levels: s.Levels,
		Complemented: s.Complemented, ComplementedOutputs: s.ComplementedOutputs,
		MaxFanout: s.MaxFanout, MeanFanout: s.MeanFanout,
		PeakLive: s.PeakLive, MeanLive: s.MeanLive, LiveProfile: s.LiveProfile[:],
	}
}

func newReadReport(n *netlist.Network) readReport {
	r := readReport{Gates: n.NumGates()}
	for id := range n.NumNodes() {
		switch n.Kind(id) {
		case netlist.And:
			r.And++
		case netlist.Xor:
			r.Xor++
		case netlist.Maj:
			r.Maj++
		case netlist.Xor3:
			r.Xor3++
		case netlist.Mux:
			r.Mux++
		case netlist.LUT:
			r.LUT++
		}
	}
	return r
}

// kinds lists the kinds of gates that are there: "3 and, 1 xor".
func (r *readReport) kinds() string {
	var parts []string
	for _, k := range []struct {
		n    int
		name string
	}{{r.And, "and"}, {r.Maj, "maj"}, {r.Xor, "xor"}, {r.Xor3, "xor3"}, {r.Mux, "mux"}, {r.LUT, "lut"}} {
		if k.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", k.n, k.name))
		}
	}
	return strings.Join(parts, ", ")
}

// text says how many of something there are, with their kinds.
func (r *readReport) text(number string) string {
	if kinds := r.kinds(); kinds != "" {
		return number + " (" + kinds + ")"
	}
	return number
}

func (r *statsReport) text() string {
	var s summary
	s.add("netlist", "%s: %s, %s", r.Name, count(r.Inputs, "input"), count(r.Outputs, "output"))
	s.add("as read", "%s", r.Read.text(strconv.Itoa(r.Read.Gates)))
	s.gap()
	s.add("gates", "%s", countedGates(r.Gates, r.And, r.Maj, r.Xor))
	s.add("of them", "%d and/or of two, %d xor of two", r.And, r.Xor2)
	s.add("levels", "%d", r.Levels)
	s.add("inverted", "%s, %s", count(r.Complemented, "fanin"), count(r.ComplementedOutputs, "output"))
	s.add("fanout", "%d at most, %.2f on average", r.MaxFanout, r.MeanFanout)
	live := fmt.Sprintf("%d at most, %.1f on average", r.PeakLive, r.MeanLive)
	if r.Gates > 0 {
		live += "  " + sparkline(r.LiveProfile)
	}
	s.add("live", "%s", live)
	return s.String()
}

// sparkline draws numbers as blocks of eight heights, the highest number as a
// full one; an empty one is no block.
func sparkline(numbers []int) string {
	heights := []rune(" ▁▂▃▄▅▆▇█")
	most := max(1, slices.Max(numbers))
	var b strings.Builder
	for _, n := range numbers {
		b.WriteRune(heights[(n*8+most-1)/most])
	}
	return strings.TrimRight(b.String(), " ")
}

func (r *statsResult) table() benchmarks.Table {
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "circuit", Left: true}}}
	for _, name := range []string{"inputs", "outputs", "read", "gates", "maj", "xor", "and/or", "xor2", "levels", "inverted", "max fanout", "fanout", "peak live", "live"} {
		t.Columns = append(t.Columns, benchmarks.Column{Name: name})
	}
	t.Columns = append(t.Columns, benchmarks.Column{Name: "profile", Left: true})
	for _, c := range r.Circuits {
		row := []string{c.Name}
		for _, n := range []int{c.Inputs, c.Outputs, c.Read.Gates, c.Gates, c.Maj, c.Xor, c.And, c.Xor2, c.Levels, c.Complemented, c.MaxFanout} {
			row = append(row, strconv.Itoa(n))
		}
		row = append(row, fmt.Sprintf("%.2f", c.MeanFanout), strconv.Itoa(c.PeakLive), fmt.Sprintf("%.1f", c.MeanLive), sparkline(c.LiveProfile))
		t.Rows = append(t.Rows, row)
	}
	return t
}
