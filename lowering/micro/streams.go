package micro

import (
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/lowering/nearstream"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/se"
	"github.com/bitsched/bitsched/tile/uop"
)

// StreamLevel is how far streams go.
type StreamLevel uint8

// The levels.
const (
	NoStreams StreamLevel = iota
	Prefetch              // lines are fetched into the core's FIFO
	Float                 // elements are read at the L3 and sent to the core
	Compute               // what is computed leaves the core, too
)

// Streams say which loops of a program have streams.
type Streams struct {
	Plan  *nearstream.Plan
	Level StreamLevel
	Range int // iterations of the core that are committed at once
	// SyncFree promises for all loops what #pragma s_sync_free does for one; Decouple lets
	// those vanish of which nothing is left for the core.
	SyncFree, Decouple bool
	// Adaptive lets the ranges of a loop double with each instance without an alias, up to
	// half of Ahead, the iterations that may be under way.
	Adaptive bool
	Ahead    int
	// Rival leaves to the core what another way of near-data computing cannot do.
	Rival Rival
	Banks int // of the L3
	// Strands is into how many parts the streams of a loop that vanishes are split at most, each of
	// the lines that lie in a bank side by side, Interleave bytes; 0: they go from bank to bank.
	Strands, Interleave int
	// Private is the bytes of a core's own caches: indirect streams whose elements fit there
	// stay in the core (section IV.B).
	Private int64
	// Room is the bytes of the buffer of a bank that a core has: ranges are so short that each fits;
	// 0: there is enough.
	Room int64
	// Rows lets streams end at the end of each row.
	Rows bool
	// History lets engines decide by misses and reuse, too: of all loops whose streams are
	// affine, or of those that compute nothing at the L3.
	History, ComputeAlways bool
	// Keep, if it is not nil, says whether loops stay in the core from now on, with all of their
	// streams, though they could have some.
	Keep func() bool
}

// StreamLoop says what became of an innermost loop.
type StreamLoop struct {
	Var       string `json:"variable"`
	Streams   int    `json:"streams"`    // that are configured
	Offloaded int    `json:"offloaded"`  // that compute or write at the L3
	Rows      int    `json:"rows"`       // loops inside whose instances streams configure
	Vanishes  bool   `json:"vanishes"`   // nothing of an iteration is left for the core
	Why       string `json:"why"`        // there are none
	Instances int64  `json:"configured"` // instances of the loop whose streams were configured
	Nested    int64  `json:"nested"`     // instances that streams of the loop around it configured
	Ahead     int64  `json:"ahead"`      // instances that were configured ahead of iterations of those before
	Through   int64  `json:"through"`    // instances that streams of one before went on to
	Planes    int64  `json:"planes"`     // that streams of one before went on to, of several rows each
	Short     int64  `json:"short"`      // instances that were too short, or of which one iteration has no room at a bank
	Aliased   int64  `json:"aliased"`    // instances whose streams were ended by an alias
	Kept      int64  `json:"kept"`       // instances that stayed in the core since there had been an alias
	Reused    int64  `json:"reused"`     // instances that stayed since the core's own caches could have what they access
	Hits      int64  `json:"hits"`       // instances that stayed since more than half of their lines hit there last time
	Passed    int64  `json:"passed"`     // instances between the windows of a run in samples that only changed memory
}

// nearLoop is the streams of an innermost loop.
type nearLoop struct {
	report    StreamLoop
	info      *loopInfo
	streams   []nearStream            // at the L3
	ahead     []nearStream            // in the core
	less      *nearLoop               // for instances that are too short for reductions over banks; nil if there are none
	whole     bool                    // no reductions over banks
	inCore    *nearLoop               // streams in the core, for instances that do not leave it; nil: all do
	chase     *chaseLoop              // all of it, instead of streams
	nest      *nest                   // through whose rows streams go on; nil: none
	later     *later                  // around it, by whose variables the core's engine looks ahead of instances; nil: none
	laterRows *later                  // the same, of instances that go through all iterations of the loop around
	region    *stream.Loop            // around it, in which nothing is written that it reads; nil: none
	several   bool                    // instances of it in the region may be under way at once
	early     bool                    // they are configured ahead of the core's iterations
	sight     *foresight              // ahead of instances before, too; nil if not
	begin     uint32                  // the PC of the load that does that
	free      bool                    // no order is needed
	racy      bool                    // streams make updates whose order among threads is the machine's
	gone      bool                    // and nothing of an iteration is left for the core
	drop      map[*stream.Stream]bool // whose micro-ops vanish
	loads     map[*stream.Stream]int  // whose elements the core takes from streams
	// closures are values that the core takes from streams, which compute them.
	closures map[*stream.Stream]int
	// atomics are the accesses that an update at the L3 makes whose old value the core takes;
	// asks are those of them that are relaxed loads.
	atomics map[*stream.Stream]int
	asks    []bool
	fences  [2]uop.Op
	input   uop.Op // of a configuration
	sync    uop.Op
}

// nearStream is a stream of it.
type nearStream struct {
	name   string
	kind   se.Kind
	tm     *template // whose element it is
	from   *template // of a task: what the core loads for its address
	index  int       // of the template
	inputs []int
	value  *term       // what is computed
	where  *nearStream // of an indirect stream: its address, and whether there is an access
	fields []int       // of an indirect stream: see [se.Stream]
	cond   *term       // under which it is written; nil: always
	result *template   // of a load whose core takes what follows from it: that
	ops    int
	depth  int
	made   []se.Step // operations of value and cond, when they are asked for
	near   int       // of a Reduce
	// Of a reduction over an indirect load, which is over: the operation that joins its parts,
	// and what they begin with.
	join    scalar.Op
	zero    scalar.Value
	parts   scalar.Op // of one over affine streams: joins its strands, which begin with zero
	over    int
	carries bool // the requests of an indirect load have what addresses follow from, for a reduction
	toCore  bool
	old     bool // what the element was is sent to the core
	task    bool // the core sends each element of an indirect one; inputs are what it loads for that
	config  int
	varies  int       // bytes of it: values that the loop does not change
	load    [2]uop.Op // of the core, scalar and SIMD
	final   uop.Op
	row     *row // it reduces rows
	// hoisted are loads whose element the loop does not change, which the core makes before it
	// configures the stream, by bring.
	hoisted []*template
	bring   []uop.Op
	still   bool // its element is the same in all iterations of a row
}

// nearState is a loop whose streams are configured.
type nearState struct {
	id      int // of the loop
	l       *nearLoop
	n, done int64 // iterations, of all rows
	rows    int64 // that are left, with the one at hand
	between bool  // two of them
	steps   int64 // of the core
	offload bool
	group   uint32
	ordered bool // streams are at the L3 and in order with the core
	// Of an update whose old value the core takes: the iteration of the last one, and what it
	// found.
	g     *se.Group
	asked int64
	found scalar.Value
	// computed is what closures that the micro-ops at hand load would be computed by.
	computed [][]uop.Op
	before   []chaseStart // of a loop that chases pointers: its results
}

