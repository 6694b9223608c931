package sparse

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/sparse/matrix"
)

// TestRows merges rows with frontiers of several chunks, SPUs having several rows of
// outputs, every one interpreted.
func TestRows(t *testing.T) {
	m, err := matrix.Generate("gen:uniform,n=700,nnz=6000,undirected", 3)
	require.NoError(t, err)
	for _, writeback := range []string{"hidden", "serial"} {
		for _, app := range []string{"bfs", "pagerank", "spmspv"} {
			rounds := map[int]int{}
			for _, rows := range []int{128, 42} {
				mach := small(1, 2, 2)
				mach.Organisation.RowsPerSubarray = rows
				require.NoError(t, mach.SetReadings([]string{"writeback=" + writeback}))
				o := DefaultAppOptions()
				o.Density = 0.5
				if app == "pagerank" {
					o.Iterations = 2
				}
				res, err := Run(context.Background(), app, m, o, config(mach, "v0"), nil)
				require.NoError(t, err, fmt.Sprint(app, writeback, rows))
				require.EqualValues(t, 4, res.Shadowed)
				rounds[rows] = res.Rounds
			}
			if app == "pagerank" {
				require.Greater(t, rounds[42], rounds[128])
			}
		}
	}
}

// TestBank runs the steps on a core for each bank: the same result, later.
func TestBank(t *testing.T) {
	m, err := matrix.Generate("gen:rmat,scale=9,undirected", 2)
	require.NoError(t, err)
	mach := small(2, 3, 4)
	spus, err := Run(context.Background(), "sssp", m, DefaultAppOptions(), config(mach, "v3"), nil)
	require.NoError(t, err)
	cores, err := Run(context.Background(), "sssp", m, DefaultAppOptions(), config(mach, "bank"), nil)
	require.NoError(t, err)
	require.Equal(t, spus.Digest, cores.Digest)
	require.Equal(t, 6, cores.SPUs)
	require.Greater(t, cores.Seconds, spus.Seconds)
	require.Equal(t, mach.SPUs()*mach.RowsPerSPU(), mach.BankLevel().SPUs()*mach.BankLevel().RowsPerSPU())
}

// TestSwitched turns versions into each other.
func TestSwitched(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		from, orientation string
		replicate         *bool
		want              string
	}{
		{"v3", "", nil, "v3"}, {"v3", "", &no, "v2"}, {"v2", "", &yes, "v3"}, {"v3", "rows", nil, "v0"}, {"v0", "columns", nil, "v1"}, {"v1", "columns", &no, "v1"},
		{"v1", "", &yes, ""}, {"hypo", "rows", nil, ""}, {"v3", "diagonals", nil, ""},
	} {
		v, err := LookupVariant(c.from)
		require.NoError(t, err)
		got, err := v.Switched(c.orientation, c.replicate)
		if c.want == "" {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got.Name)
	}
}
