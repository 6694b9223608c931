package gearbox

import (
	"fmt"
	"math"

	"github.com/bitsched/bitsched/internal/figure"
)

// Draw draws entries as bars, published and modelled figures beside each other, on a
// logarithmic scale.
func Draw(entries []*Entry) []byte {
	title := "Gearbox"
	if len(entries) == 1 {
		title = "Gearbox, " + entries[0].ID + ": " + entries[0].Title
	}
	c := figure.New(860, 0, title, "Published figures and modelled ones, each in its unit; bars are on a logarithmic scale of each entry.")
	styles := [2]figure.Style{figure.Series(0), figure.Series(1)}
	y := c.Legend(c.Heading(), []figure.Entry{{Style: styles[0], Text: "published", Shown: figure.ShownArea}, {Style: styles[1], Text: "modelled", Shown: figure.ShownArea}}) + 8
	const left, width = 360.0, 330.0
	for _, e := range entries {
		least, most := math.Inf(1), 0.0
		for _, r := range e.Rows {
			for _, v := range []*float64{r.Published, r.Modelled} {
				if v != nil && *v > 0 {
					least, most = min(least, *v), max(most, *v)
				}
			}
		}
		if len(entries) > 1 {
			y += 10
			c.Text(figure.Margin, y+12, e.ID+": "+e.Title, figure.TextStyle{Bold: true, Colour: figure.Ink})
			y += 22
		}
		span := math.Log(most/least) + 1e-9
		for _, r := range e.Rows {
			c.Text(left-8, y+12, figure.Shorten(r.Item, 50), figure.TextStyle{Anchor: figure.End, Size: 11})
			for k, v := range []*float64{r.Published, r.Modelled} {
				if v == nil {
					continue
				}
				w := 2.0
				if *v > 0 {
					w = 4 + (width-4)*math.Log(*v/least)/span
				}
				at := y + float64(k)*8
				name := [2]string{"published", "modelled"}[k]
				c.Bar(left, at, w, 7, styles[k], fmt.Sprintf("%s %s, %s: %.4g %s", e.ID, r.Item, name, *v, r.Unit))
			}
			text := ""
			if r.Modelled != nil {
				text = fmt.Sprintf("%.4g %s", *r.Modelled, r.Unit)
			} else if r.Published != nil {
				text = fmt.Sprintf("%.4g %s", *r.Published, r.Unit)
			}
			c.Text(left+width+8, y+12, text, figure.TextStyle{Size: 11})
			y += 20
		}
	}
	c.Height = y + figure.Margin
	return c.Bytes()
}
