package tile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/noc"
)

// TestTiming has cycles that were worked out by hand for the machine of Table 2.
func TestTiming(t *testing.T) {
	m := tile.Default()
	x := tile.NewTiming(m)
	require.EqualValues(t, 2, x.Compute(&sram.Kernel{Tech: &sram.NeuralCache, Rows: 8, Instrs: make([]sram.Micro, 2)}))
	require.EqualValues(t, 32, x.Constant(32))

	// A cycle for each wordline, or one for each 16 bitlines of the distance.
	require.EqualValues(t, 32, x.IntraShift(32, 1))
	require.EqualValues(t, 32, x.IntraShift(32, -255))
	slow := tile.Default()
	slow.Array.ShiftBitlines = 16
	require.EqualValues(t, 32, tile.NewTiming(slow).IntraShift(32, -16))
	require.EqualValues(t, 64, tile.NewTiming(slow).IntraShift(32, 17))
	require.EqualValues(t, 32, tile.NewTiming(slow).IntraShift(32, 0))

	// 64 B a cycle are the rows of two arrays, and there are five levels.
	require.EqualValues(t, 32+5, x.HTree(32, 256))
	require.EqualValues(t, 32+5, x.HTree(32, 512))
	require.EqualValues(t, 64+5, x.HTree(32, 513))
	require.EqualValues(t, 32*128+5, x.HTree(32, 256*256), "all of a bank")

	// 32 bits on 256 bitlines are 1 kB, 16 packets of a head and two flits of 32 B.
	require.Equal(t, 3, x.Flits())
	require.Equal(t, 16, x.Packets(32, 256))
	require.Equal(t, 0, x.Packets(32, 0))
	require.EqualValues(t, 48, x.Inject(16))
	require.EqualValues(t, 37, x.InterTile(32, 256, 0))
	require.EqualValues(t, 53, x.InterTile(32, 0, 256), "the network is the slower one")
	require.EqualValues(t, 32*8+5, x.InterTile(32, 256*15, 256), "the tree is the slower one")

	// Corner to corner are 14 hops, so 15 routers of 5 cycles with their links, and two
	// cycles before the first one.
	require.Equal(t, 14, x.Diameter())
	require.EqualValues(t, 77, x.Latency(14, 1))
	require.EqualValues(t, 79, x.Latency(14, 3))
	require.EqualValues(t, 7, x.Latency(0, 1))
	require.EqualValues(t, 2*77+63, x.Sync(64))
	require.EqualValues(t, 2*77, x.Sync(0))
	c := noc.DefaultConfig(m.Mesh.Cols, m.Mesh.Rows)
	for _, to := range []int{0, 1, 9, 63} {
		require.Equal(t, c.ZeroLoadLatency(0, to, 3), x.Latency(c.Distance(0, to), 3))
	}
}
