package sparse

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/tile"
)

// Where the SRAM chip applies dense outputs.
const (
	ApplySPU  = "spu"  // each SPU its own, word by word
	ApplyBits = "bits" // in all bitlines at once, bit by bit
)

// bitApply is step 6 of PageRank in the bitlines: outputs plus a constant, and that
// times the factors of the columns. Old values and factors stay transposed; outputs
// come and the frontier goes through the transposers, at the width of the H-trees
// [assumption].
type bitApply struct {
	add, mul *arith.Program
	lines    int64 // bitlines that compute
	words    int64 // that cross the H-trees of all banks in a cycle

	outs      []uint32 // before Applying, where the program is executed
	spuCycles int64
	cycles    int64
}

func newBitApply(ctx context.Context, mach *tile.Machine, ring Semiring) (*bitApply, error) {
	b := &bitApply{lines: int64(mach.Bitlines()), words: int64(mach.Banks()) * int64(max(4, mach.HTree.BandwidthBytes)/4)}
	typ := "int32"
	if ring.Float {
		typ = "fp32"
	}
	for name, p := range map[string]**arith.Program{".add": &b.add, ".mul": &b.mul} {
		q, err := arith.Build(ctx, arith.Spec{Op: typ + name, Tech: mach.Array.Technology})
		if err != nil {
			return nil, fmt.Errorf("sparse: step 6 in bitlines: %w", err)
		}
		*p = q
	}
	return b, nil
}

// take is the cycles of applying n outputs.
func (b *bitApply) take(n int64) int64 {
	up := func(a, by int64) int64 { return (a + by - 1) / by }
	return 2*up(n, b.words) + up(n, b.lines)*int64(b.add.Latency()+b.mul.Latency())
}

// verify executes the programs on the outputs of before, and compares with what the
// SPUs' step has made of them.
func (b *bitApply) verify(r *runner, base uint32, scale []uint32) error {
	n := len(b.outs)
	bases, sums, products := make([]uint32, n), make([]uint32, n), make([]uint32, n)
	for i, v := range b.outs {
		bases[i] = base
		if v == r.ring.Clean {
			b.outs[i] = 0
		}
	}
	if err := arith.Run(r.ctx, b.add, r.threads, sums, b.outs, bases); err != nil {
		return err
	}
	if err := arith.Run(r.ctx, b.mul, r.threads, products, sums, scale); err != nil {
		return err
	}
	for i, v := range sums {
		if v != r.y[i] {
			return fmt.Errorf("%w: bitlines add %#x for row %d, SPUs %#x", ErrCheck, v, i, r.y[i])
		}
		if want := mul(r.ring.Mul, r.y[i], scale[i]); products[i] != want {
			return fmt.Errorf("%w: bitlines have frontier value %#x for column %d, SPUs %#x", ErrCheck, products[i], i, want)
		}
	}
	return nil
}
