package reproduce

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/tile/noc"
)

// infinityEntries are the tables and figures of Infinity Stream, and the network that
// its machine stands on.
var infinityEntries = []*Entry{
	areaEntry,
	{
		ID: "noc:mesh", Title: "Latency of an 8x8 mesh under synthetic traffic", Paper: "BookSim 2, reference points",
		Doc:    "mean packet latency at each point of the reference, deviations up to a load of 0.3 and beyond it",
		Inputs: []string{"noc/booksim_mesh8x8.csv"},
		Claims: []Claim{
			{Name: "largest deviation up to load 0.3", Section: "docs/noc.md", Unit: "%", Paper: 0, Tolerance: 2, Points: true},
			{Name: "largest deviation beyond", Section: "docs/noc.md", Unit: "%", Paper: 0, Tolerance: 10, Points: true},
		},
		Run: nocMesh,
	},
}

func nocMesh(ctx context.Context, env *Env) (*Measured, error) {
	f, err := os.Open(env.File("noc/booksim_mesh8x8.csv"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	points, err := benchmarks.ReadNoCReference(f.Name(), f)
	if err != nil {
		return nil, err
	}
	m := &Measured{}
	t := Table{Title: "Mean packet latency, cycles", Head: []string{"traffic", "flits", "load", "reference", "ours", "95 %", "deviation, %"}}
	var low, high float64
	window := int64(noc.DefaultWindow)
	if env.Size == Small {
		window /= 10
	}
	for i, p := range points {
		env.progress(fmt.Sprintf("%s at %g", p.Traffic, p.Load), i, len(points))
		e := noc.Experiment{Config: noc.DefaultConfig(8, 8), Pattern: p.Traffic, Load: p.Load, Flits: p.Flits, Seed: env.Seed, Window: window}
		got, err := e.Run(ctx)
		if err != nil {
			return nil, err
		}
		d := 100 * (got.Latency/p.Latency - 1)
		if p.Load <= 0.3 {
			low = math.Max(low, math.Abs(d))
		} else {
			high = math.Max(high, math.Abs(d))
		}
		t.Rows = append(t.Rows, []string{p.Traffic, strconv.Itoa(p.Flits), fmt.Sprint(p.Load), fmt.Sprintf("%.2f", p.Latency), fmt.Sprintf("%.2f", got.Latency),
			fmt.Sprintf("%.2f", got.Interval), fmt.Sprintf("%+.1f", d)})
	}
	m.Add("largest deviation up to load 0.3", "%", low)
	m.Add("largest deviation beyond", "%", high)
	m.Tables = []Table{t}
	return m, nil
}
