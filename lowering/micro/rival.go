package micro

import (
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/se"
)

// Rival is a way of near-data computing that Near-Stream Computing is compared with (section
// VI).
type Rival uint8

// The rivals.
const (
	NoRival Rival = iota
	Meeting       // each iteration is computed where operands meet, as by Omni-Compute; nothing is reduced
	Chained       // functions of one line, one after another, as by Livia; no value comes back but the last one
)

// rivals leaves what a rival cannot do to the core. Both send indirect stores and updates whose
// old value nobody takes as tasks, one for each element: the core knows where that is, and sends
// what the address follows from, but no members beside it. A loop with tasks has no chains.
func (p *Program) rivals(sinks map[*stream.Stream]*nearStream) {
	rival := p.opt.Streams.Rival
	if rival == NoRival {
		return
	}
	tasks := false
	for s, x := range sinks {
		x.task = x.where != nil && !x.old && len(x.fields) == 0 && (x.kind == se.Store || x.kind == se.Update)
		tasks = tasks || x.task
		affine := x.where == nil && !s.Racy
		switch rival {
		case Meeting:
			affine = affine && (x.kind == se.Store || x.kind == se.Update)
		case Chained:
			affine = affine && (x.kind == se.Reduce && len(x.inputs) == 1 || x.kind != se.Reduce && x.kind != se.Load && len(x.inputs) == 0)
		}
		if !affine && !x.task {
			delete(sinks, s)
		}
	}
	for s, x := range sinks {
		if rival == Chained && tasks && !x.task {
			delete(sinks, s)
		}
	}
}
