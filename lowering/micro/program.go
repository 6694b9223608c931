package micro

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/se"
	"github.com/bitsched/bitsched/tile/uop"
)

// Options say what machine code is made for.
type Options struct {
	Threads int // that the program runs on, at least 1
	Vector  int // bytes of SIMD registers: 64, 32, 16, or 0 for scalar code
	// Reassociate says that sums of floating-point numbers may be of any order, so that
	// they can be computed by SIMD.
	Reassociate bool
	// Fanout is that of the tree in which threads meet; 0: they meet at one counter.
	Fanout int
	// ForkCycles is how many micro-ops, one after another, thread 0 executes to start a
	// parallel loop, beside those that tell the other threads.
	ForkCycles int
	// Late is how many micro-ops, one after another, a thread executes before its part of a
	// parallel loop, by the numbers of both; nil for none.
	Late func(thread, loop int) int
	// Place has the address of each array, or array of structures; nil for addresses one
	// after the other.
	Place map[string]uint64
	// Streams of loops; nil for none.
	Streams *Streams
	// From is the lowest address that arrays may have; 0: of the program's choice.
	From uint64
	// Units are parts of the program that others may execute; nil for none.
	Units *Units
}

// Program is a stream graph as micro-ops.
type Program struct {
	graph    *stream.Graph
	program  *stream.Program
	memory   stream.Memory
	args     stream.Args
	opt      Options
	streams  []*template // in program order
	loops    []*loopInfo
	arrays   []placed
	segments []uop.Segment
	sync     uint64 // address of what threads share
	threads  []*thread
	entered  []bool // loops, and those before the window of samples
	known    []bool
	// Between windows: there is no time, and a loop that was not known has been entered.
	untimed, fresh bool
	team           *team
	pcs            uint32
	owners         []*stream.Stream // of each PC but 0
	making         *stream.Stream   // whose micro-ops are being made
	regs           int

	// Of scalar code: how many nodes there are, the comparisons, those that each slot is
	// in, and what slots have at first, and in which registers.
	nodes  int
	tests  []*node
	depend [][]int32
	values []scalar.Value
	home   []uop.Reg
	names  slots

	loopUnit, streamUnit []seat // of the statements of units; nil without

	parts                  []Stage // of the function
	loopStage, streamStage []int   // of parts, -1 for none
	reached                func(stage int)
	stage                  int // the last one that thread 0 has reached

	near    []*nearLoop // by loop; nil for those that have loops inside
	pcsNear se.PCs
}

// placed is where the elements of an array lie.
type placed struct {
	base   uint64
	stride uint64 // from an element to the next; of a member, from a structure to the next
	inner  uint64 // elements of a member
	bytes  int
	own    uint64 // from the elements of a thread to those of the next, of a private array
}

func (a *placed) address(elem int64) uint64 {
	if a.inner == 0 {
		return a.base + uint64(elem)*a.stride
	}
	return a.base + uint64(elem)/a.inner*a.stride + uint64(elem)%a.inner*uint64(a.bytes)
}

const (
	firstAddress = 1 << 20
	pageBytes    = 4096
	lineBytes    = 64
)

// New makes the micro-ops of a graph on a memory, which its threads change.
func New(g *stream.Graph, mem stream.Memory, args stream.Args, opt Options) (*Program, error) {
	if opt.Threads < 1 {
		return nil, fmt.Errorf("micro: %d threads, expected at least 1", opt.Threads)
	}
	if opt.Vector != 0 && opt.Vector != 16 && opt.Vector != 32 && opt.Vector != 64 {
		return nil, fmt.Errorf("micro: SIMD registers of %d bytes, expected 0, 16, 32 or 64", opt.Vector)
	}
	if opt.Fanout < 0 || opt.Fanout == 1 {
		return nil, fmt.Errorf("micro: tree of fanout %d, expected at least 2, or 0 for a counter", opt.Fanout)
	}
	sp, err := stream.Compile(g)
	if err != nil {
		return nil, err
	}
	p := &Program{graph: g, program: sp, memory: maps.Clone(mem), args: args, opt: opt, regs: 1}
	if err := p.place(); err != nil {
		return nil, err
	}
	if err := p.templates(); err != nil {
		return nil, err
	}
	p.seats()
	p.stages()
	p.team = newTeam(p)
	for i := range opt.Threads {
		t, err := newThread(p, i)
		if err != nil {
			return nil, err
		}
		p.threads = append(p.threads, t)
	}
	return p, nil
}

// Threads returns the threads, thread 0 first.
func (p *Program) Threads() []uop.Thread {
	list := make([]uop.Thread, len(p.threads))
	for i, t := range p.threads {
		list[i] = t
	}
	return list
}

// Done returns the share of the program that thread 0 has made micro-ops of, as if all
// iterations of a loop were alike, and all loops beside each other.
func (p *Program) Done() float64 { return p.threads[0].cursor.Done() }

// Segments returns the parts of memory that the program uses, as they were at the
// beginning.
func (p *Program) Segments() []uop.Segment { return p.segments }