// Locks reports whether streams keep lines until the core has committed.
func (p *Program) Locks() bool {
	return slices.ContainsFunc(p.near, func(l *nearLoop) bool {
		return l != nil && slices.ContainsFunc(l.streams, func(s nearStream) bool { return s.old })
	})
}

// PCs are those that stream engines know.
func (p *Program) PCs() se.PCs { return p.pcsNear }

// Source hands out what a thread configures.
func (p *Program) Source(thread int) se.Source { return p.threads[thread] }

// StreamLoops says what became of the innermost loops, in the order of the program.
func (p *Program) StreamLoops() []StreamLoop {
	var list []StreamLoop
	for i := range p.loops {
		if l := p.near[i]; l != nil {
			for _, t := range p.threads {
				l.report.Instances += t.counts[i].configured
				l.report.Nested += t.counts[i].nested
				l.report.Ahead += t.counts[i].ahead
				l.report.Through += t.counts[i].through
				l.report.Planes += t.counts[i].planes
				l.report.Short += t.counts[i].short
				l.report.Aliased += t.counts[i].aliased
				l.report.Kept += t.counts[i].kept
				l.report.Reused += t.counts[i].stayed[se.Reused]
				l.report.Hits += t.counts[i].stayed[se.Hits]
				l.report.Passed += t.counts[i].passed
			}
			list = append(list, l.report)
		}
	}
	return list
}

// NextGroup implements se.Source.
func (t *thread) NextGroup() *se.Group {
	if len(t.groups) == 0 {
		return nil
	}
	g := t.groups[0]
	t.groups = t.groups[1:]
	return g
}

// nearLoops decides for each innermost loop which streams it has.
func (p *Program) nearLoops(values map[string]uop.Reg) error {
	p.near = make([]*nearLoop, len(p.loops))
	o := p.opt.Streams
	if o == nil || o.Level == NoStreams {
		return nil
	}
	reg, err := p.reg()
	if err != nil {
		return err
	}
	order, err := p.reg()
	if err != nil {
		return err
	}
	p.pcsNear = se.PCs{Configure: p.pc(), Loops: uint32(len(p.loops))}
	for i := range 2 * len(p.loops) {
		if pc := p.pc(); i == 0 {
			p.pcsNear.Step = pc
		}
	}
	for i, l := range p.loops {
		if o.Level != Prefetch && o.Rival == NoRival {
			l.rowsInside = p.rowLoops(l)
		}
		if !p.runs(l) || len(l.body) == 0 {
			continue
		}
		if p.near[i], err = p.nearLoop(l, false, reg, order, values); err != nil {
			return err
		}
		n := p.near[i]
		if n != nil && n.scatters() {
			if n.less, err = p.nearLoop(l, true, reg, order, values); err != nil {
				return err
			}
		}
		if n != nil && o.History && n.decides() && !(o.ComputeAlways && n.report.Offloaded > 0) {
			level := o.Level
			o.Level = Prefetch
			n.inCore, err = p.nearLoop(l, true, reg, order, values)
			if o.Level = level; err != nil {
				return err
			}
		}
	}
	return nil
}

// decides reports whether the engine decides for each instance whether it leaves the core: what
// indirect streams and atomics access is known as a whole.
func (l *nearLoop) decides() bool {
	return l.info.inner && l.chase == nil && !l.racy && len(l.atomics)+len(l.info.rowsInside) == 0 && len(l.streams) > 0 && !slices.ContainsFunc(l.streams, func(s nearStream) bool { return s.where != nil })
}

// nearLoop decides which streams a loop has, with reductions over banks or without; nil if it
// is none that could have streams. order is what fences give to the loads that begin streams.
func (p *Program) nearLoop(l *loopInfo, whole bool, reg, order uop.Reg, values map[string]uop.Reg) (*nearLoop, error) {
	near := &nearLoop{info: l, whole: whole, drop: map[*stream.Stream]bool{}, loads: map[*stream.Stream]int{}, closures: map[*stream.Stream]int{}, atomics: map[*stream.Stream]int{}, report: StreamLoop{Var: l.src.Var}}
	p.chooseStreams(near)
	if near.nest == nil && slices.ContainsFunc(near.streams, func(s nearStream) bool {
		return slices.ContainsFunc(s.hoisted, func(u *template) bool { return p.rowwise(u, l) })
	}) { // what changes from row to row may be a stream, too
		l.spread = true
		rows := &nearLoop{info: l, whole: whole, drop: map[*stream.Stream]bool{}, loads: map[*stream.Stream]int{}, closures: map[*stream.Stream]int{}, atomics: map[*stream.Stream]int{}, report: StreamLoop{Var: l.src.Var}}
		p.chooseStreams(rows)
		l.spread = false
		if rows.nest != nil {
			near = rows
		}
	}
	if !l.inner && len(near.atomics)+len(l.rowsInside) == 0 {
		return nil, nil
	}
	if len(near.streams)+len(near.ahead) == 0 && near.chase == nil {
		return near, nil
	}
	near.fences = [2]uop.Op{{PC: p.pc(), Kind: uop.Fence, Lanes: 1}, {PC: p.pc(), Kind: uop.Fence, Lanes: 1}}
	near.input = uop.Op{PC: p.pc(), Kind: uop.IntALU, Lanes: 1, Dst: reg}
	near.sync = uop.Op{PC: p.pc(), Kind: uop.Load, Lanes: 1, Dst: reg, Size: 8}
	for k := range near.streams {
		s := &near.streams[k]
		for _, u := range s.hoisted {
			o := u.one.access
			o.PC, o.Src = p.pc(), [3]uop.Reg{}
			s.bring = append(s.bring, o)
		}
		s.final = uop.Op{PC: p.pc(), Kind: uop.Load, Lanes: 1, Dst: reg, Size: 8}
		if s.kind == se.Reduce {
			s.final.Dst = values[s.tm.s.Name]
		}
		s.load = [2]uop.Op{s.tm.one.access, s.tm.many.access}
		if s.result != nil {
			s.load[0].Dst, s.load[1].Dst = s.result.one.move.Dst, s.result.many.dst
		}
		for w := range s.load {
			s.load[w].PC, s.load[w].Src = p.pc(), [3]uop.Reg{}
		}
	}
	near.begin = p.pc()
	if near.several || near.chase != nil { // what begins when it is executed waits for the fence
		near.fences[0].Dst = order
	}
	p.rowOps(near, reg)
	if c := near.chase; c != nil {
		if err := p.chaseOps(c, values, near.sync.Dst, order); err != nil {
			return nil, err
		}
		near.report.Streams, near.report.Offloaded, near.report.Vanishes = c.places, c.places, true
		return near, nil
	}
	near.report.Streams = len(near.streams) + len(near.ahead)
	near.report.Vanishes = near.gone
	return near, nil
}

