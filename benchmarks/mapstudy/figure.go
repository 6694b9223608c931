package mapstudy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/internal/figure"
	"github.com/bitsched/bitsched/lowering/mapping"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/plan"
	"github.com/bitsched/bitsched/lowering/mapping/search"
)

// MappingFigure draws an operator's mapping, slot by slot from the outermost, with its
// breakdown; of a network the breakdown of each layer, and of what else arrays do.
func MappingFigure(rep *plan.Report) []byte {
	if len(rep.Layers) > 1 {
		return networkFigure(rep)
	}
	l := &rep.Layers[0]
	q, m := l.Problem, &l.Mapping
	c := figure.New(820, 0, fmt.Sprintf("%s on %s", l.Op, rep.Platform.Name),
		fmt.Sprintf("%d cycles, at least %d. Each box is a place of loops: what lies in it is within what is around it. %s", l.Cost.Cycles, l.Bound.Cycles, BindingText(q, m)))
	y := c.Heading()
	type level struct{ title, loops string }
	var levels []level
	for sl := mapping.NumSlots - 1; sl >= 0; sl-- {
		var loops []string
		n := int64(1)
		for i := range l.Op.Loops {
			if x := m.Factor[sl][i]; x > 1 {
				loops = append(loops, fmt.Sprintf("%s=%d", l.Op.Loops[i].Name, x))
				n *= int64(x)
			}
		}
		name := q.Slot(m, sl)
		switch {
		case len(loops) == 0:
			continue
		case sl == mapping.SlotTile:
			loops, name = []string{OrderText(l.Op, m, &m.Tile, sl)}, fmt.Sprintf("%d tiles of the buffer, in time%s", n, DoubleText(m.DoubleTile))
		case sl == mapping.SlotWave:
			loops, name = []string{OrderText(l.Op, m, &m.Wave, sl)}, fmt.Sprintf("%d invocations, in time%s", n, DoubleText(m.Double))
		case sl >= mapping.SlotLevel:
			name = fmt.Sprintf("%d of %d in space: %s", n, rep.Platform.Levels[sl-mapping.SlotLevel].FanOut, name)
		case sl == mapping.SlotInner:
			name = fmt.Sprintf("%d accumulators", n)
		default:
			name = fmt.Sprintf("dimension %s of the unit, %d", name, n)
		}
		levels = append(levels, level{name, strings.Join(loops, " ")})
	}
	const step, pad = 44.0, 14.0
	height := float64(len(levels)-1)*(step+pad/2) + 46 // the innermost holds two lines of text
	for i, v := range levels {
		x, top := figure.Margin+float64(i)*pad, y+float64(i)*step
		w, h := 772-2*float64(i)*pad, height-float64(i)*(step+pad/2)
		st := figure.Series(i)
		st.Hatch = figure.Plain
		c.Line(x, top, x+w, top, st.Colour, 2)
		c.Line(x, top+h, x+w, top+h, st.Colour, 2)
		c.Line(x, top, x, top+h, st.Colour, 2)
		c.Line(x+w, top, x+w, top+h, st.Colour, 2)
		c.Text(x+8, top+18, v.title, figure.TextStyle{Size: 13, Bold: true, Colour: figure.Ink})
		c.Text(x+8, top+34, v.loops, figure.TextStyle{Size: 12})
	}
	y += height + 30
	y = partsBar(c, figure.Margin, y, 772, l.Cost.Parts, l.Cost.Cycles)
	for i := range rep.Passes {
		p := &rep.Passes[i]
		c.Text(figure.Margin, y+18, fmt.Sprintf("then %s of %d elements in arrays: %d cycles", p.Work.Op, p.Work.Elements, p.Cost.Cycles), figure.TextStyle{Size: 13, Bold: true, Colour: figure.Ink})
		y = partsBar(c, figure.Margin, y+30, 772, p.Cost.Parts, p.Cost.Cycles)
	}
	c.Height = y
	return c.Bytes()
}

// partsBar draws a breakdown as one bar with its legend, and returns where the next line
// of text may stand.
func partsBar(c *figure.Canvas, x, y, width float64, parts [mapping.NumParts]int64, cycles int64) float64 {
	var legend []figure.Entry
	at := x
	for p, n := range parts {
		if n == 0 {
			continue
		}
		w := width * float64(n) / float64(max(cycles, 1))
		text := fmt.Sprintf("%s: %d cycles, %.1f %%", mapping.Part(p), n, 100*float64(n)/float64(max(cycles, 1)))
		c.Bar(at, y, w, 26, figure.Series(p), text)
		at += w
		legend = append(legend, figure.Entry{Style: figure.Series(p), Text: text})
	}
	return c.Legend(y+52, legend) + 10
}

