package reproduce

import (
	"context"
	"fmt"
	"strings"

	"github.com/bitsched/bitsched/benchmarks/gearbox"
	"github.com/bitsched/bitsched/system/sparse"
)

// gearboxEntries are the tables and figures of Gearbox. Kernels are executed on
// stand-ins of the paper's matrices: at paper's sizes an eighth of them on an eighth of
// the stack, else a 256th, whose times say nothing about the whole.
var gearboxEntries = makeGearbox()

// gearboxClaims are figures of the paper by entry, and the rows that have ours.
var gearboxClaims = map[string][]Claim{
	"table1": {{Name: "instruction", Section: "Table 1", Unit: "bits", Paper: 60}},
	"table2": {{Name: "SPU frequency", Section: "Table 2", Unit: "MHz", Paper: 164}, {Name: "row cycle", Section: "Table 2", Unit: "ns", Paper: 50}},
	"table3": {{Name: "hollywood-2009 bytes", Section: "Table 3", Unit: "bytes", Paper: 911130616}, {Name: "soc-orkut bytes", Section: "Table 3", Unit: "bytes", Paper: 1725564672},
		{Name: "cit-Patents bytes", Section: "Table 3", Unit: "bytes", Paper: 294501312}, {Name: "road_usa bytes", Section: "Table 3", Unit: "bytes", Paper: 653247768},
		{Name: "soc-twitter-2010 bytes", Section: "Table 3", Unit: "bytes", Paper: 4410795120}},
	"table5": {{Name: "Tesseract, per area", Section: "Table 5", Unit: "x", Paper: 13.47, Tolerance: 0.01}, {Name: "GraphP, per area", Section: "Table 5", Unit: "x", Paper: 10.9, Tolerance: 0.01}},
	"table6": {{Name: "over HMC, optimistic", Section: "Table 6", Unit: "%", Paper: 73, Tolerance: 1, Points: true}, {Name: "over HMC, pessimistic", Section: "Table 6", Unit: "%", Paper: 100, Tolerance: 1, Points: true},
		{Name: "power density", Section: "7.4", Unit: "mW/mm²", Paper: 465, Tolerance: 0.01}},
	"sec6": {{Name: "soc-twitter-2010, SRAM of the logic layer", Section: "6", Unit: "bytes", Paper: 34 * 1024, Tolerance: 0.03},
		{Name: "road_usa, replication", Section: "6", Unit: "% of the capacity", Paper: 1.7, Tolerance: 0.03, Better: -1}, {Name: "dispatchers", Section: "6", Unit: "% of the capacity", Paper: 6, Tolerance: 0.5, Points: true}},
	"sec7.5": {{Name: "in memory layers over 512 GB/s", Section: "7.5", Unit: "x", Paper: 29, Tolerance: 0.02}},
	"fig12":  {{Name: "GPU, geometric mean of all", Section: "7.2", Unit: "x", Paper: 15.73, Tolerance: 0.25, Better: 1, Only: PaperSizes}},
	"fig13": {{Name: "v3 over published P100 times, geometric mean", Section: "7.2", Unit: "x", Paper: 15.73, Tolerance: 0.25, Better: 1, Only: PaperSizes},
		{Name: "v2 over published P100 times, geometric mean", Section: "7.2", Unit: "x", Paper: 12.48, Tolerance: 0.25, Better: 1, Only: PaperSizes},
		{Name: "hypo over published P100 times, geometric mean", Section: "7.2", Unit: "x", Paper: 4.28, Tolerance: 0.25, Better: 1, Only: PaperSizes},
		{Name: "v3 over v2", Section: "7.2", Unit: "x", Paper: 1.26, Tolerance: 0.1, Better: 1, Only: PaperSizes}},
	"fig14a": {{Name: "v3, step 1, mean", Section: "7.3", Unit: "%", Paper: 1.1, Tolerance: 1, Points: true, Better: -1}},
	"fig15": {{Name: "ideal GPU, words, mean", Section: "7.5", Unit: "x", Paper: 7.94, Tolerance: 0.25, Better: 1, Only: PaperSizes},
		{Name: "ideal GPU in the logic layer, mean", Section: "7.5", Unit: "x", Paper: 2.83, Tolerance: 0.25, Better: 1, Only: PaperSizes}},
	"fig16b": {{Name: "mean", Section: "7.3", Unit: "x", Paper: 22.3, Tolerance: 0.25, Better: 1, Only: PaperSizes}},
	"fig17a": {{Name: "road_usa, PageRank, 8 layers", Section: "7.4", Unit: "W", Paper: 32.72, Tolerance: 0.25, Better: -1, Only: PaperSizes},
		{Name: "all SPUs, a row activation each 128 ns", Section: "7.4", Unit: "W", Paper: 32.72, Tolerance: 0.01}},
	"fig17b": {{Name: "speed kept at 10 of 32.72 W, mean", Section: "7.4", Paper: 0.432, Tolerance: 0.25, Better: 1, Only: PaperSizes}},
}

func makeGearbox() (list []*Entry) {
	for _, s := range gearbox.Titles() {
		doc := "follows from sizes and printed figures; nothing is executed"
		if s.Executes {
			doc = "kernels executed nonzero by nonzero on stand-ins, results compared with plain loops"
		}
		list = append(list, &Entry{ID: "gearbox:" + strings.ReplaceAll(s.ID, ".", "-"), Title: s.Title, Paper: "Gearbox (ISCA 2022), " + s.ID, Doc: doc,
			Claims: gearboxClaims[s.ID], Run: func(ctx context.Context, env *Env) (*Measured, error) { return gearboxRun(ctx, env, s.ID) }})
	}
	return list
}

func gearboxRun(ctx context.Context, env *Env, id string) (*Measured, error) {
	mach := sparse.Default()
	mach.Organisation.Layers, mach.Organisation.Vaults = 1, 4
	o := gearbox.Options{Machine: mach, Scale: 256, Locality: 0.5, Seed: env.Seed, Threads: env.Threads, Check: true}
	if env.Size == PaperSizes {
		o.Scale = 8
	}
	o.Progress = func(text string) { env.progress(text, 0, 0) }
	entries, err := gearbox.NewLab(o).Paper(ctx, []string{id})
	if err != nil {
		return nil, err
	}
	m := &Measured{Notes: []string{fmt.Sprintf("what is executed: stand-ins of 1/%d of the data on %d of 8 layers; all rows are in the table", o.Scale, mach.Organisation.Layers)}}
	for _, e := range entries {
		t := Table{Title: e.Title, Head: []string{"item", "published", "modelled", "unit", "gate", "note"}}
		for _, r := range e.Rows {
			if r.Modelled != nil {
				m.Add(r.Item, r.Unit, *r.Modelled)
			}
			t.Rows = append(t.Rows, []string{r.Item, shownFigure(r.Published), shownFigure(r.Modelled), r.Unit, r.Gate, r.Note})
		}
		m.Tables = append(m.Tables, t)
		for _, f := range e.Failed() {
			m.Notes = append(m.Notes, "does not hold: "+f)
		}
		m.Notes = append(m.Notes, e.Text...)
	}
	m.Figures = []Figure{{strings.ReplaceAll(id, ".", "-") + ".svg", gearbox.Draw(entries)}}
	return m, nil
}

func shownFigure(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.6g", *v)
}
