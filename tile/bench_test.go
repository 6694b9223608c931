package tile_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/tile"
)

// BenchmarkCells moves words of 32 bits on all arrays of the chip of the paper, on
// one thread, and runs a short program.
func BenchmarkCells(b *testing.B) {
	m := tile.Default()
	c, err := tile.NewCells(m, m.Arrays())
	require.NoError(b, err)
	k := &sram.Kernel{Tech: m.Technology(), Rows: m.Array.Rows, Inputs: []sram.Port{{Name: "a", Base: 0, Width: 32}, {Name: "b", Base: 32, Width: 32}},
		Outputs: []sram.Port{{Name: "y", Base: 64, Width: 32}}}
	k.Instrs = append(k.Instrs, sram.Micro{Op: sram.NCCarry, Src: [3]sram.Operand{sram.Zero, sram.Zero}})
	for i := range 32 {
		k.Instrs = append(k.Instrs, sram.Micro{Op: sram.NCAdd, Dst: uint16(64 + i), Src: [3]sram.Operand{sram.Row(i, false), sram.Row(32+i, false)}})
	}
	add, err := k.Compile()
	require.NoError(b, err)
	all := tile.Enable{}
	even := []uint64{0x5555555555555555, 0x5555555555555555, 0x5555555555555555, 0x5555555555555555}
	first := make([]uint64, m.Arrays()/64)
	for i := range 128 {
		first[i/64] |= 1 << (i % 64)
	}
	half := make([]uint64, m.Arrays()/64)
	for i := range len(half) / 2 {
		half[i] = ^uint64(0)
	}
	for _, bench := range []struct {
		name string
		ops  []tile.Op
	}{
		{"copy", []tile.Op{tile.Shift(0, 32, 32, 0, all)}},
		{"shift", []tile.Op{tile.Shift(0, 32, 32, 1, all)}},
		{"shift70", []tile.Op{tile.Shift(0, 32, 32, -70, all)}},
		{"shiftmasked", []tile.Op{tile.Shift(0, 32, 32, 1, tile.Enable{Bitlines: even})}},
		{"fill", []tile.Op{tile.Fill(0, 32, []uint64{12345}, all)}},
		{"transfer", []tile.Op{tile.Transfer(0, 32, 32, 0, m.Arrays()/2, 1, 0, tile.Enable{Arrays: half})}},
		{"transfershifted", []tile.Op{tile.Transfer(0, 32, 32, -15, m.Arrays()/2, 1, 0, tile.Enable{Arrays: half, Bitlines: even})}},
		{"broadcast", []tile.Op{tile.Transfer(0, 32, 32, 0, 0, 128, 128, tile.Enable{Arrays: first})}},
		{"add", []tile.Op{tile.Compute(add, all)}},
		{"addmasked", []tile.Op{tile.Compute(add, tile.Enable{Bitlines: even})}},
		{"add8", []tile.Op{tile.Compute(add, all), tile.Compute(add, all), tile.Compute(add, all), tile.Compute(add, all), tile.Compute(add, all), tile.Compute(add, all), tile.Compute(add, all), tile.Compute(add, all)}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, c.Run(context.Background(), 1, bench.ops))
			}
		})
	}
}
