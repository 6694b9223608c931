package benchmarks

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Colours of the figures, on white.
const (
	inkColour  = "#1f2933" // titles and values
	textColour = "#52606d" // axes and legends
	gridColour = "#e4e7eb"
	axisColour = "#9aa5b1"
)

const fontFamily = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"

// svg is a drawing under construction. Lengths are pixels, y grows downwards.
type svg struct {
	body          bytes.Buffer
	width, height float64
	title, desc   string
}

// newSVG starts a drawing, at least so wide that its heading fits.
func newSVG(width, height float64, title, desc string) *svg {
	width = max(width, textWidth(title, titleSize)+2*headingX, textWidth(desc, descSize)+2*headingX)
	return &svg{width: width, height: height, title: title, desc: desc}
}

// Where the heading is, and its sizes.
const (
	headingX  = 24.0
	titleSize = 18.0
	descSize  = 13.0
)

// heading writes the title of a figure and a line on what it shows.
func (s *svg) heading() {
	s.text(headingX, 32, s.title, textStyle{size: titleSize, colour: inkColour, bold: true})
	s.text(headingX, 54, s.desc, textStyle{size: descSize})
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

// open writes a start tag.
func (s *svg) open(name string, attrs ...attr) {
	fmt.Fprintf(&s.body, "<%s", name)
	for _, a := range attrs {
		fmt.Fprintf(&s.body, ` %s="%s"`, a.name, escape(a.value))
	}
	s.body.WriteString(">")
}

func (s *svg) close(name string) { fmt.Fprintf(&s.body, "</%s>\n", name) }

// hint is a text that is shown when the pointer rests on the open element.
func (s *svg) hint(text string) {
	if text != "" {
		s.open("title")
		s.body.WriteString(escape(text))
		s.body.WriteString("</title>")
	}
}

func (s *svg) rect(x, y, w, h float64, fill, hint string) {
	s.open("rect", number("x", x), number("y", y), number("width", w), number("height", max(h, 0)), attr{"fill", fill})
	s.hint(hint)
	s.close("rect")
}

func (s *svg) line(x1, y1, x2, y2 float64, colour string, width float64) {
	s.open("line", number("x1", x1), number("y1", y1), number("x2", x2), number("y2", y2),
		attr{"stroke", colour}, number("stroke-width", width))
	s.close("line")
}

func (s *svg) circle(x, y, r float64, fill, hint string) {
	s.open("circle", number("cx", x), number("cy", y), number("r", r), attr{"fill", fill},
		attr{"stroke", "#ffffff"}, number("stroke-width", 1.5))
	s.hint(hint)
	s.close("circle")
}

// point is a place in a drawing.
type point struct{ x, y float64 }

func (s *svg) polyline(points []point, colour string, width float64) {
	var b strings.Builder
	for i, p := range points {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(pixels(p.x) + "," + pixels(p.y))
	}
	s.open("polyline", attr{"points", b.String()}, attr{"fill", "none"}, attr{"stroke", colour},
		number("stroke-width", width), attr{"stroke-linejoin", "round"}, attr{"stroke-linecap", "round"})
	s.close("polyline")
}

// textStyle is how a text is set. The zero value is small, grey, starting at x.
type textStyle struct {
	size   float64 // 0 = 12
	colour string  // "" = textColour
	anchor string  // "" = start; middle, end
	bold   bool
	rotate float64 // degrees, clockwise, around x, y
}

func (s *svg) text(x, y float64, text string, st textStyle) {
	if st.size == 0 {
		st.size = 12
	}
	if st.colour == "" {
		st.colour = textColour
	}
	attrs := []attr{number("x", x), number("y", y), number("font-size", st.size), attr{"fill", st.colour}}
	if st.anchor != "" {
		attrs = append(attrs, attr{"text-anchor", st.anchor})
	}
	if st.bold {
		attrs = append(attrs, attr{"font-weight", "600"})
	}
	if st.rotate != 0 {
		attrs = append(attrs, attr{"transform", fmt.Sprintf("rotate(%s %s %s)", pixels(st.rotate), pixels(x), pixels(y))})
	}
	s.open("text", attrs...)
	s.body.WriteString(escape(text))
	s.close("text")
}

// textWidth estimates the width of a text, rather too much than too little:
// which font there will be is not known.
func textWidth(text string, size float64) float64 {
	w := 0.0
	for _, r := range text {
		switch {
		case strings.ContainsRune("iljtfr.,:;'|!()[] ", r):
			w += 0.40
		case strings.ContainsRune("mwMW%@+", r):
			w += 0.92
		default:
			w += 0.62
		}
	}
	return w * size
}

// bytes is the finished file.
func (s *svg) bytes() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s" role="img" font-family="%s">`+"\n",
		pixels(s.width), pixels(s.height), pixels(s.width), pixels(s.height), escape(fontFamily))
	fmt.Fprintf(&b, "<title>%s</title>\n<desc>%s</desc>\n", escape(s.title), escape(s.desc))
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#ffffff"></rect>`+"\n")
	b.Write(s.body.Bytes())
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// legendEntry is a colour and what it stands for.
type legendEntry struct{ colour, text string }

const legendLine = 20.0

// legend draws entries from x on, in as many lines as they need up to width,
// and returns the height that they take.
func (s *svg) legend(x, y, width float64, entries []legendEntry) float64 {
	const size, box, gap = 12.0, 12.0, 20.0
	at, lines := x, 1
	for _, e := range entries {
		w := box + 6 + textWidth(e.text, size)
		if at > x && at+w > x+width {
			at = x
			y += legendLine
			lines++
		}
		s.rect(at, y-10, box, box, e.colour, "")
		s.text(at+box+6, y, e.text, textStyle{size: size})
		at += w + gap
	}
	return float64(lines) * legendLine
}

// ticks returns round values from 0 on that reach top, about n of them.
func ticks(top float64, n int) []float64 {
	if !(top > 0) || math.IsInf(top, 0) {
		return []float64{0, 1}
	}
	rough := top / float64(n)
	unit := math.Pow(10, math.Floor(math.Log10(rough)))
	step := unit
	for _, m := range []float64{1, 2, 2.5, 5, 10} {
		if step = m * unit; step >= rough*0.999 {
			break
		}
	}
	var t []float64
	for i := 0; ; i++ {
		v := float64(i) * step
		t = append(t, v)
		if v >= top*0.9999 {
			return t
		}
	}
}

// tickText prints the value of a tick.
func tickText(v float64) string {
	return grouped(strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64))
}

// grouped puts a thin space between thousands of a number of five digits or more.
func grouped(s string) string {
	whole, rest, dot := strings.Cut(s, ".")
	if len(whole) > 4 {
		var b strings.Builder
		for i, r := range whole {
			if i > 0 && (len(whole)-i)%3 == 0 {
				b.WriteRune('\u2009')
			}
			b.WriteRune(r)
		}
		whole = b.String()
	}
	if dot {
		return whole + "." + rest
	}
	return whole
}
