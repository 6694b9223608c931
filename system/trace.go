package system

import (
	"fmt"
	"io"

	"github.com/bitsched/bitsched/internal/traceevent"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tile/noc"
)

// Trace records what happened when, for viewers of Chrome's trace events such as
// Perfetto. A cycle is shown as a microsecond.
type Trace struct {
	Limit int // events that are kept at most; 0 means DefaultTraceLimit

	machine string // name of what is traced
	events  []traceevent.Event
	dropped int64
	lines   []int32 // of the source, of each event; 0 = of none
	links   []LinkSample
	every   int // of so many samples one is kept
	asked   int
}

// DefaultTraceLimit is the number of events that a trace keeps if it does not say.
const DefaultTraceLimit = traceevent.Limit

// track is a line of a trace, in the order in which a viewer shows them: those
// that are named here, then the banks.
type track int32

const (
	regionTrack track = iota // graphs, each from its first transfer to its last command
	hostTrack                // lowering and barriers
	dramTrack                // transfers
	bankTrack                // commands of bank 0; the others follow
)

func (t track) String() string {
	if t >= bankTrack {
		return fmt.Sprintf("bank %02d", int(t-bankTrack))
	}
	return [...]string{"regions", "host", "dram"}[t]
}

func (t *Trace) add(on track, name string, start, cycles int64) { t.addOf(0, on, name, start, cycles) }

// addOf is add for what is of a line of the source.
func (t *Trace) addOf(line int, on track, name string, start, cycles int64) {
	if t == nil {
		return
	}
	limit := t.Limit
	if limit == 0 {
		limit = DefaultTraceLimit
	}
	if len(t.events) >= limit {
		t.dropped++
		return
	}
	t.events = append(t.events, traceevent.Event{Track: int32(on), Name: name, Start: start, Cycles: cycles})
	t.lines = append(t.lines, int32(line))
}

// bank records a command of a bank.
func (t *Trace) bank(b int, c *lowering.Command, p *lowering.Plan, start, cycles int64) {
	if t == nil {
		return
	}
	name := c.Kind.String()
	if c.Kind == lowering.Compute {
		name = p.Steps[c.Step].Program.Spec.Op
	}
	t.addOf(p.Graph.Nodes[p.Steps[c.Step].Node].Line, bankTrack+track(b), name, start, cycles)
}

// TraceEvent is something that happened on a track of a trace.
type TraceEvent struct {
	Track  string
	Bank   int // -1 where the track is none
	Name   string
	Start  int64 // cycle
	Cycles int64 // 0 for a moment
	Line   int   // of the source that it is of; 0 = of none or many
}

// Events goes through all events in the order in which they were recorded.
func (t *Trace) Events(yield func(TraceEvent) bool) {
	for i, e := range t.events {
		on, bank := track(e.Track), -1
		if on >= bankTrack {
			bank = int(on - bankTrack)
		}
		if !yield(TraceEvent{on.String(), bank, e.Name, e.Start, e.Cycles, int(t.lines[i])}) {
			return
		}
	}
}

// LinkSample is how many flits have gone over each link of the network until a cycle.
type LinkSample struct {
	Cycle int64
	Links []noc.Link
}

// Links are samples of the network in the order of time, some thousand at most, of an
// event-driven clock; the analytic one looks at packets of one shift at a time.
func (t *Trace) Links() []LinkSample { return t.links }

// linkSamples is how many samples are kept before every other one is dropped.
const linkSamples = 2048

// sample records the counters of links.
func (t *Trace) sample(cycle int64, links func() []noc.Link) {
	if t == nil {
		return
	}
	t.every = max(t.every, 1)
	if t.asked++; t.asked%t.every != 0 {
		return
	}
	if n := len(t.links); n > 0 && t.links[n-1].Cycle == cycle {
		t.links = t.links[:n-1]
	}
	t.links = append(t.links, LinkSample{cycle, links()})
	if len(t.links) >= linkSamples {
		kept := t.links[:0]
		for i := 1; i < len(t.links); i += 2 {
			kept = append(kept, t.links[i])
		}
		t.links = kept
		t.every *= 2
	}
}

// Dropped returns the number of events beyond the limit.
func (t *Trace) Dropped() int64 { return t.dropped }

// Write writes the trace as JSON, in the form of package traceevent.
func (t *Trace) Write(w io.Writer) error {
	return traceevent.Write(w, t.machine, func(k int32) string { return track(k).String() }, t.events, t.dropped)
}
