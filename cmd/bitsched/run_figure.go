package main

import (
	"fmt"
	"strings"

	"github.com/bitsched/bitsched/internal/figure"
)

// stacked is a bar of the figure of runs: parts of a whole, by names.
type stacked struct {
	names []string
	parts []float64
}

func (b *stacked) sum() (total float64) {
	for _, v := range b.parts {
		total += v
	}
	return total
}

// figure draws what the cycles of each run went into and its traffic by class, over those of
// the first run.
func (r *configResult) figure() []byte {
	cycles, traffic := make([]stacked, len(r.Runs)), make([]stacked, len(r.Runs))
	for i, x := range r.Runs {
		for _, p := range x.Time {
			cycles[i].names = append(cycles[i].names, p.Name)
			cycles[i].parts = append(cycles[i].parts, p.Share*float64(x.Cycles))
		}
		for _, c := range x.Traffic {
			traffic[i].names = append(traffic[i].names, c.Name)
			traffic[i].parts = append(traffic[i].parts, float64(c.ByteHops))
		}
	}
	const (
		slot, barWidth = 90.0, 48.0
		between        = 40.0
		foot           = 50.0
	)
	first := r.Runs[0]
	plot := figure.Plot{Width: slot*float64(len(r.Runs)) + 20, Height: 260}
	room := figure.Margin + 60 + plot.Width
	title := fmt.Sprintf("%s, %s on %s", r.Kernel, r.k.SizeText(), first.Machine)
	c := figure.New(max(2*room+between, 620), 0, title, fmt.Sprintf("%s, %s caches; both over those of the first.", count(first.Threads, "thread"), first.Caches))
	heading, top := c.Heading(), 0.0
	panels := []struct {
		title string
		bars  []stacked
	}{{"cycles of cores, by cause", cycles}, {"traffic in bytes x hops, by class", traffic}}
	left := func(panel int) float64 { return figure.Margin + float64(panel)*(max(room, 300)+between) }
	for k, panel := range panels {
		var legend []figure.Entry
		for i, name := range panel.bars[0].names {
			legend = append(legend, figure.Entry{Style: figure.Series(i), Text: name})
		}
		top = max(top, c.LegendIn(left(k), max(room, 300), heading, legend)+16)
	}
	for k, panel := range panels {
		one, most := panel.bars[0].sum(), 1.0
		if one == 0 {
			continue
		}
		for i := range panel.bars {
			most = max(most, panel.bars[i].sum()/one)
		}
		p := plot
		p.Y = figure.Axis{Title: panel.title, Ticks: figure.Ticks(most*1.07, 5)}
		p.Left, p.Top = left(k)+p.Room(), top
		p.Draw(c)
		for i := range panel.bars {
			b := &panel.bars[i]
			name := r.Runs[i].Config + " " + r.Runs[i].Core
			middle, at := p.Left+10+slot*(float64(i)+0.5), 0.0
			for j, v := range b.parts {
				y := p.AtY((at + v) / one)
				c.Bar(middle-barWidth/2, y, barWidth, p.AtY(at/one)-y, figure.Series(j), fmt.Sprintf("%s: %s, %.4g of %.4g", name, b.names[j], v, b.sum()))
				at += v
			}
			c.Text(middle, p.AtY(at/one)-6, strings.TrimSuffix(fmt.Sprintf("%.2f", at/one), ".00"), figure.TextStyle{Colour: figure.Ink, Anchor: figure.Middle, Bold: true})
			c.Text(middle, p.Top+p.Height+18, name, figure.TextStyle{Anchor: figure.Middle})
		}
	}
	c.Height = top + plot.Height + foot
	return c.Bytes()
}
