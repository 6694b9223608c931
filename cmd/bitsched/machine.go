package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/sram/cost"
	"github.com/bitsched/bitsched/system/sparse"
	"github.com/bitsched/bitsched/tile"
)

const machineLong = `Machine lists the chips that come with the program, or prints the whole description
of one, what its file leaves out included, in a form that --machine reads: a start
for a description of your own.

NAME is a machine that comes with the program, or a file of your own in YAML (with
a . or / in its name). A file says what differs from the machine that it names as its
base, or from infinity-stream, the chip of table 2 of the paper; without a name, it
has that of its file. The name gearbox prints the stack of bitsched sparse.

Each value has its source as a comment. Behind the description stand the readings,
which papers and simulators set differently, and the parameters that are described
and not modelled: no figure of any command depends on them.`

func (a *app) machineCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "machine [NAME]",
		Short: "List the modelled chips, or print the description of one",
		Long:  machineLong,
		Example: `  bitsched machine
  bitsched machine infinity-stream > mine.yaml
  bitsched machine mine.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError(cmd, "unexpected argument %q", args[1])
			}
			return nil
		},
		ValidArgs: append(tile.MachineNames(), "gearbox"),
		RunE:      func(_ *cobra.Command, args []string) error { return a.machine(args, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

// machineSummary is what the list of machines has of one.
type machineSummary struct {
	Name       string  `json:"name"`
	Title      string  `json:"title"`
	Banks      int     `json:"banks"`
	Arrays     int     `json:"arrays"` // that compute
	Rows       int     `json:"rows"`
	Cols       int     `json:"cols"`
	Bitlines   int     `json:"bitlines"` // that compute
	Technology string  `json:"technology"`
	ClockGHz   float64 `json:"clock_ghz"`
	Effective  string  `json:"effective,omitempty"` // the whole description, in YAML

	Parameters  []tile.Parameter `json:"parameters,omitempty"`
	NotModelled []string         `json:"not_modelled,omitempty"` // described; no figure depends on them
}

func summarise(m *tile.Machine) machineSummary {
	return machineSummary{
		Name: m.Name, Title: m.Title, Banks: m.Banks(), Arrays: m.Arrays(), Rows: m.Array.Rows, Cols: m.Array.Cols, Bitlines: m.Bitlines(),
		Technology: m.Array.Technology, ClockGHz: m.ClockGHz,
	}
}

func (a *app) machine(args []string, asJSON bool) error {
	if len(args) == 1 && args[0] == sparse.Default().Name {
		m := sparse.Default()
		if asJSON {
			return a.printJSON(map[string]any{"name": m.Name, "title": m.Title, "banks": m.Banks(), "spus": m.SPUs(), "bytes": m.Bytes(), "effective": m.Effective()})
		}
		return a.printText(m.Effective())
	}
	if len(args) == 1 {
		m, err := tile.LoadMachine(args[0])
		if err != nil {
			return machineError(err)
		}
		if _, err := cost.Load(m.Array.CostTable); err != nil {
			return fmt.Errorf("bitsched: machine %s: array.cost_table: %w", m.Name, costError(err))
		}
		if asJSON {
			s := summarise(m)
			s.Effective, s.Parameters, s.NotModelled = m.Effective(), m.Parameters(), tile.NotModelled()
			return a.printJSON(s)
		}
		return a.printText(m.Effective() + machineNotes(m))
	}
	var list []machineSummary
	t := benchmarks.Table{Columns: []benchmarks.Column{
		{Name: "machine", Left: true}, {Name: "banks"}, {Name: "arrays"}, {Name: "rows"}, {Name: "bitlines"}, {Name: "technology", Left: true}, {Name: "title", Left: true},
	}}
	for _, name := range tile.MachineNames() {
		m, err := tile.LoadMachine(name)
		if err != nil {
			return err
		}
		s := summarise(m)
		list = append(list, s)
		t.Rows = append(t.Rows, []string{s.Name, fmt.Sprint(s.Banks), fmt.Sprint(s.Arrays), fmt.Sprint(s.Rows), fmt.Sprint(s.Bitlines), s.Technology, s.Title})
	}
	if asJSON {
		return a.printJSON(map[string]any{"machines": list})
	}
	return a.printText(renderTable(t) + "\n")
}

// machineNotes are comments behind a description: the readings, and what of it no
// figure depends on.
func machineNotes(m *tile.Machine) string {
	var b strings.Builder
	b.WriteString("\n# Readings, which sources set differently:\n")
	for _, p := range m.Parameters() {
		if len(p.Reading) > 0 {
			fmt.Fprintf(&b, "#   %s: %s (%s)\n", p.Path, p.Value, strings.Join(p.Reading, ", "))
		}
	}
	b.WriteString("# Described, not modelled: no figure depends on them yet.\n")
	line := "#  "
	for _, p := range tile.NotModelled() {
		if len(line)+1+len(p) > 100 {
			b.WriteString(line + "\n")
			line = "#  "
		}
		line += " " + p
	}
	b.WriteString(line + "\n")
	return b.String()
}

// machineError says where machines are listed if there is none of a name.
func machineError(err error) error {
	if errors.Is(err, tile.ErrUnknownMachine) {
		return fmt.Errorf("%w (see bitsched machine)", err)
	}
	return err
}
