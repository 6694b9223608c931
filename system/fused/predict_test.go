package fused

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// TestHistory has a part that takes three times its closed form: that is what it is expected to
// take from then on, also where the form changes, and what parts that were not there yet take
// comes nearer to it. What is done once does not count.
func TestHistory(t *testing.T) {
	p := &predictor{}
	q, other := &part{place: InMemory, report: &Choice{Places: make([]Placement, numPlaces)}}, &part{}
	q.form[InMemory] = 100_000
	require.Equal(t, 1.0, p.ratio(q, InMemory))
	p.took(q, 340_000, 40_000)
	require.Equal(t, 3.0, p.ratio(q, InMemory))
	require.InDelta(t, 3, p.ratio(other, InMemory), 0.1)
	require.Equal(t, 1.0, p.ratio(other, OnCores))
	q.form[InMemory] = 50_000
	p.took(q, 150_000, 0)
	require.Equal(t, 3.0, p.ratio(q, InMemory))
	p.took(q, 550_000, 0) // once: an eighth of it counts
	require.Equal(t, 4.0, p.ratio(q, InMemory))
	require.EqualValues(t, 3, q.report.Places[InMemory].Times)
	require.EqualValues(t, 1_040_000, q.report.Places[InMemory].Cycles)
}

// TestRemaining counts iterations of two loops around, the inner one of which goes down.
func TestRemaining(t *testing.T) {
	loop := func(name string, hi, step int64) *stream.Loop {
		return &stream.Loop{Var: name, Range: lattice.Interval{Lo: lattice.Const(0), Hi: lattice.Const(hi)}, Step: step}
	}
	q := &part{around: []*stream.Loop{loop("i", 3, 0), loop("j", 4, -1)}}
	n := 12.0
	for i := range int64(3) {
		for j := int64(3); j >= 0; j-- {
			require.Equal(t, n, q.remaining(map[string]int64{"i": i, "j": j}))
			n--
		}
	}
}
