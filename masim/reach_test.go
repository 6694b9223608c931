package masim

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// A gate that changes its array changes what is evicted from the birth of its
// fanins on, not only from their last uses: single changes of plans whose gates
// lie in arrays at random cost the same from the last run as by a fresh
// evaluator.
func TestSetArrayReach(t *testing.T) {
	tried := 0
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 4))
		g := xmg.New("far") // fanins from anywhere: values wait for long before their first use
		lits := []xmg.Lit{}
		for range 8 {
			lits = append(lits, g.AddInput(""))
		}
		for len(lits) < 500 {
			n := len(lits)
			if l := g.Maj(lits[r.IntN(n)], lits[r.IntN(n)].Not(), lits[r.IntN(n)]); l.Node() == g.NumNodes()-1 {
				lits = append(lits, l)
			}
		}
		g.AddOutput("y", lits[len(lits)-1])
		in := newInstance(Problem{g, sram.Geometry{Arrays: 6, Rows: 60, Cols: 1}}, 6)
		pl := fileOrder(in, 0)
		for i := range pl.array {
			pl.array[i] = uint8(r.IntN(3))
		}
		ev := newEvaluator(in, pl, true)
		if ev.reset() == infeasible {
			continue
		}
		for range 150 {
			x := int32(r.IntN(int(in.gates)))
			from := pl.array[x]
			ev.setArray(x, uint8(r.IntN(3)))
			got := ev.try()
			require.Equal(t, newEvaluator(in, pl.clone(), false).reset(), got, "seed %d gate %d from array %d to %d", seed, x, from, pl.array[x])
			tried++
			if got != infeasible && r.IntN(2) == 0 {
				ev.accept()
				continue
			}
			ev.setArray(x, from)
			ev.reject()
		}
	}
	require.Greater(t, tried, 1000)
}
