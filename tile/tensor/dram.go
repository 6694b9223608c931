package tensor

import (
	"context"

	"github.com/bitsched/bitsched/tile"
)

// Transfer brings bytes from an address on between DRAM and arrays when all before is
// done, while arrays wait. Cache lines lie on the channels in turn, each of which takes
// a cycle to begin and the whole cycles of its bytes; the tensor transpose units keep up
// with them. It returns the cycles that this took.
func (c *Chip) Transfer(ctx context.Context, address uint64, bytes int64) (int64, error) {
	n, mean := TransferCycles(c.m, address, bytes)
	c.Counters.Imbalance += uint64(n - mean)
	return n, c.Hold(ctx, n)
}

// TransferCycles returns the cycles of a transfer on the busiest channel, and those on
// channels that have the same share of it.
func TransferCycles(m *tile.Machine, address uint64, bytes int64) (busiest, mean int64) {
	n := int64(channels(m))
	line := int64(m.L3.LineBytes)
	share := make([]int64, n)
	first := int64(address) / line
	lines := (bytes + line - 1) / line
	for i := range n {
		// Lines i, i+n, i+2n and so on from the first one, by the channel of each.
		k := (lines - i + n - 1) / n
		share[(first+i)%n] += max(0, k) * line
	}
	if rest := lines*line - bytes; rest > 0 { // the last line is not whole
		share[(first+lines-1)%n] -= rest
	}
	for _, s := range share {
		busiest = max(busiest, int64(float64(s*n)/m.DRAMBytesPerCycle())+1)
	}
	return busiest, int64(float64(bytes)/m.DRAMBytesPerCycle()) + 1
}

// channels returns the channels of DRAM, one for each memory controller if the bandwidth of
// the description is that of a channel.
func channels(m *tile.Machine) int {
	if m.DRAM.Reading == "total" {
		return 1
	}
	return m.NoC.MemoryControllers
}