// chooseStreams finds the streams of a loop and what they compute.
func (p *Program) chooseStreams(near *nearLoop) {
	l := near.info
	var plan *nearstream.Loop
	for _, x := range p.opt.Streams.Plan.Loops {
		if x.Source == l.src {
			plan = x
		}
	}
	switch {
	case plan == nil:
		near.report.Why = "it has one iteration"
		return
	case l.src.Open || l.src.While != nil:
		near.chase, near.report.Why = p.chase(near)
		near.free = plan.SyncFree || p.opt.Streams.SyncFree
		return
	}
	sid := map[*stream.Stream]int{}
	written := map[string]bool{}
	for _, i := range p.inside(l) {
		if s := p.streams[i].s; s.Kind == stream.Store || s.Kind == stream.RMW {
			written[s.Array] = true
		}
	}
	level, free := p.opt.Streams.Level, plan.SyncFree || p.opt.Streams.SyncFree || p.opt.Streams.Rival != NoRival
	sinks := map[*stream.Stream]*nearStream{}
	if level == Compute {
		for _, i := range l.body {
			if s := p.sink(l, i); s != nil && !(near.whole && s.join != scalar.NoOp) {
				sinks[p.streams[i].s] = s
			}
		}
		p.closures(l, sinks)
	}
	rival := p.opt.Streams.Rival
	p.rivals(sinks)
	racy := slices.ContainsFunc(l.body, func(i int) bool { return p.streams[i].s.Racy })
	needed := p.settle(l, sinks, free || racy)
	for _, i := range l.body {
		if x := sinks[p.streams[i].s]; x != nil && x.old {
			for _, part := range p.opt.Streams.Plan.Of(x.tm.s).Parts {
				near.atomics[part] = -1 // its place follows
			}
		}
	}
	for _, i := range l.body {
		if s := p.streams[i].s; s.Racy && sinks[s] == nil && len(near.atomics) == 0 {
			near.report.Why = "atomic operations stay in the core"
			return
		}
	}
	// Loads that operands are, and those that the core takes.
	take := map[int]bool{}
	for _, r := range l.rowsInside {
		take[r.where.index] = true
	}
	for _, s := range sinks {
		for _, in := range s.inputs {
			if s.task {
				needed[p.streams[in].s.Name] = true
			} else {
				take[in] = true
			}
		}
	}
	for _, i := range slices.Backward(l.body) { // and what addresses follow from
		s := p.streams[i].s
		if s.Kind != stream.Load || sinks[s] != nil || !take[i] && !(needed[s.Name] && !written[s.Array] && s.If == nil) {
			continue
		}
		if x := p.indirect(l, p.streams[i]); x != nil && level != Prefetch && rival == NoRival {
			take[x.index] = true
		}
	}
	own := map[int]*nearStream{} // loads of what sinks write
	for _, i := range l.body {
		if x := sinks[p.streams[i].s]; x != nil && x.kind != se.Reduce && x.kind != se.Load {
			for in := range take {
				if p.updated(in, x) {
					own[in] = x
					x.kind = se.Update
				}
			}
		}
	}
	for _, i := range l.body {
		tm := p.streams[i]
		s := tm.s
		if _, part := near.atomics[s]; part || s.Kind != stream.Load || len(near.streams) == nearstream.MaxStreams || own[i] != nil || sinks[s] != nil {
			continue
		}
		var where *nearStream
		if level != Prefetch && rival == NoRival {
			where = p.indirect(l, tm)
		}
		still := l.spread && tm.hoisted && take[i] && p.rowwise(tm, l)
		if where == nil && !still && !p.affine(tm) {
			continue
		}
		if still {
			sid[s] = len(near.streams)
			near.streams = append(near.streams, nearStream{name: s.Name, kind: se.Load, tm: tm, index: i, config: p.opt.Streams.Plan.StillBytes(), still: true})
			if !needed[s.Name] {
				near.drop[s] = true
			}
			continue
		}
		toCore := needed[s.Name] && s.If == nil && (level == Prefetch || !written[s.Array] && (where != nil || p.dense(l, tm)))
		if !take[i] && !toCore {
			continue
		}
		if level == Prefetch || toCore && (rival != NoRival || p.opt.Streams.History && where == nil && !take[i] && p.sharers(l, tm) > 2) {
			near.ahead = append(near.ahead, nearStream{name: s.Name, kind: se.Load, tm: tm, index: i})
			if !take[i] {
				continue
			}
			toCore = false
		}
		sid[s] = len(near.streams)
		x := nearStream{name: s.Name, kind: se.Load, tm: tm, index: i, toCore: toCore, config: p.configBytes(s), varies: p.valueBytes(s), where: where}
		if where != nil {
			k, ok := sid[p.streams[where.index].s]
			if !ok {
				delete(sid, s)
				continue
			}
			x.near, x.inputs = k, []int{k}
		}
		near.streams = append(near.streams, x)
		if toCore {
			near.loads[s] = sid[s]
		} else if level == Compute && !needed[s.Name] {
			near.drop[s] = true
		}
	}
	fits := p.addRows(near, sid, needed, nearstream.MaxStreams)
	places := map[*nearStream]int{}
	for _, i := range l.body {
		if x := sinks[p.streams[i].s]; x != nil {
			places[x] = len(near.streams) + len(places)
		}
	}
	for _, i := range l.body {
		x := sinks[p.streams[i].s]
		if x == nil {
			continue
		}
		fits = fits && len(near.streams) < nearstream.MaxStreams
		inputs := make([]int, 0, len(x.inputs))
		for _, in := range x.inputs {
			k, ok := sid[p.streams[in].s]
			if x.task {
				x.from, k, ok = p.streams[in], len(near.streams), true
			}
			if o := own[in]; o != nil {
				k, ok = places[o]
			}
			fits = fits && ok
			inputs = append(inputs, k)
		}
		if !fits {
			break
		}
		if x.kind == se.Reduce || x.where != nil {
			x.near = inputs[0]
		}
		if x.join != scalar.NoOp {
			x.near = sid[p.streams[x.over].s]
			near.streams[x.near].carries = near.streams[x.near].carries || len(inputs) > 1
		}
		x.inputs = inputs
		if x.kind == se.Load {
			near.closures[p.streams[i].s] = len(near.streams)
		}
		if x.old {
			p.takes(near, x, len(near.streams))
		}
		near.streams = append(near.streams, *x)
		near.report.Offloaded++
		near.drop[p.streams[i].s] = true
	}
	if !fits { // then nothing leaves the core
		near.streams, near.ahead, near.drop, near.loads, near.closures = nil, nil, map[*stream.Stream]bool{}, map[*stream.Stream]int{}, map[*stream.Stream]int{}
		clear(near.atomics)
		l.rowsInside, near.report.Offloaded, near.report.Rows, near.report.Why = nil, 0, 0, "it has more streams than a core's engine"
		return
	}
	if level == Compute {
		for _, i := range l.body {
			if s := p.streams[i].s; s.Array == "" && sinks[s] == nil && !needed[s.Name] {
				near.drop[s] = true
			}
			// A load of the element that an update changes is the update's.
			if s := p.streams[i].s; s.Kind == stream.Load && !needed[s.Name] && len(sinks) > 0 {
				near.drop[s] = true
			}
		}
	}
	for _, i := range l.body { // what the core stores
		tm := p.streams[i]
		if sinks[tm.s] == nil && (tm.s.Kind == stream.Store || tm.s.Kind == stream.RMW) && tm.s.If == nil && (p.affine(tm) || p.own(tm)) && len(near.streams)+len(near.ahead) < nearstream.MaxStreams {
			near.ahead = append(near.ahead, nearStream{name: tm.s.Name, kind: se.Store, tm: tm, index: i})
		}
	}
	near.racy = slices.ContainsFunc(near.streams, func(x nearStream) bool { return x.tm.s.Racy })
	near.free = free
	near.gone = p.opt.Streams.Decouple && near.free && len(near.ahead) == 0 && len(near.loads)+len(near.closures)+len(near.atomics) == 0 && len(near.streams) > 0 &&
		!slices.ContainsFunc(near.streams, func(x nearStream) bool { return x.row != nil && x.toCore }) &&
		!slices.ContainsFunc(l.body, func(i int) bool { return !near.drop[p.streams[i].s] && !p.streams[i].hoisted })
	p.several(near)
	near.nest = p.nested(near)
	near.later = p.later(near, 0)
	if near.nest != nil {
		near.laterRows = p.later(near, 1)
	}
	if len(near.streams)+len(near.ahead) == 0 && near.report.Why == "" {
		near.report.Why = "no access is affine and free of conditions"
	}
}

