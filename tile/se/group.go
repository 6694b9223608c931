package se

import (
	"encoding/binary"
	"slices"

	"github.com/bitsched/bitsched/tile/mem"
)

// Kind is what a stream does with its element.
type Kind uint8

// The kinds.
const (
	Load   Kind = iota // with a function, what follows from the element is sent
	Store              // the element is not read
	Update             // the element becomes what follows from it
	Reduce             // a value goes from iteration to iteration, where another stream's element is
	Chase              // a loop that goes where its pointers point to, of which all is in Walk
)

// Function is a computation near the L3: what the pointer of a configuration points to.
type Function interface {
	// Eval returns the value of an iteration, and whether its condition holds: nothing is
	// written if not. own is the element of an Update or a Load and the value so far of a
	// Reduce; in has one value for each input.
	Eval(own uint64, in []uint64, iteration int64) (v uint64, ok bool)
	// Ops is how many operations it has, Latency how long the longest chain of them takes, and Steps
	// what they are, each behind its operands.
	Ops() int
	Latency() int
	Steps() []Step
	// PE is how many cycles the PE of the engine takes for it; 0: that cannot do it.
	PE() int
}

// Stream is one stream of a group. Its element in iteration i is at Base + i*Stride.
type Stream struct {
	Name   string
	Kind   Kind
	Base   uint64
	Stride int64
	// RowStride is from an element to that of the next row, of a group that has rows.
	RowStride int64
	// PlaneStride is from an element to that of the next plane, of a group that has planes.
	PlaneStride int64
	Bytes       int   // of an element
	Result      int   // bytes of what follows from it and is sent; 0: the element itself
	Inputs      []int // streams of the group
	Func        Function
	Init        uint64 // of a Reduce
	// Tree is how long it takes to join two values of a Reduce whose order is free, and which
	// lanes compute: those of a chunk are joined in a tree. 0: one element after another.
	Tree int
	Near int // of a Reduce: the stream whose element it is computed at; of an indirect one: that its addresses follow from
	// Indirect says that addresses are those of At, whose input is the element of another
	// stream, as is that of the function if it has one. Where the condition of At does not hold, there is no
	// access.
	Indirect bool
	At       Function
	Fields   []int // members of the structure whose element addresses follow from that it takes, too, as bytes from that element; each is as long
	Walk     Walk  // of a Chase
	PE       int   // of a Chase: the most operations at once that the PE of the engine does
	// Row says how many elements, side by side in one line, an indirect load has in each of
	// its iterations: Func has them as inputs, or the core gets them. Work is operations of Func.
	Row, Work int
	// Performed is told what an indirect update writes when it writes it.
	Performed func(addr, v uint64)
	// Old says that the core takes what the element of an indirect update was: the bank
	// changes it before the core commits, and locks its line until then.
	Old bool
	// Relaxed says that its updates are atomic, and those of other instances of the loop need no
	// order with them.
	Relaxed bool
	// Task says that the core sends each element of an indirect stream that writes, when it has
	// committed the load with PC that its address follows from. It has no Near.
	Task bool
	// Scattered says that a Reduce has a part in each bank to which the indirect load Near comes:
	// they begin with Zero, and Join makes one of two. Its inputs are Near, and what the
	// addresses of that follow from.
	Scattered bool
	Zero      uint64
	Join      func(a, b uint64) uint64 // of a Reduce that is none, too, if its strands begin with Zero
	ToCore    bool                     // elements are sent to the core
	Config    int                      // bytes of the message that configures it
	Varies    int                      // of parameters in it, which differ among instances
	// Again says which later instance has the same elements, by the variables of the loops around in
	// which streams are linear.
	Again Again
	PC    [2]uint32 // of its loads in the core, scalar and SIMD

	lead      int   // of loads that are one stream: the one that goes from bank to bank
	members   []int // that it leads, itself the first; nil: it reads what it takes chunk by chunk
	receivers []int
	followers []int // indirect streams
	reducers  []int // reductions over the banks of an indirect load
}

// Again is when the elements of a stream come again.
type Again uint8

// The cases.
const (
	NotAgain  Again = iota // or nobody knows
	NextRow                // in the next instance
	NextPlane              // in the next iteration of the loop around that whose iterations are instances
)

