package multicore

import (
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/uop"
)

// waits are those of a thread for others in a window, in loops around a load.
type waits struct {
	from   event.Time // of what is measured
	ended  float64    // cycles of those that have ended
	open   bool       // there is one that may go on
	pc     uint32     // of its load
	addr   uint64
	first  event.Time // commit of the load
	last   event.Time
	commit uint64 // micro-ops of the core by then
}

// begin measures from now on.
func (w *waits) begin(now event.Time) { w.from, w.ended = now, 0 }

// waited is for how long a thread has waited, whose core has committed so many micro-ops by now.
func (w *waits) waited(now event.Time, committed uint64) float64 {
	if !w.open {
		return w.ended
	}
	last := w.last
	if committed < w.commit+loopOps { // still in the loop
		last = now
	}
	return w.ended + float64(max(0, last-max(w.first, w.from)))
}

// held tells whether the thread is in a long wait.
func (w *waits) held(now event.Time, committed uint64, long float64) bool {
	return w.open && committed < w.commit+loopOps && float64(now-w.first) >= long
}

// end ends a wait, or what a window has of it.
func (w *waits) end(now event.Time, committed uint64, long float64, l *latencies) {
	all := w.waited(now, committed)
	part := all - w.ended
	w.ended = all
	if w.open && w.first >= w.from && committed >= w.commit+loopOps {
		l.took[bits.Len64(uint64(w.last-w.first))]++
	}
	if !w.open || committed < w.commit+loopOps && float64(now-w.first) >= long || float64(w.last-w.first) >= long {
		return
	}
	l.add(w.pc, part, w.first >= w.from, committed >= w.commit+loopOps)
}

// again is told of a load that the thread waits for, when the core has committed so many micro-ops, and says whether
// it is one more round of the same loop.
func (w *waits) again(now event.Time, committed uint64, op *uop.Op) bool {
	if !w.open || w.pc != op.PC || w.addr != op.Addr || committed != w.commit+loopOps {
		return false
	}
	w.last, w.commit = now, committed
	return true
}

// begins begins a wait with such a load, and ends the one before.
func (w *waits) begins(now event.Time, committed uint64, op *uop.Op, long float64, l *latencies) {
	w.end(w.last, w.commit+loopOps, long, l)
	w.open, w.pc, w.addr, w.first, w.last, w.commit = true, op.PC, op.Addr, now, now, committed
}

// latencies are what short waits at the same load take, in the mean: messages on their way, and parts
// that differ by little. Of waits that a window cuts, the cycles in there count, and those that begin in there:
// whole ones alone would be too short.
type latencies struct {
	at   map[uint32]*latency // by the PC of the load
	took [64]int             // whole ones of any length, by the bits of their cycles
}

type latency struct{ cycles, waits, squares, whole float64 }

func (l *latencies) add(pc uint32, cycles float64, begins, ends bool) {
	x := l.at[pc]
	if x == nil {
		x = &latency{}
		l.at[pc] = x
	}
	x.cycles += cycles
	if begins {
		x.waits++
	}
	if begins && ends {
		x.squares += cycles * cycles
		x.whole++
	}
}

// usual is four to eight times what half of the waits take at most.
func (l *latencies) usual() float64 {
	all, sum := 0, 0
	for _, n := range l.took {
		all += n
	}
	for i, n := range l.took {
		if sum += n; 2*sum > all {
			return 4 * math.Exp2(float64(i))
		}
	}
	return 0
}

// spread is the standard error of all waits by what they differ, as a share. Threads that wait for the same say it
// once.
func (l *latencies) spread(threads int) float64 {
	variance, all := 0.0, 0.0
	for _, pc := range slices.Sorted(maps.Keys(l.at)) { // sums of floats depend on their order
		x, mean := l.at[pc], l.of(pc)
		each := max(0, ratio(x.squares, x.whole)-mean*mean)
		variance, all = variance+x.waits*x.waits*each/max(1, x.whole/float64(threads)), all+x.cycles
	}
	return ratio(math.Sqrt(variance), all)
}

// of is the mean one of a load, 0 if none is known.
func (l *latencies) of(pc uint32) float64 {
	if x := l.at[pc]; x != nil {
		return ratio(x.cycles, x.waits)
	}
	return 0
}

// long is how long waits are that windows do not tell of: they fit in there too seldom, and are found by execution without
// time. Shorter ones take between windows what they take there, as do those of usual length where that is long.
func (s *sampler) long() float64 { return max(float64(s.spec.Window)/2, s.latencies.usual()) }
