package micro

import "github.com/bitsched/bitsched/tdfg/stream"

// Owner returns the stream that a static micro-op belongs to, by its PC: nil for those of
// loops, and of what threads synchronise with. What several streams compute belongs to the
// first.
func (p *Program) Owner(pc uint32) *stream.Stream {
	if pc == 0 || pc > p.pcs {
		return nil
	}
	return p.owners[pc-1]
}
