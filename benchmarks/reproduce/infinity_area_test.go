package reproduce

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestArea adds up the areas of the machine of table 2 by hand: 64 tiles, 16,384 arrays that
// compute of 18,432.
func TestArea(t *testing.T) {
	m, err := infsArea(context.Background(), &Env{})
	require.NoError(t, err)
	chip := 64*0.395/0.021 + 64*160*0.0085
	for name, want := range map[string]float64{
		"in-memory compute logic": 16384 * 0.0085 * 0.177, "near-memory support": 64 * (0.09 + 0.195 + 0.11),
		"both, of the chip": 100 * (16384*0.0085*0.177 + 64*0.395) / chip, "both, of the chip, with the logic that the paper prints": 100 * (66.75 + 64*0.395) / chip,
	} {
		found := false
		for _, v := range m.Values {
			if v.Name == name {
				found = true
				require.InEpsilon(t, want, v.Value, 1e-9, name)
			}
		}
		require.True(t, found, name)
	}
}
