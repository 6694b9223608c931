package system

import (
	"fmt"
	"io"

	"github.com/bitsched/bitsched/internal/traceevent"
	"github.com/bitsched/bitsched/lowering"
)

// Trace records what happened when, for viewers of Chrome's trace events such as
// Perfetto. A cycle is shown as a microsecond.
type Trace struct {
	Limit int // events that are kept at most; 0 means DefaultTraceLimit

	machine string // name of what is traced
	events  []traceevent.Event
	dropped int64
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

func (t *Trace) add(on track, name string, start, cycles int64) {
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
	t.add(bankTrack+track(b), name, start, cycles)
}

// Dropped returns the number of events beyond the limit.
func (t *Trace) Dropped() int64 { return t.dropped }

// Write writes the trace as JSON, in the form of package traceevent.
func (t *Trace) Write(w io.Writer) error {
	return traceevent.Write(w, t.machine, func(k int32) string { return track(k).String() }, t.events, t.dropped)
}
