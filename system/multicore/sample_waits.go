package multicore

import (
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/uop"
)

// waits are those of a thread for others in a window, in loops around a load.
type waits struct {
	from   event.Time // of what is measured
	ended  float64    // cycles of long ones that have ended
	open   bool       // there is one that may go on
	pc     uint32     // of its load
	addr   uint64
	first  event.Time // commit of the load
	last   event.Time
	commit uint64 // micro-ops of the core by then
}

// begin measures from now on.
func (w *waits) begin(now event.Time) { w.from, w.ended = now, 0 }

// waited is for how long a thread has waited in long waits, whose core has committed so many micro-ops by now.
func (w *waits) waited(now event.Time, committed uint64, long float64) float64 {
	last := w.last
	if committed < w.commit+loopOps { // still in the loop
		last = now
	}
	if !w.open || float64(last-w.first) < long {
		return w.ended
	}
	return w.ended + float64(max(0, last-max(w.first, w.from)))
}

// held tells whether the thread is in a long wait.
func (w *waits) held(now event.Time, committed uint64, long float64) bool {
	return w.open && committed < w.commit+loopOps && float64(now-w.first) >= long
}

// await is told of a load that the thread waits for, when the core has committed so many micro-ops.
func (w *waits) await(now event.Time, committed uint64, op *uop.Op, long float64) {
	if w.open && w.pc == op.PC && w.addr == op.Addr && committed == w.commit+loopOps {
		w.last, w.commit = now, committed
		return
	}
	if w.open {
		w.ended = w.waited(w.last, w.commit+loopOps, long)
	}
	w.open, w.pc, w.addr, w.first, w.last, w.commit = true, op.PC, op.Addr, now, now, committed
}

// long is how long waits are that windows do not tell of: they fit in there too seldom, and are found by execution without
// time. Shorter ones, of messages on their way and of parts that differ by little, belong to the rates of windows.
func (s *sampler) long() float64 { return float64(s.spec.Window) / 2 }
