package figure

import "math"

// Axis is one of the two axes of a [Plot].
type Axis struct {
	Title string    // what is drawn, and its unit
	Ticks []float64 // rising; the scale goes from the first to the last

	// Log makes the scale logarithmic; the ticks are above 0 then. With Zero, 0 has
	// a line of its own beyond the first tick.
	Log, Zero bool

	Inset float64                // pixels left free before the first and after the last tick
	Text  func(v float64) string // of a tick; nil is TickText
}

// zeroRoom is between 0 and the least tick of a logarithmic scale.
const zeroRoom = 40.0

// leastLog is the least value that a logarithmic scale tells apart. Below it numbers
// become subnormal, and math.Log is wrong for these on some processors.
const leastLog = 1e-307

// place says where a value lies on an axis of a length, 0 at its beginning.
func (a *Axis) place(v, length float64) float64 {
	from, to := a.Inset, length-a.Inset
	if a.Zero {
		if v <= 0 {
			return 0
		}
		from = zeroRoom
	}
	lo, hi := a.Ticks[0], a.Ticks[len(a.Ticks)-1]
	if a.Log {
		lo, hi, v = math.Log(lo), math.Log(hi), math.Log(max(v, leastLog))
	}
	if lo == hi {
		return (from + to) / 2
	}
	return from + (v-lo)/(hi-lo)*(to-from)
}

func (a *Axis) text(v float64) string {
	if a.Text != nil {
		return a.Text(v)
	}
	return TickText(v)
}

// all are the ticks, that of 0 included.
func (a *Axis) all() []float64 {
	if a.Zero {
		return append([]float64{0}, a.Ticks...)
	}
	return a.Ticks
}

// Plot is a rectangle with axes. Left, Top, Width and Height are those of the
// rectangle itself; [Plot.Room] and [PlotFoot] say what its ticks and titles take.
type Plot struct {
	Left, Top, Width, Height float64
	X, Y                     Axis
}

// PlotFoot is the room below a plot for the ticks and the title of its x axis.
const PlotFoot = 56.0

const tickSize = 11.0

// Room is what the ticks and the title of the y axis take left of the plot.
func (p *Plot) Room() float64 {
	widest := 0.0
	for _, v := range p.Y.all() {
		widest = max(widest, TextWidth(p.Y.text(v), tickSize, false))
	}
	room := widest + 8
	if p.Y.Title != "" {
		room += 22
	}
	return room
}

// At is where a point of the data lies.
func (p *Plot) At(x, y float64) Point { return Point{p.AtX(x), p.AtY(y)} }

// AtX is where a value lies on the x axis.
func (p *Plot) AtX(v float64) float64 { return p.Left + p.X.place(v, p.Width) }

// AtY is where a value lies on the y axis.
func (p *Plot) AtY(v float64) float64 { return p.Top + p.Height - p.Y.place(v, p.Height) }

// Draw draws the axes, with a line across for each tick of the y axis. Ticks whose
// texts would overlap those before them have none.
func (p *Plot) Draw(c *Canvas) {
	base := p.Top + p.Height
	last := math.Inf(1) // y of the last text
	for _, v := range p.Y.all() {
		y := p.AtY(v)
		if last-y < tickSize+2 {
			continue
		}
		last = y
		c.Line(p.Left, y, p.Left+p.Width, y, Grid, 1)
		c.Text(p.Left-8, y+4, p.Y.text(v), TextStyle{Size: tickSize, Anchor: End})
	}
	c.Line(p.Left, base, p.Left+p.Width, base, Rule, 1)
	end := math.Inf(-1) // of the last text
	for _, v := range p.X.Ticks {
		x := p.AtX(v)
		c.Line(x, base, x, base+5, Rule, 1)
		if w := TextWidth(p.X.text(v), tickSize, false); x-w/2 > end+4 {
			c.Text(x, base+19, p.X.text(v), TextStyle{Size: tickSize, Anchor: Middle})
			end = x + w/2
		}
	}
	if p.X.Title != "" {
		c.Text(p.Left+p.Width/2, base+42, p.X.Title, TextStyle{Anchor: Middle})
	}
	if p.Y.Title != "" {
		c.Text(p.Left-p.Room()+10, p.Top+p.Height/2, p.Y.Title, TextStyle{Anchor: Middle, Rotate: -90})
	}
}

// Ticks returns round values from 0 on that reach top, about n of them.
func Ticks(top float64, n int) []float64 {
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

// LogTicks returns round values around least to most, both above 0: powers of ten,
// and between them 2 and 5 times these where there would be few.
func LogTicks(least, most float64) []float64 {
	least, most = max(least, leastLog), max(most, leastLog)
	fits := func(steps []float64) []float64 {
		var t []float64
		for unit := math.Pow(10, math.Floor(math.Log10(least))); ; unit *= 10 {
			for _, m := range steps {
				v := m * unit
				if v <= least*1.0001 {
					t = t[:0] // a lower start would only leave space below
				}
				t = append(t, v)
				if v >= most*0.9999 && len(t) > 1 {
					return t
				}
			}
		}
	}
	if t := fits([]float64{1}); len(t) > 4 {
		return t
	}
	return fits([]float64{1, 2, 5})
}
