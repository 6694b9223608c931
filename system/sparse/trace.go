package sparse

import (
	"fmt"
	"io"

	"github.com/bitsched/bitsched/internal/traceevent"
)

// Trace records the steps of a run, what links carried in them, and what some banks did,
// for viewers of Chrome's trace events such as Perfetto. It keeps a bounded number of
// events, the first ones.
type Trace struct {
	r       *runner
	events  []traceevent.Event
	dropped int64
	every   int     // one in so many banks is shown
	busy    []int64 // SPU cycles of the shown SPUs in this step
	pairs   []int64 // that rings have carried before
	hops    [2]int64
}

// traceBanks is how many banks are shown, each with its dispatcher and an SPU.
const traceBanks = 16

// Tracks, in their order: steps, rings of layers, TSVs, lines, vault cores, and for each
// bank that is shown its dispatcher and an SPU.
func (t *Trace) ring(l int) int    { return len(stepNames) + l }
func (t *Trace) tsvs() int         { return t.ring(t.r.m.Organisation.Layers) }
func (t *Trace) lines() int        { return t.tsvs() + 1 }
func (t *Trace) vault(v int) int   { return t.lines() + 1 + v }
func (t *Trace) bank(k int) int    { return t.vault(t.r.m.Organisation.Vaults) + 2*k }
func (t *Trace) shown(k int) int   { return k * t.every } // the bank
func (t *Trace) spu(k int) int     { return t.shown(k) * t.r.pairs }
func (t *Trace) isShown(s int) int { return s / (t.r.pairs * t.every) }

// name is that of a track.
func (t *Trace) name(track int) string {
	switch {
	case track < t.ring(0):
		return stepNames[track]
	case track < t.tsvs():
		return fmt.Sprintf("ring of layer %d", track-t.ring(0))
	case track == t.tsvs():
		return "TSVs"
	case track == t.lines():
		return "lines of banks"
	case track < t.bank(0):
		return fmt.Sprintf("vault core %d", track-t.vault(0))
	}
	k := (track - t.bank(0)) / 2
	if (track-t.bank(0))%2 == 0 {
		return fmt.Sprintf("dispatcher of bank %d", t.shown(k))
	}
	return fmt.Sprintf("SPU %d", t.spu(k))
}

// begin makes the tracks of a run.
func (t *Trace) begin(r *runner) {
	if t == nil {
		return
	}
	t.r = r
	banks := r.m.Banks()
	t.every = (banks + traceBanks - 1) / traceBanks
	t.busy = make([]int64, (banks+t.every-1)/t.every)
	t.pairs = make([]int64, r.m.Organisation.Layers)
}

// add records an event; what takes no time is left out.
func (t *Trace) add(track int, name string, start, cycles int64) {
	switch {
	case cycles <= 0:
	case len(t.events) == traceevent.Limit:
		t.dropped++
	default:
		t.events = append(t.events, traceevent.Event{Track: int32(track), Name: name, Start: start, Cycles: cycles})
	}
}

// spuCycles keeps what an SPU takes in the step that runs.
func (t *Trace) spuCycles(s int, cycles int64) {
	if t != nil && s == t.spu(t.isShown(s)) {
		t.busy[t.isShown(s)] = cycles
	}
}

// step records a step, and the shown SPUs in it.
func (t *Trace) step(k int, took int64) {
	if t == nil {
		return
	}
	t.add(k, stepNames[k], t.r.clock, took)
	for i, c := range t.busy {
		t.add(t.bank(i)+1, stepNames[k], t.start(), t.r.link(c))
	}
	clear(t.busy)
}

// start is when SPUs begin with a step: its program has arrived.
func (t *Trace) start() int64 { return t.r.clock + (t.r.launchCycles()+t.r.link(t.r.time.row))/2 }

// moved records what links carried since the latest step, and until when.
func (t *Trace) moved() {
	if t == nil || t.r.chip != nil {
		return
	}
	n, start := t.r.net, t.start()
	var line, up, end int64
	carried := func(track int, count int64, what string, until int64) {
		if count > 0 {
			t.add(track, fmt.Sprintf("%d %s", count, what), start, until)
		}
	}
	for l := range n.rings {
		g := &n.rings[l]
		carried(t.ring(l), g.pairs-t.pairs[l], "pairs", n.latest[l])
		t.pairs[l] = g.pairs
		line += n.lineH[l]
		end = max(end, n.latest[l])
	}
	for _, h := range n.tsvH {
		up += h
	}
	for v, done := range n.vaultDone {
		t.add(t.vault(v), "reduces", start, done/1000)
		end = max(end, done/1000)
	}
	carried(t.lines(), line-t.hops[0], "hops", end)
	carried(t.tsvs(), up-t.hops[1], "hops", end)
	t.hops = [2]int64{line, up}
	for k := range t.busy {
		st := &n.stations[t.shown(k)].store
		carried(t.bank(k), int64(len(st.pairs)), "pairs stored", st.last+1)
	}
}

// settled says that counters of the network begin anew.
func (t *Trace) settled() {
	if t != nil {
		clear(t.pairs)
		t.hops = [2]int64{}
	}
}

// sent records that a dispatcher sent pairs.
func (t *Trace) sent(g, pairs int, cycles int64) {
	if t != nil && g%t.every == 0 && pairs > 0 {
		t.add(t.bank(g/t.every), fmt.Sprintf("%d pairs sent", pairs), t.start(), cycles)
	}
}

// Write writes the trace as JSON, a microsecond being a link cycle.
func (t *Trace) Write(w io.Writer) error {
	return traceevent.Write(w, t.r.m.Name, func(track int32) string { return t.name(int(track)) }, t.events, t.dropped)
}
