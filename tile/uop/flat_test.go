package uop

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFlat stores, scatters, adds and swaps in two segments.
func TestFlat(t *testing.T) {
	given := []Segment{{Addr: 4096, Data: make([]byte, 16)}, {Addr: 64, Data: []byte{1, 2, 3, 4, 5, 6, 7, 8}}}
	f := NewFlat(given)
	var b Batch
	op := func(o Op, data ...byte) []byte {
		o.Lanes, o.Data = max(1, o.Lanes), uint32(len(b.Data))
		b.Data = append(b.Data, data...)
		old, err := f.Perform(&b, &o)
		require.NoError(t, err)
		return old
	}
	require.Equal(t, []byte{3, 4}, op(Op{Kind: Load, Addr: 66, Size: 2}, 0, 0))
	require.Equal(t, []byte{2}, op(Op{Kind: Store, Addr: 65, Size: 1}, 9))
	require.Equal(t, []byte{9}, op(Op{Kind: Atomic, RMW: Add, Addr: 65, Size: 1}, 4))
	require.Equal(t, []byte{13}, op(Op{Kind: Atomic, RMW: CompareSwap, Addr: 65, Size: 1}, 7, 12))
	require.Equal(t, []byte{13}, op(Op{Kind: Atomic, RMW: CompareSwap, Addr: 65, Size: 1}, 7, 13))
	lanes := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 4097), 4111)
	require.Nil(t, op(Op{Kind: Scatter, Lanes: 2, Size: 2, Addr: 4097}, append(lanes, 5, 6)...))
	require.Nil(t, op(Op{Kind: IntALU}))
	for addr, v := range map[uint64]byte{64: 1, 65: 7, 4097: 5, 4111: 6} {
		got, err := f.Bytes(addr, 1)
		require.NoError(t, err)
		require.Equal(t, []byte{v}, got)
	}
	require.Equal(t, byte(2), given[1].Data[1], "the segments stay as they were")
	for _, addr := range []uint64{63, 72, 71, 4112} {
		_, err := f.Bytes(addr, 2)
		require.ErrorContains(t, err, "is in no segment")
	}
}
