package micro

import (
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile/uop"
)

// Owners returns the stream that each static micro-op belongs to, by its PC: nil for
// those of loops, and of what threads synchronise with.
func (p *Program) Owners() []*stream.Stream {
	list := make([]*stream.Stream, p.pcs+1)
	for _, t := range p.streams {
		for _, c := range []*code{&t.one, &t.many} {
			for _, ops := range [][]uop.Op{c.cond, c.ops, {c.branch, c.access, c.gather, c.store, c.spread, c.swap}} {
				for i := range ops {
					if pc := ops[i].PC; pc != 0 {
						list[pc] = t.s
					}
				}
			}
		}
	}
	return list
}
