package interp_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// TestRunErrors has memories that a graph cannot run on. They stay as they were.
func TestRunErrors(t *testing.T) {
	space := lattice.NewSpace()
	require.NoError(t, space.Declare("N", lattice.Const(2), lattice.Expr{}, false))
	n := lattice.Sym("N")
	s := tdfg.Scope{Dims: 1, Space: space, Params: []tdfg.Param{{Name: "p", Type: scalar.Int8}, {Name: "r", Type: scalar.Int8}},
		Arrays: []*tdfg.Array{{Name: "A", Type: scalar.Int8, Size: []lattice.Expr{n}, Axes: []int{0}}}}
	b := tdfg.NewBuilder("g", s)
	a := b.Tensor(0, s.ArrayRect(0))
	b.Store(b.Compute(scalar.Add, a, b.Param("p")), 0)
	b.Result(b.Reduce(scalar.Add, a, 0, 4), "r")
	g, err := b.Finish()
	require.NoError(t, err)
	values := map[string]int64{"N": 5}
	for _, c := range []struct {
		spoil  func(m *memory.Memory)
		values map[string]int64
		want   string
	}{
		{func(m *memory.Memory) {}, values, ""},
		{func(m *memory.Memory) { delete(m.Arrays, "A") }, values, "interp: g: no array A in memory"},
		{func(m *memory.Memory) { m.Arrays["A"].Type = scalar.Int16 }, values, "interp: g: array A in memory is int16 [5], expected int8 of 1 dimensions"},
		{func(m *memory.Memory) { m.Arrays["A"].Size = []int64{5, 1} }, values, "interp: g: array A in memory is int8 [5 1], expected int8 of 1 dimensions"},
		{func(m *memory.Memory) {}, map[string]int64{"N": 6}, "interp: g: array A in memory has 5 in dimension 0, expected 6"},
		{func(m *memory.Memory) {}, nil, "interp: g: lattice: no value for N"},
		{func(m *memory.Memory) { delete(m.Scalars, "p") }, values, "interp: g: node 1: const: no scalar p in memory"},
	} {
		m := memory.New()
		require.NoError(t, m.Allocate(s.Arrays, values))
		m.Scalars["p"] = 3
		m.Arrays["A"].Elems[4] = 2
		c.spoil(m)
		before := m.Clone()
		err := interp.RunGraph(context.Background(), g, c.values, m, interp.Options{})
		if c.want == "" {
			require.NoError(t, err)
			require.Equal(t, []uint64{3, 3, 3, 3, 5}, m.Arrays["A"].Elems)
			require.EqualValues(t, 2, m.Scalars["r"])
			continue
		}
		require.EqualError(t, err, c.want)
		require.Equal(t, before, m)
	}
	m := memory.New()
	require.NoError(t, m.Allocate(s.Arrays, values))
	m.Scalars["p"] = 3
	stopped, stop := context.WithCancel(context.Background())
	stop()
	require.ErrorIs(t, interp.RunGraph(stopped, g, values, m, interp.Options{}), context.Canceled)
}
