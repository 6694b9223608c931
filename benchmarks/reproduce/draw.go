package reproduce

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/internal/figure"
)

// draw adds a figure of a table.
func (m *Measured) draw(file string, t *Table, axis, desc string, stacked bool, columns ...string) {
	if svg := t.bars(axis, desc, stacked, columns); svg != nil {
		m.Figures = append(m.Figures, Figure{file, svg})
	}
}

// number is what a cell begins with; ok is false where that is no number.
func number(cell string) (v float64, ok bool) {
	first, _, _ := strings.Cut(cell, " ")
	v, err := strconv.ParseFloat(first, 64)
	return v, err == nil
}

// bars draws columns of a table, all but the first one if none is named: a group of bars
// for each row, or one bar with parts if they are stacked. What is no number has no bar.
// It returns nil if nothing is left.
func (t *Table) bars(axis, desc string, stacked bool, columns []string) []byte {
	const (
		plotHeight = 240.0
		gap, head  = 16.0, 14.0
		maxWidth   = 960.0
	)
	if columns == nil {
		columns = t.Head[1:]
	}
	var at []int // of the columns
	for _, c := range columns {
		if i := slices.Index(t.Head, c); i > 0 {
			at = append(at, i)
		}
	}
	most, label := 0.0, 0.0
	for _, row := range t.Rows {
		sum := 0.0
		for _, i := range at {
			v, _ := number(row[i])
			if !stacked {
				sum = 0
			}
			sum += max(v, 0)
			most = max(most, sum)
		}
		label = max(label, figure.TextWidth(row[0], 12, false))
	}
	if most == 0 {
		return nil
	}
	bar := 22.0
	if !stacked {
		bar = max(9, min(20, 70/float64(len(at))))
	}
	inner := bar
	if !stacked {
		inner *= float64(len(at))
	}
	group := inner + gap
	columnsOf := max(1, min(len(t.Rows), int((maxWidth-80)/group)))
	lines := (len(t.Rows) + columnsOf - 1) / columnsOf
	columnsOf = (len(t.Rows) + lines - 1) / lines
	plot := figure.Plot{Width: group * float64(columnsOf), Height: plotHeight, Y: figure.Axis{Title: axis, Ticks: figure.Ticks(most, 5)}}
	plot.Left = max(figure.Margin+plot.Room(), figure.Margin+label*0.71-group/2)
	foot := 30 + label*0.71
	c := figure.New(max(plot.Left+plot.Width+figure.Margin, 620), 0, t.Title, desc)
	var legend []figure.Entry
	for k, i := range at {
		legend = append(legend, figure.Entry{Style: figure.Series(k), Text: t.Head[i]})
	}
	top := c.Legend(c.Heading(), legend)
	c.Height = top + float64(lines)*(head+plotHeight+foot)
	for r, row := range t.Rows {
		plot.Top = top + float64(r/columnsOf)*(head+plotHeight+foot) + head
		if r%columnsOf == 0 {
			plot.Draw(c)
		}
		left, from := plot.Left+group*float64(r%columnsOf)+gap/2, 0.0
		for k, i := range at {
			v, ok := number(row[i])
			if !ok || v < 0 {
				continue
			}
			x := left
			if !stacked {
				x, from = left+bar*float64(k), 0
			}
			y := plot.AtY(from + v)
			c.Bar(x+0.5, y, bar-1, plot.AtY(from)-y, figure.Series(k), fmt.Sprintf("%s, %s: %s", row[0], t.Head[i], row[i]))
			from += v
		}
		c.Text(left+inner/2+5, plot.Top+plotHeight+16, row[0], figure.TextStyle{Anchor: figure.End, Rotate: -45})
	}
	return c.Bytes()
}

