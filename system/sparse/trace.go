package sparse

import (
	"encoding/json"
	"fmt"
	"io"
)

// Trace records the steps of a run for viewers of Chrome's trace events such as
// Perfetto. A link cycle is shown as a microsecond.
type Trace struct {
	events []traceEvent
	tracks []string
}

type traceEvent struct {
	track         int
	name          string
	start, cycles int64
}

func (t *Trace) add(track string, start, cycles int64) {
	if t == nil {
		return
	}
	at := -1
	for i, name := range t.tracks {
		if name == track {
			at = i
		}
	}
	if at < 0 {
		at = len(t.tracks)
		t.tracks = append(t.tracks, track)
	}
	t.events = append(t.events, traceEvent{at, track, start, cycles})
}

// Write writes the trace as JSON.
func (t *Trace) Write(w io.Writer) error {
	if _, err := fmt.Fprint(w, `{"displayTimeUnit":"ns","traceEvents":[`); err != nil {
		return err
	}
	sep := "\n"
	put := func(v any) error {
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s%s", sep, text)
		sep = ",\n"
		return err
	}
	for i, name := range t.tracks {
		if err := put(map[string]any{"ph": "M", "pid": 1, "tid": i, "name": "thread_name", "args": map[string]any{"name": name}}); err != nil {
			return err
		}
	}
	for _, e := range t.events {
		if err := put(map[string]any{"ph": "X", "pid": 1, "tid": e.track, "name": e.name, "ts": e.start, "dur": e.cycles}); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, "\n]}")
	return err
}
