package sparse

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRegular holds regular kernels to closed forms: instructions an entry, a row
// cycle for each row that is loaded or stored.
func TestRegular(t *testing.T) {
	const n, rows = 640, 10
	for kernel, want := range map[string]int64{
		"axpy": 4*n + 2*rows*9 + 9, // the last row of y is stored
		"dot":  1 + 2*n + 2*rows*9,
	} {
		res, err := Regular{Kernel: kernel, PerSPU: n, Threads: 2}.Run(context.Background(), small(1, 2, 3))
		require.NoError(t, err, kernel)
		require.Equal(t, want, res.Cycles, kernel)
		require.InDelta(t, float64(want), res.Mean, 0)
	}
	for _, kernel := range RegularKernels {
		for _, n := range []int{1, 63, 65, 1000} {
			_, err := Regular{Kernel: kernel, PerSPU: n, Seed: 3, Threads: 1}.Run(context.Background(), small(1, 1, 2))
			require.NoError(t, err, kernel)
		}
		p, err := RegularProgram(kernel)
		require.NoError(t, err)
		for _, in := range p.Code {
			require.Equal(t, in, DecodeInstruction(in.Encode()))
		}
	}
	_, err := Regular{Kernel: "sort", PerSPU: 1}.Run(context.Background(), small(1, 1, 2))
	require.ErrorContains(t, err, `unknown kernel "sort"`)
	_, err = Regular{Kernel: "dot", PerSPU: 1 << 20}.Run(context.Background(), small(1, 1, 2))
	require.ErrorIs(t, err, ErrInfeasible)
}
