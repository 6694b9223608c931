// Package traceevent writes what happened when on tracks, as JSON in the form of
// "Trace Event Format" by Google, for viewers such as Perfetto. It is not a recorder:
// whoever has events keeps them.
package traceevent

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/emirpasic/gods/sets/treeset"
)

// Event is something on a track. One that takes no cycles is a moment.
type Event struct {
	Track         int32
	Name          string
	Start, Cycles int64
}

// Limit is the number of events that recorders keep if they are not told another one.
const Limit = 1_000_000

// Write writes metadata that name the process and its threads, which are tracks in the
// order of their numbers, then complete events, and instant events for moments. A cycle is
// shown as a microsecond.
func Write(w io.Writer, machine string, track func(int32) string, events []Event, dropped int64) error {
	b := bufio.NewWriter(w)
	tracks := treeset.NewWithIntComparator()
	for i := range events {
		tracks.Add(int(events[i].Track))
	}
	fmt.Fprintf(b, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"machine\":%s,\"unit\":\"a microsecond is a cycle\",\"dropped_events\":\"%d\"},\"traceEvents\":[\n", quote(machine), dropped)
	fmt.Fprintf(b, "{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":%s}}", quote(machine+" (1 us = 1 cycle)"))
	for _, x := range tracks.Values() {
		k := int32(x.(int))
		fmt.Fprintf(b, ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":%s}}", k+1, quote(track(k)))
		fmt.Fprintf(b, ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%d}}", k+1, k+1)
	}
	for i := range events {
		e := &events[i]
		if e.Cycles == 0 {
			fmt.Fprintf(b, ",\n{\"ph\":\"i\",\"s\":\"t\",\"pid\":1,\"tid\":%d,\"name\":%s,\"ts\":%d}", e.Track+1, quote(e.Name), e.Start)
			continue
		}
		fmt.Fprintf(b, ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"name\":%s,\"ts\":%d,\"dur\":%d}", e.Track+1, quote(e.Name), e.Start, e.Cycles)
	}
	fmt.Fprint(b, "\n]}\n")
	return b.Flush()
}

// quote quotes a text, which need not be one that Go and JSON quote alike.
func quote(s string) []byte {
	q, err := json.Marshal(s)
	if err != nil {
		panic("traceevent: a string cannot be quoted: " + err.Error()) // every string can
	}
	return q
}
