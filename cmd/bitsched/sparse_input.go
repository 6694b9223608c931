package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/system/sparse"
	"github.com/bitsched/bitsched/system/sparse/matrix"
)

func (a *app) sparseGenCommand() *cobra.Command {
	var f sparseInput
	var output string
	var b strings.Builder
	b.WriteString("Gen writes a generated matrix, or any other, as MatrixMarket, or, into a file that\nends in .bsx, as the cache. The same seed gives the same bytes. Kinds are:\n\n")
	for _, g := range matrix.Generators() {
		fmt.Fprintf(&b, "  %-10s  %s\n", g.Name, g.Text)
	}
	cmd := &cobra.Command{
		Use:   "gen MATRIX",
		Short: "Generate a sparse matrix",
		Long:  strings.TrimRight(b.String(), "\n"),
		Example: `  bitsched sparse gen gen:uniform,n=1000,nnz=5000 -o u.mtx
  bitsched sparse gen standin:hollywood-2009 --scale 8 -o holly8.bsx`,
		Args: exactArgs("MATRIX"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.sparseWrite(cmd, args[0], &f, output, "") },
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVarP(&output, "output", "o", "-", "write the matrix into this `file`, - for stdout")
	f.add(cmd.Flags())
	return cmd
}

func (a *app) sparseConvertCommand() *cobra.Command {
	var f sparseInput
	var output string
	cmd := &cobra.Command{
		Use:   "convert MATRIX",
		Short: "Convert a sparse matrix to the cache, which is read at the speed of memory",
		Long: `Convert writes a matrix as the cache (.bsx, with checksums) or, into a file of
another name, as MatrixMarket. The file appears complete or not at all.`,
		Example: `  bitsched sparse convert web.mtx.gz -o web.bsx
  bitsched sparse convert edges.txt.gz --undirected -o web.bsx`,
		Args: exactArgs("MATRIX"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.sparseWrite(cmd, args[0], &f, output, args[0]) },
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVarP(&output, "output", "o", "-", "write the matrix into this `file`, - for stdout")
	f.add(cmd.Flags())
	return cmd
}

func (a *app) sparseWrite(cmd *cobra.Command, text string, f *sparseInput, output, input string) error {
	if err := a.checkWritable(output, input); err != nil {
		return err
	}
	line := a.newProgress()
	defer line.clear()
	m, info, err := a.loadMatrix(cmd, text, f, line)
	if err != nil {
		return err
	}
	line.phase("writing")
	write := func(w io.Writer) error { return matrix.WriteMarket(w, m) }
	if strings.HasSuffix(output, ".bsx") {
		write = func(w io.Writer) error { return matrix.WriteCache(w, m) }
	}
	if err := a.writeFile(output, write); err != nil {
		return err
	}
	line.clear()
	if output == "-" {
		return nil
	}
	return a.printText(dropped(info) + fmt.Sprintf("%s: %s x %s, %s nonzeros, %s\n", output, bigCount(int64(m.Rows)), bigCount(int64(m.Cols)), bigCount(m.NNZ()), m.Kind))
}

// dropped says what a reader left out or added.
func dropped(i matrix.Info) string {
	var parts []string
	add := func(n int64, what string) {
		if n > 0 {
			parts = append(parts, bigCount(n)+" "+what)
		}
	}
	add(i.Mirrored, "entries mirrored")
	add(i.Loops, "loops dropped")
	add(i.Duplicates, "duplicates combined")
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + "\n"
}

func (a *app) sparseStatsCommand() *cobra.Command {
	var f sparseInput
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "stats MATRIX",
		Short: "Show the size of a sparse matrix and the lengths of its columns",
		Example: `  bitsched sparse stats web.mtx.gz
  bitsched sparse stats standin:soc-orkut --scale 8`,
		Args: exactArgs("MATRIX"),
		RunE: func(cmd *cobra.Command, args []string) error {
			line := a.newProgress()
			defer line.clear()
			m, info, err := a.loadMatrix(cmd, args[0], &f, line)
			if err != nil {
				return err
			}
			line.clear()
			mean, sigma, most := m.Degrees()
			_, _, unsymmetric := m.Asymmetry()
			bins := sparse.LengthBins(m)
			if asJSON {
				return a.printJSON(map[string]any{"matrix": args[0], "format": info.Format, "rows": m.Rows, "cols": m.Cols, "nnz": m.NNZ(), "kind": m.Kind.String(), "read": info,
					"mean": mean, "sigma": sigma, "max": most, "symmetric": !unsymmetric, "density": float64(m.NNZ()) / float64(m.Rows) / float64(m.Cols), "bytes": 8 * (int64(m.Cols) + m.NNZ()), "lengths": bins})
			}
			var s summary
			s.add("matrix", "%s (%s), %s x %s, %s nonzeros, %s", args[0], info.Format, bigCount(int64(m.Rows)), bigCount(int64(m.Cols)), bigCount(m.NNZ()), m.Kind)
			if d := dropped(info); d != "" {
				s.add("read", "%s", strings.TrimSpace(d))
			}
			s.add("columns", "mean length %.2f, standard deviation %.2f, longest %s", mean, sigma, bigCount(most))
			s.add("pattern", "%s", map[bool]string{true: "not symmetric", false: "symmetric"}[unsymmetric])
			s.add("bytes", "%s as pairs, 8(n + nnz)", bigCount(8*(int64(m.Cols)+m.NNZ())))
			t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "length"}, {Name: "columns"}, {Name: "share"}}}
			for _, b := range bins {
				t.Rows = append(t.Rows, []string{b.Text, bigCount(b.Columns), percent(b.Share)})
			}
			return a.printText(s.String() + "\n" + renderTable(t) + "\n")
		},
	}
	cmd.Flags().SortFlags = false
	f.add(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func (a *app) sparsePlaceCommand() *cobra.Command {
	var f sparseInput
	var stack sparseStack
	var asJSON bool
	var variant string
	cmd := &cobra.Command{
		Use:   "place MATRIX",
		Short: "Show how a matrix lies in the stack; nothing is executed",
		Example: `  bitsched sparse place web.mtx.gz
  bitsched sparse place standin:soc-twitter-2010 --scale 8 --layers 1 --json`,
		Args: exactArgs("MATRIX"),
		RunE: func(cmd *cobra.Command, args []string) error {
			mach, err := stack.load(cmd)
			if err != nil {
				return err
			}
			v, err := sparse.LookupVariant(variant)
			if err != nil {
				return usageError(cmd, "--variant: %w", err)
			}
			line := a.newProgress()
			defer line.clear()
			m, _, err := a.loadMatrix(cmd, args[0], &f, line)
			if err != nil {
				return err
			}
			line.phase("placing")
			p, err := sparse.Survey(m, mach, v, stack.longN, f.seed)
			if err != nil {
				return sparseError(err)
			}
			line.clear()
			if asJSON {
				return a.printJSON(p)
			}
			var s summary
			s.add("matrix", "%s, %s x %s, %s nonzeros", args[0], bigCount(int64(m.Rows)), bigCount(int64(m.Cols)), bigCount(m.NNZ()))
			s.add("stack", "%s SPUs of %s, %s bytes; variant %s, %d long", bigCount(int64(mach.SPUs())), mach.Name, bigCount(mach.Bytes()), v.Name, p.Long)
			s.add("load", "%.1f nonzeros an SPU in the mean, %s at most (SPU %d needs %d of %d rows, %d left for received pairs)", p.Mean, bigCount(p.Layout.Most), p.Layout.SPU, p.Layout.Needed, mach.RowsPerSPU(), p.Layout.Received)
			s.add("nonzeros", "%s own SPU, %s replicas, %s own bank, %s other banks of the layer, %s other layers", percent(p.Own), percent(p.Replica), percent(p.Bank), percent(p.Layer), percent(p.Stack))
			s.add("replication", "%s of the capacity", fmt.Sprintf("%.3f %%", 100*p.Replication))
			return a.printText(s.String())
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&variant, "variant", "v3", "`version` of the stack: v0, v1, hypo, v2, v3 or bank")
	stack.add(fl)
	f.add(fl)
	fl.BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}
