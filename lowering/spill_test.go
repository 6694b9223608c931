package lowering

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg"
)

// TestSpilledRows: the rows of a value are free once it is spilled, so that a spilled value
// that ends must not free them again: another one has them by then.
func TestSpilledRows(t *testing.T) {
	p := &planner{g: &tdfg.Graph{}, plan: &Plan{}, rows: make([]bool, 16)}
	a, err := p.make(8)
	require.NoError(t, err)
	a.nodes = []tdfg.NodeID{0}
	p.uses = [][]int{{5}, {5}, {5}}
	b, err := p.make(8)
	require.NoError(t, err)
	b.nodes = []tdfg.NodeID{1}
	p.letGo()
	b.held = true
	c, err := p.make(8) // in the rows of a
	require.NoError(t, err)
	require.True(t, a.spilled)
	require.Equal(t, a.reg, c.reg)
	require.Equal(t, []Step{{Kind: SpillStep, Src: c.reg}}, p.plan.Steps)
	p.drop(a)
	for row, used := range p.rows {
		require.True(t, used, "row %d", row)
	}
	require.False(t, p.spill(), "what is held and what was dropped is not spilled")
	p.drop(c)
	_, free := p.freeRows(8)
	require.True(t, free)
	d, err := p.make(8)
	require.NoError(t, err)
	p.drop(c) // again
	_, free = p.freeRows(1)
	require.False(t, free, "the rows are those of b and %v", d.reg)
}
