package figure

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
)

const fontFamily = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"

// Canvas is a drawing under construction. Lengths are pixels, y grows downwards.
type Canvas struct {
	Width, Height float64

	title, desc string
	body        bytes.Buffer
	defs        []def // in the order of their first use
}

// def is something that shapes refer to by its id.
type def struct{ id, text string }

// New starts a drawing, at least so wide that its title fits. The description says
// below the title what the figure shows.
func New(width, height float64, title, desc string) *Canvas {
	return &Canvas{Width: max(width, TextWidth(title, titleSize, true)+2*Margin), Height: height, title: title, desc: desc}
}

// Margin is what is left free around a drawing.
const Margin = 24.0

const (
	titleSize = 18.0
	descSize  = 13.0
	descLine  = 18.0
)

// Heading writes the title and the description, in as many lines as it takes, and
// returns where the next line of text may stand.
func (c *Canvas) Heading() float64 {
	c.Text(Margin, 32, c.title, TextStyle{Size: titleSize, Colour: Ink, Bold: true})
	y := 54.0
	for _, line := range wrap(c.desc, descSize, c.Width-2*Margin) {
		c.Text(Margin, y, line, TextStyle{Size: descSize})
		y += descLine
	}
	return y + 10
}

// wrap cuts a text between words into lines of at most a width, if words allow it.
func wrap(text string, size, width float64) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && TextWidth(line+" "+word, size, false) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// attr is an attribute of an element: its name and its value.
type attr struct{ name, value string }

func number(name string, v float64) attr { return attr{name, pixels(v)} }

// pixels prints a length with at most two decimals.
func pixels(v float64) string {
	s := strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
	if s == "-0" {
		return "0"
	}
	return s
}

func escape(s string) string {
	var b strings.Builder
	// Writing to a strings.Builder does not fail.
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}

// element writes an element, with a hint that is shown when the pointer rests on
// it.
func (c *Canvas) element(name, hint string, attrs ...attr) {
	fmt.Fprintf(&c.body, "<%s", name)
	for _, a := range attrs {
		if a.value != "" {
			fmt.Fprintf(&c.body, ` %s="%s"`, a.name, escape(a.value))
		}
	}
	if hint == "" {
		c.body.WriteString("/>\n")
		return
	}
	fmt.Fprintf(&c.body, "><title>%s</title></%s>\n", escape(hint), name)
}

// Bar draws a rectangle of a series.
func (c *Canvas) Bar(x, y, w, h float64, st Style, hint string) {
	c.element("rect", hint, number("x", x), number("y", y), number("width", max(w, 0)), number("height", max(h, 0)), attr{"fill", c.fill(st)})
}

// Line draws a straight line.
func (c *Canvas) Line(x1, y1, x2, y2 float64, colour string, width float64) {
	c.element("line", "", number("x1", x1), number("y1", y1), number("x2", x2), number("y2", y2), attr{"stroke", colour}, number("stroke-width", width))
}

// Interval draws a confidence interval: a line from y1 to y2 with a stroke across
// each end.
func (c *Canvas) Interval(x, y1, y2 float64, colour string) {
	const half = 4.0
	c.Line(x, y1, x, y2, colour, 1)
	c.Line(x-half, y1, x+half, y1, colour, 1)
	c.Line(x-half, y2, x+half, y2, colour, 1)
}

// Point is a place in a drawing.
type Point struct{ X, Y float64 }

// Polyline draws the line of a series.
func (c *Canvas) Polyline(points []Point, st Style, width float64) {
	var b strings.Builder
	for i, p := range points {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(pixels(p.X) + "," + pixels(p.Y))
	}
	c.element("polyline", "", attr{"points", b.String()}, attr{"fill", "none"}, attr{"stroke", st.Colour}, number("stroke-width", width),
		attr{"stroke-dasharray", st.Dash.array()}, attr{"stroke-linejoin", "round"})
}

// Mark draws the marker of a series.
func (c *Canvas) Mark(at Point, st Style, hint string) {
	c.element("path", hint, attr{"transform", "translate(" + pixels(at.X) + "," + pixels(at.Y) + ")"}, attr{"d", st.Marker.path()},
		attr{"fill", st.Colour}, attr{"stroke", paper}, number("stroke-width", 1))
}

// Cross draws a measurement that others made.
func (c *Canvas) Cross(at Point, hint string) {
	c.element("path", hint, attr{"transform", "translate(" + pixels(at.X) + "," + pixels(at.Y) + ")"}, attr{"d", "M-5-5L5 5M-5 5L5-5"},
		attr{"fill", "none"}, attr{"stroke", Ink}, number("stroke-width", 1.25))
}

// Anchor says which end of a text is at its place.
type Anchor uint8

// The anchors of texts.
const (
	Start Anchor = iota
	Middle
	End
)

// TextStyle is how a text is set. The zero value is small, grey, starting at x.
type TextStyle struct {
	Size   float64 // 0 = 12
	Colour string  // "" = Soft
	Anchor Anchor
	Bold   bool
	Rotate float64 // degrees, clockwise, around x, y
}

// Text writes a text on one line.
func (c *Canvas) Text(x, y float64, text string, st TextStyle) {
	if st.Size == 0 {
		st.Size = 12
	}
	if st.Colour == "" {
		st.Colour = Soft
	}
	attrs := []attr{number("x", x), number("y", y), number("font-size", st.Size), {"fill", st.Colour}, {"text-anchor", [...]string{Middle: "middle", End: "end"}[st.Anchor]}}
	if st.Bold {
		attrs = append(attrs, attr{"font-weight", "600"})
	}
	if st.Rotate != 0 {
		attrs = append(attrs, attr{"transform", fmt.Sprintf("rotate(%s %s %s)", pixels(st.Rotate), pixels(x), pixels(y))})
	}
	c.body.WriteString("<text")
	for _, a := range attrs {
		if a.value != "" {
			fmt.Fprintf(&c.body, ` %s="%s"`, a.name, escape(a.value))
		}
	}
	fmt.Fprintf(&c.body, ">%s</text>\n", escape(text))
}

// Bytes is the finished file.
func (c *Canvas) Bytes() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s" role="img" font-family="%s">`+"\n",
		pixels(c.Width), pixels(c.Height), pixels(c.Width), pixels(c.Height), escape(fontFamily))
	fmt.Fprintf(&b, "<title>%s</title>\n<desc>%s</desc>\n", escape(c.title), escape(c.desc))
	if len(c.defs) > 0 {
		b.WriteString("<defs>\n")
		for _, d := range c.defs {
			b.WriteString(d.text + "\n")
		}
		b.WriteString("</defs>\n")
	}
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="%s"/>`+"\n", paper)
	b.Write(c.body.Bytes())
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// define makes a definition, once, and returns what refers to it.
func (c *Canvas) define(id, text string) string {
	for _, d := range c.defs {
		if d.id == id {
			return "url(#" + id + ")"
		}
	}
	c.defs = append(c.defs, def{id, text})
	return "url(#" + id + ")"
}
