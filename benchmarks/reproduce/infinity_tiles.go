package reproduce

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/system/fused"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tile"
)

// infinityTileEntries are the figures on shapes of tiles: whole kernels in time, and what is
// in memory alone, which can be counted from commands.
var infinityTileEntries = []*Entry{
	{
		ID: "infs:fig16", Title: "Cycles by shape of tiles in two dimensions", Paper: "Infinity Stream, Fig. 16",
		Doc: "whole kernels in inf-s, cold, with every valid shape of tiles: those on a lattice of two dimensions drawn, means of all of table 3 of two and three. Small: sizes as of infs:fig11 with fewer iterations, each run compared with the " +
			"sequential program",
		Claims: append(slices.Clip(tileClaims),
			Claim{Name: "stencil2d with tiles of 16x16 over best", Section: "8", Unit: "%", Paper: 0, Tolerance: 5, Points: true, Reading: "close to optimal is within 5 %"},
			Claim{Name: "dwt2d with tiles of 16x16 over best", Section: "8", Unit: "%", Paper: 0, Tolerance: 5, Points: true, Reading: "close to optimal is within 5 %"}),
		Workloads: infsNames,
		Run:       func(ctx context.Context, env *Env) (*Measured, error) { return tilesInTime(ctx, env, 2) },
	},
	{
		ID: "infs:fig17", Title: "Speedup by shape of tiles in three dimensions", Paper: "Infinity Stream, Fig. 17",
		Doc:       "as infs:fig16 and with its runs, those on a lattice of three dimensions; the paper prints no figure of these alone",
		Workloads: infsNames,
		Run:       func(ctx context.Context, env *Env) (*Measured, error) { return tilesInTime(ctx, env, 3) },
	},
	{
		ID: "infs:tiles", Title: "Tile sizes: heuristic against the best, of what is in memory", Paper: "Infinity Stream, section 8, by counting",
		Doc: "cycles of every workload of two and three dimensions with every valid shape of tiles, means of those of table 3, what is in memory and last steps of reductions at one " +
			"operation a bank and cycle; the paper's are of the whole kernel, as those of infs:fig16",
		Claims: tileClaims,
		Run:    tileStudy,
	},
}

var tileClaims = []Claim{
	{Name: "chosen over best, mean", Section: "8", Unit: "%", Paper: 2, Tolerance: 2, Points: true, Better: -1},
	{Name: "chosen over no tiling, mean", Section: "8", Unit: "%", Paper: 34, Tolerance: 20, Points: true, Better: 1},
}

// infsTileSmall are the sizes of infsSmall that have fewer iterations for shapes of tiles.
var infsTileSmall = func() map[string]map[string]int64 {
	sizes := maps.Clone(infsSmall)
	maps.Copy(sizes, map[string]map[string]int64{
		"stencil2d": {"N": 512, "M": 512, "T": 2}, "stencil3d": {"L": 16, "N": 128, "M": 128, "T": 2}, "gauss_elim": {"N": 256}, "conv3d": {"I": 4, "O": 64, "H": 64, "W": 64},
		"mm_outer": {"M": 512, "N": 512, "K": 32}, "kmeans_outer": {"N": 2048, "K": 128, "D": 16}, "gather_mlp_outer": {"M": 2048, "N": 128, "K": 16, "R": 2048},
	})
	return sizes
}()

// tilesInTime runs workloads with every shape, and draws those of so many dimensions.
func tilesInTime(ctx context.Context, env *Env, dims int) (*Measured, error) {
	m := &Measured{Reading: env.reading()}
	machine, err := env.machine(infsMachine(env))
	if err != nil {
		return nil, err
	}
	var jobs []job
	var made []*benchmarks.TileStudy
	for _, name := range infsNames() {
		if !env.chosen(name) {
			continue
		}
		i := len(made)
		made = append(made, nil)
		jobs = append(jobs, job{name, func(ctx context.Context, env *Env) (err error) {
			if made[i], err = tilesOf(ctx, env, name, machine); errors.Is(err, benchmarks.ErrNoTiles) {
				made[i], err = nil, nil
			}
			return err
		}})
	}
	ended, failed, err := env.runJobs(ctx, jobs)
	if err != nil {
		return nil, err
	}
	m.Failed = failed
	var studies, drawn []*benchmarks.TileStudy
	for i, s := range made {
		if ended[i] && s != nil {
			studies = append(studies, s)
			if s.Dims == dims {
				drawn = append(drawn, s)
			}
		}
	}
	for _, s := range studies {
		for i := range s.Tiles {
			if s.Tiles[i].Tile == "16x16" {
				m.Add(s.Kernel+" with tiles of 16x16 over best", "%", 100*(float64(s.Tiles[i].Time())/float64(s.Tiles[s.Best].Time())-1))
			}
		}
	}
	title := fmt.Sprintf("Cycles of inf-s by shape of tiles, %d dimensions", dims)
	m.tiles("tiles.svg", title, studies, drawn)
	m.Notes = []string{env.machineNote(infsMachine(env)), "loads of cores found the program's values; small sizes are compared with the sequential program, and units in memory with the interpreter of graphs, bit by bit"}
	return m, nil
}

