package mapping

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// Energy is what a mapping takes, as far as the platform's description knows.
type Energy struct {
	Picojoules float64
	Lines      []EnergyLine
}

// EnergyLine is the energy of one kind of event.
type EnergyLine struct {
	Event  string
	Count  float64
	Known  bool
	Each   float64 // picojoules
	Source string
}

// Unknown names the events whose energy the description does not give.
func (e *Energy) Unknown() []string {
	var out []string
	for _, l := range e.Lines {
		if !l.Known && l.Count > 0 {
			out = append(out, l.Event)
		}
	}
	return out
}

// events counts what takes energy in a mapping with that cost: instructions and accesses of
// rows of arrays, steps, converted samples and programming of crossbars, commands of
// lanes, bytes on the link into every group of each level, bytes off chip.
func (q *Problem) events(m *Mapping, c *Cost, add func(event int, n float64)) {
	s := shape{m: m}
	if q.shape(&s) != Legal {
		return
	}
	units := float64(c.Units)
	work := float64(c.Waves) * units
	results := float64(c.Loads[Dst])
	switch {
	case q.mac != nil:
		r := q.rows(&s)
		t := q.mac
		instrs := func(n int) float64 { return float64(n) }
		if s.f.program {
			v := q.costOf(costKey{r.column, s.spatial[0]})
			add(eventCompute, float64(q.passes(m))*float64(v.instrSum)*units/float64(q.streams(m)))
		} else {
			add(eventCompute, work*float64(r.words[Src1])*(instrs(len(t.mul.Kernel.Instrs))+instrs(len(t.add[r.column].Kernel.Instrs))))
		}
		for o := range 2 {
			add(eventAccess, float64(c.Loads[o])*units*float64(r.words[o]*r.width[o]))
		}
		add(eventAccess, results*units*float64(r.column)) // cleared
		width := r.column
		round := func(n int64) {
			for n > 1 {
				n = (n + 1) / 2
				add(eventAccess, results*units*float64(width))
				width = min(width+1, r.final)
				add(eventCompute, results*units*instrs(len(t.add[width].Kernel.Instrs)))
			}
		}
		reduce := int64(1)
		for d := range s.f.dims {
			if s.f.Reduction(d) && s.f.colDims[d] {
				round(s.size[d])
			}
		}
		for i := range q.levels {
			round(s.reduce[i])
			reduce *= s.reduce[i]
		}
		add(eventAccess, results*units/float64(reduce)*float64(width))
	case q.Platform.Crossbar != nil:
		x := q.Platform.Crossbar
		cols := float64(q.cells(q.tensors[m.Tensor(Src1)].bits))
		for d := range s.f.dims {
			if s.f.colDims[d] {
				cols *= float64(s.size[d])
			}
		}
		steps := work * float64(ceilDiv(q.tensors[m.Tensor(Src2)].bits, int64(x.DACBits)))
		add(eventStep, steps)
		add(eventSample, steps*cols)
		add(eventProgram, float64(c.Loads[Src1])*units)
	default:
		k := s.inner
		for d := range s.f.dims {
			if s.f.Reduction(d) {
				k *= s.size[d]
			}
		}
		add(eventCommand, work*float64(k))
	}
	for i := range q.levels {
		groups := 1.0
		for j := i + 1; j < q.levels; j++ {
			groups *= float64(s.spatial[j])
		}
		add(eventLink+i, float64(c.Traffic[i])*groups)
	}
	if q.buffer > 0 {
		add(eventOffChip, float64(c.Traffic[q.levels]))
	}
}

// The events, by number.
const (
	eventCompute = iota
	eventAccess
	eventStep
	eventSample
	eventProgram
	eventCommand
	eventOffChip
	eventLink // of the first level, and those behind it
	numEvents = eventLink + platform.MaxLevels
)

func (q *Problem) eventName(e int) string {
	if e >= eventLink {
		return "link:" + q.Platform.Levels[e-eventLink].Name
	}
	return [...]string{"compute", "access", "step", "sample", "program", "command", "off-chip"}[e]
}

// Energy adds up the energy of a mapping, event by event.
func (q *Problem) Energy(m *Mapping, c *Cost) Energy {
	var counts [numEvents]float64
	q.events(m, c, func(e int, n float64) { counts[e] += n })
	var out Energy
	for e, n := range counts {
		if n == 0 {
			continue
		}
		l := EnergyLine{Event: q.eventName(e), Count: n}
		if at := slices.IndexFunc(q.Platform.Energy, func(x platform.EnergyOf) bool { return x.Event == l.Event }); at >= 0 {
			x := q.Platform.Energy[at]
			l.Known, l.Each, l.Source = true, x.PJ, x.Source
			out.Picojoules += n * x.PJ
		}
		out.Lines = append(out.Lines, l)
	}
	return out
}

// Picojoules is the energy of the known events alone, for searches.
func (q *Problem) Picojoules(m *Mapping, c *Cost) float64 {
	sum := 0.0
	q.events(m, c, func(e int, n float64) { sum += n * q.each[e] })
	return sum
}

// KnowsEnergy is nil where the energy of at least one event is known.
func (q *Problem) KnowsEnergy() error {
	if len(q.Platform.Energy) > 0 {
		return nil
	}
	var names []string
	for e := range eventLink + q.levels {
		names = append(names, q.eventName(e))
	}
	return fmt.Errorf("mapping: platform %s gives no energy: expected a list under energy with some of %s", q.Platform.Name, strings.Join(names, ", "))
}
