package micro

import (
	"slices"

	"github.com/bitsched/bitsched/lowering/nearstream"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/se"
	"github.com/bitsched/bitsched/tile/uop"
)

// chaseLoop is a loop that chases pointers and writes nothing, as a bank executes it: its
// accesses and values in the order of the program. The core has no iterations of it, since
// only the bank knows how many there are.
type chaseLoop struct {
	body    []chaseStep
	while   *term
	test    int           // operations of it
	state   map[int32]int // places of streams among what the loop has come to
	live    [][]bool      // values that are needed from a step on, by step
	results []chaseResult
	slots   []int32 // values from outside
	ids     int     // terms
	config  int     // bytes
	bare    []bool  // whether addresses follow from live values, by step
	places  int     // streams of the core
	pe      int     // operations that the PE of an engine does at once, at most
	begin   uop.Op
	ended   uop.Op // waits for a loop that leaves nothing behind: what it reads may be written then
}

// chaseStep is a load or a value.
type chaseStep struct {
	tm          *template
	index       int
	cond, value *term
	kept        *term  // the value as it was made
	ops         [2]int // of the condition and of the value
}

// chaseResult is what the core takes. A sum begins with 0, and the core adds it to what it had.
type chaseResult struct {
	index int
	sum   bool
	load  uop.Op
	add   uop.Op
}

// chase makes a loop that chases pointers; the text says why it is none.
func (p *Program) chase(near *nearLoop) (*chaseLoop, string) {
	l := near.info
	const open = "the number of iterations is not known before"
	if l.src.While == nil || p.opt.Streams.Level != Compute || p.opt.Streams.Rival == Meeting {
		return nil, open
	}
	c := &chaseLoop{state: map[int32]int{}}
	chases := false
	var streams, placed []*nearstream.Stream
	for _, i := range l.body {
		tm := p.streams[i]
		s := tm.s
		plan := p.opt.Streams.Plan.Of(s)
		switch {
		case s.Kind == stream.Load && !s.Racy && s.Value == nil && p.graph.Arrays[tm.array].Scope != stream.Private:
			chases = chases || plan != nil && plan.Address == nearstream.PointerChasing
		case s.Kind == stream.Reduce && s.Array == "" && s.Value != nil:
		default:
			return nil, open + ", and it does more than read and reduce"
		}
		if plan != nil && !slices.Contains(streams, plan) {
			streams = append(streams, plan)
			if plan.Place == nearstream.Near {
				placed = append(placed, plan)
			}
		}
		c.state[int32(i)] = len(c.state)
	}
	if !chases {
		return nil, open
	}
	c.config = nearstream.ChaseBytes(placed)
	c.places = min(len(streams), nearstream.MaxStreams)
	b := &termBuilder{p: p, l: l, of: &template{array: -1}, x: &nearStream{}, done: map[*stream.Expr]*term{}, state: c.state}
	count := func(f func() *term) (*term, int) {
		before := b.ops
		x := f()
		return x, b.ops - before
	}
	for _, i := range l.body {
		tm := p.streams[i]
		st := chaseStep{tm: tm, index: i}
		if tm.s.If != nil {
			st.cond, st.ops[0] = count(func() *term { return b.expr(tm.s.If) })
		}
		if tm.s.Kind == stream.Load {
			st.value, st.ops[1] = count(func() *term { return b.element(tm) })
		} else {
			st.value, st.ops[1] = count(func() *term { return b.expr(tm.s.Value) })
		}
		c.body = append(c.body, st)
	}
	for i := range c.body {
		st := &c.body[i]
		st.kept = st.value
		st.cond, st.value = c.known(b, i, st.cond), c.known(b, i, st.value)
	}
	c.while, c.test = count(func() *term { return b.expr(l.src.While) })
	if b.failed {
		return nil, open + ", and it takes what only the core has"
	}
	c.ids = b.ids
	var collect func(x *term)
	c.pe = nearstream.PEOperations
	collect = func(x *term) {
		if x == nil {
			return
		}
		if x.cost > 1 {
			c.pe = 0
		}
		if x.kind == slotTerm && !slices.Contains(c.slots, x.slot) {
			c.slots = append(c.slots, x.slot)
		}
		for _, arg := range x.args {
			collect(arg)
		}
	}
	collect(c.while)
	for _, st := range c.body {
		collect(st.cond)
		collect(st.value)
	}
	for _, i := range p.behind(l) {
		tm := p.streams[i]
		if tm.lazy {
			return nil, open + ", and a condition of it is taken behind it"
		}
		c.results = append(c.results, chaseResult{index: i, sum: tm.carried && tm.typ.Int() && p.sums(tm, l)})
	}
	c.liveness()
	p.around(near)
	return c, ""
}

