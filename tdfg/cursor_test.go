package tdfg_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
)

// TestCursor compares the regions that cursors go through, with detours, with those
// of Each.
func TestCursor(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		regions := 0
		var body func(depth int, vars []string) []tdfg.Stmt
		body = func(depth int, vars []string) []tdfg.Stmt {
			var list []tdfg.Stmt
			for range r.IntN(3) {
				if depth == 0 || r.IntN(2) == 0 {
					regions++
					list = append(list, &tdfg.Region{Graph: &tdfg.Graph{Name: fmt.Sprint(regions)}})
					continue
				}
				v := fmt.Sprintf("i%d", depth)
				hi := lattice.Const(int64(r.IntN(4)))
				if len(vars) > 0 && r.IntN(2) == 0 {
					hi = hi.Add(lattice.Sym(vars[r.IntN(len(vars))]))
				}
				list = append(list, &tdfg.Loop{Var: v, Lo: lattice.Const(int64(r.IntN(2))), Hi: hi, Step: int64(1 + r.IntN(2)), Body: body(depth-1, append(vars, v))})
			}
			return list
		}
		p := &tdfg.Program{Body: body(3, []string{"N"})}
		sizes := map[string]int64{"N": int64(r.IntN(4))}
		var want []string
		note := func(g *tdfg.Graph, values map[string]int64) string { return fmt.Sprint(g.Name, values) }
		require.NoError(t, p.Each(context.Background(), sizes, func(g *tdfg.Graph, values map[string]int64) error {
			want = append(want, note(g, values))
			return nil
		}))
		var got []string
		for c := p.Start(sizes); ; {
			if r.IntN(3) == 0 {
				s := c.Save()
				for range r.IntN(4) {
					_, _, _ = c.Next()
				}
				c.Restore(s)
			}
			g, values, err := c.Next()
			require.NoError(t, err)
			if g == nil {
				break
			}
			got = append(got, note(g, values))
		}
		require.Equal(t, want, got, "seed %d", seed)
	}
	c := (&tdfg.Program{Body: []tdfg.Stmt{&tdfg.Loop{Var: "i", Hi: lattice.Sym("M"), Step: 1}}}).Start(nil)
	_, _, err := c.Next()
	require.ErrorContains(t, err, "no value for M")
}
