package fused

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/tc"
	"github.com/bitsched/bitsched/tile/tensor"
)

func run1(line uint64) tensor.Run { return tensor.Run{Address: line * lineBytes, Bytes: lineBytes} }

// Got implements tc.Host.
func (x *run) Got(line mem.Line, b *mem.Bytes) {
	q := x.of(line)
	if q == nil {
		x.fail(fmt.Errorf("fused: line %#x has come to bitlines, and is of no array of the program", line))
		return
	}
	elems := x.mem.Arrays[q.name].Elems
	from, to := q.elements(line)
	for e := from; e < to; e++ {
		at := int(q.from + uint64(e)*uint64(q.bytes) - line*lineBytes)
		var word [8]byte
		copy(word[:], b[at:at+q.bytes])
		elems[e] = binary.LittleEndian.Uint64(word[:])
	}
}

// Newest implements tc.Host.
func (x *run) Newest(line mem.Line, b *mem.Bytes) {
	q := x.of(line)
	if q == nil || x.opt.BrokenTensor == NoNewest {
		return
	}
	put := func(e int64, v scalar.Value) {
		at := int(q.from + uint64(e)*uint64(q.bytes) - line*lineBytes)
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], v)
		copy(b[at:at+q.bytes], word[:q.bytes])
	}
	from, to := q.elements(line)
	if s, ok := x.borrowed[q.name]; ok {
		elems := x.mem.Arrays[q.name].Elems
		for e := max(from, s.from); e < min(to, s.to); e++ {
			put(e, elems[e])
		}
	}
	first := x.first[q.name]
	if err := x.session.Each(q.name, from-first, to-first, func(e int64, v scalar.Value) { put(e+first, v) }); err != nil {
		x.fail(err)
	}
}

// Lost implements tc.Host.
func (x *run) Lost(line mem.Line) {
	if q := x.of(line); q != nil {
		if x.lost[q.name] == nil {
			x.lost[q.name] = map[uint64]bool{}
		}
		x.lost[q.name][line] = true
	}
}

// Fetch implements system.Surroundings.
func (x *run) Fetch(_ context.Context, array string, w *system.Work) error {
	return x.during(&x.report.Cycles.DRAM, func() error { return x.fetch(x.session.Lines(array, w)) })
}

// Borrow implements system.Surroundings.
func (x *run) Borrow(_ context.Context, array string, from, end int64, use system.Use) error {
	s := span64{from, end}
	x.borrowed[array] = x.borrowed[array].join(s)
	x.wrote[array] = x.wrote[array] || use != system.Reads
	q := x.place(array)
	lines := x.homes(q, s)
	if use == system.WritesAll {
		inside := func(line uint64) bool { // all elements of the line are written
			return line*lineBytes >= q.from+uint64(from)*uint64(q.bytes) && (line+1)*lineBytes <= q.from+uint64(end)*uint64(q.bytes)
		}
		for i := range lines {
			l := &lines[i]
			slices.SortStableFunc(l.Lines, func(a, b uint64) int {
				switch {
				case inside(a) == inside(b):
					return 0
				case inside(a):
					return -1
				}
				return 1
			})
			for l.Whole < len(l.Lines) && inside(l.Lines[l.Whole]) {
				l.Whole++
			}
		}
	}
	return x.during(&x.report.Cycles.Near, func() error { return x.fetch(lines) })
}

// Consume implements system.Surroundings.
func (x *run) Consume(_ context.Context, w *system.Work) error {
	c := &x.report.Cycles
	switch w.Kind {
	case system.Lowered:
		if x.config.lowered {
			return nil
		}
		return x.during(&c.JIT, func() error { return x.lower(w) })
	case system.Transferred:
		lines := x.session.Lines(w.Name, w)
		switch {
		case lines == nil: // a spilled word, or lines that are read to be written in part
			part := &c.DRAM
			if w.Name == "spill" {
				part = &c.Spill
			}
			return x.during(part, func() error { return x.pass(int64(float64(w.Bytes)/x.machine.DRAMBytesPerCycle()) + 1) })
		case w.Load:
			return nil // see Fetch
		}
		part := &c.Return
		switch {
		case x.ended:
			part = &x.report.WriteBack
		case x.releasing:
			part = &c.Behind
		}
		return x.during(part, func() error { return x.giveBack(lines) })
	case system.Executed:
		return x.execute(w)
	case system.Finals:
		return x.during(&c.Final, func() error { return x.walk(w.Walks) })
	case system.Streamed:
		walks := w.Walks
		if walks == nil {
			walks = x.atHomes(w.Ops, w.InTurn)
		}
		return x.during(&c.Near, func() error { return x.walk(walks) })
	case system.RegionBegins:
		x.begun = x.m.Engine.Now()
	case system.RegionEnds:
		x.idle = x.m.Engine.Now() - max(x.begun, x.lowered)
		return x.during(&c.Near, x.giveBorrowed)
	}
	return nil
}

// lower lets the cycles of lowering pass that arrays wait for. With overlap, thread 0 has
// begun when the region before was lowered and it only waited for that, and goes on while
// arrays are fetched.
func (x *run) lower(w *system.Work) error {
	work := w.JIT
	if x.opt.BankLowering {
		work.Banks = 0
	}
	x.report.Lowered.add(&work)
	n := x.machine.JITCycles(work)
	if x.opt.Overlap {
		hidden := min(n, x.idle+x.m.Engine.Now()-x.begun)
		x.report.Cycles.Hidden += hidden
		n -= hidden
	}
	err := x.pass(n)
	x.lowered, x.idle = x.m.Engine.Now(), 0
	return err
}

