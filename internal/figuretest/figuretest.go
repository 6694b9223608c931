// Package figuretest reads drawings back, for tests: as a strict reader of XML sees
// them, and with widths of texts that a font has, not those that were estimated.
package figuretest

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
)

// T is what a test gives: a *testing.T or a *rapid.T.
type T interface {
	require.TestingT
	Helper()
}

// Shape is an element of an SVG file.
type Shape struct {
	Name  string
	Attrs map[string]string
	Hint  string // text of its title
	Text  string
	Def   bool // not drawn itself, but referred to
}

// Num returns a number among the attributes.
func (s Shape) Num(t T, name string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s.Attrs[name], 64)
	require.NoError(t, err, "%s of %v", name, s)
	require.False(t, math.IsNaN(v) || math.IsInf(v, 0), "%s of %v", name, s)
	return v
}

// Mark returns where a marker or a cross is; ok is false for any other shape.
func (s Shape) Mark(t T) (x, y float64, ok bool) {
	t.Helper()
	if s.Name != "path" || !strings.HasPrefix(s.Attrs["transform"], "translate(") {
		return 0, 0, false
	}
	_, err := fmt.Sscanf(s.Attrs["transform"], "translate(%g,%g)", &x, &y)
	require.NoError(t, err)
	return x, y, true
}

// Cross says whether the shape is the mark of somebody else's measurement.
func (s Shape) Cross() bool { return s.Attrs["fill"] == "none" && s.Attrs["transform"] != "" }

var (
	turned    = regexp.MustCompile(`^rotate\((\S+) (\S+) (\S+)\)$`)
	reference = regexp.MustCompile(`^url\(#(.*)\)$`)
)

// Read reads an SVG file with a strict parser. It checks that nothing lies outside
// of the drawing, that no two texts overlap, that there is a white ground, and that
// what is referred to exists.
func Read(t T, svg []byte) []Shape {
	t.Helper()
	all := parse(t, svg)
	require.Equal(t, "svg", all[0].Name)
	width, height := all[0].Num(t, "width"), all[0].Num(t, "height")
	require.Equal(t, fmt.Sprintf("0 0 %s %s", all[0].Attrs["width"], all[0].Attrs["height"]), all[0].Attrs["viewBox"])
	inside := func(s Shape, x, y float64) {
		t.Helper()
		require.True(t, x >= 0 && x <= width && y >= 0 && y <= height, "%v at %g %g is outside of %g x %g", s, x, y, width, height)
	}
	ids := map[string]bool{}
	for _, s := range all {
		if id := s.Attrs["id"]; id != "" {
			require.False(t, ids[id], "a second %s", id)
			ids[id] = true
		}
	}
	var texts []Shape
	var boxes [][4]point
	ground := false
	for _, s := range all[1:] {
		for _, v := range s.Attrs {
			if m := reference.FindStringSubmatch(v); m != nil {
				require.True(t, ids[m[1]], "no %s", m[1])
			}
		}
		if s.Def {
			continue
		}
		switch s.Name {
		case "rect":
			if s.Attrs["width"] == "100%" {
				require.Equal(t, "#ffffff", s.Attrs["fill"])
				require.Equal(t, "100%", s.Attrs["height"])
				ground = true
				continue
			}
			require.True(t, ground, "a shape below the ground")
			x, y := s.Num(t, "x"), s.Num(t, "y")
			require.GreaterOrEqual(t, s.Num(t, "height"), 0.0)
			inside(s, x, y)
			inside(s, x+s.Num(t, "width"), y+s.Num(t, "height"))
		case "line":
			inside(s, s.Num(t, "x1"), s.Num(t, "y1"))
			inside(s, s.Num(t, "x2"), s.Num(t, "y2"))
		case "polyline":
			for _, p := range strings.Fields(s.Attrs["points"]) {
				var x, y float64
				_, err := fmt.Sscanf(p, "%g,%g", &x, &y)
				require.NoError(t, err)
				inside(s, x, y)
			}
		case "path":
			if x, y, ok := s.Mark(t); ok {
				inside(s, x-5, y-5)
				inside(s, x+5, y+5)
			}
		case "text":
			b := box(t, s)
			for _, p := range b {
				inside(s, p.x, p.y)
			}
			for i, o := range boxes {
				require.False(t, overlap(b, o), "%v and %v overlap", s, texts[i])
			}
			texts, boxes = append(texts, s), append(boxes, b)
		}
	}
	require.True(t, ground, "no ground")
	return all
}

