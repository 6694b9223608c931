package system

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/emirpasic/gods/sets/linkedhashset"
	"golang.org/x/sync/errgroup"

	"github.com/bitsched/bitsched/internal/invariants"
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
	Clock    ClockKind
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

	// ByBank has each bank reduce what it has of a last step for itself before a stream goes
	// from bank to bank with what they have come to. Otherwise it goes from tile to tile.
	ByBank bool

	// MaxLive is the most elements of tensors that a region near the memory may have
	// at a time; 0 sets no bound. It is
	// that of their buffers.
	MaxLive int64

	// Progress is told how many regions have been executed, now and then. May be nil.
	Progress func(regions int64)

	// Cells are those of a chip that others have arrays of; this run has some from FirstArray on. nil:
	// it has a chip of its own. Of word fidelity.
	Cells      *Cells
	FirstArray int
	// Seed is that of what cells hold before something is written to them. Results do not
	// depend on it.
	Seed uint64

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
		m = memory.New() // of addresses
		if err := m.Reserve(p.Arrays, sizes); err != nil {
			return nil, fmt.Errorf("system: %s: %w", p.Name, err)
		}
	}
	if checkAlways {
		if err := p.Check(); err != nil {
			return nil, internal(err)
		}
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
	if err := r.release(ctx); err != nil {
		return nil, err
	}
	r.report.WallSeconds = time.Since(start).Seconds()
	return r.report, r.finish(ctx)
}

type runner struct {
	opt    Options
	p      *tdfg.Program
	sizes  map[string]int64
	m      *memory.Memory
	arrays []*tdfg.Array  // that can be laid out
	rows   map[string]int // their first ones
	used   int            // how many rows these take
	lives  map[string]*life
	number map[*tdfg.Graph]int // of regions, in the order of the text

	// Where a graph is executed: in memory, with a plan, which may use rows of arrays that
	// others use, so that these leave; or near it, for a reason.
	plans     map[*tdfg.Graph]*lowering.Plan
	leaves    map[*lowering.Plan]map[string]bool
	near      map[*tdfg.Graph]*Reason
	nearPlans map[*tdfg.Graph]*lowering.NearPlan

	table    *lowering.LOT // where arrays lie that are on bitlines; nil if none can
	names    []string      // of the arrays of its entries
	views    map[string]*aliases
	commands *lru[[]lowering.Command]
	repeats  map[*lowering.Plan]*repeat
	data     backend
	consumer []consumer // of work: counters, the clock
	clock    Clock
	slots    map[int]saved
	reasons  *linkedhashset.Set // *Reason, in the order in which they arose

	// Of the region at hand: the arrays in memory that streams have made, and what
	// streams have done that several nodes have, by the first of them.
	written map[tdfg.NodeID][]scalar.Value
	streams map[tdfg.NodeID]*nearRun
	same    map[*tdfg.Graph][]tdfg.NodeID // the first node with the same streams

	windows []*runner       // of other programs on the same arrays, parts among them
	first   *runner         // that has these, nil: this one
	stored  map[string]bool // arrays on bitlines that were written there

	host Surroundings // that give work its time, of a session; nil otherwise

	edit func([]lowering.Command) []lowering.Command // changes commands in tests; nil

	report *Report
}

// main is the runner that has the others on the same arrays.
func (r *runner) main() *runner {
	if r.first != nil {
		return r.first
	}
	return r
}

func newRunner(p *tdfg.Program, sizes map[string]int64, m *memory.Memory, opt Options) *runner {
	if opt.Programs == nil {
		opt.Programs = newStore()
	}
	r := &runner{
		opt: opt, p: p, sizes: sizes, m: m, plans: map[*tdfg.Graph]*lowering.Plan{}, nearPlans: map[*tdfg.Graph]*lowering.NearPlan{},
		leaves: map[*lowering.Plan]map[string]bool{}, near: map[*tdfg.Graph]*Reason{}, same: map[*tdfg.Graph][]tdfg.NodeID{},
		commands: newLRU[[]lowering.Command](keptCommands), reasons: linkedhashset.New(), stored: map[string]bool{}, slots: map[int]saved{}, repeats: map[*lowering.Plan]*repeat{}, report: &Report{Host: Host{Threads: 1}},
	}
	return r
}

