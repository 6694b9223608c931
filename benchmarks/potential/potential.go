// Package potential measures what near-data computing has to gain in a program before
// any of it is built, as figure 1 of Near-Stream Computing does: which share of the
// dynamic micro-ops belongs to streams, and how many bytes times links of a mesh the
// data of abstract systems travel.
//
//	ops, err := potential.MicroOps(ctx, program)
//	traffic, err := potential.Move(ctx, program, potential.System{...})
//	bytes, err := potential.Least(ctx, program, potential.System{...})
//
// It has no time, and none of the traffic of control.
package potential

import (
	"context"
	"math"
	"slices"

	"github.com/bitsched/bitsched/lowering/micro"
	"github.com/bitsched/bitsched/lowering/nearstream"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/noc"
	"github.com/bitsched/bitsched/tile/uop"
)

// Program is a whole function with its arguments, whose memory is changed.
type Program struct {
	Graph       *stream.Graph
	Memory      stream.Memory
	Args        stream.Args
	Reassociate bool
}

// Ops counts micro-ops by what they belong to.
type Ops struct {
	Load  int64 `json:"load"`  // streams near the L3 that load or reduce, with what they compute
	Store int64 `json:"store"` // those that store, or read, modify and write
	Other int64 `json:"other"` // what stays in the core

	// Operands is the part of Load whose values only such streams take that store, or read,
	// modify and write: for what they compute, or for where.
	Operands int64 `json:"operands"`
}

// Total is all micro-ops.
func (o *Ops) Total() int64 { return o.Load + o.Store + o.Other }

// MicroOps executes the program on one thread and counts.
func MicroOps(ctx context.Context, p *Program) (o Ops, err error) {
	code, err := micro.New(p.Graph, p.Memory, p.Args, micro.Options{Threads: 1, Vector: 64, Reassociate: p.Reassociate})
	if err != nil {
		return o, err
	}
	memory := uop.NewFlat(code.Segments())
	plan, err := nearstream.Analyze(p.Graph)
	if err != nil {
		return o, err
	}
	operand := operands(plan)
	var b uop.Batch
	t := code.Threads()[0]
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return o, ctx.Err()
		}
		b.Reset()
		status, err := t.Next(&b, 4096)
		if err != nil {
			return o, err
		}
		var old []byte
		for i := range b.Ops {
			if old, err = memory.Perform(&b, &b.Ops[i]); err != nil {
				return o, err
			}
			s := plan.Of(code.Owner(b.Ops[i].PC))
			switch {
			case s == nil || s.Place != nearstream.Near:
				o.Other++
			case s.Kind == stream.Store || s.Kind == stream.RMW:
				o.Store++
			default:
				o.Load++
				if operand[s] {
					o.Operands++
				}
			}
		}
		switch status {
		case uop.Done:
			return o, nil
		case uop.Wait:
			if err := t.Resolve(old); err != nil {
				return o, err
			}
		}
	}
}

// operands returns the loads near the L3 whose values go to streams that store or update
// and, through such loads alone, to nobody else.
func operands(plan *nearstream.Plan) map[*nearstream.Stream]bool {
	takers := map[*nearstream.Stream][]*nearstream.Stream{}
	for _, s := range plan.Streams {
		for _, in := range s.Inputs {
			takers[in] = append(takers[in], s)
		}
		if s.Base != nil {
			takers[s.Base] = append(takers[s.Base], s)
		}
	}
	is := map[*nearstream.Stream]bool{}
	var visit func(s *nearstream.Stream) bool
	visit = func(s *nearstream.Stream) bool {
		if ok, seen := is[s]; seen {
			return ok
		}
		is[s] = false // also while its takers are visited: a cycle goes nowhere else
		if s.Place != nearstream.Near || s.Kind != stream.Load || s.Result != scalar.Invalid || s.Final || len(takers[s]) == 0 {
			return false
		}
		for _, to := range takers[s] {
			stores := to.Kind == stream.Store || to.Kind == stream.RMW
			if to == s || to.Place != nearstream.Near || !stores && !visit(to) {
				return false
			}
		}
		is[s] = true
		return true
	}
	for _, s := range plan.Streams {
		visit(s)
	}
	return is
}

// System is a mesh with a core and a bank of the L3 at each node.
type System struct {
	Mesh       noc.Config
	LineBytes  int // lines go to banks in turn
	CacheBytes int // of a core's ideal cache: fully associative, by elements, LRU, whose copies others update for nothing
}

// Traffic is bytes of data times links, of three systems.
type Traffic struct {
	NoPrivate int64 `json:"no_private"` // each access goes to its bank
	Private   int64 `json:"private"`    // with an ideal private cache
	Found     int64 `json:"found"`      // by loads in that, of what loads brought there: whatever becomes of stores
	NearLLC   int64 `json:"near_llc"`   // computation is where its operands or results are
	Addresses int64 `json:"addresses"`  // that part of NearLLC which is values that only say where the next element is
	Accesses  int64 `json:"accesses"`   // of elements
}