func parse(t T, svg []byte) []Shape {
	t.Helper()
	var all []Shape
	var open []int // indices of the open elements
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		switch e := token.(type) {
		case xml.StartElement:
			s := Shape{Name: e.Name.Local, Attrs: map[string]string{}}
			for _, i := range open {
				s.Def = s.Def || all[i].Name == "defs"
			}
			for _, a := range e.Attr {
				_, twice := s.Attrs[a.Name.Local]
				require.False(t, twice, "%s twice", a.Name.Local)
				s.Attrs[a.Name.Local] = a.Value
			}
			open = append(open, len(all))
			all = append(all, s)
		case xml.EndElement:
			i := open[len(open)-1]
			open = open[:len(open)-1]
			if all[i].Name == "title" {
				all[open[len(open)-1]].Hint = all[i].Text
			}
		case xml.CharData:
			if len(open) > 0 {
				all[open[len(open)-1]].Text += string(e)
			}
		}
	}
	require.Empty(t, open)
	require.NotEmpty(t, all)
	return all
}

type point struct{ x, y float64 }

// box returns the corners of a text, in turn.
func box(t T, s Shape) [4]point {
	t.Helper()
	size := s.Num(t, "font-size")
	x, y, w := s.Num(t, "x"), s.Num(t, "y"), Width(s.Text, s.Attrs["font-weight"] != "")*size
	left := x
	switch s.Attrs["text-anchor"] {
	case "middle":
		left = x - w/2
	case "end":
		left = x - w
	}
	up, down := y-0.74*size, y+0.2*size
	b := [4]point{{left, up}, {left + w, up}, {left + w, down}, {left, down}}
	if m := turned.FindStringSubmatch(s.Attrs["transform"]); m != nil {
		require.Equal(t, s.Attrs["x"], m[2])
		require.Equal(t, s.Attrs["y"], m[3])
		degrees, err := strconv.ParseFloat(m[1], 64)
		require.NoError(t, err)
		sin, cos := math.Sincos(degrees / 180 * math.Pi)
		for i, p := range b {
			b[i] = point{x + (p.x-x)*cos - (p.y-y)*sin, y + (p.x-x)*sin + (p.y-y)*cos}
		}
	} else {
		require.Empty(t, s.Attrs["transform"])
	}
	return b
}

// overlap reports whether two rectangles have inner points in common: they have not
// if a side of one of them separates them.
func overlap(a, b [4]point) bool {
	for _, r := range [][4]point{a, b} {
		for i := range 2 {
			dx, dy := r[i+1].x-r[i].x, r[i+1].y-r[i].y
			reach := func(q [4]point) (lo, hi float64) {
				lo, hi = math.Inf(1), math.Inf(-1)
				for _, p := range q {
					v := p.x*dx + p.y*dy
					lo, hi = min(lo, v), max(hi, v)
				}
				return lo, hi
			}
			lo1, hi1 := reach(a)
			lo2, hi2 := reach(b)
			if hi1 <= lo2 || hi2 <= lo1 {
				return false
			}
		}
	}
	return true
}

// Hinted returns the shape with a hint.
func Hinted(t T, all []Shape, hint string) Shape {
	t.Helper()
	for _, s := range all[1:] {
		if s.Hint == hint {
			return s
		}
	}
	require.Fail(t, "no shape", hint)
	return Shape{}
}

// Texts returns all texts.
func Texts(all []Shape) (list []string) {
	for _, s := range all {
		if s.Name == "text" {
			list = append(list, s.Text)
		}
	}
	return list
}

// Widths of the characters from space to ~ in DejaVu Sans and its bold face, which
// are wide as fonts go, in thousandths of the size of the font: the table hmtx of
// their files, version 2.37.
var (
	regular = [...]int{318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337,
		838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500,
		500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838}
	bold = [...]int{348, 456, 521, 838, 696, 1002, 872, 306, 457, 457, 523, 838, 380, 415, 380, 365, 696, 696, 696, 696, 696, 696, 696, 696, 696, 696, 400, 400,
		838, 838, 838, 580, 1000, 774, 762, 734, 830, 683, 683, 821, 837, 372, 372, 775, 637, 995, 837, 850, 733, 850, 770, 720, 682, 812, 774, 1103, 771, 724, 725, 457, 365, 457, 838, 500,
		500, 675, 716, 593, 716, 678, 435, 716, 712, 343, 343, 665, 343, 1042, 712, 687, 716, 716, 493, 595, 478, 712, 652, 924, 645, 652, 582, 712, 365, 712, 838}
)

// Width returns the width of a text in DejaVu Sans, in units of the size of the
// font. Of what is not ASCII it knows the marks that figures use; the rest counts as
// letters.
func Width(text string, heavy bool) float64 {
	table, letter := &regular, 615
	if heavy {
		table, letter = &bold, 678
	}
	sum := 0
	for _, r := range text {
		switch {
		case r >= ' ' && r <= '~':
			sum += table[r-' ']
		case r == '…':
			sum += 1000
		case r == '\u2009':
			sum += 200
		case r == '–':
			sum += 500
		default:
			sum += letter
		}
	}
	return float64(sum) / 1000
}
