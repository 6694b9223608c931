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

// rivals leaves what a rival cannot do to the core.
func (p *Program) rivals(sinks map[*stream.Stream]*nearStream) {
	for s, x := range sinks {
		fits := true
		switch p.opt.Streams.Rival {
		case Meeting:
			fits = x.where == nil && (x.kind == se.Store || x.kind == se.Update)
		case Chained:
			fits = x.where == nil && (x.kind == se.Reduce && len(x.inputs) == 1 || x.kind != se.Reduce && x.kind != se.Load && len(x.inputs) == 0)
		}
		if !fits || p.opt.Streams.Rival != NoRival && s.Racy {
			delete(sinks, s)
		}
	}
}
