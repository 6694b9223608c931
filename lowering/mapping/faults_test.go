package mapping

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// withFaults is a platform with faults.
func withFaults(t testing.TB, name, faults string) *platform.Platform {
	p := load(t, name)
	q, err := platform.Parse(strings.NewReader(p.Effective()+"faults: "+faults+"\n"), name+".yaml")
	require.NoError(t, err)
	return q
}

// TestFaults: mappings go round holes, and what is in faulty cells does not come into
// results; that it would, had it been used, is seen when the rows are not renamed.
func TestFaults(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ name, faults string }{
		{"logic-sram", "{rows: [0, 3, 17, 100], columns: [5, 130], units: [[0, 0], [3, 0], [7, 2]]}"},
		{"logic-dram", "{rows: [1, 2, 40], columns: [1000]}"},
		{"mvm-reram", "{units: [[0, 0, 0], [1, 0, 0], [0, 3, 5]]}"},
		{"pnm-hbm", "{units: [[2, 7]]}"},
	} {
		p := withFaults(t, c.name, c.faults)
		for _, work := range []string{"conv:N=2,K=5,H=6,W=7,C=3,R=3,S=3", "gemm:M=9,K=17,N=5"} {
			o, err := dnn.Parse(work, dnn.DefaultBits)
			require.NoError(t, err)
			q, err := New(ctx, o, p, Options{})
			require.NoError(t, err)
			rounds := 4
			if c.name == "logic-dram" {
				rounds = 1
			}
			for range rounds {
				m, ok := q.Random(r, 100)
				require.True(t, ok)
				var cost Cost
				require.Equal(t, Legal, q.Cost(&m, &cost))
				clocked, err := q.Clock(ctx, &m)
				require.NoError(t, err)
				require.Equal(t, cost, *clocked)
				v := randomValues(o, r)
				want, err := o.Run(ctx, 1, v...)
				require.NoError(t, err)
				got, err := q.Execute(ctx, &m, ExecuteOptions{Threads: 2}, v...)
				require.NoError(t, err)
				require.Equal(t, want, got.Output, "%s %s", c.name, work)
				if c.name == "logic-sram" {
					broken := *q
					broken.row = nil // words lie where they would without faults
					got, err := broken.Execute(ctx, &m, ExecuteOptions{Threads: 1}, v...)
					require.True(t, err != nil || !equalSums(want, got.Output), "row 0 holds the sums' lowest bits, and is stuck")
				}
			}
		}
	}
	// 128 rows with half of them faulty hold fewer words; units that are not there are not used.
	o, err := dnn.Parse("gemm:M=64,K=16,N=64", dnn.DefaultBits)
	require.NoError(t, err)
	p := withFaults(t, "mvm-reram", "{units: [[0, 0, 0], [1, 0, 0]]}")
	q, err := New(ctx, o, p, Options{})
	require.NoError(t, err)
	m := Unit()
	m.Factor[SlotLevel][0], m.Factor[SlotLevel+1][0], m.Factor[SlotLevel+2][0] = 2, 8, 4
	q.Complete(&m)
	require.NoError(t, q.Check(&m)) // four of the 15 tiles without faults
	m.Factor[SlotLevel+2][0], m.Factor[SlotLevel+2][2] = 4, 4
	m.Factor[SlotLevel+1][0] = 8
	q.Complete(&m)
	require.ErrorContains(t, q.Check(&m), "without faults")
}

func equalSums(a, b []int64) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestGoodColumns(t *testing.T) {
	for _, c := range []struct {
		faults   string
		first, n int
	}{
		{"{}", 0, 256}, {"{columns: [0]}", 64, 192}, {"{columns: [200]}", 0, 200}, {"{columns: [70, 10]}", 128, 128}, {"{columns: [255]}", 0, 255},
	} {
		first, n := withFaults(t, "logic-sram", c.faults).GoodColumns()
		require.Equal(t, [2]int{c.first, c.n}, [2]int{first, n}, c.faults)
	}
}
