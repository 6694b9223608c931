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
	require.EqualValues(t, 37, x.InterTile(37, 32, 0))
	require.EqualValues(t, 53, x.InterTile(37, 32, 256), "the network is the slower one")
	require.EqualValues(t, 32*8+5, x.InterTile(32*8+5, 32, 256), "the tree is the slower one")

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

// TestClimb has the cycles of shifts through an H-tree whose leaves decide: a few by
// hand, and those of all arrays of a bank against the closed form that the authors'
// compiler has for each level (DataMoveCompiler, "M = abs_tile_dist // S").
func TestClimb(t *testing.T) {
	m, err := tile.LoadMachine("infinity-stream-simulator")
	require.NoError(t, err)
	require.Equal(t, 16, m.L3.ArraysPerWay)
	require.Equal(t, 16, m.L3.ComputeWays)
	x := tile.NewTiming(m)
	climb := func(first, n, dist int) (*tile.Climb, int64) {
		c := m.NewClimb()
		for a := first; a < first+n; a++ {
			c.Add(a, c.Level(a, a+dist))
		}
		return c, x.Climb(c, 1, 1)
	}

	c, _ := climb(0, 256, 1) // a node of each of four levels, 15 ways, and the last array leaves
	require.EqualValues(t, 20*32, x.Climb(c, 32, 32))
	require.EqualValues(t, 20*32*2, x.Climb(c, 32, 33), "4 B of an array a cycle")
	require.EqualValues(t, 20*32*8, x.Climb(c, 32, 256))
	for _, k := range []struct {
		first, n, dist int
		want           int64
	}{
		{0, 1, 0, 0},      // stays
		{4, 1, 1, 1},      // to its neighbour
		{0, 8, 8, 8},      // over the root of its way, one after another
		{0, 16, 8, 9},     // and half of the way to the next one
		{3, 2, -3, 2},     // over two levels, one array each
		{256, 16, 16, 1},  // a way reads an array for others at a time
		{0, 256, 256, 16}, // as many as there are ways leave at a time
		{0, 256, 4096, 16},
		{255, 1, 1, 1}, // to the next bank
	} {
		_, n := climb(k.first, k.n, k.dist)
		require.Equal(t, k.want, n, "%+v", k)
	}

	// Of d subtrees of s arrays: those that go m of them further, and those that go m+1.
	level := func(s, d, dist int) (arrays int) {
		if dist >= s*d {
			return 0
		}
		m, n := dist/s, dist%s
		if m > 0 {
			arrays = (s - n) * (d - m)
		}
		return arrays + n*(d-m-1)
	}
	for dist := 1; dist < 256; dist++ {
		want := min(level(16, 16, dist), 16-max(1, dist/16)) // ways have one for others, the last ones none
		for s := 1; s < 16; s *= 2 {
			want += level(s, 2, dist)
		}
		want += min(dist, 16)
		_, there := climb(256, 256, dist)
		_, back := climb(256, 256, -dist)
		require.EqualValues(t, want, there, dist)
		require.Equal(t, there, back, dist)
	}
}
