package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/internal/figure"
	"github.com/bitsched/bitsched/lowering/mapping"
	"github.com/bitsched/bitsched/lowering/mapping/plan"
	mapsearch "github.com/bitsched/bitsched/lowering/mapping/search"
)

// energyOf adds up what is known of a network's energy, and names what is not.
func energyOf(rep *plan.Report) (picojoules float64, unknown []string) {
	for i := range rep.Layers {
		l := &rep.Layers[i]
		e := l.Problem.Energy(&l.Mapping, &l.Cost)
		picojoules += e.Picojoules
		for _, u := range e.Unknown() {
			if !slices.Contains(unknown, u) {
				unknown = append(unknown, u)
			}
		}
	}
	slices.Sort(unknown)
	return picojoules, unknown
}

func joules(pj float64) string {
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

func mapEnergyText(rep *plan.Report) string {
	pj, unknown := energyOf(rep)
	text := joules(pj)
	if len(unknown) > 0 {
		text += "; not known and not in it: " + strings.Join(unknown, ", ")
	}
	return text
}

// explainText says what refused candidates, and what energy is made of.
func explainText(s *summary, rep *plan.Report) {
	var killed [mapping.NumViolations]int64
	bounded := int64(0)
	for i := range rep.Layers {
		if r := rep.Layers[i].Search; r != nil && rep.Layers[i].Same < 0 {
			for v, n := range r.Killed {
				killed[v] += n
			}
			bounded += r.Bounded
		}
	}
	s.gap()
	for v, n := range killed {
		if n > 0 {
			s.add("refused", "%d candidates by %s", n, mapping.Violation(v))
		}
	}
	s.add("cut off", "%d parts of the space by bounds", bounded)
	if len(rep.Layers) == 1 {
		l := &rep.Layers[0]
		s.add("space", "%.4g mappings", l.Problem.SpaceSize())
		for _, x := range l.Problem.Energy(&l.Mapping, &l.Cost).Lines {
			each := "unknown"
			if x.Known {
				each = fmt.Sprintf("%g pJ each, %s; %s", x.Each, joules(x.Count*x.Each), x.Source)
			}
			s.add("energy of", "%s: %.4g, %s", x.Event, x.Count, each)
		}
	}
}

// mapFigure draws an operator's mapping, slot by slot from the outermost, with its
// breakdown; of a network the breakdown of each layer.
func mapFigure(rep *plan.Report) []byte {
	if len(rep.Layers) > 1 {
		return networkFigure(rep)
	}
	l := &rep.Layers[0]
	q, m := l.Problem, &l.Mapping
	c := figure.New(820, 0, fmt.Sprintf("%s on %s", l.Op, rep.Platform.Name),
		fmt.Sprintf("%d cycles, at least %d. Each box is a place of loops: what lies in it is within what is around it. %s", l.Cost.Cycles, l.Bound.Cycles, bindingText(q, m)))
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
			loops, name = []string{orderText(l.Op, m, &m.Tile, sl)}, fmt.Sprintf("%d tiles of the buffer, in time%s", n, doubleText(m.DoubleTile))
		case sl == mapping.SlotWave:
			loops, name = []string{orderText(l.Op, m, &m.Wave, sl)}, fmt.Sprintf("%d invocations, in time%s", n, doubleText(m.Double))
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
	height := float64(len(levels))*step + 30
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

// networkFigure draws the layers' breakdowns below each other.
func networkFigure(rep *plan.Report) []byte {
	longest, name := int64(1), 0.0
	for i := range rep.Layers {
		longest = max(longest, rep.Layers[i].Cost.Cycles)
		name = max(name, figure.TextWidth(rep.Layers[i].Name, 11, false))
	}
	c := figure.New(name+640, 0, fmt.Sprintf("%s on %s", rep.Network.Name, rep.Platform.Name), fmt.Sprintf("%d cycles in all, at least %d; cycles of each layer.", rep.Cycles, rep.Bound))
	y := c.Heading()
	var legend []figure.Entry
	for p := range mapping.NumParts {
		if rep.Parts[p] > 0 {
			legend = append(legend, figure.Entry{Style: figure.Series(int(p)), Text: p.String()})
		}
	}
	y = c.Legend(y, legend)
	for i := range rep.Layers {
		l := &rep.Layers[i]
		c.Text(figure.Margin+name, y+11, l.Name, figure.TextStyle{Size: 11, Anchor: figure.End})
		at := figure.Margin + name + 8
		for p, n := range l.Cost.Parts {
			if n > 0 {
				w := 500 * float64(n) / float64(longest)
				c.Bar(at, y, w, 13, figure.Series(p), fmt.Sprintf("%s, %s: %d cycles", l.Name, mapping.Part(p), n))
				at += w
			}
		}
		c.Text(at+6, y+11, fmt.Sprint(l.Cost.Cycles), figure.TextStyle{Size: 10})
		y += 17
	}
	c.Height = y + figure.Margin
	return c.Bytes()
}

// paretoSpot is the JSON form of a mapping of a front.
type paretoSpot struct {
	Cycles  int64   `json:"cycles"`
	Energy  float64 `json:"known_energy_nanojoules"`
	Units   int64   `json:"units"`
	Mapping string  `json:"mapping"`
}

// mapPareto searches and prints a front.
func (a *app) mapPareto(cmd *cobra.Command, q *mapping.Problem, o plan.Options, f *mapFlags) error {
	opt, err := mapsearch.Lookup(o.Optimizer)
	if err != nil {
		return err
	}
	if f.output != "" {
		return usageError(cmd, "-o is for one mapping, --objective pareto has many")
	}
	line := a.newProgress()
	defer line.clear()
	s := a.startStoppable(f.budget, line, "finishing with the front so far")
	defer s.end()
	front, res, err := mapsearch.Pareto(s.ctx, q, opt, mapsearch.Options{Evals: o.Evals, Seed: o.Seed, Threads: o.Threads})
	stopped := s.stopped()
	line.clear()
	if err != nil {
		return s.reasonOf(err)
	}
	// Each mapping of the front is clocked, as any other, unless it has too many waves.
	clocked := 0
	for i := range front {
		if front[i].Cost.Waves > 1<<22 {
			continue
		}
		clocked++
		c, err := q.Clock(cmd.Context(), &front[i].Mapping)
		if err != nil {
			return err
		}
		if *c != front[i].Cost {
			return fmt.Errorf("%w: closed form %d cycles, clock %d", errCheck, front[i].Cost.Cycles, c.Cycles)
		}
	}
	e := q.Energy(&front[0].Mapping, &front[0].Cost)
	if f.svg != "" {
		if err := a.writeBytes(f.svg, paretoFigure(q, front)); err != nil {
			return err
		}
	}
	if f.json {
		var spots []paretoSpot
		for i := range front {
			x := &front[i]
			spots = append(spots, paretoSpot{x.Cost.Cycles, x.Picojoules / 1000, x.Cost.Units, q.String(&x.Mapping)})
		}
		return a.printJSON(map[string]any{"operator": q.Op.String(), "platform": q.Platform.Name, "evaluations": res.Evaluations, "seed": o.Seed, "front": spots, "energy_unknown": e.Unknown(), "stopped": stopped})
	}
	var x summary
	x.add("operator", "%s", q.Op)
	x.add("platform", "%s: %s", q.Platform.Name, q.Platform.Title)
	x.add("search", "%s, %d mappings priced, seed %d", o.Optimizer, res.Evaluations, o.Seed)
	if stopped != "" {
		x.add("stopped", "early by %s: another run may differ", stopped)
	}
	x.add("front", "%d mappings that no other found beats in cycles, energy and units", len(front))
	if u := e.Unknown(); len(u) > 0 {
		x.add("energy", "not known and not in it: %s", strings.Join(u, ", "))
	}
	x.add("checked", "closed form and clock agree to the cycle on %d of %d", clocked, len(front))
	x.add("time", "%.2f s", time.Since(a.start).Seconds())
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "cycles"}, {Name: "energy"}, {Name: "units"}, {Name: "binding", Left: true}}}
	for i := range front {
		t.Rows = append(t.Rows, []string{fmt.Sprint(front[i].Cost.Cycles), joules(front[i].Picojoules), fmt.Sprint(front[i].Cost.Units), bindingText(q, &front[i].Mapping)})
	}
	return a.printText(x.String() + "\n" + renderTable(t) + "\n")
}

// paretoFigure draws a front: cycles against energy, a style by units.
func paretoFigure(q *mapping.Problem, front []mapsearch.Spot) []byte {
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
		c.Mark(p.At(float64(x.Cost.Cycles), max(x.Picojoules, 1)/1000), figure.Series(0), fmt.Sprintf("%d cycles, %s, %d units", x.Cost.Cycles, joules(x.Picojoules), x.Cost.Units))
	}
	c.Height = p.Top + p.Height + figure.PlotFoot + 10
	return c.Bytes()
}