// Group is the streams of a loop, configured together: an instance of the loop.
type Group struct {
	Loop    uint32   // of the program, by the micro-ops that step it
	N       int64    // iterations
	Row     int64    // of them, that are a row: streams are linear in rows and in what is in each; 0: there are none
	Plane   int64    // rows of a plane, as streams are linear in planes, too; 0: there are none
	Lanes   int64    // iterations that one of the core's takes, but for the last ones
	Range   int64    // iterations that are credited and committed at once
	Window  int64    // iterations that [Spec.Ranges] counts in: a range as it is at first
	Streams []Stream // at the L3
	Ahead   []Stream // in the core: lines are fetched, those of stores to be written
	Beyond  []Beyond // in the core: what instances behind this one access
	Rows    int64    // instances in each iteration of the loop around the one whose iterations they are
	Beside  [2]int64 // bytes that other loops access between two instances, and between two of these iterations, at most
	Results int      // of a Chase, which the core loads
	Places  int      // streams of the core that it takes; 0: as many as it has
	// SyncFree says that no two streams are aliased, so that what is computed is written at
	// once; Decoupled, that the core has no iterations of the loop (section V).
	SyncFree, Decoupled bool
	// Bound says that the streams are not ended before their time: the program does not keep
	// what the core would do in their place.
	Bound bool
	// Strands is into how many parts each stream is split, which go on beside each other: Block
	// iterations of each in turn, of which the first one lacks Shift. Both are multiples of Range. 0:
	// there are none, and streams go from bank to bank.
	Strands      int
	Block, Shift int64
	// Alone says that no other core has a part of the loop.
	Alone bool
	// Fine says that the core sends each of its iterations to the bank where operands meet.
	Fine bool

	id       uint32
	report   int64   // ranges after which a reduction tells its value
	needs    []int64 // bytes of the buffer of a bank, by stream
	kept     []int64 // period of the iterations of a strand in which elements come again, by stream; 0: banks do not keep them
	keptFrom int64   // iteration from which they do
	broken   Broken
	patterns string  // of configurations, "" until it is asked for
	self     *head   // of messages that say nothing of a stream but its group
	active   *active // in the engine of its core
}

// itself is the head of a message that says nothing of a stream but its group. It does not change.
func (g *Group) itself() *head {
	if g.self == nil {
		g.self = &head{g: g}
	}
	return g.self
}

// prepare finds who takes elements of each stream, and which are one.
func (g *Group) prepare(id uint32, spec *Spec) {
	g.id = id
	g.report = 1
	if reduces := func(s Stream) bool { return s.Kind == Reduce && !s.Scattered }; spec.Room == 0 && g.Strands == 0 && !g.tied() && slices.ContainsFunc(g.Streams, reduces) {
		g.report = max(1, g.segment(spec)/g.Range)
	}
	g.needs = make([]int64, len(g.Streams))
	for sid := range g.Streams {
		g.needs[sid] = g.need(sid)
	}
	defer g.coalesce(spec)
	for i := range g.Streams {
		if s := &g.Streams[i]; s.Task {
			continue
		} else if s.Scattered {
			g.Streams[s.Near].reducers = append(g.Streams[s.Near].reducers, i)
			continue
		} else if s.Indirect {
			g.Streams[s.Near].followers = append(g.Streams[s.Near].followers, i)
			continue
		}
		for _, in := range g.Streams[i].Inputs {
			g.Streams[in].receivers = append(g.Streams[in].receivers, i)
		}
	}
}

// at is the stream at whose elements one is.
func (g *Group) at(sid int) *Stream {
	s := &g.Streams[sid]
	for s.Kind == Reduce || s.Indirect {
		s = &g.Streams[s.Near]
	}
	return s
}

// address is where an element is.
func (g *Group) address(sid int, i int64) uint64 {
	s := g.at(sid)
	switch {
	case g.Plane > 0:
		row := i / g.Row
		return s.Base + uint64(row/g.Plane*s.PlaneStride+row%g.Plane*s.RowStride+i%g.Row*s.Stride)
	case g.Row > 0:
		return s.Base + uint64(i/g.Row*s.RowStride+i%g.Row*s.Stride)
	}
	return s.Base + uint64(i*s.Stride)
}

// row is the iterations of a row.
func (g *Group) row() int64 {
	if g.Row > 0 {
		return g.Row
	}
	return g.N
}

