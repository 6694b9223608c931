package masim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// With gates computed again a program takes no more energy than without, on
// whatever machine, and less on some where gates are copied; none is computed
// again for nothing.
func TestRematerializeNeverRaisesEnergy(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
	lower, kept := 0, 0
	for seed := range draws(8) {
		r := rand.New(rand.NewPCG(seed, 14))
		g := randomGraph(r, 2+r.IntN(12), 20+r.IntN(30), 4)
		p := Problem{g, sram.Geometry{Arrays: 3 + r.IntN(5), Rows: 8 + r.IntN(6), Cols: 64}}
		at := fmt.Sprintf("seed %d", seed)
		e := sram.Energy{Compute: 1, Copy: []float64{0.5, 1.12, 1.87, 6}[seed%4]}
		again, errAgain := runBitsched(t.Context(), p, Options{Rematerialize: true, Energy: e})
		plain, err := runBitsched(t.Context(), p, Options{})
		if err != nil {
			require.ErrorIs(t, err, ErrInfeasible, at)
			require.True(t, errAgain == nil || errors.Is(errAgain, ErrInfeasible), at)
			continue
		}
		require.NoError(t, errAgain, at)
		rep, err := Check(g, again.Program, CheckOptions{Rematerialize: true})
		require.NoError(t, err, at)
		require.NoError(t, simulateBoth(r, g, again.Program), at)
		was, is := plain.Program.Energy(e), again.Program.Energy(e)
		require.LessOrEqual(t, is, was+1e-9, at)
		require.InDelta(t, float64(g.NumGates()+rep.Recomputed)+e.Copy*float64(rep.Copies), is, 1e-9, at)
		require.Equal(t, inputCopies(again.Program), rep.InputCopies, at)
		switch {
		case is < was-1e-9:
			lower++
		case rep.Recomputed == 0:
			kept++
		}
	}
	t.Logf("%d lower, %d kept", lower, kept)
	require.Greater(t, lower, 1)
	require.Positive(t, kept)
}

// inputCopies counts copies whose source was last written by copies from an
// input's row alone.
func inputCopies(p *sram.Program) int {
	input := map[[2]int]bool{}
	for _, in := range p.Inputs {
		input[[2]int{in.Array, in.Row}] = true
	}
	n := 0
	for _, in := range p.Instrs {
		is := in.Op == sram.Copy && input[[2]int{int(in.From), in.Src[0].Row()}]
		input[[2]int{int(in.Array), int(in.Dst)}] = is
		if is {
			n++
		}
	}
	return n
}

// A value that does not fit for a while is computed twice and not copied out and
// back: v is read by three gates, whose values fill the three rows beside the
// inputs, and once more after them.
func TestForget(t *testing.T) {
	g := xmg.New("again")
	x := []xmg.Lit{g.AddInput("a"), g.AddInput("b"), g.AddInput("c"), g.AddInput("d")}
	v := g.Maj(x[0], x[1], x[2])
	y := g.Maj(g.Xor2(v, x[0]), g.Xor2(v, x[1]), g.Xor2(v, x[3]))
	g.AddOutput("y", g.And(y, v))
	p := Problem{g, sram.Geometry{Arrays: 3, Rows: 7, Cols: 64}}
	plain, err := runOptimal(t.Context(), p, Options{})
	require.NoError(t, err)
	require.Positive(t, plain.Copies)
	again, err := runBitsched(t.Context(), p, Options{Rematerialize: true})
	require.NoError(t, err)
	rep, err := Check(g, again.Program, CheckOptions{Rematerialize: true})
	require.NoError(t, err)
	require.Zero(t, rep.Copies)
	require.Equal(t, 1, rep.Recomputed)
}
