package benchmarks

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
)

func faultPoint(value, rate, low, high float64) FaultPoint {
	r := sram.Rate{Rate: rate, Low: low, High: high}
	half := sram.Rate{Rate: rate / 2, Low: low / 2, High: high / 2}
	return FaultPoint{value, &sram.CampaignReport{Trials: 1, Patterns: 100, Wrong: r, Bits: half}}
}

// TestFaultFigure reads the drawing back: a point for each rate, higher rates
// higher up, none at all at the bottom, and bars around their points.
func TestFaultFigure(t *testing.T) {
	points := []FaultPoint{
		faultPoint(1e-3, 0.5, 0.4, 0.6), faultPoint(1e-5, 0, 0, 0.01),
		faultPoint(1e-4, 0.05, 0.03, 0.08), faultPoint(0, 0, 0, 0.01),
	}
	svg := FaultFigure("faults of <x>", "probability", points)
	require.Equal(t, svg, FaultFigure("faults of <x>", "probability", points))
	var wrong, bits []shape
	for _, s := range shapes(t, svg) {
		if s.name != "circle" {
			continue
		}
		if strings.HasPrefix(s.hint, "patterns") {
			wrong = append(wrong, s)
		} else {
			bits = append(bits, s)
		}
	}
	require.Len(t, wrong, 3, "the value 0 has no place")
	require.Len(t, bits, 3)
	require.Equal(t, "patterns with a wrong bit at 0.001: 0.5 (0.4 to 0.6)", wrong[2].hint)
	for i := 1; i < 3; i++ {
		require.Greater(t, wrong[i].num(t, "cx"), wrong[i-1].num(t, "cx"))
		require.Less(t, wrong[i].num(t, "cy"), wrong[i-1].num(t, "cy"))
		require.Greater(t, bits[i].num(t, "cy"), wrong[i].num(t, "cy"), "fewer bits than patterns")
	}
	require.Equal(t, wrong[0].num(t, "cy"), bits[0].num(t, "cy"), "no errors")
	require.Nil(t, FaultFigure("t", "a", points[3:]))
	require.NotEmpty(t, shapes(t, FaultFigure("t", "a", points[:1])))
}