// known makes of a term of a step one that takes what steps before it have computed, and not what
// they took, so that only that goes along.
func (c *chaseLoop) known(b *termBuilder, i int, x *term) *term {
	if x == nil || x.kind != applyTerm && x.kind != convertTerm {
		return x
	}
	for k := i - 1; k >= 0; k-- {
		o := &c.body[k]
		if x.follows(c.state[int32(o.index)]) { // it is another one now
			break
		}
		if o.kept == x && o.cond == nil && o.tm.s.Kind == stream.Reduce && o.tm.typ.Bytes() == 8 {
			b.ids++
			return &term{kind: inTerm, in: c.state[int32(o.index)], id: b.ids - 1}
		}
	}
	y := *x
	y.args = slices.Clone(x.args)
	for k, arg := range y.args {
		y.args[k] = c.known(b, i, arg)
	}
	return &y
}

// liveness finds which values are needed when a step waits for its element, or, at step 0, is
// the condition of the loop.
func (c *chaseLoop) liveness() {
	n := len(c.body)
	c.live, c.bare = make([][]bool, n+1), make([]bool, n+1)
	for i := range c.live {
		c.live[i] = make([]bool, n)
	}
	var use func(set []bool, x *term)
	use = func(set []bool, x *term) {
		if x == nil {
			return
		}
		if x.kind == inTerm {
			set[x.in] = true
		}
		for _, arg := range x.args {
			use(set, arg)
		}
	}
	before := make([]bool, n) // what is needed in front of the step that comes next
	for range 2 {             // once more round the loop
		for i := n; i >= 0; i-- {
			if i == 0 {
				use(before, c.while)
				for _, r := range c.results {
					before[c.state[int32(r.index)]] = true
				}
				copy(c.live[0], before)
				continue
			}
			st := &c.body[i-1]
			if st.cond == nil || st.tm.s.Kind != stream.Reduce {
				before[c.state[int32(st.index)]] = false
			}
			copy(c.live[i], before)
			needed := make([]bool, n)
			use(needed, st.value)
			c.bare[i] = true
			for k, used := range needed {
				c.bare[i] = c.bare[i] && (!used || before[k])
			}
			use(before, st.value)
			use(before, st.cond)
		}
	}
}

// behind lists the values of a loop that are taken outside of it.
func (p *Program) behind(l *loopInfo) (list []int) {
	used := map[string]bool{}
	expr := func(x *stream.Expr) {
		x.Walk(func(y *stream.Expr) {
			if y.Kind == stream.RefExpr {
				used[y.Name] = true
			}
		})
	}
	p.graph.Walk(func(loops []*stream.Loop, s *stream.Stream) {
		if slices.Contains(loops, l.src) || p.idle(s) {
			return
		}
		for _, x := range []*stream.Expr{s.Value, s.If, s.Init} {
			expr(x)
		}
		for _, x := range s.Index {
			for _, name := range x.Symbols() {
				used[name] = true
			}
		}
	})
	for _, o := range p.loops {
		if o == l {
			continue
		}
		for _, name := range append(o.src.Range.Lo.Symbols(), o.src.Range.Hi.Symbols()...) {
			used[name] = true
		}
		expr(o.src.While)
	}
	for _, i := range l.body {
		if used[p.streams[i].s.Name] {
			list = append(list, i)
		}
	}
	return list
}

// idle reports whether a value is taken by nothing.
func (p *Program) idle(s *stream.Stream) bool {
	if s.Kind != stream.Reduce || s.Array != "" {
		return false
	}
	taken := false
	p.graph.Walk(func(_ []*stream.Loop, o *stream.Stream) {
		taken = taken || uses(o, s.Name) || o.Init.Uses(s.Name)
	})
	for _, o := range p.loops {
		taken = taken || o.src.Range.Lo.Coef(s.Name) != 0 || o.src.Range.Hi.Coef(s.Name) != 0 || o.src.While.Uses(s.Name)
	}
	return !taken
}

// sums reports whether a value of a loop is what it was in front of it and a sum, which
// nothing else in the loop takes.
func (p *Program) sums(tm *template, l *loopInfo) bool {
	name := tm.s.Name
	for _, i := range l.body {
		if o := p.streams[i]; o != tm && uses(o.s, name) {
			return false
		}
	}
	if l.src.While.Uses(name) || tm.s.If != nil {
		return false
	}
	var sum func(x *stream.Expr) bool
	sum = func(x *stream.Expr) bool {
		switch {
		case x.Kind == stream.RefExpr:
			return x.Name == name
		case x.Kind != stream.ApplyExpr:
			return false
		case x.Op == scalar.Select:
			return !x.Args[0].Uses(name) && sum(x.Args[1]) && sum(x.Args[2])
		case x.Op == scalar.Add:
			return sum(x.Args[0]) && !x.Args[1].Uses(name) || sum(x.Args[1]) && !x.Args[0].Uses(name)
		}
		return false
	}
	return sum(tm.s.Value)
}

