package reference

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/sparse/matrix"
)

// TestLoops compares pushing and pulling by some threads with the product in float64.
func TestLoops(t *testing.T) {
	for _, text := range []string{"gen:rmat,scale=8", "gen:bipartite,samples=40,features=300,nnz=900", "gen:densecol,n=50"} {
		m, err := matrix.Generate(text, 3)
		require.NoError(t, err, text)
		transposed := &matrix.Matrix{Rows: m.Cols, Cols: m.Rows, Kind: m.Kind, Ptr: make([]int64, m.Rows+1)}
		for r := range m.Rows { // by definition
			for c := range m.Cols {
				for k := m.Ptr[c]; k < m.Ptr[c+1]; k++ {
					if int(m.Idx[k]) == r {
						transposed.Idx = append(transposed.Idx, uint32(c))
						if m.Val != nil {
							transposed.Val = append(transposed.Val, m.Val[k])
						}
					}
				}
			}
			transposed.Ptr[r+1] = int64(len(transposed.Idx))
		}
		x := make([]float32, m.Cols)
		for c := range x {
			x[c] = float32(c%7) + 0.5
		}
		want, _, _ := Product(m, x)
		for _, threads := range []int{1, 3} {
			push, pull := Push(m, x, threads), Pull(transposed, x, threads)
			for r, w := range want {
				require.InDelta(t, w, push[r], 1e-3*(1+w), text)
				require.InDelta(t, w, pull[r], 1e-3*(1+w), text)
			}
		}
	}
}
