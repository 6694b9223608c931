package masim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/netlist/gen"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// TestVerifyStuck sticks every used cell of an adder's schedule at both values,
// and compares the verdict with plain execution of a program in which the row is
// replaced by a constant wherever it is read.
func TestVerifyStuck(t *testing.T) {
	n, err := gen.Build(t.Context(), "adder", gen.Options{Width: 4})
	require.NoError(t, err)
	g, err := xmg.FromNetwork(t.Context(), n, xmg.Options{})
	require.NoError(t, err)
	res, err := Schedulers[0].Run(t.Context(), Problem{Graph: g, Geometry: sram.Geometry{Arrays: 3, Rows: 10, Cols: 8}}, Options{Effort: Fast, Seed: 1})
	require.NoError(t, err)
	p := res.Program
	masked := 0
	for a := range 3 {
		for row := range 10 {
			for _, value := range []bool{false, true} {
				q := &sram.Program{Geometry: p.Geometry, Inputs: p.Inputs, Outputs: append([]sram.Output(nil), p.Outputs...)}
				constant := func(array int, o sram.Operand) sram.Operand {
					if o.IsConst() || array != a || o.Row() != row {
						return o
					}
					if value != o.Negated() {
						return sram.One
					}
					return sram.Zero
				}
				for _, ins := range p.Instrs {
					if ins.Op == sram.Copy {
						if c := constant(int(ins.From), ins.Src[0]); c.IsConst() {
							ins = sram.Instr{Op: sram.Xor, Array: ins.Array, Dst: ins.Dst, Src: [3]sram.Operand{c, sram.Zero, sram.Zero}}
						}
					} else {
						for i, s := range ins.Src {
							ins.Src[i] = constant(int(ins.Array), s)
						}
					}
					q.Instrs = append(q.Instrs, ins)
				}
				for i := range q.Outputs {
					if o := &q.Outputs[i]; !o.Operand.IsConst() {
						if o.Operand = constant(o.Array, o.Operand); o.Operand.IsConst() {
							o.Array = 0
						}
					}
				}
				want, err := Verify(t.Context(), n, q, VerifyOptions{Exhaustive: true})
				require.NoError(t, err)
				got, err := Verify(t.Context(), n, p, VerifyOptions{
					Exhaustive: true, Threads: 2,
					Stuck: []sram.StuckAt{{Place: sram.Place{Array: a, Row: row}, Bitline: 5, Value: value}},
				})
				require.NoError(t, err)
				require.Equal(t, want, got, "array %d row %d stuck at %v", a, row, value)
				if got.Equal() {
					masked++
				}
			}
		}
	}
	require.Less(t, masked, 60)
	_, err = Verify(t.Context(), n, p, VerifyOptions{Stuck: []sram.StuckAt{{Place: sram.Place{Array: 3}}}})
	require.ErrorContains(t, err, "array 3 row 0")
}
