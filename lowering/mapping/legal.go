package mapping

import (
	"fmt"
	"strings"
)

// IllegalError says which rule a mapping breaks, and with which numbers.
type IllegalError struct {
	Rule  Violation
	Msg   string
	Field string // of the mapping's text form, that breaks it
}

func (e *IllegalError) Error() string { return "mapping: illegal: " + e.Msg }

// Check judges a mapping: nil if it is legal, else an [*IllegalError] with the first
// rule that it breaks.
func (q *Problem) Check(m *Mapping) error {
	fail := func(v Violation, format string, args ...any) error {
		return &IllegalError{v, fmt.Sprintf(format, args...), "slots"}
	}
	in := func(field string, err error) error {
		err.(*IllegalError).Field = field
		return err
	}
	if int(m.Function) >= len(q.functions) {
		return fail(BadBinding, "function %d, platform %s has %d", m.Function, q.Platform.Name, len(q.functions))
	}
	f := &q.functions[m.Function]
	for i, order := range []*[MaxLoops]uint8{&m.Wave, &m.Tile} {
		name, seen := [2]string{"waves", "tiles"}[i], uint16(0)
		for i := range q.loops {
			if int(order[i]) >= q.loops || seen>>order[i]&1 == 1 {
				return fail(BadBinding, "order of %s is no permutation of the loops", name)
			}
			seen |= 1 << order[i]
		}
	}
	for s := range NumSlots {
		for l := range MaxLoops {
			if m.Factor[s][l] < 1 || l >= q.loops && m.Factor[s][l] != 1 {
				return fail(BadProduct, "factor %d of loop %d in slot %d, expected at least 1", m.Factor[s][l], l, s)
			}
		}
	}
	// What does not fit an int64 is refused before anything is worked out from it.
	for l := range q.loops {
		n := int64(1)
		for s := range NumSlots {
			f := int64(m.Factor[s][l])
			if n > maxWaves/f {
				return fail(BadLength, "factors of loop %s multiply to more than 2^40, its extent is %d", q.Op.Loops[l].Name, q.extent[l])
			}
			n *= f
		}
	}
	for s := range NumSlots {
		n := int64(1)
		for l := range q.loops {
			f := int64(m.Factor[s][l])
			if n > maxWaves/f {
				return in("slots."+q.Slot(m, s), fail(BadLength, "factors in slot %s multiply to more than 2^40", q.Slot(m, s)))
			}
			n *= f
		}
	}
	var c Cost
	v := q.Cost(m, &c)
	if v == Legal {
		return nil
	}
	swap := 0
	if m.Swap {
		swap = 1
	}
	s := shape{m: m}
	_ = q.shape(&s)
	switch v {
	case BadBinding:
		if !f.ok[swap] && f.program {
			return in("function", fail(v, "B5: function %s: %s, on %s", f.Name, errNoConstants, f.Operands[Src2].Name))
		}
		if !f.ok[swap] {
			return in("operands", fail(v, "function %s is the same with its sources exchanged: expected the operands in order", f.Name))
		}
		for sl := range NumSlots {
			for l := range q.loops {
				if m.Factor[sl][l] <= 1 || f.legal[swap][sl]>>l&1 == 1 {
					continue
				}
				if sl < f.dims {
					return in("slots."+q.SlotName(f, sl), fail(v, "%s", q.Refuse(int(m.Function), sl, l, m.Swap)))
				}
				return in("slots."+q.SlotName(f, sl), fail(v, "loop %s has factor %d in slot %s, which does not take it", q.Op.Loops[l].Name, m.Factor[sl][l], q.SlotName(f, sl)))
			}
		}
	case BadProduct:
		for l := range q.loops {
			if n := m.Below(l, NumSlots); n < int64(q.extent[l]) {
				return fail(v, "factors of loop %s multiply to %d, below its extent %d", q.Op.Loops[l].Name, n, q.extent[l])
			}
		}
	case BadDims:
		for d := range f.dims {
			if s.size[d] > int64(f.maxSize[d]) {
				return in("slots."+f.Dims[d].Name, fail(v, "dimension %s has size %d, at most %d", f.Dims[d].Name, s.size[d], f.maxSize[d]))
			}
		}
		return fail(v, "B4: a dimension of %s has no loop", f.Name)
	case BadLength:
		for l := range q.loops {
			if tile, above := m.Below(l, SlotTile), int64(m.Factor[SlotTile][l]); tile > 1<<31 || above > 1<<31 {
				return fail(v, "loop %s has tiles of %d, and %d of them, expected at most %d", q.Op.Loops[l].Name, tile, above, int64(1)<<31)
			}
		}
		if f.program {
			return fail(v, "more invocations than %d, where weights are instructions", int64(maxConstantWaves))
		}
		return fail(v, "more than 2^40 invocations of each unit")
	case BadOverlap:
		return in("double_wave", fail(v, "double_wave and double_tile, where weights are instructions: expected neither"))
	case BadSplit:
		return fail(v, "B3: a loop is bound to two dimensions")
	case BadFanOut:
		for i := range q.levels {
			if s.spatial[i] > int64(q.fanOut[i]) {
				return in("slots."+q.Platform.Levels[i].Name, fail(v, "level %s takes %d, has %d", q.Platform.Levels[i].Name, s.spatial[i], q.fanOut[i]))
			}
		}
		return fail(v, "level %s takes %d in more groups than have as many units without faults", q.Platform.Levels[0].Name, s.spatial[0])
	case BadColumns, BadRows:
		return fail(v, "%s", q.unitCapacity(&s, v))
	case BadBuffer:
		var p price
		if q.price(&s, &p) == Legal && p.spills {
			return fail(v, "result %s shall stay in the buffer and leaves units unfinished", q.Op.Tensors[m.Tensor(Dst)].Name)
		}
		var parts []string
		for o := range 3 {
			if m.Keep[o] && !q.Options.Resident[m.Tensor(o)] && (o != Src2 || !s.f.program) {
				t := &q.tensors[m.Tensor(o)]
				w := t.bits
				b := bytesOf(t.elements(&s.tileChip), w)
				if m.DoubleTile && t.indexed&s.tileLoop != 0 {
					b *= 2
				}
				parts = append(parts, fmt.Sprintf("%s %d", q.Op.Tensors[m.Tensor(o)].Name, b))
			}
		}
		return fail(v, "tiles take more bytes than the buffer's %d: %s", q.buffer-q.Options.Held, strings.Join(parts, ", "))
	}
	return fail(v, "%s", v)
}

