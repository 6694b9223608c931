package system

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tile"
)

// Fidelity is how commands are executed.
type Fidelity uint8

// The fidelities.
const (
	Gate Fidelity = iota // bit by bit, on all bitlines
	Word                 // element by element; some arrays also bit by bit
)

func (f Fidelity) String() string { return [...]string{"gate", "word"}[f] }

// ParseFidelity returns the fidelity of that name.
func ParseFidelity(name string) (Fidelity, error) {
	for _, f := range []Fidelity{Gate, Word} {
		if f.String() == name {
			return f, nil
		}
	}
	return 0, fmt.Errorf("system: fidelity %q, expected gate or word", name)
}

// Options are how a program is run. The zero value but for the machine is the
// default.
type Options struct {
	Machine  *tile.Machine
	Fidelity Fidelity
	Tile     lowering.Shape // nil chooses one by the heuristics of section 4.1
	Threads  int            // 0 means 1; the result does not depend on it
	Programs *arith.Store   // of operations; nil builds those of this run only
	Check    int            // word fidelity: every so many arrays are executed bit by bit too; 0 means 64

	// TimingOnly counts commands and executes nothing: cycles and bytes are those of a
	// run, and the memory is not looked at. What depends on data is not counted: the
	// operations and bytes of steps and streams near the memory.
	TimingOnly bool

	// Decide runs regions near the memory where Eq. 2 of the paper says that this is
	// faster; otherwise all that can be in memory is.
	Decide bool

	// NearOnly runs all regions near the memory.
	NearOnly bool

	// Finals has the last steps of reductions over several tiles computed in memory, which
	// takes cycles; otherwise streams near the memory do them, as in the paper.
	Finals bool

	// MaxLive is the most elements of tensors that a region near the memory may have
	// at a time; 0 sets no bound. It is
	// that of their buffers.
	MaxLive int64

	// Progress is told how many regions have been executed, now and then. May be nil.
	Progress func(regions int64)

	Trace *Trace // what happened when, if it is not nil
}

// DefaultCheck is the number of arrays from one that word fidelity checks to the
// next.
const DefaultCheck = 64

