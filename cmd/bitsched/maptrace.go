package main

import (
	"context"
	"fmt"
	"io"

	"github.com/bitsched/bitsched/internal/traceevent"
	"github.com/bitsched/bitsched/lowering/mapping"
	"github.com/bitsched/bitsched/lowering/mapping/plan"
	"github.com/bitsched/bitsched/tile/stats"
)

// layerStats are the counters of a mapped layer.
type layerStats struct {
	Cycles      int64     `unit:"Cycle" desc:"of the unit's clock"`
	Parts       [9]uint64 `unit:"Cycle" desc:"what they are spent on" parts:"offChip,distribute,program,compute,reduce,drain,transpose,sync,idle"`
	Bound       int64     `unit:"Cycle" desc:"that no mapping goes below"`
	Macs        int64     `desc:"products of the nest"`
	Waves       int64     `desc:"invocations of each unit"`
	Units       int64     `desc:"that compute"`
	Loads       [3]uint64 `desc:"of operands by units, and of results from them" parts:"source1,source2,result"`
	LinkBytes   []uint64  `unit:"Byte" desc:"on the link into one group of each level, from the unit outwards, and off chip"`
	Outputs     int64     `desc:"that were compared with the loop nest"`
	RowOps      int64     `desc:"instructions times bitlines that were executed"`
	Evaluations int64     `desc:"mappings that were priced"`
}

// passStats are the counters of what is done in arrays beside products.
type passStats struct {
	Cycles   int64     `unit:"Cycle" desc:"of the unit's clock"`
	Parts    [9]uint64 `unit:"Cycle" desc:"what they are spent on" parts:"offChip,distribute,program,compute,reduce,drain,transpose,sync,idle"`
	Elements int64     `desc:"results"`
	Rounds   int64     `desc:"invocations of each unit"`
	RowOps   int64     `desc:"instructions times bitlines that were executed"`
}

// writeMapStats writes counters of every layer.
func writeMapStats(w io.Writer, rep *plan.Report) error {
	reg := stats.New()
	for i := range rep.Layers {
		l := &rep.Layers[i]
		s := layerStats{Cycles: l.Cost.Cycles, Bound: l.Bound.Cycles, Macs: l.Op.MACs(), Waves: l.Cost.Waves, Units: l.Cost.Units, Outputs: l.Outputs}
		for k, c := range l.Cost.Parts {
			s.Parts[k] = uint64(c)
		}
		for k, n := range l.Cost.Loads {
			s.Loads[k] = uint64(n)
		}
		p := l.Problem.Platform
		for k := range p.Levels {
			s.LinkBytes = append(s.LinkBytes, uint64(l.Cost.Traffic[k]))
		}
		s.LinkBytes = append(s.LinkBytes, uint64(l.Cost.Traffic[len(p.Levels)]))
		if l.Executed != nil {
			s.RowOps = l.Executed.RowOps
		}
		if l.Search != nil && l.Same < 0 {
			s.Evaluations = l.Search.Evaluations
		}
		reg.Register(fmt.Sprintf("map.layer[%d]", i), &s)
	}
	for i := range rep.Passes {
		p := &rep.Passes[i]
		s := passStats{Cycles: p.Cost.Cycles, Elements: p.Work.Elements, Rounds: p.Cost.Waves, RowOps: p.RowOps}
		for k, c := range p.Cost.Parts {
			s.Parts[k] = uint64(c)
		}
		reg.Register(fmt.Sprintf("map.nonlinear[%d]", i), &s)
	}
	return reg.Snapshot(rep.Cycles).WriteText(w)
}

// writeMapTrace writes what the clock of each layer spends cycles on, one layer after another.
func writeMapTrace(w io.Writer, rep *plan.Report) error {
	var events []traceevent.Event
	dropped, at := int64(0), int64(0)
	const layers = int32(mapping.NumParts)
	passes := rep.Passes
	pass := func(before int) { // what is done between layers
		for len(passes) > 0 && passes[0].Node < before {
			events = append(events, traceevent.Event{Track: layers, Name: passes[0].Name + " " + string(passes[0].Work.Op), Start: at, Cycles: passes[0].Cost.Cycles})
			at += passes[0].Cost.Cycles
			passes = passes[1:]
		}
	}
	for i := range rep.Layers {
		l := &rep.Layers[i]
		pass(l.Node)
		events = append(events, traceevent.Event{Track: layers, Name: l.Name, Start: at, Cycles: l.Cost.Cycles})
		err := l.Problem.Record(context.Background(), &l.Mapping, func(p mapping.Part, start, cycles int64) {
			if len(events) >= traceevent.Limit {
				dropped++
				return
			}
			events = append(events, traceevent.Event{Track: int32(p), Name: p.String(), Start: at + start, Cycles: cycles})
		})
		if err != nil {
			return err
		}
		at += l.Cost.Cycles
	}
	pass(len(rep.Network.Nodes))
	return traceevent.Write(w, rep.Platform.Name, func(t int32) string {
		if t == layers {
			return "layers"
		}
		return mapping.Part(t).String()
	}, events, dropped)
}
