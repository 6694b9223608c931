package system

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/bitsched/bitsched/lowering"
)

// Trace records what happened when, for viewers of Chrome's trace events such as
// Perfetto. A cycle is shown as a microsecond.
type Trace struct {
	Limit int // events that are kept at most; 0 means DefaultTraceLimit

	events  []event
	dropped int64
}

// DefaultTraceLimit is the number of events that a trace keeps if it does not say.
const DefaultTraceLimit = 1_000_000

type event struct {
	track, name string
	start, n    int64
}

func (t *Trace) add(track, name string, start, cycles int64) {
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
	t.events = append(t.events, event{track, name, start, cycles})
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
	t.add(fmt.Sprintf("bank %02d", b), name, start, cycles)
}

// Dropped returns the number of events beyond the limit.
func (t *Trace) Dropped() int64 { return t.dropped }

// Write writes the trace as JSON.
func (t *Trace) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	var tracks []string
	for _, e := range t.events {
		if i, ok := slices.BinarySearch(tracks, e.track); !ok {
			tracks = slices.Insert(tracks, i, e.track)
		}
	}
	fmt.Fprint(b, `{"displayTimeUnit":"ns","traceEvents":[`)
	for i, name := range tracks {
		if i > 0 {
			fmt.Fprint(b, ",")
		}
		fmt.Fprintf(b, "\n{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":%q}}", i+1, name)
	}
	for _, e := range t.events {
		i, _ := slices.BinarySearch(tracks, e.track)
		fmt.Fprintf(b, ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"name\":%q,\"ts\":%d,\"dur\":%d}", i+1, e.name, e.start, e.n)
	}
	fmt.Fprint(b, "\n]}\n")
	return b.Flush()
}