// around finds the outermost loop around one, within a parallel loop, in which nothing is
// written that it reads: what the core has stored need be performed only once, in front of
// that.
func (p *Program) around(near *nearLoop) {
	loops := p.graph.Loops(p.streams[near.info.body[0]].s)
	for _, o := range slices.Backward(loops) {
		written := false
		p.graph.Walk(func(in []*stream.Loop, s *stream.Stream) {
			if !slices.Contains(in, o) || s.Kind != stream.Store && s.Kind != stream.RMW {
				return
			}
			for _, i := range near.info.body {
				if a := p.streams[i].s.Array; a != "" && p.together(a, s.Array) {
					written = true
				}
			}
		})
		if written {
			return
		}
		near.region = o
		if o.Parallel != nil {
			return
		}
	}
}

// chaseOps makes the micro-ops of a loop. It begins behind the fence that gives order, see
// [thread.begins].
func (p *Program) chaseOps(c *chaseLoop, values map[string]uop.Reg, word, order uop.Reg) error {
	reg, err := p.reg()
	if err != nil {
		return err
	}
	c.begin = uop.Op{PC: p.pc(), Kind: uop.Load, Lanes: 1, Dst: reg, Src: [3]uop.Reg{reg, word, order}, Size: 8}
	c.ended = uop.Op{PC: p.pc(), Kind: uop.Load, Lanes: 1, Dst: reg, Size: 8}
	for k := range c.results {
		r := &c.results[k]
		r.load = uop.Op{PC: p.pc(), Kind: uop.Load, Lanes: 1, Dst: values[p.streams[r.index].s.Name], Src: [3]uop.Reg{reg}, Size: 8}
		if r.sum {
			r.add = uop.Op{PC: p.pc(), Kind: uop.IntALU, Lanes: 1, Dst: r.load.Dst}
			if r.load.Dst, err = p.reg(); err != nil {
				return err
			}
		}
	}
	return nil
}

// walk is an instance of it.
type walk struct {
	*function
	c     *chaseLoop
	t     *thread
	start []uint64
}

// The first values of a walk: the step that is next, and how many iterations were made.
const (
	walkStep = iota
	walkSteps
	walkValues
)

// walkBytes are those of the step: iteration and address are fields of the pattern.
const walkBytes = 1

func (w *walk) Start() []uint64 { return slices.Clone(w.start) }

// Pack implements se.Walk.
func (w *walk) Pack(state []uint64) int {
	n := walkBytes
	for i, needed := range w.c.live[state[walkStep]] {
		if needed {
			n += w.c.body[i].tm.typ.Bytes()
		} else {
			state[walkValues+i] = 0
		}
	}
	return n
}

func (w *walk) Steps(state []uint64) int64 { return int64(state[walkSteps]) }

func (w *walk) Bare(state []uint64) bool { return w.c.bare[state[walkStep]] }

func (w *walk) Place(state []uint64) int { return int(state[walkStep]) }

func (w *walk) value(x *term, state []uint64) scalar.Value {
	clear(w.known)
	return w.eval(x, 0, state[walkValues:], int64(state[walkSteps]))
}

// Next implements se.Walk.
func (w *walk) Next(state []uint64) (addr uint64, bytes, ops int, ok bool) {
	for {
		if state[walkStep] == 0 {
			ops += w.c.test
			if w.value(w.c.while, state) == 0 {
				return 0, 0, ops, false
			}
			state[walkStep] = 1
		}
		for int(state[walkStep]) <= len(w.c.body) {
			st := &w.c.body[state[walkStep]-1]
			at := &state[walkValues+w.c.state[int32(st.index)]]
			made := true
			if st.cond != nil {
				ops += st.ops[0]
				made = w.value(st.cond, state) != 0
			}
			load := st.tm.s.Kind == stream.Load
			switch {
			case made && load:
				ops += st.ops[1]
				return w.t.address(st.tm.array, int64(w.value(st.value, state))), st.tm.bytes, ops, true
			case made:
				ops += st.ops[1]
				*at = w.value(st.value, state) & st.tm.typ.Mask()
			case load:
				*at = 0
			}
			state[walkStep]++
		}
		state[walkStep] = 0
		state[walkSteps]++
	}
}

// Take implements se.Walk.
func (w *walk) Take(state []uint64, v uint64) {
	state[walkValues+w.c.state[int32(w.c.body[state[walkStep]-1].index)]] = v
	state[walkStep]++
}

// Result implements se.Walk.
func (w *walk) Result(state []uint64) (list []uint64) {
	for _, r := range w.c.results {
		list = append(list, state[walkValues+w.c.state[int32(r.index)]])
	}
	if len(list) == 0 { // that it has ended
		return []uint64{0}
	}
	return list
}

