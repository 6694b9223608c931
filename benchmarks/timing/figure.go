package timing

import (
	"fmt"
	"math"
	"slices"

	"github.com/bitsched/bitsched/internal/figure"
)

// most deviation that the figure shows, in percent; what is beyond lies at the edge.
const mostDeviation = 50

// Figure draws the deviation of each outcome over what the reference measured, a
// panel for each quantity, a mark for each series. It returns nil if there is
// nothing to draw.
func Figure(title string, outcomes []*Outcome) []byte {
	var quantities, series []string
	for _, o := range outcomes {
		if !slices.Contains(quantities, o.Quantity) {
			quantities = append(quantities, o.Quantity)
		}
		if !slices.Contains(series, o.Series) {
			series = append(series, o.Series)
		}
	}
	if len(outcomes) == 0 {
		return nil
	}
	units := map[string]string{"cycles": "cycles", "bandwidth": "GB/s", "mean latency": "clocks", "median latency": "clocks"}
	percent := func(v float64) string {
		if v == 0 {
			return "0"
		}
		return fmt.Sprintf("%+g %%", v)
	}
	plot := figure.Plot{Width: 560, Height: 260, Y: figure.Axis{Title: "ours against the reference",
		Ticks: []float64{-mostDeviation, -25, -15, -5, 0, 5, 15, 25, mostDeviation}, Text: percent}}
	slices.Sort(series)
	var legend []figure.Entry
	for i, name := range series {
		legend = append(legend, figure.Entry{Style: figure.Series(i), Text: name, Shown: figure.ShownLine})
	}
	c := figure.New(figure.Margin+plot.Room()+plot.Width+figure.Margin, 0, title,
		fmt.Sprintf("Deviation of %d points from what the reference measured; crosses are beyond their tolerance.", len(outcomes)))
	top := c.Legend(c.Heading(), legend)
	for _, q := range quantities {
		least, greatest := math.Inf(1), 0.0
		for _, o := range outcomes {
			if o.Quantity == q {
				least, greatest = min(least, o.Reference), max(greatest, o.Reference)
			}
		}
		p := plot
		p.Left, p.Top = figure.Margin+p.Room(), top+8
		p.X = figure.Axis{Title: fmt.Sprintf("%s of the reference, %s", q, units[q]), Ticks: figure.LogTicks(least, greatest), Log: true, Inset: 8}
		p.Draw(c)
		for _, o := range outcomes {
			if o.Quantity != q {
				continue
			}
			at := p.At(o.Reference, max(-mostDeviation, min(mostDeviation, o.Deviation)))
			hint := fmt.Sprintf("%s: %.4g, reference %.4g, %+.1f %%", o.ID, o.Ours, o.Reference, o.Deviation)
			if o.Verdict == Beyond {
				c.Cross(at, hint)
			} else {
				c.Mark(at, legend[slices.Index(series, o.Series)].Style, hint)
			}
		}
		top = p.Top + p.Height + figure.PlotFoot
	}
	c.Height = top + 8
	return c.Bytes()
}
