package reproduce

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/noc"
)

// infinityEntries are the tables and figures of Infinity Stream, and the network that
// its machine stands on.
var infinityEntries = []*Entry{
	{
		ID: "infs:fig16", Title: "Tile sizes: heuristic against the best", Paper: "Infinity Stream, Fig. 16 and 17",
		Doc: "cycles of every workload of two and three dimensions with every valid shape of tiles, what is in memory and last steps of reductions at one " +
			"operation a bank and cycle; the paper's are of the whole kernel",
		Claims: []Claim{
			{Name: "chosen over best, mean", Section: "8", Unit: "%", Paper: 2, Tolerance: 2, Points: true, Better: -1},
			{Name: "chosen over no tiling, mean", Section: "8", Unit: "%", Paper: 34, Tolerance: 20, Points: true, Better: 1},
		},
		Run: tileStudy,
	},
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

func tileStudy(ctx context.Context, env *Env) (*Measured, error) {
	m := &Measured{Notes: []string{"cycles are counted from the commands; nothing is executed, since they do not depend on data"}}
	t := Table{Title: "Cycles by shape of tiles", Head: []string{"kernel", "sizes", "shapes", "chosen", "best", "over the best, %", "over no tiling, times"}}
	var studies []*benchmarks.TileStudy
	names := workload.Names()
	for i, name := range names {
		env.progress(name, i, len(names))
		k, err := workload.Builtin(name, env.Size == PaperSizes)
		if err != nil {
			return nil, err
		}
		if err := k.Compile(ctx, nil, nil, false); err != nil {
			return nil, err
		}
		s, err := benchmarks.StudyTiles(ctx, k.Program, k.Sizes, tile.Default(), env.Threads, nil)
		if errors.Is(err, benchmarks.ErrNoTiles) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s.Sizes = k.SizeText()
		studies = append(studies, s)
		t.Rows = append(t.Rows, []string{name, s.Sizes, strconv.Itoa(len(s.Tiles)), s.Tiles[s.Chosen].Tile, s.Tiles[s.Best].Tile,
			fmt.Sprintf("%.2f", 100*s.Excess()), fmt.Sprintf("%.2f", s.Speedup())})
	}
	excess, speedup := benchmarks.TileMeans(studies)
	m.Add("chosen over best, mean", "%", 100*excess)
	m.Add("chosen over no tiling, mean", "%", 100*(speedup-1))
	m.Tables = []Table{t}
	m.Figures = []Figure{{"fig16.svg", benchmarks.TileFigure("Cycles by shape of tiles", studies)}}
	return m, nil
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
