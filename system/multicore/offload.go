package multicore

import (
	"context"

	"github.com/bitsched/bitsched/lowering/micro"
	"github.com/bitsched/bitsched/system/machine"
	"github.com/bitsched/bitsched/tile/tc"
)

// tensorTraffic is that of tensor controllers, in bytes x hops.
func (r *runner) tensorTraffic() (n uint64) {
	if r.tensor != nil {
		for _, k := range r.tensor.Traffic.ByteHops {
			n += k
		}
	}
	return n
}

// Offload executes units of a program on other parts of the machine, while thread 0 waits.
type Offload interface {
	Units() *micro.Units
	Tensor() *tc.Spec // of the controllers that the program needs
	// Attach hands out the machine and these, with the arrays in its memory, before it runs.
	Attach(ctx context.Context, m *machine.Machine, t *tc.Core, code *micro.Program) error
	// Finish begins to bring back what is not in memory, when all threads have ended.
	Finish() error
	// Progress grows with what is done.
	Progress() uint64
}