func (x *run) walk(walks []tc.Walk) error {
	return x.await(func(done func(event.Time)) { x.tensor.Walk(walks, done) })
}

// atHomes returns the walks of streams over the lines that they have borrowed: one from bank to bank
// where an iteration may need what others did, else one at each.
func (x *run) atHomes(ops int64, inTurn bool) []tc.Walk {
	counts, total := make([]int64, x.machine.Banks()), int64(0)
	for _, q := range x.ranges {
		if s, ok := x.borrowed[q.name]; ok {
			for _, l := range x.homes(&q, s) {
				counts[l.Bank] += int64(len(l.Lines))
				total += int64(len(l.Lines))
			}
		}
	}
	var stops []tc.Stop
	for b, n := range counts {
		if n > 0 {
			stops = append(stops, tc.Stop{Bank: b, Tree: n, Ops: (ops*n + total - 1) / total})
		}
	}
	if inTurn && stops != nil {
		return []tc.Walk{{Stops: stops, Bytes: 8}}
	}
	var walks []tc.Walk
	for _, s := range stops {
		walks = append(walks, tc.Walk{Stops: []tc.Stop{s}, Bytes: 8})
	}
	return walks
}

// giveBorrowed returns what streams have read and written.
func (x *run) giveBorrowed() error {
	for _, q := range x.ranges {
		if s, ok := x.borrowed[q.name]; ok {
			lines := x.homes(&q, s)
			for i := range lines {
				lines[i].Clean = !x.wrote[q.name]
			}
			if err := x.giveBack(lines); err != nil {
				return err
			}
		}
	}
	return nil
}

// execute hands commands to the controllers.
func (x *run) execute(w *system.Work) error {
	c := &x.report.Cycles
	var list []tc.Command
	var compute, move, between int64
	per := x.machine.ArraysPerBank()
	var banks []int
	for i := range w.Commands {
		k := &w.Commands[i]
		switch k.Kind {
		case lowering.Sync:
			list = append(list, tc.Command{Name: "sync", Sync: true})
			continue
		case lowering.ShiftInter:
			parts, flows := system.Sends(x.machine, x.timing, k)
			out := tc.Command{Name: "move between tiles", Multicast: k.Copies > 1}
			longest := int64(0)
			for _, p := range parts {
				q := tc.Part{Bank: p.Bank, Cycles: p.Cycles, Tree: p.Tree}
				for _, f := range flows {
					if f.From == p.Bank {
						q.Flows = append(q.Flows, tc.Flow{To: f.To, Packets: f.Packets})
					}
				}
				longest = max(longest, p.Cycles)
				out.Parts = append(out.Parts, q)
			}
			between += longest
			list = append(list, out)
			continue
		}
		n, computes := system.Local(x.timing, w.Plan, k)
		if computes && x.opt.Latencies == "paper" && k.Kind == lowering.Compute {
			n = paperLatency(&w.Plan.Steps[k.Step])
		}
		out := tc.Command{}
		if computes {
			compute += n
			out.Name = "compute"
		} else {
			move += n
			out.Name = "move"
		}
		banks = lowering.Banks(banks[:0], k.Tiles, per)
		for _, b := range banks {
			out.Parts = append(out.Parts, tc.Part{Bank: b, Cycles: n})
		}
		list = append(list, out)
	}
	if x.opt.BankLowering {
		list = everywhere(list)
	}
	from := x.m.Engine.Now()
	err := x.await(func(done func(event.Time)) { x.tensor.Execute(list, done) })
	took := x.m.Engine.Now() - from
	if w.Name == "spill" {
		x.traced("spill", from)
		c.Spill += took
		return err
	}
	x.traced("commands", from)
	c.Compute += compute
	c.Move += move
	c.Between += between
	c.Sync += max(0, took-compute-move-between)
	return err
}

// everywhere sends each command to all banks that any of them is for: those that it does
// not concern look at it and go on.
func everywhere(list []tc.Command) []tc.Command {
	all := map[int]bool{}
	for i := range list {
		for _, p := range list[i].Parts {
			all[p.Bank] = true
		}
	}
	banks := slices.Sorted(maps.Keys(all))
	for i := range list {
		k := &list[i]
		if k.Sync {
			continue
		}
		has := map[int]bool{}
		for _, p := range k.Parts {
			has[p.Bank] = true
		}
		for _, b := range banks {
			if !has[b] {
				k.Parts = append(k.Parts, tc.Part{Bank: b})
			}
		}
	}
	return list
}

// paperLatency is the latency of an operation by the formulas of the authors' simulator
// (gem-forge-gem5, MLCPUMManager.cc, getComputeLat).
func paperLatency(s *lowering.Step) int64 {
	n := int64(s.Type.Bits())
	float := s.Type.Float()
	switch s.Elem {
	case scalar.Mul:
		if !float {
			return n * n / 2
		}
		return n * n
	case scalar.Div:
		return n * n
	case scalar.Add, scalar.Sub, scalar.Min, scalar.Max, scalar.Lt, scalar.Le, scalar.Eq, scalar.Ne:
		if float {
			return n * n
		}
	}
	return n
}
