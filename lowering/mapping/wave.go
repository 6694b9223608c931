package mapping

// Wave is a step in time: an invocation of every unit, and what is moved around it.
// The waves of a mapping are its commands; clock and executors consume them.
type Wave struct {
	Time   [MaxLoops]uint32 // position of each loop in time, tiles and waves together
	Load   uint8            // operands that units take before it
	Fresh  bool             // the result begins anew
	Finish bool             // the result leaves after it
	// TileFirst and TileLast mark the first and the last wave of a tile of the buffer;
	// TileLoad are the operands that the buffer takes before it, TileStore says that the
	// result leaves the buffer after it.
	TileFirst, TileLast bool
	TileLoad            uint8
	TileStore           bool
}

// Waves calls f with every wave in order and the one after it, nil after the last. It
// walks the loops themselves and compares the places of tiles. It stops when f
// returns false.
func (q *Problem) Waves(m *Mapping, f func(w, next *Wave) bool) {
	type loop struct {
		l     int
		n     uint32
		scale uint32
		tile  bool
	}
	var loops []loop
	for i := range q.loops {
		if l := int(m.Tile[i]); m.Factor[SlotTile][l] > 1 {
			loops = append(loops, loop{l, m.Factor[SlotTile][l], m.Factor[SlotWave][l], true})
		}
	}
	tiles := len(loops)
	for i := range q.loops {
		if l := int(m.Wave[i]); m.Factor[SlotWave][l] > 1 {
			loops = append(loops, loop{l, m.Factor[SlotWave][l], 1, false})
		}
	}
	// moved compares where a tile of an operand lies: the positions of loops that index it.
	var indexed [3]uint16
	for o := range indexed {
		for l := range q.loops {
			if q.Op.Tensors[m.Tensor(o)].Indexed(l) {
				indexed[o] |= 1 << l
			}
		}
	}
	moved := func(o int, a, b *[MaxLoops]uint32, chip bool) bool {
		for l := range q.loops {
			if a[l] == b[l] || indexed[o]>>l&1 == 0 {
				continue
			}
			if f := m.Factor[SlotWave][l]; !chip || a[l]/f != b[l]/f {
				return true
			}
		}
		return false
	}
	digits := make([]uint32, len(loops))
	at := func() (w Wave) {
		for i, d := range digits {
			w.Time[loops[i].l] += d * loops[i].scale
		}
		return w
	}
	step := func() (first int) { // the outermost loop that goes on or begins anew, -1 at the end
		for i := len(loops) - 1; i >= 0; i-- {
			digits[i]++
			if digits[i] < loops[i].n {
				return i
			}
			digits[i] = 0
		}
		return -1
	}
	w := at()
	w.Load, w.TileLoad, w.Fresh, w.TileFirst = 3, 3, true, true
	for o := range 2 {
		if q.staysLoaded(m, o, false) {
			w.Load &^= 1 << o
		}
		if q.staysLoaded(m, o, true) {
			w.TileLoad &^= 1 << o
		}
	}
	for {
		i := step()
		if i < 0 {
			w.Finish, w.TileLast, w.TileStore = true, true, true
			f(&w, nil)
			return
		}
		next := at()
		boundary := i < tiles
		w.TileLast, next.TileFirst = boundary, boundary
		for o := range 3 {
			if moved(o, &w.Time, &next.Time, false) {
				if o == Dst {
					w.Finish, next.Fresh = true, true
				} else {
					next.Load |= 1 << o
				}
			}
			if boundary && moved(o, &w.Time, &next.Time, true) {
				if o == Dst {
					w.TileStore = true
				} else {
					next.TileLoad |= 1 << o
				}
			}
		}
		if !f(&w, &next) {
			return
		}
		w = next
	}
}

// staysLoaded reports whether a static operand is where it belongs before the first
// inference that counts: in units, or in the buffer, for the whole operator.
func (q *Problem) staysLoaded(m *Mapping, o int, chip bool) bool {
	t := &q.Op.Tensors[m.Tensor(o)]
	if q.Options.Cold || !q.tensors[m.Tensor(o)].static {
		return false
	}
	for l := range q.loops {
		if t.Indexed(l) && (m.Factor[SlotTile][l] > 1 || !chip && m.Factor[SlotWave][l] > 1) {
			return false
		}
	}
	return true
}
