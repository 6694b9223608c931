package sparse

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/system/sparse/matrix"
)

type shadow struct {
	err   error
	count int
}

func newShadow(r *runner, every int) *shadow                 { return &shadow{} }
func (sh *shadow) resume(s int, free int64, ok bool)         {}
func (sh *shadow) pack(s int, c int64)                       {}
func (sh *shadow) pause(s int, full bool)                    {}
func (sh *shadow) receive(s int, v *receiver, list []uint64) {}
func (sh *shadow) gather(s int, c int64)                     {}
func (sh *shadow) settle(s int, op Op, c int64)              {}
func (sh *shadow) sent(s int)                                {}
func (sh *shadow) denseOut(s int, base uint32, c int64)      {}
func (sh *shadow) denseFront(s int, c int64)                 {}
func runRows(ctx context.Context, a App, m *matrix.Matrix, o AppOptions, cfg Config, ring Semiring, trace *Trace) (*Result, error) {
	return nil, fmt.Errorf("not yet")
}
