package sram

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// randomSteps makes rows and steps that translate could give, of either executor.
func randomSteps(rng *rand.Rand, neural bool, n int) (ops []microOp, rows [][groupWords]uint64) {
	const slots = slotRows + 20
	rows = make([][groupWords]uint64, slots)
	for i := range rows {
		for k := range rows[i] {
			rows[i][k] = rng.Uint64()
		}
	}
	for range n {
		slot := func() uint32 { return uint32(rng.IntN(slots)) }
		if neural {
			k := Kernel{Tech: &NeuralCache, Rows: 30}
			m := Micro{Op: Opcode(rng.IntN(len(NeuralCache.Ops)))}
			m.Masked = k.Tech.Ops[m.Op].Masked && rng.IntN(2) == 0
			m.Src = [3]Operand{Operand(rng.IntN(2)) + Zero, Row(int(rng.IntN(20)), false)}
			if rng.IntN(4) > 0 {
				m.Src[0] = Row(int(rng.IntN(20)), false)
			}
			ops = append(ops, translateNeural(&m, func(o Operand) uint32 {
				if o.IsConst() {
					return slotZeros<<1 | uint32(o&1)
				}
				return (slotRows + uint32(o.Row())) << 1
			}, slotRows+uint32(rng.IntN(20))))
			continue
		}
		lit := func() uint32 {
			if rng.IntN(5) == 0 {
				return uint32(rng.IntN(2))
			}
			return slot()<<1 | uint32(rng.IntN(2))
		}
		if rng.IntN(6) == 0 {
			ops = append(ops, microOp{dst: slot()<<dstShift | bitMove | bitXor | uint32(rng.IntN(2))*bitNegate, a: slot() << 1})
			continue
		}
		ops = append(ops, translateXMG([]Op{Maj, Xor}[rng.IntN(2)], slot(), lit(), lit(), lit()))
	}
	if !neural { // a row of zeros that is never written
		for i := range ops {
			if ops[i].dst>>dstShift == 0 {
				ops[i].dst |= 1 << dstShift
			}
		}
		rows[0] = [groupWords]uint64{}
	}
	return ops, rows
}

func clone(rows [][groupWords]uint64) [][groupWords]uint64 {
	return append([][groupWords]uint64(nil), rows...)
}

// checkTwins executes the steps of a seed by every executor of this processor and
// by plain Go, which is the oracle.
func checkTwins(t *testing.T, seed uint64) {
	for _, neural := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(seed, 7))
		ops, rows := randomSteps(rng, neural, rng.IntN(60))
		want := clone(rows)
		if neural {
			execNeural(ops, want)
		} else {
			execLarge(ops, want)
		}
		for _, w := range twins {
			got := clone(rows)
			exec := w.large
			if neural {
				exec = w.neural
			}
			exec(ops, got)
			require.Equal(t, want, got, "%s, neural %v, seed %d", w.name, neural, seed)
		}
	}
}

func TestTwins(t *testing.T) {
	for seed := range uint64(2000) {
		checkTwins(t, seed)
	}
}

func FuzzTwins(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(checkTwins)
}

// BenchmarkTwins reports row operations x bitlines a second of each executor, on
// 64 KiB of rows.
func BenchmarkTwins(b *testing.B) {
	k := randomKernel(rand.New(rand.NewPCG(9, 9)), &NeuralCache, 8, 240, 2000)
	code, err := k.Compile()
	require.NoError(b, err)
	c, err := Compile(mixProgram(2000))
	require.NoError(b, err)
	for _, w := range twins {
		b.Run(fmt.Sprintf("neural-cache/%s", w.name), func(b *testing.B) {
			rows := make([][groupWords]uint64, code.slots)
			for b.Loop() {
				w.neural(code.ops, rows)
			}
			b.ReportMetric(float64(b.N)*2000*GroupCols/b.Elapsed().Seconds(), "rowop-bitlines/s")
		})
		b.Run(fmt.Sprintf("xmg/%s", w.name), func(b *testing.B) {
			rows := make([][groupWords]uint64, c.slots)
			for b.Loop() {
				w.large(c.ops, rows)
			}
			b.ReportMetric(float64(b.N)*2000*GroupCols/b.Elapsed().Seconds(), "rowop-bitlines/s")
		})
	}
}
