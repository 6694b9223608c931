package masim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// Programs for other objectives keep the rules and compute the graph.
func TestExtendedOptions(t *testing.T) {
	t.Parallel()
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
	again, feasible := 0, 0
	for seed := range draws(3) {
		r := rand.New(rand.NewPCG(seed, 9))
		g := randomGraph(r, 2+r.IntN(10), 30+r.IntN(16), 4)
		p := Problem{g, sram.Geometry{Arrays: 2 + r.IntN(4), Rows: 12 + r.IntN(6), Cols: 64}}
		plain, err := runBitsched(context.Background(), p, Options{})
		if errors.Is(err, ErrInfeasible) {
			continue
		}
		require.NoError(t, err)
		feasible++
		for _, o := range []Options{
			{Rematerialize: true},
			{Rematerialize: true, Objective: MinCycles},
			{Distance: lineOf(p.Geometry.Arrays)},
			{Rematerialize: true, Distance: lineOf(p.Geometry.Arrays), Energy: sram.Energy{Compute: 1, Copy: 1.2}},
		} {
			name := fmt.Sprintf("seed %d %+v", seed, o)
			res, err := runBitsched(context.Background(), p, o)
			require.NoError(t, err, name)
			rep, err := Check(g, res.Program, CheckOptions{Rematerialize: o.Rematerialize})
			require.NoError(t, err, name)
			again += rep.Recomputed
			requireComputes(t, g, res.Program, name)
			if o.Rematerialize && o.Distance == nil && o.Objective == MinCopies {
				require.LessOrEqual(t, res.Program.Energy(sram.DefaultEnergy), plain.Program.Energy(sram.DefaultEnergy), name)
			}
			if o.Distance != nil && !o.Rematerialize {
				require.LessOrEqual(t, travelled(res.Program), travelled(plain.Program), name)
			}
		}
	}
	require.Greater(t, feasible, 1)
	require.Positive(t, again, "no gate was computed again in any program")
}

func travelled(p *sram.Program) int {
	sum := 0
	for _, in := range p.Instrs {
		if in.Op == sram.Copy {
			sum += max(int(in.From)-int(in.Array), int(in.Array)-int(in.From))
		}
	}
	return sum
}

// requireComputes compares a program with its graph on 64 random patterns.
func requireComputes(t *testing.T, g *xmg.Graph, p *sram.Program, name string) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	in := make([]uint64, g.NumInputs())
	for i := range in {
		in[i] = r.Uint64()
	}
	code, err := sram.Compile(p)
	require.NoError(t, err, name)
	require.Equal(t, g.Simulate(in, 1), code.NewMachine().Run(in, 1), name)
}

// The rows of a single array are those of the inputs and of the most live
// values; on a tree of ANDs of 2^k inputs a depth-first order needs k+1 of the
// latter at the most, and k are not enough.
func TestFewestRows(t *testing.T) {
	for k := 1; k <= 5; k++ {
		g := xmg.New("tree")
		var level []xmg.Lit
		for range 1 << k {
			level = append(level, g.AddInput(""))
		}
		for len(level) > 1 {
			for i := range len(level) / 2 {
				level[i] = g.And(level[2*i], level[2*i+1])
			}
			level = level[:len(level)/2]
		}
		g.AddOutput("y", level[0])
		inputs := 1 << k
		run := func(rows int) (*Result, error) {
			return runBitsched(context.Background(), Problem{g, sram.Geometry{Arrays: 2, Rows: rows, Cols: 64}}, Options{Objective: MinRows})
		}
		res, err := run(inputs + k)
		require.NoError(t, err, k)
		rep, err := Check(g, res.Program, CheckOptions{})
		require.NoError(t, err)
		require.Zero(t, rep.Copies)
		require.Equal(t, 1, rep.ArraysUsed)
		require.Equal(t, inputs+k, rep.MaxRows, "tree of %d inputs", inputs) // the first level reads inputs
		_, err = run(inputs + k - 1)
		require.ErrorIs(t, err, ErrInfeasible)
	}
}

func TestReadDistances(t *testing.T) {
	d, err := ReadDistances(strings.NewReader("# line of two\n0 1\n\n2.5 0 # back\n"), "t", 2)
	require.NoError(t, err)
	require.Equal(t, [][]float64{{0, 1}, {2.5, 0}}, d)
	for text, want := range map[string]string{
		"":                                  "t:1: no distances, expected a matrix of 2 x 2",
		"0 1\n1\n":                          "t:2: 1 distances, expected 2 as in the first row",
		"0 x\n1 0\n":                        `t:1: distance "x", expected a number from 0 to 1000`,
		"0 -1\n1 0\n":                       `t:1: distance "-1", expected a number from 0 to 1000`,
		"0 NaN\n1 0\n":                      `t:1: distance "NaN", expected a number from 0 to 1000`,
		"0 1 2\n1 0 2":                      "t:2: a matrix of 2 x 3, expected at least 2 x 2 for the arrays",
		strings.Repeat("0 ", 1<<19) + "0\n": "t:1: line of more than 1048576 bytes, expected a row of distances",
		"0\n":                               "t:1: a matrix of 1 x 1, expected at least 2 x 2 for the arrays",
		"0 1e99\n1 0\n":                     `t:1: distance "1e99", expected a number from 0 to 1000`,
	} {
		_, err := ReadDistances(strings.NewReader(text), "t", 2)
		require.EqualError(t, err, want, text)
	}
}

// More arrays of inputs than the search looks at.
func TestManyArrays(t *testing.T) {
	g := xmg.New("wide")
	var inputs []xmg.Lit
	for range 300 {
		inputs = append(inputs, g.AddInput(""))
	}
	sum := xmg.False
	for _, l := range inputs {
		sum = g.Xor2(sum, l)
	}
	g.AddOutput("y", sum)
	p := Problem{g, sram.Geometry{Arrays: 120, Rows: 4, Cols: 64}}
	res, err := runBitsched(context.Background(), p, Options{})
	require.NoError(t, err)
	_, err = Check(g, res.Program, CheckOptions{})
	require.NoError(t, err)
	requireComputes(t, g, res.Program, "wide")
	again, err := runBitsched(context.Background(), p, Options{Rematerialize: true})
	require.NoError(t, err)
	require.Equal(t, res.Program, again.Program)
	for _, o := range []Options{{Objective: MinRows}, {Distance: lineOf(120)}} {
		_, err = runBitsched(context.Background(), p, o)
		require.ErrorIs(t, err, ErrInfeasible)
	}
}
