package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/netlist/gen"
)

type genFlags struct {
	width  int
	set    map[string]int
	output string
	to     string
	and    bool
	list   bool
}

const genLong = `Gen writes a circuit of a given kind and width. The ending of the output file
says in which format: .aig, .aag, .blif, .v or .bench. AIGER and --and circuits
are made of AND gates; the others keep XOR, majority and multiplexer gates.`

const genExample = `  bitsched gen multiplier --width 16 -o mult.aig
  bitsched gen divider --width 8 -o div.v
  bitsched gen adder --width 4 -o - --to blif
  bitsched gen --list`

func (a *app) genCommand() *cobra.Command {
	var f genFlags
	cmd := &cobra.Command{
		Use:     "gen KIND --width N -o OUT",
		Short:   "Generate a circuit: adder, multiplier, divider, ...",
		Long:    genLong + "\n\nKinds (--list says more):\n" + indent(kindNames(), 78),
		Example: genExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.list {
				return exactArgs()(cmd, args)
			}
			return exactArgs("KIND")(cmd, args)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return kindNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.list {
				return a.printText(kindTable())
			}
			return a.gen(cmd, args[0], f)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.IntVar(&f.width, "width", 0, "width in `bits` (default: that of the kind)")
	fl.StringToIntVar(&f.set, "set", nil, "further parameters of the kind, as `name=value`")
	fl.StringVarP(&f.output, "output", "o", "", "write the circuit to this `file` (- for stdout; required)")
	fl.StringVar(&f.to, "to", "", "`format`: aig, aag, blif, verilog or bench (default: by the ending; aag for stdout)")
	fl.BoolVar(&f.and, "and", false, "use AND gates only")
	fl.BoolVar(&f.list, "list", false, "list the kinds with their parameters")
	complete(cmd, "to", formatNames...)
	return cmd
}

func (a *app) gen(cmd *cobra.Command, kind string, f genFlags) error {
	if f.output == "" {
		return usageError(cmd, "missing -o OUT")
	}
	k, err := gen.Lookup(kind)
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("width") && f.width == 0 {
		return usageError(cmd, "--width 0, expected %d to %d", k.Width.Min, k.Width.Max)
	}
	to, err := outputFormat(f.output, f.to)
	if err != nil {
		return err
	}
	if err := a.checkWritable(f.output); err != nil {
		return err
	}
	line := a.newProgress()
	defer line.clear()
	n, err := k.Build(context.Background(), gen.Options{
		Width:       f.width,
		Extra:       f.set,
		AndInverter: f.and || to == netlist.AIGER || to == netlist.AIGERASCII,
		Progress: func(done, total int) {
			line.report(masim.Progress{Phase: "building gate", Done: done, Total: total, Best: -1})
		},
	})
	if err != nil {
		return err
	}
	line.phase("writing")
	if err := a.writeCircuit(f.output, n, to); err != nil {
		return err
	}
	line.clear()
	return a.printWritten(f.output, n)
}

// writeCircuit writes a circuit to a file or, for "-", to stdout.
func (a *app) writeCircuit(path string, n *netlist.Network, to netlist.Format) error {
	return a.writeFile(path, func(w io.Writer) error { return netlist.Write(w, n, to) })
}

// printWritten says what was written, unless that went to stdout itself.
func (a *app) printWritten(path string, n *netlist.Network) error {
	if path == "-" {
		return nil
	}
	return a.printText(fmt.Sprintf("%s  %s, %s, %s\n", path,
		count(n.NumInputs(), "input"), count(n.NumOutputs(), "output"), count(n.NumGates(), "gate")))
}

// formatNames are the names of the formats that can be written.
var formatNames = []string{"aig", "aag", "blif", "verilog", "bench"}

// outputFormat is the format to write: the one asked for by name, else that of
// the ending, else ASCII AIGER on stdout, which a terminal stands.
func outputFormat(path, name string) (netlist.Format, error) {
	switch {
	case name != "":
		return netlist.ParseFormat(name)
	case path == "-":
		return netlist.AIGERASCII, nil
	}
	f, err := netlist.FormatOf(path)
	if err != nil {
		return f, fmt.Errorf("%w, or --to FORMAT", err)
	}
	return f, nil
}

func kindNames() []string {
	var names []string
	for i := range gen.Kinds {
		names = append(names, gen.Kinds[i].Name)
	}
	return names
}

func kindTable() string {
	var b strings.Builder
	for i := range gen.Kinds {
		k := &gen.Kinds[i]
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s", k.Name)
		if len(k.Aliases) > 0 {
			fmt.Fprintf(&b, " (also %s)", strings.Join(k.Aliases, ", "))
		}
		fmt.Fprintf(&b, "\n%s\n", indent(strings.Fields(k.Doc), 78))
		params := append([]gen.Param{k.Width}, k.Extra...)
		for j, p := range params {
			flag := "--width"
			if j > 0 {
				flag = "--set " + p.Name + "="
			}
			def := ""
			if p.Default != 0 {
				def = fmt.Sprintf(", default %d", p.Default)
			}
			fmt.Fprintf(&b, "    %s  %s (%d to %d%s)\n", flag, p.Doc, p.Min, p.Max, def)
		}
	}
	return b.String()
}

// indent sets words in lines of at most width characters, indented by two.
func indent(words []string, width int) string {
	var b strings.Builder
	col := 0
	for _, w := range words {
		switch {
		case col == 0:
			b.WriteString("  ")
			col = 2
		case col+1+len(w) > width:
			b.WriteString("\n  ")
			col = 2
		default:
			b.WriteByte(' ')
			col++
		}
		b.WriteString(w)
		col += len(w)
	}
	return b.String()
}
