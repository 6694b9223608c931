package tdfg_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
)

// loops makes random loops around regions; a bound may use the variable of a loop
// around it.
func loops(r *rand.Rand, around []string) []tdfg.Stmt {
	var body []tdfg.Stmt
	for range 1 + r.IntN(2) {
		if len(around) == 3 || r.IntN(3) == 0 {
			body = append(body, &tdfg.Region{Graph: &tdfg.Graph{}})
			continue
		}
		bound := func() lattice.Expr {
			x := lattice.Const(r.Int64N(16) - 4)
			if len(around) > 0 && r.IntN(2) == 0 {
				x = x.Add(lattice.Sym(around[r.IntN(len(around))]))
			}
			return x
		}
		name := string(rune('a' + len(around)))
		body = append(body, &tdfg.Loop{Var: name, Lo: bound(), Hi: bound(), Step: 1 + r.Int64N(3), Body: loops(r, append(around[:len(around):len(around)], name))})
	}
	return body
}

// TestExecutions counts executions by going through loops as C does.
func TestExecutions(t *testing.T) {
	var walk func(body []tdfg.Stmt, values map[string]int64, f func(map[string]int64))
	walk = func(body []tdfg.Stmt, values map[string]int64, f func(map[string]int64)) {
		for _, st := range body {
			l, ok := st.(*tdfg.Loop)
			if !ok {
				f(values)
				continue
			}
			lo, err := l.Lo.Eval(values)
			require.NoError(t, err)
			hi, err := l.Hi.Eval(values)
			require.NoError(t, err)
			for i := lo; i < hi; i += l.Step {
				values[l.Var] = i
				walk(l.Body, values, f)
			}
			delete(values, l.Var)
		}
	}
	many := 0
	for seed := range uint64(500) {
		p := &tdfg.Program{Body: loops(rand.New(rand.NewPCG(seed, 1)), nil)}
		var want, got []map[string]int64
		clone := func(list *[]map[string]int64) func(map[string]int64) {
			return func(values map[string]int64) {
				c := map[string]int64{}
				for k, v := range values {
					c[k] = v
				}
				*list = append(*list, c)
			}
		}
		walk(p.Body, map[string]int64{}, clone(&want))
		require.NoError(t, p.Each(context.Background(), nil, func(_ *tdfg.Graph, values map[string]int64) error {
			clone(&got)(values)
			return nil
		}))
		require.Equal(t, want, got)
		n, exact, err := p.Executions(nil)
		require.NoError(t, err)
		require.True(t, exact)
		require.EqualValues(t, len(want), n, "seed %d", seed)
		if n > 10 {
			many++
		}
	}
	require.Greater(t, many, 50)
}

// TestExecutionsOfMany counts without going through all: loops that are multiplied,
// and loops that it gives up.
func TestExecutionsOfMany(t *testing.T) {
	region := []tdfg.Stmt{&tdfg.Region{Graph: &tdfg.Graph{}}}
	inner := func(lo, hi lattice.Expr, body []tdfg.Stmt) []tdfg.Stmt {
		return []tdfg.Stmt{&tdfg.Loop{Var: "j", Lo: lo, Hi: hi, Step: 1, Body: body}}
	}
	outer := func(hi int64, body []tdfg.Stmt) *tdfg.Program {
		return &tdfg.Program{Body: []tdfg.Stmt{&tdfg.Loop{Var: "i", Lo: lattice.Const(0), Hi: lattice.Const(hi), Step: 1, Body: body}}}
	}
	i := lattice.Sym("i")
	for _, c := range []struct {
		p     *tdfg.Program
		n     int64
		exact bool
	}{
		{outer(1<<40, region), 1 << 40, true},
		{outer(1<<20, inner(lattice.Const(0), lattice.Const(1<<40), region)), 1 << 60, true},
		{outer(1<<40, inner(lattice.Const(0), lattice.Const(1<<40), region)), 1 << 62, false},
		{outer(1<<40, inner(lattice.Const(0), lattice.Const(0), region)), 0, true},
		{outer(1000, inner(i, lattice.Const(1000), region)), 1000 * 1001 / 2, true},
	} {
		n, exact, err := c.p.Executions(nil)
		require.NoError(t, err)
		require.Equal(t, c.exact, exact)
		require.Equal(t, c.n, n)
	}
	n, exact, err := outer(1<<40, inner(i, lattice.Const(1<<40), region)).Executions(nil)
	require.NoError(t, err)
	require.False(t, exact)
	require.Positive(t, n)

	// Nothing is executed, and it still stops with the context.
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, outer(1<<40, inner(i, lattice.Const(0), region)).Each(ctx, nil, nil), context.DeadlineExceeded)
}
