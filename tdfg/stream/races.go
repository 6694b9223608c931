package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/bitsched/bitsched/tdfg/scalar"
)

// Race is two accesses of an element by different iterations of a parallel loop, at least
// one of which changes it, in no order that the program fixes: the result depends on
// which comes first.
type Race struct {
	Array         string
	Elem          int64 // in the order of memory
	Loop          *Loop
	First, Second *Stream // in the order of a sequential execution
	// Iterations of the loop that have them, from 0 on.
	FirstIteration, SecondIteration int64
}

func (r *Race) String() string {
	return fmt.Sprintf("iterations %d and %d of parallel loop %s race for element %d of array %s: %s, and %s",
		r.FirstIteration, r.SecondIteration, r.Loop.Var, r.Elem, r.Array, r.First.statement(), r.Second.statement())
}

// statement says what a stream does, and where the source has it.
func (s *Stream) statement() string {
	verb := map[Kind]string{Load: "reads", Store: "writes", RMW: "changes", Reduce: "reads"}[s.Kind]
	text := verb + " " + s.Array + subscripts(s.Index)
	if s.At != "" {
		return s.At + " " + text
	}
	return text + " (stream " + s.Name + ")"
}

// maxRaces bounds how many pairs of streams are reported.
const maxRaces = 20

// RaceLimit bounds the iterations that a search for races executes; 0 is no bound.
type RaceLimit struct {
	All  int64 // of all loops
	Open int64 // of those without an upper end, which may never end
}

// ErrRaceLimit says that a program has not ended within the limit of a search for races.
var ErrRaceLimit = errors.New("stream: the program has not ended")

// Races executes the program, as [Program.Run] does, and reports the races of its
// parallel loops, for each pair of streams the first one: what would be one if every
// iteration were a thread, whatever the schedule is. Atomic updates, accesses in critical
// sections of one name and writes that leave an element as it was do not race; private
// arrays cannot. Nested parallel loops belong to the outermost one. With an error, the
// races are those until then.
//
// It takes 56 bytes for each element of an array that a parallel loop accesses.
func (p *Program) Races(ctx context.Context, mem Memory, args Args, limit RaceLimit) ([]Race, error) {
	c, err := p.Start(mem, args, true)
	if err != nil {
		return nil, err
	}
	d := &detector{p: p, arrays: make([][]trace, len(p.graph.Arrays)), data: c.m.data, seen: map[[2]int32]bool{}}
	for i := range p.streams {
		d.array = append(d.array, -1)
		for j := range p.graph.Arrays {
			if s := p.streams[i].stream; s.Array == p.graph.Arrays[j].Name {
				d.array[i] = j
			}
		}
	}
	walkLoops(p.graph.Body, func(l *Loop) { d.loops = append(d.loops, l) })
	var buf [512]Event
	for {
		n, err := c.Next(buf[:])
		for i := range buf[:n] {
			d.event(&buf[i])
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = limit.check(d.all, d.open)
		}
		if err != nil || n == 0 {
			return d.races, err
		}
	}
}

// check is the error of a search after so many iterations of all and of open loops.
func (l RaceLimit) check(all, open int64) error {
	switch {
	case l.Open > 0 && open > l.Open:
		return fmt.Errorf("%w after %d iterations of loops whose number of iterations is not known before", ErrRaceLimit, l.Open)
	case l.All > 0 && all > l.All:
		return fmt.Errorf("%w after %d iterations of loops", ErrRaceLimit, l.All)
	}
	return nil
}

func walkLoops(body []Stmt, visit func(*Loop)) {
	for _, st := range body {
		if l, ok := st.(*Loop); ok {
			visit(l)
			walkLoops(l.Body, visit)
		}
	}
}

// touch is an access of an element in a parallel loop.
type touch struct {
	stream int32
	locks  uint32 // that were held
	it     int32
	atomic bool
	change bool
}

// trace is what has been done to an element: the last write, and the last read of two
// different iterations.
type trace struct {
	epoch  uint32 // the parallel loop that this is of
	writes bool
	reads  uint8
	write  touch
	read   [2]touch
}

// detector follows the accesses of a run.
type detector struct {
	p      *Program
	loops  []*Loop
	array  []int // of streams
	arrays [][]trace
	data   [][]scalar.Value
	depth  []int32 // loops around
	inside int     // position of the parallel one in depth, from 1 on; 0 outside of all
	it     int32
	epoch  uint32
	locks  uint32
	races  []Race
	seen   map[[2]int32]bool

	all, open int64 // iterations, and those of open loops
}

func (d *detector) event(e *Event) {
	switch e.What {
	case Enter:
		d.depth = append(d.depth, e.Stream)
		if d.inside == 0 && d.loops[e.Stream].Parallel != nil {
			d.inside = len(d.depth)
			d.epoch++
		}
	case Next:
		d.all++
		if d.loops[e.Stream].Open {
			d.open++
		}
		if d.inside == len(d.depth) {
			d.it = int32(e.Elem)
		}
	case Leave:
		if d.inside == len(d.depth) {
			d.inside = 0
		}
		d.depth = d.depth[:len(d.depth)-1]
	case Step:
		if a := d.array[e.Stream]; a >= 0 && !e.Skipped {
			d.step(e, a)
		}
	}
}

func (d *detector) step(e *Event, a int) {
	s := d.p.streams[e.Stream].stream
	array := &d.p.graph.Arrays[a]
	switch array.Scope {
	case Private:
		return
	case Lock:
		if s.Kind == Store {
			d.locks &^= 1 << (a % 32)
		} else if e.Old == 0 {
			d.locks |= 1 << (a % 32)
		}
		return
	}
	if d.inside == 0 {
		return
	}
	if d.arrays[a] == nil {
		d.arrays[a] = make([]trace, len(d.data[a]))
	}
	now := touch{stream: e.Stream, locks: d.locks, it: d.it, atomic: s.Racy}
	t := &d.arrays[a][e.Elem]
	if t.epoch != d.epoch {
		*t = trace{epoch: d.epoch}
	}
	reads, writes := s.Kind != Store, s.Kind == Store || s.Kind == RMW
	if writes {
		now.change = e.Value&array.Type.Mask() != e.Old&array.Type.Mask()
	}
	if t.writes && (reads && t.write.change || writes && now.change) {
		d.race(a, e.Elem, &t.write, &now)
	}
	if writes && now.change {
		for i := range t.read[:t.reads] {
			d.race(a, e.Elem, &t.read[i], &now)
		}
	}
	if writes {
		now.change = now.change || t.writes && t.write.it == now.it && t.write.change
		t.writes, t.write = true, now
	}
	if !reads {
		return
	}
	switch {
	case t.reads == 0 || t.read[0].it == now.it:
		t.read[0], t.reads = now, max(t.reads, 1)
	default:
		t.read[1], t.reads = now, 2
	}
}

// race notes two accesses, unless they cannot be in another order, or are atomic both.
func (d *detector) race(a int, elem int64, x, y *touch) {
	if x.it == y.it || x.atomic && y.atomic || x.locks&y.locks != 0 || len(d.races) == maxRaces {
		return
	}
	key := [2]int32{x.stream, y.stream}
	if d.seen[key] {
		return
	}
	d.seen[key] = true
	d.races = append(d.races, Race{
		Array: d.p.graph.Arrays[a].Name, Elem: elem, Loop: d.loops[d.depth[d.inside-1]], First: d.p.streams[x.stream].stream, Second: d.p.streams[y.stream].stream,
		FirstIteration: int64(x.it), SecondIteration: int64(y.it),
	})
}
