package masim

import (
	"testing"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// andChain is the conjunction of n inputs, of which the last `idle` feed nothing.
func andChain(n, idle int) *xmg.Graph {
	g := xmg.New("chain")
	ins := make([]xmg.Lit, n)
	for i := range ins {
		ins[i] = g.AddInput("")
	}
	acc := ins[0]
	for _, in := range ins[1 : n-idle] {
		acc = g.Maj(acc, in, xmg.False)
	}
	g.AddOutput("y", acc)
	return g
}

func TestLowerBound(t *testing.T) {
	for _, c := range []struct {
		name               string
		inputs, idle, rows int
		want               int
	}{
		{"no full array", 8, 0, 9, 0},
		{"one full array", 8, 0, 8, 8},
		{"one full array and a rest", 11, 0, 8, 8},
		{"two full arrays", 17, 0, 8, 16},
		{"idle inputs in the rest", 11, 3, 8, 8},
		{"idle inputs in a full array", 8, 3, 8, 5},
		{"no gate", 8, 7, 8, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Problem{andChain(c.inputs, c.idle), sram.Geometry{Arrays: 8, Rows: c.rows, Cols: 1}}
			b := LowerBound(t.Context(), p)
			got, reason := b.Copies, b.Reason
			if got != c.want || reason == "" {
				t.Errorf("LowerBound = %d (%s), want %d", got, reason, c.want)
			}
		})
	}
}
