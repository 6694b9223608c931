package micro

import (
	"maps"
	"math"
	"slices"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// Estimate is what threads do for statements, by the numbers of iterations of their loops. All
// but Bytes is of the thread that does most, with what thread 0 does alone.
type Estimate struct {
	MicroOps float64            // without streams
	Vector   float64            // of these, arithmetic of SIMD with floats
	VectorI  float64            // and with integers
	Lines    float64            // that it asks the L3 for, where Private bytes of its caches keep what they can
	Stores   float64            // of these, to write
	Stores1  float64            // lines to write that its L1 does not keep
	Shared   float64            // lines to write that other threads have, since they are around their own
	Ahead    float64            // of Stores, those that a prefetcher which has seen Train neighbours brings
	Forks    float64            // parallel loops
	Bytes    map[string]float64 // of elements that all threads access, once each, by array
	Written  map[string]bool    // arrays
	// With streams at the L3: instances of loops that are configured, lines that their streams
	// read and write, micro-ops that are left, and lines that these ask for.
	Configured, Streamed, Left, Rest float64
	Waits                            float64 // of Configured, those that end before the core goes on
	Longest                          float64 // lines of the streams that access most, of each nest
	// Back is the lines of streams that the core writes, too: they go there and back.
	Back float64
	// Chain is the operations of floats, and ChainInts those of integers, that wait for the one before:
	// of reductions whose order counts.
	Chain, ChainInts float64
	// Carried is the iterations that read an element which the one before has written.
	Carried float64
	// Of the lines that streams leave to the core, those to write, and Turns that of the lines that a
	// reduction at the L3 goes along with.
	RestStores, RestShared, Turns float64
	// Hot is the lines that all threads ask the busiest bank for, where so many bytes lie together.
	Hot float64
}

// unknownTrips stands for the iterations of a loop whose bounds are known only as it is entered.
const unknownTrips = 16

// Caches are the bytes of a thread's own caches, and how lines are shared out to banks. Again is
// the variable of the loop around, if threads have done the same in its last iteration, and Others
// the bytes that they have accessed since.
type Caches struct {
	L1, L2, Banks, Interleave int64
	Train                     int64 // misses that follow each other until more are fetched; 0: none are
	Again                     string
	Others                    float64
}

// Estimate returns what threads do for statements of the program, for values of the sizes and of
// the variables of the loops around. Of bounds that depend on a loop inside it takes the middle.
func (p *Program) Estimate(stmts []stream.Stmt, values map[string]int64, caches Caches) Estimate {
	e := &estimator{p: p, values: maps.Clone(values), Caches: caches, Estimate: Estimate{Bytes: map[string]float64{}, Written: map[string]bool{}}}
	e.body(stmts, 1, 1, false)
	e.misses()
	return e.Estimate
}

type estimator struct {
	Estimate
	Caches
	p      *Program
	values map[string]int64
	loops  []trips
	uses   []use
}

// trips is a loop around: iterations of all threads, and of the one that does most.
type trips struct {
	l         *stream.Loop
	all, each float64
}

// use is an access in its loops, with the distance in bytes from one iteration of each to the
// next: 0 where it stays, and -1 where the subscript follows from data.
type use struct {
	array   *stream.Array
	name    string
	bytes   float64
	size    float64 // of the array, in bytes
	loops   []trips
	strides []float64
	at      []int64 // subscripts in the middle of the loops, as far as they are known
	from    int64   // offset along the variable of the parallel loop, the least and the greatest
	to      int64
	moves   bool // with the variable of the loop around
	near    bool // a stream at the L3 accesses it
	stores  bool
	loaded  bool // before it is written
}

// body walks statements that a thread executes so many times.
func (e *estimator) body(body []stream.Stmt, times, all float64, parallel bool) {
	for _, st := range body {
		switch st := st.(type) {
		case *stream.Loop:
			e.loop(st, times, all, parallel)
		case *stream.Stream:
			i := slices.IndexFunc(e.p.streams, func(t *template) bool { return t.s == st })
			if i < 0 {
				continue
			}
			n := e.ops(e.p.streams[i], 1, times)
			e.MicroOps += n
			e.Left += n
			e.use(e.p.streams[i], false)
		}
	}
}

func (e *estimator) loop(l *stream.Loop, times, all float64, parallel bool) {
	id := slices.IndexFunc(e.p.loops, func(x *loopInfo) bool { return x.src == l })
	if id < 0 {
		return
	}
	info := e.p.loops[id]
	n := float64(unknownTrips)
	lo, err := l.Range.Lo.Eval(e.values)
	if err == nil && !l.Open {
		if hi, err := l.Range.Hi.Eval(e.values); err == nil {
			stride := max(l.Stride(), -l.Stride())
			n = float64(max(0, (hi-lo+stride-1)/stride))
			defer func(old int64, ok bool) {
				if delete(e.values, l.Var); ok {
					e.values[l.Var] = old
				}
			}(e.values[l.Var], has(e.values, l.Var))
			e.values[l.Var] = (lo + hi) / 2
		}
	}
	if n == 0 {
		return
	}
	mine := n
	if l.Parallel != nil && !parallel {
		e.Forks += times
		parallel = true
		threads := int64(len(e.p.threads))
		mine = float64((int64(n) + threads - 1) / threads)
	}
	e.loops = append(e.loops, trips{l, n, mine})
	defer func() { e.loops = e.loops[:len(e.loops)-1] }()
	if !info.inner {
		e.body(l.Body, times*mine, all*n, parallel)
		return
	}
	var near *nearLoop
	if e.p.near != nil {
		near = e.p.near[id]
	}
	lanes := float64(info.lanes)
	rest := math.Mod(mine, lanes)
	steps := (mine-rest)/lanes + rest
	rows := 1.0
	if k := len(e.loops) - 2; near != nil && near.nest != nil && k >= 0 {
		rows = e.loops[k].each
		if near.nest.outer != nil {
			rows *= e.loops[k-1].each
		}
		rows = max(1, min(maxRows, rows))
	}
	if streams := near != nil && len(near.streams) > 0; streams && steps*rows >= 2*float64(e.p.opt.Streams.Range) {
		e.Configured += times / rows
		if !near.several {
			e.Waits += times / rows
		}
	} else {
		near = nil
	}
	over := 3 * steps * times
	e.MicroOps += over
	if near == nil || !near.gone {
		e.Left += over
	}
	for _, i := range info.body {
		t := e.p.streams[i]
		ops := e.ops(t, lanes, times*(mine-rest)) + e.ops(t, 1, times*rest)
		if t.hoisted {
			ops = times
		}
		e.MicroOps += ops
		moved := near != nil && (near.gone || near.drop[t.s])
		if !moved {
			e.Left += ops
		}
		if t.s.Kind == stream.Reduce {
			links := times * mine
			if lanes > 1 && !t.ordered {
				links = times * steps
			}
			if t.typ.Float() {
				e.Chain += links
			} else {
				e.ChainInts += links
			}
			if moved {
				e.Turns += times * mine * float64(max(1, t.bytes)) / lineBytes
			}
		}
		if e.carried(t, info) {
			e.Carried += times * mine
		}
		e.use(t, near != nil && e.streamed(near, t))
	}
}

func has(m map[string]int64, key string) bool { _, ok := m[key]; return ok }

// streamed reports whether a stream of the loop accesses what a template does.
func (e *estimator) streamed(l *nearLoop, t *template) bool {
	_, loads := l.loads[t.s]
	return l.drop[t.s] || loads || slices.ContainsFunc(l.streams, func(s nearStream) bool { return s.tm == t })
}

// carried reports whether a stream writes an element that does not move, and that the iteration after
// reads.
func (e *estimator) carried(t *template, l *loopInfo) bool {
	if t.array < 0 || t.s.Kind != stream.Store && t.s.Kind != stream.RMW || e.chases(t.s) || slices.ContainsFunc(t.s.Index, func(x lattice.Expr) bool { return x.Coef(l.src.Var) != 0 }) {
		return false
	}
	return t.s.Kind == stream.RMW || slices.ContainsFunc(l.body, func(i int) bool {
		s := e.p.streams[i].s
		return s.Kind == stream.Load && s.Array == t.s.Array && slices.EqualFunc(s.Index, t.s.Index, lattice.Expr.Equal)
	})
}

// ops returns the micro-ops of a stream that is executed so many times, by SIMD of so many lanes.
func (e *estimator) ops(t *template, lanes, times float64) float64 {
	if lanes > 1 {
		n := float64(len(t.many.ops))
		if !t.same { // as the stream before
			n += float64(len(t.many.cond))
		}
		if t.ordered {
			n += 2 * lanes // each lane is brought down, and added
		}
		if t.typ.Float() {
			e.Vector += n * times / lanes
		} else {
			e.VectorI += n * times / lanes
		}
		if t.array >= 0 {
			access := 1.0
			if e.apart(t) {
				access = lanes
			}
			if t.s.Kind != stream.Store {
				n += access
			}
			if t.s.Kind == stream.Store || t.s.Kind == stream.RMW {
				n += access
			}
		}
		return n * times / lanes
	}
	n := expressions(t.s.Value) + expressions(t.s.If)
	if t.array >= 0 {
		n++
		if t.s.Kind == stream.RMW {
			n++
		}
	}
	return n * times
}

// apart reports whether elements of neighbouring iterations do not lie side by side.
func (e *estimator) apart(t *template) bool {
	v := e.loops[len(e.loops)-1].l.Var
	for d, x := range t.s.Index {
		c := x.Coef(v)
		if d == 0 && c != 0 && c != 1 || d > 0 && c != 0 {
			return true
		}
	}
	return e.chases(t.s)
}

// chases reports whether the subscripts of a stream follow from what others have read.
func (e *estimator) chases(s *stream.Stream) bool {
	return slices.ContainsFunc(s.Index, func(x lattice.Expr) bool {
		return slices.ContainsFunc(x.Symbols(), func(name string) bool { return e.p.graph.Stream(name) != nil })
	})
}

func expressions(x *stream.Expr) float64 {
	if x == nil {
		return 0
	}
	n := 0.0
	if x.Kind == stream.ApplyExpr {
		n = 1
	}
	for _, a := range x.Args {
		n += expressions(a)
	}
	return n
}

// use notes an access.
func (e *estimator) use(t *template, near bool) {
	if t.array < 0 {
		return
	}
	a := &e.p.graph.Arrays[t.array]
	u := use{array: a, name: a.Name, bytes: float64(t.bytes), size: float64(t.bytes) * float64(len(e.p.memory[a.Name])), loops: slices.Clone(e.loops), near: near, stores: t.s.Kind == stream.Store || t.s.Kind == stream.RMW, loaded: t.s.Kind == stream.RMW}
	chases := e.chases(t.s)
	for _, x := range t.s.Index {
		at, err := x.Eval(e.values)
		if err != nil {
			at = 0
		}
		u.at = append(u.at, at)
	}
	for _, l := range e.loops {
		stride, step := 0.0, float64(t.bytes)
		for d, x := range t.s.Index {
			stride += float64(x.Coef(l.l.Var)) * step
			if n, err := a.Size[d].Eval(e.p.args.Symbols); err == nil {
				step *= float64(n)
			}
		}
		if chases {
			stride = -1
		}
		u.strides = append(u.strides, stride*float64(max(l.l.Stride(), -l.l.Stride())))
	}
	u.moves = chases || slices.ContainsFunc(t.s.Index, func(x lattice.Expr) bool { return x.Coef(e.Again) != 0 })
	for _, l := range e.loops {
		if l.each == l.all {
			continue
		}
		for _, x := range t.s.Index {
			if x.Coef(l.l.Var) != 0 {
				u.from, u.to = x.Offset(), x.Offset()
			}
		}
	}
	for i := range e.uses {
		if x := &e.uses[i]; !near && x.name == u.name && x.near == u.near && x.stores == u.stores && slices.Equal(x.strides, u.strides) && slices.EqualFunc(x.loops, u.loops, func(a, b trips) bool { return a.l == b.l }) && u.beside(x, t.s.Index) {
			x.from, x.to = min(x.from, u.from), max(x.to, u.to)
			return // a neighbour of an element that is accessed anyway
		}
	}
	e.uses = append(e.uses, u)
}

// beside reports whether an access is of what another one of the same array passes, too: their
// distance is less than loops go along each dimension.
func (u *use) beside(x *use, index []lattice.Expr) bool {
	for d := range index {
		far := max(u.at[d]-x.at[d], x.at[d]-u.at[d])
		if far > 0 && !slices.ContainsFunc(u.loops, func(l trips) bool {
			c := index[d].Coef(l.l.Var) * l.l.Stride()
			return float64(far) < l.each*float64(max(c, -c))
		}) {
			return false
		}
	}
	return true
}

// lines returns how many lines a thread, or all of them, access in the loops from a depth on.
func (u *use) lines(from int, all bool) float64 {
	n, least := 1.0, lineBytes*1.0
	for k := from; k < len(u.loops); k++ {
		s := u.strides[k]
		if s < 0 && s != -1 {
			s = -s
		}
		if s == 0 {
			continue
		}
		if s > 0 {
			least = min(least, s)
		}
		if all {
			n *= u.loops[k].all
		} else {
			n *= u.loops[k].each
		}
	}
	return max(1, min(n*least/lineBytes, u.size/lineBytes))
}

// run returns how many lines a thread accesses that follow each other in memory.
func (u *use) run() float64 {
	bytes := u.bytes
	for k, s := range slices.Backward(u.strides) {
		if s = max(s, -s); s > bytes+lineBytes || u.strides[k] == -1 { // a line is left out
			break
		}
		bytes += s * (u.loops[k].each - 1)
	}
	return max(1, bytes/lineBytes)
}

// misses finds what the accesses of each nest ask for: caches keep what the loops from some
// depth on access, if that fits.
func (e *estimator) misses() {
	nests := map[*stream.Loop][]*use{} // by outermost loop
	var order []*stream.Loop
	for i := range e.uses {
		u := &e.uses[i]
		e.Bytes[u.name] = max(e.Bytes[u.name], lineBytes*u.lines(0, true))
		e.Written[u.name] = e.Written[u.name] || u.stores
		var l *stream.Loop
		if len(u.loops) > 0 {
			l = u.loops[0].l
		}
		if nests[l] == nil {
			order = append(order, l)
		}
		nests[l] = append(nests[l], u)
	}
	hot := map[string]float64{}
	for _, l := range order {
		every := func(*use) bool { return true }
		for _, u := range nests[l] {
			u.loaded = u.loaded || u.stores && slices.ContainsFunc(nests[l], func(v *use) bool { return !v.stores && v.name == u.name && slices.Equal(v.strides, u.strides) })
		}
		e.nest(nests[l], float64(e.L2), false, every, func(u *use, lines, shared float64) {
			e.Lines += lines
			if u.loaded { // they are its own by then, if no other thread has them
				e.Stores += shared
				e.Shared += shared
			} else if u.stores {
				e.Stores += lines
				e.Shared += shared
				if e.Train > 0 {
					e.Ahead += lines * (1 - min(1, float64(e.Train+1)/u.run()))
				}
			}
			hot[u.name] += lines * u.threads() / max(1, min(float64(e.Banks), math.Ceil(u.size/float64(max(1, e.Interleave)))))
		})
		e.nest(nests[l], float64(e.L1), false, every, func(u *use, lines, _ float64) {
			if u.stores && !u.loaded {
				e.Stores1 += lines
			}
		})
		e.nest(nests[l], float64(e.L2), true, func(u *use) bool { return !u.near }, func(u *use, lines, shared float64) {
			e.Rest += lines
			if u.loaded {
				e.RestStores += shared
				e.RestShared += shared
			} else if u.stores {
				e.RestStores += lines
				e.RestShared += shared
			}
		})
		longest := 0.0
		for _, u := range nests[l] {
			if !u.near {
				continue
			}
			last := len(u.loops) - 1
			n := u.lines(last, false)
			for _, t := range u.loops[:last] {
				n *= t.each
			}
			e.Streamed += n
			longest = max(longest, n)
			if slices.ContainsFunc(nests[l], func(v *use) bool { return !v.near && v.stores && v.name == u.name }) {
				e.Back += n
			}
		}
		e.Longest += longest
	}
	for _, n := range hot {
		e.Hot = max(e.Hot, n)
	}
}

// threads returns how many there are that do what one does.
func (u *use) threads() float64 {
	n := 1.0
	for _, t := range u.loops {
		n *= t.all / t.each
	}
	return n
}

// nest finds the lines that accesses of a nest ask for beyond so many bytes of caches. Of the rest,
// beside streams, caches do not keep what these access, too.
func (e *estimator) nest(uses []*use, private float64, rest bool, of func(*use) bool, found func(u *use, lines, shared float64)) {
	deepest := 0
	for _, u := range uses {
		deepest = max(deepest, len(u.loops))
	}
	depth, kept := 0, false
	for ; depth < deepest; depth++ {
		bytes := 0.0
		for _, u := range uses {
			if of(u) {
				bytes += lineBytes * u.lines(min(depth, len(u.loops)), false)
			}
		}
		if bytes <= private {
			kept = depth == 0 && e.Again != "" && bytes+e.Others <= private
			break
		}
	}
	around := 0.0 // share of what a thread accesses that others do, too
	for _, u := range uses {
		for _, t := range u.loops {
			if t.each < t.all {
				around = max(around, min(1, float64(u.to-u.from)/t.each))
			}
		}
	}
	for _, u := range uses {
		if !of(u) {
			continue
		}
		if kept && !u.moves && !(!u.near && rest && slices.ContainsFunc(e.uses, func(v use) bool { return v.near && v.name == u.name })) {
			if around > 0 {
				n := around * u.lines(0, false)
				found(u, n, n)
			}
			continue
		}
		d := max(0, min(depth, len(u.loops)-1)) // lines of an innermost loop stay at least
		n := u.lines(d, false)
		for k, t := range u.loops[:d] {
			if k == d-1 && u.strides[k] == 0 {
				continue // what the last of them does not change stays
			}
			n *= t.each
		}
		found(u, n, around*n)
	}
}
