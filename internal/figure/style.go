package figure

import (
	"fmt"
	"strconv"
)

// Colours of what is not data.
const (
	paper = "#ffffff"
	Ink   = "#1f2933" // titles and values
	Soft  = "#52606d" // axes and legends
	Grid  = "#e4e7eb"
	Rule  = "#9aa5b1" // axes
)

// Style is what a series looks like, as a line or as an area.
type Style struct {
	Colour string
	Hatch  Hatch
	Dash   Dash
	Marker Marker
}

// Hatch is what lies over the colour of an area.
type Hatch uint8

// The hatchings.
const (
	Plain Hatch = iota
	RisingLines
	Dots
	FallingLines
	LevelLines
	Checks
	UprightLines
	hatches
)

// Dash is how a line is broken.
type Dash uint8

// The kinds of lines.
const (
	Unbroken Dash = iota
	LongDashes
	ShortDashes
	DashesAndDots
	dashes
)

func (d Dash) array() string {
	return [...]string{LongDashes: "8 3", ShortDashes: "3 3", DashesAndDots: "8 3 2 3"}[d]
}

// Marker is the shape of a point.
type Marker uint8

// The markers.
const (
	Disc Marker = iota
	Square
	Triangle
	Diamond
	Nabla
	Plus
	Pentagon
	markers
)

// path is the outline of a marker around 0, 0.
func (m Marker) path() string {
	return [...]string{
		Disc:     "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
		Square:   "M-3.6-3.6H3.6V3.6H-3.6z",
		Triangle: "M0-5L4.7 3.6H-4.7z",
		Diamond:  "M0-5.2L5.2 0L0 5.2L-5.2 0z",
		Nabla:    "M0 5L4.7-3.6H-4.7z",
		Plus:     "M-1.6-4.8H1.6V-1.6H4.8V1.6H1.6V4.8H-1.6V1.6H-4.8V-1.6H-1.6z",
		Pentagon: "M0-4.8L4.6-1.5L2.8 3.9H-2.8L-4.6-1.5z",
	}[m]
}

// palette has colours that differ for any colour vision, the first the strongest.
// They are those of Okabe and Ito, but brown for yellow, which cannot be seen as a
// thin line on white.
var palette = [...]string{"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#5b6770", "#6b4226"}

// Series returns the style of a series by its number. No two of the first 56
// series have the same colour and the same marker, and no two of the first 8 the
// same colour; neighbours differ in all.
func Series(i int) Style {
	n := len(palette)
	return Style{Colour: palette[i%n], Hatch: Hatch(i % int(hatches)), Dash: Dash((i + i/n) % int(dashes)), Marker: Marker(i % int(markers))}
}

// fill returns what an area of a style is filled with.
func (c *Canvas) fill(st Style) string {
	if st.Hatch == Plain {
		return st.Colour
	}
	lines := paper
	if luminance(st.Colour) > 0.3 {
		lines = Ink
	}
	stroke := func(d string, width float64) string {
		return fmt.Sprintf(`<path d="%s" stroke="%s" stroke-opacity="0.7" stroke-width="%s"/>`, d, lines, pixels(width))
	}
	var marks string
	switch st.Hatch {
	case RisingLines:
		marks = stroke("M-1 1L1-1M0 6L6 0M5 7L7 5", 1)
	case FallingLines:
		marks = stroke("M-1 5L1 7M0 0L6 6M5-1L7 1", 1)
	case LevelLines:
		marks = stroke("M0 3H6", 1)
	case UprightLines:
		marks = stroke("M1.5 0V6M4.5 0V6", 0.9)
	case Checks:
		marks = stroke("M0 3H6M3 0V6", 0.8)
	case Dots:
		marks = fmt.Sprintf(`<circle cx="3" cy="3" r="1.2" fill="%s" fill-opacity="0.8"/>`, lines)
	}
	id := fmt.Sprintf("hatch%d-%s", st.Hatch, st.Colour[1:])
	return c.define(id, fmt.Sprintf(`<pattern id="%s" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6" fill="%s"/>%s</pattern>`, id, st.Colour, marks))
}

// luminance is how bright a colour #rrggbb is, from 0 to 1, roughly: without the
// gamma of screens.
func luminance(colour string) float64 {
	part := func(at int) float64 {
		// The colours are constants of the program; what is no number counts as 0.
		v, _ := strconv.ParseUint(colour[at:at+2], 16, 8)
		f := float64(v) / 255
		return f * f
	}
	return 0.2126*part(1) + 0.7152*part(3) + 0.0722*part(5)
}
