package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/benchmarks/mapstudy"
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

func mapEnergyText(rep *plan.Report) string {
	pj, unknown := energyOf(rep)
	text := mapstudy.Joules(pj)
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
				each = fmt.Sprintf("%g pJ each, %s; %s", x.Each, mapstudy.Joules(x.Count*x.Each), x.Source)
			}
			s.add("energy of", "%s: %.4g, %s", x.Event, x.Count, each)
		}
	}
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
		if err := a.writeBytes(f.svg, mapstudy.FrontFigure(q, front)); err != nil {
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
		t.Rows = append(t.Rows, []string{fmt.Sprint(front[i].Cost.Cycles), mapstudy.Joules(front[i].Picojoules), fmt.Sprint(front[i].Cost.Units), mapstudy.BindingText(q, &front[i].Mapping)})
	}
	return a.printText(x.String() + "\n" + renderTable(t) + "\n")
}
