package kernels

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProducts has two results of three products, 4 - 6 + 3 and 1 + 2 - 7: right, rounded, and wrong.
func TestProducts(t *testing.T) {
	in, weights := []float32{1, 2, 3}, []float32{4, -3, 1, 1, 1, -7. / 3}
	for _, x := range []struct {
		got   []float32
		relu  bool
		right bool
	}{
		{[]float32{1, 0}, true, true}, {[]float32{1 + 0x1p-22, 0}, true, true}, {[]float32{1, -4}, false, true}, {[]float32{1, -4}, true, false},
		{[]float32{1.001, 0}, true, false}, {[]float32{float32(math.NaN()), 0}, true, false}, {[]float32{float32(math.Inf(1)), 0}, true, false},
	} {
		err := products("y", in, weights, x.got, x.relu)
		require.Equal(t, x.right, err == nil, "%v: %v", x.got, err)
	}
}