// affine reports whether the elements of an access are a constant apart, and it is made in
// each iteration.
func (p *Program) affine(tm *template) bool {
	s := p.opt.Streams.Plan.Of(tm.s)
	return s != nil && s.Address == nearstream.Affine && tm.array >= 0 && !tm.hoisted && p.graph.Arrays[tm.array].Scope != stream.Private && !p.late(tm)
}

// own reports the same of an access to an array of the thread's own, which only its core has streams for.
func (p *Program) own(tm *template) bool {
	if tm.array < 0 || tm.hoisted || p.graph.Arrays[tm.array].Scope != stream.Private || p.late(tm) {
		return false
	}
	loops := p.graph.Loops(tm.s)
	return !slices.ContainsFunc(tm.s.Index, func(x lattice.Expr) bool {
		return slices.ContainsFunc(x.Symbols(), func(name string) bool {
			return int(p.names[name]) < len(p.streams) && !slices.ContainsFunc(loops, func(l *stream.Loop) bool { return l.Var == name })
		})
	})
}

// late reports whether a subscript takes a scalar that the loop itself sets, be it the same each
// time: it is not there yet when streams are configured.
func (p *Program) late(tm *template) bool {
	loops := p.graph.Loops(tm.s)
	return slices.ContainsFunc(tm.s.Index, func(x lattice.Expr) bool {
		return slices.ContainsFunc(x.Symbols(), func(name string) bool {
			slot := int(p.names[name])
			if slot >= len(p.streams) || len(loops) == 0 {
				return false
			}
			in := p.graph.Loops(p.streams[slot].s)
			return len(in) > 0 && in[len(in)-1] == loops[len(loops)-1]
		})
	})
}

// dense reports whether a load of the core takes elements that lie side by side.
func (p *Program) dense(l *loopInfo, tm *template) bool {
	if l.lanes == 1 {
		return true
	}
	a := &p.arrays[tm.array]
	return a.inner == 0 && a.stride == uint64(tm.bytes) && tm.s.Index[0].Coef(l.src.Var)*l.src.Stride() == 1
}

// sharers is how many loads of a loop take elements that lie less than a line from those of one:
// of their lines only one in so many misses in the core.
func (p *Program) sharers(l *loopInfo, tm *template) (n int) {
	for _, i := range l.body {
		o := p.streams[i]
		if o.s.Kind != stream.Load || o.array != tm.array || !p.affine(o) || o.s.If != nil {
			continue
		}
		near := true
		for d, x := range o.s.Index {
			apart, same := x.Sub(tm.s.Index[d]).Const()
			near = near && same && (apart == 0 || d == 0 && max(apart, -apart)*int64(p.arrays[tm.array].stride) < lineBytes)
		}
		if near {
			n++
		}
	}
	return n
}

func (p *Program) configBytes(s *stream.Stream) int {
	if t := p.opt.Streams.Plan.Of(s); t != nil && t.Place != nearstream.InCore {
		return t.ConfigBytes(p.opt.Streams.Plan)
	}
	return 0
}

func (p *Program) valueBytes(s *stream.Stream) int {
	if t := p.opt.Streams.Plan.Of(s); t != nil && t.Place != nearstream.InCore {
		return t.ValueBytes()
	}
	return 0
}

// sink makes a stream of a store, an update or a reduction whose operands are all affine
// loads of the loop and values that it does not change; nil if that is not so.
func (p *Program) sink(l *loopInfo, i int) *nearStream {
	tm := p.streams[i]
	s := tm.s
	plan := p.opt.Streams.Plan.Of(s)
	if plan == nil || plan.Place != nearstream.Near || tm.any || s.Old && (!s.Racy || plan.Address != nearstream.Indirect) {
		return nil
	}
	x := &nearStream{name: s.Name, tm: tm, index: i, config: plan.ConfigBytes(p.opt.Streams.Plan), varies: plan.ValueBytes()}
	switch {
	case plan.Address == nearstream.Indirect && s.Array != "":
		return p.indirectSink(l, x)
	case plan.Address == nearstream.Indirect && s.Kind == stream.Reduce && tm.carried:
		return p.scattered(l, x, plan)
	}
	if plan.Address != nearstream.Affine {
		return nil
	}
	switch {
	case s.Kind == stream.Store && p.affine(tm):
		x.kind = se.Store
	case s.Kind == stream.RMW && p.affine(tm):
		x.kind = se.Update
	case s.Kind == stream.Reduce && s.Array == "" && tm.carried:
		x.kind = se.Reduce
		p.parted(x)
	default:
		return nil
	}
	b := &termBuilder{p: p, l: l, of: tm, x: x, done: map[*stream.Expr]*term{}}
	x.value = b.expr(s.Value)
	if s.If != nil {
		x.cond = b.expr(s.If)
	}
	if b.failed || len(x.inputs) > nearstream.MaxInputs || x.kind == se.Reduce && len(x.inputs) == 0 {
		return nil
	}
	if x.kind == se.Store && b.own { // the element is loaded, and then stored
		x.kind = se.Update
	}
	x.ops, x.depth = b.ops, x.value.depth
	if x.cond != nil {
		x.depth = max(x.depth, x.cond.depth)
	}
	return x
}

