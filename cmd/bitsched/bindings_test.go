package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBindingsWhole compares all that mapstudy bindings --json prints with counts by hand (spec, 2.4), and sizes on one
// crossbar with all sizes tried: sizes divide the extents of Table IV, rows take 128 and columns 32 elements.
func TestBindingsWhole(t *testing.T) {
	type row struct {
		Operator string `json:"operator"`
		Platform string `json:"platform"`
		Function string `json:"function"`
		InOrder  int64  `json:"in_order"`
		Swapped  int64  `json:"swapped"`
		Total    int64  `json:"total"`
		Empty    string `json:"may_be_empty"`
		SizedIn  int64  `json:"sized_in_order"`
		SizedSw  int64  `json:"sized_swapped"`
		Sized    int64  `json:"sized"`
		Paper    int64  `json:"paper"`
	}
	// Sizes whose product is at most a limit.
	var sizes func(limit int64, extents ...int64) int64
	sizes = func(limit int64, extents ...int64) (n int64) {
		if len(extents) == 0 {
			return 1
		}
		for x := int64(1); x <= min(limit, extents[0]); x++ {
			if extents[0]%x == 0 {
				n += sizes(limit/x, extents[1:]...)
			}
		}
		return n
	}
	crossbar := func(name string, N, K, H, W, C, R, S int64) row {
		rows := sizes(128, C, R, S)
		r := row{Operator: name, Platform: "mvm-reram", Function: "mvm", InOrder: 7, Swapped: 49, Total: 56, Paper: 56, SizedIn: rows * sizes(32, K), SizedSw: rows * sizes(32, N, H, W)}
		r.Sized = r.SizedIn + r.SizedSw
		return r
	}
	gemm := func(name string, n int64) row { // M, or N, in columns, K in rows
		x := sizes(128, n) * sizes(32, n)
		return row{Operator: name, Platform: "mvm-reram", Function: "mvm", InOrder: 1, Swapped: 1, Total: 2, SizedIn: x, SizedSw: x, Sized: 2 * x}
	}
	var want []row
	for _, p := range []string{"logic-sram", "logic-dram"} { // B1 and B2 leave m 15 sets of N, K, H, W; k1 and k2 12 ways, with empty ones 27
		want = append(want, row{Operator: "C1", Platform: p, Function: "bulk", InOrder: 15 * 12, Total: 15 * 12}, row{Operator: "C1", Platform: p, Function: "bulk", InOrder: 15 * 27, Total: 15 * 27, Empty: "reductions"},
			row{Operator: "G1", Platform: p, Function: "bulk"}, row{Operator: "G1", Platform: p, Function: "bulk", InOrder: 3 * 3, Total: 3 * 3, Empty: "reductions"})
	}
	want = append(want, crossbar("C1", 4, 64, 56, 56, 64, 3, 3), gemm("G1", 1024),
		row{Operator: "C1", Platform: "pnm-hbm", Function: "lane", InOrder: 7, Swapped: 49, Total: 56}, row{Operator: "C1", Platform: "pnm-hbm", Function: "lane2", Swapped: 15 * 7, Total: 105},
		row{Operator: "G1", Platform: "pnm-hbm", Function: "lane", InOrder: 1, Swapped: 1, Total: 2}, row{Operator: "G1", Platform: "pnm-hbm", Function: "lane2", Swapped: 3, Total: 3},
		crossbar("C0", 4, 64, 112, 112, 3, 7, 7), crossbar("C2", 4, 64, 56, 56, 64, 1, 1), crossbar("C3", 4, 128, 28, 28, 64, 3, 3), crossbar("C4", 4, 128, 28, 28, 128, 1, 1),
		crossbar("C5", 4, 128, 28, 28, 128, 3, 3), crossbar("C6", 4, 256, 14, 14, 128, 3, 3), crossbar("C7", 4, 256, 14, 14, 256, 1, 1), crossbar("C8", 4, 256, 14, 14, 256, 3, 3),
		crossbar("C9", 4, 512, 7, 7, 256, 3, 3), crossbar("C10", 4, 512, 7, 7, 512, 3, 3), gemm("G2", 2048))
	sized := map[string]int64{"C1": 1472, "C2": 448, "C4": 416, "C5": 1248, "C6": 816, "C8": 816, "C9": 360, "C10": 360, "G1": 96} // as the page has them
	for _, r := range want {
		if n, ok := sized[r.Operator]; ok && r.Platform == "mvm-reram" {
			require.Equal(t, n, r.Sized, r.Operator)
		}
	}
	a, stdout, stderr := testApp()
	require.Equal(t, 0, a.run([]string{"mapstudy", "bindings", "--json"}), stderr.String())
	var got struct {
		Bindings []row  `json:"bindings"`
		Refused  string `json:"fig4_refused"`
	}
	d := json.NewDecoder(stdout)
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&got))
	require.Equal(t, want, got.Bindings)
	require.Contains(t, got.Refused, "F[0,0,0,0] against F[0,0,1,0]")
}
