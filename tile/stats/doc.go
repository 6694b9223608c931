// Package stats has the counters of modelled hardware and the views of them.
//
// A component owns its counters: a struct of plain uint64 fields, which it counts
// up as it goes. Tags describe them, so that a new counter is one line in one file:
//
//	type Counters struct {
//		Hits    uint64          `desc:"requests that found their line"`
//		Busy    uint64          `unit:"Cycle" desc:"with a request at hand"`
//		Latency stats.Histogram `unit:"Cycle" desc:"of requests"`
//	}
//
//	reg := stats.New()
//	reg.Register("system.l2", &bank.counters)
//	before := reg.Snapshot()
//	...
//	reg.Snapshot().Sub(before).WriteText(w) // what happened between
//
// A [Registry] knows the groups of counters by name, a [Snapshot] is their values at
// one time. Texts in the form of gem5's stats.txt, JSON, energy and time series are
// views of snapshots; nothing counts for the sake of a view. Fields are:
//
//   - uint64, a count, or int64 and int where counts are never below zero; float64, a
//     value that is no count, such as seconds;
//   - []uint64 or an array of uint64, the parts of a count;
//   - [Histogram], [Distribution] and [Level];
//   - structs of these, which are groups within the group, or with the tag stat:"."
//     more of the group itself.
//
// Tags are desc, which each field needs, unit ([Count] if there is none), stat, the name if
// it is not the field's with a small letter at the front, and parts, the names of
// the parts of a count, separated by commas. A name may end in ::part, which says
// that it is a part of the stat of the name before it, as in gem5. The tag stat:"-"
// hides a field.
//
// Invariants: reading counters never changes them; the order of stats is that of
// registration and of fields; a Snapshot does not change with the counters that it was
// made of; for a sequence of snapshots, the differences add up to the last one. The
// package is for one goroutine. It knows nothing of time: no counter is sampled
// unless its component, or a hook of the engine, does so.
package stats