// settle leaves sinks in the core until none depends on what the core does, and says which
// values the core takes.
func (p *Program) settle(l *loopInfo, sinks map[*stream.Stream]*nearStream, promised bool) map[string]bool {
	for {
		n := len(sinks)
		p.unshared(l, sinks, promised)
		needed := p.needed(l, sinks)
		for _, i := range l.body { // what the core takes of an update's element, it changes itself
			s := p.streams[i].s
			if s.Kind != stream.Load || !needed[s.Name] {
				continue
			}
			for _, j := range l.body {
				if o := p.streams[j].s; sinks[o] != nil && sinks[o].old && p.opt.Streams.Plan.Of(o) == p.opt.Streams.Plan.Of(s) {
					continue // it is a part of the update
				}
				if o := p.streams[j].s; sinks[o] != nil && sinks[o].kind != se.Load && o.Array != "" && p.together(o.Array, s.Array) && (promised || p.collide(o, s)) {
					delete(sinks, o)
				}
			}
		}
		if len(sinks) == n {
			return needed
		}
	}
}

// unshared leaves sinks in the core that need an element which another access of their
// iteration changes, and where streams are promised not to be aliased and are not in order
// with the core, all whose array, or that of an operand, something else in the loop
// accesses. Otherwise the engines see an alias when there is one.
func (p *Program) unshared(l *loopInfo, sinks map[*stream.Stream]*nearStream, promised bool) {
	all := p.inside(l)
	for _, i := range l.body {
		x := sinks[p.streams[i].s]
		if x == nil {
			continue
		}
		for _, in := range x.inputs {
			for _, j := range all {
				o := p.streams[j].s
				if o.Kind != stream.Store && o.Kind != stream.RMW || !p.together(o.Array, p.streams[in].s.Array) || in < j && p.updated(in, sinks[o]) && p.opt.Streams.Rival != Meeting {
					continue
				}
				if promised || p.collide(p.streams[in].s, o) {
					delete(sinks, p.streams[i].s)
				}
			}
		}
		if x.kind == se.Load {
			for _, j := range all {
				if o := p.streams[j].s; (o.Kind == stream.Store || o.Kind == stream.RMW) && p.together(o.Array, x.tm.s.Array) {
					delete(sinks, p.streams[i].s)
				}
			}
		}
		if x.kind == se.Reduce || x.kind == se.Load {
			continue
		}
		mine := p.opt.Streams.Plan.Of(x.tm.s)
		after := false
		for _, j := range all {
			o := p.streams[j].s
			after = after || j == i
			if j == i || o.Array == "" || !p.together(o.Array, x.tm.s.Array) {
				continue
			}
			if same := p.opt.Streams.Plan.Of(o) == mine; !same && (promised || p.collide(o, x.tm.s)) || same && (o.Kind != stream.Load || after) {
				delete(sinks, x.tm.s)
			}
		}
	}
}

// updated reports whether a load is of the element that a sink of the same loop writes, whose
// stream then sends what the element was before.
func (p *Program) updated(in int, x *nearStream) bool {
	return x != nil && p.opt.Streams.Plan.Of(p.streams[in].s) == p.opt.Streams.Plan.Of(x.tm.s)
}

// collide reports whether accesses of one array are aliased for sure as ranges are made: they
// are of the same element, or one of them goes anywhere.
func (p *Program) collide(a, b *stream.Stream) bool {
	x, y := p.opt.Streams.Plan.Of(a), p.opt.Streams.Plan.Of(b)
	return x == y || x == nil || y == nil || x.Address != nearstream.Affine || y.Address != nearstream.Affine
}

// together reports whether two arrays are one in memory, or members of one.
func (p *Program) together(a, b string) bool {
	x, y := p.graph.Array(a), p.graph.Array(b)
	return a == b || x.Field != nil && y.Field != nil && x.Field.Of == y.Field.Of
}

// needed says which values of the loop the core takes: for what stays there, and behind the
// loop.
func (p *Program) needed(l *loopInfo, sinks map[*stream.Stream]*nearStream) map[string]bool {
	need := map[string]bool{}
	direct := map[string]*stream.Stream{}
	for _, i := range l.body {
		direct[p.streams[i].s.Name] = p.streams[i].s
	}
	if p.opt.Streams.Level == Compute {
		for _, r := range l.rowsInside {
			direct[r.sum.s.Name] = r.sum.s
		}
	}
	var take func(name string)
	all := func(s *stream.Stream) {
		for _, x := range []*stream.Expr{s.Value, s.If, s.Init} {
			x.Walk(func(y *stream.Expr) {
				if y.Kind == stream.RefExpr {
					take(y.Name)
				}
			})
		}
		for _, x := range s.Index {
			for _, name := range x.Symbols() {
				take(name)
			}
		}
	}
	take = func(name string) {
		s := direct[name]
		if s == nil || need[name] || sinks[s] != nil {
			return
		}
		need[name] = true
		all(s)
	}
	for _, i := range l.body {
		tm := p.streams[i]
		if sinks[tm.s] == nil && (tm.s.Kind == stream.Store || tm.s.Kind == stream.RMW || tm.s.Kind == stream.Reduce && (tm.carried || tm.s.Array != "")) {
			need[tm.s.Name] = true
			all(tm.s)
		}
	}
	p.graph.Walk(func(loops []*stream.Loop, s *stream.Stream) {
		if len(loops) > 0 && (loops[len(loops)-1] == l.src || slices.ContainsFunc(l.rowsInside, func(r *row) bool {
			return loops[len(loops)-1] == r.loop.src && (p.opt.Streams.Level == Compute || s == r.of.s)
		})) {
			return
		}
		all(s)
	})
	for _, o := range p.loops {
		for _, x := range append(o.src.Range.Lo.Symbols(), o.src.Range.Hi.Symbols()...) {
			take(x)
		}
		o.src.While.Walk(func(y *stream.Expr) {
			if y.Kind == stream.RefExpr {
				take(y.Name)
			}
		})
	}
	return need
}

// keeps reports whether loops stay in the core at present.
func (p *Program) keeps() bool { return p.opt.Streams.Keep != nil && p.opt.Streams.Keep() }

