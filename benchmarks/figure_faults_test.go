package benchmarks

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/figuretest"
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
	x := func(s figuretest.Shape) float64 { x, _, _ := s.Mark(t); return x }
	y := func(s figuretest.Shape) float64 { _, y, _ := s.Mark(t); return y }
	var wrong, bits []figuretest.Shape
	for _, s := range figuretest.Read(t, svg) {
		if _, _, ok := s.Mark(t); !ok || s.Hint == "" {
			continue
		}
		if strings.HasPrefix(s.Hint, "patterns") {
			wrong = append(wrong, s)
		} else {
			bits = append(bits, s)
		}
	}
	require.Len(t, wrong, 3, "the value 0 has no place")
	require.Len(t, bits, 3)
	require.Equal(t, "patterns with a wrong bit at 0.001: 0.5 (0.4 to 0.6)", wrong[2].Hint)
	for i := 1; i < 3; i++ {
		require.Greater(t, x(wrong[i]), x(wrong[i-1]))
		require.Less(t, y(wrong[i]), y(wrong[i-1]))
		require.Greater(t, y(bits[i]), y(wrong[i]), "fewer bits than patterns")
	}
	require.Equal(t, y(wrong[0]), y(bits[0]), "no errors")
	require.Nil(t, FaultFigure("t", "a", points[3:]))
	require.NotEmpty(t, figuretest.Read(t, FaultFigure("t", "a", points[:1])))
}
