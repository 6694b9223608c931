package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/memory"
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
	m := memory.New()
	require.NoError(t, m.Allocate([]*tdfg.Array{array("A", scalar.Int8, 4, 3), array("F", scalar.FP32, 5)}, nil))
	m.Scalars["s"] = 7
	for i := range m.Arrays["A"].Elems {
		m.Arrays["A"].Elems[i] = uint64(i)
	}
	require.Len(t, m.Arrays["A"].Elems, 12)
	require.Equal(t, []int64{4, 3}, m.Arrays["A"].Size)
	for want, change := range map[string]func(o *memory.Memory){
		"":                               func(*memory.Memory) {},
		"A[0 0] is 0 and -1":             func(o *memory.Memory) { o.Arrays["A"].Elems[0] = 255 },
		"A[1 3] is 7 and 8":              func(o *memory.Memory) { o.Arrays["A"].Elems[7] = 8 },
		"A[2 3] is 11 and 10":            func(o *memory.Memory) { o.Arrays["A"].Elems[11] = 10 },
		"F[4] is 0 and -0":               func(o *memory.Memory) { o.Arrays["F"].Elems[4] = 1 << 31 },
		"A is int8 [4 3] and int8 [3 4]": func(o *memory.Memory) { o.Arrays["A"].Size = []int64{3, 4} },
		"F is fp32 [5] and int32 [5]":    func(o *memory.Memory) { o.Arrays["F"].Type = scalar.Int32 },
		"s is 0x7 and 0x8":               func(o *memory.Memory) { o.Scalars["s"] = 8 },
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
		"memory: array A: lattice: no value for N":                                                               {Name: "A", Type: scalar.Int8, Size: []lattice.Expr{lattice.Sym("N")}, Axes: []int{0}},
		"memory: array A: 0 elements in dimension 1, expected at least 1 and at most 4294967296 in all":          array("A", scalar.Int8, 4, 0),
		"memory: array A: 65537 elements in dimension 1, expected at least 1 and at most 4294967296 in all":      array("A", scalar.Int8, 1<<16, 1<<16+1),
		"memory: array A: 4294967297 elements in dimension 0, expected at least 1 and at most 4294967296 in all": array("A", scalar.Int8, 1<<32+1),
	} {
		require.EqualError(t, memory.New().Allocate([]*tdfg.Array{a}, nil), want)
	}
}

// TestAddresses adds arrays and looks where they lie: in order, no two in a page.
func TestAddresses(t *testing.T) {
	m := memory.New()
	a := m.Add("A", scalar.Int8, []int64{5000}, make([]uint64, 5000))
	b := m.Add("B", scalar.FP32, []int64{3}, make([]uint64, 3))
	c := m.Clone().Add("C", scalar.Int64, []int64{1}, make([]uint64, 1))
	require.EqualValues(t, 5000, a.Bytes())
	require.Equal(t, a.Base+5000, a.End())
	require.Equal(t, a.Base+8192, b.Base)
	require.Equal(t, b.Base+8, b.Address(2))
	require.Equal(t, b.Base+4096, c.Base, "a copy goes on where the memory ends")
	require.Equal(t, b.Base, m.Clone().Arrays["B"].Base)
}

// TestCompare counts what was compared.
func TestCompare(t *testing.T) {
	m := memory.New()
	m.Add("A", scalar.Int8, []int64{3, 2}, make([]uint64, 6))
	m.Add("B", scalar.Int8, []int64{4}, make([]uint64, 4))
	m.Scalars["s"] = 1
	o := m.Clone()
	o.Add("C", scalar.Int8, []int64{4}, make([]uint64, 4))
	require.Equal(t, memory.Comparison{Arrays: 2, Elements: 10, Scalars: 1}, m.Compare(o))
	o.Arrays["B"].Elems[2] = 1
	require.Equal(t, memory.Comparison{Arrays: 1, Elements: 6, First: "B[2] is 0 and 1"}, m.Compare(o))
}