// beginStreams configures the streams of an instance of a loop of n iterations, from the
// one whose variable is v on.
func (t *thread) beginStreams(id int, n, v int64) error {
	p := t.p
	l := p.near[id]
	if s := t.near; s != nil && s.between && s.l.info == p.loops[id] {
		s.between = false
		s.rows--
		t.begun = len(t.out.Ops)
		return nil
	}
	if t.near != nil && t.near.l.rowAt(p.loops[id]) != nil {
		t.counts[id].nested++
	}
	if l == nil || len(l.streams)+len(l.ahead) == 0 || t.near != nil || n <= 0 || t.passesRow(id) {
		return nil
	}
	from := len(t.out.Ops)
	defer func() { t.framed(t.near, from) }()
	if l.sight != nil && len(t.planned) > 0 {
		s, err := t.arrive(l, n, v)
		if err != nil {
			return err
		}
		if s == nil { // later ones wait
			delete(t.clean, l.region)
			t.counts[id].short++
			return nil
		}
		t.cursor.AskAlso(l.asks)
		t.lookAhead(l, id)
		t.syncRange()
		t.begun = len(t.out.Ops)
		return nil
	}
	if p.keeps() {
		return nil
	}
	if l.less != nil && n < scatterShare*int64(p.opt.Streams.Banks) {
		if l = l.less; len(l.streams)+len(l.ahead) == 0 {
			t.counts[id].short++
			return nil
		}
	}
	lanes := int64(l.info.lanes)
	through := t.rows(l, v)
	rows := through.rows
	steps := rows * (n/lanes + n%lanes)
	least := 2 * int64(p.opt.Streams.Range)
	switch {
	case l.racy: // in the core each takes its line from others; nor may it make some beside streams
		least = 1
	case l.early && !l.reducing(): // a message for each stream
		least = int64(len(l.streams))
	}
	if len(l.streams) > 0 && (steps < least || !t.inside(l, v, v+(n-1)*l.info.src.Stride())) {
		delete(t.clean, l.region)
		t.counts[id].short++
		if l = l.inCore; l == nil || len(l.ahead) == 0 || !p.opt.Streams.History {
			return nil
		}
		through = t.rows(l, v)
		rows = through.rows
	}
	if t.counts[id].aliased > 0 {
		t.counts[id].kept++
		return nil
	}
	g := t.configure(l, id, n, v, through)
	if g == nil {
		t.counts[id].short++
		return nil
	}
	chosen := false
	if p.opt.Streams.History && t.history != nil && len(g.Streams) > 0 {
		if l.inCore != nil && through.plane == 0 {
			t.comesAgain(l, g, v, rows)
		}
		if choice := t.history.Choose(g); choice != se.Leaves && l.inCore != nil {
			t.counts[id].stayed[choice]++
			delete(t.clean, l.region) // later ones begin behind its iterations, which the engine would count as theirs
			if l = l.inCore; len(l.ahead) == 0 {
				return nil
			}
			through = t.rows(l, v)
			rows = through.rows
			g = t.configure(l, id, n, v, through)
			chosen = true
		}
	}
	if len(g.Streams) == 0 {
		if p.opt.Streams.History && t.history != nil {
			t.history.Keeps(g, chosen)
		}
		if through.plane == 0 {
			g.Beyond = t.beyond(l, n, v, rows)
		}
	}
	if t.passes(l, id, n, rows) {
		return nil
	}
	if t.underWay() && t.lately != l { // one loop at a time
		if t.lately.racy {
			t.counts[id].short++
			return nil
		}
		t.release(0)
	}
	if l.several && !l.early { // the engine itself lets others wait for room
		t.place(l)
	}
	t.workOf(l, id).rows += rows
	if l != p.near[id].inCore {
		t.counts[id].configured++
		t.counts[id].through += rows - 1
		if through.plane > 0 {
			t.counts[id].planes += rows/through.plane - 1
		}
	}
	t.groups = append(t.groups, g)
	t.made++
	t.logged(l)
	t.near = &nearState{id: id, l: l, n: g.N, rows: rows, offload: len(g.Streams) > 0, group: t.made, ordered: len(g.Streams) > 0 && !l.free, g: g, asked: -1}
	t.cursor.AskAlso(l.asks)
	if t.near.ordered {
		t.ordered()
	}
	if t.near.offload {
		t.fence(l)
	}
	if l.early {
		t.begins(l, t.register)
		if l.sight != nil {
			t.lately = l
			t.lookAhead(l, id)
		}
		t.syncRange()
		t.begun = len(t.out.Ops)
		return nil
	}
	t.bringRows(l)
	t.bringHoisted(l)
	for range len(l.streams) + len(l.ahead) {
		t.out.Ops = append(t.out.Ops, l.input, l.input) // where it begins, and how long it is
	}
	o := l.input
	o.PC = p.pcsNear.Configure
	t.out.Ops = append(t.out.Ops, o)
	t.syncRange()
	t.begun = len(t.out.Ops)
	return nil
}

// fence lets what the core has stored be performed before streams of a loop read it.
func (t *thread) fence(l *nearLoop) {
	if l.several && t.clean[l.region] {
		return
	}
	t.out.Ops = append(t.out.Ops, l.fences[0])
	if l.several {
		t.clean[l.region] = true
	}
}

// bringHoisted loads elements that the loop does not change.
func (t *thread) bringHoisted(l *nearLoop) {
	for k := range l.streams {
		s := &l.streams[k]
		for i, u := range s.hoisted {
			t.access(s.bring[i], u, t.elementOf(u, l.info, 0), t.val[t.p.names[u.s.Name]])
		}
	}
}