// beginChase configures a loop that chases pointers, if it has any iteration.
func (t *thread) beginChase(l *loopState) {
	near := t.p.near[l.id]
	if t.eval(l.info.while) == 0 || t.underWay() || t.p.keeps() {
		return
	}
	if t.counts[l.id].aliased > 0 {
		t.counts[l.id].kept++
		return
	}
	c := near.chase
	w := &walk{c: c, t: t, function: &function{slots: map[int32]scalar.Value{}, step: l.info.src.Stride(), made: make([]scalar.Value, c.ids), known: make([]bool, c.ids)}}
	w.start = make([]uint64, walkValues+len(c.state))
	s := &nearState{id: l.id, l: near, before: make([]chaseStart, len(c.results))}
	for i, at := range c.state {
		if t.p.streams[i].carried || t.p.streams[i].s.Kind == stream.Reduce {
			w.start[walkValues+at] = t.val[i]
		}
	}
	for k, r := range c.results {
		s.before[k] = chaseStart{t.val[r.index], t.cur[r.index]}
		if r.sum {
			w.start[walkValues+c.state[int32(r.index)]] = 0
		}
	}
	t.logged(near)
	if near.region == nil || !t.clean[near.region] {
		t.out.Ops = append(t.out.Ops, near.fences[0])
		if near.region != nil {
			t.clean[near.region] = true
		}
	}
	inputs := func(slot int32) {
		o := near.input
		o.Src = [3]uop.Reg{t.cur[slot], o.Dst}
		t.out.Ops = append(t.out.Ops, o)
	}
	for _, slot := range c.slots {
		w.slots[slot] = t.val[slot]
		inputs(slot)
	}
	for _, i := range l.info.body {
		if tm := t.p.streams[i]; tm.carried && !slices.ContainsFunc(c.results, func(r chaseResult) bool { return r.index == i && r.sum }) {
			inputs(int32(i))
		}
	}
	g := &se.Group{Loop: uint32(l.id), N: 1, Lanes: 1, Range: int64(t.p.opt.Streams.Range), SyncFree: near.free, Places: c.places, Results: max(1, len(c.results))}
	g.Streams = []se.Stream{{Name: t.p.streams[l.info.body[0]].s.Name, Kind: se.Chase, Walk: w, PE: c.pe, Config: c.config, Varies: 8 * len(c.slots)}}
	t.groups = append(t.groups, g)
	t.made++
	t.counts[l.id].configured++
	s.group, s.g, s.ordered = t.made, g, !near.free
	t.near = s
	if s.ordered {
		t.ordered()
		t.remember()
	}
	t.marked(extra, nil, nil)
	t.word(c.begin, se.Begin(t.made), 0)
	t.begun = len(t.out.Ops)
}

// chaseStart is what a result was before its loop.
type chaseStart struct {
	v scalar.Value
	r uop.Reg
}

// endChase takes what a loop has left behind.
func (t *thread) endChase(s *nearState) {
	c := s.l.chase
	for _, i := range s.l.info.body { // registers of the loop have nothing
		t.set(i, t.val[i], 0)
		t.fresh[i] = false
	}
	if len(c.results) == 0 {
		t.marked(extra, nil, nil)
		t.word(c.ended, se.Final(t.made, 0), 0)
	}
	for k, r := range c.results {
		v := t.val[r.index]
		if !r.sum {
			t.marked(extra, nil, nil)
			t.word(r.load, se.Final(t.made, k), v)
			t.set(r.index, v, r.load.Dst)
			continue
		}
		mask := t.p.streams[r.index].typ.Mask()
		t.marked(extra, nil, nil)
		t.word(r.load, se.Final(t.made, k), (v-s.before[k].v)&mask)
		o := r.add
		o.Src = [3]uop.Reg{r.load.Dst, s.before[k].r}
		t.marked(extra, nil, nil)
		t.out.Ops = append(t.out.Ops, o)
		t.set(r.index, v, o.Dst)
	}
}

// walkedOps is how many micro-ops of one loop that chases pointers are kept for the case that it
// ends before its time. One that has more goes on to its end whatever happens.
const walkedOps = 1 << 16

// chased takes micro-ops of a loop that chases pointers out of the core.
func (t *thread) chased(from int) {
	s := t.near
	if s.ordered && !s.g.Bound {
		for i := range t.out.Ops[from:] {
			t.marked(gone, &t.out.Ops[from+i], nil)
			t.marks[len(t.marks)-1].at = from
		}
		if s.steps += int64(len(t.out.Ops) - from); s.steps > walkedOps {
			s.g.Bound = true
		}
	}
	t.out.Ops = t.out.Ops[:from]
}
