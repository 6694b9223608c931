package machine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/mem"
)

// TestShare: the home of a line follows from how lines are shared out, and a bank then has as many
// lines of a run of memory as its sets allow, whatever that is; lines of memory have the controllers
// and groups of the description.
func TestShare(t *testing.T) {
	d, err := tile.LoadMachine("infinity-stream-slice")
	require.NoError(t, err)
	for _, bytes := range []int{64, 1024} {
		spec, err := Of(d)
		require.NoError(t, err)
		m, err := New(spec)
		require.NoError(t, err)
		m.Share(bytes)
		require.Equal(t, bytes, m.Interleave())
		per := mem.Line(bytes / mem.LineBytes)
		sets := mem.Line(m.Homes[0].Sets())
		all := 4 * sets * mem.Line(d.L3.Ways)
		for line := range all { // one for each way
			m.Preload(line)
		}
		for line := range all { // so that none was displaced
			bank := int(line / per % 4)
			if _, ok := m.Homes[bank].Peek(line); !ok || m.BankOf(line) != bank {
				require.Failf(t, "lost", "line %d by %d bytes", line, bytes)
			}
		}
		for line := range mem.Line(2048) { // rows of 128 lines, four groups side by side
			require.EqualValues(t, line/128%4, m.Group(line))
		}
	}
}
