package multicore

import (
	"fmt"
	"io"

	"github.com/bitsched/bitsched/internal/traceevent"
	"github.com/bitsched/bitsched/tile/core"
)

// Trace records what cores, banks and channels did in each slice of a run: a core is
// shown with what most of the slice was spent on, a bank and a channel with how many
// lines it served. Of regions in memory it has what thread 0 waited for, and what the
// tensor controller of each bank did.
type Trace struct {
	// Slice is how many cycles are shown as one; 0: DefaultSlice.
	Slice int64

	events  []traceevent.Event
	dropped int64
	last    sample
	from    int64
	r       *runner
	open    []openState
}

// Tracks: cores, then banks, then channels, then regions in memory: which one, what TC_core
// waits for, and the tensor controllers of banks.
const (
	bankTrack      = 1000
	channelTrack   = 10_000
	RegionTrack    = 20_000
	TensorTrack    = 20_001
	TensorBanksAre = 21_000 // that of bank 0
)

// DefaultSlice is fine enough for barriers.
const DefaultSlice = 500

// openState is what a core has done since a slice, so that slices alike become one
// event.
type openState struct {
	name string
	from int64
}

// sample is the counters that are looked at.
type sample struct {
	cores    []core.Counters
	banks    []uint64
	channels []uint64
}

func (r *runner) sample() (s sample) {
	for _, c := range r.cores() {
		s.cores = append(s.cores, c.Counters)
	}
	for _, h := range r.m.Homes {
		s.banks = append(s.banks, h.Counters.Reads+h.Counters.Writes+h.Counters.GivenBack)
	}
	for _, d := range r.m.DDR {
		s.channels = append(s.channels, d.Counters.Reads+d.Counters.Writes)
	}
	return s
}

func (t *Trace) attach(r *runner) {
	if t == nil {
		return
	}
	if t.Slice == 0 {
		t.Slice = DefaultSlice
	}
	t.r, t.last = r, r.sample()
	t.open = make([]openState, len(t.last.cores))
}

// step records the slice that ends now.
func (t *Trace) step(now int64) {
	s := t.r.sample()
	for i := range s.cores {
		a, b := &t.last.cores[i], &s.cores[i]
		busy, name, most := uint64(now-t.from), "", uint64(0)
		for _, p := range []struct {
			name string
			n    uint64
		}{
			{"memory", b.StallLoad - a.StallLoad}, {"synchronisation", b.StallSync - a.StallSync}, {"stores", b.StallStore - a.StallStore},
			{"operands and units", b.StallUnit - a.StallUnit}, {"mispredicted branches", b.StallBranch - a.StallBranch}, {"front end", b.StallEmpty - a.StallEmpty},
			{"idle", b.Idle - a.Idle},
		} {
			busy -= min(busy, p.n)
			if p.n > most {
				name, most = p.name, p.n
			}
		}
		switch {
		case b.Committed > a.Committed && busy >= most:
			name = "committing"
		case most == 0: // it sleeps, and counts when it wakes
			name = t.open[i].name
		}
		if name != t.open[i].name {
			t.end(i, t.from)
			t.open[i] = openState{name, t.from}
		}
	}
	served := func(track int, list, before []uint64) {
		for i := range list {
			if n := list[i] - before[i]; n > 0 {
				t.add(track+i, fmt.Sprintf("%d lines", n), t.from, now)
			}
		}
	}
	served(bankTrack, s.banks, t.last.banks)
	served(channelTrack, s.channels, t.last.channels)
	t.last, t.from = s, now
}

func (t *Trace) end(core int, now int64) {
	if o := &t.open[core]; o.name != "" && now > o.from {
		t.add(core, o.name, o.from, now)
	}
}

// Span records what was done on a track, from one cycle to another. t may be nil.
func (t *Trace) Span(track int, name string, from, to int64) {
	if t != nil && to > from {
		t.add(track, name, from, to)
	}
}

func (t *Trace) add(track int, name string, from, to int64) {
	if len(t.events) == traceevent.Limit {
		t.dropped++
		return
	}
	t.events = append(t.events, traceevent.Event{Track: int32(track), Name: name, Start: from, Cycles: to - from})
}

// finish ends what is open.
func (t *Trace) finish(now int64) {
	if t == nil {
		return
	}
	if now > t.from {
		t.step(now)
	}
	for i := range t.open {
		t.end(i, now)
		t.open[i].name = ""
	}
}

// Dropped returns the number of events beyond the limit of package traceevent.
func (t *Trace) Dropped() int64 { return t.dropped }

// Write writes the trace as JSON, in the form of package traceevent.
func (t *Trace) Write(w io.Writer) error {
	name := ""
	if t.r != nil {
		name = t.r.spec.Name
	}
	return traceevent.Write(w, name, func(track int32) string {
		switch {
		case track >= TensorBanksAre:
			return fmt.Sprintf("tensor controller %02d", track-TensorBanksAre)
		case track == TensorTrack:
			return "tensor controller of thread 0"
		case track == RegionTrack:
			return "regions in memory"
		case track >= channelTrack:
			return fmt.Sprintf("channel %02d", track-channelTrack)
		case track >= bankTrack:
			return fmt.Sprintf("bank %02d", track-bankTrack)
		}
		return fmt.Sprintf("core %02d", track)
	}, t.events, t.dropped)
}
