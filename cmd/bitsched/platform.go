package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

const platformLong = `Platform lists the memories that compute, or prints the description of one in a form
that --platform reads: a start for one of your own. A description has the compute
function of a unit with the layout of its operands, levels of units with links, and
where each value comes from; a further platform needs no code.

NAME is a platform that comes with the program, or a file of your own in YAML (with a .
or / in its name).`

func (a *app) platformCommand() *cobra.Command {
	var asJSON, paper, schema bool
	cmd := &cobra.Command{
		Use:   "platform [NAME]",
		Short: "List the memories that compute, or print the description of one",
		Long:  platformLong,
		Example: `  bitsched platform
  bitsched platform logic-sram > mine.yaml
  bitsched platform mvm-reram --paper
  bitsched platform --schema`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError(cmd, "unexpected argument %q", args[1])
			}
			if paper && len(args) == 0 {
				return usageError(cmd, "--paper without a platform")
			}
			return nil
		},
		ValidArgs: platform.Names(),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case schema:
				return a.printText(platform.Schema())
			case len(args) == 0:
				return a.platforms(asJSON)
			}
			p, err := loadPlatform(args[0])
			if err != nil {
				return err
			}
			if paper {
				return a.platformPaper(p, asJSON)
			}
			if asJSON {
				return a.printJSON(map[string]any{"name": p.Name, "title": p.Title, "executor": p.Executor, "units": p.Units(), "clock_ghz": p.ClockGHz, "hash": p.Hash(), "facts": p.Facts, "effective": p.Effective()})
			}
			return a.printText(p.Effective())
		},
	}
	cmd.Flags().BoolVar(&paper, "paper", false, "compare with the tables of the paper, value by value")
	cmd.Flags().BoolVar(&schema, "schema", false, "print what a description may have")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func (a *app) platforms(asJSON bool) error {
	type row struct {
		Name     string  `json:"name"`
		Title    string  `json:"title"`
		Executor string  `json:"executor"`
		Units    int     `json:"units"`
		ClockGHz float64 `json:"clock_ghz"`
		Open     int     `json:"unconfirmed"`
	}
	var list []row
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "platform", Left: true}, {Name: "executor", Left: true}, {Name: "units"}, {Name: "GHz"}, {Name: "unconfirmed"}, {Name: "title", Left: true}}}
	for _, name := range platform.Names() {
		p, err := platform.Load(name)
		if err != nil {
			return err
		}
		r := row{Name: p.Name, Title: p.Title, Executor: p.Executor, Units: p.Units(), ClockGHz: p.ClockGHz}
		for _, f := range p.Facts {
			if !f.Confirmed {
				r.Open++
			}
		}
		list = append(list, r)
		t.Rows = append(t.Rows, []string{r.Name, r.Executor, fmt.Sprint(r.Units), fmt.Sprint(r.ClockGHz), fmt.Sprintf("%d of %d", r.Open, len(p.Facts)), r.Title})
	}
	if asJSON {
		return a.printJSON(map[string]any{"platforms": list})
	}
	return a.printText(renderTable(t) + "\n")
}

// platformPaper compares a platform with the tables of the paper.
func (a *app) platformPaper(p *platform.Platform, asJSON bool) error {
	type row struct {
		Table  string  `json:"table"`
		Item   string  `json:"item"`
		Paper  float64 `json:"paper"`
		Here   float64 `json:"here"`
		Equal  bool    `json:"equal"`
		Fields string  `json:"fields"`
	}
	var rows []row
	all := true
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "table", Left: true}, {Name: "item", Left: true}, {Name: "paper"}, {Name: "here"}, {Name: "fields", Left: true}}}
	for _, r := range p.Paper {
		v := p.PaperValue(r)
		x := row{r.Table, r.Item, r.Value, v, math.Abs(v-r.Value) < 1e-6, strings.Join(r.Of, " x ")}
		all = all && x.Equal
		rows = append(rows, x)
		t.Rows = append(t.Rows, []string{x.Table, x.Item, fmt.Sprint(x.Paper), fmt.Sprintf("%.6g", x.Here), x.Fields})
	}
	inPaper := map[string]bool{}
	for _, r := range p.Paper {
		for _, f := range r.Of {
			inPaper[f] = true
		}
	}
	var beyond []platform.Fact
	for _, f := range p.Facts {
		if !inPaper[f.Field] {
			beyond = append(beyond, f)
		}
	}
	if asJSON {
		if err := a.printJSON(map[string]any{"platform": p.Name, "rows": rows, "all_equal": all, "not_in_tables": beyond}); err != nil {
			return err
		}
	} else {
		u := benchmarks.Table{Columns: []benchmarks.Column{{Name: "not in the tables", Left: true}, {Name: "here"}, {Name: "confirmed", Left: true}, {Name: "source", Left: true}}}
		for _, f := range beyond {
			v, _ := p.Value(f.Field)
			u.Rows = append(u.Rows, []string{f.Field, fmt.Sprint(v), map[bool]string{true: "yes", false: "no"}[f.Confirmed], f.Source})
		}
		if err := a.printText(renderTable(t) + "\n\n" + renderTable(u) + "\n"); err != nil {
			return err
		}
	}
	if !all {
		return fmt.Errorf("%w: platform %s differs from the tables of the paper", errCheck, p.Name)
	}
	return nil
}