// SlotName names a slot for a function.
func (q *Problem) SlotName(f *functionInfo, s int) string {
	switch {
	case s < SlotInner:
		if s < f.dims {
			return f.Dims[s].Name
		}
		return fmt.Sprintf("dimension %d", s)
	case s == SlotInner:
		return "inner"
	case s < SlotWave:
		if i := s - SlotLevel; i < q.levels {
			return q.Platform.Levels[i].Name
		}
		return fmt.Sprintf("level %d", s-SlotLevel)
	case s == SlotWave:
		return "waves"
	}
	return "tiles"
}

// unitCapacity says what of a unit is exceeded, by operand.
func (q *Problem) unitCapacity(s *shape, v Violation) string {
	switch {
	case q.mac != nil:
		if v == BadColumns {
			n := int64(1)
			for d := range s.f.dims {
				if s.f.colDims[d] {
					n *= s.size[d]
				}
			}
			return fmt.Sprintf("%d columns of %d", n, q.cols)
		}
		r := q.rows(s)
		return fmt.Sprintf("%d rows of %d: sum %d, product and scratch %d, %s %d x %d words of %d bits, %s %d x %d words of %d bits",
			r.used, q.mac.usable, r.final, r.source[0]-r.temp,
			q.Op.Tensors[s.m.Tensor(0)].Name, r.copies[0], r.words[0], r.width[0], q.Op.Tensors[s.m.Tensor(1)].Name, r.copies[1], r.words[1], r.width[1])
	case q.Platform.Executor == "crossbar":
		rows, cols := int64(1), int64(1)
		for d := range s.f.dims {
			if s.f.rowDims[d] {
				rows *= s.size[d]
			}
			if s.f.colDims[d] {
				cols *= s.size[d]
			}
		}
		cell := q.cells(q.tensors[s.m.Tensor(Src1)].bits)
		c := q.Platform.Crossbar
		return fmt.Sprintf("%d rows of %d, %d columns of %d, vectors in %d bytes of registers", rows, c.Rows, cols*cell, c.Cols, c.RegisterBytes)
	}
	u := q.Platform.SIMD
	return fmt.Sprintf("%d accumulators of %d registers, %d registers of the second source and one of the first, of %d registers; %d lanes",
		s.inner, q.accRegisters(), q.sourceRegisters(s), u.Registers, u.Lanes)
}

// Slot names a slot for the function of a mapping.
func (q *Problem) Slot(m *Mapping, s int) string { return q.SlotName(&q.functions[m.Function], s) }

// Utilisation returns the share of places for products, in all units for the whole
// time of computing, that products of the nest take: ragged tiles, empty bitlines and idle
// units count against it.
func (q *Problem) Utilisation(c *Cost) float64 {
	places := float64(c.Cycles) * float64(q.Platform.Units())
	if places == 0 {
		return 0
	}
	switch {
	case q.mac != nil:
		mac := q.mac.mulTime.cycles + q.mac.addTime[q.mac.width].cycles
		places *= float64(q.Platform.Array.Cols) / float64(mac)
	case q.Platform.Crossbar != nil:
		x := q.Platform.Crossbar
		places *= float64(x.Rows) * float64(x.Cols) / float64(q.cells(q.tensors[1].bits)) / float64(q.mvmCycles(q.tensors[0].bits))
	default:
		places *= float64(q.Platform.SIMD.Lanes) / float64(q.Platform.SIMD.MACCycles)
	}
	return float64(q.Op.MACs()) / places
}