// setClock makes the clock and the counters, which consume work.
func (r *runner) setClock() (err error) {
	if r.host != nil {
		r.consumer = []consumer{newCounter(r.opt.Machine, r.report), r.host}
		return nil
	}
	if r.clock = Clock(newAnalytic(r.opt.Machine, r.opt.Trace)); r.opt.Clock == Event {
		if r.clock, err = newEventDriven(r.opt.Machine, r.opt.Trace); err != nil {
			return err
		}
	}
	r.consumer = []consumer{newCounter(r.opt.Machine, r.report), r.clock}
	return nil
}

// checkAlways has plans and commands checked between all stages; tests set it.
var checkAlways = invariants.Enabled

// newStore returns the programs of a run that brings none; tests share them.
var newStore = func() *arith.Store { return arith.NewStore("") }

// keptCommands is how many lowered regions are kept for when the same comes again.
const keptCommands = 4096

// grid returns the grid of tiles, nil if nothing is laid out.
func (r *runner) grid() *lowering.Grid {
	if r.table == nil {
		return nil
	}
	return r.table.Grid()
}

// emit hands work to all that consume it.
func (r *runner) emit(ctx context.Context, w *Work) error {
	for _, c := range r.consumer {
		if err := c.Consume(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// prepare makes the layout and the plans.
func (r *runner) prepare(ctx context.Context) error {
	var graphs []*tdfg.Graph
	for _, region := range r.p.Regions() {
		graphs = append(graphs, region.Graph)
	}
	m := r.opt.Machine
	if err := r.setClock(); err != nil {
		return err
	}
	arrays, _, fit := arraysOf(graphs)
	for _, g := range graphs {
		if !slices.Contains(fit, g) {
			r.near[g] = &Reason{Region: g.Name, Kind: OtherAxes}
		}
	}
	if len(fit) == 0 {
		return nil
	}
	r.lives, r.number = lives(r.p.Body)
	r.rows, r.used = rowsOf(arrays, fit, nil, 0)
	table, why, err := newTable(&r.opt, arrays, fit, r.rows, r.used, r.sizes)
	switch {
	case err != nil:
		return err
	case why != nil:
		for _, g := range fit {
			of := *why
			of.Region = g.Name
			r.near[g] = &of
		}
		return nil
	}
	r.table, r.arrays = table, arrays
	if r.views, err = findAliases(arrays, fit[0], r.sizes, r.m); err != nil {
		return err
	}
	if err := r.schedule(ctx, fit); err != nil {
		return err
	}
	if len(r.plans) == 0 {
		return nil
	}
	tiles := r.grid().Tiles()
	r.opt.Threads = min(r.opt.Threads, tiles) // which are shared out
	r.report.Threads = max(1, r.opt.Threads)
	r.report.Tile = r.grid().Tile().String()
	r.report.Arrays = tiles
	if r.opt.TimingOnly {
		return nil
	}
	if r.opt.Fidelity == Word {
		var w *word
		if w, err = newWord(m, tiles, r.opt.Threads, r.opt.Check, r.opt.Seed); err == nil {
			w.shared, w.first = r.opt.Cells, r.opt.FirstArray
			r.data = w
		}
	} else {
		r.data, err = newGate(m, tiles, r.opt.Threads, r.opt.Seed)
	}
	return err
}

// schedule makes the plans, with rows of arrays that let them stay while others are used, or, if a
// graph would spill more words then, with as few rows as there may be.
func (r *runner) schedule(ctx context.Context, graphs []*tdfg.Graph) error {
	few := r.rows
	rows, used := rowsOf(r.arrays, graphs, r.lives, r.opt.Machine.UsableRows())
	alike := maps.Equal(few, rows)
	for _, g := range graphs {
		plan, why, err := r.plan(ctx, g, few)
		if err != nil {
			return err
		}
		if plan != nil {
			r.plans[g] = plan
		} else {
			r.near[g] = why
		}
	}
	if alike || used > r.opt.Machine.UsableRows() {
		return nil
	}
	plans := map[*tdfg.Graph]*lowering.Plan{}
	for _, g := range graphs {
		plan, _, err := r.plan(ctx, g, rows)
		if err != nil {
			return err
		}
		if old := r.plans[g]; plan == nil && old != nil || plan != nil && old != nil && plan.Slots > old.Slots {
			return nil
		}
		if plan != nil {
			plans[g] = plan
		}
	}
	r.rows, r.used, r.plans = rows, used, plans
	for g := range plans {
		delete(r.near, g)
	}
	return nil
}

// plan makes the plan of a graph, or returns the reason why there is none. Rows of arrays that others
// use are kept as far as the plan can do without; the others make way, those first whose next use is
// furthest (Belady, 1966).
func (r *runner) plan(ctx context.Context, g *tdfg.Graph, rows map[string]int) (*lowering.Plan, *Reason, error) {
	m := r.opt.Machine
	target := lowering.Target{Tech: m.Array.Technology, Rows: m.Array.Rows, Programs: r.opt.Programs, Finals: r.opt.Finals}
	wl := wordlines(g, rows)
	kept := r.kept(g, rows, wl)
	var best *lowering.Plan
	var first error
	var with int // of those kept, that the best plan leaves alone
	for n := len(kept); ; n-- {
		var keep []lowering.Register
		for _, a := range kept[:n] {
			keep = append(keep, lowering.Register{Row: rows[a.Name], Bits: a.Type.Bits()})
		}
		plan, err := lowering.NewPlan(ctx, g, target, wl, keep)
		switch {
		case err == nil && (best == nil || plan.Slots < best.Slots):
			best, with = plan, n
		case err != nil && !errors.Is(err, lowering.ErrRegisters) || err != nil && n == len(kept):
			first = err
		}
		if n == 0 || best != nil && best.Slots == 0 || err != nil && !errors.Is(err, lowering.ErrRegisters) {
			break
		}
	}
	if best != nil {
		r.leaves[best] = map[string]bool{}
		for _, a := range r.arrays {
			if j := g.ArrayIndex(a.Name); (j < 0 || wl[j] < 0) && !slices.Contains(kept[:with], a) {
				r.leaves[best][a.Name] = true
			}
		}
		if checkAlways {
			return best, nil, internal(best.Check())
		}
		return best, nil, nil
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	why := reasonOf(first)
	if why == nil {
		return nil, nil, internal(first)
	}
	why.Region = g.Name
	if why.Kind == NoRows {
		why.Enough = enough(ctx, g, target, wl)
	}
	return nil, why, nil
}

// reasonOf returns why a graph has no plan, nil if the error is no reason for that but a
// defect.
func reasonOf(err error) *Reason {
	switch {
	case errors.Is(err, lowering.ErrRegisters), errors.Is(err, arith.ErrRows):
		return &Reason{Kind: NoRows, Err: errors.Unwrap(err)}
	case errors.Is(err, arith.ErrNoOperation):
		return &Reason{Kind: NoOperation, Err: errors.Unwrap(err)}
	}
	return nil
}

// enough returns which of the common numbers of rows of an array a graph would need, 0 if
// none is enough.
func enough(ctx context.Context, g *tdfg.Graph, target lowering.Target, wl []int) int {
	for _, rows := range []int{256, 512, 1024} {
		if rows <= target.Rows {
			continue
		}
		target.Rows = rows
		if _, err := lowering.NewPlan(ctx, g, target, wl, nil); err == nil {
			return rows
		}
	}
	return 0
}

// apart reports whether rows are none that the arrays of a graph have, by their first
// rows.
func apart(g *tdfg.Graph, r lowering.Register, wl []int) bool {
	for j, b := range g.Arrays {
		if wl[j] >= 0 && r.Overlaps(lowering.Register{Row: wl[j], Bits: b.Type.Bits()}) {
			return false
		}
	}
	return true
}

// region executes a graph once.
func (r *runner) region(ctx context.Context, g *tdfg.Graph, values map[string]int64) error {
	plan, why := r.plans[g], r.near[g]
	switch {
	case r.opt.NearOnly:
		why = &Reason{Kind: Asked}
	case plan != nil && r.opt.Decide && !r.decision(plan, values).InMemory:
		why = &Reason{Region: g.Name, Kind: Decided}
	}
	if why != nil {
		return r.nearMemory(ctx, g, values, why)
	}
	if err := r.emit(ctx, &Work{Kind: RegionBegins, Name: g.Name}); err != nil {
		return err
	}
	if err := r.enter(ctx, plan, values); err != nil {
		return err
	}
	cmds, err := r.lower(ctx, plan, values)
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
		if err := r.emit(ctx, &Work{Kind: Executed, Plan: plan, Commands: cmds[:n]}); err != nil {
			return err
		}
		if n < len(cmds) {
			s := &plan.Steps[cmds[n].Step]
			err := r.nearWork(ctx, plan, int(cmds[n].Step), values)
			if err == nil && !r.opt.TimingOnly {
				err = r.nearStep(ctx, plan, s, values, in)
			}
			if err != nil {
				return fmt.Errorf("system: %s: node %d: %s: %w", g.Name, s.Node, s.Kind, err)
			}
			n++
		}
		cmds = cmds[n:]
	}
	if err := r.outdated(plan); err != nil {
		return err
	}
	for _, o := range g.Outputs {
		if o.Array >= 0 {
			r.stored[g.Arrays[o.Array].Name] = true
		}
	}
	// What streams have written to arrays in memory others read as it was until now.
	for _, o := range g.Outputs {
		if w, ok := r.written[o.Node]; ok && o.Array >= 0 && plan.Arrays[o.Array].Bits == 0 {
			r.m.Arrays[g.Arrays[o.Array].Name].Elems = w
		}
	}
	return r.emit(ctx, &Work{Kind: RegionEnds, Name: g.Name})
}

// nearMemory executes a graph near the memory as a whole.
func (r *runner) nearMemory(ctx context.Context, g *tdfg.Graph, values map[string]int64, why *Reason) error {
	if !r.reasons.Contains(*why) {
		r.reasons.Add(*why)
	}
	if err := r.release(ctx); err != nil {
		return err
	}
	r.report.NearRegions++
	if err := r.emit(ctx, &Work{Kind: RegionNear, Name: g.Name}); err != nil || r.opt.TimingOnly {
		return err
	}
	ops, err := r.runNear(ctx, g, values)
	r.report.NearOps += ops
	return err
}

// entry returns the number of the entry of an array in the layout override table, -1 if
// it is in memory.
func (r *runner) entry(name string) int { return slices.Index(r.names, name) }

// enter brings the arrays that a plan has rows for into the cells, transposed, and
// those that its streams use in memory, or that are in its way, back.
func (r *runner) enter(ctx context.Context, p *lowering.Plan, values map[string]int64) error {
	for _, a := range r.arrays {
		if r.entry(a.Name) >= 0 && (!r.stays(a.Name, p) || r.newer(a.Name, p)) {
			if err := r.leave(ctx, a); err != nil {
				return err
			}
		}
	}
	for j, q := range p.Arrays {
		if a := p.Graph.Arrays[j]; q.Bits > 0 && r.entry(a.Name) < 0 {
			if err := r.makeRoom(ctx, p); err != nil {
				return err
			}
			if err := r.load(ctx, a, q, r.fresh(p.Graph, j, values)); err != nil {
				return err
			}
		}
	}
	return nil
}

// stays reports whether an array that is in the cells is not in the way of a plan, nor in other rows
// than that needs it in.
func (r *runner) stays(name string, p *lowering.Plan) bool {
	at, j := r.table.Register(r.entry(name)), p.Graph.ArrayIndex(name)
	if j >= 0 && p.Arrays[j].Bits == 0 && !streamed(p.Graph, name) || j < 0 {
		return !r.leaves[p][name] && !slices.ContainsFunc(p.Arrays, at.Overlaps)
	}
	return p.Arrays[j] == at
}

// makeRoom brings an array that a plan has no rows for back to memory where the layout
// override table is full.
func (r *runner) makeRoom(ctx context.Context, p *lowering.Plan) error {
	if len(r.table.Entries()) < r.opt.Machine.LOT.Regions {
		return nil
	}
	for _, a := range r.arrays {
		if j := p.Graph.ArrayIndex(a.Name); r.entry(a.Name) >= 0 && (j < 0 || p.Arrays[j].Bits == 0) {
			return r.leave(ctx, a)
		}
	}
	return nil
}

// streamed reports whether streams of a graph use an array.
func streamed(g *tdfg.Graph, name string) bool {
	return slices.ContainsFunc(g.Nodes, func(n tdfg.Node) bool { return n.Stream != nil && n.Stream.Graph.Array(name) != nil })
}

// load brings an array from memory to rows of the cells.
func (r *runner) load(ctx context.Context, a *tdfg.Array, at lowering.Register, f *fresh) error {
	lie, mem, err := r.lie(a)
	if err != nil {
		return err
	}
	i, err := r.table.Add(lie, at.Row)
	if err != nil {
		return internal(fmt.Errorf("array %s: %w", a.Name, err))
	}
	r.names = append(r.names, a.Name)
	delete(r.stored, a.Name)
	w := &Work{Kind: Transferred, Name: a.Name, Load: true, Fresh: f}
	if err := r.extent(a, i, mem, w); err != nil {
		return err
	}
	if r.host != nil && !a.Iota {
		if err := r.host.Fetch(ctx, a.Name, w); err != nil {
			return err
		}
	}
	first := int64(r.table.Entries()[i].Base-mem.Base) / int64(mem.Type.Bytes())
	return r.change(ctx, i, lowering.Transposed, w, func(t int, elems []scalar.Value, mask []uint64, at []int64) error {
		for b, x := range at {
			switch {
			case mask[b/64]>>(b%64)&1 == 0:
			case a.Iota:
				elems[b] = scalar.FromInt(a.Type, x)
			default:
				elems[b] = mem.Elems[first+x]
			}
		}
		r.data.writeTile(r.table.Register(i), t, elems, mask)
		return nil
	})
}

// leave brings an array back to memory. One that has views, or is one, is written only
// if something was stored to it.
func (r *runner) leave(ctx context.Context, a *tdfg.Array) error {
	i := r.entry(a.Name)
	if v := r.views[a.Name]; v != nil && !v.stored {
		return r.drop(i)
	}
	_, mem, err := r.lie(a)
	if err != nil {
		return err
	}
	w := &Work{Kind: Transferred, Name: a.Name, Clean: !r.stored[a.Name]}
	if err := r.extent(a, i, mem, w); err != nil {
		return err
	}
	if w.Bytes > w.Moved { // lines with elements that are not of the view
		merged := *w
		merged.Load, merged.Moved = true, 0
		if err := r.emit(ctx, &merged); err != nil {
			return err
		}
	}
	first := int64(r.table.Entries()[i].Base-mem.Base) / int64(mem.Type.Bytes())
	err = r.change(ctx, i, lowering.Normal, w, func(t int, elems []scalar.Value, mask []uint64, at []int64) error {
		if err := r.data.readTile(r.table.Register(i), t, elems, mask); err != nil {
			return fmt.Errorf("array %s: %w", a.Name, err)
		}
		for b, x := range at {
			if mask[b/64]>>(b%64)&1 != 0 {
				mem.Elems[first+x] = elems[b]
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if v := r.views[a.Name]; v != nil {
		v.stored = false
	}
	r.names = slices.Delete(r.names, i, i+1)
	return internal(r.table.Remove(i))
}

// drop takes an array out of the table that is in memory as it is.
func (r *runner) drop(i int) error {
	r.names = slices.Delete(r.names, i, i+1)
	if err := r.table.SetTrans(i, lowering.Changing); err != nil {
		return internal(err)
	}
	if err := r.table.SetTrans(i, lowering.Normal); err != nil {
		return internal(err)
	}
	return internal(r.table.Remove(i))
}

// release brings all arrays back to memory.
func (r *runner) release(ctx context.Context) error {
	for _, a := range r.arrays {
		if r.entry(a.Name) >= 0 {
			if err := r.leave(ctx, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// change brings the array of an entry to another format: it calls f for each of its
// tiles, with the position in memory of the element of each bitline, and the bitlines
// that have one. Tiles are shared out among threads.
func (r *runner) change(ctx context.Context, entry int, to lowering.TransState, w *Work, f func(t int, elems []scalar.Value, mask []uint64, at []int64) error) error {
	if err := r.table.SetTrans(entry, lowering.Changing); err != nil {
		return internal(err)
	}
	if !r.opt.TimingOnly {
		grid := r.grid()
		cols, tiles, threads := grid.Bitlines(), grid.Tiles(), max(1, r.opt.Threads)
		lie := r.table.Elements(entry)
		var group errgroup.Group
		for k := range threads {
			group.Go(func() error {
				elems, at, mask := make([]scalar.Value, cols), make([]int64, cols), make([]uint64, (cols+63)/64)
				for t := k * tiles / threads; t < (k+1)*tiles/threads; t++ {
					if lie.Tile(t, at, mask) {
						if err := f(t, elems, mask, at); err != nil {
							return err
						}
					}
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return internal(err)
		}
	}
	if err := r.emit(ctx, w); err != nil {
		return err
	}
	return internal(r.table.SetTrans(entry, to))
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
