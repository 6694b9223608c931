package system

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/emirpasic/gods/sets/treeset"

	"github.com/bitsched/bitsched/lowering"
)

// Trace records what happened when, for viewers of Chrome's trace events such as
// Perfetto. A cycle is shown as a microsecond.
type Trace struct {
	Limit int // events that are kept at most; 0 means DefaultTraceLimit

	machine string // name of what is traced
	events  []happening
	dropped int64
}

// DefaultTraceLimit is the number of events that a trace keeps if it does not say.
const DefaultTraceLimit = 1_000_000

// happening is something on a track. One that takes no cycles is a moment.
type happening struct {
	track         track
	name          string
	start, cycles int64
}

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
	t.events = append(t.events, happening{on, name, start, cycles})
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

// Write writes the trace as JSON, in the form of "Trace Event Format" by Google:
// metadata that name the process and its threads, which are tracks, then complete
// events, and instant events for moments.
func (t *Trace) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	tracks := treeset.NewWithIntComparator()
	for _, e := range t.events {
		tracks.Add(int(e.track))
	}
	fmt.Fprintf(b, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"machine\":%s,\"unit\":\"a microsecond is a cycle\",\"dropped_events\":\"%d\"},\"traceEvents\":[\n", quoteJSON(t.machine), t.dropped)
	fmt.Fprintf(b, "{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":%s}}", quoteJSON(t.machine+" (1 us = 1 cycle)"))
	for _, x := range tracks.Values() {
		k := track(x.(int))
		fmt.Fprintf(b, ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":%s}}", k+1, quoteJSON(k.String()))
		fmt.Fprintf(b, ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%d}}", k+1, k+1)
	}
	for _, e := range t.events {
		if e.cycles == 0 {
			fmt.Fprintf(b, ",\n{\"ph\":\"i\",\"s\":\"t\",\"pid\":1,\"tid\":%d,\"name\":%s,\"ts\":%d}", e.track+1, quoteJSON(e.name), e.start)
			continue
		}
		fmt.Fprintf(b, ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"name\":%s,\"ts\":%d,\"dur\":%d}", e.track+1, quoteJSON(e.name), e.start, e.cycles)
	}
	fmt.Fprint(b, "\n]}\n")
	return b.Flush()
}

// quoteJSON quotes a text, which need not be one that Go and JSON quote alike.
func quoteJSON(s string) []byte {
	q, err := json.Marshal(s)
	if err != nil {
		panic("system: a string cannot be quoted: " + err.Error()) // every string can
	}
	return q
}