// networkFigure draws the breakdowns of layers, and of what else arrays do, below each other
// in the order of the network.
func networkFigure(rep *plan.Report) []byte {
	type row struct {
		node int
		name string
		cost *mapping.Cost
	}
	var rows []row
	for i := range rep.Layers {
		l := &rep.Layers[i]
		rows = append(rows, row{l.Node, l.Name, &l.Cost})
	}
	for i := range rep.Passes {
		p := &rep.Passes[i]
		rows = append(rows, row{p.Node, fmt.Sprintf("%s, %s", p.Name, p.Work.Op), &p.Cost})
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.node, b.node) })
	longest, name := int64(1), 0.0
	for _, r := range rows {
		longest = max(longest, r.cost.Cycles)
		name = max(name, figure.TextWidth(r.name, 11, false))
	}
	of := "each layer"
	if len(rep.Passes) > 0 {
		of += " and of what else arrays do"
	}
	c := figure.New(name+640, 0, fmt.Sprintf("%s on %s", rep.Network.Name, rep.Platform.Name), fmt.Sprintf("%d cycles in all, at least %d; cycles of %s.", rep.Cycles, rep.Bound, of))
	y := c.Heading()
	var legend []figure.Entry
	for p := range mapping.NumParts {
		if rep.Parts[p] > 0 {
			legend = append(legend, figure.Entry{Style: figure.Series(int(p)), Text: p.String()})
		}
	}
	y = c.Legend(y, legend)
	for _, r := range rows {
		c.Text(figure.Margin+name, y+11, r.name, figure.TextStyle{Size: 11, Anchor: figure.End})
		at := figure.Margin + name + 8
		for p, n := range r.cost.Parts {
			if n > 0 {
				w := 500 * float64(n) / float64(longest)
				c.Bar(at, y, w, 13, figure.Series(p), fmt.Sprintf("%s, %s: %d cycles", r.name, mapping.Part(p), n))
				at += w
			}
		}
		c.Text(at+6, y+11, fmt.Sprint(r.cost.Cycles), figure.TextStyle{Size: 10})
		y += 17
	}
	c.Height = y + figure.Margin
	return c.Bytes()
}

// FrontFigure draws a front: cycles against energy, a style by units.
func FrontFigure(q *mapping.Problem, front []search.Spot) []byte {
	lo, hi, least, most := front[0].Cost.Cycles, front[0].Cost.Cycles, front[0].Picojoules, front[0].Picojoules
	for i := range front {
		lo, hi = min(lo, front[i].Cost.Cycles), max(hi, front[i].Cost.Cycles)
		least, most = min(least, front[i].Picojoules), max(most, front[i].Picojoules)
	}
	p := figure.Plot{Width: 560, Height: 320,
		X: figure.Axis{Title: "cycles", Log: true, Ticks: figure.LogTicks(float64(lo), float64(hi)), Inset: 10},
		Y: figure.Axis{Title: "energy of known events, nJ", Log: true, Ticks: figure.LogTicks(max(least, 1)/1000, max(most, 1)/1000), Inset: 10}}
	p.Left = figure.Margin + p.Room()
	c := figure.New(p.Left+p.Width+figure.Margin, 0, fmt.Sprintf("%s on %s", q.Op, q.Platform.Name), "Mappings that no other found beats in cycles, energy and units; units by the pointer.")
	p.Top = c.Heading()
	p.Draw(c)
	for i := range front {
		x := &front[i]
		c.Mark(p.At(float64(x.Cost.Cycles), max(x.Picojoules, 1)/1000), figure.Series(0), fmt.Sprintf("%d cycles, %s, %d units", x.Cost.Cycles, Joules(x.Picojoules), x.Cost.Units))
	}
	c.Height = p.Top + p.Height + figure.PlotFoot + 10
	return c.Bytes()
}

// Joules is an energy in picojoules as text.
func Joules(pj float64) string {
	for _, u := range []struct {
		name string
		pj   float64
	}{{"J", 1e12}, {"mJ", 1e9}, {"uJ", 1e6}, {"nJ", 1e3}} {
		if pj >= u.pj {
			return fmt.Sprintf("%.4g %s", pj/u.pj, u.name)
		}
	}
	return fmt.Sprintf("%.4g pJ", pj)
}

// BindingText says which tensor is on which operand and which loops in which dimension.
func BindingText(q *mapping.Problem, m *mapping.Mapping) string {
	f := q.Platform.Functions[m.Function]
	var parts []string
	for o := range f.Operands {
		parts = append(parts, fmt.Sprintf("%s on %s", q.Op.Tensors[m.Tensor(o)].Name, f.Operands[o].Name))
	}
	for d := range f.Dims {
		var loops []string
		for l := range q.Op.Loops {
			if x := m.Factor[d][l]; x > 1 {
				loops = append(loops, fmt.Sprintf("%s=%d", q.Op.Loops[l].Name, x))
			}
		}
		if len(loops) > 0 {
			parts = append(parts, fmt.Sprintf("%s <- %s", f.Dims[d].Name, strings.Join(loops, " ")))
		}
	}
	return f.Name + ": " + strings.Join(parts, "; ")
}

// OrderText lists the loops of a slot in time in their order, the outermost first.
func OrderText(op *dnn.Operator, m *mapping.Mapping, order *[mapping.MaxLoops]uint8, slot int) string {
	var parts []string
	for i := range op.Loops {
		if l := order[i]; m.Factor[slot][l] > 1 {
			parts = append(parts, fmt.Sprintf("%s=%d", op.Loops[l].Name, m.Factor[slot][l]))
		}
	}
	return strings.Join(parts, " ")
}

// DoubleText says that the next operands are loaded meanwhile, where they are.
func DoubleText(on bool) string {
	if on {
		return ", loads beside"
	}
	return ""
}
