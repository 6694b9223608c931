package main

import (
	"fmt"
	"strings"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/lowering/nearstream"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// nearStreamJSON is a stream of a whole function as it is reported.
type nearStreamJSON struct {
	Name      string   `json:"name"`
	At        string   `json:"at"` // file:line:col
	Loop      string   `json:"loop"`
	Kind      string   `json:"kind"`
	Pattern   string   `json:"pattern"`
	Dims      int      `json:"dims"`
	Access    string   `json:"access"`
	Base      string   `json:"base"` // "" = none
	Inputs    []string `json:"inputs"`
	Atomic    bool     `json:"atomic"`
	Ops       int      `json:"operations"`
	ScalarPE  bool     `json:"scalar_pe"`
	Result    string   `json:"result"` // to the core in each iteration; "" = nothing
	Config    int      `json:"configuration_bytes"`
	Place     string   `json:"place"`
	Why       string   `json:"why"`
	Offloaded bool     `json:"offloaded"`
}

type nearLoopJSON struct {
	Var       string `json:"variable"`
	Outer     string `json:"outer"` // "" = none
	SyncFree  bool   `json:"sync_free"`
	Nested    bool   `json:"nested"`
	Decoupled bool   `json:"decoupled"`
	Why       string `json:"why"` // not nested
}

type nearJSON struct {
	Kernel  string           `json:"kernel"`
	Verdict string           `json:"verdict"`
	Streams []nearStreamJSON `json:"streams"`
	Loops   []nearLoopJSON   `json:"loops"`
}

// nearReport says what of a plan could leave the core.
func nearReport(p *nearstream.Plan) *nearJSON {
	r := &nearJSON{Kernel: p.Graph.Name, Verdict: p.Verdict(), Streams: []nearStreamJSON{}, Loops: []nearLoopJSON{}}
	for _, s := range p.Streams {
		x := nearStreamJSON{
			Name: s.Name, At: s.Parts[0].At, Loop: s.Loop.Source.Var, Kind: s.Kind.String(), Pattern: s.Pattern(), Dims: s.Dims, Access: p.Graph.AccessPattern(s.Parts[0]),
			Inputs: []string{}, Atomic: s.Atomic, Ops: len(s.Ops), ScalarPE: s.OnPE(), Place: s.Place.String(), Why: s.Why, Offloaded: s.Place == nearstream.Near,
		}
		if s.Base != nil {
			x.Base = s.Base.Name
		}
		for _, in := range s.Inputs {
			x.Inputs = append(x.Inputs, in.Name)
		}
		if s.Result != scalar.Invalid {
			x.Result = s.Result.String()
		}
		if s.Place != nearstream.InCore {
			x.Config = s.ConfigBytes(p)
		}
		r.Streams = append(r.Streams, x)
	}
	for _, l := range p.Loops {
		x := nearLoopJSON{Var: l.Source.Var, SyncFree: l.SyncFree, Nested: l.Nested, Decoupled: l.Decoupled, Why: l.Why}
		if l.Outer != nil {
			x.Outer = l.Outer.Source.Var
		}
		r.Loops = append(r.Loops, x)
	}
	return r
}

// nearText is the same for a person.
func streamsText(p *nearstream.Plan) string {
	t := benchmarks.Table{Columns: []benchmarks.Column{
		{Name: "stream", Left: true}, {Name: "at", Left: true}, {Name: "loop", Left: true}, {Name: "kind", Left: true}, {Name: "pattern", Left: true}, {Name: "place", Left: true},
		{Name: "computes there", Left: true}, {Name: "to the core", Left: true}, {Name: "configuration"},
	}}
	var why strings.Builder
	for _, s := range p.Streams {
		config := ""
		if s.Place != nearstream.InCore {
			config = fmt.Sprintf("%d B", s.ConfigBytes(p))
		}
		kind := s.Kind.String()
		if s.Atomic {
			kind += ", atomic"
		}
		pattern := s.Pattern()
		if s.Base != nil && s.Base.Array != "" && s.Array != "" {
			pattern += " by " + s.Base.Name
		} else if s.Dims > 1 {
			pattern += fmt.Sprintf(", %d loops", s.Dims)
		}
		t.Rows = append(t.Rows, []string{s.Name, s.Parts[0].At, s.Loop.Source.Var, kind, pattern, s.Place.String(), s.Computes(), s.Sends(), config})
		if s.Why != "" {
			fmt.Fprintf(&why, "%s: %s: %s\n", s.Parts[0].At, s.Name, s.Why)
		}
	}
	for _, l := range p.Loops {
		switch {
		case l.Decoupled && l.SyncFree:
			fmt.Fprintf(&why, "loop over %s: streams of the loop around it configure it, and it vanishes: nothing is left for the core\n", l.Source.Var)
		case l.Decoupled:
			fmt.Fprintf(&why, "loop over %s: streams of the loop around it configure it; with #pragma s_sync_free it would vanish\n", l.Source.Var)
		case l.Nested:
			fmt.Fprintf(&why, "loop over %s: streams of the loop around it configure it\n", l.Source.Var)
		case len(l.Streams) > 0 && l.Outer != nil:
			fmt.Fprintf(&why, "loop over %s: configured by the core each time: %s\n", l.Source.Var, l.Why)
		}
	}
	text := p.Graph.Name + ": " + p.Verdict() + "\n"
	if len(t.Rows) > 0 {
		text += "\n" + renderTable(t) + "\n"
	}
	if why.Len() > 0 {
		text += "\n" + why.String()
	}
	return text
}
