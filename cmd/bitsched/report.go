package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bitsched/bitsched/benchmarks/report"
)

const reportLong = `Report makes one page of results, an HTML file that needs no network and no other
file: tables that sort and filter, drawings with their values, in light and dark, on
paper and on a telephone. RESULTS are any of:

  a folder of a sweep, or what "sweep -o" wrote   parallel coordinates, Pareto front
  a circuit                                       gates by level, critical path
  a program (.bsp), after its circuit or alone    what lies in which row when
  what a command printed with --json              its tables; compare and reproduce have
                                                  pages of their own

The page has no path and no name of this machine. "schedule --html F", "run --html F",
"compare --html F", "map --html F" and "reproduce --html F" make pages that know more
of what they show.`

const reportExample = `  bitsched report plan.results -o sweep.html
  bitsched report mult.v mult.bsp -o mult.html
  bitsched compare *.v --rows 256 --json > compare.json && bitsched report compare.json -o compare.html`

type reportFlags struct {
	output string
	title  string
}

func (a *app) reportCommand() *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:     "report RESULTS... -o FILE",
		Short:   "Make a page of results, to look at and to pass on",
		Long:    reportLong,
		Example: reportExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError(cmd, "missing RESULTS")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.report(cmd, args, f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVarP(&f.output, "output", "o", "", "write the page to this `file` (required; - for stdout)")
	fl.StringVar(&f.title, "title", "", "`title` of the page (default that of the first of the results)")
	return cmd
}

func (a *app) report(cmd *cobra.Command, paths []string, f reportFlags) error {
	if f.output == "" {
		return usageError(cmd, "missing -o")
	}
	if err := a.checkWritable(f.output, paths...); err != nil {
		return err
	}
	s := a.startBudget(0)
	defer s.end()
	sections, err := report.Read(s.ctx, paths...)
	if err != nil {
		return pathError(err)
	}
	if f.title == "" {
		base := filepath.Base(filepath.Clean(paths[0]))
		f.title = strings.TrimSuffix(base, filepath.Ext(base))
	}
	if len(sections) == 1 && sections[0].Title == f.title {
		sections[0].Title = strings.ToUpper(sections[0].ID[:1]) + sections[0].ID[1:]
	}
	return a.writePage(f.output, &report.Page{Title: f.title, Sections: sections})
}

// pathError is the error of a file system as others print it.
func pathError(err error) error {
	if path := new(fs.PathError); errors.As(err, &path) {
		return fmt.Errorf("bitsched: %w", path)
	}
	return err
}

// addHTML adds --html, the short cut to a page of what a command found.
func addHTML(fl *pflag.FlagSet, to *string) {
	fl.StringVar(to, "html", "", "write a page of the result to this `file`, to look at")
}

// writePage writes a page, if there is a file for it.
func (a *app) writePage(file string, p *report.Page) error {
	if file == "" {
		return nil
	}
	return a.writeFile(file, func(w io.Writer) error { return p.Write(w) })
}

// checkHTML looks at --html before anything is done.
func (a *app) checkHTML(cmd *cobra.Command, file string, asJSON bool, inputs ...string) error {
	if file == "-" && asJSON {
		return usageError(cmd, "--json and --html - both want stdout")
	}
	return a.checkWritable(file, inputs...)
}

// writeResult writes a page of what --json prints.
func (a *app) writeResult(file, name string, result any) error {
	text, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("bitsched: %w", err)
	}
	sections, err := report.Document(name, text)
	if err != nil {
		return err
	}
	return a.writePage(file, &report.Page{Title: sections[0].Title, Sections: sections})
}
