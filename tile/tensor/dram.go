package tensor

import (
	"context"

	"github.com/bitsched/bitsched/tile"
)

// Run is a part of memory.
type Run struct {
	Address uint64
	Bytes   int64
}

// Transfer brings bytes between DRAM and arrays when all before is done, while arrays
// wait. Cache lines lie on the channels in turn, each of which takes a cycle to begin and
// the whole cycles of its bytes; the tensor transpose units keep up with them. It returns
// the cycles that this took.
func (c *Chip) Transfer(ctx context.Context, runs ...Run) (int64, error) {
	n, mean := TransferCycles(c.m, runs...)
	c.Counters.Imbalance += uint64(n - mean)
	return n, c.Hold(ctx, n)
}

// TransferCycles returns the cycles of a transfer on the busiest channel, and those on
// channels that have the same share of it.
func TransferCycles(m *tile.Machine, runs ...Run) (busiest, mean int64) {
	n := int64(channels(m))
	line := int64(m.L3.LineBytes)
	share := make([]int64, n)
	bytes := int64(0)
	for _, r := range runs {
		first := int64(r.Address) / line
		lines := (r.Bytes + line - 1) / line
		bytes += r.Bytes
		for i := range min(n, lines) {
			// Lines i, i+n, i+2n and so on from the first one, by the channel of each.
			share[(first+i)%n] += (lines - i + n - 1) / n * line
		}
		if rest := lines*line - r.Bytes; rest > 0 { // the last line is not whole
			share[(first+lines-1)%n] -= rest
		}
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
