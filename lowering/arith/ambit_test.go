package arith

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
)

// TestAmbitCommands compares with the formulas of SIMDRAM (ASPLOS 2021) for
// programs of AAP and AP commands, and with the XOR of Ambit (MICRO 2017, section
// 5.1), which takes five AAP and two AP.
func TestAmbitCommands(t *testing.T) {
	commands := func(op string) int {
		p := mustBuild(t, Spec{Op: op, Tech: sram.Ambit.Name, Rows: 1008})
		require.NoError(t, p.Verify(t.Context(), 4096, 2))
		return p.Latency()
	}
	for _, n := range []int{1, 2, 8, 16, 32, 64} {
		require.LessOrEqual(t, commands(fmt.Sprintf("int%d.add", n)), 8*n+1)
		require.LessOrEqual(t, commands(fmt.Sprintf("int%d.sub", n)), 6*n+1)
		if n >= 8 {
			require.LessOrEqual(t, commands(fmt.Sprintf("uint%d.mulw", n)), 11*n*n-5*n-1)
			require.LessOrEqual(t, commands(fmt.Sprintf("int%d.mulw", n)), 11*n*n-5*n-1)
		}
	}
	p := mustBuild(t, Spec{Op: "int1.xor", Tech: sram.Ambit.Name, Rows: 1008})
	require.Equal(t, 7, p.Latency())
	require.Equal(t, 2, p.Kernel.Counts()[sram.ClassLatch])
}

// TestAmbitMutants changes single commands of programs: whatever changes a result
// is seen, so that nothing in them is there for nothing.
func TestAmbitMutants(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, op := range []string{"int4.add", "int4.sub", "int3.mulw", "uint4.mulw"} {
		p := mustBuild(t, Spec{Op: op, Tech: sram.Ambit.Name, Rows: 512})
		alive := 0
		for i := range p.Kernel.Instrs {
			k := *p.Kernel
			k.Instrs = append(append([]sram.Micro{}, k.Instrs[:i]...), k.Instrs[i+1:]...)
			q := *p
			q.Kernel = &k
			code, err := k.Compile()
			if err != nil {
				continue // reads what was never written
			}
			q.code = code
			if q.Verify(t.Context(), 4096, rng.Uint64()) == nil {
				alive++
			}
		}
		require.LessOrEqual(t, alive, len(p.Kernel.Instrs)/50, "%s: commands that can be left out", op)
	}
}
