package masim

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// changeProgram changes one thing in one instruction or output.
func changeProgram(rng *rand.Rand, p *sram.Program) *sram.Program {
	c := *p
	c.Instrs, c.Outputs = slices.Clone(p.Instrs), slices.Clone(p.Outputs)
	if len(c.Instrs) == 0 || rng.IntN(10) == 0 {
		c.Outputs[rng.IntN(len(c.Outputs))].Operand ^= 1
		return &c
	}
	in := &c.Instrs[rng.IntN(len(c.Instrs))]
	k := rng.IntN(3)
	switch {
	case in.Op == sram.Copy:
		in.Src[0] = sram.Row(rng.IntN(p.Geometry.Rows), false)
	case rng.IntN(3) == 0:
		in.Op ^= sram.Maj ^ sram.Xor
	case rng.IntN(2) == 0:
		in.Src[k] ^= 1
	default:
		in.Src[k] = sram.Row(rng.IntN(p.Geometry.Rows), rng.IntN(2) == 0)
	}
	return &c
}

// What a program computes in symbols is what the naive machine computes in
// bits, also for programs with an instruction changed, and the verdict is that
// of the tables.
func TestProveRandom(t *testing.T) {
	verdicts := map[xmg.Verdict]int{}
	refused := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 51))
		g := randomGraph(rng, 1+rng.IntN(8), 1+rng.IntN(60), 1+rng.IntN(5))
		prog := scheduleWith(t, "masim", Problem{g, sram.Geometry{Arrays: 3, Rows: 24, Cols: 64}})
		for range 4 {
			want, err := naiveTable(prog)
			s, serr := Symbolic(prog)
			if serr != nil {
				require.Error(t, err, "seed %d: %v", seed, serr)
				refused++
			} else {
				require.NoError(t, err)
				require.NoError(t, s.Check())
				require.Equal(t, want, graphTable(s), "seed %d", seed)
				e, err := Prove(context.Background(), g, prog, xmg.EquivalenceOptions{})
				require.NoError(t, err)
				require.Equal(t, slices.Equal(want, graphTable(g)), e.Verdict == xmg.Equal, "seed %d: %v", seed, e.Verdict)
				verdicts[e.Verdict]++
			}
			prog = changeProgram(rng, prog)
		}
	}
	require.Greater(t, verdicts[xmg.Equal], 60)
	require.Greater(t, verdicts[xmg.Different], 60)
	require.Greater(t, refused, 5)
}

// A multiplier as it was read, ANDs only, against its program of other gates;
// one negation more is found, and the witness is one.
func TestProveMultiplier(t *testing.T) {
	n, p := genProblem(t, "multiplier", 12, 4, 48)
	circuit, err := xmg.FromNetwork(context.Background(), n, xmg.Options{NoMap: true})
	require.NoError(t, err)
	prog := scheduleWith(t, "bitsched", p)
	e, err := Prove(context.Background(), circuit, prog, xmg.EquivalenceOptions{})
	require.NoError(t, err)
	require.Equal(t, xmg.Equal, e.Verdict)

	i := len(prog.Instrs) / 2
	for prog.Instrs[i].Op == sram.Copy {
		i++
	}
	prog.Instrs[i].Src[1] ^= 1
	e, err = Prove(context.Background(), circuit, prog, xmg.EquivalenceOptions{})
	require.NoError(t, err)
	require.Equal(t, xmg.Different, e.Verdict)
	code, err := sram.Compile(prog)
	require.NoError(t, err)
	in := make([]uint64, len(e.Witness.Inputs))
	for i, v := range e.Witness.Inputs {
		if v {
			in[i] = 1
		}
	}
	require.Equal(t, e.Witness.B, code.NewMachine().Run(in, 1)[e.Witness.Output]&1 != 0)
	require.Equal(t, e.Witness.A, n.Simulate(in, 1)[e.Witness.Output]&1 != 0)
	require.NotEqual(t, e.Witness.A, e.Witness.B)
}

func TestProveStops(t *testing.T) {
	_, p := genProblem(t, "multiplier", 5, 4, 16)
	prog := scheduleWith(t, "masim", p)
	_, err := Prove(context.Background(), xmg.New("none"), prog, xmg.EquivalenceOptions{})
	require.EqualError(t, err, "masim: prove: xmg: equivalence of circuits with 0 and 10 inputs, expected equal numbers")
	prog.Instrs[0].Src[0] = sram.Row(15, false)
	_, err = Prove(context.Background(), p.Graph, prog, xmg.EquivalenceOptions{})
	var ie *sram.InstrError
	require.ErrorAs(t, err, &ie)
}
