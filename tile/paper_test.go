package tile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tile"
)

// The figures of Infinity Stream (ASPLOS 2023) that follow from its Table 2.

// Table 2 and section 7: 64 banks of 18 ways are 144 MB, of which 16 ways are the
// 128 MB and 4M bitlines that compute.
func TestPaperTable2(t *testing.T) {
	m := tile.Default()
	require.Equal(t, 64, m.Banks())
	bytes := m.Array.Rows * m.Array.Cols / 8
	require.Equal(t, 8<<10, bytes, "of an array")
	require.Equal(t, 144<<20, m.Banks()*m.L3.Ways*m.L3.ArraysPerWay*bytes)
	require.Equal(t, 128<<20, m.Arrays()*bytes)
	require.Equal(t, 2<<20, m.ArraysPerBank()*bytes, "section 2.2: 2 MB of a bank")
	require.Equal(t, 4<<20, m.Bitlines())
	require.Equal(t, 16384, m.Arrays())
}

// Eq. 1: with n cycles for an addition of n bits, which the paper takes from
// Duality Cache, 131072 additions of int32 a cycle.
func TestPaperEquation1(t *testing.T) {
	require.Equal(t, 131072, tile.Default().Bitlines()/32)
}
