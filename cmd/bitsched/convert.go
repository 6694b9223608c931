package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/netlist/gen"
)

const convertLong = `Convert reads a circuit in one format and writes it in another. The input
format is told by content; the output format by the ending of OUT (.aig, .aag,
.blif, .v, .bench) or by --to. Names and their order are kept as far as the
format can say them.`

const convertExample = `  bitsched convert mult.aig mult.v
  bitsched convert mult.v mult.blif
  bitsched convert mult.aig - --to verilog
  bitsched convert - mult.aig <mult.bench`

func (a *app) convertCommand() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:     "convert IN OUT",
		Short:   "Convert a circuit to another format",
		Long:    convertLong,
		Example: convertExample,
		Args:    exactArgs("IN", "OUT"),
		RunE: func(_ *cobra.Command, args []string) error {
			format, err := outputFormat(args[1], to)
			if err != nil {
				return err
			}
			if err := a.checkWritable(args[1], args[0]); err != nil {
				return err
			}
			line := a.newProgress()
			defer line.clear()
			n, err := a.readCircuit(context.Background(), args[0], line)
			if err != nil {
				return err
			}
			line.phase("writing")
			if err := a.writeCircuit(args[1], n, format); err != nil {
				return err
			}
			line.clear()
			return a.printWritten(args[1], n)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "`format` of OUT: aig, aag, blif, verilog or bench (default: by its ending; aag for stdout)")
	complete(cmd, "to", formatNames...)
	return cmd
}

// readCircuit reads a circuit from a file or, for "-", from stdin, until ctx ends.
func (a *app) readCircuit(ctx context.Context, path string, line *progressLine) (*netlist.Network, error) {
	line.phase("reading " + fileName(path))
	o := netlist.ReadOptions{Words: gen.Words{}}
	if path != "-" {
		return masim.ReadCircuit(ctx, func() (*netlist.Network, error) { return netlist.ReadFileWith(path, o) })
	}
	if f, ok := a.stdin.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.IsDir() {
			return nil, fmt.Errorf("%s: is a directory, expected a circuit", stdinName)
		}
	}
	return masim.ReadCircuit(ctx, func() (*netlist.Network, error) { return netlist.Read(a.stdin, stdinName, o) })
}