// Move executes the program sequentially, gives iterations of parallel loops to cores in
// contiguous parts, and counts.
func Move(ctx context.Context, p *Program, s System) (t Traffic, err error) {
	m := newMover(p.Graph, p.Args.Symbols, &s, &t)
	m.visit = func(p *place, e *stream.Event) {
		if !e.Skipped {
			m.step(p, e)
		}
	}
	if err := m.run(ctx, p); err != nil {
		return t, err
	}
	m.flush()
	return t, nil
}

// run lets the mover see all events of the program.
func (m *mover) run(ctx context.Context, p *Program) error {
	program, err := stream.Compile(p.Graph)
	if err != nil {
		return err
	}
	c, err := program.Start(p.Memory, p.Args, true)
	if err != nil {
		return err
	}
	events := make([]stream.Event, 4096)
	for {
		n, err := c.Next(events)
		if err != nil || n == 0 {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		for i := range events[:n] {
			m.event(&events[i])
		}
	}
}

// mover counts traffic.
type mover struct {
	s       *System
	t       *Traffic
	loops   []*stream.Loop
	streams []*place
	arrays  map[string]*layout
	depth   []level
	core    int
	caches  []*cache
	loaded  []*cache                        // the same, with what is known to be in any: stores take room, and no more
	visit   func(p *place, e *stream.Event) // a step of a stream, or one that is skipped
}

// layout is where the elements of an array lie: those of a member of structures in these.
type layout struct{ base, stride, inner, bytes int64 }

func (a *layout) address(elem int64) int64 {
	return a.base + elem/a.inner*a.stride + elem%a.inner*a.bytes
}

// level is a loop that is being executed.
type level struct {
	parallel bool
	n        int64
}

// place is where the value of a stream is.
type place struct {
	s        *stream.Stream
	bytes    int64
	operands []operand
	sent     []int // nodes that have its last value, beside its own
	bank     int   // node of its last element
	self     bool  // it has an element
}

// operand is a value that a stream needs.
type operand struct {
	*place
	address bool // for its subscripts only
}

func newMover(g *stream.Graph, symbols map[string]int64, s *System, t *Traffic) *mover {
	m := &mover{s: s, t: t, arrays: map[string]*layout{}}
	bases := map[string]int64{}
	for i := range g.Arrays {
		a := &g.Arrays[i]
		name := a.Name
		if a.Field != nil {
			name = a.Field.Of
		}
		if _, ok := bases[name]; !ok {
			bases[name] = int64(len(bases)) << 40
		}
		x := &layout{base: bases[name], stride: int64(a.Type.Bytes()), inner: 1, bytes: int64(a.Type.Bytes())}
		if f := a.Field; f != nil {
			x.base, x.stride = x.base+f.Offset, f.Stride
			for _, size := range a.Size[:len(a.Size)-1] {
				n, _ := size.Eval(symbols) // it has been when memory was made
				x.inner *= max(1, n)
			}
		}
		m.arrays[a.Name] = x
	}
	types, _ := g.Types() // a compiled graph has them
	byStream := map[*stream.Stream]*place{}
	var walk func(body []stream.Stmt)
	walk = func(body []stream.Stmt) {
		for _, st := range body {
			switch st := st.(type) {
			case *stream.Stream:
				p := &place{s: st, bytes: int64(max(1, types[st].Bytes())), self: st.Array != ""}
				byStream[st] = p
				m.streams = append(m.streams, p)
			case *stream.Loop:
				m.loops = append(m.loops, st)
				walk(st.Body)
			}
		}
	}
	walk(g.Body)
	for _, d := range g.Deps() {
		// What only bounds a loop or ends it is control, which is looked at where it is.
		if to, ok := d.To.(*stream.Stream); ok && to != d.From {
			list, from := &byStream[to].operands, byStream[d.From]
			i := slices.IndexFunc(*list, func(o operand) bool { return o.place == from })
			if i < 0 {
				i = len(*list)
				*list = append(*list, operand{from, true})
			}
			(*list)[i].address = (*list)[i].address && d.Kind == stream.AddressDep
		}
	}
	for range s.Mesh.Nodes() {
		m.caches = append(m.caches, newCache(s.CacheBytes))
		m.loaded = append(m.loaded, newCache(s.CacheBytes))
	}
	return m
}

func (m *mover) event(e *stream.Event) {
	switch e.What {
	case stream.Enter:
		m.depth = append(m.depth, level{m.loops[e.Stream].Parallel != nil, e.Elem})
	case stream.Next:
		if l := &m.depth[len(m.depth)-1]; l.parallel {
			m.core = int(e.Elem * int64(m.s.Mesh.Nodes()) / max(1, l.n))
		}
	case stream.Leave:
		if m.depth[len(m.depth)-1].parallel {
			m.core = 0
		}
		m.depth = m.depth[:len(m.depth)-1]
	case stream.Step:
		m.visit(m.streams[e.Stream], e)
	}
}

func (m *mover) hops(a, b int) int64 { return int64(m.s.Mesh.Distance(a, b)) }

// step counts an element of a stream.
func (m *mover) step(p *place, e *stream.Event) {
	p.sent = p.sent[:0]
	if p.self {
		a := m.arrays[p.s.Array]
		bytes, addr := a.bytes, a.address(e.Elem)
		p.bank = int(addr / int64(m.s.LineBytes) % int64(m.s.Mesh.Nodes()))
		m.t.Accesses++
		far := bytes * m.hops(m.core, p.bank)
		reads := p.s.Kind != stream.Store
		writes := p.s.Kind == stream.Store || p.s.Kind == stream.RMW
		if reads {
			m.t.NoPrivate += far
		}
		if writes {
			m.t.NoPrivate += far
		}
		m.t.Private += m.access(addr, bytes, reads, writes)
		if m.loaded[m.core].load(addr, bytes, reads) {
			m.t.Found += far
		}
	} else if len(p.operands) > 0 {
		p.bank = m.best(p.operands)
	}
	for _, o := range p.operands {
		if o.bank == p.bank || slices.Contains(o.sent, p.bank) {
			continue
		}
		moved := m.send(o.place, p.bank)
		m.t.NearLLC += moved
		if o.address {
			m.t.Addresses += moved
		}
		o.sent = append(o.sent, p.bank)
	}
}

// send is what it takes to have a value at a bank: a bank keeps what it has got, and the
// nearest one that has it sends it.
func (m *mover) send(o *place, bank int) int64 {
	hops := m.hops(o.bank, bank)
	for _, b := range o.sent {
		hops = min(hops, m.hops(b, bank))
	}
	return o.bytes * hops
}

// best is the bank of an operand at which all of them come together for the least.
func (m *mover) best(operands []operand) int {
	bank, least := 0, int64(math.MaxInt64)
	for _, o := range operands {
		sum := int64(0)
		for _, x := range operands {
			sum += m.send(x.place, o.bank)
		}
		if sum < least {
			bank, least = o.bank, sum
		}
	}
	return bank
}

// access is an access of the core to its ideal cache; it returns the bytes times links.
func (m *mover) access(addr, bytes int64, reads, writes bool) (moved int64) {
	c := m.caches[m.core]
	hit, out := c.touch(addr, bytes, writes)
	if reads && !hit {
		moved += bytes * m.hops(m.core, int(addr/int64(m.s.LineBytes)%int64(m.s.Mesh.Nodes())))
	}
	for _, x := range out {
		moved += x.bytes * m.hops(m.core, int(x.addr/int64(m.s.LineBytes)%int64(m.s.Mesh.Nodes())))
	}
	return moved
}

// flush writes back what is left.
func (m *mover) flush() {
	for i, c := range m.caches {
		for _, x := range c.written() {
			m.t.Private += x.bytes * m.hops(i, int(x.addr/int64(m.s.LineBytes)%int64(m.s.Mesh.Nodes())))
		}
	}
}

// cache is fully associative with elements for lines.
type cache struct {
	room, used int64
	at         map[int64]int32
	list       []element // 0 is the end of the ring
	free       []int32
}

type element struct {
	addr, bytes int64
	dirty       bool
	prev, next  int32
}

func newCache(bytes int) *cache {
	return &cache{room: int64(bytes), at: map[int64]int32{}, list: make([]element, 1)}
}

func (c *cache) unlink(i int32) {
	e := &c.list[i]
	c.list[e.prev].next, c.list[e.next].prev = e.next, e.prev
}

func (c *cache) front(i int32) {
	first := c.list[0].next
	c.list[i].prev, c.list[i].next = 0, first
	c.list[first].prev, c.list[0].next = i, i
}

// touch uses an element, and returns the written ones that had to go.
func (c *cache) touch(addr, bytes int64, writes bool) (hit bool, out []element) {
	if i, ok := c.at[addr]; ok {
		c.unlink(i)
		c.front(i)
		c.list[i].dirty = c.list[i].dirty || writes
		return true, nil
	}
	for c.used+bytes > c.room && len(c.at) > 0 {
		last := c.list[0].prev
		e := c.list[last]
		c.unlink(last)
		delete(c.at, e.addr)
		c.free = append(c.free, last)
		c.used -= e.bytes
		if e.dirty {
			out = append(out, e)
		}
	}
	var i int32
	if n := len(c.free); n > 0 {
		i, c.free = c.free[n-1], c.free[:n-1]
	} else {
		i = int32(len(c.list))
		c.list = append(c.list, element{})
	}
	c.list[i] = element{addr: addr, bytes: bytes, dirty: writes}
	c.front(i)
	c.at[addr] = i
	c.used += bytes
	return false, out
}

// load uses an element, dirty until it is loaded, and tells whether a load finds it.
func (c *cache) load(addr, bytes int64, reads bool) bool {
	hit, _ := c.touch(addr, bytes, false)
	e := &c.list[c.at[addr]]
	if !hit {
		e.dirty = true
	}
	found := hit && reads && !e.dirty
	e.dirty = e.dirty && !reads
	return found
}

func (c *cache) written() (out []element) {
	for i := c.list[0].next; i != 0; i = c.list[i].next {
		if c.list[i].dirty {
			out = append(out, c.list[i])
		}
	}
	return out
}
