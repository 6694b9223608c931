package masim

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// Where more values are live than rows hold no input, whatever the order, that is said to be proved; with
// rows to spare it is not.
func TestSettleLiveValues(t *testing.T) {
	const inputs, values = 14, 80
	for _, outputs := range []bool{false, true} {
		g := xmg.New("select")
		var in, x []xmg.Lit
		for range inputs {
			in = append(in, g.AddInput(""))
		}
		for i := range values {
			x = append(x, g.Maj(in[i%inputs], in[(i+1+i/inputs)%inputs].NotIf(i%2 == 0), in[(i+7)%inputs]))
		}
		sum := x[0]
		for _, l := range x[1:] {
			sum = g.Xor2(sum, l)
		}
		out := sum
		for i, l := range x { // each product needs the sum of all values
			l = g.And(sum, l)
			if out = g.Xor2(out, l); outputs {
				g.AddOutput(fmt.Sprint("y", i), l)
			}
		}
		g.AddOutput("y", out)
		for rows, proved := range map[int]bool{(values + inputs) / 2: true, values: false} {
			p := Problem{g, sram.Geometry{Arrays: 2, Rows: rows, Cols: 1}}
			_, err := settle(t.Context(), p, Options{}, fmt.Errorf("%w: not found", ErrInfeasible))
			require.ErrorIs(t, err, ErrInfeasible)
			if proved {
				require.ErrorContains(t, err, "there is no schedule")
			} else {
				require.ErrorContains(t, err, "not proved")
			}
		}
	}
}
