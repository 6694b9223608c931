package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tile"
)

// TileStudy is how long a program takes in memory with each valid shape of tiles, and
// which of them the heuristics choose (Infinity Stream, section 8, figures 16 and 17).
type TileStudy struct {
	Kernel string     `json:"kernel"`
	Sizes  string     `json:"sizes"`
	Dims   int        `json:"dimensions"`
	Tiles  []TileTime `json:"tiles"` // dimension 0 from small to large, then dimension 1
	Chosen int        `json:"chosen"`
	Best   int        `json:"best"`
	Plain  int        `json:"plain"` // the longest along dimension 0, which is no tiling

	Near []system.Reason `json:"near"` // regions that are not in memory, and take no time here
}

// TileTime is a program with one shape of tiles.
type TileTime struct {
	Tile     string `json:"tile"`
	Arrays   int    `json:"arrays"`
	Commands int64  `json:"commands"`
	system.Cycles
	ByteHops int64 `json:"noc_byte_hops"`

	// FinalOps are operations of the last steps of reductions, which streams do near the
	// memory, and Final the cycles that a study takes them for.
	FinalOps int64 `json:"final_ops"`
	Final    int64 `json:"final"`

	// Rest is the time of whole kernels on cores and in streams near the memory; a study of
	// what is in memory has none.
	Rest int64 `json:"rest,omitempty"`
}

// Time returns the cycles of a shape, last steps of reductions included.
func (t *TileTime) Time() int64 { return t.Total + t.Final }

// ErrNoTiles is wrapped by the error of a study of a program that has no tiles to
// choose: of one dimension, or not laid out in memory.
var ErrNoTiles = errors.New("no shapes of tiles to choose from")

// StudyTiles times a program with all shapes of tiles, some at a time. Nothing is
// executed: cycles do not depend on data. Last steps of reductions take the time of the
// streams of the machine: without any, the best tiles would be those that leave whole
// reductions to them. progress is told how many of all shapes are
// done; it may be nil.
func StudyTiles(ctx context.Context, p *tdfg.Program, sizes map[string]int64, m *tile.Machine, threads int, progress func(done, total int)) (*TileStudy, error) {
	s, shapes, chosen, err := tileStudy(ctx, p, sizes, system.Options{Machine: m})
	if err != nil {
		return nil, err
	}
	s.Tiles = make([]TileTime, len(shapes))
	if err := s.time(ctx, p, sizes, m, shapes, threads, progress); err != nil {
		return nil, err
	}
	if s.Tiles[0].Total == 0 {
		return nil, fmt.Errorf("benchmarks: %s: %w: nothing is executed in memory", p.Name, ErrNoTiles)
	}
	s.find(chosen)
	return s, nil
}

// RunTiles is StudyTiles of whole kernels in inf-s, where banks do last steps for themselves: run
// returns what one takes with tiles of a shape.
func RunTiles(ctx context.Context, p *tdfg.Program, sizes map[string]int64, m *tile.Machine, run func(t lowering.Shape) (*TileTime, error)) (*TileStudy, error) {
	s, shapes, chosen, err := tileStudy(ctx, p, sizes, system.Options{Machine: m, ByBank: true})
	if err != nil {
		return nil, err
	}
	for _, shape := range shapes {
		t, err := run(shape)
		if err != nil {
			return nil, fmt.Errorf("benchmarks: %s with tiles %s: %w", p.Name, shape, err)
		}
		t.Tile = shape.String()
		s.Tiles = append(s.Tiles, *t)
	}
	s.find(chosen)
	return s, nil
}