// stepsTo is how many iterations the core has had before one of the loop.
func (g *Group) stepsTo(i int64) int64 {
	n := g.row()
	left := i % n
	return i/n*(n/g.Lanes+n%g.Lanes) + min(left/g.Lanes, n/g.Lanes) + max(0, left-n/g.Lanes*g.Lanes)
}

// step is the iterations of one of the core: lanes together, and the last ones of a row by one.
func (g *Group) step(k int64) (first, count int64) {
	n := g.row()
	whole := n / g.Lanes
	first, k = k/(whole+n%g.Lanes)*n, k%(whole+n%g.Lanes)
	if k < whole {
		return first + k*g.Lanes, g.Lanes
	}
	return first + whole*g.Lanes + k - whole, 1
}

// sent is how many bytes each value has that a stream sends.
func (s *Stream) sent() int {
	if s.Result > 0 {
		return s.Result
	}
	if s.Row > 0 {
		return s.Bytes / s.Row
	}
	return s.Bytes
}

// line is the line of an element.
func (g *Group) line(sid int, i int64) mem.Line { return g.address(sid, i) / mem.LineBytes }

// chunk is the iterations around i whose elements are in the same line and which belong to
// the same range. In a range, which has no part of another row, elements are one stride apart.
func (g *Group) chunk(sid int, i int64) (first, end int64) {
	at, stride := g.address(sid, i), uint64(g.at(sid).Stride)
	line := at / mem.LineBytes
	k := g.RangeOf(i)
	low, high := g.start(k), g.start(k+1)
	first, end = i, i+1
	for x := at - stride; first > low && x/mem.LineBytes == line; x -= stride {
		first--
	}
	for x := at + stride; end < high && x/mem.LineBytes == line; x += stride {
		end++
	}
	return first, end
}

// ranges is how many ranges there are.
func (g *Group) ranges() int64 { return g.RangeOf(g.N) }

// RangeOf is the number of the range of an iteration. Each row begins with a range, so that none
// has a part of what the core takes together.
func (g *Group) RangeOf(i int64) int64 {
	n := g.row()
	each := (n + g.Range - 1) / g.Range
	if i >= g.N {
		return (g.N + n - 1) / n * each
	}
	return i/n*each + i%n/g.Range
}

// start is the first iteration of a range, N behind the last one.
func (g *Group) start(k int64) int64 {
	n := g.row()
	each := (n + g.Range - 1) / g.Range
	return min(k/each*n+k%each*g.Range, g.N)
}

// Begins reports whether a range begins with an iteration, or ended with the one before.
func (g *Group) Begins(i int64) bool { return g.start(g.RangeOf(i)) == i }

// reported is the end of the last range, up to an iteration, after which reductions tell their value.
func (g *Group) reported(at int64) int64 {
	if at >= g.N {
		return g.N
	}
	k := g.RangeOf(at)
	return g.start(k - k%max(1, g.report))
}

// reports says whether they do so before an iteration.
func (g *Group) reports(at int64) bool { return g.reported(at) == at }

// still reports whether a load has one element for all iterations of a row.
func (s *Stream) still() bool { return s.Kind == Load && !s.Indirect && s.Stride == 0 && s.Row == 0 }

// sink reports whether a stream's progress is told to the core.
func (s *Stream) sink() bool { return s.Kind != Load && s.Kind != Chase }

// word reads an element out of a line.
func word(b *mem.Bytes, addr uint64, bytes int) (v uint64) {
	at := addr % mem.LineBytes
	switch bytes {
	case 4:
		return uint64(binary.LittleEndian.Uint32(b[at:]))
	case 8:
		return binary.LittleEndian.Uint64(b[at:])
	}
	for k := range bytes {
		v |= uint64(b[at+uint64(k)]) << (8 * k)
	}
	return v
}

func put(b *mem.Bytes, addr uint64, bytes int, v uint64) {
	at := addr % mem.LineBytes
	switch bytes {
	case 4:
		binary.LittleEndian.PutUint32(b[at:], uint32(v))
		return
	case 8:
		binary.LittleEndian.PutUint64(b[at:], v)
		return
	}
	for k := range bytes {
		b[at+uint64(k)] = byte(v >> (8 * k))
	}
}