// tilesOf runs a workload with every shape; each run is kept on its own.
func tilesOf(ctx context.Context, env *Env, name string, machine *tile.Machine) (*benchmarks.TileStudy, error) {
	k, args, err := nearWorkload(ctx, env, name, infsTileSmall)
	if err != nil {
		return nil, err
	}
	s, err := benchmarks.RunTiles(ctx, k.Program, k.Sizes, machine, func(shape lowering.Shape) (*benchmarks.TileTime, error) {
		env.progress(fmt.Sprintf("%s with tiles %s", name, shape), 0, 1)
		var t benchmarks.TileTime
		err := env.kept(&t, func() error {
			made, err := runTile(ctx, env, k, args, shape)
			if err == nil {
				t = *made
			}
			return err
		}, "infs:tiles", name, shape.String(), env.Readings)
		return &t, err
	})
	if err == nil {
		s.Kernel, s.Sizes = name, k.SizeText()
	}
	return s, err
}

// tiles adds studies: means of all kernels of table 3, and a table and a figure of some.
func (m *Measured) tiles(file, title string, all, drawn []*benchmarks.TileStudy) {
	t := Table{Title: title, Head: []string{"kernel", "sizes", "shapes", "chosen", "best", "over the best, %", "over no tiling, times"}}
	for _, s := range drawn {
		t.Rows = append(t.Rows, []string{s.Kernel, s.Sizes, strconv.Itoa(len(s.Tiles)), s.Tiles[s.Chosen].Tile, s.Tiles[s.Best].Tile,
			fmt.Sprintf("%.2f", 100*s.Excess()), fmt.Sprintf("%.2f", s.Speedup())})
	}
	all = slices.DeleteFunc(slices.Clone(all), func(s *benchmarks.TileStudy) bool { return s.Kernel == beyondTable3 })
	if len(all) > 0 {
		excess, speedup := benchmarks.TileMeans(all)
		m.Add("chosen over best, mean", "%", 100*excess)
		m.Add("chosen over no tiling, mean", "%", 100*(speedup-1))
	}
	m.Tables = []Table{t}
	if svg := benchmarks.TileFigure(title, drawn); svg != nil {
		m.Figures = []Figure{{file, svg}}
	}
}

// runTile is a kernel in inf-s with tiles of a shape.
func runTile(ctx context.Context, env *Env, k *workload.Kernel, args *memory.Memory, t lowering.Shape) (*benchmarks.TileTime, error) {
	r, err := runInfinity(ctx, env, k, args, infsMachine(env), "inf-s", nil, func(o *fused.Options) { o.Tile = t })
	if err != nil {
		return nil, err
	}
	c := &r.arrays.Cycles
	return &benchmarks.TileTime{
		Arrays: r.arrays.Arrays.Arrays, Commands: r.arrays.Arrays.Commands, ByteHops: int64(r.Streams.Total()), FinalOps: r.arrays.Arrays.FinalOps, Final: c.Final, Rest: c.Core + c.Near,
		Cycles: system.Cycles{Total: r.Cycles - c.Final, DRAM: c.DRAM + c.Spill + c.Return, JIT: c.JIT, Move: c.Move, Inter: c.Between, Compute: c.Compute, Sync: c.Sync + c.Drain + c.Flush},
	}, nil
}

// tileStudy counts the cycles of what is in memory.
func tileStudy(ctx context.Context, env *Env) (*Measured, error) {
	m := &Measured{}
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
	}
	m.tiles("tiles.svg", "Cycles by shape of tiles", studies, studies)
	m.Notes = []string{"cycles are counted from the commands; nothing is executed, since they do not depend on data"}
	return m, nil
}
