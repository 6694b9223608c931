package multicore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/multicore"
)

// rowsC has many short loops of which nothing is left for the core.
const rowsC = `#include "bitsched.h"
void f(int N, int32_t C[N][31])
{
	inf_array(C, N, 31);
	for (int j = 0; j < N; j++)
		for (int i = 0; i < 31; i++)
			C[j][i] = j;
}
`

// TestManyInstances has a core load for more loops than its engine has configured: in the
// largest reorder buffer that a machine may have there are hundreds of them.
func TestManyInstances(t *testing.T) {
	for _, rob := range []string{"224", "1024", "4096"} {
		p, want := compiled(t, rowsC, 400, 1)
		m := machine(t, "nsc-small", "ooo8")
		for _, name := range []string{"rob", "iq", "lq", "int_registers"} {
			require.NoError(t, m.Set("cores.ooo8."+name, rob))
		}
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: "ns-decouple"})
		require.NoError(t, err, rob)
		require.NoError(t, sameMemory(p, want), rob)
		require.EqualValues(t, 400, r.Streams.Core.Offloaded, rob)
		require.True(t, r.Streams.Loops[0].Vanishes)
	}
}

// TestManyIterations has a core load elements of more iterations than streams have lines for
// in a page of their window.
func TestManyIterations(t *testing.T) {
	p, k, before, after := nearProgram(t, "histogram")
	m := machine(t, "nsc-small", "ooo8")
	for _, name := range []string{"rob", "iq", "lq", "sq", "int_registers"} {
		require.NoError(t, m.Set("cores.ooo8."+name, "4096"))
	}
	_, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: "ns"})
	require.NoError(t, err)
	require.NoError(t, k.Check(streamSizes[k.Name], before, after))
}
