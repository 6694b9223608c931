package se

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tile/event"
)

// TestContexts: instances in the contexts of a tile by hand. One of 6 operations on 3 operands
// has 10 entries and issues in 1.5 cycles, 4 after it was taken.
func TestContexts(t *testing.T) {
	at := func(rob, contexts, latency int, n int) (ends []int64) {
		c := newContexts(rob, contexts)
		for range n {
			ends = append(ends, c.take(100, 6, 3, latency))
		}
		return ends
	}
	assert.Equal(t, []int64{100 + 4 + 2 + 10, 100 + 4 + 3 + 10, 100 + 4 + 5 + 10, 100 + 4 + 6 + 10}, at(1000, 2, 10, 4), "issue is what limits")
	assert.Equal(t, []int64{116, 117, 116 + 4 + 2 + 10, 117 + 4 + 2 + 10}, at(20, 2, 10, 4), "room for two")
	assert.Equal(t, []int64{116, 132, 148}, at(10, 2, 10, 3), "room for one")
	assert.Equal(t, []int64{116, 132, 148}, at(3, 2, 10, 3), "one that does not fit has all of it")
	assert.Equal(t, []int64{116, 117, 132, 133}, at(0, 2, 10, 4), "two contexts without a reorder buffer")
	c := newContexts(64, 2)
	assert.EqualValues(t, 204, c.take(100, 1, 1, 99))
	assert.EqualValues(t, 204, c.take(101, 1, 1, 1), "they leave in order")
	assert.EqualValues(t, 506, c.take(500, 1, 1, 1))
	assert.Len(t, c.under, 1)
}

func newContexts(rob, n int) *contexts {
	return &contexts{spec: &Spec{Init: 4, Width: 4, Contexts: n, ContextROB: rob}}
}

// fixed is a function of some operations and a latency.
type fixed struct{ ops, latency int }

func (f fixed) Eval(uint64, []uint64, int64) (uint64, bool) { return 0, true }
func (f fixed) Ops() int                                    { return f.ops }
func (f fixed) Latency() int                                { return f.latency }
func (f fixed) Scalar() bool                                { return false }

// TestReduceTree: 16 elements whose order is kept are a chain of 16 sums of 2 cycles behind the 4 to
// the contexts; in any order they are one SIMD sum, four steps of a move and a sum, 9 operations in
// all in 8 units.
func TestReduceTree(t *testing.T) {
	for tree, want := range map[int]event.Time{0: 4 + 16*2, 2: 4 + 1 + 2 + 4*(1+2) + 1} {
		b := &Bank{spec: &Spec{Init: 4, Width: 8, ContextROB: 64}}
		b.scm.spec = b.spec
		require.Equal(t, want, b.occupy(0, &Stream{Kind: Reduce, Inputs: []int{0}, Func: fixed{1, 2}, Tree: tree}, 16, 16), tree)
	}
}
