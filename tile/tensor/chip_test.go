package tensor_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/tensor"
)

// fourBanks is a mesh of 2x2 banks. A packet has 64 bytes and 3 flits and takes an H-tree
// for a cycle; over n links it arrives 2 + 5 (n + 1) + 2 cycles after it left its queue.
func fourBanks(t testing.TB) *tile.Machine {
	m := tile.Default()
	m.Mesh.Cols, m.Mesh.Rows = 2, 2
	m.NoC.MemoryControllers = 4
	require.NoError(t, m.Check())
	return m
}

func newChip(t *testing.T, m *tile.Machine) *tensor.Chip {
	c, err := tensor.New(m)
	require.NoError(t, err)
	return c
}

func barrier(t *testing.T, c *tensor.Chip) (banks, all int64) {
	banks, all, err := c.Barrier(context.Background())
	require.NoError(t, err)
	return banks, all
}

// TestBanks has banks execute more commands than their controllers have places for, each
// bank by itself.
func TestBanks(t *testing.T) {
	c := newChip(t, fourBanks(t))
	for i := range 300 {
		c.Local(0, 3)
		c.Local(2, int64(i%5))
		c.Shift([]tensor.Part{{Bank: 2, Cycles: 4, Tree: 2}}, nil, false, 0)
	}
	banks, all := barrier(t, c)
	require.EqualValues(t, 300*4+300*2, banks)
	require.Equal(t, banks, all)
	require.EqualValues(t, 900, c.Counters.Commands)
	require.NoError(t, c.Hold(context.Background(), 37))
	c.Local(1, 5)
	banks, _ = barrier(t, c)
	require.EqualValues(t, 1800+37+5, banks)
	require.Zero(t, c.Counters.TreeWait+c.Counters.LandWait+c.Counters.MeshWait)
}

// TestShift counts the packets of one shift by hand: they leave when the last bank of the
// shift has begun, and nothing waits.
func TestShift(t *testing.T) {
	c := newChip(t, fourBanks(t))
	c.Local(1, 100)
	// Bank 0 sends two packets to bank 3 over two links, bank 1 one to bank 0 over one. The
	// second packet is injected 3 cycles after the first.
	const alone = 3 + 2 + 15 + 2
	c.Shift([]tensor.Part{{Bank: 0, Cycles: 21, Tree: 16}, {Bank: 1, Cycles: 37, Tree: 32}}, []tensor.Flow{{From: 0, To: 3, Packets: 2}, {From: 1, To: 0, Packets: 1}}, false, alone)
	banks, all := barrier(t, c)
	require.EqualValues(t, 137, banks)
	require.EqualValues(t, 137, all)
	require.EqualValues(t, 3, c.Counters.Packets)
	require.EqualValues(t, 3, c.Counters.Arrivals)
	require.EqualValues(t, 2*96*2+96, c.ByteHops())
	require.Zero(t, c.Counters.LateMesh+c.Counters.LateLand+c.Counters.TreeWait+c.Counters.LandWait)
	require.EqualValues(t, 3, c.Counters.MeshWait, "the second packet, in its queue")

	// A multicast to three banks is one packet, over three links.
	require.NoError(t, c.Hold(context.Background(), 0))
	hops := c.ByteHops()
	c.Shift([]tensor.Part{{Bank: 0, Cycles: 7, Tree: 2}}, []tensor.Flow{{From: 0, To: 1, Packets: 1}, {From: 0, To: 2, Packets: 1}, {From: 0, To: 3, Packets: 1}}, true, 2+15+2)
	banks, all = barrier(t, c)
	require.EqualValues(t, 137+7, banks)
	require.EqualValues(t, 137+2+15+2, all)
	require.EqualValues(t, 4, c.Counters.Packets)
	require.EqualValues(t, 6, c.Counters.Arrivals)
	require.EqualValues(t, 3*96, c.ByteHops()-hops)
}

