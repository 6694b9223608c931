package interp_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// TestDiff changes one thing of a memory at a time, since all other tests rely on it.
func TestDiff(t *testing.T) {
	array := func(name string, typ scalar.Type, size ...int64) *tdfg.Array {
		a := &tdfg.Array{Name: name, Type: typ}
		for d, n := range size {
			a.Size, a.Axes = append(a.Size, lattice.Const(n)), append(a.Axes, d)
		}
		return a
	}
	m := interp.NewMemory()
	require.NoError(t, m.Allocate([]*tdfg.Array{array("A", scalar.Int8, 4, 3), array("F", scalar.FP32, 5)}, nil))
	m.Scalars["s"] = 7
	for i := range m.Arrays["A"].Elems {
		m.Arrays["A"].Elems[i] = uint64(i)
	}
	require.Len(t, m.Arrays["A"].Elems, 12)
	require.Equal(t, []int64{4, 3}, m.Arrays["A"].Size)
	for want, change := range map[string]func(o *interp.Memory){
		"":                               func(*interp.Memory) {},
		"A[0 0] is 0 and -1":             func(o *interp.Memory) { o.Arrays["A"].Elems[0] = 255 },
		"A[1 3] is 7 and 8":              func(o *interp.Memory) { o.Arrays["A"].Elems[7] = 8 },
		"A[2 3] is 11 and 10":            func(o *interp.Memory) { o.Arrays["A"].Elems[11] = 10 },
		"F[4] is 0 and -0":               func(o *interp.Memory) { o.Arrays["F"].Elems[4] = 1 << 31 },
		"A is int8 [4 3] and int8 [3 4]": func(o *interp.Memory) { o.Arrays["A"].Size = []int64{3, 4} },
		"F is fp32 [5] and int32 [5]":    func(o *interp.Memory) { o.Arrays["F"].Type = scalar.Int32 },
		"s is 0x7 and 0x8":               func(o *interp.Memory) { o.Scalars["s"] = 8 },
	} {
		o := m.Clone()
		change(o)
		require.Equal(t, want, m.Diff(o))
		require.Equal(t, want == "", o.Diff(m) == "")
	}
	o := m.Clone()
	delete(o.Arrays, "A")
	delete(o.Scalars, "s")
	o.Scalars["t"] = 1
	require.Empty(t, m.Diff(o), "what only one of them has does not count")
	require.Empty(t, o.Diff(m))

	for want, a := range map[string]*tdfg.Array{
		"interp: array A: lattice: no value for N":                                                               {Name: "A", Type: scalar.Int8, Size: []lattice.Expr{lattice.Sym("N")}, Axes: []int{0}},
		"interp: array A: 0 elements in dimension 1, expected at least 1 and at most 4294967296 in all":          array("A", scalar.Int8, 4, 0),
		"interp: array A: 65537 elements in dimension 1, expected at least 1 and at most 4294967296 in all":      array("A", scalar.Int8, 1<<16, 1<<16+1),
		"interp: array A: 4294967297 elements in dimension 0, expected at least 1 and at most 4294967296 in all": array("A", scalar.Int8, 1<<32+1),
	} {
		require.EqualError(t, interp.NewMemory().Allocate([]*tdfg.Array{a}, nil), want)
	}
}

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
		spoil  func(m *interp.Memory)
		values map[string]int64
		want   string
	}{
		{func(m *interp.Memory) {}, values, ""},
		{func(m *interp.Memory) { delete(m.Arrays, "A") }, values, "interp: g: no array A in memory"},
		{func(m *interp.Memory) { m.Arrays["A"].Type = scalar.Int16 }, values, "interp: g: array A in memory is int16 [5], expected int8 of 1 dimensions"},
		{func(m *interp.Memory) { m.Arrays["A"].Size = []int64{5, 1} }, values, "interp: g: array A in memory is int8 [5 1], expected int8 of 1 dimensions"},
		{func(m *interp.Memory) {}, map[string]int64{"N": 6}, "interp: g: array A in memory has 5 in dimension 0, expected 6"},
		{func(m *interp.Memory) {}, nil, "interp: g: lattice: no value for N"},
		{func(m *interp.Memory) { delete(m.Scalars, "p") }, values, "interp: g: node 1: const: no scalar p in memory"},
	} {
		m := interp.NewMemory()
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
	m := interp.NewMemory()
	require.NoError(t, m.Allocate(s.Arrays, values))
	m.Scalars["p"] = 3
	stopped, stop := context.WithCancel(context.Background())
	stop()
	require.ErrorIs(t, interp.RunGraph(stopped, g, values, m, interp.Options{}), context.Canceled)
}