// Address returns where an element of an array lies, that of thread 0 of a private one.
func (p *Program) Address(array string, elem int64) uint64 {
	for i := range p.graph.Arrays {
		if p.graph.Arrays[i].Name == array {
			return p.arrays[i].address(elem)
		}
	}
	return 0
}

// place gives arrays their addresses.
func (p *Program) place() error {
	next := max(uint64(firstAddress), (p.opt.From+pageBytes-1)/pageBytes*pageBytes)
	bases := map[string]uint64{}
	segment := map[string]int{}
	locate := func(name string, bytes uint64) uint64 {
		if b, ok := bases[name]; ok {
			return b
		}
		b, given := p.opt.Place[name]
		if !given {
			b = next
			next = (b + bytes + pageBytes - 1) / pageBytes * pageBytes
		}
		bases[name], segment[name] = b, len(p.segments)
		p.segments = append(p.segments, uop.Segment{Name: name, Addr: b, Data: make([]byte, bytes)})
		return b
	}
	p.arrays = make([]placed, len(p.graph.Arrays))
	argument := func(a *stream.Array) error {
		data := p.memory[a.Name]
		x := placed{stride: uint64(a.Type.Bytes()), bytes: a.Type.Bytes()}
		name := a.Name
		if f := a.Field; f != nil {
			outer, err := a.Size[len(a.Size)-1].Eval(p.args.Symbols)
			if err != nil || outer < 1 {
				return fmt.Errorf("micro: array %s: size %d", a.Name, outer)
			}
			name, x.stride, x.inner = f.Of, uint64(f.Stride), uint64(int64(len(data))/outer)
			x.base = locate(name, uint64(outer)*x.stride) + uint64(f.Offset)
		} else {
			x.base = locate(name, uint64(len(data))*x.stride)
		}
		p.arrays[p.arrayIndex(a.Name)] = x
		s := &p.segments[segment[name]]
		for j, v := range data {
			put(s.Data[x.address(int64(j))-s.Addr:], v, x.bytes)
		}
		return nil
	}
	for i := range p.graph.Arrays {
		if a := &p.graph.Arrays[i]; a.Scope == stream.Argument || a.Scope != stream.Private && p.memory[a.Name] != nil {
			if err := argument(a); err != nil {
				return err
			}
		}
	}
	for _, s := range p.segments {
		next = max(next, (s.Addr+uint64(len(s.Data))+pageBytes-1)/pageBytes*pageBytes)
	}
	for i := range p.graph.Arrays { // the program's own lie behind its arguments
		a := &p.graph.Arrays[i]
		if p.arrays[i].bytes > 0 {
			continue
		}
		n, err := p.elements(a)
		if err != nil {
			return err
		}
		if a.Scope == stream.Private {
			own := (n*uint64(a.Type.Bytes()) + lineBytes - 1) / lineBytes * lineBytes
			p.arrays[i] = placed{stride: uint64(a.Type.Bytes()), bytes: a.Type.Bytes(), own: own, base: locate(a.Name, own*uint64(p.opt.Threads))}
			continue
		}
		p.memory[a.Name] = make([]scalar.Value, n)
		if err := argument(a); err != nil {
			return err
		}
	}
	p.sync = next
	for _, s := range p.segments {
		p.sync = max(p.sync, (s.Addr+uint64(len(s.Data))+pageBytes-1)/pageBytes*pageBytes)
	}
	p.segments = append(p.segments, uop.Segment{Name: "sync", Addr: p.sync, Data: make([]byte, (syncLines+threadLines*p.opt.Threads)*lineBytes)})
	return nil
}

// elements returns how many elements an array has.
func (p *Program) elements(a *stream.Array) (uint64, error) {
	n := int64(1)
	for _, x := range a.Size {
		k, err := x.Eval(p.args.Symbols)
		if err != nil || k < 1 || k > maxElements/n {
			return 0, fmt.Errorf("micro: array %s: size %d, expected at least 1 and at most %d elements", a.Name, k, int64(maxElements))
		}
		n *= k
	}
	return uint64(n), nil
}

// maxElements bounds an array that is no argument.
const maxElements = 1 << 28

func put(dst []byte, v scalar.Value, bytes int) {
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], v)
	copy(dst[:bytes], word[:])
}

// pc numbers a static micro-op.
func (p *Program) pc() uint32 {
	p.pcs++
	p.owners = append(p.owners, p.making)
	return p.pcs
}

// reg names a value.
func (p *Program) reg() (uop.Reg, error) {
	if p.regs == uop.NumRegs {
		return 0, fmt.Errorf("micro: graph %s has more than %d values", p.graph.Name, uop.NumRegs)
	}
	p.regs++
	return uop.Reg(p.regs - 1), nil
}

// arrayIndex returns the number of an array.
func (p *Program) arrayIndex(name string) int {
	return slices.IndexFunc(p.graph.Arrays, func(a stream.Array) bool { return a.Name == name })
}

// Why says for each loop, in the order of the program, why its code is scalar, "" if it
// is SIMD.
func (p *Program) Why() []string {
	list := make([]string, len(p.loops))
	for i, l := range p.loops {
		list[i] = l.why
	}
	return list
}
