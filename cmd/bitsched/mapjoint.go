package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/lowering/mapping/plan"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// mapJoint is the JSON form of a network that was planned as a whole.
type mapJoint struct {
	Nanoseconds float64          `json:"nanoseconds"`
	Greedy      float64          `json:"layer_by_layer_nanoseconds"` // -1: does not go together
	Bound       float64          `json:"bound_nanoseconds"`
	Exact       bool             `json:"exact"`
	Turned      int64            `json:"transposed_elements_executed"`
	Layers      []mapJointChoice `json:"layers"`
}

type mapJointChoice struct {
	Name     string  `json:"name"`
	Platform string  `json:"platform"`
	Resident []bool  `json:"activations_in_buffer"`
	Stays    bool    `json:"result_stays"`
	Turned   []bool  `json:"transposed"`
	Nanos    float64 `json:"nanoseconds"`
	Between  float64 `json:"between_nanoseconds"`
}

func nanos(picos int64) float64 {
	if picos < 0 {
		return -1
	}
	return float64(picos) / 1000
}

func newMapJoint(rep *plan.Report) *mapJoint {
	j := &mapJoint{Nanoseconds: nanos(rep.Picos), Greedy: nanos(rep.Greedy), Bound: nanos(rep.BoundPicos), Exact: rep.Exact, Turned: rep.TurnedElements()}
	for i := range rep.Layers {
		l := &rep.Layers[i]
		j.Layers = append(j.Layers, mapJointChoice{l.Name, l.Problem.Platform.Name, l.Choice.Resident, l.Choice.Stays, l.Choice.Turned, nanos(l.Choice.Picos), nanos(l.Choice.Between)})
	}
	return j
}

func (a *app) jointText(rep *plan.Report, stopped string) string {
	var s summary
	s.add("work", "%s: %s", rep.Network.Name, rep.Network.Title)
	platforms := []*platform.Platform{rep.Platform}
	platforms = append(platforms, rep.Options.Platforms...)
	for _, p := range platforms {
		n, time := 0, int64(0)
		for i := range rep.Layers {
			if l := &rep.Layers[i]; l.Problem.Platform.Name == p.Name {
				n++
				time += l.Choice.Picos + l.Choice.Between
			}
		}
		s.add("platform", "%s: %s; %d layers, %s", p.Name, p.Title, n, timeText(time, 1000))
	}
	if stopped != "" {
		s.add("stopped", "early by %s: another run may differ", stopped)
	}
	s.gap()
	how := "exact over the mappings that were found"
	if !rep.Exact {
		how = "the best states of many"
	}
	s.add("time", "%s, planned as a whole (%s)", timeText(rep.Picos, 1000), how)
	if rep.Greedy >= 0 {
		s.add("layer by layer", "%s: %.1f %% more", timeText(rep.Greedy, 1000), 100*(float64(rep.Greedy)/float64(rep.Picos)-1))
	}
	stays, turned, between := 0, 0, int64(0)
	for i := range rep.Layers {
		c := rep.Layers[i].Choice
		if c.Stays {
			stays++
		}
		for _, t := range c.Turned {
			if t {
				turned++
			}
		}
		between += c.Between
	}
	s.add("between layers", "%d results stay in the buffer, %d activations are brought into another layout or place, %s", stays, turned, timeText(between, 1000))
	if len(rep.Options.Platforms) == 0 {
		s.add("cycles", "%d at %g GHz", rep.Cycles, rep.Platform.ClockGHz)
		partsText(&s, rep.Parts, rep.Cycles)
	}
	s.gap()
	switch {
	case rep.Options.Execute == "none":
		s.add("checked", "nothing was executed; %s", clockText(rep))
	default:
		s.add("checked", "%d of %d outputs agree with the loop nest, or a quantising reference where converters clip; %s; what stays was read from the buffer's bytes, %d elements were transposed", rep.Outputs, rep.All, clockText(rep), rep.TurnedElements())
	}
	s.add("run", "%.2f s", time.Since(a.start).Seconds())
	t := benchmarks.Table{Columns: []benchmarks.Column{
		{Name: "layer", Left: true}, {Name: "platform", Left: true}, {Name: "time"}, {Name: "between"}, {Name: "from", Left: true}, {Name: "to", Left: true},
	}}
	for i := range rep.Layers {
		l := &rep.Layers[i]
		var from []string
		for b, r := range l.Choice.Resident {
			where := "off chip"
			if r {
				where = "buffer"
			}
			if l.Choice.Turned[b] {
				where += ", transposed"
			}
			from = append(from, where)
		}
		to := "off chip"
		if l.Choice.Stays {
			to = "buffer"
		}
		t.Rows = append(t.Rows, []string{l.Name, l.Problem.Platform.Name, timeText(l.Choice.Picos, 1000), fmt.Sprint(timeText(l.Choice.Between, 1000)), strings.Join(from, "; "), to})
	}
	return s.String() + "\n" + renderTable(t) + "\n"
}