// configure makes the streams of n iterations of a loop, from the one whose variable is v on,
// in each of some rows.
func (t *thread) configure(l *nearLoop, id int, n, v int64, x through) *se.Group {
	p, nest, rows := t.p, x, x.rows
	row := n
	n *= rows
	for k := range l.streams {
		for _, u := range l.streams[k].hoisted {
			slot := p.names[u.s.Name]
			t.set(int(slot), p.memory[u.s.Array][t.elementOf(u, l.info, v)], t.cur[slot])
		}
	}
	lanes := int64(l.info.lanes)
	g := &se.Group{Loop: uint32(id), N: n, Lanes: lanes, Range: int64(p.opt.Streams.Range) * lanes, SyncFree: l.free, Decoupled: l.gone,
		Fine: p.opt.Streams.Rival == Meeting || slices.ContainsFunc(l.streams, func(x nearStream) bool { return x.task })}
	g.Window = g.Range * t.slice(l, lanes)
	if p.opt.Streams.Adaptive {
		for k := int64(0); k < t.counts[id].configured && 4*g.Range <= min(n, int64(p.opt.Streams.Ahead)*lanes); k++ {
			g.Range *= 2
		}
	}
	if rows > 1 {
		g.Row, g.Plane = row, nest.plane
	}
	if p.opt.Streams.Rival == Chained { // nothing is credited on the way
		g.Range = (n + lanes - 1) / lanes * lanes
	}
	configured := func(s *nearStream) se.Stream {
		x := se.Stream{Name: s.name, Kind: s.kind, Inputs: s.inputs, Near: s.near, ToCore: s.toCore, Config: s.config, Varies: s.varies, Bytes: s.tm.typ.Bytes()}
		if s.result != nil {
			x.Result = s.result.typ.Bytes()
		}
		if s.where != nil {
			x.Indirect, x.At = true, t.addresses(s, v, l.info)
			if s.row != nil || !s.value.takes() && !s.cond.takes() && !s.carries {
				x.Inputs = nil
			}
			x.Relaxed = s.tm.s.Racy
			x.Fields, x.Performed, x.Old, x.ToCore = s.fields, t.follow(s), s.old, s.old || s.toCore
			x.Bytes = s.tm.bytes
			if s.row != nil {
				x.Row, x.Bytes = int(s.row.n), int(s.row.n)*s.tm.bytes
			}
		} else if s.kind != se.Reduce {
			x.Bytes = s.tm.bytes
			x.Base = t.elementAt(s.tm, l.info, v)
			x.Stride = int64(t.elementAt(s.tm, l.info, v+l.info.src.Stride()) - x.Base)
		} else {
			x.Init = t.val[s.index]
			if s.tm.reduces && !s.tm.ordered && lanes > 1 && s.join == scalar.NoOp {
				x.Tree = latencyNear(kindOf(&stream.Expr{Kind: stream.ApplyExpr, Op: s.tm.op}, s.tm.typ))
			}
		}
		switch {
		case s.join != scalar.NoOp:
			s.joins(&x, s.join)
			x.Scattered = true
		case s.parts != scalar.NoOp && p.opt.Streams.Strands > 0 && l.gone:
			s.joins(&x, s.parts)
		}
		switch {
		case s.row != nil && s.value != nil:
			x.Func, x.Work = t.rowOf(s), s.row.work
		case s.value != nil:
			x.Func = t.bind(s, v, l.info)
		}
		if rows > 1 {
			x.RowStride, x.PlaneStride = nest.row[s], nest.planes[s]
			if x.Func != nil {
				x.Func = inRows{x.Func, row}
			}
		}
		x.PC = [2]uint32{s.tm.one.access.PC, s.tm.many.access.PC}
		switch {
		case s.task:
			x.Task, x.PC = true, [2]uint32{s.from.one.access.PC, s.from.many.access.PC}
		case s.kind == se.Store:
			x.PC = [2]uint32{s.tm.one.store.PC, s.tm.many.store.PC}
		}
		return x
	}
	for k := range l.streams {
		g.Streams = append(g.Streams, configured(&l.streams[k]))
	}
	for k := range l.ahead {
		g.Ahead = append(g.Ahead, configured(&l.ahead[k]))
	}
	if !g.Fit(p.opt.Streams.Room) {
		return nil
	}
	p.split(l, g)
	return g
}

// slice is how many iterations of the core the lines last that a stream may have under way, of a
// loop whose streams are affine: what has to be under way is bytes. With room for less than a
// range there is one range at a time.
func (t *thread) slice(l *nearLoop, lanes int64) int64 {
	widest := int64(1)
	for k := range l.streams {
		s := &l.streams[k]
		if s.where != nil || t.p.opt.Streams.Ahead < t.p.opt.Streams.Range {
			return 1
		}
		if s.kind == se.Reduce {
			continue
		}
		v := l.info.src.Stride()
		at := int64(t.elementAt(s.tm, l.info, v) - t.elementAt(s.tm, l.info, 0))
		widest = max(widest, at, -at)
	}
	return max(1, lineBytes/widest/lanes)
}

// syncRange waits until streams may begin a range.
func (t *thread) syncRange() {
	s := t.near
	if s.offload && !s.l.gone && s.g.Begins(s.done) {
		t.remember()
	}
	if s.offload && !s.l.gone && s.done < s.n && s.g.Begins(s.done) {
		t.marked(extra, nil, nil)
		t.word(s.l.sync, se.Sync(s.group, s.g.RangeOf(s.done)), 0)
	}
}

// inside reports whether all elements of conditional accesses are in their arrays, so that a
// bank may read them before it knows the condition.
func (t *thread) inside(l *nearLoop, v, last int64) bool {
	for k := range l.streams {
		s := &l.streams[k]
		if s.kind == se.Reduce || s.tm.s.If == nil || s.where != nil {
			continue
		}
		a := &t.p.arrays[s.tm.array]
		for _, at := range []int64{v, last} {
			if addr := t.elementAt(s.tm, l.info, at); addr < a.base || addr >= a.base+t.p.bytesOf(s.tm.array) {
				return false
			}
		}
	}
	return true
}

// bytesOf is how many bytes an array has from its first element to behind its last one.
func (p *Program) bytesOf(array int) uint64 {
	n := uint64(len(p.memory[p.graph.Arrays[array].Name]))
	if n == 0 {
		return 0
	}
	a := &p.arrays[array]
	return a.address(int64(n-1)) - a.base + uint64(a.bytes)
}

// elementAt is the address of an access of a loop for a value of its variable.
func (t *thread) elementAt(tm *template, l *loopInfo, v int64) uint64 {
	return t.address(tm.array, t.elementOf(tm, l, v))
}

// elementOf is the number of the element.
func (t *thread) elementOf(tm *template, l *loopInfo, v int64) int64 {
	p := t.p
	a := &p.graph.Arrays[tm.array]
	elem, size := int64(0), int64(1)
	for d, x := range tm.s.Index {
		at := x.Offset()
		for _, name := range x.Symbols() {
			at += x.Coef(name) * t.number(name, l, v)
		}
		elem += at * size
		n := a.Size[d].Offset()
		for _, name := range a.Size[d].Symbols() {
			n += a.Size[d].Coef(name) * p.args.Symbols[name]
		}
		size *= n
	}
	return elem
}

// number is what a name is in a subscript at present.
func (t *thread) number(name string, l *loopInfo, v int64) int64 {
	p := t.p
	if name == l.src.Var {
		return v
	}
	slot := p.names[name]
	typ := scalar.Int64
	if int(slot) < len(p.streams) {
		typ = p.streams[slot].typ
	} else if q := p.graph.Param(name); q != nil {
		typ = q.Type
	}
	return int64(scalar.Convert(typ, scalar.Int64, t.val[slot]))
}

