package masim

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/sram"
)

// Every geometry from 1 to 64 arrays of 8 to 1024 rows gives a program that keeps
// the rules and computes the circuit, or none since it does not fit; and it fits
// where a single array has a row for every value.
func TestGeometries(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
	var problems []Problem
	for _, kind := range []string{"adder", "max", "multiplier"} {
		problems = append(problems, generated(t, kind, 3, 1, 1))
	}
	for seed := range uint64(2) {
		r := rand.New(rand.NewPCG(seed, 12))
		problems = append(problems, Problem{Graph: randomGraph(r, 5+r.IntN(20), 20+r.IntN(20), 4)})
	}
	r := rand.New(rand.NewPCG(1, 13))
	found, infeasible := 0, 0
	for i, p := range problems {
		for j, arrays := range []int{1, 2, 8, 64} {
			for k, rows := range []int{8, 11, 64, 1024} {
				for n, o := range []Options{{}, {Rematerialize: true}} {
					if (i+j+k+n)%2 != 0 {
						continue // each geometry with each option, on every other circuit
					}
					p.Geometry = sram.Geometry{Arrays: arrays, Rows: rows, Cols: 64}
					at := fmt.Sprintf("%s, circuit %d, on %d x %d, %+v", p.Graph.Name, i, arrays, rows, o)
					res, err := runBitsched(t.Context(), p, o)
					if err != nil {
						require.ErrorIs(t, err, ErrInfeasible, at)
						require.Less(t, rows, p.Graph.NumNodes(), at)
						infeasible++
						continue
					}
					_, err = Check(p.Graph, res.Program, CheckOptions{Rematerialize: o.Rematerialize})
					require.NoError(t, err, at)
					require.NoError(t, simulateBoth(r, p.Graph, res.Program), at)
					found++
				}
			}
		}
	}
	t.Logf("%d fit, %d do not", found, infeasible)
	require.Greater(t, found, 50)
	require.Greater(t, infeasible, 5)
}
