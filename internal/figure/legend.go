package figure

// Entry is a line of a legend: a style and what it stands for.
type Entry struct {
	Style Style
	Text  string
	Shown Shown
}

// Shown is how a style is shown in a legend.
type Shown uint8

// The forms of legend entries.
const (
	ShownArea Shown = iota
	ShownLine
	ShownCross
)

const legendLine = 20.0

// Legend writes entries between the margins, and returns where the next line of text
// may stand.
func (c *Canvas) Legend(y float64, entries []Entry) float64 {
	return c.LegendIn(Margin, c.Width-2*Margin, y, entries)
}

// LegendIn writes entries from left on within a room, in columns where they take
// more than one line, and returns where the next line of text may stand.
func (c *Canvas) LegendIn(left, room, y float64, entries []Entry) float64 {
	const size, gap = 12.0, 22.0
	swatch := func(e Entry) float64 {
		if e.Shown == ShownLine {
			return 34
		}
		return 20
	}
	total, widest := -gap, 0.0
	for _, e := range entries {
		w := swatch(e) + TextWidth(e.Text, size, false) + gap
		total, widest = total+w, max(widest, w)
	}
	columns := 0 // 0: as they come
	if total > room && len(entries) > 4 && 2*widest-gap < room {
		columns = int((room + gap) / widest)
	}
	x, line := left, 0
	for i, e := range entries {
		w := swatch(e) + TextWidth(e.Text, size, false)
		switch {
		case columns > 0:
			x, line = left+float64(i%columns)*widest, i/columns
		case x > left && x+w > left+room:
			x, line = left, line+1
		}
		at := y + float64(line)*legendLine
		switch e.Shown {
		case ShownArea:
			c.element("rect", "", number("x", x), number("y", at-11), number("width", 13), number("height", 13), attr{"fill", c.fill(e.Style)}, attr{"stroke", Rule})
		case ShownLine:
			c.Polyline([]Point{{x, at - 4}, {x + 28, at - 4}}, e.Style, 2)
			c.Mark(Point{x + 14, at - 4}, e.Style, "")
		case ShownCross:
			c.Cross(Point{x + 7, at - 4}, "")
		}
		c.Text(x+swatch(e), at, e.Text, TextStyle{Size: size})
		x += w + gap
	}
	return y + float64(line+1)*legendLine
}