// endStreams waits until all streams of the loop have ended, takes what they reduced, and
// goes on. The thread itself waits where the order of updates is the machine's: only
// then has its memory all of them.
func (t *thread) endStreams(then func(t *thread) error) error {
	s := t.near
	if s == nil {
		return goOn(t, then)
	}
	if s.l.chase != nil {
		t.endChase(s)
		if t.log != nil {
			t.log.until = t.handed + uint64(len(t.out.Ops)-t.done)
		}
	}
	waits := false
	if s.offload && (!s.l.several || s.l.reducing()) {
		for k := range s.l.streams {
			if x := &s.l.streams[k]; x.kind == se.Reduce {
				v := t.val[x.index]
				t.marked(extra, nil, nil)
				t.word(x.final, se.Final(s.group, k), v)
				t.set(x.index, v, x.final.Dst)
				waits = true
			}
		}
	}
	if s.l.several {
		t.unfinished, t.lately = append(t.unfinished, s.group), s.l
		t.recent()
		t.near = nil
		return goOn(t, then)
	}
	if s.offload {
		if !waits || s.l.racy {
			o := s.l.streams[0].final
			if s.l.racy {
				o.Flags |= uop.Blocking | uop.Racy
			}
			t.marked(extra, nil, nil)
			t.word(o, se.Final(s.group, 0), 0)
		}
		if s.l.racy {
			t.near = nil
			t.waits(s, func([]byte) error {
				t.out.Ops = append(t.out.Ops, s.l.fences[1])
				if t.log != nil {
					t.log.until = t.handed + uint64(len(t.out.Ops)-t.done)
				}
				return goOn(t, then)
			}, func() error { return goOn(t, then) })
			return nil
		}
		t.out.Ops = append(t.out.Ops, s.l.fences[1])
		if t.log != nil {
			t.log.until = t.handed + uint64(len(t.out.Ops)-t.done)
		}
	}
	t.near = nil
	return goOn(t, then)
}

func goOn(t *thread, then func(t *thread) error) error {
	if then == nil {
		return nil
	}
	return then(t)
}

// stream takes out of micro-ops those that have left the core, and adds what steps streams.
func (t *thread) stream(from int) {
	s := t.near
	if s == nil || s.between || from == len(t.out.Ops) {
		return
	}
	p := t.p
	if s.l.chase != nil {
		t.chased(from)
		return
	}
	if r := t.inRow(); r != nil {
		t.leftRow(r, from)
		return
	}
	if s.l.gone {
		t.vanish(from)
		return
	}
	t.scratch = append(t.scratch[:0], t.out.Ops[from:]...)
	t.out.Ops = t.out.Ops[:from]
	for _, o := range t.scratch {
		owner := p.owners[o.PC-1]
		if o.Kind == uop.Load && o.Addr == se.Window { // of a closure
			if s.ordered {
				for i := range s.computed[0] {
					t.marked(aside, &s.computed[0][i], nil)
				}
				s.computed = s.computed[1:]
				t.marked(extra, nil, nil)
			}
			k := slices.IndexFunc(s.l.streams, func(x nearStream) bool { return x.load[0].PC == o.PC || x.load[1].PC == o.PC })
			o.Addr = se.Element(s.group, k, s.steps)
			if s.ordered {
				t.out.Ops = append(t.out.Ops, o)
				continue
			}
		}
		if s.l.takesBy(o.PC) {
			t.marked(took, nil, nil)
			t.out.Ops = append(t.out.Ops, o)
			continue
		}
		if k, ok := s.l.loads[owner]; ok && owner != nil {
			if o.Kind != uop.Load && o.Kind != uop.Gather {
				if !o.Kind.Memory() && o.Kind != uop.Branch && o.Dst == s.l.streams[k].tm.one.lea.Dst {
					t.marked(aside, &o, nil)
					continue // its address
				}
				t.out.Ops = append(t.out.Ops, o)
				continue
			}
			w := 0
			if o.Lanes > 1 {
				w = 1
			}
			x := s.l.streams[k].load[w]
			x.Kind, x.Dst, x.Lanes, x.Size, x.Data = uop.Load, o.Dst, o.Lanes, o.Size, o.Data
			if o.Kind == uop.Gather {
				x.Data += 8 * uint32(o.Lanes)
			}
			x.Addr = se.Element(s.group, k, s.steps)
			if r := s.l.streams[k].row; r != nil {
				x.Addr += o.Addr % uint64(int(r.n)*r.of.bytes)
			}
			t.marked(instead, &o, nil)
			t.out.Ops = append(t.out.Ops, x)
			continue
		}
		if owner != nil && s.l.drop[owner] {
			t.marked(gone, &o, owner)
			continue
		}
		t.out.Ops = append(t.out.Ops, o)
		n := int64(0)
		step := p.pcsNear.Step + 2*uint32(s.id)
		switch o.PC {
		case s.l.info.step[2].PC:
			n = 1
		case s.l.info.vstep[2].PC:
			n, step = int64(s.l.info.lanes), step+1
		}
		if n > 0 {
			x := s.l.input
			x.PC = step
			t.marked(extra, nil, nil)
			t.out.Ops = append(t.out.Ops, x)
			s.done += n
			s.steps++
			t.syncRange()
		}
	}
}

// vanish takes all micro-ops of a loop out that is no more there, but for what is loaded in
// front of it.
func (t *thread) vanish(from int) {
	keep := t.out.Ops[:from]
	for _, o := range t.out.Ops[from:] {
		owner := t.p.owners[o.PC-1]
		if owner == nil || t.near.l.drop[owner] {
			continue
		}
		keep = append(keep, o)
	}
	t.out.Ops = keep
}

// beginAt configures the streams of n iterations of a loop, from one on.
func (t *thread) beginAt(l *loopState, first, n int64) error {
	src := l.info.src
	if t.p.near == nil || t.p.near[l.id] == nil {
		return nil
	}
	if t.p.near[l.id].chase != nil {
		t.beginChase(l)
		return nil
	}
	if src.Open {
		return nil
	}
	if err := t.beginStreams(l.id, n, t.firstOf(l.info)+first*src.Stride()); err != nil {
		return err
	}
	if t.pass.l == l {
		t.pass.first, t.pass.n = first, n
	}
	if near := t.p.near[l.id]; near.sight != nil && t.near == nil && n > 0 && len(t.unfinished) > 0 && t.lately == near {
		return t.drain(nil) // what the core makes of this instance comes behind what banks write
	}
	return nil
}

// leaveStreams ends the streams of a loop that is left, or of a part of it, and goes on.
func (t *thread) leaveStreams(from int, l *loopState, then func(t *thread) error) error {
	delete(t.clean, l.info.src)
	if t.lately != nil && t.lately.sight != nil && t.lately.region == l.info.src {
		t.sighted = 0
		if len(t.planned) > 0 {
			return fmt.Errorf("micro: thread %d leaves the loop over %s and has configured streams of a later iteration", t.id, l.info.src.Var)
		}
	}
	if len(t.unfinished) > 0 && t.lately.region == l.info.src {
		return t.drain(then)
	}
	if t.near == nil || t.near.l.info != l.info {
		return goOn(t, then)
	}
	t.stream(from)
	if t.near.rows > 1 {
		t.near.between, t.begun = true, len(t.out.Ops)
		return goOn(t, then)
	}
	s, end := t.near, len(t.out.Ops)
	return t.endStreams(func(t *thread) error {
		t.framed(s, end)
		return goOn(t, then)
	})
}