// tileStudy begins a study: the shapes, and which one the heuristics choose.
func tileStudy(ctx context.Context, p *tdfg.Program, sizes map[string]int64, opt system.Options) (s *TileStudy, shapes []lowering.Shape, chosen lowering.Shape, err error) {
	prepared, err := system.Prepare(ctx, p, sizes, opt)
	if err != nil {
		return nil, nil, nil, err
	}
	s = &TileStudy{Kernel: p.Name}
	for i, sym := range p.Sizes {
		if i > 0 {
			s.Sizes += " "
		}
		s.Sizes += fmt.Sprintf("%s=%d", sym.Name, sizes[sym.Name])
	}
	for _, region := range p.Regions() {
		if why := prepared.Near[region.Graph]; why != nil {
			s.Near = append(s.Near, *why)
		}
	}
	if len(p.Regions()) == 0 {
		return nil, nil, nil, fmt.Errorf("benchmarks: %s: %w: nothing to execute", p.Name, ErrNoTiles)
	}
	if prepared.Grid == nil || len(prepared.Plans) == 0 {
		return nil, nil, nil, fmt.Errorf("benchmarks: %s: %w: nothing is in memory: %s", p.Name, ErrNoTiles, s.Near[0])
	}
	grid := prepared.Grid
	if s.Dims = grid.Dims(); s.Dims < 2 {
		return nil, nil, nil, fmt.Errorf("benchmarks: %s: %w: one dimension", p.Name, ErrNoTiles)
	}
	bound := make([]int64, s.Dims)
	for d, r := range grid.Bound() {
		bound[d] = r.Hi
	}
	shapes, err = lowering.Shapes(bound, prepared.Limits)
	return s, shapes, grid.Tile(), err
}

// find finds the shapes that are chosen, best, and no tiling.
func (s *TileStudy) find(chosen lowering.Shape) {
	s.Plain = len(s.Tiles) - 1
	for i := range s.Tiles {
		t := &s.Tiles[i]
		if t.Tile == chosen.String() {
			s.Chosen = i
		}
		if t.Time() < s.Tiles[s.Best].Time() {
			s.Best = i
		}
	}
}

// time fills in the times of all shapes.
func (s *TileStudy) time(ctx context.Context, p *tdfg.Program, sizes map[string]int64, m *tile.Machine, shapes []lowering.Shape, threads int, progress func(done, total int)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	programs := arith.NewStore("")
	next := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range min(max(1, threads), len(shapes)) {
		wg.Go(func() {
			for i := range next {
				r, err := system.Run(ctx, p, sizes, nil, system.Options{Machine: m, Programs: programs, Tile: shapes[i], TimingOnly: true})
				if err != nil {
					cancel(err)
					continue
				}
				s.Tiles[i] = TileTime{Tile: shapes[i].String(), Arrays: r.Arrays, Commands: r.Commands, Cycles: r.Cycles, ByteHops: r.ByteHops, FinalOps: r.FinalOps, Final: r.FinalCycles(m)}
				mu.Lock()
				done++
				if progress != nil {
					progress(done, len(shapes))
				}
				mu.Unlock()
			}
		})
	}
	for i := range shapes {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

// Excess returns by how much the shape that the heuristics choose takes longer than
// the best one, as a share of the best.
func (s *TileStudy) Excess() float64 {
	return float64(s.Tiles[s.Chosen].Time())/float64(s.Tiles[s.Best].Time()) - 1
}

// WithoutDRAM returns the cycles of a shape but for the transfer from and to DRAM,
// which is the same for all.
func (t *TileTime) WithoutDRAM() int64 { return t.Time() - t.DRAM }

// ExcessWithoutDRAM is Excess where data are in memory already.
func (s *TileStudy) ExcessWithoutDRAM() float64 {
	best := s.Tiles[0].WithoutDRAM()
	for i := range s.Tiles {
		best = min(best, s.Tiles[i].WithoutDRAM())
	}
	return float64(s.Tiles[s.Chosen].WithoutDRAM())/float64(best) - 1
}

// Speedup returns how many times faster the chosen shape is than no tiling.
func (s *TileStudy) Speedup() float64 {
	return float64(s.Tiles[s.Plain].Time()) / float64(s.Tiles[s.Chosen].Time())
}

// TileMeans are geometric means over studies: of the time of the chosen shape over
// the best, and of its speedup over no tiling. The paper has 2 % and 34 % (section 8).
func TileMeans(studies []*TileStudy) (excess, speedup float64) {
	var x, y float64
	for _, s := range studies {
		x += math.Log(1 + s.Excess())
		y += math.Log(s.Speedup())
	}
	n := float64(max(1, len(studies)))
	return math.Exp(x/n) - 1, math.Exp(y / n)
}
