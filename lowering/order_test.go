package lowering

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/tdfgtest"
	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// TestOrders: all orders have the nodes that outputs need, each once and behind its operands, and
// plans on few rows are right in whatever order they came out.
func TestOrders(t *testing.T) {
	store := arith.NewStore("")
	others, spilled := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 9))
		typ := []scalar.Type{scalar.Int8, scalar.Int16}[seed%2]
		g := tdfgtest.Graph(r, tdfgtest.Options{Type: typ, Nodes: 24, Open: true, Align: 8})
		needed := map[tdfg.NodeID]bool{}
		var need func(id tdfg.NodeID)
		need = func(id tdfg.NodeID) {
			if !needed[id] {
				needed[id] = true
				for _, a := range g.Nodes[id].Args {
					need(a)
				}
			}
		}
		for _, o := range g.Outputs {
			need(o.Node)
		}
		first := byNeed(g)
		for k, order := range orders {
			list := order(g)
			place := map[tdfg.NodeID]int{}
			for i, id := range list {
				require.True(t, needed[id], "seed %d order %d", seed, k)
				require.NotContains(t, place, id)
				place[id] = i
				for _, a := range g.Nodes[id].Args {
					require.Contains(t, place, a, "an operand comes first")
				}
			}
			require.Len(t, list, len(needed))
			if !slices.Equal(list, first) {
				others++
			}
		}
		var wl []int
		for i := range g.Arrays {
			wl = append(wl, i*typ.Bits())
		}
		rows := (len(g.Arrays)+2)*typ.Bits() + []int{0, 8, 16, 24}[seed%4]
		p, err := NewPlan(context.Background(), g, Target{Tech: "neural-cache", Rows: rows, Programs: store}, wl, nil)
		if err != nil {
			require.ErrorContains(t, err, "not enough rows")
			continue
		}
		require.NoError(t, p.Check(), "seed %d", seed)
		if p.Slots > 0 {
			spilled++
		}
	}
	require.Greater(t, others, 200)
	require.Greater(t, spilled, 50)
}
