package figure

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSeries: whichever two of many series there are, they differ by more than
// colour, or by colour.
func TestSeries(t *testing.T) {
	for i := range 56 {
		for j := range i {
			a, b := Series(i), Series(j)
			require.False(t, a.Colour == b.Colour && a.Marker == b.Marker, "%d and %d as lines", i, j)
			require.False(t, a.Colour == b.Colour && a.Hatch == b.Hatch, "%d and %d as areas", i, j)
			if i < int(markers) {
				require.NotEqual(t, a.Marker, b.Marker, "without colours, lines %d and %d", i, j)
				require.NotEqual(t, a.Hatch, b.Hatch, "without colours, areas %d and %d", i, j)
			}
		}
	}
	// Hatching can be seen on every colour.
	for i, colour := range palette {
		c := New(1, 1, "", "")
		c.fill(Style{Colour: colour, Hatch: RisingLines})
		_, after, ok := strings.Cut(c.defs[0].text, `stroke="`)
		require.True(t, ok)
		require.Greater(t, math.Abs(lab(t, after[:7], visions["all"])[0]-lab(t, colour, visions["all"])[0]), 35.0, "lines on colour %d", i)
	}
	for m := range markers {
		require.NotEmpty(t, m.path())
	}
	hatchings := map[string]bool{}
	for h := range hatches {
		c := New(1, 1, "", "")
		fill := c.fill(Style{Colour: "#000000", Hatch: h})
		hatchings[fill+string(c.Bytes())] = true
		require.Equal(t, fill, c.fill(Style{Colour: "#000000", Hatch: h}))
		require.LessOrEqual(t, len(c.defs), 1, "defined once")
	}
	require.Len(t, hatchings, int(hatches))
}

// colour vision deficiencies in full, as matrices of linear RGB: Machado, Oliveira
// and Fernandes, "A Physiologically-based Model for Simulation of Color Vision
// Deficiency" (2009), table 1.
var visions = map[string][3][3]float64{
	"all":    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protan": {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deutan": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritan": {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// lab returns CIELAB of a colour #rrggbb as somebody sees it.
func lab(t *testing.T, colour string, vision [3][3]float64) [3]float64 {
	var rgb, seen [3]float64
	for i := range rgb {
		v, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		require.NoError(t, err)
		rgb[i] = math.Pow((float64(v)/255+0.055)/1.055, 2.4)
	}
	for i := range seen {
		for j := range rgb {
			seen[i] += vision[i][j] * rgb[j]
		}
		seen[i] = min(max(seen[i], 0), 1)
	}
	xyz := [3]float64{
		(0.4124*seen[0] + 0.3576*seen[1] + 0.1805*seen[2]) / 0.9505,
		0.2126*seen[0] + 0.7152*seen[1] + 0.0722*seen[2],
		(0.0193*seen[0] + 0.1192*seen[1] + 0.9505*seen[2]) / 1.089,
	}
	for i, v := range xyz {
		if v > 0.008856 {
			xyz[i] = math.Cbrt(v)
		} else {
			xyz[i] = 7.787*v + 16.0/116
		}
	}
	return [3]float64{116*xyz[1] - 16, 500 * (xyz[0] - xyz[1]), 200 * (xyz[1] - xyz[2])}
}

// TestPalette: any two colours are many just noticeable differences (2.3) apart for
// any colour vision, and each can be seen on white.
func TestPalette(t *testing.T) {
	for name, vision := range visions {
		for i, a := range palette {
			require.Less(t, lab(t, a, vision)[0], 76.0, "%s for %s on white", a, name)
			for _, b := range palette[:i] {
				x, y := lab(t, a, vision), lab(t, b, vision)
				d := math.Sqrt((x[0]-y[0])*(x[0]-y[0]) + (x[1]-y[1])*(x[1]-y[1]) + (x[2]-y[2])*(x[2]-y[2]))
				require.Greater(t, d, 10.0, "%s and %s for %s", a, b, name)
			}
		}
	}
}
