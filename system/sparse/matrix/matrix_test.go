package matrix

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStandins(t *testing.T) {
	for _, d := range Datasets() {
		start := time.Now()
		m, err := Standin(d.Name, 512, 0.5, 1)
		require.NoError(t, err)
		require.NoError(t, m.Check())
		_, _, asym := m.Asymmetry()
		require.False(t, asym)
		mean, sigma, most := m.Degrees()
		t.Log(d.Name, m.Cols, m.NNZ(), mean, sigma, most, time.Since(start))
		require.Equal(t, d.N/512, m.Cols)
		require.Equal(t, d.NNZ/512/2*2, m.NNZ())
	}
}