// TestTreeIsTaken: a packet that arrives while a shift has the H-tree waits for its end,
// and a shift waits for packets that wait.
func TestTreeIsTaken(t *testing.T) {
	c := newChip(t, fourBanks(t))
	const alone = 2 + 10 + 2
	c.Shift([]tensor.Part{{Bank: 1, Cycles: 105, Tree: 100}}, nil, false, 0)
	c.Shift([]tensor.Part{{Bank: 0, Cycles: 10, Tree: 1}}, []tensor.Flow{{From: 0, To: 1, Packets: 1}}, false, alone)
	banks, all := barrier(t, c)
	require.EqualValues(t, 105, banks)
	require.EqualValues(t, 105, all, "it has landed at 100")
	require.EqualValues(t, 100-alone, c.Counters.LandWait)
	require.Zero(t, c.Counters.LateLand, "the bank was later")

	// Without the time for the tree behind it, the packet is the last.
	require.NoError(t, c.Hold(context.Background(), 0))
	start := c.Now()
	c.Shift([]tensor.Part{{Bank: 1, Cycles: 60, Tree: 60}}, nil, false, 0)
	c.Shift([]tensor.Part{{Bank: 0, Cycles: 10, Tree: 1}}, []tensor.Flow{{From: 0, To: 1, Packets: 2}}, false, alone+3)
	_, all = barrier(t, c)
	require.EqualValues(t, start+61, all, "the second packet has the tree after the first")
	require.EqualValues(t, 61-alone-3, c.Counters.LateLand)

	// A shift that begins while packets land has the tree a cycle later.
	require.NoError(t, c.Hold(context.Background(), 0))
	start = c.Now()
	c.Local(1, alone)
	c.Shift([]tensor.Part{{Bank: 1, Cycles: 8, Tree: 4}}, nil, false, 0)
	c.Shift([]tensor.Part{{Bank: 0, Cycles: 10, Tree: 1}}, []tensor.Flow{{From: 0, To: 1, Packets: 1}}, false, alone)
	banks, _ = barrier(t, c)
	require.Contains(t, []int64{start + alone + 8, start + alone + 9}, banks)
	require.EqualValues(t, banks-start-alone-8, c.Counters.TreeWait)
	require.EqualValues(t, c.Counters.TreeWait, c.Counters.LateBanks)
}

// TestMeshIsShared: the packets of two shifts at a time take longer than those of each
// alone.
func TestMeshIsShared(t *testing.T) {
	c := newChip(t, fourBanks(t))
	alone := int64(3*9 + 2 + 15 + 2) // the tenth packet of three flits
	for _, from := range []int{0, 1} {
		c.Shift([]tensor.Part{{Bank: from, Cycles: 5, Tree: 5}}, []tensor.Flow{{From: from, To: 3, Packets: 10}}, false, alone)
	}
	_, all := barrier(t, c)
	require.Greater(t, all, alone)
	require.LessOrEqual(t, all, 2*alone)
	require.Positive(t, c.Counters.LateMesh)
	require.LessOrEqual(t, all, alone+int64(c.Counters.LateMesh+c.Counters.LateLand))
}

// TestShiftsOverlap adds a shift while the last packet of another is on its way: the
// packet still counts for its own shift.
func TestShiftsOverlap(t *testing.T) {
	c := newChip(t, tile.Default()) // 8x8 banks
	const near, far = 2 + 5*2 + 2, 3 + 2 + 5*15 + 2
	c.Shift([]tensor.Part{{Bank: 0, Cycles: 1, Tree: 1}}, []tensor.Flow{{From: 0, To: 1, Packets: 1}, {From: 0, To: 63, Packets: 1}}, false, far)
	require.NoError(t, c.Engine().Run(context.Background(), near+6))
	require.EqualValues(t, 1, c.Counters.Arrivals)
	c.Shift([]tensor.Part{{Bank: 16, Cycles: 1, Tree: 1}}, []tensor.Flow{{From: 16, To: 17, Packets: 1}}, false, near)
	_, all := barrier(t, c)
	require.EqualValues(t, 3, c.Counters.Arrivals)
	require.EqualValues(t, far, all)
	require.Zero(t, c.Counters.LateMesh, "nothing waited in the mesh")
}

// TestTransfer compares the shares of the channels with a walk over the lines.
func TestTransfer(t *testing.T) {
	m := tile.Default()
	rapid.Check(t, func(t *rapid.T) {
		m.NoC.MemoryControllers = rapid.IntRange(1, 20).Draw(t, "channels")
		address := uint64(m.L3.LineBytes) * rapid.Uint64Range(0, 50).Draw(t, "line")
		bytes := rapid.Int64Range(1, 20000).Draw(t, "bytes")
		share := make([]int64, m.NoC.MemoryControllers)
		for i := range bytes {
			share[(address+uint64(i))/uint64(m.L3.LineBytes)%uint64(len(share))]++
		}
		want := int64(0)
		for _, s := range share {
			want = max(want, int64(float64(s*int64(len(share)))/m.DRAMBytesPerCycle())+1)
		}
		got, mean := tensor.TransferCycles(m, tensor.Run{Address: address, Bytes: bytes})
		require.Equal(t, want, got)
		require.LessOrEqual(t, mean, got)
	})
	c := newChip(t, tile.Default())
	c.Local(5, 10)
	n, err := c.Transfer(context.Background(), tensor.Run{Bytes: 16 * 64 * 100})
	require.NoError(t, err)
	require.EqualValues(t, 6400/12.8+1, n)
	require.EqualValues(t, 10+n, c.Now())
	require.Zero(t, c.Counters.Imbalance)
}

// TestStop: a run ends with its context.
func TestStop(t *testing.T) {
	c := newChip(t, fourBanks(t))
	for range 10000 {
		c.Shift([]tensor.Part{{Bank: 0, Cycles: 10, Tree: 1}}, []tensor.Flow{{From: 0, To: 1, Packets: 1}}, false, 14)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := c.Wait(ctx)
	require.ErrorIs(t, err, context.Canceled)
}