// lines draws columns of a table against the first one, on logarithmic scales. What is no
// number above 0 has no point. It returns nil if nothing is left.
func (t *Table) lines(x, y, desc string, columns ...string) []byte {
	plot := figure.Plot{Width: 520, Height: 320, X: figure.Axis{Title: x, Log: true, Inset: 24, Text: figure.ShortText}, Y: figure.Axis{Title: y, Log: true, Text: figure.ShortText}}
	type series struct {
		entry  figure.Entry
		points []figure.Point // of the data
	}
	var list []series
	least, most := math.Inf(1), 0.0
	for i, c := range columns {
		s := series{entry: figure.Entry{Style: figure.Series(i), Text: c, Shown: figure.ShownLine}}
		at := slices.Index(t.Head, c)
		for _, row := range t.Rows {
			a, _ := number(row[0])
			b, _ := number(row[at])
			if a <= 0 || b <= 0 {
				continue
			}
			s.points = append(s.points, figure.Point{X: a, Y: b})
			least, most = min(least, b), max(most, b)
			plot.X.Ticks = append(plot.X.Ticks, a)
		}
		if len(s.points) > 0 {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.Sort(plot.X.Ticks)
	plot.X.Ticks = slices.Compact(plot.X.Ticks)
	plot.Y.Ticks = figure.LogTicks(least, most)
	plot.Left = figure.Margin + plot.Room()
	c := figure.New(plot.Left+plot.Width+figure.Margin, 0, t.Title, desc)
	var legend []figure.Entry
	for _, s := range list {
		legend = append(legend, s.entry)
	}
	plot.Top = c.Legend(c.Heading(), legend)
	c.Height = plot.Top + plot.Height + figure.PlotFoot
	plot.Draw(c)
	for _, s := range list {
		var line []figure.Point
		for _, p := range s.points {
			line = append(line, plot.At(p.X, p.Y))
		}
		c.Polyline(line, s.entry.Style, 2)
		for i, p := range s.points {
			c.Mark(line[i], s.entry.Style, fmt.Sprintf("%s, %s: %s", s.entry.Text, figure.ShortText(p.X), figure.ShortText(p.Y)))
		}
	}
	return c.Bytes()
}

// track is a row of a timeline.
type track struct {
	name  string
	spans []span
}

// span is a part of a track: what was done, and where.
type span struct {
	name, place string
	cycles      int64
}

// placeStyles are those of the strip, which no series has.
var placeStyles = []figure.Style{{Colour: "#1f2933"}, {Colour: "#8a97a5", Hatch: figure.RisingLines}, {Colour: "#dde3e9"}}

// timeline draws tracks one below another, on a scale of cycles: what was done, and in a
// strip below it where. It returns nil if there is nothing to draw.
func timeline(title, desc string, tracks []track) []byte {
	const (
		width          = 860.0
		height, places = 26.0, 8.0
		pitch          = 56.0
	)
	var names, where []string
	most, label := int64(0), 0.0
	for _, t := range tracks {
		sum := int64(0)
		for _, s := range t.spans {
			if sum += s.cycles; s.cycles == 0 {
				continue
			}
			if !slices.Contains(names, s.name) {
				names = append(names, s.name)
			}
			if !slices.Contains(where, s.place) {
				where = append(where, s.place)
			}
		}
		most, label = max(most, sum), max(label, figure.TextWidth(t.name, 12, false))
	}
	if most == 0 {
		return nil
	}
	slices.Sort(where)
	plot := figure.Plot{Left: figure.Margin + label + 10, Width: width, Height: pitch * float64(len(tracks)), X: figure.Axis{Title: "cycles", Ticks: figure.Ticks(float64(most), 6)}}
	c := figure.New(plot.Left+width+2*figure.Margin, 0, title, desc)
	var legend []figure.Entry
	style := map[string]figure.Style{}
	for i, n := range append(slices.Clone(names), where...) {
		s := figure.Series(i)
		if i >= len(names) {
			s = placeStyles[(i-len(names))%len(placeStyles)]
			n = "in: " + n
		}
		style[n] = s
		legend = append(legend, figure.Entry{Style: s, Text: n})
	}
	plot.Top = c.Legend(c.Heading(), legend)
	c.Height = plot.Top + plot.Height + figure.PlotFoot
	plot.Draw(c)
	for i, t := range tracks {
		y, at := plot.Top+pitch*float64(i)+8, int64(0)
		c.Text(plot.Left-8, y+height/2+4, t.name, figure.TextStyle{Anchor: figure.End})
		for _, s := range t.spans {
			x, end := plot.AtX(float64(at)), plot.AtX(float64(at+s.cycles))
			if at += s.cycles; s.cycles == 0 {
				continue
			}
			hint := fmt.Sprintf("%s, %s: %d cycles in %s", t.name, s.name, s.cycles, s.place)
			c.Bar(x, y, end-x, height, style[s.name], hint)
			c.Bar(x, y+height+2, end-x, places, style["in: "+s.place], hint)
		}
	}
	return c.Bytes()
}
