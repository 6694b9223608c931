package benchmarks

import "math"

// GeoMean returns the geometric mean of positive values; NaN without values.
func GeoMean(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, v := range values {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(values)))
}

// atLeastOne is a number of copies as it enters means and ratios. A schedule
// without copies counts as one of one copy: the logarithm of 0 is no number, and
// to leave the circuit out would hide the best result there is.
func atLeastOne(copies int) float64 { return float64(max(copies, 1)) }
