package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/report"
	"github.com/bitsched/bitsched/benchmarks/reproduce"
)

// TestBoundsArePrinted has a claim with bounds in all that reproduce writes.
func TestBoundsArePrinted(t *testing.T) {
	ours, off := 2.0, -0.5
	orders := []reproduce.Order{{More: "a over b", By: 0.9, Interval: 1, Ordering: reproduce.Tie}}
	r := &reproduceResult{Size: reproduce.Small, Entries: []*reproduce.Report{{
		ID: "t:x", Title: "Title", Paper: "Paper", Size: reproduce.Small, Measured: &reproduce.Measured{}, Seeds: 5, Orders: orders,
		Comparisons: []reproduce.Comparison{
			{Name: "a over b", Section: "1", Unit: "x", Paper: 4, Ours: &ours, Interval: 0.125, Deviation: &off, Tolerance: 0.2, Verdict: reproduce.NotReachable, Bounds: []reproduce.Bound{
				{Name: "a over b", Side: reproduce.AtMost, Value: 2.5, With: "with links for nothing", Why: "by runs"}, {Name: "a over b", Side: reproduce.AtMost, Value: 3.21987, With: "without links", Why: "by counts"},
			}},
			{Name: "c", Section: "1", Unit: "%", Paper: 4, Tolerance: 0.2, Verdict: reproduce.NotMeasured},
		},
	}}}
	text := r.text()
	require.Regexp(t, `a over b.*2 ±0.12.x.*not reachable`, text)
	require.Contains(t, text, "\n\norder  a over b above 1: tie (+0.9 ± 1)\nbound  a over b: at most 2.5x, with links for nothing: by runs\nbound  a over b: at most 3.22x, without links: by counts\n\n")
	var b bytes.Buffer
	require.NoError(t, r.writeCSV(&b))
	lines := strings.Split(b.String(), "\n")
	require.Equal(t, "t:x,small,a over b,1,x,4,2,-0.5,0.2,false,,not reachable,2.5,at most,with links for nothing,by runs,0.125", lines[1])
	require.True(t, strings.HasSuffix(lines[2], "not measured,,,,,"), lines[2])
	require.Equal(t, strings.Count(lines[0], ","), strings.Count(lines[1], ","))
	data, err := json.Marshal(r)
	require.NoError(t, err)
	require.Contains(t, string(data), `"verdict":"not reachable","bounds":[{"name":"a over b","side":"at most","value":2.5,"with":"with links for nothing","why":"by runs"},`)
	b.Reset()
	page := &report.Page{Title: "Title", Sections: report.Reproduced(r.Entries, nil)}
	require.NoError(t, page.Write(&b))
	require.Contains(t, b.String(), "Bound: a over b: at most 2.5x, with links for nothing: by runs")
	require.Contains(t, b.String(), "not reachable")
}