// Run executes a program on a machine. m has its arrays, and the scalars that are
// inputs; results are there afterwards. What cannot be laid out in memory is
// executed near it, and the report says why.
//
// An error leaves the memory half done.
func Run(ctx context.Context, p *tdfg.Program, sizes map[string]int64, m *memory.Memory, opt Options) (*Report, error) {
	if opt.Check == 0 {
		opt.Check = DefaultCheck
	}
	if opt.TimingOnly {
		m = memory.New()
	}
	r := newRunner(p, sizes, m, opt)
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	for _, s := range p.Scalars {
		if opt.TimingOnly {
			break
		}
		if !s.Input {
			m.Scalars[s.Name] = s.Init
		} else if _, ok := m.Scalars[s.Name]; !ok {
			return nil, fmt.Errorf("system: %s: no value for %s", p.Name, s.Name)
		}
	}
	start := time.Now()
	err := p.Each(ctx, sizes, func(g *tdfg.Graph, values map[string]int64) error {
		if err := r.region(ctx, g, values); err != nil {
			return err
		}
		r.report.Regions++
		if opt.Progress != nil {
			opt.Progress(r.report.Regions)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := r.release(); err != nil {
		return nil, err
	}
	r.report.WallSeconds = time.Since(start).Seconds()
	r.finish()
	return r.report, nil
}

type runner struct {
	opt       Options
	p         *tdfg.Program
	sizes     map[string]int64
	m         *memory.Memory
	layout    *Layout
	arrays    []*tdfg.Array // that are laid out
	boxes     []lattice.Box // of each in the lattice space
	plans     map[*tdfg.Graph]*lowering.Plan
	alone     map[*lowering.Plan]bool // plans that use rows of arrays that others use
	nearPlans map[*tdfg.Graph]*lowering.NearPlan
	near      map[*tdfg.Graph]string // why a graph is not executed in memory
	memo      map[string][]lowering.Command
	data      backend
	inside    map[string]bool // arrays that are transposed, in data; the others are in m
	clock     *clock
	slots     map[int][][]scalar.Value

	// Of the region at hand: the arrays in memory that streams have made, and what
	// streams have done that several nodes have, by the first of them.
	written map[tdfg.NodeID][]scalar.Value
	streams map[tdfg.NodeID]*streamRun
	same    map[*tdfg.Graph][]tdfg.NodeID // the first node with the same streams

	report *Report
}

func newRunner(p *tdfg.Program, sizes map[string]int64, m *memory.Memory, opt Options) *runner {
	if opt.Programs == nil {
		opt.Programs = arith.NewStore("")
	}
	return &runner{
		opt: opt, p: p, sizes: sizes, m: m, plans: map[*tdfg.Graph]*lowering.Plan{}, nearPlans: map[*tdfg.Graph]*lowering.NearPlan{}, memo: map[string][]lowering.Command{},
		inside: map[string]bool{}, alone: map[*lowering.Plan]bool{}, same: map[*tdfg.Graph][]tdfg.NodeID{}, report: &Report{},
	}
}

// prepare makes the layout and the plans.
func (r *runner) prepare(ctx context.Context) error {
	var graphs []*tdfg.Graph
	for _, region := range r.p.Regions() {
		graphs = append(graphs, region.Graph)
	}
	r.near = map[*tdfg.Graph]string{}
	m := r.opt.Machine
	r.clock = newClock(m, r.report, r.opt.Trace)
	arrays, dims, fit := arraysOf(graphs)
	for _, g := range graphs {
		if !slices.Contains(fit, g) {
			r.near[g] = "an array lies along other dimensions than in an earlier region"
		}
	}
	if len(fit) == 0 {
		return nil
	}
	var err error
	r.layout, err = newLayout(r.opt.Programs, m, arrays, fit, r.sizes, r.opt.Tile, r.opt.Finals)
	switch {
	case errors.Is(err, errNear):
		for _, g := range fit {
			r.near[g] = err.Error()
		}
		return nil
	case err != nil:
		return err
	}
	r.arrays = arrays
	scope := tdfg.Scope{Dims: dims, Arrays: arrays}
	for i := range arrays {
		box, err := scope.ArrayRect(i).Box(r.sizes)
		if err != nil {
			return err
		}
		r.boxes = append(r.boxes, box)
	}
	target := lowering.Target{Tech: m.Array.Technology, Rows: m.Array.Rows, Programs: r.opt.Programs, Finals: r.opt.Finals}
	for _, g := range fit {
		wl := r.layout.Wordlines(g)
		// The rows of arrays that other regions use are kept if the plan can do
		// without; else these arrays make way.
		var keep []lowering.Register
		for _, a := range arrays {
			if row, ok := r.layout.Rows[a.Name]; ok && r.apart(g, a, wl) {
				keep = append(keep, lowering.Register{Row: row, Bits: a.Type.Bits()})
			}
		}
		plan, err := lowering.NewPlan(ctx, g, target, wl, keep)
		if errors.Is(err, lowering.ErrRegisters) && len(keep) > 0 || plan != nil && plan.Slots > 0 {
			if alone, err2 := lowering.NewPlan(ctx, g, target, wl, nil); err2 == nil {
				plan, err = alone, nil
				r.alone[plan] = true
			}
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, lowering.ErrRegisters):
			r.near[g] = err.Error() + enough(ctx, g, target, wl)
		case err != nil: // not defined in memory
			r.near[g] = err.Error()
		default:
			r.plans[g] = plan
		}
	}
	if len(r.plans) == 0 {
		return nil
	}
	tiles := r.layout.Grid.Tiles()
	r.report.Tile = r.layout.Grid.Tile().String()
	r.report.Arrays = tiles
	if r.opt.TimingOnly {
		return nil
	}
	if r.opt.Fidelity == Word {
		r.data = newWord(tiles, m.Array.Cols, r.opt.Threads, r.opt.Check)
		return nil
	}
	r.data, err = newGate(m, tiles, r.opt.Threads)
	return err
}

// enough says which of the common numbers of rows of an array a graph would need.
func enough(ctx context.Context, g *tdfg.Graph, target lowering.Target, wl []int) string {
	for _, rows := range []int{256, 512, 1024} {
		if rows <= target.Rows {
			continue
		}
		target.Rows = rows
		if _, err := lowering.NewPlan(ctx, g, target, wl, nil); err == nil {
			return fmt.Sprintf("; arrays of %d rows would do", rows)
		}
	}
	return ""
}

// apart reports whether an array has rows that none of the arrays of a graph has, by
// their first rows.
func (r *runner) apart(g *tdfg.Graph, a *tdfg.Array, wl []int) bool {
	row := r.layout.Rows[a.Name]
	for j, b := range g.Arrays {
		if wl[j] >= 0 && wl[j] < row+a.Type.Bits() && row < wl[j]+b.Type.Bits() {
			return false
		}
	}
	return true
}

// region executes a graph once.
func (r *runner) region(ctx context.Context, g *tdfg.Graph, values map[string]int64) error {
	plan := r.plans[g]
	if plan == nil || r.opt.NearOnly || r.opt.Decide && !r.worth(plan, values) {
		if r.opt.NearOnly {
			r.note(g, "asked for")
		} else if plan != nil {
			r.note(g, "Eq. 2 decides against it")
		} else {
			r.note(g, r.near[g])
		}
		if err := r.release(); err != nil {
			return err
		}
		r.report.NearRegions++
		r.opt.Trace.add(regionTrack, g.Name+" near the memory, not timed", r.clock.now(), 0)
		if r.opt.TimingOnly {
			return nil
		}
		ops, err := r.runNear(ctx, g, values)
		r.report.NearOps += ops
		return err
	}
	start := r.clock.now()
	if err := r.enter(plan); err != nil {
		return err
	}
	cmds, err := r.lower(plan, values)
	if err != nil {
		return err
	}
	r.written, r.streams = nil, nil
	in := lowering.Inputs{Symbols: values, Scalars: r.m.Scalars, Streams: map[tdfg.NodeID]scalar.Value{}}
	for len(cmds) > 0 {
		n := slices.IndexFunc(cmds, func(c lowering.Command) bool { return c.Kind == lowering.Near })
		if n < 0 {
			n = len(cmds)
		}
		if !r.opt.TimingOnly {
			if err := r.data.exec(ctx, plan, cmds[:n], in); err != nil {
				return fmt.Errorf("%s: %w", g.Name, err)
			}
		}
		if err := r.clock.commands(ctx, plan, cmds[:n]); err != nil {
			return err
		}
		if n < len(cmds) {
			s := &plan.Steps[cmds[n].Step]
			err := r.nearTime(g, s, values)
			if err == nil && !r.opt.TimingOnly {
				err = r.nearStep(ctx, plan, s, values, in)
			}
			if err != nil {
				return fmt.Errorf("system: %s: node %d: %s: %w", g.Name, s.Node, s.Kind, err)
			}
			r.report.NearSteps++
			n++
		}
		cmds = cmds[n:]
	}
	r.opt.Trace.add(regionTrack, g.Name, start, r.clock.now()-start)
	// What streams have written to arrays in memory others read as it was until now.
	for _, o := range g.Outputs {
		if w, ok := r.written[o.Node]; ok && o.Array >= 0 && plan.Arrays[o.Array].Bits == 0 {
			r.m.Arrays[g.Arrays[o.Array].Name].Elems = w
		}
	}
	return nil
}

// note records why a region is executed near the memory, once.
func (r *runner) note(g *tdfg.Graph, why string) {
	text := g.Name + ": " + strings.TrimPrefix(strings.TrimPrefix(why, "lowering: "), g.Name+": ")
	if !slices.Contains(r.report.Reasons, text) {
		r.report.Reasons = append(r.report.Reasons, text)
	}
}

// lower returns the commands of a region, made before if it was executed with the
// same values of the symbols that they depend on (section 4.2, memoization).
func (r *runner) lower(p *lowering.Plan, values map[string]int64) ([]lowering.Command, error) {
	var key strings.Builder
	fmt.Fprintf(&key, "%p", p)
	for _, sym := range p.Symbols() {
		fmt.Fprintf(&key, " %d", values[sym])
	}
	if cmds, ok := r.memo[key.String()]; ok {
		r.report.Memoized++
		return cmds, nil
	}
	start := time.Now()
	cmds, err := p.Lower(nil, r.layout.Grid, values)
	if err != nil {
		return nil, err
	}
	r.report.LowerSeconds += time.Since(start).Seconds()
	r.clock.jit(p, cmds)
	const keep = 4096
	if len(r.memo) < keep {
		r.memo[key.String()] = cmds
	}
	return cmds, nil
}

// worth is Eq. 2 of the paper: whether cores at their peak would take longer than
// the operations in memory and the lowering.
func (r *runner) worth(p *lowering.Plan, values map[string]int64) bool {
	var work, inside int64
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Kind != lowering.ComputeStep {
			continue
		}
		if b, err := p.Graph.Nodes[s.Node].Domain.Box(values); err == nil {
			work += b.Size()
			inside += int64(s.Program.Latency())
		}
	}
	m := r.opt.Machine
	return int64(float64(work)/m.PeakOps(32)) > inside+m.JITCycles(tile.JITWork{Steps: len(p.Graph.Nodes), FirstOfRegion: true})
}

// enter brings the arrays that a plan has rows for into the cells, transposed, and
// those that its streams use in memory, or that are in its way, back.
func (r *runner) enter(p *lowering.Plan) error {
	for i, a := range r.arrays {
		if !r.inside[a.Name] {
			continue
		}
		j := p.Graph.ArrayIndex(a.Name)
		away := j >= 0 && p.Arrays[j].Bits == 0 && r.streamed(p.Graph, a.Name)
		if j < 0 || p.Arrays[j].Bits == 0 {
			away = away || r.alone[p]
			for _, q := range p.Arrays {
				row := r.layout.Rows[a.Name]
				away = away || q.Bits > 0 && row < q.Row+q.Bits && q.Row < row+a.Type.Bits()
			}
		}
		if away {
			if err := r.leave(i); err != nil {
				return err
			}
		}
	}
	for j, q := range p.Arrays {
		name := p.Graph.Arrays[j].Name
		if q.Bits == 0 || r.inside[name] {
			continue
		}
		r.inside[name] = true
		i, _, _ := r.array(name)
		err := r.transfer(i, true, func(reg lowering.Register, t int, elems []scalar.Value, mask []uint64, at []int64, a *memory.Array) {
			for b, x := range at {
				if mask[b/64]>>(b%64)&1 != 0 {
					elems[b] = a.Elems[x]
				}
			}
			r.data.writeTile(reg, t, elems, mask)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// streamed reports whether streams of a graph use an array.
func (r *runner) streamed(g *tdfg.Graph, name string) bool {
	return slices.ContainsFunc(g.Nodes, func(n tdfg.Node) bool { return n.Stream != nil && n.Stream.Graph.Array(name) != nil })
}

// leave brings an array back to memory.
func (r *runner) leave(i int) error {
	delete(r.inside, r.arrays[i].Name)
	return r.transfer(i, false, func(reg lowering.Register, t int, elems []scalar.Value, mask []uint64, at []int64, a *memory.Array) {
		r.data.readTile(reg, t, elems)
		for b, x := range at {
			if mask[b/64]>>(b%64)&1 != 0 {
				a.Elems[x] = elems[b]
			}
		}
	})
}

// release brings all arrays back to memory.
func (r *runner) release() error {
	for i, a := range r.arrays {
		if r.inside[a.Name] {
			if err := r.leave(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// transfer calls f for each tile of an array, with the position in memory of the
// element of each bitline, and the bitlines that have one. load says that elements go
// to the tiles. Tiles are shared out among threads.
func (r *runner) transfer(i int, load bool, f func(reg lowering.Register, t int, elems []scalar.Value, mask []uint64, at []int64, a *memory.Array)) error {
	a := r.arrays[i]
	if r.opt.TimingOnly {
		r.clock.dram(a.Name, r.boxes[i].Size()*int64(a.Type.Bytes()), load)
		return nil
	}
	mem := r.m.Arrays[a.Name]
	if mem == nil {
		return fmt.Errorf("system: no array %s in memory", a.Name)
	}
	grid := r.layout.Grid
	cols, tiles, threads := grid.Bitlines(), grid.Tiles(), max(1, r.opt.Threads)
	reg := lowering.Register{Row: r.layout.Rows[a.Name], Bits: a.Type.Bits()}
	box := r.boxes[i]
	size, step := make([]int64, len(box)), make([]int64, len(box))
	for d, x := range box {
		size[d] = x.Len()
	}
	next := int64(1)
	for _, d := range a.Axes {
		step[d] = next
		next *= size[d]
	}
	lie := lowering.NewElements(grid, size, step)
	var wg sync.WaitGroup
	for k := range threads {
		wg.Go(func() {
			elems, at, mask := make([]scalar.Value, cols), make([]int64, cols), make([]uint64, (cols+63)/64)
			for t := k * tiles / threads; t < (k+1)*tiles/threads; t++ {
				if lie.Tile(t, at, mask) {
					f(reg, t, elems, mask, at, mem)
				}
			}
		})
	}
	wg.Wait()
	r.clock.dram(a.Name, r.boxes[i].Size()*int64(a.Type.Bytes()), load)
	return nil
}

// position returns the position in memory of the element of an array at a point.
func position(box lattice.Box, axes []int, point []int64) int64 {
	var x int64
	for j := len(axes) - 1; j >= 0; j-- {
		d := axes[j]
		x = x*box[d].Len() + point[d]
	}
	return x
}
